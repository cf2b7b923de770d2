"""visim's JIT against PoCL, the same OpenCL C kernels in one run of one process.

Run it with `python -m benchmarks.pocl [--device pvc] [--scale 1.0] [--rounds 5] [kernel ...]` in
the repository. Samples of both sides alternate; a probe of the processor before and after each
pair tells whether something else ran meanwhile. Each side is timed from the enqueue to the end of
the launches; the ratio is that of the best samples, PoCL's time over visim's. Results are
compared with each other.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import visim
import visim.opencl
from benchmarks.kernels import BENCHMARKS, Benchmark, Launch
from tests.opencl import pocl

QUIET = 0.85
"""Share of the best probe below which a sample counts as disturbed."""


def probe() -> float:
    """Return how fast this process computes right now, in any unit."""
    array = np.full(4096, 0.5, np.float32)
    start = time.perf_counter()
    for _ in range(200):
        np.sqrt(array, out=array)
    return 1.0 / (time.perf_counter() - start)


@dataclass
class Side:
    """One implementation with a benchmark's program and arrays."""

    run: Callable[[], None]
    result: Callable[[str], np.ndarray]
    build_s: float
    times: list[float] = field(default_factory=list)

    def sample(self) -> None:
        """Run all launches once and note the time."""
        start = time.perf_counter()
        self.run()
        self.times.append(time.perf_counter() - start)


def visim_side(bench: Benchmark, values: dict[str, Any], device: str) -> Side:
    """Prepare a benchmark for visim."""
    program = visim.opencl.build(bench.source, device=device, options=bench.options)
    arrays = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in values.items()}
    start = time.perf_counter()
    bound = [
        program[one.kernel].bind(
            [_visim_argument(arrays.get(name, name)) for name in one.args],
            global_size=one.global_size,
            local_size=one.local_size,
            engine="jit",
        )
        for one in bench.launches(values)
    ]

    def run() -> None:
        for launch in bound:
            launch()

    run()
    return Side(run, lambda name: arrays[name], time.perf_counter() - start)


def _visim_argument(value: Any) -> Any:
    return visim.Local(value.nbytes) if isinstance(value, pocl.LocalBytes) else value


def pocl_side(bench: Benchmark, values: dict[str, Any], device: pocl.Pocl) -> Side:
    """Prepare a benchmark for PoCL."""
    start = time.perf_counter()
    program = device.build(bench.source, bench.options)
    buffers: dict[str, c_void_p] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            flags, size = c_uint64((1 << 0) | (1 << 5)), c_size_t(value.nbytes)
            data = value.ctypes.data_as(c_void_p)
            buffers[name] = device.create("clCreateBuffer", device.context, flags, size, data)
    enqueues = [_enqueue(device, program, one, values, buffers) for one in bench.launches(values)]

    def run() -> None:
        for enqueue in enqueues:
            enqueue()
        device.call("clFinish", device.queue)

    def result(name: str) -> np.ndarray:
        found = np.empty_like(values[name])
        data, size = found.ctypes.data_as(c_void_p), c_size_t(found.nbytes)
        device.call(
            "clEnqueueReadBuffer",
            *(device.queue, buffers[name], c_uint32(1), c_size_t(0), size, data, 0, None, None),
        )
        return found

    run()
    return Side(run, result, time.perf_counter() - start)


def _enqueue(
    device: pocl.Pocl,
    program: pocl.PoclProgram,
    one: Launch,
    values: dict[str, Any],
    buffers: dict[str, c_void_p],
) -> Callable[[], None]:
    kernel = device.create("clCreateKernel", program._program, one.kernel.encode())
    for index, name in enumerate(one.args):
        size, data = pocl._argument(values.get(name, name), buffers.get(name))
        device.call("clSetKernelArg", kernel, c_uint32(index), c_size_t(size), data)
    rank = len(one.global_size)
    sizes = [(c_size_t * rank)(*one.global_size), (c_size_t * rank)(*one.local_size)]

    def enqueue() -> None:
        device.call(
            "clEnqueueNDRangeKernel",
            *(device.queue, kernel, c_uint32(rank), None, *sizes, 0, None, None),
        )

    return enqueue


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the relative L2 distance of two results."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    return float(np.linalg.norm(x - y) / (np.linalg.norm(y) or 1.0))


def verify(bench: Benchmark, values: dict[str, Any], side: Side) -> None:
    """Stop the program unless the first run's results are those that are expected."""
    if bench.expected is None:
        return
    for name, wanted in bench.expected(values).items():
        found = side.result(name)[: len(wanted)]
        distance = difference(found, wanted)
        if not distance <= bench.tolerance:
            sys.exit(f"{bench.name}: {name} is {distance:.1e} away from what is expected")


@dataclass
class Row:
    """What one benchmark gave."""

    name: str
    visim_s: float
    pocl_s: float
    first_s: float
    difference: float
    disturbed: int
    rounds: int

    @property
    def ratio(self) -> float:
        """How many times as fast as PoCL."""
        return self.pocl_s / self.visim_s


def measure(bench: Benchmark, device: str, other: pocl.Pocl, rounds: int, scale: float) -> Row:
    """Time one benchmark on both sides."""
    values = bench.make(np.random.default_rng(1), scale)
    ours, theirs = visim_side(bench, values, device), pocl_side(bench, values, other)
    verify(bench, values, ours)
    worst = max(difference(ours.result(n), theirs.result(n)) for n in bench.outputs)
    best, disturbed = probe(), 0
    for _ in range(rounds):
        before = probe()
        ours.sample()
        theirs.sample()
        after = probe()
        best = max(best, before, after)
        disturbed += min(before, after) < QUIET * best
    return Row(
        bench.name, min(ours.times), min(theirs.times), ours.build_s, worst, disturbed, rounds
    )


def main() -> None:
    """Measure the chosen benchmarks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    if reason := pocl.missing():
        parser.exit(1, f"PoCL: {reason}\n")
    other = pocl.Pocl()
    table = Table("kernel", "visim ms", "PoCL ms", "ratio", "first ms", "rel L2", "disturbed")
    rows: list[Row] = []
    for bench in BENCHMARKS:
        if options.names and bench.name not in options.names:
            continue
        row = measure(bench, options.device, other, options.rounds, options.scale)
        rows.append(row)
        table.add_row(
            row.name,
            *(f"{1e3 * found:.2f}" for found in (row.visim_s, row.pocl_s)),
            f"{row.ratio:.2f}",
            f"{1e3 * row.first_s:.0f}",
            f"{row.difference:.1e}",
            f"{row.disturbed}/{row.rounds}",
        )
    Console().print(table)
    held_out = {bench.name for bench in BENCHMARKS if bench.held_out}
    for what, some in (
        ("the kernels", [row for row in rows if row.name not in held_out]),
        ("those held out", [row for row in rows if row.name in held_out]),
    ):
        if some:
            mean = math.exp(sum(math.log(row.ratio) for row in some) / len(some))
            Console().print(f"geometric mean of {what} ({len(some)}): {mean:.2f}")


if __name__ == "__main__":
    main()
