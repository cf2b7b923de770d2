"""Messages to the sampler: filtered and unfiltered reads of images, and questions about them.

Follows 3D_SAMPLE, 3D_SAMPLE4, 3D_LOAD and INFO. A row of a table names the parameters of a message
in their order; what they mean to an image is in `visim.machine.filtering`. Since version 4.2 a
message has a paired resource before its parameters (IGC's grammar), and surfaces and samplers may
be pointers to states.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from visim.isa.forms import Exec, Pred, Raw, Src
from visim.isa.older import sampler_layouts
from visim.isa.raw_kinds import (
    LOADED_SURFACE,
    POINTED_SAMPLER,
    POINTED_SURFACE,
    RAW,
    RAWS,
)
from visim.isa.registry import Category, Instruction, form
from visim.isa.surfaces import (
    ONE_SAMPLE,
    block_bytes,
    loaded,
    state_value,
    surface_of_state,
    surface_space,
)
from visim.isa.table import Table
from visim.isa.version_kinds import SinceKind
from visim.isa.word_kinds import CHANNELS, ChoiceKind, PrefixesKind
from visim.operands import (
    Immediate,
    RawOperand,
    SamplerVariable,
    StatePointer,
    SurfaceVariable,
)
from visim.predefined import GENERALS
from visim.sem.effects import Request, Space
from visim.sem.exactness import Exactness
from visim.sem.expr import UOPS, Expr, bits_constant, broadcast, constant, lane_numbers
from visim.sem.requests import (
    COLOURS,
    Detail,
    DetailQuery,
    Outside,
    SampleQuery,
    Sampling,
    SizeQuery,
    TexelLoad,
)
from visim.sem.tracer import Tracer, Unexecutable
from visim.target import Generation, Platform
from visim.types import HF, UD, UW, D, DataType, F, W

TABLE = Table(Category.SAMPLER)

_BINDLESS = 31
_SAMPLER_STATE_SHIFT = 4
_OFFSETS = ("offu", "offv")
_NARROW = {F: HF, UD: UW, D: W}

FILTERING = Exactness(
    choice="Images",
    note="weights and levels of detail have 8 fractional bits, sums are rounded once",
)
_COMPONENTS = (("R", 0), ("G", 1), ("B", 2), ("A", 3))
_NULL_MASK, _COARSE, _DIVERGENT = "pixel_null_mask", "cps", "divS"

Channels = Annotated[str, CHANNELS]
Surface = Annotated[SurfaceVariable | StatePointer, POINTED_SURFACE]
LoadedSurface = Annotated[SurfaceVariable | StatePointer, LOADED_SURFACE]
Sampler = Annotated[SamplerVariable | StatePointer, POINTED_SAMPLER]
PAIRED_SINCE = (4, 2)
Paired = Annotated[RawOperand | None, SinceKind(PAIRED_SINCE, RAW, RawOperand(GENERALS[0]))]
Parameters = Annotated[tuple[RawOperand, ...], RAWS]
#: Null pixels are masked (bit 8), coarse shading (9), a sampler that differs between threads (10).
_OPTION_BITS = ((_NULL_MASK, 0x100), (_COARSE, 0x200), (_DIVERGENT, 0x400))
Options = Annotated[tuple[str, ...], PrefixesKind(_OPTION_BITS)]


_HEAD = "{sub|options&0x700:2} {exec} {pred}"
_TAIL = "{surface} {dst} {paired} {parameters}"
_SAMPLED = f"{_HEAD} {{channels}} {{offsets}} {{sampler}} {_TAIL}"
_UNSAMPLED = f"{_HEAD} {{channels}} {{offsets}} {_TAIL}"
_GATHERED = f"{_HEAD} {{component}} {{offsets}} {{sampler}} {_TAIL}"
_OPERANDS = "{surface} {dst}{paired} {parameters}"


@form(
    "{pred}{op}.{options}{channels} {exec}  {offsets} {sampler} " + _OPERANDS,
    layout=_SAMPLED,
    older=sampler_layouts(_SAMPLED, _OPTION_BITS),
)
class Sampled(Instruction):
    """A filtered read of an image."""

    exec: Exec
    pred: Pred
    options: Options
    channels: Channels
    offsets: Src
    sampler: Sampler
    surface: Surface
    dst: Raw
    paired: Paired
    parameters: Parameters


@form(
    "{pred}{op}.{options}{channels} {exec}  {offsets} " + _OPERANDS,
    layout=_UNSAMPLED,
    older=sampler_layouts(_UNSAMPLED, _OPTION_BITS),
)
class Unsampled(Instruction):
    """An unfiltered read of an image through the sampler."""

    exec: Exec
    pred: Pred
    options: Options
    channels: Channels
    offsets: Src
    surface: LoadedSurface
    dst: Raw
    paired: Paired
    parameters: Parameters


@form(
    "{pred}{op}.{options}{component} {exec} {offsets} {sampler} " + _OPERANDS,
    layout=_GATHERED,
    older=sampler_layouts(_GATHERED, _OPTION_BITS),
)
class Gathered(Instruction):
    """One component of the four texels around a place in an image."""

    exec: Exec
    pred: Pred
    options: Options
    component: Annotated[str, ChoiceKind(_COMPONENTS, "a component")]
    offsets: Src
    sampler: Sampler
    surface: Surface
    dst: Raw
    paired: Paired
    parameters: Parameters


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
    "{op}.{channels} {exec}  {surface} {dst}",
    layout="{sub} {exec} {channels} {surface} {dst}",
)
class SamplesQuestion(Instruction):
    """A question for an image's samples."""

    exec: Exec
    channels: Channels
    surface: Surface
    dst: Raw


