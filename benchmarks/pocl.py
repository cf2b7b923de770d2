"""visim's JIT against PoCL, the same OpenCL C kernels in one run of one process.

Run it with `python -m benchmarks.pocl [--device pvc] [--scale 1.0] [--rounds 5] [kernel ...]` in
the repository. Samples of both sides alternate; a probe of the processor before and after each
pair tells whether something else ran meanwhile. Each side is timed from the enqueue to the end of
the launches, by the clock and in processor time of all threads, which means something on a busy
machine too; ratios are those of the best samples, PoCL's time over visim's. Results are compared
with each other. `--held-out` takes 14 other kernels instead, `--survey` six of kinds beside those.
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
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import visim
import visim.opencl
from benchmarks.case import Benchmark, Launch, Values
from benchmarks.held_out import HELD_OUT
from benchmarks.kernels import BENCHMARKS
from benchmarks.survey import SURVEY
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


def _nothing() -> None:
    pass


@dataclass
class Side:
    """One implementation with a benchmark's program and arrays; times are in seconds.

    `restore` gives arrays that a run changes their first values, so that each run has the same to
    do; it is not timed.
    """

    run: Callable[[], None]
    result: Callable[[str], np.ndarray]
    build_s: float
    restore: Callable[[], None] = _nothing
    clock: list[float] = field(default_factory=list[float])
    processor: list[float] = field(default_factory=list[float])

    def sample(self) -> None:
        """Run all launches once on the first values, and note the times."""
        self.restore()
        processor, clock = time.process_time(), time.perf_counter()
        self.run()
        self.clock.append(time.perf_counter() - clock)
        self.processor.append(time.process_time() - processor)


def built(bench: Benchmark, device: str) -> visim.Program:
    """Return a benchmark's program, for visim."""
    return visim.opencl.build(bench.source, device=device, options=bench.options)


def bound_launches(
    bench: Benchmark, program: visim.Program, values: dict[str, Any], **options: Any
) -> list[Callable[[], Any]]:
    """Return what launches a benchmark on the JIT, on the arrays as they are."""
    return [
        program[one.kernel].bind(
            [visim_argument(values.get(name, name)) for name in one.args],
            global_size=one.global_size,
            local_size=one.local_size,
            engine="jit",
            **options,
        )
        for one in bench.launches(values)
    ]


def copied(values: dict[str, Any]) -> dict[str, Any]:
    """Return a benchmark's values with arrays of their own, aligned as PoCL aligns its buffers."""
    return {n: _aligned(v) if isinstance(v, np.ndarray) else v for n, v in values.items()}


def _aligned(array: Any) -> NDArray[Any]:
    found = visim.Buffer(array.nbytes).array(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def visim_side(bench: Benchmark, values: dict[str, Any], device: str, **options: Any) -> Side:
    """Prepare a benchmark for visim; `options` are those of launches."""
    program, arrays = built(bench, device), copied(values)
    start = time.perf_counter()
    bound = bound_launches(bench, program, arrays, **options)

    def run() -> None:
        for launch in bound:
            launch()

    run()
    build_s = time.perf_counter() - start
    changed = _changed(values, lambda name: arrays[name])

    def restore() -> None:
        for name in changed:
            arrays[name][...] = values[name]

    return Side(run, lambda name: arrays[name], build_s, restore)


def _changed(values: Values, result: Callable[[str], np.ndarray]) -> list[str]:
    """Return which arrays a run has changed."""
    arrays = [name for name, value in values.items() if isinstance(value, np.ndarray)]
    return [name for name in arrays if result(name).tobytes() != values[name].tobytes()]


def visim_argument(value: Any) -> Any:
    """Return a benchmark's value as visim takes it."""
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
    build_s = time.perf_counter() - start
    changed = _changed(values, result)

    def restore() -> None:
        for name in changed:
            first = np.ascontiguousarray(values[name])
            data, size = first.ctypes.data_as(c_void_p), c_size_t(first.nbytes)
            device.call(
                "clEnqueueWriteBuffer",
                *(device.queue, buffers[name], c_uint32(1), c_size_t(0), size, data, 0, None, None),
            )

    return Side(run, result, build_s, restore)


def _enqueue(
    device: pocl.Pocl,
    program: pocl.PoclProgram,
    one: Launch,
    values: dict[str, Any],
    buffers: dict[str, c_void_p],
) -> Callable[[], None]:
    kernel = device.create("clCreateKernel", program.program, one.kernel.encode())
    for index, name in enumerate(one.args):
        size, data = pocl.argument(values.get(name, name), buffers.get(name))
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
    """Return the relative L2 distance of two results, 0 only if they are equal."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    distance = float(np.linalg.norm(x - y) / (np.linalg.norm(y) or 1.0))
    return distance or float(np.finfo(np.float64).eps) * (not np.array_equal(a, b))


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
    ours: Side
    theirs: Side
    difference: float
    disturbed: int

    @property
    def ratio(self) -> float:
        """How many times as fast as PoCL, by the clock."""
        return min(self.theirs.clock) / min(self.ours.clock)

    @property
    def processor_ratio(self) -> float:
        """How many times as fast as PoCL, in processor time."""
        return min(self.theirs.processor) / min(self.ours.processor)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the printed table."""
        rounds = len(self.ours.clock)
        return (
            self.name,
            *(f"{1e3 * min(side.clock):.2f}" for side in (self.ours, self.theirs)),
            f"{self.ratio:.2f}",
            *(f"{1e3 * min(side.processor):.2f}" for side in (self.ours, self.theirs)),
            f"{self.processor_ratio:.2f}",
            f"{1e3 * self.ours.build_s:.0f}",
            f"{self.difference:.1e}",
            f"{self.disturbed}/{rounds}",
        )


HEADINGS = (
    *("kernel", "visim ms", "PoCL ms", "ratio", "visim CPU ms", "PoCL CPU ms", "CPU ratio"),
    *("first ms", "rel L2", "disturbed"),
)


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
    return Row(bench.name, ours, theirs, worst, disturbed)


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    """Measure the chosen benchmarks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    sets = parser.add_mutually_exclusive_group()
    sets.add_argument("--held-out", action="store_const", dest="benchmarks", const=HELD_OUT)
    sets.add_argument("--survey", action="store_const", dest="benchmarks", const=SURVEY)
    parser.set_defaults(benchmarks=BENCHMARKS)
    options = parser.parse_args()
    if reason := pocl.missing():
        parser.exit(1, f"PoCL: {reason}\n")
    benchmarks: tuple[Benchmark, ...] = options.benchmarks
    chosen = [one for one in benchmarks if not options.names or one.name in options.names]
    if not chosen:
        parser.error(f"there are {', '.join(one.name for one in benchmarks)}")
    other, rows = pocl.Pocl(), list[Row]()
    table = Table(*HEADINGS)
    for bench in chosen:
        rows.append(measure(bench, options.device, other, options.rounds, options.scale))
        table.add_row(*rows[-1].cells())
    console = Console(width=max(120, Console().width))
    console.print(table)
    by_clock = geometric_mean([row.ratio for row in rows])
    by_processor = geometric_mean([row.processor_ratio for row in rows])
    console.print(
        f"geometric means of the {len(rows)}: {by_clock:.2f} by the clock,"
        f" {by_processor:.2f} in processor time"
    )


if __name__ == "__main__":
    main()
