"""visim's JIT on code for several devices against other OpenCL implementations, in one run.

Run it in the repository:

    python -m benchmarks.peers --set public [--devices pvc,bmg,dg2] [--intel FOLDER]
        [--rounds 5] [--scale 1.0] [--cores 1] [--json FILE] [kernel ...]

PoCL is always a peer. Intel's runtime for CPUs is one where `--intel` names the folder that has its
`libintelocl.so` (`pip install intel-opencl-rt intel-cmplr-lib-rt` in an environment of its own puts
it into `lib`). Every side has arrays of its own, which get their first values again before each
run. Sides may finish what they compile in the background. In each round all sides take their turn,
another one first each time, and run a few times; the least time counts, by the clock and in
processor time of all threads. With `--cores 1` (usual) the process has one core: then a busy
machine disturbs the processor time least, and threads that wait for work cost nothing. Each side's
first results must be those that NumPy gives; what is wrong or does not build is told and has no
times. A file that is there already is added to, unless its kernels are named.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import visim
import visim.opencl
from benchmarks import results
from benchmarks.case import Benchmark, Values
from benchmarks.drawn import SEED
from benchmarks.pocl import Side, difference, geometric_mean, pocl_side, visim_side
from benchmarks.sets import SETS, families
from tests.opencl import pocl
from visim.engine.jit.common.ahead import RENEWING

POCL = "pocl"
INTEL = "intel"
PLATFORMS = {POCL: pocl.PLATFORM, INTEL: "Intel(R) OpenCL"}
LIBRARY = "libintelocl.so"
VENDORS = Path("/etc/OpenCL/vendors")
ENOUGH_S = 4e-3
"""A turn of a side ends when so much time has passed."""
MOST_RUNS = 8
"""Or after so many runs."""
SETTLING_RUNS = 2
"""So many runs let a side find out what is worth a slower tier."""
SETTLING_S = 120.0
"""So long at most code is waited for that is made in the background."""

Prepare = Callable[[Benchmark, Values], Side]


def find_peers(intel: Path | None, folder: Path) -> dict[str, pocl.Pocl]:
    """Return the implementations to compare with.

    Args:
        intel: the folder with Intel's runtime.
        folder: an empty one that stays while they are used.
    """
    for path in VENDORS.glob("*pocl*.icd"):
        (folder / path.name).write_text(path.read_text())
    if intel is not None:
        (folder / "intel.icd").write_text(f"{intel.resolve() / LIBRARY}\n")
    os.environ["OCL_ICD_VENDORS"] = str(folder)  # read when the library is used first
    names = (POCL,) if intel is None else (POCL, INTEL)
    return {name: pocl.Pocl(PLATFORMS[name]) for name in names}


def sides(devices: list[str], peers: dict[str, pocl.Pocl]) -> dict[str, Prepare]:
    """Return by name what prepares a benchmark for each side."""
    found: dict[str, Prepare] = {}
    for device in devices:
        found[device] = lambda bench, values, device=device: visim_side(bench, values, device)
    for name, peer in peers.items():
        found[name] = lambda bench, values, peer=peer: pocl_side(bench, values, peer)
    return found


def wrong(bench: Benchmark, side: Side, wanted: Values) -> str | None:
    """Return what is wrong with the results of a side's first run, or None."""
    for name, array in wanted.items():
        distance = difference(side.result(name)[: len(array)], np.asarray(array))
        if not distance <= bench.tolerance:
            return f"{name} is {distance:.1e} away from what is expected"
    return None


def prepared(
    bench: Benchmark, scale: float, prepare: dict[str, Prepare]
) -> tuple[dict[str, Side], dict[str, str]]:
    """Return a benchmark's sides that work, and why the others do not."""
    values = bench.make(np.random.default_rng(1), scale)
    wanted = bench.expected(values) if bench.expected else {}
    working, failed = dict[str, Side](), dict[str, str]()
    for name, make in prepare.items():
        try:
            side = make(bench, values)
        except (visim.VisimError, pocl.PoclError) as error:
            failed[name] = str(error).strip().splitlines()[0][:160]
            continue
        reason = wrong(bench, side, wanted)
        if reason:
            failed[name] = reason
        else:
            working[name] = side
    settle(working)
    return working, failed


def settle(working: dict[str, Side]) -> None:
    """Run each side until it has all the code that it makes beside its first launches."""
    for side in working.values():
        for _ in range(SETTLING_RUNS):
            side.restore()
            side.run()
    end = time.perf_counter() + SETTLING_S
    while RENEWING.is_busy and time.perf_counter() < end:
        time.sleep(0.1)


def take_turns(working: dict[str, Side], rounds: int) -> None:
    """Time all sides; another one is first in each round."""
    names = list(working)
    for number in range(rounds):
        first = number % max(1, len(names))
        for name in (*names[first:], *names[:first]):
            _turn(working[name])


def _turn(side: Side) -> None:
    end = time.perf_counter() + ENOUGH_S
    for _ in range(MOST_RUNS):
        side.sample()
        if time.perf_counter() > end:
            return


