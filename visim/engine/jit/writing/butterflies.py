"""Butterflies: lanes that reach every second run of an array, or one run, with permutations.

Exchanges over a distance and passes of transforms, whose distance only the running program knows,
reach elements in runs of a power of two, each with a gap as long behind it. A host with registers
for masks and permutations of two vectors moves such lanes as vectors: in pieces, as many lanes as
a vector of 64 bytes has elements, which reach two vectors of memory at most. Whether lanes are a
butterfly is found out once for all messages with the same indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import numbers, scalar_bytes
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.rows import RowWriter, pieces_of_rows
from visim.engine.jit.writing.vectors import SIZES, VECTOR, Candidate, PieceWriter, Span
from visim.engine.jit.writing.windows import none_of


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the lanes of each piece are arranged behind its first one, as names.

    Attributes:
        run: how many elements are a run, as i32; all of a piece: there is no gap.
        places: a vector of 32-bit numbers, the indices of a piece behind its first lane.
        reach: the last one of them, as i32.
        holds: whether all pieces are arranged like that.
    """

    run: str
    places: str
    reach: str
    holds: str


@dataclass(frozen=True, slots=True)
class Butterfly:
    """A candidate that has been looked at: how its lanes are arranged, and what they reach."""

    like: Arrangement
    span: Span


Known = dict[tuple[object, ...], Arrangement | Butterfly]
"""What has been found out where code is straight, by what was looked at."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A butterfly that is in range, and the pointers to where its pieces begin."""

    found: Candidate
    butterfly: Butterfly
    pointers: list[str]


def candidate(shape: Shape, access: Access) -> Candidate | None:
    """Return what may be a butterfly of elements that stand side by side, if anything may."""
    size, scale = access.size, shape.form.scale
    if size not in SIZES or scalar_bytes(access.scalar) < 4 or size % scale:
        return None
    piece, step = VECTOR // size, size // scale
    if shape.lanes % piece or step.bit_count() != 1 or access.operation is not None:
        return None
    return Candidate(shape, piece, step)


