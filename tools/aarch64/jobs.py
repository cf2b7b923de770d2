"""Kernels of benchmarks as jobs that any machine can run: compiled, with all of their arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import visim

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Array:
    """An argument that is one of a job's arrays."""

    name: str


@dataclass(frozen=True)
class Launch:
    """One launch of a job's program."""

    kernel: str
    args: tuple[Any, ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]


@dataclass(frozen=True)
class Job:
    """A kernel that is compiled: its program, its arrays, its launches, its outputs."""

    name: str
    program: bytes
    arrays: Arrays
    launches: tuple[Launch, ...]
    outputs: tuple[str, ...]

    def run(self, engine: str) -> Arrays:
        """Return what the outputs have after all launches."""
        arrays = {name: one.copy() for name, one in self.arrays.items()}
        program = visim.load(self.program)
        for one in self.launches:
            args = [arrays[arg.name] if isinstance(arg, Array) else arg for arg in one.args]
            program[one.kernel].launch(
                args, global_size=one.global_size, local_size=one.local_size, engine=engine
            )
        return {name: arrays[name] for name in self.outputs}


def difference(found: Arrays, expected: Arrays) -> str | None:
    """Return where the first byte is that is another one, or None."""
    for name, wanted in expected.items():
        given, there = (np.ascontiguousarray(one).ravel() for one in (found[name], wanted))
        differs = np.flatnonzero(given.view(np.uint8) != there.view(np.uint8))
        if len(differs):
            at = int(differs[0]) // there.itemsize
            bits = f"u{there.itemsize}"
            pair = " ".join(f"{one[at]} ({int(one.view(bits)[at]):#x})" for one in (given, there))
            return f"{name}[{at}] and {len(differs)} bytes in all differ: found, expected {pair}"
    return None


__all__ = ["Array", "Arrays", "Job", "Launch", "difference"]