Message = Sampled | Unsampled | Gathered


# What the messages have in common


def image_index(t: Tracer, surface: SurfaceVariable | StatePointer) -> Expr:
    """Return the binding table index of an image (UD, one lane)."""
    if isinstance(surface, StatePointer):
        return surface_of_state(state_value(t, surface)) + surface.index
    space, index = surface_space(surface)
    if space is not Space.SURFACE or index is None:
        raise Unexecutable(f"images at {surface.name}, which is {space} memory")
    return index


def _sampler(t: Tracer, sampler: SamplerVariable | StatePointer) -> Expr:
    """Return a sampler's index; the state of sampler i is at 16 * i in the heap of states."""
    if isinstance(sampler, StatePointer):
        return (state_value(t, sampler) >> _SAMPLER_STATE_SHIFT).to(UD) + sampler.index
    index = Expr(UOPS["state"], UD, 1, (), (sampler, 0))
    return index >> _SAMPLER_STATE_SHIFT if sampler.index == _BINDLESS else index


def _parameter(t: Tracer, operand: RawOperand, kind: DataType) -> Expr:
    """Return a parameter of a message as `kind`, from a variable of its or of half its width."""
    narrow = _NARROW[kind]
    if not operand.is_null and operand.variable.type.bits == narrow.bits:
        return t.raw(operand, narrow, t.lanes).to(kind)
    return t.raw(operand, kind, t.lanes)


def _given(
    t: Tracer, i: Message, names: tuple[str, ...], kind: DataType
) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    """Return the names and values of a message's parameters, with offsets in texels if any.

    Trailing parameters that a message leaves out are 0.
    """
    if len(i.parameters) > len(names):
        raise Unexecutable(f"{len(i.parameters)} parameters; visim knows {', '.join(names)}")
    named = dict(zip(names, i.parameters, strict=False))
    values = {
        name: _parameter(t, operand, D if name in _OFFSETS else kind)
        for name, operand in named.items()
        if not operand.is_null
    }
    for name in names:
        if name not in values and name in _NEEDED:
            values[name] = bits_constant(0, kind, t.lanes)
    if not isinstance(i.offsets, Immediate) or i.offsets.bits:
        values["offsets"] = broadcast(t.scalar(i.offsets, UD), t.lanes)
    return tuple(values), tuple(values.values())


_FIRST_COORDINATE = "u"
_NEEDED = frozenset({"u", "ref"})
"""Parameters that an operation has even if a message leaves them out; others are 0 then."""


def write_components(
    t: Tracer, effect: Request, channels: str, dst: RawOperand, options: tuple[str, ...] = ()
) -> None:
    """Write components to successive registers of `dst`, in the type of its variable.

    With a mask of null pixels one more register follows; visim has no null pages, so that it has
    a 1 for every channel.
    """
    kind = UD if dst.is_null else dst.variable.type
    narrow = kind.bits == UW.bits
    size = block_bytes(t, 2 if narrow else 4)
    for position, letter in enumerate(channels):
        value = loaded(effect, UD, t.lanes, COLOURS.index(letter))
        if narrow:
            value = value.bits_as(F).to(HF) if kind == HF else value.to(UW)
        t.write_raw(dst, value, effect.mask, position * size)
    if _NULL_MASK in options:
        valid = constant((1 << t.lanes) - 1, UD, 1)
        t.write_raw(dst, valid, None, len(channels) * size)


