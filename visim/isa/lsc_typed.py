"""Typed LSC messages: texels of images by coordinates (specification LSC_TYPED).

Their names end in the unit, which tells them from the untyped messages of the same name.
"""

from typing import Annotated

from visim.isa.forms import Exec, Pred
from visim.isa.lsc import Cache, Data, Shape, space_of
from visim.isa.lsc_kinds import QUAD, SURFACE_ONLY, TEXEL
from visim.isa.memory import block_bytes, loaded
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.operands import LscShape, LscSurface, LscTexel
from visim.sem.effects import ImageLoad, ImageStore, Outside
from visim.sem.expr import Expr, bits_constant
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD

TABLE = Table(Category.SAMPLER)
UNIT = ".tgm"
_LETTERS = {"x": "R", "y": "G", "z": "B", "w": "A"}

Quad = Annotated[LscShape, QUAD]
Texel = Annotated[LscTexel, TEXEL]


def _layout(elements: str) -> str:
    return (
        "{sub} {exec} {pred} {cache} {address.model} {address.bits} {shape.data} "
        f"{{shape.transposed}} {{shape.{elements}}} {{shape.{elements}}} {{address.surface}}"
    )


_COORDINATES = "{address.u} {address.v} {address.r} {address.lod}"


@form(
    "{pred}{op}{cache} {exec}  {dst}{shape}  {address}",
    layout=f"{_layout('channels')} {{dst}} {_COORDINATES} null null",
)
class LscLoadTexels(Instruction):
    """A load of components of texels."""

    exec: Exec
    pred: Pred
    cache: Cache
    address: Texel
    shape: Quad
    dst: Data


@form(
    "{pred}{op}{cache} {exec}  {address}  {data}{shape}",
    layout=f"{_layout('channels')} null {_COORDINATES} {{data}} null",
)
class LscStoreTexels(Instruction):
    """A store of components of texels."""

    exec: Exec
    pred: Pred
    cache: Cache
    address: Texel
    shape: Quad
    data: Data


@form(
    "{pred}{op}{cache} {exec}  {dst}{shape}  {address}  {src0}  {src1}",
    layout=f"{_layout('count')} {{dst}} {_COORDINATES} {{src0}} {{src1}}",
)
class LscTypedAtomic(Instruction):
    """An atomic operation on texels."""

    exec: Exec
    pred: Pred
    cache: Cache
    address: Texel
    shape: Shape
    dst: Data
    src0: Data
    src1: Data


@form(
    "{op}  {dst}  {surface}",
    layout="{sub} 0x80 0:2 0:2 {surface.model} 2 3 1 1 1 {surface.surface} {dst} "
    "null null null null null null",
)
class LscSurfaceQuestion(Instruction):
    """A question about a surface."""

    surface: Annotated[LscSurface, SURFACE_ONLY]
    dst: Data


def _texels(
    t: Tracer, address: LscTexel, shape: LscShape
) -> tuple[Expr, tuple[Expr, ...], Expr | None]:
    """Return the surface, the coordinates u, v, r, and the level of detail if there is one."""
    _space, index = space_of(t, "ugm", address.model, address.surface)
    if index is None:
        raise Unexecutable(f"images at a surface of model {address.model}")
    if address.bits != 32 or shape.data != "d32":
        raise Unexecutable(f"typed messages of {shape.data} with a{address.bits} coordinates")
    coordinates = tuple(t.raw(part, UD, t.lanes) for part in (address.u, address.v, address.r))
    return index, coordinates, None if address.lod.is_null else t.raw(address.lod, UD, t.lanes)


def _load_quad(t: Tracer, i: LscLoadTexels) -> None:
    """Read the chosen components of texels, one component after another."""
    if i.dst.is_null:
        return
    surface, coordinates, lod = _texels(t, i.address, i.shape)
    effect = ImageLoad(surface, coordinates, lod, Outside.OPAQUE, t.mask())
    t.emit(effect)
    for position, letter in enumerate(i.shape.channels):
        value = loaded(effect, UD, t.lanes, "xyzw".index(letter))
        t.write_raw(i.dst, value, effect.mask, position * block_bytes(t, UD.bytes))


def _store_quad(t: Tracer, i: LscStoreTexels) -> None:
    """Write the chosen components of texels; the others stay as they are."""
    surface, coordinates, lod = _texels(t, i.address, i.shape)
    if lod is not None:
        raise Unexecutable("typed writes at a level of detail")
    size = block_bytes(t, UD.bytes)
    given = {
        letter: t.raw(i.data, UD, t.lanes, position * size)
        for position, letter in enumerate(i.shape.channels)
    }
    values = tuple(given.get(letter, bits_constant(0, UD, t.lanes)) for letter in _LETTERS)
    channels = "".join(_LETTERS[letter] for letter in i.shape.channels)
    t.emit(ImageStore(surface, coordinates, channels, values, t.mask()))


_load_quad.__name__ = f"lsc_load_quad{UNIT}"
_store_quad.__name__ = f"lsc_store_quad{UNIT}"
TABLE.effect(
    0x8A, LscLoadTexels, sub=0x02, page="LSC_TYPED",
    example="lsc_load_quad.tgm (M1, 8)  V40:d32.xyzw  bti(0x4)[V41, V42, %null, %null]:a32",
)(_load_quad)  # fmt: skip
TABLE.effect(
    0x8A, LscStoreTexels, sub=0x06, page="LSC_TYPED",
    example="lsc_store_quad.tgm (M1, 8)  bti(0x4)[V40, V41, %null, %null]:a32  V42:d32.xy",
)(_store_quad)  # fmt: skip

for _name, _sub, _count in (
    ("iinc", 0x08, 0),
    ("idec", 0x09, 0),
    ("load", 0x0A, 0),
    ("store", 0x0B, 1),
    ("iadd", 0x0C, 1),
    ("isub", 0x0D, 1),
    ("smin", 0x0E, 1),
    ("smax", 0x0F, 1),
    ("umin", 0x10, 1),
    ("umax", 0x11, 1),
    ("icas", 0x12, 2),
    ("fadd", 0x13, 1),
    ("fsub", 0x14, 1),
    ("fmin", 0x15, 1),
    ("fmax", 0x16, 1),
    ("fcas", 0x17, 2),
    ("and", 0x18, 1),
    ("or", 0x19, 1),
    ("xor", 0x1A, 1),
):
    _sources = "  ".join(("V43", "V44")[:_count] + ("%null",) * (2 - _count))
    TABLE.unexecuted(
        0x8A,
        f"lsc_atomic_{_name}{UNIT}",
        LscTypedAtomic,
        sub=_sub,
        page="LSC_TYPED",
        doc=f"Atomic {_name} on texels; the old values are returned.",
        example=f"lsc_atomic_{_name}.tgm (M1, 8)  V40:d32  "
        f"bti(0x4)[V41, V42, %null, %null]:a32  {_sources}",
        reason="atomics on texels are not there yet",
    )

TABLE.unexecuted(
    0x8A,
    f"lsc_read_state_info{UNIT}",
    LscSurfaceQuestion,
    sub=0x1E,
    page="LSC_TYPED",
    doc="Return what a surface's state says.",
    example="lsc_read_state_info.tgm  V40  bti(0x4)",
    reason="the specification does not say what a surface's state looks like",
)
