"""What each pass of the JIT brings: kernels timed with every pass, and without one after the other.

Run it with `python -m benchmarks.ablate [--device pvc] [--scale 0.25] [--rounds 5] [--passes a,b]
[--json FILE] [kernel ...]`. A number is the time without the pass over the time with all of them,
the least of some rounds by the clock, in which both take turns; results are compared, too. A pass
earns its place if it brings 5 % somewhere; the last lines name those that do not on these kernels.
`--list` prints the passes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import visim
from benchmarks.case import Benchmark
from benchmarks.held_out import HELD_OUT
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import bound_launches, built
from benchmarks.survey import SURVEY
from visim.engine.jit.passes import NAMES, VARIABLE, Pass

EARNS = 1.05
"""A pass that makes no kernel so much faster does not earn its place."""
FEW = ("saxpy", "sgemm_tiled", "reduce", "stencil", "spmv", "histogram")
"""The kernels that are measured when none are named: some of each family, in a minute or two."""
KERNELS = {one.name: one for one in (*BENCHMARKS, *HELD_OUT, *SURVEY)}


@dataclass
class Side:
    """A kernel compiled with some passes; `seconds` are its samples."""

    run: Callable[[], None]
    values: dict[str, Any]
    seconds: list[float] = field(default_factory=list[float])

    def sample(self) -> None:
        """Run all launches once."""
        start = time.perf_counter()
        self.run()
        self.seconds.append(time.perf_counter() - start)


@contextmanager
def passes(words: str) -> Iterator[None]:
    """Have kernels that are prepared meanwhile made with some passes only."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = words
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def side(bench: Benchmark, program: bytes, scale: float, words: str) -> Side:
    """Return a kernel that is compiled, and has run once, with some passes."""
    values = bench.make(np.random.default_rng(1), scale)
    with passes(words):
        launches = bound_launches(bench, visim.load(program), values)

        def run() -> None:
            for launch in launches:
                launch()

        run()
    first = {name: values[name].copy() for name in bench.outputs}
    return Side(run, first)


def differences(bench: Benchmark, one: Side, other: Side) -> list[str]:
    """Return the outputs in which two sides differ by more than the benchmark allows.

    Additions in another order, as atomic ones have, change the last bits of floats.
    """
    found: list[str] = []
    for name in bench.outputs:
        a, b = (np.asarray(each.values[name], np.float64) for each in (one, other))
        least = np.linalg.norm(a) * max(bench.tolerance, 0)
        if not np.linalg.norm(a - b) <= least:
            found.append(name)
    return found


def ratio(with_all: Side, without: Side, rounds: int) -> float:
    """Return how many times as long the second side takes, where both take turns."""
    for _ in range(rounds):
        with_all.sample()
        without.sample()
    return min(without.seconds) / min(with_all.seconds[-rounds:])


def measured(
    bench: Benchmark, device: str, scale: float, rounds: int, names: Sequence[str]
) -> dict[str, float]:
    """Return by pass how many times as long a kernel takes without it."""
    program = zebin(bench, device)
    base, found = side(bench, program, scale, ""), dict[str, float]()
    for name in names:
        without = side(bench, program, scale, f"-{name}")
        wrong = differences(bench, base, without)
        if wrong:
            sys.exit(f"{bench.name} without {name}: {', '.join(wrong)} differ")
        found[name] = ratio(base, without, rounds)
    return found


def zebin(bench: Benchmark, device: str) -> bytes:
    """Return a benchmark's file."""
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"visim-ablate-{os.getpid()}.zebin"
    try:
        built(bench, device).write(path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def show(found: dict[str, dict[str, float]], names: Sequence[str]) -> None:
    """Print a row for each pass and a column for each kernel."""
    table = Table("pass", *found)
    for name in names:
        row = [found[kernel][name] for kernel in found]
        table.add_row(name, *(f"[b]{x:.2f}[/b]" if x >= EARNS else f"{x:.2f}" for x in row))
    Console().print(table)
    idle = [name for name in names if all(found[kernel][name] < EARNS for kernel in found)]
    if idle:
        print(f"below {EARNS} on all of these kernels: {', '.join(idle)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", metavar="kernel")
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--scale", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", default=",".join(NAMES))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for one in Pass:
            print(f"{one.title:22} {one.module:22} {one.summary}")
        return
    names = options.passes.split(",")
    unknown = [f"pass {name!r}" for name in names if name not in NAMES]
    unknown += [f"kernel {name!r}" for name in options.kernels if name not in KERNELS]
    if unknown:
        parser.error(f"there is no {', no '.join(unknown)}; see --list, and {', '.join(KERNELS)}")
    found: dict[str, dict[str, float]] = {}
    for name in options.kernels or FEW:
        print(f"{name} ...", file=sys.stderr, flush=True)
        one = KERNELS[name]
        found[name] = measured(one, options.device, options.scale, options.rounds, names)
    show(found, names)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
