"""`python -m benchmarks.verdicts`: verdicts an hour, and how long a cached check takes.

A verdict is what an agent wants of a new kernel: it is compiled, run on three shapes with what is
expected of them, and sanitized. Each kernel is another text, so nothing is answered from memory.
Two clients ask over HTTP, as a server with two workers has it.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from visim.serve.client import Client
from visim.serve.http import HttpFront, listen_unix
from visim.serve.oracle import Oracle

_SAXPY = """
__kernel void f(__global float *y, __global const float *x, float a, int n)
{
    int i = get_global_id(0);
    if (i < n)
        y[i] += a * x[i] + %d;
}
"""
_STENCIL = """
__kernel void f(__global float *y, __global const float *x, float a, int n)
{
    int i = get_global_id(0);
    if (i > 0 && i < n - 1)
        y[i] = a * (x[i - 1] + x[i] + x[i + 1]) + %d;
}
"""
_SUM = """
__kernel void f(__global float *y, __global const float *x, float a, int n)
{
    __local float part[64];
    int i = get_global_id(0), l = get_local_id(0);
    part[l] = i < n ? a * x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 32; s > 0; s >>= 1) {
        if (l < s)
            part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        y[get_group_id(0)] = part[0] + %d;
}
"""
_KERNELS = {
    "saxpy": (_SAXPY, "y + a*x + {c}"),
    "stencil": (
        _STENCIL,
        "where((i > 0) & (i < n - 1), a*(roll(x, 1) + x + roll(x, -1)) + {c}, y)",
    ),
    "sum": (_SUM, "where(i < n // 64, a*64 + {c}, y)"),
}
_SHAPES = (64, 256, 1024)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="bmg")
    chosen = parser.parse_args()
    verdicts = (chosen.count + 11) * len(_KERNELS)
    with tempfile.TemporaryDirectory() as folder, Oracle(workers=chosen.workers) as oracle:
        path = Path(folder, "s")
        front = HttpFront(oracle, listen_unix(path))
        thread = threading.Thread(target=front.serve)
        thread.start()
        try:
            _measure(path, chosen.count, chosen.workers, chosen.device)
        finally:
            front.stop()
            thread.join()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(one.ru_utime + one.ru_stime for one in used)
    print(f"{seconds / verdicts:.3f} seconds of CPU a verdict, with the start of all processes")


def _measure(path: Path, count: int, clients: int, device: str) -> None:
    with Client(path) as client:
        for name in _KERNELS:
            _verdict(client, name, 10_000_000, device)  # what is loaded once
        for name in _KERNELS:
            each = [_timed(partial(_verdict, client, name, n, device)) for n in range(10)]
            print(f"{name}: {statistics.median(each) * 1000:.0f} ms a verdict, one client")
    jobs = [(name, 1000 + n) for n in range(count) for name in _KERNELS]
    seconds = _timed(lambda: _together(path, jobs, clients, device))
    print(f"{len(jobs)} verdicts in {seconds:.1f} s: {len(jobs) / seconds * 3600:.0f} an hour")
    with Client(path) as client:
        request = {"program": {"source": _SAXPY % 1, "device": device}}
        client.call("check", request)
        each = sorted(_timed(lambda: client.call("check", request)) for _ in range(500))
        print(
            f"a cached check: {each[250] * 1000:.2f} ms (median), {each[-5] * 1000:.2f} ms (99 %)"
        )


def _together(path: Path, jobs: Sequence[tuple[str, int]], clients: int, device: str) -> None:
    def work(part: Sequence[tuple[str, int]]) -> None:
        with Client(path) as client:
            for name, number in part:
                _verdict(client, name, number, device)

    threads = [threading.Thread(target=work, args=(jobs[n::clients],)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _verdict(client: Client, name: str, number: int, device: str) -> None:
    text, formula = _KERNELS[name]
    program = {"source": text % number, "device": device}
    cases = [_case(size, formula.format(c=number)) for size in _SHAPES]
    for answer in (
        client.call("run", {"program": program, "cases": cases}),
        client.call("sanitize", {"program": program, "cases": cases[:1]}),
    ):
        if answer["verdict"] != "fine":
            raise SystemExit(f"{name}: {answer['summary']}")


def _case(size: int, formula: str) -> dict[str, object]:
    args = {"y": f"iota:{size}", "x": f"ones:{size}", "a": 2, "n": size}
    return {
        "global_size": [size],
        "local_size": [64],
        "args": args,
        "expect": {"y": {"formula": formula}},
    }


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
