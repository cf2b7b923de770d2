"""The pages that hold the timing model against what others published.

`published_points.csv` has what was found published about Intel's GPUs, one row a number, with its
source. A row that the model can be held against has the model's generation, what is measured, the
value in the model's unit, and settings where the device is another one of the generation. All
other rows say why not; what a table was made from is never compared. The model's number comes from
a kernel that does what was measured, run through the model as `visim time` does.
"""

from __future__ import annotations

import csv
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import visim
from tools.instruction_pages import GENERATED
from tools.streams import STREAMS, streamed
from visim.timing import Timing, TimingResult, find_machine

POINTS = Path(__file__).with_name("published_points.csv")
_COUNT = 196
"""Instructions of a kernel; a multiple of the seven that do not wait for each other."""
_APART = 7


@dataclass(frozen=True)
class Point:
    """A published number: of which device, as it is published, and by whom.

    `measure` is what the model does for it, `value` and `unit` what it should find, `settings` are
    numbers of the device that differ from the generation's table. `reason` says why there is no
    measure.
    """

    device: str
    quantity: str
    published: str
    conditions: str
    source: str
    arch: str
    measure: str
    value: float
    unit: str
    settings: str
    reason: str

    @property
    def parameters(self) -> dict[str, int]:
        """The settings as numbers by name."""
        pairs = (word.partition("=") for word in self.settings.split())
        return {name: int(value) for name, _, value in pairs}


@dataclass(frozen=True)
class Probe:
    """A kernel that measures: its declarations, its instructions, and operations in each."""

    declarations: tuple[str, ...]
    body: tuple[str, ...]
    operations: int


def points() -> list[Point]:
    """Return the published points in the order of the file."""
    with POINTS.open(encoding="utf-8", newline="") as file:
        return [_point(row) for row in csv.DictReader(file)]


def _point(row: Mapping[str, str]) -> Point:
    return Point(
        row["device"],
        row["quantity"],
        f"{row['published']} {row['in_unit']}".strip(),
        row["conditions"],
        row["source"],
        row["arch"],
        row["measure"],
        float(row["value"] or 0),
        row["unit"],
        row["settings"],
        row["not_modelled"],
    )


def modelled(point: Point) -> float:
    """Return the model's number for a point, in its unit."""
    if point.measure in STREAMS:
        return streamed(point.arch, point.measure, point.parameters)
    return _of_core(point.arch, point.measure)


@cache
def _of_core(arch: str, measure: str) -> float:
    """Return the operations of a core in a cycle, or the cycles of a latency."""
    grf = find_machine(arch).native.grf_bytes
    if measure in _CHAINS:
        probe = _CHAINS[measure](grf)
        return _timed(arch, probe, threads=1).cycles / _COUNT
    probe = _RATES[measure](grf)
    result = _timed(arch, probe, threads=find_machine(arch).number("slots"))
    return probe.operations * len(probe.body) * result.threads / result.cycles


def pages() -> Iterator[tuple[str, list[str]]]:
    """Yield the names and the lines of the pages."""
    known = points()
    compared = [point for point in known if point.measure]
    errors = {point: modelled(point) / point.value - 1 for point in compared}
    yield _PAGE, list(_cores(compared, errors))
    yield _OTHERS, list(_memory(known, compared, errors))


def _cores(compared: Sequence[Point], errors: Mapping[Point, float]) -> Iterator[str]:
    yield from ("# The timing model against measurements", "", GENERATED, "")
    yield (
        "Rates are operations of one core in a cycle, a multiply-add counting as two, with all "
        "hardware threads busy; latencies are cycles of a chain; bandwidths are those of the whole "
        "device. The measurements are others', on real devices; none of those that are compared "
        "here went into the model's tables. Measured programs have loops and launches around their "
        "instructions, the model's kernels have none."
    )
    yield ""
    yield f"All together: {_summary(compared, errors)} The goal is a median of 15 %."
    yield ""
    yield f"Bandwidths, a whole kernel, and what is not compared: [the second page]({_OTHERS})."
    yield from _group("Rates and latencies of cores", compared, errors, _is_of_core)
    yield from ("", *_WHY.splitlines())


