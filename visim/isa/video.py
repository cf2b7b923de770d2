"""Messages of the media sampler and of motion estimation, which visim does not execute.

Older devices have them (pages AVS, SAMPLE_UNORM, VME_*). What they compute is in hardware manuals
that the specification only refers to; SAMPLE and LOAD have no page, chapter 8 lists them.
"""

from typing import Annotated

from visim.isa.forms import Raw, Src
from visim.isa.raw_kinds import SAMPLER, SURFACE
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.isa.word_kinds import BYTE, CHANNELS, ChoiceKind, SizeKind
from visim.operands import SamplerVariable, SurfaceVariable
from visim.target import Platform

TABLE = Table(Category.MEDIA)

OUTPUTS = (("16-full", 0x00), ("16-downsampled", 0x10), ("8-full", 0x20), ("8-downsampled", 0x30))
SAMPLED_OUTPUTS = (
    ("AVS_16_FULL", 0),
    ("AVS_16_DOWN_SAMPLE", 1),
    ("AVS_8_FULL", 2),
    ("AVS_8_DOWN_SAMPLE", 3),
)
BLOCKS = (("AVS_16x4", 0), ("AVS_8x4", 1), ("AVS_16x8", 2), ("AVS_4x4", 3))
_STREAM_MODES = range(4)
_SEARCH_MODES = (0, 1, 2, 3, 7)
"""Two references and two records are 3 on the page and 7 in what compilers write."""

Channels = Annotated[str, CHANNELS]
Sampler = Annotated[SamplerVariable, SAMPLER]
Surface = Annotated[SurfaceVariable, SURFACE]
Lanes = Annotated[int, SizeKind(((8, 0x00), (16, 0x10)))]
SampledOutput = Annotated[str, ChoiceKind(SAMPLED_OUTPUTS, "an output format")]
Mode = Annotated[int, BYTE]


@form(
    "{op}.{channels} ({lanes}) {sampler} {surface} {u} {v} {r} {dst}",
    layout="{channels&0x0f|lanes&0x30} {sampler} {surface} {u} {v} {r} {dst}",
)
class EarlySample(Instruction):
    """A sampled read without level of detail, offsets and predicate."""

    channels: Channels
    lanes: Lanes
    sampler: Sampler
    surface: Surface
    u: Raw
    v: Raw
    r: Raw
    dst: Raw


@form(
    "{op}.{channels} ({lanes}) {surface} {u} {v} {r} {dst}",
    layout="{channels&0x0f|lanes&0x30} {surface} {u} {v} {r} {dst}",
)
class EarlyLoad(Instruction):
    """A read at integer coordinates without level of detail, offsets and predicate."""

    channels: Channels
    lanes: Lanes
    surface: Surface
    u: Raw
    v: Raw
    r: Raw
    dst: Raw


@form(
    "{op}.{channels}.{output} {sampler} {surface} {u} {v} {delta_u} {delta_v} {dst}",
    layout="{channels&0x0f|output&0x30} {sampler} {surface} {u} {v} {delta_u} {delta_v} {dst}",
)
class SampledBlock(Instruction):
    """A block of pixels at equal distances."""

    channels: Channels
    output: Annotated[str, ChoiceKind(OUTPUTS, "an output format", r"[\w-]+")]
    sampler: Sampler
    surface: Surface
    u: Src
    v: Src
    delta_u: Src
    delta_v: Src
    dst: Raw


@form(
    "{op}.{channels} {surface} {sampler} {u} {v} {delta_u} {delta_v} {u2d} {group} {block} "
    "{output} {v2d} {size} {ief_bypass} {dst}",
    layout="{channels} {sampler} {surface} {u} {v} {delta_u} {delta_v} {u2d} {group} {block} "
    "{output} {v2d} {size} {ief_bypass} {dst}",
)
class AdaptiveSample(Instruction):
    """A block of pixels at distances that change, through the adaptive scaler."""

    channels: Channels
    sampler: Sampler
    surface: Surface
    u: Src
    v: Src
    delta_u: Src
    delta_v: Src
    u2d: Src
    group: Src
    block: Src
    output: SampledOutput
    v2d: Src
    size: Annotated[str, ChoiceKind(BLOCKS, "a block size")]
    ief_bypass: Src
    dst: Raw