class ButterflyWriter(PieceWriter):
    """Writes accesses of butterflies.

    `known` is what has been found out already.
    """

    def __init__(self, rows: RowWriter, known: Known) -> None:
        super().__init__(rows)
        self.known = known

    # What lanes are

    def find(self, found: Candidate) -> Butterfly:
        """Look whether lanes are a butterfly."""
        core, form = found.shape.cores[0], found.shape.form
        kind = found.shape.lanes, found.piece, found.step
        known = self.known.get((core, form.signed, *kind))
        if isinstance(known, Butterfly):
            return known
        parts = self.parts(found)
        like = self.known.get((core, *kind))
        if not isinstance(like, Arrangement):
            like = self.known[core, *kind] = self._look(found, parts)
        butterfly = Butterfly(like, self.span(found, parts, like.reach, like.holds))
        self.known[core, form.signed, *kind] = butterfly
        return butterfly

    def _look(self, found: Candidate, parts: list[str]) -> Arrangement:
        text, piece, step = self.text, found.piece, found.step
        kind, row = f"<{piece} x i32>", numbers("i32", range(0, piece * step, step))
        behind = self.behind(found, parts)
        run = self._first_run(behind[0], row, piece)
        gap = text.spread("i32", piece, text.let(f"mul i32 {run}, {-step}"))
        places = text.let(f"add {kind} {row}, {text.let(f'and {kind} {row}, {gap}')}")
        wrong = [text.let(f"icmp ne {kind} {one}, {places}") for one in behind]
        while len(wrong) > 1:
            wrong.append(text.let(f"or <{piece} x i1> {wrong.pop(0)}, {wrong.pop(0)}"))
        holds = none_of(text, wrong[0], piece)
        last = text.let(f"extractelement {kind} {places}, i64 {piece - 1}")
        return Arrangement(run, places, last, holds)

    def _first_run(self, others: str, row: str, piece: int) -> str:
        """Return how many lanes of a piece are side by side, from the first one on, as i32."""
        text = self.text
        apart = text.let(f"icmp ne <{piece} x i32> {others}, {row}")
        bits = text.let(
            f"zext i{piece} {text.let(f'bitcast <{piece} x i1> {apart} to i{piece}')} to i32"
        )
        count = self.library.intrinsic("llvm.cttz.i32", "i32", "i32", "i1")
        ended = text.let(f"or i32 {bits}, {1 << piece}")
        return text.let(f"call i32 {count}(i32 {ended}, i1 true)")

    # Where they are

    def begin(
        self, found: Candidate, access: Access, bounds: Bounds, mask: str | None, far: str
    ) -> Taken:
        """Begin code for a butterfly that is in range, with all lanes of a mask of i64 on.

        `far` is the label for all else. Return where it is.
        """
        butterfly = self.find(found)
        pointers = self.begin_span(found, butterfly.span, access, bounds, mask, far)
        return Taken(found, butterfly, pointers)

    # Loads

    def load(self, taken: Taken, access: Access) -> list[str]:
        """Return the vectors of the elements at the lanes of a butterfly."""
        found, butterfly, pointers = taken.found, taken.butterfly, taken.pointers
        text, (whole, runs, join) = self.text, self.text.labels("whole", "runs", "moved")
        self._choose(butterfly.like, found.piece, whole, runs)
        rows = pieces_of_rows(found.shape.lanes, found.piece, access.size, pointers)
        direct, before = self.rows.load(rows, access.scalar, access.parts), text.block
        text.jump(join)
        text.label(runs)
        picked = self._picked(found, butterfly, pointers, access)
        after = text.block
        text.jump(join)
        text.label(join)
        return [
            text.let(f"phi {access.vector} [ {a}, %{before} ], [ {b}, %{after} ]")
            for a, b in zip(direct, picked, strict=True)
        ]

    def _choose(self, like: Arrangement, piece: int, whole: str, runs: str) -> None:
        """Begin code for where there are no gaps; `runs` is the label for where there are."""
        one = self.text.let(f"icmp eq i32 {like.run}, {piece}")
        self.text.branch(one, whole, runs)
        self.text.label(whole)

    def _picked(
        self, found: Candidate, butterfly: Butterfly, pointers: list[str], access: Access
    ) -> list[str]:
        """Load two vectors for each piece, and take the elements of runs from them."""
        text, piece, size = self.text, found.piece, access.size
        element, lanes, like = SIZES[size][0], found.shape.lanes, butterfly.like
        places = self.elements(found, like.places)
        behind, pieces = self.up_to(found, like.reach, piece), list[str]()
        for pointer in pointers:
            low = self.load_vector(pointer, size, "")
            high = self.load_vector(text.at(pointer, VECTOR), size, behind)
            pieces.append(self.take(low, high, places, size))
        whole = self.rows.weaver.joined(pieces, piece, element)
        count = lanes * access.parts
        flat = text.let(f"bitcast <{lanes} x {element}> {whole} to <{count} x {access.scalar}>")
        return [
            text.shuffle(access.scalar, count, flat, range(part, count, access.parts))
            for part in range(access.parts)
        ]

    # Stores

    def store(self, taken: Taken, access: Access, values: Sequence[str]) -> None:
        """Store vectors at the lanes of a butterfly, lowest lane first."""
        found, butterfly, pointers = taken.found, taken.butterfly, taken.pointers
        text, (whole, runs, join) = self.text, self.text.labels("whole", "runs", "moved")
        self._choose(butterfly.like, found.piece, whole, runs)
        self.rows.store(pointers, access.lanes, access.scalar, list(values))
        text.jump(join)
        text.label(runs)
        self._put(found, butterfly, pointers, access, values)
        text.jump(join)
        text.label(join)

    def _put(
        self,
        found: Candidate,
        butterfly: Butterfly,
        pointers: list[str],
        access: Access,
        values: Sequence[str],
    ) -> None:
        """Store two vectors for each piece, of which the elements of runs are on."""
        text, piece, lanes = self.text, found.piece, found.shape.lanes
        element, _, letters = SIZES[access.size]
        kind, count = f"<{piece} x {element}>", lanes * access.parts
        woven = self.rows.weaver.woven(values, lanes, access.scalar)
        flat = text.let(f"bitcast <{count} x {access.scalar}> {woven} to <{lanes} x {element}>")
        name = f"llvm.x86.avx512.permvar.{letters}.512"
        move = self.library.intrinsic(name, kind, kind, kind)
        store = self.library.intrinsic(
            f"llvm.masked.store.v{piece}{element}.p0", "void", kind, "ptr", f"<{piece} x i1>"
        )
        on, sources = self._sources(piece, butterfly.like.run, element)
        for number, pointer in enumerate(pointers):
            part = text.shuffle(element, lanes, flat, range(number * piece, (number + 1) * piece))
            for half, source in enumerate(sources):
                moved = text.let(f"call {kind} {move}({kind} {part}, {kind} {source})")
                place = text.at(pointer, half * VECTOR)
                text.do(
                    f"call void {store}({kind} {moved}, ptr align 1 {place}, <{piece} x i1> {on})"
                )

    def _sources(self, piece: int, run: str, element: str) -> tuple[str, list[str]]:
        """Return which elements of a vector are in runs, and of which lanes they are.

        That is the same for both vectors of a piece, but for half of its lanes.
        """
        text, kind = self.text, f"<{piece} x i32>"
        row, runs = numbers("i32", range(piece)), text.spread("i32", piece, run)
        gaps = text.let(f"and {kind} {row}, {runs}")
        on = text.let(f"icmp eq {kind} {gaps}, zeroinitializer")
        whole = text.spread("i32", piece, text.let(f"mul i32 {run}, -1"))
        skipped = text.let(f"lshr {kind} {text.let(f'and {kind} {row}, {whole}')}, splat (i32 1)")
        low = text.let(f"sub {kind} {row}, {skipped}")
        high = text.let(f"add {kind} {low}, splat (i32 {piece // 2})")
        if element != "i32":
            low, high = (
                text.let(f"zext {kind} {one} to <{piece} x {element}>") for one in (low, high)
            )
        return on, [low, high]
