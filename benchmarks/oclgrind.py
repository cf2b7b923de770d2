"""visim against Oclgrind, the OpenCL simulator: how much more work a second.

Run it with `python -m benchmarks.oclgrind [--small 0.005] [--large 0.25] [--sanitize]
[kernel ...]`. Oclgrind runs a small size and visim's JIT a larger one; work is the number of
instructions that visim counts at each size. Results of the small size are compared. With
`--sanitize` both look for races and for values that nothing has written.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.case import Benchmark
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import (
    Side,
    bound_launches,
    built,
    copied,
    difference,
    geometric_mean,
    pocl_side,
    visim_side,
)
from tests.opencl import pocl

DRIVER = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
SAMPLES = 5
LOOKS = {"OCLGRIND_DATA_RACES": "1", "OCLGRIND_UNINITIALIZED": "1", "OCLGRIND_LOG": os.devnull}
"""What `oclgrind --data-races --uninitialized` sets; its log is for programs that are wrong."""


def instructions(bench: Benchmark, values: dict[str, Any], device: str) -> int:
    """Return how many instructions visim executes for a benchmark's launches."""
    program = built(bench, device)
    launches = bound_launches(bench, program, copied(values), collect=("instructions",))
    return sum(launch().instructions or 0 for launch in launches)


def rate(side: Side, work: int, samples: int) -> float:
    """Return the work of one second: the best of some samples."""
    for _ in range(samples):
        side.sample()
    return work / min(side.clock)


def compare(
    bench: Benchmark,
    device: str,
    other: pocl.Pocl,
    small: float,
    large: float,
    **options: Any,
) -> tuple[float, float, float]:
    """Return the rates of visim and Oclgrind, and the distance of their results.

    `options` are those of visim's launches.
    """
    few, many = (bench.make(np.random.default_rng(1), scale) for scale in (small, large))
    ours, theirs = visim_side(bench, few, device), pocl_side(bench, few, other)
    distance = max(difference(ours.result(n), theirs.result(n)) for n in bench.outputs)
    slow = rate(theirs, instructions(bench, few, device), 1)
    ours = visim_side(bench, many, device, **options)
    fast = rate(ours, instructions(bench, many, device), SAMPLES)
    return fast, slow, distance


def main() -> None:
    """Compare the chosen benchmarks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--small", type=float, default=0.005)
    parser.add_argument("--large", type=float, default=0.25)
    parser.add_argument("--sanitize", action="store_true")
    options = parser.parse_args()
    if not DRIVER.exists():
        parser.exit(1, f"{DRIVER} is missing (Debian: apt install oclgrind)\n")
    with tempfile.TemporaryDirectory() as vendors:
        (Path(vendors) / "oclgrind.icd").write_text(f"{DRIVER}\n")
        os.environ["OCL_ICD_VENDORS"] = vendors  # read when the library is used first
        if options.sanitize:
            os.environ.update(LOOKS)
        other, ratios = pocl.Pocl("Oclgrind"), list[float]()
    looks = {"sanitize": "races,uninit"} if options.sanitize else {}
    table = Table("kernel", "visim M/s", "Oclgrind M/s", "ratio", "rel L2")
    for bench in BENCHMARKS:
        if options.names and bench.name not in options.names:
            continue
        start = time.perf_counter()
        sizes = options.small, options.large
        fast, slow, distance = compare(bench, options.device, other, *sizes, **looks)
        ratios.append(fast / slow)
        cells = (f"{fast / 1e6:.1f}", f"{slow / 1e6:.4f}", f"{ratios[-1]:.0f}", f"{distance:.1e}")
        table.add_row(bench.name, *cells)
        print(f"{bench.name}: {time.perf_counter() - start:.1f} s", flush=True)
    Console().print(table)
    print(f"geometric mean of the {len(ratios)}: {geometric_mean(ratios):.0f}")


if __name__ == "__main__":
    main()
