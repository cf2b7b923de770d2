"""What launches cost beside native code: launching again, first launches, compiling.

Run it with `python -m benchmarks.launch [--device pvc]`. Times are the least of many samples by the
clock, those of compiling are processor time. Kernels from the cache of object code are timed in
processes of their own: the first one compiles them, the others find them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import visim
import visim.opencl
from benchmarks.case import Benchmark
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import built, visim_argument
from benchmarks.sampling import least

SAMPLES = 2000
PROCESSES = 5
SCALE = 0.01
GROUP = 256
"""Work-items of the launch that is timed: one group of eight threads of 32 channels."""
SOURCE = """
kernel void axpy(float a, global const float *x, global float *y) {
    y[get_global_id(0)] += a * x[get_global_id(0)];
}"""


def show_repeated(device: str) -> None:
    """Print what the second and later launches of a kernel cost."""
    kernel = visim.opencl.build(SOURCE, device=device)["axpy"]
    x, y = np.ones(GROUP, np.float32), np.zeros(GROUP, np.float32)
    sizes: dict[str, Any] = {"global_size": GROUP, "local_size": GROUP, "engine": "jit"}
    bound = kernel.bind([2.0, x, y], **sizes)
    print("one group of eight threads, again:")
    for name, run in (
        ("bound()", bound),
        ("kernel.bind", lambda: kernel.bind([2.0, x, y], **sizes)),
        ("kernel.launch", lambda: kernel.launch([2.0, x, y], **sizes)),
    ):
        run()
        print(f"  {name}: {1e6 * least(run, SAMPLES):.1f} us")


def first_launches(folder: Path) -> dict[str, list[float]]:
    """Return for each benchmark the seconds of its first launch: by the clock, of the processor.

    Args:
        folder: where the zebins are.
    """
    found: dict[str, list[float]] = {}
    for bench in BENCHMARKS:
        program = visim.load(folder / f"{bench.name}.zebin")
        values = bench.make(np.random.default_rng(1), SCALE)
        found[bench.name] = first_launch(bench, program, values)
    return found


def first_launch(bench: Benchmark, program: visim.Program, values: dict[str, Any]) -> list[float]:
    """Return the seconds from `bind` to the end of the launch: by the clock, of the processor."""
    one = bench.launches(values)[0]
    args = [visim_argument(values.get(name, name)) for name in one.args]
    sizes: dict[str, Any] = {"global_size": one.global_size, "local_size": one.local_size}
    processor, clock = time.process_time(), time.perf_counter()
    program[one.kernel].bind(args, **sizes, engine="jit")()
    return [time.perf_counter() - clock, time.process_time() - processor]


def show_first(device: str) -> None:
    """Print what the first launches of kernels cost."""
    with tempfile.TemporaryDirectory() as folder:
        for bench in BENCHMARKS:
            built(bench, device).write(Path(folder) / f"{bench.name}.zebin")
        command = [sys.executable, "-m", "benchmarks.launch", "--first", folder]
        known = os.environ | {"VISIM_CACHE_DIR": folder}
        samples = [
            json.loads(subprocess.run(command, env=known, check=True, capture_output=True).stdout)
            for _ in range(PROCESSES + 1)
        ]
    compiled, cached = samples[0], samples[1:]
    # The first kernel of a process takes along what all have in common.
    first, *names = compiled
    median = statistics.median(1e3 * compiled[name][1] for name in names)
    print(f"compiling and the first launch: median {median:.0f} ms of processor time")
    best = {n: [1e3 * min(s[n][i] for s in cached) for i in (0, 1)] for n in (first, *names)}
    for name, (clock, processor) in best.items():
        hit = f"{clock:.1f} ms by the clock, {processor:.1f} ms of the processor"
        print(f"  {name}: {1e3 * compiled[name][1]:.0f} ms; from the cache {hit}")
    clock, processor = (statistics.median(best[name][i] for name in names) for i in (0, 1))
    print(f"from the cache: median {clock:.1f} ms by the clock, {processor:.1f} of the processor")


def main() -> None:
    """Print the costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="pvc")
    parser.add_argument("--first", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(json.dumps(first_launches(options.first)))
        return
    show_repeated(options.device)
    show_first(options.device)


if __name__ == "__main__":
    main()
