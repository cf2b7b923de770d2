"""Messages to the sampler, to typed surfaces, and media blocks (specification 6).

Images have one level, so that the level of detail of a sampled read, its bias and gradients
change nothing; that of a load selects nothing but level 0.
"""

from dataclasses import field
from typing import Annotated

from visim.isa.forms import Exec, Pred, Raw, Src
from visim.isa.kinds import RAWS, SAMPLER, SURFACE
from visim.isa.memory import block_bytes, loaded, surface_space
from visim.isa.older import TYPED_LAYOUTS, sampler_layouts
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.isa.word_kinds import BITS, BYTE, CHANNELS, ChoiceKind
from visim.operands import (
    Immediate,
    RawOperand,
    SamplerVariable,
    SurfaceVariable,
)
from visim.sem.effects import (
    ImageLoad,
    ImageQuery,
    ImageStore,
    MediaLoad,
    MediaStore,
    Outside,
    Place,
    Sample,
    Space,
    WriteRegister,
)
from visim.sem.expr import UOPS, Expr, bits_constant, take
from visim.sem.tracer import Tracer, Unexecutable
from visim.types import HF, UB, UD, UW, DataType, F

TABLE = Table(Category.SAMPLER)

_AXES = 3
_ORDER = "RGBA"
_LEAST_PITCH = 4
_BINDLESS = 31

_COMPONENTS = (("R", 0), ("G", 1), ("B", 2), ("A", 3))

Channels = Annotated[str, CHANNELS]
Surface = Annotated[SurfaceVariable, SURFACE]
Parameters = Annotated[tuple[RawOperand, ...], RAWS]
Count = Annotated[int, BYTE]
#: What an object says beside the operation, which text does not show: whether null pixels are
#: masked (bit 8), coarse shading (9), a sampler that differs between channels (10).
Flags = Annotated[int, BITS]


_SAMPLED = (
    "{sub|flags&0x700:2} {exec} {pred} {channels} {offsets} {sampler} {surface} {dst} {parameters}"
)
_UNSAMPLED = "{sub|flags&0x700:2} {exec} {pred} {channels} {offsets} {surface} {dst} {parameters}"
_GATHERED = (
    "{sub|flags&0x700:2} {exec} {pred} {component} {offsets} {sampler} {surface} {dst} {parameters}"
)


@form(
    "{pred}{op}.{channels} {exec}  {offsets} {sampler} {surface} {dst} {parameters}",
    layout=_SAMPLED,
    older=sampler_layouts(_SAMPLED),
)
class Sampled(Instruction):
    """A filtered read of an image."""

    exec: Exec
    pred: Pred
    channels: Channels
    offsets: Src
    sampler: Annotated[SamplerVariable, SAMPLER]
    surface: Surface
    dst: Raw
    parameters: Parameters
    flags: Flags = field(default=0, compare=False)


@form(
    "{pred}{op}.{channels} {exec}  {offsets} {surface} {dst} {parameters}",
    layout=_UNSAMPLED,
    older=sampler_layouts(_UNSAMPLED),
)
class Unsampled(Instruction):
    """An unfiltered read of an image through the sampler."""

    exec: Exec
    pred: Pred
    channels: Channels
    offsets: Src
    surface: Surface
    dst: Raw
    parameters: Parameters
    flags: Flags = field(default=0, compare=False)


@form(
    "{pred}{op}.{component} {exec} {offsets} {sampler} {surface} {dst} {parameters}",
    layout=_GATHERED,
    older=sampler_layouts(_GATHERED),
)
class Gathered(Instruction):
    """One component of the four texels around a place in an image."""

    exec: Exec
    pred: Pred
    component: Annotated[str, ChoiceKind(_COMPONENTS, "a component")]
    offsets: Src
    sampler: Annotated[SamplerVariable, SAMPLER]
    surface: Surface
    dst: Raw
    parameters: Parameters
    flags: Flags = field(default=0, compare=False)


@form(
    "{op}.{channels} {exec}  {surface} {lod} {dst}",
    layout="{sub} {exec} {channels} {surface} {lod} {dst}",
)
class Question(Instruction):
    """A question for an image's sizes."""

    exec: Exec
    channels: Channels
    surface: Surface
    lod: Raw
    dst: Raw


@form(
    "{pred}{op}.{channels} {exec} {surface} {u} {v} {r} {lod} {data}",
    older=TYPED_LAYOUTS,
)
class TypedChannels(Instruction):
    """A read or write of texels with conversion to the surface's format."""

    exec: Exec
    pred: Pred
    channels: Channels
    surface: Surface
    u: Raw
    v: Raw
    r: Raw
    lod: Raw
    data: Raw


@form(
    "{op}.nomod ({width},{height}) {surface} {plane} {x} {y} {data}",
    layout="0 {surface} {plane} {width} {height} {x} {y} {data}",
)
class MediaBlock(Instruction):
    """A two-dimensional block of a surface."""

    width: Count
    height: Count
    surface: Surface
    plane: Count
    x: Src
    y: Src
    data: Raw


