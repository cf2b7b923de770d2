"""Lanes of a ragged shape in pieces of a vector: where each begins, and taking elements by index.

A host with registers for masks and permutations of two vectors moves a piece, as many lanes as a
vector of 64 bytes has elements, as vectors if it reaches no more than two vectors of memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import low_bits, numbers
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.rows import RowWriter

VECTOR = 64
"""Bytes of a vector."""
SIZES = {4: ("i32", "d", "si"), 8: ("i64", "q", "di")}
"""Of elements of so many bytes: their type, and the ends of the names of their permutations."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Lanes of a ragged shape that may turn out to be near to one another.

    `piece` are the lanes of a piece, `step` the difference of indices of neighbouring elements.
    """

    shape: Shape
    piece: int
    step: int


@dataclass(frozen=True, slots=True)
class Span:
    """What pieces reach, as names.

    Attributes:
        reach: the last index of any piece behind its first lane, as i32.
        firsts: the indices of first lanes, as i64.
        holds: whether pieces are as they have to be, without a wrap.
    """

    reach: str
    firsts: tuple[str, ...]
    holds: str


class PieceWriter:
    """Writes what is alike for all lanes in pieces."""

    def __init__(self, rows: RowWriter) -> None:
        self.rows = rows
        self.text = rows.text
        self.library = rows.library

    def parts(self, found: Candidate) -> list[str]:
        """Return the indices of each piece."""
        shape, piece = found.shape, found.piece
        return [
            self.text.shuffle("i32", shape.lanes, shape.cores[0], range(first, first + piece))
            for first in range(0, shape.lanes, piece)
        ]

    def behind(self, found: Candidate, parts: list[str]) -> list[str]:
        """Return the indices of each piece, counted from its first lane."""
        text, piece = self.text, found.piece
        kind = f"<{piece} x i32>"
        return [
            text.let(f"sub {kind} {part}, {text.shuffle_all('i32', piece, part)}") for part in parts
        ]

    def span(self, found: Candidate, parts: list[str], reach: str, holds: str) -> Span:
        """Look where pieces begin, and whether their indices go on from there without a wrap."""
        text, signed = self.text, bool(found.shape.form.signed)
        word, sign, firsts = "sext" if signed else "zext", "s" if signed else "u", list[str]()
        name = f"llvm.{sign}add.with.overflow.i32"
        add = self.library.intrinsic(name, "{ i32, i1 }", "i32", "i32")
        for part in parts:
            index = text.let(f"extractelement <{found.piece} x i32> {part}, i64 0")
            firsts.append(text.let(f"{word} i32 {index} to i64"))
            end = text.let(f"call {{ i32, i1 }} {add}(i32 {index}, i32 {reach})")
            wraps = text.let(f"extractvalue {{ i32, i1 }} {end}, 1")
            straight = text.let(f"xor i1 {wraps}, true")
            holds = text.let(f"and i1 {holds}, {straight}")
        return Span(reach, tuple(firsts), holds)

    def begin_span(
        self,
        found: Candidate,
        span: Span,
        access: Access,
        bounds: Bounds,
        mask: str | None,
        far: str,
    ) -> list[str]:
        """Begin code for pieces that are in range, with all lanes of a mask of i64 on.

        `far` is the label for all else. Return the pointers to where pieces begin.
        """
        text, shape = self.text, found.shape
        scale, pointers, fits = shape.form.scale, list[str](), span.holds
        delta = shape.offsets[0]
        if bounds.start != "0":
            delta = text.let(f"sub i64 {delta}, {bounds.start}")
        wide, limit = text.let(f"zext i32 {span.reach} to i64"), bounds.limit
        reach = text.let(f"mul i64 {wide}, {scale}")
        if access.checked:  # Those of first lanes are in range together with the last ones.
            less = self.library.intrinsic("llvm.usub.sat.i64", "i64", "i64", "i64")
            limit = text.let(f"call i64 {less}(i64 {limit}, i64 {reach})")
        for first in span.firsts:
            offset = text.let(f"add i64 {text.let(f'mul i64 {first}, {scale}')}, {delta}")
            pointers.append(self.rows.pointer(offset, bounds))
            if access.checked:
                test = text.let(f"icmp ult i64 {offset}, {limit}")
                fits = text.let(f"and i1 {fits}, {test}")
        if mask is not None:
            every = text.let(f"icmp eq i64 {mask}, {low_bits(shape.lanes)}")
            fits = text.let(f"and i1 {fits}, {every}")
        near = text.fresh("near")
        text.branch(fits, near, far)
        text.label(near)
        return pointers

    def elements(self, found: Candidate, indices: str) -> str:
        """Return the elements of a piece, as i32, that have so many indices."""
        if found.step == 1:
            return indices
        return self.text.let(f"udiv <{found.piece} x i32> {indices}, splat (i32 {found.step})")

    def up_to(self, found: Candidate, reach: str, first: int) -> str:
        """Return which elements of a vector, from one on, are not behind a piece's last one."""
        text, piece = self.text, found.piece
        lasts = text.spread("i32", piece, reach)
        row = numbers("i32", (found.step * (first + element) for element in range(piece)))
        return text.let(f"icmp ule <{piece} x i32> {row}, {lasts}")

    def load_vector(self, pointer: str, size: int, some: str) -> str:
        """Load the elements of so many bytes of a vector, or `some` of them."""
        element, piece = SIZES[size][0], VECTOR // size
        kind, bools = f"<{piece} x {element}>", f"<{piece} x i1>"
        if not some:
            return self.text.let(f"load {kind}, ptr {pointer}, align 1")
        name = f"llvm.masked.load.v{piece}{element}.p0"
        load = self.library.intrinsic(name, kind, "ptr", bools, kind)
        return self.text.let(
            f"call {kind} {load}(ptr align 1 {pointer}, {bools} {some}, {kind} poison)"
        )

    def take(self, low: str, high: str, places: str, size: int) -> str:
        """Return elements of so many bytes from two vectors; places are numbers of i32."""
        (element, letter, _), piece = SIZES[size], VECTOR // size
        kind = f"<{piece} x {element}>"
        if element != "i32":
            places = self.text.let(f"zext <{piece} x i32> {places} to {kind}")
        name = f"llvm.x86.avx512.vpermi2var.{letter}.512"
        take = self.library.intrinsic(name, kind, kind, kind, kind)
        return self.text.let(f"call {kind} {take}({kind} {low}, {kind} {places}, {kind} {high})")
