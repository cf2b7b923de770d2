"""Video analytics functions of the media sampler: read, written and verified, not executed.

No page describes them; chapter 8 has their names, and IGC's description table their bytes. Texts
are those that IGC dumps; its assembler reads none of them.
"""

from dataclasses import dataclass
from typing import Annotated

from visim.isa.forms import Raw, Src
from visim.isa.kinds import SourceKind
from visim.isa.raw_kinds import SAMPLER, SURFACE
from visim.isa.registry import Category, Instruction, Names, form
from visim.isa.table import Table
from visim.isa.video import SampledOutput
from visim.isa.word_kinds import ChoiceKind
from visim.lex import Cursor
from visim.operands import Immediate, SamplerVariable, SurfaceVariable, VectorSource
from visim.types import UD

TABLE = Table(Category.MEDIA)

_EXTREMES = (("VA_MINMAX_ENABLE", 0), ("VA_MAX_ENABLE", 1), ("VA_MIN_ENABLE", 2))
_SHAPES = (("VA_CONV_16x4", 0), ("VA_CONV_16x1", 2), ("VA_CONV_1x1", 3))
_FILTER_SHAPES = (("VA_MMF_16x4", 0), ("VA_MMF_16x1", 2), ("VA_MMF_1x1", 3))
_BIT_SHAPES = (("VA_ED_64x4", 0), ("VA_ED_32x4", 1), ("VA_ED_64x1", 2), ("VA_ED_32x1", 3))
_LINES = (("4x16", 0), ("1x16", 2), ("1x1", 3))
_PATTERNS = (("VA_5x5_mode", 0), ("VA_3x3_mode", 1), ("VA_BOTH_mode", 2))
_PIXELS = (("VA_Y16_FORMAT", 0), ("VA_Y8_FORMAT", 1))
_NEIGHBOURS = (("4_connect", 0), ("8_connect", 1))


@dataclass(frozen=True, slots=True)
class ExtremesKind(SourceKind):
    """Which extremes are wanted: a source, or a word for a UD constant of 0 to 2."""

    def parse(self, cursor: Cursor, names: Names) -> VectorSource:
        """Take the word or operand."""
        cursor.skip_space()
        for word, code in _EXTREMES:
            if cursor.take(word):
                return Immediate(code, UD)
        return super(ExtremesKind, self).parse(cursor, names)

    def show(self, value: VectorSource) -> str:
        """Return the word or operand."""
        if isinstance(value, Immediate) and value.type == UD and value.bits < len(_EXTREMES):
            return _EXTREMES[value.bits][0]
        return super(ExtremesKind, self).show(value)


Sampler = Annotated[SamplerVariable, SAMPLER]
Surface = Annotated[SurfaceVariable, SURFACE]
Pixels = Annotated[str, ChoiceKind(_PIXELS, "a pixel format")]
Pattern = Annotated[str, ChoiceKind(_PATTERNS, "a pattern size")]
Line = Annotated[str, ChoiceKind(_LINES, "a block size")]


@dataclass(frozen=True, slots=True)
class Place(Instruction):
    """What has a surface and the coordinates of a block in it."""

    surface: Surface
    u: Src
    v: Src


@dataclass(frozen=True, slots=True)
class SampledPlace(Place):
    """What has a sampler, too."""

    sampler: Sampler


# Functions that return pixels to registers


@form(
    "{op} {surface} {sampler} {u} {v} {shape} {kernel} {dst}",
    layout="{sub} {sampler} {surface} {u} {v} {shape&3|kernel&4} {dst}",
)
class Convolution(SampledPlace):
    """A convolution with a kernel of the sampler's state."""

    shape: Annotated[str, ChoiceKind(_SHAPES, "a block size")]
    kernel: Annotated[str, ChoiceKind((("15x15", 0), ("31x31", 4)), "a kernel size")]
    dst: Raw


