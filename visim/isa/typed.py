"""Messages to typed surfaces before LSC (GATHER4_TYPED, SCATTER4_TYPED, TYPED_ATOMIC).

What texels mean, their formats say; see `visim.machine.images`.
"""

from collections.abc import Mapping
from typing import Annotated

from visim.isa.forms import Exec, Pred, Raw
from visim.isa.memory import AtomicName, AtomicWidth, atomic_sources, narrow_atomic
from visim.isa.older import TYPED_LAYOUTS
from visim.isa.raw_kinds import SURFACE
from visim.isa.registry import Category, Instruction, form
from visim.isa.sampler import image_index, write_components
from visim.isa.surfaces import block_bytes, loaded
from visim.isa.table import Table
from visim.isa.word_kinds import CHANNELS
from visim.operands import RawOperand, SurfaceVariable
from visim.sem.effects import Request
from visim.sem.expr import Expr
from visim.sem.requests import Operation, Outside, TexelAtomic, TexelLoad, TexelStore
from visim.sem.tracer import Tracer
from visim.types import UD, DataType

TABLE = Table(Category.SAMPLER)

Surface = Annotated[SurfaceVariable, SURFACE]


@form(
    "{pred}{op}.{channels} {exec} {surface} {u} {v} {r} {lod} {data}",
    older=TYPED_LAYOUTS,
)
class TypedChannels(Instruction):
    """A read or write of texels with conversion to the surface's format."""

    exec: Exec
    pred: Pred
    channels: Annotated[str, CHANNELS]
    surface: Surface
    u: Raw
    v: Raw
    r: Raw
    lod: Raw
    data: Raw


@form(
    "{pred}{op}.{operation}{width} {exec} {surface} {u} {v} {r} {lod} {src0} {src1} {dst}",
    layout="{operation&0x1f|width&0x60} {exec} {pred} {surface} {u} {v} {r} {lod} {src0} {src1} "
    "{dst}",
)
class TypedAtomic(Instruction):
    """An atomic operation on texels."""

    exec: Exec
    pred: Pred
    operation: AtomicName
    width: AtomicWidth
    surface: Surface
    u: Raw
    v: Raw
    r: Raw
    lod: Raw
    src0: Raw
    src1: Raw
    dst: Raw


def texel_place(
    t: Tracer, operands: Mapping[str, RawOperand], kind: DataType = UD
) -> dict[str, Expr]:
    """Return the coordinates and the level of detail that a message has; u is always there."""
    return {
        name: t.raw(operand, kind, t.lanes)
        for name, operand in operands.items()
        if name == "u" or not operand.is_null
    }


def ask(t: Tracer, operation: Operation, surface: Expr, given: Mapping[str, Expr]) -> Request:
    """Record a request and return it; `given` has its parameters in their order."""
    effect = Request(operation, surface, None, tuple(given.values()), t.mask())
    t.emit(effect)
    return effect


def components(t: Tracer, channels: str, data: RawOperand) -> dict[str, Expr]:
    """Return the values of components, each of which begins at a register."""
    size = block_bytes(t, UD.bytes)
    return {
        letter: t.raw(data, UD, t.lanes, position * size)
        for position, letter in enumerate(channels)
    }


def _place(t: Tracer, i: TypedChannels | TypedAtomic) -> dict[str, Expr]:
    return texel_place(t, {"u": i.u, "v": i.v, "r": i.r, "lod": i.lod})


@TABLE.effect(
    0x4B,
    TypedChannels,
    example="gather4_typed.RGBA (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0",
)
def gather4_typed(t: Tracer, i: TypedChannels) -> None:
    """Read texels of a typed surface."""
    given = _place(t, i)
    effect = ask(t, TexelLoad(tuple(given), Outside.OPAQUE), image_index(t, i.surface), given)
    write_components(t, effect, i.channels, i.data)


@TABLE.effect(
    0x4C,
    TypedChannels,
    example="scatter4_typed.RGBA (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0",
)
def scatter4_typed(t: Tracer, i: TypedChannels) -> None:
    """Write texels of a typed surface; components that are not named stay as they are."""
    given = _place(t, i) | components(t, i.channels, i.data)
    ask(t, TexelStore(tuple(given)), image_index(t, i.surface), given)


@TABLE.effect(
    0x73,
    TypedAtomic,
    restrict=narrow_atomic,
    example="typed_atomic.add (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0 %null.0 V43.0",
)
def typed_atomic(t: Tracer, i: TypedAtomic) -> None:
    """Read, modify and write texels of one component; the old values are returned."""
    operation, kind, sources = atomic_sources(t, i)
    operands = {f"operand{number}": source.to(UD) for number, source in enumerate(sources)}
    given = _place(t, i) | operands
    asked = TexelAtomic(tuple(given), operation, kind.bits)
    effect = ask(t, asked, image_index(t, i.surface), given)
    t.write_raw(i.dst, loaded(effect, UD, t.lanes), effect.mask)
