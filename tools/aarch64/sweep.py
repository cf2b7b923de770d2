"""Kernels of the benchmarks on AArch64, and what they compute here, bit for bit.

Programs are compiled here, whose compiler is not there. One process there runs all kernels, and
says of each that it begins, so that one which ends the process is known by its name.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.case import Benchmark
from benchmarks.pocl import built, visim_argument
from benchmarks.sets import SETS, families
from tools.aarch64.environment import Environment
from tools.aarch64.jobs import Array, Arrays, Job, Launch, difference


@dataclass(frozen=True)
class Sweep:
    """Which kernels are run: of which set, for which device, how large, every how many-th.

    `engine` is what computes here what is expected; `names` chooses kernels by name.
    """

    chosen: str
    device: str
    scale: float
    every: int
    engine: str
    names: tuple[str, ...]

    def kernels(self) -> list[Benchmark]:
        """Return the kernels."""
        found = [one for part in families(self.chosen).values() for one in part]
        unknown = set(self.names) - {one.name for one in found}
        if unknown:
            sys.exit(f"the set {self.chosen} of {', '.join(SETS)} has no {', '.join(unknown)}")
        if self.names:
            return [one for one in found if one.name in self.names]
        return found[:: self.every]


def sweep(there: Environment, asked: Sweep) -> int:
    """Run kernels there and here, and say which differ; return how the process ends."""
    wrong, jobs = 0, [_job(one, asked) for one in asked.kernels()]
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        (folder / "jobs").write_bytes(pickle.dumps(jobs))
        while there.run(["-m", "tools.aarch64.inside", room]).returncode and _left(jobs, folder):
            pass  # The one that has ended the process is not tried again.
        for job in jobs:
            said = _compared(job, asked.engine, folder)
            wrong += said is not None
            print(f"{job.name}: {said or 'the same'}", flush=True)
    print(f"{len(jobs)} kernels, {wrong} differ")
    return int(bool(wrong) or not jobs)


def _left(jobs: Sequence[Job], folder: Path) -> bool:
    return not all((folder / job.name).exists() for job in jobs)


def _job(bench: Benchmark, asked: Sweep) -> Job:
    """Compile a kernel and choose what it works on."""
    values = bench.make(np.random.default_rng(1), asked.scale)
    arrays: Arrays = {name: one for name, one in values.items() if isinstance(one, np.ndarray)}
    launches = tuple(
        Launch(
            one.kernel,
            tuple(
                Array(name) if name in arrays else visim_argument(values.get(name, name))
                for name in one.args
            ),
            one.global_size,
            one.local_size,
        )
        for one in bench.launches(values)
    )
    with tempfile.TemporaryDirectory() as room:
        file = Path(room) / "program.zebin"
        built(bench, asked.device).write(file)
        return Job(bench.name, file.read_bytes(), arrays, launches, bench.outputs)


def _compared(job: Job, engine: str, folder: Path) -> str | None:
    """Return what is wrong with what a job has computed there, or None."""
    try:
        found: Arrays | str = pickle.loads((folder / job.name).read_bytes())
    except FileNotFoundError:
        return "it was not run"
    return found if isinstance(found, str) else difference(found, job.run(engine))
