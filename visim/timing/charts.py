"""Pictures of a timing result as SVG text: they need no script and no other file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
_MOST_BOXES = 4000


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


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


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
    """Return what the first slots do in the first cycles: a row a slot, coloured by category."""
    slots = result.machine.number("slots")
    events = result.events[:_MOST_BOXES]
    shown = sorted({event[0] for event in events})[:24]
    rows = {slot: number for number, slot in enumerate(shown)}
    last = max((event[2] for event in events if event[0] in rows), default=1)
    scale = (_WIDTH - _LEFT - 10) / last
    parts = [
        _text(_LEFT - 6, 16 + 14 * row, f"core {slot // slots} slot {slot % slots}", "end")
        for slot, row in rows.items()
    ]
    instructions = result.program.instructions
    for slot, begin, end, category, address in events:
        if slot in rows:
            name = CATEGORY_NAMES[category]
            title = f"{begin} to {end}: {name}, {instructions[address]}"
            place = (_LEFT + begin * scale, 6 + 14 * rows[slot], (end - begin) * scale, 12)
            parts.append(_box(*place, COLOURS[name], title))
    bottom = 14 * len(rows) + 12
    parts += [
        _text(
            _LEFT + (_WIDTH - _LEFT - 10) * part / 4, bottom + 12, f"{last * part // 4}", "middle"
        )
        for part in range(5)
    ]
    return _svg(bottom + 18, parts, "timeline")


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
        parts.append(_text(x + 13, y + 17, f"r{register}", "middle"))
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


def roofline(intensity: float, rate: float, peak: float, bandwidth: float) -> str:
    """Return the kernel under its two roofs, on logarithmic axes.

    Args:
        intensity: floating-point operations for each byte of messages.
        rate: floating-point operations a cycle.
        peak: what all cores can do a cycle.
        bandwidth: bytes a cycle.
    """
    left, right = -6, 10
    bottom = min(-4, _log(rate) - 1)
    top = _log(peak) + 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - 40) * (x - left) / (right - left)
        return across, 180 - 160 * (y - bottom) / (top - bottom)

    ridge = _log(peak / bandwidth)
    roof = [(left, _log(bandwidth) + left), (ridge, _log(peak)), (right, _log(peak))]
    parts = [_line([(_LEFT, 10), (_LEFT, 180), (_WIDTH - 30, 180)], 'stroke="#888"')]
    clipped = [place(x, max(y, bottom)) for x, y in roof]
    parts.append(_line(clipped, 'stroke="#c62828" stroke-width="2"'))
    parts.append(_text(_WIDTH - 40, clipped[-1][1] - 6, f"{peak:.0f} FLOP/cycle", "end"))
    if rate > 0:
        x, y = place(min(max(_log(intensity), left), right), _log(rate))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="#2e7d32"/>')
        parts.append(_text(x + 10, y + 4, f"{rate:.3g} FLOP/cycle at {intensity:.3g} FLOP/byte"))
    else:
        parts.append(_text(_WIDTH / 2, 100, "no floating-point operations", "middle"))
    parts.append(_text(_WIDTH - 30, 196, "FLOP/byte (powers of 2)", "end"))
    return _svg(202, parts, "roofline")


def _log(value: float) -> float:
    return math.log2(value) if value > 0 else -10.0


def legend() -> str:
    """Return the colours of the categories."""
    return "".join(
        f'<span class="key"><i style="background:{colour}"></i>{name}</span>'
        for name, colour in COLOURS.items()
    )


__all__ = ["COLOURS", "bank_map", "legend", "roofline", "scaling", "stall_stack", "timeline"]