@form("{op} {surface} {u} {v} {extremes} {dst}", layout="{sub} {surface} {u} {v} {extremes} {dst}")
class Extremes(Place):
    """The extremes of a block."""

    extremes: Annotated[VectorSource, ExtremesKind()]
    dst: Raw


@form(
    "{op} {surface} {sampler} {u} {v} {output} {shape} {extremes} {dst}",
    layout="{sub} {sampler} {surface} {u} {v} {output} {shape} {extremes} {dst}",
)
class ExtremesFilter(SampledPlace):
    """The extremes around each pixel."""

    output: SampledOutput
    shape: Annotated[str, ChoiceKind(_FILTER_SHAPES, "a block size")]
    extremes: Src
    dst: Raw


@form(
    "{op} {surface} {sampler} {u} {v} {shape} {dst}",
    layout="{sub} {sampler} {surface} {u} {v} {shape} {dst}",
)
class BitFilter(SampledPlace):
    """An operation on bits of an image and their neighbours."""

    shape: Annotated[str, ChoiceKind(_BIT_SHAPES, "a block size")]
    dst: Raw


@form(
    "{op} {surface} {u} {v} {height} {width} {dst}",
    layout="{sub} {surface} {u} {v} {height} {width} {dst}",
)
class BitCentre(Place):
    """The centre of a block of bits."""

    height: Src
    width: Src
    dst: Raw


@form("{op} {surface} {u} {v} {height} {dst}", layout="{sub} {surface} {u} {v} {height} {dst}")
class Centre(Place):
    """The centre of a block."""

    height: Src
    dst: Raw


@form(
    "{op} {surface} {sampler} {u} {v} {shape} {dst}",
    layout="{sub} {sampler} {surface} {u} {v} {shape} {dst}",
)
class LineConvolution(SampledPlace):
    """A convolution in one dimension."""

    shape: Line
    dst: Raw


@form(
    "{op} {surface} {sampler} {u} {v} {shape} {offsets} {dst}",
    layout="{sub} {sampler} {surface} {u} {v} {shape} {offsets} {dst}",
)
class PixelConvolution(SampledPlace):
    """A convolution of single pixels."""

    shape: Line
    offsets: Raw
    dst: Raw


@form(
    "{op} {neighbours} {rows} {left} {right} {loops} {dst}",
    layout="{sub} {neighbours} {rows} {left} {right} {loops} {dst}",
)
class Flood(Instruction):
    """A flood fill of bits."""

    neighbours: Annotated[str, ChoiceKind(_NEIGHBOURS, "a neighbourhood")]
    rows: Raw
    left: Src
    right: Src
    loops: Src
    dst: Raw


@form("{op} {surface} {u} {v} {pattern} {dst}", layout="{sub} {surface} {u} {v} {pattern} {dst}")
class PatternCreation(Place):
    """Local binary patterns of a block."""

    pattern: Pattern
    dst: Raw


@form(
    "{op} {surface} {u} {v} {disparity} {dst}", layout="{sub} {surface} {u} {v} {disparity} {dst}"
)
class PatternCorrelation(Place):
    """A comparison of local binary patterns."""

    disparity: Src
    dst: Raw


@form(
    "{op} {surface} {u} {v} {y} {x} {width} {height} {search_width} {search_height} {dst}",
    layout="{sub} {surface} {u} {v} {y} {x} {width} {height} {search_width} {search_height} {dst}",
)
class CorrelationSearch(Place):
    """A search for a block in an area."""

    y: Src
    x: Src
    width: Src
    height: Src
    search_width: Src
    search_height: Src
    dst: Raw


# Functions that write pixels to a surface


@form(
    "{op} {surface} {sampler} {u} {v} {pixels} {kernel} {target} {x} {y}",
    layout="{sub} {sampler} {surface} {u} {v} {pixels&0x0f|kernel&0x10} {target} {x} {y}",
)
class ConvolutionToSurface(SampledPlace):
    """A convolution with a kernel of the sampler's state."""

    pixels: Pixels
    kernel: Annotated[str, ChoiceKind((("15x15", 0), ("31x31", 0x10)), "a kernel size")]
    target: Surface
    x: Src
    y: Src


