"""Pictures of a timing result as SVG text: they need no script and no other file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from visim.timing.banks import bank_name
from visim.timing.result import CATEGORY_NAMES, TimingResult

COLOURS: Mapping[str, str] = dict(
    zip(
        CATEGORY_NAMES,
        (
            "#2e7d32",
            "#8d6e63",
            "#f9a825",
            "#ef6c00",
            "#c62828",
            "#6a1b9a",
            "#1565c0",
            "#00838f",
            "#b0bec5",
        ),
        strict=True,
    )
)
"""A colour for each category."""

_LEFT = 90
_MOST_BOXES = 4000


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a picture is drawn on: its width in pixels, how many parts of time and rows it has.

    A page has each picture on several sheets and shows the one that fits: letters keep their size.
    """

    name: str
    width: int
    parts: int
    rows: int

    @property
    def inner(self) -> int:
        """The width right of the names of rows."""
        return self.width - _LEFT - 10

    @property
    def columns(self) -> int:
        """How many registers fit beside each other: a power of two."""
        return 1 << ((self.width - 16) // 29).bit_length() - 1


WIDE, NARROW = Sheet("wide", 960, 512, 24), Sheet("narrow", 360, 90, 8)
_CHARACTER = 5.6
"""Pixels of a letter, about."""
_RATE_WIDTH = 38
"""Pixels of a rate with its gap to the next one."""


def _svg(sheet: Sheet, height: float, parts: Sequence[str], label: str) -> str:
    body = "".join(parts)
    return (
        f'<svg class="{sheet.name}" viewBox="0 0 {sheet.width} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )


def _box(x: float, y: float, width: float, height: float, colour: str, title: str = "") -> str:
    hint = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.2):.2f}" height="{height:.2f}" '
        f'fill="{colour}">{hint}</rect>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'


