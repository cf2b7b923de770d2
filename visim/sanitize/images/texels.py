"""The bytes that messages to images reach: addresses made of coordinates, and which exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from visim.linker.program import LinkedKernel
from visim.sanitize.images.table import ENTRY_SHIFT, WORD_BYTES, ImageTable, Word
from visim.sanitize.words import loaded, word_at
from visim.sem.effects import Effect, LoadBlock, Request
from visim.sem.expr import Expr, broadcast, constant, take, unsigned, vector_constant
from visim.sem.requests import (
    COLOURS,
    BlockLoad,
    BlockStore,
    Operation,
    Rows,
    TexelAtomic,
    TexelLoad,
    TexelStore,
)
from visim.types import BOOL, UQ, D, Q

TEXELS = "texels "
"""What a `Watch` of the texels of a message is called; which of the instruction's follows."""
_PLACES = TexelLoad | TexelStore | TexelAtomic | BlockLoad | BlockStore
_PAINTS = TexelStore | TexelAtomic | BlockStore
_VERBS: dict[type[Operation], str] = {TexelLoad: "load", BlockLoad: "load", TexelAtomic: "atomic"}
_AXES = (
    ("u", Word.STRIDE_U, Word.COUNT_U),
    ("v", Word.STRIDE_V, Word.COUNT_V),
    ("r", Word.STRIDE_R, Word.COUNT_R),
)
_MIXED = 0x9E3779B1


@dataclass(frozen=True, slots=True)
class Texels:
    """What a message reaches of an image.

    Attributes:
        words: the effects that load the image's shape.
        addresses: where a texel begins, or a piece of a block, for each lane (UQ).
        inside: which of them exist, in lanes that are on.
        outside: which do not; of levels of detail other than the first, neither is known.
    """

    words: tuple[LoadBlock, ...]
    addresses: Expr
    inside: Expr
    outside: Expr


def verb_of(request: Request) -> str:
    """Return what a message does with an image: "load", "store" or "atomic"."""
    return _VERBS.get(type(request.operation), "store")


def is_painted(kernel: LinkedKernel) -> bool:
    """Whether a kernel writes any image."""
    return any(
        isinstance(effect, Request) and isinstance(effect.operation, _PAINTS)
        for unit in kernel.units
        for pc in range(len(unit.body))
        for effect in kernel.known_effects(unit, pc)
    )


def requests(effects: Sequence[Effect]) -> list[Request]:
    """Return the messages to images and samplers of an instruction, in order."""
    return [one for one in effects if isinstance(one, Request)]


def texels_of(request: Request, table: ImageTable) -> Texels | None:
    """Return what a message reaches; None: no texels, or none whose place is known here."""
    operation, given = request.operation, request.given
    if not isinstance(operation, _PLACES) or "offsets" in given:
        return None
    shape = _Shape(request, table)
    if isinstance(operation, BlockLoad | BlockStore):
        height = operation.height if isinstance(operation, BlockLoad) else 0
        height = height or given["data"].lanes // operation.width
        return shape.block(operation.width, height, operation.rows, given)
    return shape.texels(given)


def painted(request: Request) -> Expr | None:
    """Return of each lane a number (UQ) that says what it writes; equal texels have equal ones."""
    operation, given = request.operation, request.given
    if isinstance(operation, TexelStore):
        colours = [
            given[one].bits_as(unsigned(given[one].type.bits)) for one in COLOURS if one in given
        ]
        mixed = reduce(lambda mix, one: mix * _MIXED ^ one, (one.to(UQ) for one in colours))
        return (mixed ^ mixed >> 16 ^ mixed >> 8) & 0xFFFFFFFF
    if isinstance(operation, BlockStore):
        data, piece = given["data"], piece_of(operation.width)
        columns = [
            take(data, tuple(range(first, data.lanes, piece))).to(UQ) << 8 * first
            for first in range(piece)
        ]
        return reduce(lambda word, octet: word | octet, columns)
    return None


def piece_of(width: int) -> int:
    """Return the bytes of the pieces that a row of a block is looked at in."""
    return 1 if width % 4 else 4


class _Shape:
    """Makes addresses with the shape of a message's image."""

    def __init__(self, request: Request, table: ImageTable) -> None:
        self._mask = request.mask
        self._entry = ((request.surface.to(UQ) & 0xFF) << ENTRY_SHIFT) + table.address
        self._words: list[LoadBlock] = []

    def texels(self, given: Mapping[str, Expr]) -> Texels:
        """Return the texels at coordinates; of levels of detail only the first one is known."""
        lanes = given["u"].lanes
        addresses = self._word(Word.START, lanes)
        inside = constant(True, BOOL, lanes)
        for name, stride, count in _AXES:
            if name in given:
                at = given[name].bits_as(unsigned(given[name].type.bits)).to(UQ)
                inside = inside & at.lt(self._word(count, lanes))
                addresses = addresses + at * self._word(stride, lanes)
        known = given["lod"].eq(0) if "lod" in given else constant(True, BOOL, lanes)
        return self._found(addresses, known & inside, known & ~inside)

    def block(self, width: int, height: int, rows: Rows, given: Mapping[str, Expr]) -> Texels:
        """Return the pieces of a block's rows, one row after another."""
        piece = piece_of(width)
        places = [(row, x) for row in range(height) for x in range(0, width, piece)]
        lanes = len(places)
        x, y = (broadcast(given[name].bits_as(D).to(Q), lanes) for name in ("x", "y"))
        x = (x + vector_constant(tuple(one for _, one in places), Q)).bits_as(UQ)
        y = (y + vector_constant(tuple(one for one, _ in places), Q)).bits_as(UQ)
        if rows is not Rows.ALL:
            y = (y << 1) + (1 if rows is Rows.BOTTOM else 0)
        row_bytes = self._word(Word.ROW_BYTES, lanes)
        inside = x.lt(row_bytes) & y.lt(self._word(Word.ROWS, lanes))
        addresses = self._word(Word.START, lanes) + y * row_bytes + x
        return self._found(addresses, inside, ~inside)

    def _found(self, addresses: Expr, inside: Expr, outside: Expr) -> Texels:
        if self._mask is not None:
            inside, outside = self._mask & inside, self._mask & outside
        return Texels(tuple(self._words), addresses, inside, outside)

    def _word(self, word: Word, lanes: int) -> Expr:
        load = word_at(self._entry + WORD_BYTES * word)
        self._words.append(load)
        return broadcast(loaded(load), lanes)


__all__ = [
    "TEXELS",
    "Texels",
    "is_painted",
    "painted",
    "piece_of",
    "requests",
    "texels_of",
    "verb_of",
]
