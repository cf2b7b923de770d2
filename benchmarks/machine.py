"""visim's JIT against what the machine can do.

Run it with `python -m benchmarks.machine [--scale 1.0]`. A C program (gcc, as many threads as visim
has workers) says what the machine can do: a triad over arrays of the benchmark's size, and
independent multiply-adds of F. Shares of it are printed, with what a second worker brings and how
much memory a large launch takes; each time is the best of all samples.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Benchmark
from benchmarks.kernels import BENCHMARKS
from benchmarks.pocl import bound_launches, built
from benchmarks.sampling import least

WORKERS = os.cpu_count() or 1
SAMPLES = 9
PROGRAM = r"""
#include <stddef.h>
void triad(float *a, const float *b, const float *c, float s, size_t n) {
    for (size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}
typedef float vector __attribute__((vector_size(WIDTH)));
float multiply_add(size_t rounds, float x, float y) {
    vector a[10], sum = {0};
    for (int k = 0; k < 10; ++k) a[k] = sum + (float)k;
    for (size_t i = 0; i < rounds; ++i)
        for (int k = 0; k < 10; ++k) a[k] = a[k] * x + y;
    for (int k = 0; k < 10; ++k) sum += a[k];
    return sum[0];
}
"""


def c_library(folder: str) -> tuple[ctypes.CDLL, int]:
    """Compile the C program for this processor; return it and the bytes of a vector."""
    width = 64 if "avx512f" in Path("/proc/cpuinfo").read_text() else 32
    source, target = Path(folder) / "peak.c", Path(folder) / "peak.so"
    source.write_text(PROGRAM)
    flags = ("-O3", "-march=native", "-ffast-math", f"-DWIDTH={width}", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, str(source), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target)), width


def in_parallel(work: Callable[[int], None]) -> float:
    """Return the seconds until all workers have done their part."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(WORKERS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def c_triad(library: ctypes.CDLL, arrays: dict[str, Any]) -> float:
    """Return the seconds of the C triad over the arrays, in equal parts."""
    size = len(arrays["a"]) // WORKERS

    def part(worker: int) -> None:
        places = (ctypes.c_void_p(arrays[n].ctypes.data + 4 * size * worker) for n in "abc")
        library.triad(*places, ctypes.c_float(1.5), ctypes.c_size_t(size))

    return in_parallel(part)


def peak(library: ctypes.CDLL, width: int, rounds: int = 20_000_000) -> float:
    """Return the floating-point operations a second of independent multiply-adds."""
    work = ctypes.c_size_t(rounds)
    factor, term = ctypes.c_float(0.5), ctypes.c_float(0.25)  # equal ones would be factored out
    seconds = in_parallel(lambda _: library.multiply_add(work, factor, term))
    return WORKERS * rounds * 10 * (width // 4) * 2 / seconds


def bound(name: str, scale: float, workers: int = WORKERS) -> tuple[Callable[[], None], Any]:
    """Return what launches a benchmark, already compiled, and its values."""
    bench: Benchmark = next(one for one in BENCHMARKS if one.name == name)
    values = bench.make(np.random.default_rng(1), scale)
    launches = bound_launches(bench, built(bench, "pvc"), values, workers=workers)

    def run() -> None:
        for launch in launches:
            launch()

    run()
    return run, values


def show_memory() -> None:
    """Print what a launch of 16 Mi work-items takes; has to come first, before memory is taken."""
    bound("saxpy", 0.01)  # the compiler has its memory
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _, values = bound("saxpy", 1.0)
    held = sum(v.nbytes for v in values.values() if isinstance(v, np.ndarray)) / 2**20
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 - held
    print(f"a launch of {len(values['y'])} work-items: {max(grown, 0):.0f} MiB beyond its arrays")


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    scale = parser.parse_args().scale
    show_memory()
    with tempfile.TemporaryDirectory() as folder:
        library, width = c_library(folder)
    run, values = bound("triad", scale)
    pairs = [(c_triad(library, values), least(run, SAMPLES)) for _ in range(SAMPLES)]
    theirs, ours = (min(column) for column in zip(*pairs, strict=True))
    print(f"triad: {12e-9 * len(values['a']) / ours:.1f} GB/s, {theirs / ours:.0%} of C's")
    best = max(peak(library, width) for _ in range(3))
    print(f"multiply-adds in C: {best / 1e9:.0f} GFLOP/s")
    run, values = bound("sgemm_tiled", scale)
    n = int(values["n"])
    share = 2 * n**3 / least(run, SAMPLES) / best
    print(f"sgemm_tiled: {share:.0%} of them")
    run, values = bound("nbody", scale)
    share = 20 * len(values["p"]) ** 2 / least(run, SAMPLES) / best
    print(f"nbody, 20 operations for each pair: {share:.0%} of them")
    for name in ("nbody", "mandel", "blackscholes", "sha256", "sgemm_tiled", "spilldp"):
        one, all_of_them = (least(bound(name, scale, count)[0], SAMPLES) for count in (1, WORKERS))
        print(f"{name}: {WORKERS} workers are {one / all_of_them:.2f} times as fast as one")


if __name__ == "__main__":
    main()