def measure(
    bench: Benchmark, family: str, scale: float, rounds: int, prepare: dict[str, Prepare]
) -> dict[str, Any]:
    """Return what a benchmark gave, as a file of results has it."""
    working, failed = prepared(bench, scale, prepare)
    take_turns(working, rounds)
    times = {
        name: {
            "clock_ms": _milliseconds(min(side.clock)),
            "processor_ms": _milliseconds(min(side.processor)),
            "first_ms": _milliseconds(side.build_s),
        }
        for name, side in working.items()
    }
    return {"family": family, "sides": times, "failed": failed}


def _milliseconds(seconds: float) -> float:
    return float(f"{1e3 * seconds:.4g}")


def ratios(kernels: dict[str, Any], side: str, peer: str, what: str) -> dict[str, float]:
    """Return by kernel how many times as long a peer takes.

    Args:
        kernels: what a file of results has of each.
        side: a device that visim executes code for.
        peer: the other implementation.
        what: the time that counts, `processor_ms` or `clock_ms`.
    """
    return {
        name: one["sides"][peer][what] / one["sides"][side][what]
        for name, one in kernels.items()
        if side in one["sides"] and peer in one["sides"]
    }


def compilers(devices: list[str]) -> dict[str, str]:
    """Return the compiler of each device's code."""
    probe = "kernel void probe() {}"
    return {device: str(visim.opencl.build(probe, device=device).compiler) for device in devices}


def show(kernels: dict[str, Any], devices: list[str], peers: list[str]) -> None:
    """Print ratios in processor time, and means by both times."""
    heads = [(device, peer) for peer in peers for device in devices]
    table = Table("kernel", *(f"{peer}/{device}" for device, peer in heads))
    found = {head: ratios(kernels, *head, "processor_ms") for head in heads}
    for name in kernels:
        cells = (found[head].get(name) for head in heads)
        table.add_row(name, *("" if cell is None else f"{cell:.2f}" for cell in cells))
    console = Console(width=max(120, Console().width))
    console.print(table)
    for head in heads:
        if found[head]:
            console.print(_summary(head, found[head], ratios(kernels, *head, "clock_ms")))
    for name, one in kernels.items():
        for side, reason in one["failed"].items():
            console.print(f"{name}, {side}: {reason}", markup=False)


def _summary(head: tuple[str, str], processor: dict[str, float], clock: dict[str, float]) -> str:
    values = list(processor.values())
    least = min(processor, key=lambda name: processor[name])
    enough = sum(value >= 0.9 for value in values) / len(values)
    return (
        f"{head[1]} / {head[0]}, {len(values)} kernels: {geometric_mean(values):.2f} in processor"
        f" time, {geometric_mean(list(clock.values())):.2f} by the clock; {100 * enough:.0f} % at"
        f" 0.9 or better; least {processor[least]:.2f} ({least})"
    )


def _chosen(options: argparse.Namespace) -> Iterator[tuple[str, Benchmark]]:
    for family, kernels in families(options.set, options.seed).items():
        for one in kernels:
            if not options.names or one.name in options.names:
                yield family, one


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="kernel")
    parser.add_argument("--set", choices=tuple(SETS), default="public")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--devices", default="pvc,bmg,dg2")
    parser.add_argument("--intel", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--json", type=Path)
    return parser


def main() -> None:
    """Measure the chosen set, print a table and write a file of results."""
    parser = _parser()
    options = parser.parse_args()
    if options.intel and not (options.intel / LIBRARY).exists():
        parser.error(f"there is no {options.intel / LIBRARY}")
    chosen = list(_chosen(options))
    if not chosen:
        parser.error(f"the set {options.set} has no such kernel")
    cores = sorted(os.sched_getaffinity(0))[-options.cores :]
    os.sched_setaffinity(0, cores)
    devices = options.devices.split(",")
    with tempfile.TemporaryDirectory() as folder:
        try:
            peers = find_peers(options.intel, Path(folder))
        except (OSError, pocl.PoclError) as error:
            parser.exit(1, f"{error}\n")
        result = results.heading(len(cores)) | {
            "set": options.set,
            "settings": {"rounds": options.rounds, "scale": options.scale, "seed": options.seed},
            "compilers": compilers(devices),
            "peers": {name: peer.version for name, peer in peers.items()},
            "kernels": {},
        }
        kernels: dict[str, Any] = result["kernels"]
        if options.json and options.json.exists():
            kernels |= results.read(options.json)["kernels"]
        prepare = sides(devices, peers)
        for family, bench in chosen:
            if bench.name in kernels and bench.name not in options.names:
                continue
            kernels[bench.name] = measure(bench, family, options.scale, options.rounds, prepare)
            print(f"{bench.name} ({len(kernels)} of {len(chosen)})", flush=True)
            if options.json:
                results.write(options.json, result)
    show(kernels, devices, list(peers))


if __name__ == "__main__":
    main()