_WHY = """\
## Where the errors are large

- *Lattice Boltzmann* on integrated GPUs, the A380 and the Max 1100 (33 to 74 % too fast): a
  cell has 38 accesses far apart, and the model has neither translations of addresses nor rows
  of memory. HD 5500 and Meteor Lake reach 45 % of their bus with it, a processor's share of it
  included, where streams reach 80 % and more. Battlemage's share of its bus comes from this
  very kernel.
- *16-bit integers* on Max 1100 and B580 (67 % too slow): 87 operations a cycle are more than
  64, two for each 16 bits of a register, so the measured program does less than it counts. The
  finalizer believes that they take the time of dwords, and so does the model.
- *Halves and 16-bit integers by Vulkan* on the A770 (51 and 80 % too fast): vectors of four, in
  code of another compiler (vkpeak). With OpenCL the same device does half of the peak, which
  the model explains: two of three sources are one register.
- *Chains x*x+c* in floats on A750 and A770 (25 % too slow): the model lets a register that two
  sources are cost a second read, as measured on the A380; here it costs half as much.
- *Matrix and byte products* on Arrow Lake (36 to 50 % too fast): the program reaches 73 % of
  the published rate of matrices and 66 % of that of bytes; why is not said.
- *Doubles* on the Max 1100 (30 % too slow): 22.9 operations a cycle were measured there, 16.4
  and 25 on the Max 1550, 32 are published. The model has 16.
- *Writes* on B580 and Max 1100 (25 to 40 % too slow): 474 GB/s are more than the bus has; the
  measured arrays fit into the L2 in part, the model's are written to memory to the last byte.
"""


def _memory(
    known: Sequence[Point], compared: Sequence[Point], errors: Mapping[Point, float]
) -> Iterator[str]:
    yield from ("# The timing model's memory against measurements", "", GENERATED, "")
    yield f"How to read this: [the timing model against measurements]({_PAGE})."
    yield from _group("Bandwidths", compared, errors, _is_bandwidth)
    yield from _group("A whole kernel: lattice Boltzmann", compared, errors, _is_kernel)
    yield from ("", "## What is not compared", "", *_reasons(known, len(compared)))


def _group(
    title: str,
    compared: Sequence[Point],
    errors: Mapping[Point, float],
    belongs: Callable[[Point], bool],
) -> Iterator[str]:
    rows = [point for point in compared if belongs(point)]
    yield from ("", f"## {title}", "", _summary(rows, errors), "", *_rows(rows, errors))


def _is_of_core(point: Point) -> bool:
    return point.measure not in STREAMS


def _is_kernel(point: Point) -> bool:
    return point.measure == "lbm"


def _is_bandwidth(point: Point) -> bool:
    return point.measure in STREAMS and not _is_kernel(point)


def _summary(rows: Sequence[Point], errors: Mapping[Point, float]) -> str:
    middle = statistics.median(abs(errors[point]) for point in rows)
    worst = max(rows, key=lambda point: abs(errors[point]))
    return (
        f"{len(rows)} points; the median of the errors is {middle:.1%}, the largest is "
        f"{errors[worst]:+.0%} ({worst.measure}, {worst.device})."
    )


def _rows(rows: Sequence[Point], errors: Mapping[Point, float]) -> Iterator[str]:
    yield "| Generation | What | Measured | Model | Error | On | Published | Source |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for point in rows:
        published = ", ".join(filter(None, (point.quantity, point.published, point.conditions)))
        yield (
            f"| {point.arch} | {point.measure} ({point.unit}) | {point.value:g} | "
            f"{modelled(point):.3g} | {errors[point]:+.0%} | {point.device} | {published} | "
            f"{point.source} |"
        )


def _reasons(known: Sequence[Point], compared: int) -> Iterator[str]:
    """Yield why the other rows are not compared."""
    others = [point for point in known if not point.measure]
    yield f"{len(others)} of {len(others) + compared} numbers are not held against the model."
    yield ""
    yield "| Why | Numbers | Which |"
    yield "| --- | --- | --- |"
    counts = Counter(point.reason for point in others)
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        names = [f"{one.device}: {one.quantity}" for one in others if one.reason == reason]
        shown = "; ".join(names[:_SHOWN])
        more = f"; and {count - _SHOWN} more" if count > _SHOWN else ""
        yield f"| {reason} | {count} | {shown}{more} |"


_SHOWN = 4
"""So many numbers are named for each reason."""
_PAGE, _OTHERS = "timing-correlation.md", "timing-correlation-memory.md"


def _timed(arch: str, probe: Probe, threads: int) -> TimingResult:
    """Return what groups of one thread take on one core that does not wait for instructions."""
    device = _DEVICES.get(arch, arch)
    lines = [".version 4.1", '.kernel "k"', *probe.declarations, ".kernel_attr SimdSize=16"]
    lines += [*probe.body, "ret (M1, 1)"]
    kernel = visim.assemble("\n".join(lines) + "\n", platform=device).kernels[0]
    one_core = {"eus": 1, "cores_per_subslice": 1, "l1_cores": 1, "memory": 0}
    timing = Timing(arch, parameters=one_core)
    kernel.launch([], thread_groups=threads, group_size=1, observers=[timing])
    return timing.result