@form(
    "{op} {surface} {sampler} {u} {v} {pixels} {extremes} {target} {x} {y}",
    layout="{sub} {sampler} {surface} {u} {v} {pixels} {extremes} {target} {x} {y}",
)
class ExtremesToSurface(SampledPlace):
    """The extremes around each pixel."""

    pixels: Pixels
    extremes: Annotated[str, ChoiceKind(_EXTREMES, "a choice of extremes")]
    target: Surface
    x: Src
    y: Src


@form(
    "{op} {surface} {sampler} {u} {v} {target} {x} {y}",
    layout="{sub} {sampler} {surface} {u} {v} {target} {x} {y}",
)
class BitFilterToSurface(SampledPlace):
    """An operation on bits of an image and their neighbours."""

    target: Surface
    x: Src
    y: Src


@form(
    "{op} {surface} {u} {v} {disparity} {target} {x} {y}",
    layout="{sub} {surface} {u} {v} {disparity} {target} {x} {y}",
)
class CorrelationToSurface(Place):
    """A comparison of local binary patterns."""

    disparity: Src
    target: Surface
    x: Src
    y: Src


@form(
    "{op} {surface} {u} {v} {pattern} {target} {x} {y}",
    layout="{sub} {surface} {u} {v} {pattern} {target} {x} {y}",
)
class PatternsToSurface(Place):
    """Local binary patterns of a block."""

    pattern: Pattern
    target: Surface
    x: Src
    y: Src


@form(
    "{op} {surface} {sampler} {u} {v} {pixels} {target} {x} {y}",
    layout="{sub} {sampler} {surface} {u} {v} {pixels} {target} {x} {y}",
)
class LineToSurface(SampledPlace):
    """A convolution in one dimension."""

    pixels: Pixels
    target: Surface
    x: Src
    y: Src


@form(
    "{op} {surface} {sampler} {u} {v} {pixels} {offsets} {target} {x} {y}",
    layout="{sub} {sampler} {surface} {u} {v} {pixels} {offsets} {target} {x} {y}",
)
class PixelsToSurface(SampledPlace):
    """A convolution of single pixels."""

    pixels: Pixels
    offsets: Raw
    target: Surface
    x: Src
    y: Src


def _function(
    code: int, sub: int, name: str, shape: type[Instruction], operands: str, doc: str
) -> None:
    page = name.partition(".")[0].upper()
    TABLE.unexecuted(
        code, name, shape, sub=sub, page=page, doc=doc, example=f"{name} {operands}",
        reason="no page of the specification describes the video analytics functions",
    )  # fmt: skip


_AT = "T6 0x0:f 0x0:f"
_SAMPLED = "T6 S0 0x0:f 0x0:f"
_TO = "T7 0x0:ud 0x0:ud"
_SIZE = "0x8:ud"

# fmt: off
_function(0x44, 0x01, "va.convolve", Convolution, f"{_SAMPLED} VA_CONV_16x4 15x15 V40.0",
          "Convolve a block.")
_function(0x44, 0x02, "va.minmax", Extremes, f"{_AT} VA_MINMAX_ENABLE V40.0",
          "Find the least and the largest pixel of a block.")
_function(0x44, 0x03, "va.minmaxfilter", ExtremesFilter,
          f"{_SAMPLED} AVS_16_FULL VA_MMF_16x4 0x0:ud V40.0",
          "Find the least and the largest neighbour of each pixel.")
_function(0x44, 0x04, "va.erode", BitFilter, f"{_SAMPLED} VA_ED_64x4 V40.0",
          "Shrink areas of an image of bits.")
_function(0x44, 0x05, "va.dilate", BitFilter, f"{_SAMPLED} VA_ED_64x4 V40.0",
          "Grow areas of an image of bits.")
_function(0x44, 0x06, "va.boolcentroid", BitCentre, f"{_AT} {_SIZE} {_SIZE} V40.0",
          "Find the centre of the bits of a block.")
