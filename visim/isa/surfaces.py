"""Where a message goes and where its data lies: binding table indices, blocks of a payload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from visim.operands import SCALAR, GeneralSource, StatePointer, SurfaceVariable
from visim.sem.effects import FIRST_COUNTER, Load, Space, Store
from visim.sem.expr import UOPS, Expr
from visim.sem.tracer import Tracer
from visim.types import UD, UQ, DataType

SLM, BINDLESS, SCRATCH = 0, 4, 5
SLM_ADDRESS_BITS = 0x0FFF_FFFF
_STATE_SHIFT = 6
ONE_SAMPLE = "visim has no surfaces of several samples a texel"


def surface_space(surface: SurfaceVariable) -> tuple[Space, Expr | None]:
    """Return the memory behind a surface variable, and the binding table index if it has one."""
    if surface.index == SLM:
        return Space.SLM, None
    if surface.index == SCRATCH:
        return Space.SCRATCH, None
    index = Expr(UOPS["state"], UD, 1, (), (surface, 0))
    return Space.SURFACE, surface_of_state(index) if surface.index == BINDLESS else index


def surface_of_state(offset: Expr) -> Expr:
    """Return the binding table index of the surface whose state is at a byte offset (UD).

    The state of the surface at index i is at 64 * i in the heap of bindless surface states. The
    low 6 bits of an offset are other parts of a message's descriptor.
    """
    return (offset >> _STATE_SHIFT).to(UD)


def state_value(t: Tracer, pointer: StatePointer) -> Expr:
    """Return the 64-bit value of a pointer to a state (one lane)."""
    return t.scalar(GeneralSource(pointer.variable, 0, 0, SCALAR), UQ)


def counter_of(index: Expr) -> Expr:
    """Return the index under which the append counter of a surface is found in its table."""
    return index + FIRST_COUNTER


def block_bytes(t: Tracer, element: int) -> int:
    """Return the distance between the blocks of two components: whole registers."""
    grf = t.platform.grf_bytes
    return -(-t.lanes * element // grf) * grf


def in_space(addresses: Expr, surface: SurfaceVariable) -> Expr:
    """Drop the tag that compilers put into local pointers when the surface is SLM."""
    return addresses & SLM_ADDRESS_BITS if surface.index == SLM else addresses


def loaded(effect: object, kind: DataType, lanes: int, component: int = 0) -> Expr:
    """Return one component of what a load or atomic brings."""
    return Expr(UOPS["loaded"], kind, lanes, (), (effect, component))


def load_slots(
    t: Tracer,
    space: Space,
    index: Expr | None,
    addresses: Expr,
    slots: Sequence[int],
    kind: DataType,
) -> list[Expr]:
    """Load the elements with these numbers behind each channel's address."""
    found: list[Expr] = []
    for first, count in _runs(slots):
        place = _displaced(addresses, first * kind.bytes, space)
        effect = Load(space, index, place, kind, count, t.mask())
        t.emit(effect)
        found += (loaded(effect, kind, t.lanes, component) for component in range(count))
    return found


def store_slots(
    t: Tracer,
    space: Space,
    index: Expr | None,
    addresses: Expr,
    slots: Sequence[int],
    values: Sequence[Expr],
) -> None:
    """Store the elements with these numbers behind each channel's address.

    Successive ones are stored together, so that a later channel wins as a whole.
    """
    position = 0
    for first, count in _runs(slots):
        some = tuple(values[position : position + count])
        place = _displaced(addresses, first * some[0].type.bytes, space)
        t.emit(Store(space, index, place, some, t.mask()))
        position += count


def _runs(slots: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the successive ones among ascending numbers: the first, and how many follow it."""
    start = 0
    for end in range(1, len(slots) + 1):
        if end == len(slots) or slots[end] != slots[end - 1] + 1:
            yield slots[start], end - start
            start = end


def _displaced(addresses: Expr, distance: int, space: Space) -> Expr:
    """Return addresses so many bytes further on.

    The elements behind an offset of 32 bits do not begin again at the surface's start. Those of
    SLM have fewer bits.
    """
    if not distance:
        return addresses
    wide = addresses if space is Space.SLM else addresses.to(UQ)
    return wide + distance
