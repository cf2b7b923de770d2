"""Neighbours: loads whose lanes are all near to the first one of their piece, in any order.

Compilers divide to find a channel's part (`bias[i / size % count]`), and resample images, so that
neighbouring lanes reach the same elements or the next ones. What no analysis knows a look tells:
if no lane is more than two vectors behind the first lane of its piece, a piece is two loads and a
permutation. Lanes that are far apart are mostly known by the last one of the first piece.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from visim.engine.jit.ir.text import scalar_bytes, splat
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.vectors import SIZES, VECTOR, Candidate, PieceWriter
from visim.engine.jit.writing.windows import none_of


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Lanes in range: their indices behind first lanes, the last of them, pointers to pieces."""

    found: Candidate
    behind: list[str]
    reach: str
    pointers: list[str]


class NeighbourWriter(PieceWriter):
    """Writes loads of neighbours, component by component."""

    def begin(
        self, found: Candidate, access: Access, bounds: Bounds, mask: str | None, far: str
    ) -> Neighbours | None:
        """Begin code for neighbours in range, with all lanes of a mask of i64 on.

        `far` is the label for all else. None where components cannot be taken one by one, and where
        nothing is checked, since a piece is loaded as far as any of them goes; nothing is written.
        """
        size, scale = scalar_bytes(access.scalar), found.shape.form.scale
        piece, step = VECTOR // size, size // scale
        if size not in SIZES or size % scale or found.shape.lanes % piece or not access.checked:
            return None
        found = replace(found, piece=piece, step=step)
        parts = self.parts(found)
        behind = self.behind(found, parts)
        most = step * (2 * piece - access.parts)
        self._look_at_last(found, behind[0], most, far)
        reach, holds = self._reach(found, behind, most)
        span = self.span(found, parts, reach, holds)
        return Neighbours(
            found, behind, reach, self.begin_span(found, span, access, bounds, mask, far)
        )

    def _look_at_last(self, found: Candidate, behind: str, most: int, far: str) -> None:
        """Leave for `far` if the last lane of a piece is not near: mostly that tells."""
        text, piece, near = self.text, found.piece, self.text.fresh("near")
        last = text.let(f"extractelement <{piece} x i32> {behind}, i64 {piece - 1}")
        text.branch(text.let(f"icmp ule i32 {last}, {most}"), near, far)
        text.label(near)

    def _reach(self, found: Candidate, behind: list[str], most: int) -> tuple[str, str]:
        """Return the largest index behind first lanes, and whether all are those of elements."""
        text, piece = self.text, found.piece
        kind = f"<{piece} x i32>"
        larger = self.library.intrinsic(f"llvm.umax.v{piece}i32", kind, kind, kind)
        last = every = behind[0]
        for one in behind[1:]:
            last = text.let(f"call {kind} {larger}({kind} {last}, {kind} {one})")
            every = text.let(f"or {kind} {every}, {one}")
        largest = self.library.intrinsic(f"llvm.vector.reduce.umax.v{piece}i32", "i32", kind)
        reach = text.let(f"call i32 {largest}({kind} {last})")
        holds = text.let(f"icmp ule i32 {reach}, {most}")
        if found.step > 1:
            between = text.let(f"and {kind} {every}, {splat('i32', piece, found.step - 1)}")
            wrong = text.let(f"icmp ne {kind} {between}, zeroinitializer")
            holds = text.let(f"and i1 {holds}, {none_of(text, wrong, piece)}")
        return reach, holds

    def load(self, near: Neighbours, access: Access) -> list[str]:
        """Return the vectors of the components of lanes."""
        text, found, size = self.text, near.found, scalar_bytes(access.scalar)
        element, piece, lanes = SIZES[size][0], found.piece, found.shape.lanes
        end = near.reach
        if access.parts > 1:
            end = text.let(f"add i32 {end}, {found.step * (access.parts - 1)}")
        low, high = (self.up_to(found, end, first) for first in (0, piece))
        vectors = [
            (self.load_vector(at, size, low), self.load_vector(text.at(at, VECTOR), size, high))
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
