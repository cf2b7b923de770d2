"""Typed LSC messages: texels of images by coordinates (specification LSC_TYPED).

Their names end in the unit, which tells them from the untyped messages of the same name.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from visim.isa.codecs import Older, Version
from visim.isa.forms import Exec, Pred
from visim.isa.lsc import Cache, Data, Element, Shape, element_of, space_of
from visim.isa.lsc_atomics import LSC_ATOMICS
from visim.isa.lsc_kinds import QUAD, TEXEL_CACHE
from visim.isa.lsc_places import STATES_SINCE, SURFACE_ONLY, TEXEL
from visim.isa.raw_kinds import RAW_LSC, RawKind
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.surfaces import ONE_SAMPLE, block_bytes, loaded
from visim.isa.table import Table
from visim.isa.typed import ask, components, texel_place
from visim.isa.version_kinds import SinceKind
from visim.lex import Cursor
from visim.operands import LscCache, LscCorner, LscShape, LscSurface, LscTexel, RawOperand
from visim.predefined import GENERALS
from visim.sem.atomics import AtomicOperation
from visim.sem.effects import Request
from visim.sem.expr import UOPS, Expr, bits_constant, unsigned
from visim.sem.requests import COLOURS, Outside, TexelAtomic, TexelLoad, TexelStore
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import UD

TABLE = Table(Category.SAMPLER)
UNIT = ".tgm"


_NULL = RawOperand(GENERALS[0])


@dataclass(frozen=True, slots=True)
class BracketedKind(SinceKind):
    """Coordinates in brackets: `[V40.0]`."""

    since: Version = STATES_SINCE
    kind: RawKind = RAW_LSC
    default: RawOperand = _NULL

    def parse(self, cursor: Cursor, names: Names) -> RawOperand | None:
        """Take the coordinates if the text's version has them."""
        if names.version < self.since:
            return None
        cursor.expect("[")
        found = self.kind.parse(cursor, names)
        cursor.expect("]")
        return found

    def show(self, value: RawOperand | None) -> str:
        """Return them in brackets; nothing where there are none."""
        return "" if value is None else f"[{self.kind.show(value)}]"


Quad = Annotated[LscShape, QUAD]
Texel = Annotated[LscTexel, TEXEL]


def _layout(elements: str) -> str:
    return (
        "{sub} {exec} {pred} {cache} {address.model} {address.size} {shape.data} "
        f"{{shape.transposed}} {{shape.{elements}}} {{shape.{elements}}} "
        "{address.surface} {address.index}"
    )


_COORDINATES = (
    "{address.u} {address.du} {address.v} {address.dv} {address.r} {address.dr} {address.lod}"
)


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


TexelCache = Annotated[LscCache, TEXEL_CACHE]


@form(
    "{pred}{op}{cache} {exec}  {dst}{shape}  {address}  {src0}  {src1}",
    layout=f"{_layout('count')} {{dst}} {_COORDINATES} {{src0}} {{src1}}",
)
class LscTypedAtomic(Instruction):
    """An atomic operation on texels."""

    exec: Exec
    pred: Pred
    cache: TexelCache
    address: Texel
    shape: Shape
    dst: Data
    src0: Data
    src1: Data


_QUESTION = "{sub} 0x80 0:2 0:2 {surface.model} 2 3 1 1 1 {surface.surface} {surface.index} {dst}"


@form(
    "{op}  {dst}  {surface}{coordinates}",
    layout=f"{_QUESTION} {{coordinates}} 0:2 0:2 null 0:2 0:2 null 0:2 0:2 null null null",
    older=(Older((4, 2), f"{_QUESTION} {{coordinates}} null null null null null null", {}),),
)
class LscSurfaceQuestion(Instruction):
    """A question about a surface; since version 4.2 the message has coordinates, too."""

    surface: Annotated[LscSurface, SURFACE_ONLY]
    dst: Data
    coordinates: Annotated[RawOperand | None, BracketedKind()]


def image_of(t: Tracer, address: LscTexel | LscCorner) -> Expr:
    """Return the binding table index of an image (UD, one lane)."""
    _space, index = space_of(t, "ugm", address)
    if index is None:
        raise Unexecutable(f"images at a surface of model {address.model}")
    return index


def _place(t: Tracer, address: LscTexel) -> dict[str, Expr]:
    operands = {"u": address.u, "v": address.v, "r": address.r, "lod": address.lod}
    found = texel_place(t, operands, unsigned(address.bits))
    for name, added in (("u", address.du), ("v", address.dv), ("r", address.dr)):
        if added and name in found:
            found[name] = found[name] + added % (1 << address.bits)
    return found


def _colours(shape: LscShape) -> str:
    """Return the components that a quad message names."""
    if shape.data != "d32":
        raise Unexecutable(f"typed messages of {shape.data}; components of texels have 32 bits")
    return "".join(COLOURS["xyzw".index(letter)] for letter in shape.channels)


