"""Values and places as lines of text: rows of channels, arrays, listings.

Knows no session: what is shown is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.debug.looking.lines import Lines, Place
from visim.debug.naming.values import SourceValue
from visim.module import SourceLine

_ROW = 8
_MOST = 64
OFF = "."
"""What stands for the value of a channel that is off."""
LOST = "?"
"""What stands for the value that a pointer does not lead to."""


def show_number(value: Any, form: str = "") -> str:
    """Return one value; `form` is x (hexadecimal), b (binary), d, f or empty."""
    if value is np.ma.masked:
        return LOST
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if form in {"x", "b"}:
        return _bits(value, form)
    if form == "d" and np.isfinite(value):
        return str(int(value))
    return repr(float(value)) if form == "f" else str(value)


def _bits(value: Any, form: str) -> str:
    if isinstance(value, np.generic):
        data = value.tobytes()
        number = int.from_bytes(data, "little")
        return f"0x{number:0{2 * len(data)}x}" if form == "x" else f"0b{number:0{8 * len(data)}b}"
    return hex(int(value)) if form == "x" else bin(int(value))


def show_value(
    value: Any, *, lanes: NDArray[np.bool_] | None = None, form: str = "", most: int = _MOST
) -> list[str]:
    """Return a value as one line or more.

    Args:
        value: a number, or an array.
        lanes: of an array with a value for each channel, which are on; those that are off are dots.
        form: how numbers are written.
        most: how many elements are shown.
    """
    if isinstance(value, SourceValue):
        return _parts(value, lanes, form)
    if isinstance(value, tuple):
        parts = (show_number(one, form) for one in cast("tuple[Any, ...]", value))
        return [f"({', '.join(parts)})"]
    if not isinstance(value, np.ndarray) or not value.ndim:
        return [show_number(value[()] if isinstance(value, np.ndarray) else value, form)]
    array = cast("NDArray[Any]", value)
    if array.ndim > 1:
        return _rows(array, form)
    is_row = lanes is not None and array.size == lanes.size
    shown = [
        show_number(one, form) if not is_row or cast("Any", lanes)[number] else OFF
        for number, one in enumerate(array[:most])
    ]
    head = f"{array.dtype}[{array.size}]"
    if len(shown) <= _ROW:
        return [f"{head} {' '.join(shown)}"]
    width, digits = max(map(len, shown)), len(str(len(shown)))
    lines = [head]
    for start in range(0, len(shown), _ROW):
        row = " ".join(one.rjust(width) for one in shown[start : start + _ROW])
        lines.append(f"  {start:>{digits}}: {row}")
    if array.size > most:
        lines.append(f"  ... {array.size - most} more")
    return lines


_MOST_PARTS = 32


def _parts(value: SourceValue, lanes: NDArray[np.bool_] | None, form: str) -> list[str]:
    """Return a structure or array as a row of channels for each of its numbers."""
    lines, left = [value.type.name], 0
    for name, part in _numbers("", value):
        if len(lines) > _MOST_PARTS:
            left += 1
            continue
        row = part.row()
        if row is None:
            lines.append(f"  {name} ?")
            continue
        shown = [
            show_number(one, form) if lanes is None or lanes[number] else OFF
            for number, one in enumerate(row[:_ROW_OF_PART])
        ]
        more = " ..." if row.size > _ROW_OF_PART else ""
        lines.append(f"  {name} {' '.join(shown)}{more}")
    return [*lines, f"  ... {left} more"] if left else lines


_ROW_OF_PART = 16


def _numbers(name: str, value: SourceValue) -> Iterator[tuple[str, SourceValue]]:
    """Yield the numbers of a structure or array, with what is written to reach them."""
    if value.is_scalar:
        yield name, value
        return
    for inner, part in value.parts():
        yield from _numbers(f"{name}{inner}", part)


def _rows(array: NDArray[Any], form: str) -> list[str]:
    """Return an array of several dimensions, its last one a line each."""
    flat = array.reshape(-1, array.shape[-1])
    lines = [f"{array.dtype}{list(array.shape)}"]
    for number, row in enumerate(flat[:16]):
        shown = " ".join(show_number(one, form) for one in row[:16])
        lines.append(f"  {number}: {shown}{' ...' if row.size > 16 else ''}")
    if len(flat) > 16:
        lines.append(f"  ... {len(flat) - 16} more rows")
    return lines


def plain(value: Any) -> Any:
    """Return a value as JSON has it; structures are objects, one for each channel."""
    if isinstance(value, SourceValue):
        return [plain(one) for one in value.all()]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, np.ma.MaskedArray):
        return plain(cast("Any", value).astype(object).filled(LOST))
    if isinstance(value, np.ndarray):
        return plain(cast("NDArray[Any]", value).tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in cast("Sequence[Any]", value)]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def show_mask(bits: int, width: int) -> str:
    """Return channels as marks, channel 0 first, in fours."""
    marks = "".join("#" if bits >> lane & 1 else "." for lane in range(width))
    return " ".join(marks[n : n + 4] for n in range(0, width, 4))


def show_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with aligned columns."""
    if not rows:
        return []
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def source_listing(lines: Lines, at: SourceLine, around: int) -> list[str]:
    """Return source lines around one, which is marked."""
    found: list[str] = []
    for number in range(max(1, at.line - around), at.line + around + 1):
        text = lines.text(SourceLine(at.file, number))
        if text or number == at.line:
            mark = ">" if number == at.line else " "
            found.append(f"{mark} {number:>4} {text}".rstrip())
    return found


def instruction_listing(lines: Lines, at: Place, around: int) -> list[str]:
    """Return the instructions around one, which is marked, with their source lines between."""
    unit, pc = at
    places = [
        (unit, number)
        for number in range(len(lines.kernel.units[unit].body))
        if lines.is_instruction((unit, number))
    ]
    here = next((n for n, place in enumerate(places) if place[1] >= pc), len(places) - 1)
    found: list[str] = []
    before: SourceLine | None = None
    names = {place: name for name, place in lines.labels.items()}
    for place in places[max(0, here - around) : here + around + 1]:
        source = lines.source(place)
        if source is not None and source != before:
            found.append(f"       {lines.where(place)}  {lines.text(source).strip()}".rstrip())
        before = source
        if place in names:
            found.append(f"       {names[place]}:")
        mark = ">" if place == at else " "
        found.append(f"{mark} {place[1]:>4}  {lines.instruction(place).strip()}")
    return found


__all__ = [
    "instruction_listing",
    "plain",
    "show_mask",
    "show_number",
    "show_table",
    "show_value",
    "source_listing",
]