_DEVICES = {"ivb": "bdw", "hsw": "bdw", "tgl": "tgllp"}
"""What a generation's kernels are for where it is no device of visim's, or has another name."""


def _vectors(count: int, kind: str, elements: int) -> tuple[str, ...]:
    return tuple(
        f".decl V{32 + i} v_type=G type={kind} num_elts={elements} align=GRF" for i in range(count)
    )


def _lanes(mnemonic: str, kind: str, operands: int, operations: int) -> Callable[[int], Probe]:
    """Return a probe of instructions, seven of which do not wait for each other."""

    def probe(grf: int) -> Probe:
        lanes = 32 if grf == 64 and kind in {"hf", "w"} else 16
        body: list[str] = []
        for i in range(_COUNT):
            target = f"V{32 + i % _APART}(0,0)"
            sources = ["V40(0,0)<1;1,0>", "V41(0,0)<1;1,0>"][: operands - 1]
            words = [f"{mnemonic} (M1, {lanes}) {target}<1>", f"{target}<1;1,0>", *sources]
            body.append(" ".join(words))
        return Probe(_vectors(10, kind, lanes), tuple(body), lanes * operations)

    return probe


def _squares(kind: str) -> Callable[[int], Probe]:
    """Return a probe of chains of squares, to each of which something is added."""

    def probe(grf: int) -> Probe:
        found = _lanes("mad", kind, 3, 2)(grf)
        body: list[str] = []
        for line in found.body:
            *first, last, _, other = line.split(" ")
            body.append(" ".join([*first, last, last, other]))
        return Probe(found.declarations, tuple(body), found.operations)

    return probe


def _multiply_and_add(grf: int) -> Probe:
    """Return a probe of products of dwords, to each of which something is added."""
    products, sums = _lanes("mul", "d", 2, 1)(grf), _lanes("add", "d", 2, 1)(grf)
    pairs = zip(products.body[: _COUNT // 2], sums.body[: _COUNT // 2], strict=True)
    return Probe(products.declarations, tuple(line for pair in pairs for line in pair), 16)


def _matrix(precision: str, depth: int) -> Callable[[int], Probe]:
    """Return a probe of `dpas` of eight rows; `depth` elements of a type fill a dword."""

    def probe(grf: int) -> Probe:
        lanes, names = grf // 4, range(4)
        declarations = [
            *(f".decl V{32 + i} v_type=G type=f num_elts={8 * lanes} align=GRF" for i in names),
            f".decl V40 v_type=G type=d num_elts={8 * lanes} align=GRF",
            f".decl V41 v_type=G type=d num_elts={8 * 8} align=GRF",
        ]
        kind = "d" if depth == 4 else "f"
        declarations = [text.replace("type=f", f"type={kind}") for text in declarations]
        body = [
            f"dpas.{precision}.{precision}.8.8 (M1, {lanes}) V{32 + i % 4}.0 V{32 + i % 4}.0 "
            "V40.0 V41(0,0)"
            for i in range(_COUNT)
        ]
        return Probe(tuple(declarations), tuple(body), 2 * 8 * lanes * 8 * depth)

    return probe


def _chain(grf: int) -> Probe:
    del grf
    line = "mad (M1, 8) V32(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0> V33(0,0)<1;1,0>"
    return Probe(_vectors(2, "f", 16), (line,) * _COUNT, 16)


def _chase(grf: int) -> Probe:
    """Return a probe of loads from shared local memory, each from where the one before says."""
    del grf
    names = (
        ".decl V32 v_type=G type=ud num_elts=1 align=GRF",
        ".decl V33 v_type=G type=ud num_elts=1 align=GRF",
    )
    address = "shl (M1_NM, 1) V33(0,0)<1> V32(0,0)<0;1,0> 0x2:ud"
    load = "lsc_load.slm (M1_NM, 1) V32:d32t flat[V33]:a32"
    return Probe((*names, ".kernel_attr SLMSize=1"), (address, load) * _COUNT, 1)


_CHAINS: Mapping[str, Callable[[int], Probe]] = {"fma latency": _chain, "slm chase": _chase}
"""Instructions that wait for each other; their cycles are those of one step."""
_RATES: Mapping[str, Callable[[int], Probe]] = {
    "fp32": _lanes("mad", "f", 3, 2),
    "fp16": _lanes("mad", "hf", 3, 2),
    "fp64": _lanes("mad", "df", 3, 2),
    "fp32 x*x+c": _squares("f"),
    "fp16 x*x+c": _squares("hf"),
    "int32": _multiply_and_add,
    "int16": _lanes("mad", "w", 3, 2),
    "dp4a": _lanes("dp4a", "d", 3, 8),
    "dpas int8": _matrix("s8", 4),
    "dpas fp16": _matrix("hf", 2),
}