_function(0x44, 0x07, "va.centroid", Centre, f"{_AT} {_SIZE} V40.0",
          "Find the centre of the pixels of a block.")
_function(0x4D, 0x08, "va_skl_plus.CONV_1D_HORIZONTAL", LineConvolution,
          f"{_SAMPLED} 4x16 V40.0",
          "Convolve in one dimension: vertically, whatever IGC calls it.")
_function(0x4D, 0x09, "va_skl_plus.CONV_1D_VERTICAL", LineConvolution, f"{_SAMPLED} 4x16 V40.0",
          "Convolve in one dimension: horizontally, whatever IGC calls it.")
_function(0x4D, 0x0A, "va_skl_plus.CONV_1PIXEL", PixelConvolution,
          f"{_SAMPLED} 1x1 V41.0 V40.0",
          "Convolve single pixels.")
_function(0x4D, 0x0B, "va_skl_plus.FLOOD_FILL", Flood,
          "8_connect V41.0 0x0:ud 0x0:ud 0x1:ud V40.0",
          "Flood an area of bits.")
_function(0x4D, 0x0C, "va_skl_plus.LBP_CREATION", PatternCreation,
          f"{_AT} VA_3x3_mode V40.0",
          "Make local binary patterns.")
_function(0x4D, 0x0D, "va_skl_plus.LBP_CORRELATION", PatternCorrelation,
          f"{_AT} 0x0:ud V40.0",
          "Compare local binary patterns.")
_function(0x4D, 0x0F, "va_skl_plus.CORRELATION_SEARCH", CorrelationSearch,
          f"{_AT} {_SIZE} {_SIZE} {_SIZE} {_SIZE} {_SIZE} {_SIZE} V40.0",
          "Search an area for a block.")
_function(0x4D, 0x10, "va_skl_plus.HDC_CONVOLVE_2D", ConvolutionToSurface,
          f"{_SAMPLED} VA_Y16_FORMAT 15x15 {_TO}",
          "Convolve a block into a surface.")
_function(0x4D, 0x11, "va_skl_plus.HDC_MIN_MAX_FILTER", ExtremesToSurface,
          f"{_SAMPLED} VA_Y16_FORMAT VA_MINMAX_ENABLE {_TO}",
          "Write the least and the largest neighbour of each pixel to a surface.")
_function(0x4D, 0x12, "va_skl_plus.HDC_ERODE", BitFilterToSurface, f"{_SAMPLED} {_TO}",
          "Shrink areas of an image of bits into a surface.")
_function(0x4D, 0x13, "va_skl_plus.HDC_DILATE", BitFilterToSurface, f"{_SAMPLED} {_TO}",
          "Grow areas of an image of bits into a surface.")
_function(0x4D, 0x14, "va_skl_plus.HDC_LBP_CORRELATION", CorrelationToSurface,
          f"{_AT} 0x0:ud {_TO}",
          "Compare local binary patterns into a surface.")
_function(0x4D, 0x15, "va_skl_plus.HDC_LBP_CREATION", PatternsToSurface,
          f"{_AT} VA_3x3_mode {_TO}",
          "Write local binary patterns to a surface.")
_function(0x4D, 0x16, "va_skl_plus.HDC_CONVOLVE_1D_H", LineToSurface,
          f"{_SAMPLED} VA_Y16_FORMAT {_TO}",
          "Convolve horizontally into a surface.")
_function(0x4D, 0x17, "va_skl_plus.HDC_CONVOLVE_1D_V", LineToSurface,
          f"{_SAMPLED} VA_Y16_FORMAT {_TO}",
          "Convolve vertically into a surface.")
_function(0x4D, 0x18, "va_skl_plus.HDC_CONVOLVE_1P", PixelsToSurface,
          f"{_SAMPLED} VA_Y16_FORMAT V41.0 {_TO}",
          "Convolve single pixels into a surface.")
# fmt: on
