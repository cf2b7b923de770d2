"""Compares the timing model with the schedules that today's compiler expects.

    python -m tools.finalizer.compare [DEVICE ...]

compiles, compares, and writes results.json, for all devices or some: a minute each.

The compiler writes a timeline of each block (-dumpSchedule, with the latencies of one thread). The
model takes its instructions in its order; how many blocks it has in the same cycles is counted. The
latencies of a kind of instruction are those after which the compiler lets an instruction start
that waits for nothing else. The page of `docs` is made from the results (`tools.finalizer.page`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tools.finalizer.schedules import Scheduled, UnreadError
from tools.finalizer.today import schedule
from visim.target import platform
from visim.timing import find_machine
from visim.timing.costs import timing_of
from visim.timing.machine import Machine
from visim.timing.native import ACCUMULATOR_0, ADDRESS, FLAG_0, RESOURCES, Native
from visim.timing.single import SingleThread
from visim.toolchain.components import COMPILER
from visim.toolchain.installed import newest

ARCHITECTURES = ("dg2", "mtl", "arl", "pvc", "lnl", "bmg", "ptl", "cri")
RESULTS = Path(__file__).with_name("results.json")
PROGRAMS = Path(__file__).parents[2] / "tests" / "opencl" / "programs"
OPTIONS = "-dumpSchedule -dontUseMultiThreadedLatencies"
_NAMES = """
    atomics_64 atomics_global atomics_local bitonic_sort convert_float double_ops dp4a fft half_ops
    histogram int_ops kmeans local_rotate long_ops mandelbrot math_native math_trig nbody
    prefix_scan sgemm split_barriers spmv stencil subgroup_block subgroup_shuffle transpose
    work_group
"""
_MATRIX = (
    "-DROWS={} -DSG={} -DA={} -DB=int -DACC=float -DMAD=intel_sub_group_f16_f16_matrix_mad_k16"
)
_OWN_RATE = ("dpas.", "mad.wide")
"""What keeps a unit of the model busy for as long as was measured or published."""
_TIMEOUT_S = 300
_LONGEST = 60
"""Cycles after which whatever is no message is ready."""
_FEW = 8
"""Up to so many channels nothing is told apart."""
_FAMILIES = {"math": "math", "move": "moves", "logic": "moves"}


@dataclass
class Comparison:
    """A device: its blocks, those in equal cycles, cycles of both, and what is unlike.

    `unread` counts blocks by why they are not compared, `first` the kinds of the instructions that
    are first in another cycle; `latencies` has by kind and channels the compiler's and the model's.
    """

    blocks: int = 0
    equal: int = 0
    instructions: int = 0
    expected: int = 0
    modelled: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    first: Counter[str] = field(default_factory=Counter)
    seen: dict[tuple[str, int], Counter[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def to_dict(self) -> dict[str, object]:
        """Return the form of results.json."""
        latencies = [
            [kind, channels, *counts.most_common(1)[0][0], counts.total()]
            for (kind, channels), counts in sorted(self.seen.items())
        ]
        return {
            "blocks": self.blocks,
            "equal": self.equal,
            "instructions": self.instructions,
            "expected": self.expected,
            "modelled": self.modelled,
            "unread": dict(self.unread.most_common()),
            "first": dict(self.first.most_common()),
            "latencies": latencies,
        }


def believed(arch: str) -> Machine:
    """Return a machine whose units are as long busy as the compiler believes.

    The model's own rates of matrix products and of doubles are those of devices; the compiler has
    them take turns with others as all instructions do.
    """
    machine = find_machine(arch, "igc")
    costs = {
        name: replace(cost, df_1=0, df_sx=1, db_1=0, db_sx=0)
        if name.startswith(_OWN_RATE)
        else cost
        for name, cost in machine.costs.items()
    }
    return replace(machine, costs=costs)


def timelines(ocloc: Path, source: Path, arch: str, options: str = "") -> Iterator[str]:
    """Yield the timelines that the current compiler writes for a file of OpenCL C."""
    name = platform(arch).products[0].names[0]
    words = [ocloc, "compile", "-file", source, "-device", name]
    words += ["-options", f"-cl-std=CL3.0 {options}"]
    dumping = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCurrentDir": "1", "IGC_VISAOptions": OPTIONS}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, **dumping},
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        for file in sorted(Path(folder).glob("*.schedule")):
            yield file.read_text(encoding="utf-8")


def compare(text: str, machine: Machine, into: Comparison) -> None:
    """Add a timeline to a device's comparison."""
    try:
        items = list(schedule(text, machine.native.version, machine.native.grf_bytes))
    except UnreadError as reason:
        into.unread[str(reason).partition(":")[0]] += 1
        return
    if not items:
        return
    cycles = list(modelled(items, machine))
    into.blocks += 1
    into.instructions += len(items)
    into.expected += items[-1].cycle
    into.modelled += cycles[-1]
    unlike = [item.native for item, cycle in zip(items, cycles, strict=True) if item.cycle != cycle]
    into.equal += not unlike
    into.first.update(native.kind for native in unlike[:1])
    for native, latency in seen_latencies(items, machine):
        both = latency, _latency(native, machine)
        into.seen[_kind(native, machine), max(_FEW, native.size)][both] += 1


