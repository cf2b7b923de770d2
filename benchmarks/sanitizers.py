"""What sanitizers cost: the 16 kernels with each of them, against the same launches without.

Run it with `python -m benchmarks.sanitizers [--device pvc] [--scale 0.05] [--output FILE.json]
[kernel ...]`. All sides of a kernel are in one process and take turns; the least processor time of
all threads of some rounds counts. Findings that are errors or warnings are counted: these kernels
are right, so there are to be none.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import results
from benchmarks.case import Benchmark
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import bound_launches, built, copied, geometric_mean

NAMES = ("bounds", "barriers", "undefined", "uninit", "races", "all")
WITHOUT = "without"
ROUNDS = 5
Times = dict[str, float]


def measured(
    bench: Benchmark, device: str, scale: float, rounds: int, names: tuple[str, ...]
) -> tuple[Times, int]:
    """Return the milliseconds of a benchmark's launches by side, and its serious findings."""
    program, values = built(bench, device), bench.make(np.random.default_rng(1), scale)
    sides: dict[str, list[Callable[[], Any]]] = {}
    found = 0
    for name in (WITHOUT, *names):
        options = {} if name == WITHOUT else {"sanitize": name}
        sides[name] = bound_launches(bench, program, copied(values), **options)
        reports = [launch() for launch in sides[name]]  # the first run compiles
        found += sum(one.counts for report in reports for one in report.findings)
    times = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, launches in sides.items():
            start = time.process_time()
            for launch in launches:
                launch()
            times[name] = min(times[name], 1000 * (time.process_time() - start))
    return times, found


def main() -> None:
    """Print a row for each kernel: how many times as long each sanitizer takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--sanitize", default=",".join(NAMES))
    parser.add_argument("--output", type=Path)
    parser.add_argument("kernels", nargs="*")
    given = parser.parse_args()
    names = tuple(given.sanitize.split(","))
    kernels: dict[str, Any] = {}
    for bench in BENCHMARKS:
        if given.kernels and bench.name not in given.kernels:
            continue
        times, found = measured(bench, given.device, given.scale, given.rounds, names)
        kernels[bench.name] = {"processor_ms": times, "findings": found}
    _show(kernels, names)
    if given.output is not None:
        settings = {"device": given.device, "scale": given.scale, "rounds": given.rounds}
        results.write(
            given.output,
            {**results.heading(1), "settings": settings, "names": names, "kernels": kernels},
        )


def ratio(kernel: dict[str, Any], name: str) -> float:
    """Return how many times as long a kernel takes with a sanitizer."""
    times: Times = kernel["processor_ms"]
    return times[name] / times[WITHOUT]


def mean(kernels: dict[str, Any], name: str) -> float:
    """Return the geometric mean of a sanitizer's ratios."""
    return geometric_mean([ratio(one, name) for one in kernels.values()])


def _show(kernels: dict[str, Any], names: tuple[str, ...]) -> None:
    table = Table("kernel", "without, ms", *names, "findings")
    for name, one in kernels.items():
        cells = [f"{ratio(one, side):.1f}" for side in names]
        plain = f"{one['processor_ms'][WITHOUT]:.2f}"
        table.add_row(name, plain, *cells, str(one["findings"]))
    table.add_row("geometric mean", "", *(f"{mean(kernels, side):.1f}" for side in names), "")
    Console().print(table)


if __name__ == "__main__":
    main()
