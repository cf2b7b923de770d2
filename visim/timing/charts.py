"""Pictures of a timing result as SVG text: they need no script and no other file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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

_WIDTH = 960
_LEFT = 90
_MOST_BOXES, _MOST_ROWS = 4000, 24


def _svg(height: float, parts: Sequence[str], label: str) -> str:
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}">'
        f"{body}</svg>"
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


def stall_stack(rows: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """Return one stacked bar a row: a name and its cycle-slots by category."""
    parts: list[str] = []
    scale = _WIDTH - _LEFT - 10
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
    return _svg(12 + 26 * len(rows), parts, "stall stack")


def timeline(result: TimingResult) -> str:
    """Return the whole run: of each part, how many slots do what; above them, slots are empty."""
    scale = (_WIDTH - _LEFT - 10) / max(1, result.cycles)
    height, bottom = 150.0, 160.0
    span = result.timeline.part_cycles
    parts: list[str] = []
    for number, part in enumerate(result.timeline.parts):
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
    return _svg(bottom + 20, [*parts, *_cycle_axis((0, result.cycles), bottom + 14)], "timeline")


def stretches(result: TimingResult) -> str:
    """Return what some slots do in the first cycles of the window: a row a slot, by category."""
    slots = result.machine.number("slots")
    events = result.events[:_MOST_BOXES]
    shown = sorted({event[0] for event in events})[:_MOST_ROWS]
    rows = {slot: number for number, slot in enumerate(shown)}
    first, last = stretches_window(result)
    scale = (_WIDTH - _LEFT - 10) / max(1, last - first)
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
    return _svg(bottom + 18, [*parts, *_cycle_axis((first, last), bottom + 12)], "stretches")


def stretches_window(result: TimingResult) -> tuple[int, int]:
    """Return the cycles that `stretches` draws, which are all of what its slots do in them."""
    begin, end = result.window
    if len(result.events) > _MOST_BOXES:
        end = min(end, max(event[1] for event in result.events[:_MOST_BOXES]))
    return begin, max(begin + 1, end)


def _cycle_axis(cycles: tuple[int, int], y: float) -> list[str]:
    begin, end = cycles
    width = _WIDTH - _LEFT - 10
    anchors = ("start", "middle", "middle", "middle", "end")
    return [
        _text(_LEFT + width * part / 4, y, f"{begin + (end - begin) * part // 4}", anchor)
        for part, anchor in enumerate(anchors)
    ]


def bank_map(result: TimingResult, uses: Mapping[int, int]) -> str:
    """Return the register file: a cell a register, darker the more it is used."""
    rule = result.machine.native.banks
    most = max(uses.values(), default=1)
    names = sorted({bank_name(register, rule) for register in range(result.machine.native.grfs)})
    parts: list[str] = []
    for register in range(result.machine.native.grfs):
        x, y = 10 + 29 * (register % 32), 6 + 29 * (register // 32)
        bank = bank_name(register, rule)
        share = uses.get(register, 0) / most
        hue = 360 * names.index(bank) // len(names)
        colour = f"hsl({hue} 70% {92 - 50 * share:.0f}%)" if share else "#f2f2f2"
        title = f"r{register}, bank {bank}: {uses.get(register, 0)} accesses"
        parts.append(_box(x, y, 27, 27, colour, title))
        parts.append(_text(x + 13, y + 17, f"r{register}", "middle", "cell"))
    return _svg(12 + 29 * (result.machine.native.grfs // 32), parts, "register banks")


def scaling(points: Sequence[tuple[int, float]]) -> str:
    """Return native instructions a cycle by the number of slots of a core."""
    top = max((rate for _, rate in points), default=1.0)
    most = max((slots for slots, _ in points), default=1)
    places = [
        (_LEFT + (_WIDTH - _LEFT - 60) * slots / most, 170 - 150 * rate / top)
        for slots, rate in points
    ]
    parts = [_line([(_LEFT, 20), (_LEFT, 170), (_WIDTH - 50, 170)], 'stroke="#888"')]
    parts.append(_line(places, 'stroke="#1565c0" stroke-width="2"'))
    for (slots, rate), (x, y) in zip(points, places, strict=True):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1565c0"/>')
        parts.append(_text(x, y - 8, f"{rate:.3f}", "middle"))
        parts.append(_text(x, 186, str(slots), "middle"))
    parts.append(_text(_LEFT - 6, 30, "instr/cycle", "end"))
    parts.append(_text(_WIDTH - 44, 186, "slots", "start"))
    return _svg(194, parts, "scaling with threads")


@dataclass(frozen=True, slots=True)
class Roof:
    """What bounds a kernel: a memory that gives `bandwidth` bytes a cycle, of which it moves some.

    `moved` are the bytes that the kernel moves there.
    """

    name: str
    bandwidth: int
    moved: int
    colour: str


def roofline(operations: int, cycles: int, peak: float, roofs: Sequence[Roof]) -> str:
    """Return the kernel under the peak and a roof for each memory that it uses, both logarithmic.

    Each roof has a point of its own: the same rate over the operations for each byte moved there.

    Args:
        operations: floating-point operations.
        cycles: in which the kernel does them.
        peak: operations a cycle that all cores can do.
        roofs: the memories that the kernel uses.
    """
    if not operations:
        return _svg(40, [_text(_WIDTH / 2, 24, "no floating-point operations", "middle")], "roofs")
    rate = operations / max(1, cycles)
    points = [(_log(operations / roof.moved), roof) for roof in roofs]
    ridges = [_log(peak / roof.bandwidth) for roof in roofs]
    left = math.floor(min([*ridges, *(x for x, _ in points)], default=0)) - 2
    right = math.ceil(max([*ridges, *(x for x, _ in points)], default=0)) + 2
    bottom, top = math.floor(min(_log(rate), _log(peak) - 4)) - 1, _log(peak) + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - 40) * (x - left) / (right - left)
        return across, 200 - 180 * (y - bottom) / (top - bottom)

    parts = [_line([(_LEFT, 10), (_LEFT, 200), (_WIDTH - 30, 200)], 'stroke="#888"')]
    level = place(right, _log(peak))[1]
    parts.append(_text(_WIDTH - 40, level - 6, f"{peak:.0f} FLOP/cycle", "end"))
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
        parts.append(_dot(at, number, roof, rate, operations / roof.moved))
    parts += [
        _text(*place(x, bottom - 0.4), f"{2.0**x:g}", "middle") for x in range(left, right + 1, 2)
    ]
    parts.append(_text(_LEFT, 230, "FLOP for each byte moved", "start"))
    return _svg(236, parts, "roofline")


def _dot(place: tuple[float, float], number: int, roof: Roof, rate: float, intensity: float) -> str:
    """Return a point and what it says, on a line of its own, so that near ones can be read."""
    x, y = place
    title = f"{roof.name}: {rate:.3g} FLOP/cycle at {intensity:.3g} FLOP/byte"
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{roof.colour}"/>'
    anchor = "start" if x < _WIDTH / 2 else "end"
    return circle + _text(x, y - 10 - 14 * number, title, anchor)


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
    "Roof",
    "bank_map",
    "legend",
    "roofline",
    "scaling",
    "stall_stack",
    "stretches",
    "stretches_window",
    "timeline",
]
