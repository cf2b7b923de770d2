"""Where the lanes of a place in a variable stand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from visim.engine.lanes import RegisterRange
from visim.linker.places import root_bytes
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import Place

_FIELD_STRIDES = {2, 4, 8}


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the lanes of a place stand.

    `offsets` are in bytes from the start of the variable, `step` is the distance of neighbours;
    None where it differs. Places of the same layout mostly have the same object.
    """

    offsets: tuple[int, ...]
    first: int
    last: int
    step: int | None


def layout(place: Place) -> Layout:
    """Return where the lanes of a place stand."""
    return _layout(place.offset, place.lanes, place.width, place.row_stride, place.stride)


@lru_cache(maxsize=4096)
def _layout(first: int, lanes: int, width: int, row_stride: int, stride: int) -> Layout:
    offsets = tuple(
        first + lane // width * row_stride + lane % width * stride for lane in range(lanes)
    )
    steps = {b - a for a, b in pairwise(offsets)}
    step = steps.pop() if len(steps) == 1 else None
    return Layout(offsets, min(offsets), max(offsets), 0 if lanes == 1 else step)


def place_offsets(place: Place) -> tuple[int, ...]:
    """Return the byte offset of each lane of a place from the start of its variable."""
    return layout(place).offsets


def place_span(place: Place) -> tuple[int, int]:
    """Return the first byte of a place in its variable, and the byte behind it."""
    found = layout(place)
    return found.first, found.last + place.type.bytes


@dataclass(frozen=True, slots=True)
class Field:
    """Elements that stand at a distance of 2, 4 or 8 bytes, as a field of lanes as wide as that.

    `offset` is that of the first lane in the variable, in bytes; `bits` is the width of lanes;
    `shift` is how many bits of a lane are below the element.
    """

    offset: int
    bits: int
    shift: int


def field_of(place: Place, grf: int) -> Field | None:
    """Return a place as a field of wider lanes, if these lie in its variable.

    Then all that is read and written of a variable, such as the halves of 64-bit elements and
    these themselves, is as wide as the variable, and LLVM can keep it in registers.
    """
    found, size = layout(place), place.type.bytes
    if found.step not in _FIELD_STRIDES or size >= found.step:
        return None
    below = found.first % found.step
    start = found.first - below
    end = start + place.lanes * found.step
    if below + size > found.step or start < 0 or end > root_bytes(place.variable, grf):
        return None
    return Field(start, 8 * found.step, 8 * below)


def is_repeated(place: Place) -> bool:
    """Whether all lanes of a place are the same element."""
    return layout(place).step == 0


def check_place(kernel: LinkedKernel, unit: LinkedUnit, place: Place) -> None:
    """Raise RegisterRange unless a place lies in the register image."""
    start = kernel.offset(unit, place.variable) + place.offset
    rows = place.lanes // place.width
    last = start + (rows - 1) * place.row_stride + (place.width - 1) * place.stride
    if start < 0 or last + place.type.bytes > kernel.register_bytes:
        raise RegisterRange(last, place.lanes - 1)


def fits_variable(place: Place, grf: int) -> bool:
    """Whether a place lies in its variable."""
    first, end = place_span(place)
    return first >= 0 and end <= root_bytes(place.variable, grf)