def _coarse_shading(i: Sampled) -> str | None:
    """Return what is wrong with the options of a message: cps belongs to a few of them."""
    if _COARSE not in i.options or i.op.mnemonic in _COMPENSATED:
        return None
    return f"'cps' goes with {', '.join(sorted(_COMPENSATED))} only"


def asks(parameters: str) -> Callable[[Message, Platform | None], str | None]:
    """Return the check that a message has the parameters that its page lists.

    Trailing ones may be missing; up to the first coordinate all are there. No page says what
    another paired resource than %null is.
    """
    names = parameters.split()
    least = names.index(_FIRST_COORDINATE) + 1

    def check(i: Message, platform: Platform | None) -> str | None:
        del platform
        if isinstance(i, Sampled) and (wrong := _coarse_shading(i)):
            return wrong
        if i.paired is not None and not i.paired.is_null:
            found = i.paired.variable.name
            return (
                f"the paired resource is %null, which stands before the parameters, found {found}"
            )
        count = len(i.parameters)
        if not least <= count <= len(names):
            return (
                f"{count} parameters; it has {least} to {len(names)}, which are {', '.join(names)}"
            )
        for name, operand in zip(names[:least], i.parameters, strict=False):
            if operand.is_null:
                return _missing(i, name)
        return None

    return check


def _missing(i: Message, name: str) -> str:
    """Tell that a parameter is %null; in an older text a newer compiler's paired resource may be.

    What follows would be taken for something else, and the image would be a wrong one.
    """
    if i.paired is not None:
        return f"the parameter {name} is {i.parameters[0].variable.name}"
    version = "{}.{}".format(*PAIRED_SINCE)
    return (
        f"the parameter {name} is %null; where that is meant to be a paired resource, the text's "
        f"version has to be {version} or later"
    )


_COMPENSATED = frozenset({"sample_3d", "sample_b", "sample_b_c", "sample_c", "lod"})


# Rows


@dataclass(frozen=True, slots=True)
class _Row:
    """A message: its name and number, its parameters in order, where its level comes from.

    `newer` are its parameters on Xe2 and later, where they are others.
    """

    name: str
    sub: int
    parameters: str
    detail: Detail
    doc: str
    newer: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.parameters.split())

    @property
    def operands(self) -> str:
        """Return operands for an example."""
        return " ".join(f"V{41 + number}.0" for number in range(len(self.names)))


