"""Messages to the sampler and typed surfaces: read and written, not executed yet."""

from dataclasses import field
from typing import Annotated

from visim.isa.forms import Exec, Pred, Raw, Src
from visim.isa.kinds import RAWS, SAMPLER, SURFACE
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.isa.word_kinds import BITS, BYTE, CHANNELS
from visim.operands import RawOperand, SamplerVariable, SurfaceVariable

TABLE = Table(Category.SAMPLER)
IMAGES = "images and samplers are not there yet"

Channels = Annotated[str, CHANNELS]
Surface = Annotated[SurfaceVariable, SURFACE]
Parameters = Annotated[tuple[RawOperand, ...], RAWS]
Count = Annotated[int, BYTE]
#: What an object says beside the operation, which text does not show: whether null pixels are
#: masked (bit 8), coarse shading (9), a sampler that differs between channels (10).
Flags = Annotated[int, BITS]


@form(
    "{pred}{op}.{channels} {exec}  {offsets} {sampler} {surface} {dst} {parameters}",
    layout="{sub|flags&0x700:2} {exec} {pred} {channels} {offsets} {sampler} {surface} {dst} "
    "{parameters}",
)
class Sample(Instruction):
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
    layout="{sub|flags&0x700:2} {exec} {pred} {channels} {offsets} {surface} {dst} {parameters}",
)
class SamplerLoad(Instruction):
    """An unfiltered read of an image through the sampler."""

    exec: Exec
    pred: Pred
    channels: Channels
    offsets: Src
    surface: Surface
    dst: Raw
    parameters: Parameters
    flags: Flags = field(default=0, compare=False)


@form("{pred}{op}.{channels} {exec} {surface} {u} {v} {r} {lod} {data}")
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


for _name, _sub, _doc in (
    ("sample_3d", 0, "Filtered read; the level of detail follows from the neighbours."),
    ("sample_b", 1, "Filtered read with a bias of the level of detail."),
    ("sample_l", 2, "Filtered read at a given level of detail."),
    ("sample_lz", 24, "Filtered read at level of detail 0."),
):
    TABLE.unexecuted(
        0x6D,
        _name,
        Sample,
        sub=_sub,
        doc=_doc,
        page="3D_SAMPLE",
        example=f"{_name}.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 V41.0 V42.0",
        reason=IMAGES,
    )

for _name, _sub, _doc in (
    ("load_3d", 7, "Unfiltered read at integer coordinates and a level of detail."),
    ("load_lz", 26, "Unfiltered read at integer coordinates, level of detail 0."),
):
    TABLE.unexecuted(
        0x6E,
        _name,
        SamplerLoad,
        sub=_sub,
        doc=_doc,
        page="3D_LOAD",
        example=f"{_name}.RGBA (M1, 16)  0x0:uw T6 V40.0 V41.0",
        reason=IMAGES,
    )

TABLE.unexecuted(
    0x4B,
    "gather4_typed",
    TypedChannels,
    doc="Read texels of a typed surface.",
    example="gather4_typed.RGBA (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0",
    reason=IMAGES,
)
TABLE.unexecuted(
    0x4C,
    "scatter4_typed",
    TypedChannels,
    doc="Write texels of a typed surface.",
    example="scatter4_typed.RGBA (M1, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0",
    reason=IMAGES,
)
TABLE.unexecuted(
    0x37,
    "media_ld",
    MediaBlock,
    doc="Read a two-dimensional block of bytes.",
    example="media_ld.nomod (32,2) T6 0 V40(0,0)<0;1,0> V41(0,0)<0;1,0> V42.0",
    reason=IMAGES,
)
TABLE.unexecuted(
    0x38,
    "media_st",
    MediaBlock,
    doc="Write a two-dimensional block of bytes.",
    example="media_st.nomod (32,2) T6 0 V40(0,0)<0;1,0> V41(0,0)<0;1,0> V42.0",
    reason=IMAGES,
)
