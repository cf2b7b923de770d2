"""Rows with gaps between their elements: a few wide loads, and permutations that leave gaps out.

Fields of structures and colours of pixels are such rows. Loads that overlap the next ones take in
several elements each; nothing in front of the first element is read, nor behind the last one.
Stores need masks of bytes or words: what stands in the gaps belongs to others.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text, numbers, scalar_bytes
from visim.engine.jit.ir.weaving import Weaver

_LEAST_BYTES = 16
_MASKED_BYTES = 64
"""Registers of so many bytes are stored by masks."""
_LEAST_STORED = 3
"""Fewer lanes for each store take as long as those that are stored one after another."""
_LEAST_WORD = 4
"""Elements of so many bytes are permuted as a whole."""
_MOST_LOADS = 6
"""More loads for a register take longer than the host's gathers (measured on Sapphire Rapids)."""


class Spacer:
    """Loads and stores rows with gaps.

    `register_bytes` is how long the host's vectors are, `permuted_bytes` how many bytes it permutes
    at once (0: LLVM would do that one by one); `gathers` says that the host is good at gathers.
    """

    def __init__(
        self,
        text: Text,
        library: Library,
        *,
        register_bytes: int,
        permuted_bytes: int,
        gathers: bool,
    ) -> None:
        self.text = text
        self.library = library
        self._register_bytes = register_bytes
        self._permuted_bytes = permuted_bytes
        self._gathers = gathers
        self._weaver = Weaver(text)

    def load(self, pointer: str, scalar: str, lanes: int, stride: int) -> str | None:
        """Return the elements of lanes that are `stride` bytes apart; None: others do it better."""
        size = scalar_bytes(scalar)
        as_bytes = size < _LEAST_WORD
        if stride <= size or (not as_bytes and stride % size):
            return None
        span = (lanes - 1) * stride + size
        width = self._permuted_bytes if as_bytes else self._register_bytes
        while width > span:
            width = _LEAST_BYTES if as_bytes and width > _LEAST_BYTES else width // 2
        each = (width - size) // stride + 1
        if width < _LEAST_BYTES or each < 2:
            return None
        few = min(lanes, width // size)
        if self._gathers and not as_bytes and -(-few // each) > _MOST_LOADS:
            return None
        pieces = list[str]()
        for first in range(0, lanes, few):
            groups = [
                range(lane, min(lane + each, first + few))
                for lane in range(first, first + few, each)
            ]
            pieces.append(self._piece(pointer, scalar, stride, groups, width, span))
        return self._weaver.joined(pieces, few, scalar)

    def _piece(
        self,
        pointer: str,
        scalar: str,
        stride: int,
        groups: Sequence[range],
        width: int,
        span: int,
    ) -> str:
        """Return a vector of the lanes of some groups, one load of `width` bytes for each."""
        size, few = scalar_bytes(scalar), groups[-1][-1] + 1 - groups[0][0]
        unit = 1 if size < _LEAST_WORD else size
        kind, count, parts = f"i{8 * unit}", width // unit, size // unit
        vector, rows = f"<{count} x {kind}>", list[str]()
        picks = list[list[int | str]]()
        for group in groups:
            start = min(group[0] * stride, span - width)
            rows.append(
                self.text.let(f"load {vector}, ptr {self.text.at(pointer, start)}, align 1")
            )
            some: list[int | str] = ["poison"] * count
            for lane in group:
                place, at = (lane * stride - start) // unit, (lane - groups[0][0]) * parts
                some[at : at + parts] = range(place, place + parts)
            picks.append(some)
        join = self._by_zeros if unit == 1 and width == _LEAST_BYTES else self._by_turns
        found = self.text.shuffle(kind, count, join(rows, picks, kind), range(few * parts))
        return self.text.let(f"bitcast <{few * parts} x {kind}> {found} to <{few} x {scalar}>")

    def _by_zeros(self, rows: Sequence[str], picks: Sequence[list[int | str]], kind: str) -> str:
        """Permute each row by itself, with zeros in all other lanes."""
        found, vector = "", f"<{len(picks[0])} x {kind}>"
        for row, some in zip(rows, picks, strict=True):
            lanes = [len(some) if isinstance(pick, str) else pick for pick in some]
            one = self.text.shuffle_two(kind, len(some), row, "zeroinitializer", lanes)
            found = self.text.let(f"or {vector} {found}, {one}") if found else one
        return found

    def _by_turns(self, rows: Sequence[str], picks: Sequence[list[int | str]], kind: str) -> str:
        """Take lanes of two rows, then of these and the next row."""
        if len(rows) == 1:
            return self.text.shuffle(kind, len(picks[0]), rows[0], picks[0])
        found, taken = rows[0], picks[0]
        for row, some in zip(rows[1:], picks[1:], strict=True):
            both = [
                old if isinstance(new, str) else len(some) + new
                for old, new in zip(taken, some, strict=True)
            ]
            found = self.text.shuffle_two(kind, len(both), found, row, both)
            taken = [pick if isinstance(pick, str) else lane for lane, pick in enumerate(both)]
        return found

    # Stores

    def store(
        self, pointer: str, scalar: str, parts: int, stride: int, woven: str, lanes: range, of: int
    ) -> bool:
        """Store some lanes of `of`, `parts` elements each, which `woven` has lane by lane.

        Return whether there is a good way to.
        """
        size = scalar_bytes(scalar)
        unit = size if size >= _LEAST_WORD and not stride % size else 1
        each = (_MASKED_BYTES - parts * size) // stride + 1
        permutes = self._permuted_bytes if unit == 1 else self._register_bytes
        if permutes < _MASKED_BYTES or stride <= parts * size or each < _LEAST_STORED:
            return False
        text, bits, count = self.text, 8 * unit, _MASKED_BYTES // unit
        units = parts * size // unit
        whole = f"<{of * units} x i{bits}>"
        given = text.let(f"bitcast <{of * parts} x {scalar}> {woven} to {whole}")
        vector, bools = f"<{count} x i{bits}>", f"<{count} x i1>"
        name = f"llvm.masked.store.v{count}i{bits}.p0"
        function = self.library.intrinsic(name, "void", vector, "ptr", bools)
        for first in range(0, len(lanes), each):
            picks: list[int | str] = ["poison"] * count
            for number, lane in enumerate(lanes[first : first + each]):
                at = number * stride // unit
                picks[at : at + units] = range(lane * units, (lane + 1) * units)
            one = text.shuffle(f"i{bits}", of * units, given, picks)
            on = numbers("i1", ("false" if pick == "poison" else "true" for pick in picks))
            place = text.at(pointer, first * stride)
            text.do(f"call void {function}({vector} {one}, ptr align 1 {place}, {bools} {on})")
        return True