_COORDINATES = "u v r ai"
_GRADIENTS = "u dudx dudy v dvdx dvdy r drdx drdy ai"
# fmt: off
_SAMPLES = (
    _Row("sample_3d", 0, _COORDINATES, Detail.NEIGHBOURS,
         "Read an image; the level of detail follows from the neighbours."),
    _Row("sample_b", 1, f"bias {_COORDINATES}", Detail.NEIGHBOURS,
         "Read an image with a bias of the level of detail."),
    _Row("sample_l", 2, f"lod {_COORDINATES}", Detail.GIVEN,
         "Read an image at a given level of detail."),
    _Row("sample_c", 3, f"ref {_COORDINATES}", Detail.NEIGHBOURS,
         "Compare a reference with an image's texels."),
    _Row("sample_d", 4, _GRADIENTS, Detail.GRADIENTS,
         "Read an image at the level of detail of given gradients."),
    _Row("sample_b_c", 5, f"ref bias {_COORDINATES}", Detail.NEIGHBOURS,
         "Compare a reference with an image's texels, with a bias of the level of detail."),
    _Row("sample_l_c", 6, f"ref lod {_COORDINATES}", Detail.GIVEN,
         "Compare a reference with an image's texels at a given level of detail."),
    _Row("sample_mlod", 18, f"mlod {_COORDINATES}", Detail.NEIGHBOURS,
         "Read an image at a level of detail that is at least the given one."),
    _Row("sample_c_mlod", 19, f"ref mlod {_COORDINATES}", Detail.NEIGHBOURS,
         "Compare a reference with an image's texels at a level that is at least the given one."),
    _Row("sample_d_c", 20, f"ref {_GRADIENTS}", Detail.GRADIENTS,
         "Compare a reference with an image's texels at the level of given gradients."),
    _Row("sample_lz", 24, _COORDINATES, Detail.ZERO,
         "Read an image at level of detail 0."),
    _Row("sample_c_lz", 25, f"ref {_COORDINATES}", Detail.ZERO,
         "Compare a reference with an image's texels at level of detail 0."),
)
_GATHERS = (
    _Row("sample4", 8, _COORDINATES, Detail.ZERO,
         "Read one component of the four texels that a linear filter would mix."),
    _Row("sample4_l", 13, f"lod {_COORDINATES}", Detail.GIVEN,
         "Read one component of four texels at a given level of detail."),
    _Row("sample4_b", 14, f"bias {_COORDINATES}", Detail.NEIGHBOURS,
         "Read one component of four texels, with a bias of the level of detail."),
    _Row("sample4_i", 15, _COORDINATES, Detail.NEIGHBOURS,
         "Read one component of four texels; the level of detail follows from the neighbours."),
    _Row("sample4_c", 16, f"ref {_COORDINATES}", Detail.ZERO,
         "Compare a reference with the four texels that a linear filter would mix."),
    _Row("sample4_po", 17, "u v offu offv r", Detail.ZERO,
         "Read one component of four texels, moved by offsets in texels.", "u v r offuv"),
    _Row("sample4_po_c", 18, "ref u v offu offv r", Detail.ZERO,
         "Compare a reference with four texels, moved by offsets in texels.", "ref u v offuv_r"),
    _Row("sample4_i_c", 21, f"ref {_COORDINATES}", Detail.NEIGHBOURS,
         "Compare a reference with four texels at the level that follows from the neighbours."),
    _Row("sample4_l_c", 23, f"ref lod {_COORDINATES}", Detail.GIVEN,
         "Compare a reference with four texels at a given level of detail."),
)
# fmt: on
UNPACKABLE = "the specification does not say how offsets share a parameter"


def _named(function: Any, row: _Row) -> Any:
    function.__name__, function.__doc__ = row.name, row.doc
    return function


def _declare_sample(row: _Row) -> None:
    def meaning(t: Tracer, i: Sampled) -> None:
        names, values = _given(t, i, row.names, F)
        operation = Sampling(names, row.detail)
        image, sampler = image_index(t, i.surface), _sampler(t, i.sampler)
        effect = Request(operation, image, sampler, values, t.mask())
        t.emit(effect)
        write_components(t, effect, i.channels, i.dst, i.options)

    example = f"{row.name}.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 {row.operands}"
    declare = TABLE.effect(
        0x6D, Sampled, sub=row.sub, page="3D_SAMPLE", example=example,
        restrict=asks(row.parameters), exactness=FILTERING,
    )  # fmt: skip
    declare(_named(meaning, row))


def _asks_of_row(row: _Row) -> Callable[[Message, Platform | None], str | None]:
    older = asks(row.parameters)
    if row.newer is None:
        return older
    newer = asks(row.newer)

    def check(i: Message, platform: Platform | None) -> str | None:
        is_newer = platform is not None and platform.generation >= Generation.XE2
        return (newer if is_newer else older)(i, platform)

    return check


def _declare_gather(row: _Row) -> None:
    def meaning(t: Tracer, i: Gathered) -> None:
        if row.newer is not None and t.platform.generation >= Generation.XE2:
            raise Unexecutable(UNPACKABLE)
        names, values = _given(t, i, row.names, F)
        if "ref" in names and i.component != "R":
            raise Unexecutable(f"a comparison with component {i.component}; it is R's")
        operation = Sampling(names, row.detail, i.component)
        image, sampler = image_index(t, i.surface), _sampler(t, i.sampler)
        effect = Request(operation, image, sampler, values, t.mask())
        t.emit(effect)
        write_components(t, effect, COLOURS, i.dst, i.options)

    example = f"{row.name}.R (M1, 16) 0x0:uw S0 T6 V40.0 {row.operands}"
    declare = TABLE.effect(
        0x6F, Gathered, sub=row.sub, page="3D_SAMPLE4", example=example,
        restrict=_asks_of_row(row), exactness=FILTERING,
    )  # fmt: skip
    declare(_named(meaning, row))


