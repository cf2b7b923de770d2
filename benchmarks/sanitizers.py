"""What sanitizers cost: the 16 kernels with each of them, against the same launch without.

Run it with `python -m benchmarks.sanitizers [--device pvc] [--scale 0.005] [kernel ...]`. Findings
that are errors or warnings are counted: these kernels are right, so there are to be none.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.case import Benchmark
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import bound_launches, built, copied, geometric_mean

WANTED = (None, "bounds", "barriers", "undefined", "uninit", "races", "all")
LEAST_S = 0.3
MOST_RUNS = 20


def seconds(bench: Benchmark, scale: float, device: str, wanted: str | None) -> tuple[float, int]:
    """Return the seconds of a benchmark's launches, the best of some, and serious findings."""
    program, values = built(bench, device), bench.make(np.random.default_rng(1), scale)
    options = {} if wanted is None else {"sanitize": wanted}
    launches = bound_launches(bench, program, copied(values), **options)
    found, best, began = 0, float("inf"), perf_counter()
    for number in range(MOST_RUNS):
        start = perf_counter()
        reports = [launch() for launch in launches]
        if number:  # the first one compiles
            best = min(best, perf_counter() - start)
        if not number:
            found = sum(one.counts for report in reports for one in report.findings)
            began = perf_counter()
        elif perf_counter() - began > LEAST_S:
            break
    return best, found


def main() -> None:
    """Print a row for each kernel: how many times as long each sanitizer takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--scale", type=float, default=0.005)
    parser.add_argument("--sanitize", default=",".join(name for name in WANTED if name))
    parser.add_argument("kernels", nargs="*")
    given = parser.parse_args()
    names = given.sanitize.split(",")
    table = Table("kernel", "without, ms", *names, "findings")
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for bench in BENCHMARKS:
        if given.kernels and bench.name not in given.kernels:
            continue
        plain, _ = seconds(bench, given.scale, given.device, None)
        cells, findings = [f"{plain * 1000:.2f}"], 0
        for name in names:
            taken, found = seconds(bench, given.scale, given.device, name)
            ratios[name].append(taken / plain)
            findings += found
            cells.append(f"{taken / plain:.1f}")
        table.add_row(bench.name, *cells, str(findings))
    means = [f"{geometric_mean(ratios[name]):.1f}" for name in names]
    table.add_row("geometric mean", "", *means, "")
    Console().print(table)


if __name__ == "__main__":
    main()