# What the messages have in common


def _surface(surface: SurfaceVariable) -> Expr:
    space, index = surface_space(surface)
    if space is not Space.SURFACE or index is None:
        raise Unexecutable(f"images at {surface.name}, which is {space} memory")
    return index


def _sampler(sampler: SamplerVariable) -> Expr:
    if sampler.index == _BINDLESS:
        raise Unexecutable("samplers whose state is in memory (S31)")
    return Expr(UOPS["state"], UD, 1, (), (sampler, 0))


def _check_options(i: Sampled | Unsampled | Gathered) -> None:
    if i.flags:
        raise Unexecutable(
            "null pixel masks, coarse shading and samplers that differ between channels"
        )
    if not isinstance(i.offsets, Immediate) or i.offsets.bits:
        raise Unexecutable("offsets in texels other than 0")


def _parameter(t: Tracer, i: Sampled | Unsampled | Gathered, position: int, kind: DataType) -> Expr:
    """Return a parameter of a sampler message as `kind`; trailing ones that are left out are 0."""
    if position >= len(i.parameters):
        return bits_constant(0, kind, t.lanes)
    operand = i.parameters[position]
    narrow = HF if kind == F else UW
    if not operand.is_null and operand.variable.type.bits == narrow.bits:
        return t.raw(operand, narrow, t.lanes).to(kind)
    return t.raw(operand, kind, t.lanes)


def _write_components(
    t: Tracer, effect: ImageLoad | Sample | ImageQuery, channels: str, dst: RawOperand
) -> None:
    """Write components to successive registers of `dst`, in the type of its variable."""
    kind = UD if dst.is_null else dst.variable.type
    narrow = kind.bits == UW.bits
    size = block_bytes(t, 2 if narrow else 4)
    for position, letter in enumerate(channels):
        value = loaded(effect, UD, t.lanes, _ORDER.index(letter))
        if narrow:
            value = value.bits_as(F).to(HF) if kind == HF else value.to(UW)
        t.write_raw(dst, value, effect.mask, position * size)


# Sampled reads


def _sample(t: Tracer, i: Sampled, first: int) -> None:
    """Sample at the coordinates that follow the first `first` parameters."""
    _check_options(i)
    coordinates = tuple(_parameter(t, i, first + axis, F) for axis in range(_AXES))
    effect = Sample(_surface(i.surface), _sampler(i.sampler), coordinates, t.mask())
    t.emit(effect)
    _write_components(t, effect, i.channels, i.dst)


def _sample_example(name: str) -> str:
    return f"{name}.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 V41.0 V42.0"


@TABLE.effect(0x6D, Sampled, sub=0, page="3D_SAMPLE", example=_sample_example("sample_3d"))
def sample_3d(t: Tracer, i: Sampled) -> None:
    """Read an image through a sampler; the level of detail follows from the neighbours."""
    _sample(t, i, 0)


@TABLE.effect(0x6D, Sampled, sub=1, page="3D_SAMPLE", example=_sample_example("sample_b"))
def sample_b(t: Tracer, i: Sampled) -> None:
    """Read an image through a sampler with a bias of the level of detail."""
    _sample(t, i, 1)


@TABLE.effect(0x6D, Sampled, sub=2, page="3D_SAMPLE", example=_sample_example("sample_l"))
def sample_l(t: Tracer, i: Sampled) -> None:
    """Read an image through a sampler at a given level of detail."""
    _sample(t, i, 1)


@TABLE.effect(0x6D, Sampled, sub=24, page="3D_SAMPLE", example=_sample_example("sample_lz"))
def sample_lz(t: Tracer, i: Sampled) -> None:
    """Read an image through a sampler at level of detail 0."""
    _sample(t, i, 0)


@TABLE.effect(
    0x6F,
    Gathered,
    sub=8,
    page="3D_SAMPLE4",
    example="sample4.R (M1, 16) 0x0:uw S0 T6 V40.0 V41.0 V42.0",
)
def sample4(t: Tracer, i: Gathered) -> None:
    """Read one component of the four texels that a linear filter would mix."""
    _check_options(i)
    coordinates = tuple(_parameter(t, i, axis, F) for axis in range(_AXES))
    sampler = _sampler(i.sampler)
    effect = Sample(_surface(i.surface), sampler, coordinates, t.mask(), i.component)
    t.emit(effect)
    _write_components(t, effect, _ORDER, i.dst)


@TABLE.effect(0x70, Question, sub=10, page="INFO", example="resinfo.RGBA (M1, 16)  T6 V40.0 V41.0")
def resinfo(t: Tracer, i: Question) -> None:
    """Ask for an image's width, height, depth and number of levels."""
    effect = ImageQuery(_surface(i.surface), t.raw(i.lod, UD, t.lanes), t.mask())
    t.emit(effect)
    _write_components(t, effect, i.channels, i.dst)