for _row in _SAMPLES:
    _declare_sample(_row)
for _row in _GATHERS:
    _declare_gather(_row)


@TABLE.effect(
    0x6D, Sampled, sub=9, page="3D_SAMPLE", restrict=asks(_COORDINATES), exactness=FILTERING,
    example="lod.RG (M1, 16)  0x0:uw S0 T6 V40.0 V41.0 V42.0",
)  # fmt: skip
def lod(t: Tracer, i: Sampled) -> None:
    """Compute the level of detail of a read, within its limits (R) and without (G)."""
    if set(i.channels) - set("RG"):
        raise Unexecutable("components other than R and G of a level of detail are undefined")
    names, values = _given(t, i, tuple(_COORDINATES.split()), F)
    operation, sampler = DetailQuery(names), _sampler(t, i.sampler)
    effect = Request(operation, image_index(t, i.surface), sampler, values, t.mask())
    t.emit(effect)
    write_components(t, effect, i.channels, i.dst, i.options)


# Reads at integer coordinates


def load_texels(t: Tracer, i: Unsampled, parameters: str) -> None:
    """Record a read of texels whose parameters stand in this order."""
    names, values = _given(t, i, tuple(parameters.split()), UD)
    operation = TexelLoad(names, Outside.BORDER)
    effect = Request(operation, image_index(t, i.surface), None, values, t.mask())
    t.emit(effect)
    write_components(t, effect, i.channels, i.dst, i.options)


def _load_example(name: str, parameters: int = 2) -> str:
    operands = " ".join(f"V{41 + number}.0" for number in range(parameters))
    return f"{name}.RGBA (M1, 16)  0x0:uw T6 V40.0 {operands}"


_LOADED = "u v lod r"


@TABLE.effect(
    0x6E, Unsampled, sub=7, page="3D_LOAD", restrict=asks(_LOADED),
    example=_load_example("load_3d"),
)  # fmt: skip
def load_3d(t: Tracer, i: Unsampled) -> None:
    """Read texels at integer coordinates and a level of detail."""
    load_texels(t, i, _LOADED)


@TABLE.effect(
    0x6E, Unsampled, sub=26, page="3D_LOAD", restrict=asks(_LOADED),
    example=_load_example("load_lz"),
)  # fmt: skip
def load_lz(t: Tracer, i: Unsampled) -> None:
    """Read texels at integer coordinates, level of detail 0.

    Compilers write three parameters without the level that the page lists.
    """
    load_texels(t, i, "u v r")


TABLE.unexecuted(
    0x6E, "load_2dms_w", Unsampled, sub=28, page="3D_LOAD", reason=ONE_SAMPLE,
    doc="Read one of several samples of texels.", example=_load_example("load_2dms_w", 5),
)  # fmt: skip
TABLE.unexecuted(
    0x6E, "load_mcs", Unsampled, sub=29, page="3D_LOAD", restrict=asks(_LOADED),
    doc="Read how the samples of texels are compressed.", reason=ONE_SAMPLE,
    example=_load_example("load_mcs"),
)  # fmt: skip


# Questions


@TABLE.effect(0x70, Question, sub=10, page="INFO", example="resinfo.RGBA (M1, 16)  T6 V40.0 V41.0")
def resinfo(t: Tracer, i: Question) -> None:
    """Ask for an image's width, height, depth and number of levels."""
    lod = t.raw(i.lod, UD, t.lanes)
    effect = Request(SizeQuery(), image_index(t, i.surface), None, (lod,), t.mask())
    t.emit(effect)
    write_components(t, effect, i.channels, i.dst)


@TABLE.effect(0x70, SamplesQuestion, sub=11, page="INFO", example="sampleinfo.R (M1, 16)  T6 V40.0")
def sampleinfo(t: Tracer, i: SamplesQuestion) -> None:
    """Ask for the number of samples of an image's texels, which is 1."""
    if set(i.channels) - set("RA"):
        raise Unexecutable("components other than R and A of an image's samples are undefined")
    values = (lane_numbers(t.lanes),)
    effect = Request(SampleQuery(), image_index(t, i.surface), None, values, t.mask())
    t.emit(effect)
    write_components(t, effect, i.channels, i.dst)
