"""Cases that both engines run from the same registers and memory, and that they leave the same."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine import jit
from visim.engine.base import Exit, Machine, RunOptions, ThreadStart
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

GAP = 1 << 12
"""Bytes around an array that stays alone."""


class Case:
    """Threads with what they begin with; who makes one sets all of this.

    Attributes:
        group: the threads and their registers.
        memory: what they reach.
        changed: the arrays in it that they may change, with what each run begins with.
    """

    group: harness.Group
    memory: Memory
    changed: Sequence[NDArray[Any]]
    _before: Sequence[NDArray[Any]] | None = None

    def run(self, engine: Any, options: RunOptions | None = None) -> tuple[Exit, list[bytes]]:
        """Run it; return how it ended and what the arrays hold then."""
        if self._before is None:
            self._before = [array.copy() for array in self.changed]
        for array, before in zip(self.changed, self._before, strict=True):
            array[...] = before
        machine = Machine(self.memory, Surfaces())
        ended = engine.run([0], self.group, machine, options or RunOptions())
        return ended, [array.tobytes() for array in self.changed]


def between_gaps(array: NDArray[Any]) -> NDArray[Any]:
    """Copy an array to where no other array is near, so that what leaves it reaches none."""
    gap = GAP // array.itemsize
    whole = np.zeros(gap + array.size + gap, array.dtype)
    copied = whole[gap:-gap]
    copied[:] = array
    return copied


def module_text(text: str, **version: Any) -> str:
    """Return the LLVM IR that is written for the kernel of a text, of a version on pvc."""
    linked = harness.assemble(text, "pvc").linked
    return ModuleWriter(linked, Version(full=False, slm_bytes=0, **version)).write().text


def start_with(
    kernel: harness.Kernel, registers: Mapping[str, NDArray[Any]], mask: int
) -> ThreadStart:
    """Return how a thread begins with values of some variables, and with the channels of a mask."""
    given = tuple((kernel.place(name), one.tobytes()) for name, one in registers.items())
    return ThreadStart(given, mask)


def some_channels(kernel: harness.Kernel, rng: random.Random) -> int:
    """Return a mask of some of a kernel's channels, of all as often as not."""
    mask = rng.choice([0xFFFFFFFF, 0xFFFFFFFF, 0x1FFF, rng.getrandbits(32) | 1])
    return mask & (1 << kernel.linked.simd_size) - 1


def agree(
    kernel: harness.Kernel, cases: Iterable[Case], options: RunOptions | None = None
) -> set[bool]:
    """Run cases on both engines and compare; return whether some had faults, and some had none."""
    engines, faults = (kernel.prepared, jit.Prepared(kernel.linked)), set[bool]()
    for number, case in enumerate(cases):
        (want, wanted), (got, found) = (case.run(engine, options) for engine in engines)
        assert (got.fault, got.executed) == (want.fault, want.executed), number
        assert found == wanted, number
        faults.add(want.fault is not None)
    return faults