# Reads at integer coordinates


def _load(t: Tracer, i: Unsampled, axes: tuple[int, ...], lod: int | None) -> None:
    """Load texels; `axes` and `lod` are the positions of u, v, r and the level of detail."""
    _check_options(i)
    coordinates = tuple(_parameter(t, i, position, UD) for position in axes)
    level = None if lod is None or lod >= len(i.parameters) else _parameter(t, i, lod, UD)
    effect = ImageLoad(_surface(i.surface), coordinates, level, Outside.BORDER, t.mask())
    t.emit(effect)
    _write_components(t, effect, i.channels, i.dst)


def _load_example(name: str) -> str:
    return f"{name}.RGBA (M1, 16)  0x0:uw T6 V40.0 V41.0"


@TABLE.effect(0x6E, Unsampled, sub=7, page="3D_LOAD", example=_load_example("load_3d"))
def load_3d(t: Tracer, i: Unsampled) -> None:
    """Read texels at integer coordinates and a level of detail."""
    _load(t, i, (0, 1, 3), 2)


@TABLE.effect(0x6E, Unsampled, sub=26, page="3D_LOAD", example=_load_example("load_lz"))
def load_lz(t: Tracer, i: Unsampled) -> None:
    """Read texels at integer coordinates, level of detail 0."""
    _load(t, i, (0, 1, 2), None)


# Typed surfaces


def _coordinates(t: Tracer, i: TypedChannels) -> tuple[Expr, ...]:
    return tuple(t.raw(operand, UD, t.lanes) for operand in (i.u, i.v, i.r))


@TABLE.effect(
    0x4B,
    TypedChannels,
    example="gather4_typed.RGBA (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0",
)
def gather4_typed(t: Tracer, i: TypedChannels) -> None:
    """Read texels of a typed surface."""
    lod = None if i.lod.is_null else t.raw(i.lod, UD, t.lanes)
    surface = _surface(i.surface)
    effect = ImageLoad(surface, _coordinates(t, i), lod, Outside.OPAQUE, t.mask())
    t.emit(effect)
    _write_components(t, effect, i.channels, i.data)


@TABLE.effect(
    0x4C,
    TypedChannels,
    example="scatter4_typed.RGBA (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0",
)
def scatter4_typed(t: Tracer, i: TypedChannels) -> None:
    """Write texels of a typed surface; components that are not named stay as they are."""
    if not i.lod.is_null:
        raise Unexecutable("typed writes at a level of detail")
    size = block_bytes(t, UD.bytes)
    given = {
        letter: t.raw(i.data, UD, t.lanes, position * size)
        for position, letter in enumerate(i.channels)
    }
    values = tuple(given.get(letter, bits_constant(0, UD, t.lanes)) for letter in _ORDER)
    t.emit(ImageStore(_surface(i.surface), _coordinates(t, i), i.channels, values, t.mask()))


# Media blocks


def _block(i: MediaBlock) -> Place:
    """Return the bytes of a block in registers: each row at a multiple of the register pitch."""
    if i.plane:
        raise Unexecutable("planes of media surfaces")
    pitch = max(_LEAST_PITCH, 1 << (i.width - 1).bit_length())
    root, base = i.data.variable.root()
    return Place(root, base + i.data.offset, UB, i.width * i.height, i.width, pitch, 1)


@TABLE.effect(
    0x37,
    MediaBlock,
    example="media_ld.nomod (32,2) T6 0 V40(0,0)<0;1,0> V41(0,0)<0;1,0> V42.0",
)
def media_ld(t: Tracer, i: MediaBlock) -> None:
    """Read a two-dimensional block of bytes."""
    place = _block(i)
    x, y = t.scalar(i.x, UD), t.scalar(i.y, UD)
    effect = MediaLoad(_surface(i.surface), x, y, i.width, i.height)
    t.emit(effect)
    block = loaded(effect, UB, place.lanes)
    for row in range(i.height):
        first = row * i.width
        start = place.offset + row * place.row_stride
        line = Place(place.variable, start, UB, i.width, i.width, 0, 1)
        value = take(block, tuple(range(first, first + i.width)))
        t.emit(WriteRegister(line, value, None))


@TABLE.effect(
    0x38,
    MediaBlock,
    example="media_st.nomod (32,2) T6 0 V40(0,0)<0;1,0> V41(0,0)<0;1,0> V42.0",
)
def media_st(t: Tracer, i: MediaBlock) -> None:
    """Write a two-dimensional block of bytes."""
    place = _block(i)
    value = Expr(UOPS["read"], UB, place.lanes, (), place)
    x, y = t.scalar(i.x, UD), t.scalar(i.y, UD)
    t.emit(MediaStore(_surface(i.surface), x, y, i.width, value))
