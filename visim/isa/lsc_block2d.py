"""LSC 2D blocks: rectangles of a surface in flat memory (specification LSC_UNTYPED).

A block message is expressed by the address of each element and a mask of those inside of the
surface, so that engines see a plain load or store.
"""

from typing import Annotated

from visim.isa.data_port import RawMessage
from visim.isa.forms import Exec, Pred
from visim.isa.lsc import Cache, Data, Sfid, element_of
from visim.isa.lsc_block_places import arrangement, elements_of, enabled_of, sum_of
from visim.isa.lsc_kinds import DATA_SIZES
from visim.isa.lsc_planes import BLOCK, PLANE
from visim.isa.lsc_raw_blocks import LOAD_BLOCK, STORE_BLOCK, move_block
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import loaded
from visim.isa.table import Table
from visim.operands import Immediate, LscBlock, LscPlane, LscPlanePayload, RawOperand
from visim.predefined import GENERALS
from visim.sem.effects import Cell, Load, Rectangle, Space, Store
from visim.sem.expr import Expr, broadcast, select, take
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD, UQ, D

TABLE = Table(Category.MEMORY)

Block = Annotated[LscBlock, BLOCK]
Plane = Annotated[LscPlane | LscPlanePayload, PLANE]
_PITCH_UNIT = 16
_UGM, _MOST_RESPONSE = 15, 31

_BLOCK = (
    "{sub} {exec} {pred} {sfid} {cache} {block.data} {block.transposed} {block.blocks} "
    "{block.width} {block.height} {block.vnni}"
)


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {dst}{block}  {address}",
    layout=f"{_BLOCK} {{dst}} {{address}} null",
)
class LscLoadBlock(Instruction):
    """A load of 2D blocks that stand side by side."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Plane
    block: Block
    dst: Data


@form(
    "{pred}{op}.{sfid}{cache} {exec}  {address}  {data}{block}",
    layout=f"{_BLOCK} null {{address}} {{data}}",
)
class LscStoreBlock(Instruction):
    """A store of a 2D block."""

    exec: Exec
    pred: Pred
    sfid: Sfid
    cache: Cache
    address: Plane
    block: Block
    data: Data


def _cells(t: Tracer, block: LscBlock) -> tuple[Cell | None, ...]:
    memory, register = DATA_SIZES[block.data]
    if memory != register:
        raise Unexecutable(f"2D blocks of {block.data}")
    if block.vnni:
        along = block.width if block.transposed else block.height
        if memory == 8 or along % (4 // memory):
            raise Unexecutable(f"a VNNI transformed block of {along} {block.data} to a column")
    return arrangement(block, t.platform.grf_bytes)


def _pitch(t: Tracer, plane: LscPlane) -> Expr:
    """Return the bytes from one row to the next.

    The page has the pitch itself, compilers write the pitch minus 1 as hardware takes it.
    Pitches are multiples of 16 bytes, so that the two can be told apart.
    """
    given = t.scalar(plane.pitch, UD)
    is_less = (given & (_PITCH_UNIT - 1)).eq(_PITCH_UNIT - 1)
    return select(is_less, given + 1, given)


def _rectangle(t: Tracer, plane: LscPlane, cells: tuple[Cell | None, ...], size: int) -> Rectangle:
    return Rectangle(
        base=t.scalar(plane.base, UQ),
        width=t.scalar(plane.width, UD),
        height=t.scalar(plane.height, UD),
        pitch=_pitch(t, plane),
        x=sum_of(t.scalar(plane.x, D), plane.added[0]),
        y=sum_of(t.scalar(plane.y, D), plane.added[1]),
        enabled=enabled_of(t),
        cells=cells,
        size=size,
    )


def _message(
    t: Tracer, operation: int, block: LscBlock, data: RawOperand, place: LscPlanePayload
) -> RawMessage:
    """Return the message to which a payload that stands ready belongs.

    Its descriptor says how large elements are and how they are arranged. The shape is that in the
    payload, as on the device; the instruction's says how many registers take part.
    """
    cells = _cells(t, block)
    size, grf = element_of(block.data).memory.bytes, t.platform.grf_bytes
    registers, loads = len(cells) * size // grf, operation == LOAD_BLOCK
    response = min(registers, _MOST_RESPONSE) if loads else 0
    descriptor = operation | block.vnni << 7 | (size.bit_length() - 1) << 9
    descriptor |= block.transposed << 15 | response << 20 | 1 << 25
    payload = (place.payload_at(grf), 1)
    return RawMessage(
        function=_UGM,
        descriptor=descriptor,
        extended=Immediate(0, UD),
        parts=(payload,) if loads else (payload, (data, registers)),
        dst=data if loads else RawOperand(GENERALS[0]),
    )


@TABLE.effect(
    0x89, LscLoadBlock, sub=0x03, page="LSC_UNTYPED",
    example="lsc_load_block2d.ugm (M1_NM, 1)  V40:d8.2x16x32nn  "
    "flat[V41, V42, V42(0,1), V42(0,2), V42(0,3), 0x4]",
)  # fmt: skip
def lsc_load_block2d(t: Tracer, i: LscLoadBlock) -> None:
    """Load 2D blocks; what is outside of the surface, and padding, is 0."""
    if i.dst.is_null:
        return
    if isinstance(i.address, LscPlanePayload):
        message = _message(t, LOAD_BLOCK, i.block, i.dst, i.address)
        move_block(t, message, i.address.added)
        return
    cells = _cells(t, i.block)
    kind = element_of(i.block.data).memory
    rectangle = _rectangle(t, i.address, cells, kind.bytes)
    addresses, mask = elements_of(rectangle)
    effect = Load(Space.FLAT, None, addresses, kind, 1, mask, rectangle)
    t.emit(effect)
    enabled = rectangle.enabled
    whole = None if enabled is None else broadcast(enabled, len(cells))
    t.write_raw(i.dst, loaded(effect, kind, len(cells)), whole)


@TABLE.effect(
    0x89, LscStoreBlock, sub=0x07, page="LSC_UNTYPED",
    example="lsc_store_block2d.ugm (M1_NM, 1)  "
    "flat[V40, V41, V41(0,1), V41(0,2), V41(0,3), V41(0,4)]  V42:d16.16x8nn",
)  # fmt: skip
def lsc_store_block2d(t: Tracer, i: LscStoreBlock) -> None:
    """Store a 2D block, arranged as its load would; what is outside of the surface is dropped."""
    if i.block.blocks != 1:
        raise Unexecutable(f"a store of {i.block.blocks} 2D blocks; it can have one")
    if isinstance(i.address, LscPlanePayload):
        message = _message(t, STORE_BLOCK, i.block, i.data, i.address)
        move_block(t, message, i.address.added)
        return
    cells = _cells(t, i.block)
    places = tuple(place for place, cell in enumerate(cells) if cell is not None)
    kind = element_of(i.block.data).memory
    stored = tuple(cells[place] for place in places)
    rectangle = _rectangle(t, i.address, stored, kind.bytes)
    addresses, mask = elements_of(rectangle)
    value = take(t.raw(i.data, kind, len(cells)), places)
    t.emit(Store(Space.FLAT, None, addresses, (value,), mask, rectangle))
