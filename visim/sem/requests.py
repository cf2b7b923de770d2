"""What the sampler and the unit for typed surfaces are asked for: messages as data.

An operation knows the names of its parameters and how much it answers, no expression and no
engine: an engine computes the values of the parameters, hands all to `machine.requests.answer`
and writes what it gets. Parameters have a value for each channel unless they say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from visim.sem.atomics import AtomicOperation
from visim.types import UB, UD

COLOURS = "RGBA"
"""The components of a texel, in the order of all answers."""
CONTENT = frozenset((*COLOURS, "data", "operand0", "operand1"))
"""Parameters that are written, or combined with what is there; all others say where."""


class Outside(StrEnum):
    """What a read of a texel outside of its image gives.

    `BORDER`: zeros, and 1 for A where the image's format has no A. `OPAQUE`: zeros, and 1 for A.
    """

    BORDER = "border"
    OPAQUE = "opaque"


class Detail(StrEnum):
    """Where a sampler message has its level of detail from.

    `ZERO`: it is 0. `GIVEN`: parameter `lod`. `GRADIENTS`: parameters `dudx` to `drdy`.
    `NEIGHBOURS`: the coordinates of the four channels of a square, which are successive.
    """

    ZERO = "zero"
    GIVEN = "given"
    GRADIENTS = "gradients"
    NEIGHBOURS = "neighbours"


@dataclass(frozen=True, slots=True)
class TexelLoad:
    """Read texels at integer coordinates `u`, `v`, `r` and level `lod`; answers R, G, B, A.

    Components are bits of floats or integers, as the image's format says. Coordinates that are
    not among the parameters, and the level, are 0.
    """

    parameters: tuple[str, ...]
    outside: Outside
    columns = len(COLOURS)
    type = UD


@dataclass(frozen=True, slots=True)
class TexelStore:
    """Write the components that are among the parameters (`R`, `G`, `B`, `A`; bits) of texels."""

    parameters: tuple[str, ...]
    columns = 0
    type = UD


@dataclass(frozen=True, slots=True)
class TexelAtomic:
    """Read, modify and write texels of one component; answers the old value.

    Parameters are coordinates as for `TexelLoad`, `operand0` and `operand1`, all of `bits` bits.
    """

    parameters: tuple[str, ...]
    operation: AtomicOperation
    bits: int
    columns = 1
    type = UD


@dataclass(frozen=True, slots=True)
class Sampling:
    """Read an image through a sampler; answers R, G, B, A.

    Parameters (F, but for the offsets in texels): coordinates `u`, `v`, `r`, the index `ai` of a
    cube in an array; `ref`, what texels are compared with; `lod`, `bias` or gradients `dudx` to
    `drdy`, `mlod`, the least level of detail; offsets `offu`, `offv` (D) and `offsets`, one number
    (UD) with the offsets of u, v, r in bits 11..8, 7..4 and 3..0.

    With a component `gathered`, one of R, G, B, A, the answers are that component of the four
    texels that a linear filter would mix: lower left, lower right, upper right, upper left.
    """

    parameters: tuple[str, ...]
    detail: Detail
    gathered: str | None = None
    columns = len(COLOURS)
    type = UD


@dataclass(frozen=True, slots=True)
class DetailQuery:
    """Compute the level of detail of a sampled read; answers its clamped and unclamped value."""

    parameters: tuple[str, ...]
    detail = Detail.NEIGHBOURS
    columns = len(COLOURS)
    type = UD


@dataclass(frozen=True, slots=True)
class SizeQuery:
    """Ask for an image's sizes at levels of detail `lod`.

    Answers width, height (or layers of a 1D array), depth (or layers of a 2D array), levels.
    """

    parameters = ("lod",)
    columns = len(COLOURS)
    type = UD


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """Ask for the samples of a texel; answers their number, 0, 0 and the palette's index.

    The parameter's value does not count, only how many channels there are.
    """

    parameters = ("channels",)
    columns = len(COLOURS)
    type = UD


class Rows(StrEnum):
    """Which rows of an interleaved surface count: all, the even or the odd ones."""

    ALL = "nomod"
    TOP = "top"
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class BlockLoad:
    """Read `height` rows of `width` bytes at byte `x` of row `y` (UD, one lane each).

    The answer is all of them, one row after another (UB).
    """

    width: int
    height: int
    rows: Rows = Rows.ALL
    parameters = ("x", "y")
    columns = 1
    type = UB


@dataclass(frozen=True, slots=True)
class BlockStore:
    """Write rows of `width` bytes, `data` one after another (UB), at byte `x` of row `y`."""

    width: int
    rows: Rows = Rows.ALL
    parameters = ("x", "y", "data")
    columns = 0
    type = UB


Operation = (
    TexelLoad
    | TexelStore
    | TexelAtomic
    | Sampling
    | DetailQuery
    | SizeQuery
    | SampleQuery
    | BlockLoad
    | BlockStore
)