def _line(points: Sequence[tuple[float, float]], style: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" {style}/>'


def stall_stack(rows: Sequence[tuple[str, Mapping[str, int]]], sheet: Sheet = WIDE) -> str:
    """Return one stacked bar a row: a name and its cycle-slots by category."""
    parts: list[str] = []
    scale = sheet.inner
    for number, (name, stalls) in enumerate(rows):
        whole = max(1, sum(stalls.values()))
        x, y = float(_LEFT), 8 + 26 * number
        parts.append(_text(_LEFT - 6, y + 14, name, "end"))
        for category, cycles in stalls.items():
            width = scale * cycles / whole
            title = f"{category}: {cycles} cycle-slots, {cycles / whole:.1%}"
            if cycles:
                parts.append(_box(x, y, width, 20, COLOURS[category], title))
            x += width
    return _svg(sheet, 12 + 26 * len(rows), parts, "stall stack")


def timeline(result: TimingResult, sheet: Sheet = WIDE) -> str:
    """Return the whole run: of each part, how many slots do what; above them, slots are empty."""
    scale = sheet.inner / max(1, result.cycles)
    height, bottom = 150.0, 160.0
    joined = -(-len(result.timeline.parts) // sheet.parts)
    span = result.timeline.part_cycles * joined
    parts: list[str] = []
    for number, part in enumerate(_joined(result.timeline.parts, joined)):
        begin = number * span
        end = min(begin + span, result.cycles)
        y = bottom
        for category, cycles in zip(CATEGORY_NAMES, part, strict=True):
            if not cycles:
                continue
            tall = height * cycles / ((end - begin) * result.slots)
            y -= tall
            title = f"cycles {begin} to {end}: {category}, {cycles / (end - begin):.1f} slots"
            place = (_LEFT + begin * scale, y, (end - begin) * scale, tall)
            parts.append(_box(*place, COLOURS[category], title))
    parts.append(_text(_LEFT - 6, bottom - height + 10, f"{result.slots} slots", "end"))
    axis = _cycle_axis((0, result.cycles), bottom + 14, sheet)
    return _svg(sheet, bottom + 20, [*parts, *axis], "timeline")


def _joined(parts: Sequence[Sequence[int]], count: int) -> Iterator[list[int]]:
    """Yield the sums of so many parts each."""
    for first in range(0, len(parts), count):
        yield [sum(column) for column in zip(*parts[first : first + count], strict=True)]


def stretches(result: TimingResult, sheet: Sheet = WIDE) -> str:
    """Return what some slots do in the first cycles of the window: a row a slot, by category."""
    slots = result.machine.number("slots")
    events = result.events[:_MOST_BOXES]
    shown = sorted({event[0] for event in events})[: sheet.rows]
    rows = {slot: number for number, slot in enumerate(shown)}
    first, last = stretches_window(result)
    scale = sheet.inner / max(1, last - first)
    parts = [
        _text(_LEFT - 6, 16 + 14 * row, f"core {slot // slots} slot {slot % slots}", "end")
        for slot, row in rows.items()
    ]
    instructions = result.program.instructions
    for slot, begin, end, category, address in events:
        left, right = max(begin, first), min(end, last)
        if slot in rows and left < right:
            name = CATEGORY_NAMES[category]
            title = f"{begin} to {end}: {name}, {instructions[address]}"
            place = (_LEFT + (left - first) * scale, 6 + 14 * rows[slot], (right - left) * scale)
            parts.append(_box(*place, 12, COLOURS[name], title))
    bottom = 14 * len(rows) + 12
    axis = _cycle_axis((first, last), bottom + 12, sheet)
    return _svg(sheet, bottom + 18, [*parts, *axis], "stretches")


def stretches_window(result: TimingResult) -> tuple[int, int]:
    """Return the cycles that `stretches` draws, which are all of what its slots do in them."""
    begin, end = result.window
    if len(result.events) > _MOST_BOXES:
        end = min(end, max(event[1] for event in result.events[:_MOST_BOXES]))
    return begin, max(begin + 1, end)


def _cycle_axis(cycles: tuple[int, int], y: float, sheet: Sheet) -> list[str]:
    begin, end = cycles
    width = sheet.inner
    steps = 4 if 6 * _CHARACTER * len(str(end)) < width else 2
    anchors = ["start", *["middle"] * (steps - 1), "end"]
    return [
        _text(_LEFT + width * part / steps, y, f"{begin + (end - begin) * part // steps}", anchor)
        for part, anchor in enumerate(anchors)
    ]


def bank_map(result: TimingResult, uses: Mapping[int, int], sheet: Sheet = WIDE) -> str:
    """Return the register file: a cell a register, darker the more it is used."""
    rule = result.machine.native.banks
    most = max(uses.values(), default=1)
    names = sorted({bank_name(register, rule) for register in range(result.machine.native.grfs)})
    parts: list[str] = []
    for register in range(result.machine.native.grfs):
        x, y = 10 + 29 * (register % sheet.columns), 6 + 29 * (register // sheet.columns)
        bank = bank_name(register, rule)
        share = uses.get(register, 0) / most
        hue = 360 * names.index(bank) // len(names)
        colour = f"hsl({hue} 70% {92 - 50 * share:.0f}%)" if share else "#f2f2f2"
        title = f"r{register}, bank {bank}: {uses.get(register, 0)} accesses"
        parts.append(_box(x, y, 27, 27, colour, title))
        parts.append(_text(x + 13, y + 17, f"r{register}", "middle", "cell"))
    rows = -(-result.machine.native.grfs // sheet.columns)
    return _svg(sheet, 12 + 29 * rows, parts, "register banks")


def scaling(points: Sequence[tuple[int, float]], sheet: Sheet = WIDE) -> str:
    """Return native instructions a cycle by the number of slots of a core."""
    top = max((rate for _, rate in points), default=1.0)
    most = max((slots for slots, _ in points), default=1)
    places = [
        (_LEFT + (sheet.width - _LEFT - 60) * slots / most, 170 - 150 * rate / top)
        for slots, rate in points
    ]
    parts = [_line([(_LEFT, 20), (_LEFT, 170), (sheet.width - 50, 170)], 'stroke="#888"')]
    parts.append(_line(places, 'stroke="#1565c0" stroke-width="2"'))
    apart = (sheet.width - _LEFT - 60) / most
    named = math.ceil(_RATE_WIDTH / apart)
    for (slots, rate), (x, y) in zip(points, places, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1565c0"/>')
        if (most - slots) % named == 0:
            parts.append(_text(x, y - 8, f"{rate:.3f}", "middle"))
        parts.append(_text(x, 186, str(slots), "middle"))
    parts.append(_text(_LEFT - 6, 30, "instr/cycle", "end"))
    parts.append(_text(sheet.width - 44, 186, "slots", "start"))
    return _svg(sheet, 194, parts, "scaling with threads")


@dataclass(frozen=True, slots=True)
class Roof:
    """What bounds a kernel: a memory that gives `bandwidth` bytes a cycle, of which it moves some.

    `moved` are the bytes that the kernel moves there.
    """

    name: str
    bandwidth: int
    moved: int
    colour: str


def roofline(
    operations: int, cycles: int, peak: float, roofs: Sequence[Roof], sheet: Sheet = WIDE
) -> str:
    """Return the kernel under the peak and a roof for each memory that it uses, both logarithmic.

    Each roof has a point of its own: the same rate over the operations for each byte moved there.

    Args:
        operations: floating-point operations.
        cycles: in which the kernel does them.
        peak: operations a cycle that all cores can do.
        roofs: the memories that the kernel uses.
        sheet: what to draw on.
    """
    if not operations:
        said = _text(sheet.width / 2, 24, "no floating-point operations", "middle")
        return _svg(sheet, 40, [said], "roofs")
    rate = operations / max(1, cycles)
    points = [(_log(operations / roof.moved), roof) for roof in roofs]
    ridges = [_log(peak / roof.bandwidth) for roof in roofs]
    left = math.floor(min([*ridges, *(x for x, _ in points)], default=0)) - 2
    right = math.ceil(max([*ridges, *(x for x, _ in points)], default=0)) + 2
    bottom, top = math.floor(min(_log(rate), _log(peak) - 4)) - 1, _log(peak) + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (sheet.width - _LEFT - 40) * (x - left) / (right - left)
        return across, 200 - 180 * (y - bottom) / (top - bottom)

    parts = [_line([(_LEFT, 10), (_LEFT, 200), (sheet.width - 30, 200)], 'stroke="#888"')]
    level = place(right, _log(peak))[1]
    parts.append(_text(sheet.width - 40, level - 6, f"{peak:.0f} FLOP/cycle", "end"))
    parts.append(
        _line(
            [place(min(ridges, default=left), _log(peak)), place(right, _log(peak))],
            'stroke="#888" stroke-width="2"',
        )
    )
    for ridge, roof in zip(ridges, roofs, strict=True):
        start = max(left, bottom - _log(roof.bandwidth))
        slope = [place(start, _log(roof.bandwidth) + start), place(ridge, _log(peak))]
        parts.append(_line(slope, f'stroke="{roof.colour}" stroke-width="2"'))
    ordered = sorted(points, key=lambda point: point[0])
    for number, (x, roof) in enumerate(ordered):
        at = place(x, _log(rate))
        parts.append(_dot(at, number, roof, (rate, operations / roof.moved), sheet))
    step = 2 * math.ceil((right - left) * _RATE_WIDTH / 2 / (sheet.width - _LEFT - 40))
    parts += [
        _text(place(x, bottom)[0], 214, f"{2.0**x:.4g}", "middle")
        for x in range(left, right + 1, step)
    ]
    parts.append(_text(_LEFT, 230, "FLOP for each byte moved", "start"))
    return _svg(sheet, 236, parts, "roofline")


def _dot(
    place: tuple[float, float], number: int, roof: Roof, said: tuple[float, float], sheet: Sheet
) -> str:
    """Return a point and what it says, on a line of its own, so that near ones can be read.

    `said` are the operations a cycle, and those for each byte.
    """
    x, y = place
    rate, intensity = said
    title = f"{roof.name}: {rate:.3g} FLOP/cycle at {intensity:.3g} FLOP/byte"
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{roof.colour}"/>'
    anchor = "start" if x < sheet.width / 2 else "end"
    room = _CHARACTER * len(title)
    inside = min(x, sheet.width - room) if anchor == "start" else max(x, room)
    return circle + _text(max(0.0, inside), y - 10 - 14 * number, title, anchor)


def _log(value: float) -> float:
    return math.log2(value) if value > 0 else -10.0


def legend() -> str:
    """Return the colours of the categories."""
    return "".join(
        f'<span class="key"><i style="background:{colour}"></i>{name}</span>'
        for name, colour in COLOURS.items()
    )


__all__ = [
    "COLOURS",
    "NARROW",
    "WIDE",
    "Roof",
    "Sheet",
    "bank_map",
    "legend",
    "roofline",
    "scaling",
    "stall_stack",
    "stretches",
    "stretches_window",
    "timeline",
]