def modelled(items: Sequence[Scheduled], machine: Machine) -> Iterator[int]:
    """Yield the cycles in which the model begins with the instructions of a timeline."""
    thread = SingleThread(machine, time=items[0].cycle)
    for item in items:
        yield thread.issue(item.native)
        if item.is_barrier:
            thread.forget(item.awaited)


def seen_latencies(items: Sequence[Scheduled], machine: Machine) -> Iterator[tuple[Native, int]]:
    """Yield instructions with how long after them one starts that waits for no other one."""
    writers: dict[int, Scheduled] = {}
    free = 0
    for item in items:
        sources = _recent({writers[r] for r in item.native.reads if r in writers}, item.cycle)
        if item.cycle > free and len(sources) == 1:
            (source,) = sources
            yield source.native, item.cycle - source.cycle
        if item.is_barrier:
            writers.clear()
            writers.update(dict.fromkeys(item.awaited, item))
        else:
            writers.update(dict.fromkeys(item.native.writes, item))
        free = item.cycle + timing_of(item.native, machine).front


def _recent(sources: set[Scheduled], cycle: int) -> set[Scheduled]:
    """Return the instructions without those that have been ready for long if there are others."""
    near = {item for item in sources if item.native.is_send or cycle - item.cycle < _LONGEST}
    return near or sources


def _kind(native: Native, machine: Machine) -> str:
    """Return what is told apart: the class of costs, or what is special about the target."""
    name = machine.class_of(native.kind, native.opcode, native.size)
    if native.is_send or native.kind.startswith("dpas"):
        return name.removesuffix(".lsc").removesuffix(".simd32")
    if any(w == ADDRESS or FLAG_0 <= w < RESOURCES for w in native.writes):
        return "flags, addresses"
    in_accumulator = native.writes and all(ACCUMULATOR_0 <= w < FLAG_0 for w in native.writes)
    family = _FAMILIES.get(name.partition(".")[0], "arithmetic")
    return f"{family}, accumulator" if in_accumulator else family


def _latency(native: Native, machine: Machine) -> int:
    cost = timing_of(native, machine)
    return cost.front + max(dict(cost.after)[resource] for resource in native.writes)


def _sources(arch: str) -> Iterator[tuple[Path, str]]:
    """Yield the programs with their options."""
    for name in _NAMES.split():
        yield PROGRAMS / f"{name}.cl", ""
    if "dpas" not in find_machine(arch).native.features:
        return
    width = 16 if find_machine(arch).native.grf_bytes == 64 else 8
    for rows in (1, 2, 4, 8):
        yield PROGRAMS / "dpas.cl", _MATRIX.format(rows, width, "short" if width == 16 else "int")


def main(chosen: Sequence[str]) -> int:
    """Compare some devices, or all, and write the results; returns the exit code."""
    compiler = newest(COMPILER)
    if compiler is None:
        print("no current compiler: visim toolchain install compiler", file=sys.stderr)
        return 1
    known: dict[str, object] = {}
    if chosen:
        known = json.loads(RESULTS.read_text(encoding="utf-8"))["devices"]
    found: dict[str, object] = {}
    for arch in ARCHITECTURES:
        if chosen and arch not in chosen:
            found[arch] = known[arch]
            continue
        machine, comparison = believed(arch), Comparison()
        for source, options in _sources(arch):
            for text in timelines(compiler.folder / "bin" / "ocloc", source, arch, options):
                compare(text, machine, comparison)
        found[arch] = comparison.to_dict()
        print(arch, comparison.equal, "of", comparison.blocks, flush=True)
    text = json.dumps({"compiler": compiler.version, "devices": found}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
