"""The page that holds the timing model against what others measured: `docs/timing-correlation.md`.

Each point of `published_points.csv` is a rate of one core or a latency, in cycles, with its source.
The model's number comes from a kernel of such instructions, run through it as `visim time` does.
No point is one that a table was made from.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import visim
from tools.instruction_pages import GENERATED
from visim.timing import Timing, TimingResult, find_machine

POINTS = Path(__file__).with_name("published_points.csv")
_COUNT = 196
"""Instructions of a kernel; a multiple of the seven that do not wait for each other."""
_APART = 7


@dataclass(frozen=True)
class Point:
    """A published number: of which generation, what was measured, on what, and by whom."""

    arch: str
    measure: str
    value: float
    unit: str
    device: str
    note: str
    source: str


@dataclass(frozen=True)
class Probe:
    """A kernel that measures: its declarations, its instructions, and operations in each."""

    declarations: tuple[str, ...]
    body: tuple[str, ...]
    operations: int
    attributes: tuple[str, ...] = ()


def points() -> list[Point]:
    """Return the published points in the order of the file."""
    with POINTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Point(
            row["arch"],
            row["measure"],
            float(row["value"]),
            row["unit"],
            row["device"],
            row["note"],
            row["source"],
        )
        for row in rows
    ]


@cache
def modelled(point: Point) -> float:
    """Return the model's number for a point, in its unit."""
    grf = find_machine(point.arch).native.grf_bytes
    if point.unit == "clk":
        probe = _LATENCIES[point.measure](grf)
        result = _timed(point.arch, probe, threads=1)
        return result.cycles / len(probe.body)
    probe = _RATES[point.measure](grf)
    result = _timed(point.arch, probe, threads=find_machine(point.arch).number("slots"))
    return probe.operations * len(probe.body) * result.threads / result.cycles


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    found = [(point, modelled(point)) for point in points()]
    errors = [model / point.value - 1 for point, model in found]
    yield "# The timing model against measurements"
    yield ""
    yield GENERATED
    yield ""
    yield (
        "Rates are operations of one core in a cycle, a multiply-add counting as two, with all "
        "hardware threads busy; latencies are cycles of a chain. The measurements are others', on "
        "real devices; none of them went into the model's tables. Measured programs have loops and "
        "launches around their instructions, the model's kernels have none."
    )
    yield ""
    middle = statistics.median(abs(error) for error in errors)
    worst = max(zip(errors, found, strict=True), key=lambda one: abs(one[0]))
    yield (
        f"{len(found)} points; the median of the errors is {middle:.1%}, the largest is "
        f"{worst[0]:+.0%} ({worst[1][0].measure} on {worst[1][0].arch})."
    )
    yield ""
    yield "| Generation | What | Measured | Model | Error | On | How it was measured | Source |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for (point, model), error in zip(found, errors, strict=True):
        yield (
            f"| {point.arch} | {point.measure} ({point.unit}) | {point.value:g} | {model:.3g} | "
            f"{error:+.0%} | {point.device} | {point.note} | {point.source} |"
        )


def _timed(arch: str, probe: Probe, threads: int) -> TimingResult:
    """Return what groups of one thread take on one core that does not wait for instructions."""
    device = _DEVICES.get(arch, arch)
    lines = [".version 4.1", '.kernel "k"', *probe.declarations, ".kernel_attr SimdSize=16"]
    lines += [*probe.attributes, *probe.body, "ret (M1, 1)"]
    kernel = visim.assemble("\n".join(lines) + "\n", platform=device).kernels[0]
    one_core = {"eus": 1, "cores_per_subslice": 1, "l1_cores": 1, "memory": 0}
    timing = Timing(arch, parameters=one_core)
    arguments = [np.zeros(16, np.uint32) for _ in kernel.args]
    kernel.launch(arguments, thread_groups=threads, group_size=1, observers=[timing])
    return timing.result


_DEVICES = {"hsw": "bdw", "tgl": "tgllp"}
"""What a generation's kernels are for where it is no device of visim's, or has another name."""


def _vectors(count: int, kind: str, elements: int) -> tuple[str, ...]:
    return tuple(
        f".decl V{32 + i} v_type=G type={kind} num_elts={elements} align=GRF" for i in range(count)
    )


def _lanes(mnemonic: str, kind: str, operands: int, operations: int) -> Callable[[int], Probe]:
    """Return a probe of instructions, seven of which do not wait for each other."""

    def probe(grf: int) -> Probe:
        lanes = 32 if (kind, grf) == ("hf", 64) else 16
        body: list[str] = []
        for i in range(_COUNT):
            target = f"V{32 + i % _APART}(0,0)"
            sources = ["V40(0,0)<1;1,0>", "V41(0,0)<1;1,0>"][: operands - 1]
            words = [f"{mnemonic} (M1, {lanes}) {target}<1>", f"{target}<1;1,0>", *sources]
            body.append(" ".join(words))
        return Probe(_vectors(10, kind, lanes), tuple(body), lanes * operations)

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


_RATES: Mapping[str, Callable[[int], Probe]] = {
    "fp32": _lanes("mad", "f", 3, 2),
    "fp16": _lanes("mad", "hf", 3, 2),
    "fp64": _lanes("mad", "df", 3, 2),
    "int32": _multiply_and_add,
    "dp4a": _lanes("dp4a", "d", 3, 8),
    "dpas int8": _matrix("s8", 4),
    "dpas fp16": _matrix("hf", 2),
}
_LATENCIES: Mapping[str, Callable[[int], Probe]] = {
    "fma latency": _chain,
}