@form(
    "{op}({stream},{search}) {surface}  {uni} {input} {ref0} {ref1} {costs} {output}",
    layout="{stream} {search} {uni} {input} {surface} {ref0} {ref1} {costs} {output}",
)
class IntegerSearch(Instruction):
    """Motion estimation in whole pixels."""

    stream: Mode
    search: Mode
    uni: Raw
    input: Raw
    surface: Surface
    ref0: Raw
    ref1: Raw
    costs: Raw
    output: Raw


@form("{op} {surface}  {uni} {input} {output}", layout="{uni} {input} {surface} {output}")
class MotionCheck(Instruction):
    """Motion estimation without a search."""

    uni: Raw
    input: Raw
    surface: Surface
    output: Raw


@form(
    "{op} ( {block_mode}, {shape}, {directions}) {surface}  {uni} {input} {output}",
    layout="{uni} {input} {surface} {block_mode} {shape} {directions} {output}",
)
class FractionalSearch(Instruction):
    """Motion estimation in fractions of pixels."""

    uni: Raw
    input: Raw
    surface: Surface
    block_mode: Src
    shape: Src
    directions: Src
    output: Raw


def _modes(i: IntegerSearch, platform: Platform | None) -> str | None:
    """VME_IME: modes have few values."""
    for name, value, known in (
        ("stream", i.stream, _STREAM_MODES),
        ("search", i.search, _SEARCH_MODES),
    ):
        if value not in known:
            return f"the {name} mode is one of {', '.join(map(str, known))}, found {value}"
    return None


_EARLY = "no page says how coordinates are taken; 3D_SAMPLE and 3D_LOAD have replaced it"
_ADAPTIVE = "the filter of the media sampler is not part of the specification"
_MOTION = "motion estimation is not part of the specification, which refers to a hardware manual"

TABLE.unexecuted(
    0x40, "sample", EarlySample, page="SAMPLE",
    doc="Read an image through a sampler, with 8 or 16 channels.",
    example="sample.RGBA (16) S0 T6 V40.0 V41.0 V42.0 V43.0", reason=_EARLY,
)  # fmt: skip
TABLE.unexecuted(
    0x41, "sample_unorm", SampledBlock,
    doc="Read 16 by 4 pixels at equal distances as fixed point numbers.",
    example="sample_unorm.RGBA.16-full S0 T6 0x0:f 0x0:f 0x3f000000:f 0x3f000000:f V40.0",
    reason=_ADAPTIVE,
)  # fmt: skip
TABLE.unexecuted(
    0x42, "load", EarlyLoad, page="LOAD",
    doc="Read texels at integer coordinates, with 8 or 16 channels.",
    example="load.RGBA (16) T6 V40.0 V41.0 V42.0 V43.0", reason=_EARLY,
)  # fmt: skip
TABLE.unexecuted(
    0x43, "avs", AdaptiveSample,
    doc="Read a block of pixels through the adaptive video scaler.",
    example="avs.RGBA T6 S0 0x0:f 0x0:f 0x3f000000:f 0x3f000000:f 0x0:f 0x0:ud 0x0:ud "
    "AVS_16_FULL 0x0:f AVS_16x4 0x0:ub V40.0",
    reason=_ADAPTIVE,
)  # fmt: skip
TABLE.unexecuted(
    0x54, "vme_ime", IntegerSearch, restrict=_modes,
    doc="Motion estimation: search in whole pixels.",
    example="vme_ime(0,0) T6  V40.0 V41.0 V42.0 V43.0 V44.0 V45.0", reason=_MOTION,
)  # fmt: skip
TABLE.unexecuted(
    0x55, "vme_sic", MotionCheck,
    doc="Motion estimation: check skipped and intra-predicted blocks.",
    example="vme_sic T6  V40.0 V41.0 V42.0", reason=_MOTION,
)  # fmt: skip
TABLE.unexecuted(
    0x56, "vme_fbr", FractionalSearch,
    doc="Motion estimation: refine a search in fractions of pixels and in both directions.",
    example="vme_fbr ( 0x0:ud, 0x0:ud, 0x0:ud) T6  V40.0 V41.0 V42.0", reason=_MOTION,
)  # fmt: skip
TABLE.unexecuted(
    0x57, "vme_idm", MotionCheck,
    doc="Motion estimation: give the mesh of distortions.",
    example="vme_idm T6  V40.0 V41.0 V42.0", reason=_MOTION,
)  # fmt: skip