def load_of_texels(t: Tracer, i: LscLoadTexels) -> Request:
    """Record a read of texels, and return it."""
    given = _place(t, i.address)
    return ask(t, TexelLoad(tuple(given), Outside.OPAQUE), image_of(t, i.address), given)


def _load_quad(t: Tracer, i: LscLoadTexels) -> None:
    """Read the chosen components of texels, one component after another."""
    if i.dst.is_null:
        return
    effect = load_of_texels(t, i)
    for position, letter in enumerate(_colours(i.shape)):
        value = loaded(effect, UD, t.lanes, COLOURS.index(letter))
        t.write_raw(i.dst, value, effect.mask, position * block_bytes(t, UD.bytes))


def _load_status(t: Tracer, i: LscLoadTexels) -> None:
    """Return a bit for each enabled channel: its texel lies in a valid page, as all do."""
    effect = load_of_texels(t, i)
    enabled = bits_constant(1, UD, t.lanes).ne(0) if effect.mask is None else effect.mask
    t.write_raw(i.dst, Expr(UOPS["mask_bits"], UD, 1, (enabled,)), None)


def _store_quad(t: Tracer, i: LscStoreTexels) -> None:
    """Write the chosen components of texels; the others stay as they are."""
    given = _place(t, i.address) | components(t, _colours(i.shape), i.data)
    ask(t, TexelStore(tuple(given)), image_of(t, i.address), given)


def _store_uncompressed(t: Tracer, i: LscStoreTexels) -> None:
    """Write components without compression; visim compresses nothing."""
    _store_quad(t, i)


def _atomic(t: Tracer, i: LscTypedAtomic, operation: AtomicOperation) -> None:
    if i.cache.samples:
        raise Unexecutable(ONE_SAMPLE)
    element = _element(i.shape)
    sources = (i.src0, i.src1)[: operation.operand_count]
    operands = {
        f"operand{number}": element.to_memory(t.raw(source, element.register, t.lanes)).to(UD)
        for number, source in enumerate(sources)
    }
    given = _place(t, i.address) | operands
    asked = TexelAtomic(tuple(given), operation, element.memory.bits)
    effect = ask(t, asked, image_of(t, i.address), given)
    old = loaded(effect, UD, t.lanes).to(element.memory)
    t.write_raw(i.dst, element.from_memory(old), effect.mask)


def _element(shape: LscShape) -> Element:
    element = element_of(shape.data)
    if shape.count != 1 or shape.transposed or element.memory.bits not in {16, 32}:
        raise Unexecutable(f"atomics on texels of {shape.data}x{shape.count}")
    return element


def declared_as(meaning: Any, name: str, doc: str | None = None) -> Any:
    """Return a meaning under the name of a typed message, and with another sentence if given."""
    meaning.__name__ = f"lsc_{name}{UNIT}"
    if doc is not None:
        meaning.__doc__ = doc
    return meaning


for _sub, _name, _read in ((0x02, "load_quad", _load_quad), (0x1B, "load_status", _load_status)):
    TABLE.effect(
        0x8A, LscLoadTexels, sub=_sub, page="LSC_TYPED",
        example=f"lsc_{_name}.tgm (M1, 8)  V40:d32.xyzw  bti(0x4)[V41, V42, %null, %null]:a32",
    )(declared_as(_read, _name))  # fmt: skip
for _sub, _name, _write in (
    (0x06, "store_quad", _store_quad),
    (0x1C, "store_uncompressed", _store_uncompressed),
):
    TABLE.effect(
        0x8A, LscStoreTexels, sub=_sub, page="LSC_TYPED",
        example=f"lsc_{_name}.tgm (M1, 8)  bti(0x4)[V40, V41, %null, %null]:a32  V42:d32.xy",
    )(declared_as(_write, _name))  # fmt: skip


def _declare_atomic(name: str, sub: int, operation: AtomicOperation) -> None:
    def meaning(t: Tracer, i: LscTypedAtomic) -> None:
        _atomic(t, i, operation)

    count = operation.operand_count
    sources = "  ".join(("V43", "V44")[:count] + ("%null",) * (2 - count))
    TABLE.effect(
        0x8A, LscTypedAtomic, sub=sub, page="LSC_TYPED",
        example=f"lsc_atomic_{name}.tgm (M1, 8)  V40:d32  bti(0x4)[V41, V42, %null, %null]:a32  "
        f"{sources}",
    )(
        declared_as(
            meaning,
            f"atomic_{name}",
            f"Atomic {operation} on texels of one component; the old values are returned.",
        )
    )  # fmt: skip


for _name, _sub, _operation in LSC_ATOMICS:
    _declare_atomic(_name, _sub, _operation)

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
