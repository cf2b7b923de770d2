"""Neighbours: loads whose lanes are all near to the first one of their piece, in any order.

Compilers divide to find a channel's part (`bias[i / size % count]`), resample images, and exchange
over distances that only the running program knows, so that neighbouring lanes reach the same
elements or the next ones. What no analysis knows a look tells: if no lane is more than two vectors
behind the first lane of its piece, a piece is two loads and a permutation. Lanes that are far apart
are mostly known by the last one of the first piece.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import scalar_bytes, splat
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.vectors import SIZES, VECTOR, Candidate, PieceWriter
from visim.engine.jit.writing.windows import none_of


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Lanes in range: their indices behind first lanes, and pointers to pieces."""

    found: Candidate
    behind: list[str]
    pointers: list[str]


def neighbours(shape: Shape, access: Access) -> Candidate | None:
    """Return what of a load may be neighbours, if anything may.

    Components are taken one by one. Where nothing is checked nothing may: a piece is loaded as far
    as any of them may go.
    """
    size, scale = scalar_bytes(access.scalar), shape.form.scale
    if size not in SIZES or size % scale or not access.checked:
        return None
    piece, step = VECTOR // size, size // scale
    if shape.lanes % piece or step.bit_count() != 1 or access.size not in SIZES:
        return None
    return Candidate(shape, piece, step)


class NeighbourWriter(PieceWriter):
    """Writes loads of neighbours, component by component."""

    def begin(
        self, found: Candidate, access: Access, bounds: Bounds, mask: str | None, far: str
    ) -> Neighbours:
        """Begin code for neighbours in range, with all lanes of a mask of i64 on.

        `far` is the label for all else.
        """
        piece, step = found.piece, found.step
        parts = self.parts(found)
        behind = self.behind(found, parts)
        most = step * (2 * piece - access.parts)
        self._look_at_last(found, behind[0], most, far)
        end = str(step * (2 * piece - 1))
        span = self.span(found, parts, end, self._all_near(found, behind, most))
        return Neighbours(found, behind, self.begin_span(found, span, access, bounds, mask, far))

    def _look_at_last(self, found: Candidate, behind: str, most: int, far: str) -> None:
        """Leave for `far` if the last lane of a piece is not near: mostly that tells."""
        text, piece, near = self.text, found.piece, self.text.fresh("near")
        last = text.let(f"extractelement <{piece} x i32> {behind}, i64 {piece - 1}")
        text.branch(text.let(f"icmp ule i32 {last}, {most}"), near, far)
        text.label(near)

    def _all_near(self, found: Candidate, behind: list[str], most: int) -> str:
        """Return whether no lane is far behind the first one, and all are those of elements."""
        text, piece, step = self.text, found.piece, found.step
        kind, wrong = f"<{piece} x i32>", list[str]()
        for one in behind:
            wrong.append(text.let(f"icmp ugt {kind} {one}, {splat('i32', piece, most)}"))
            if step > 1:
                between = text.let(f"and {kind} {one}, {splat('i32', piece, step - 1)}")
                wrong.append(text.let(f"icmp ne {kind} {between}, zeroinitializer"))
        while len(wrong) > 1:
            wrong.append(text.let(f"or <{piece} x i1> {wrong.pop(0)}, {wrong.pop(0)}"))
        return none_of(text, wrong[0], piece)

    def load(self, near: Neighbours, access: Access) -> list[str]:
        """Return the vectors of the components of lanes."""
        text, found, size = self.text, near.found, scalar_bytes(access.scalar)
        element, piece, lanes = SIZES[size][0], found.piece, found.shape.lanes
        vectors = [
            (self.load_vector(at, size, ""), self.load_vector(text.at(at, VECTOR), size, ""))
            for at in near.pointers
        ]
        places = [self.elements(found, one) for one in near.behind]
        components = list[str]()
        for part in range(access.parts):
            if part:
                ones = splat("i32", piece, 1)
                places = [text.let(f"add <{piece} x i32> {one}, {ones}") for one in places]
            pairs = zip(vectors, places, strict=True)
            taken = [self.take(*vector, place, size) for vector, place in pairs]
            whole = self.rows.weaver.joined(taken, piece, element)
            components.append(text.let(f"bitcast <{lanes} x {element}> {whole} to {access.vector}"))
        return components
