"""Vectors whose elements stand together in memory, lane by lane: taking them apart, weaving them.

Sixteen bytes a lane are transposed in blocks with shuffles of two vectors: four elements of four
bytes, as in `float4`, in blocks of eight lanes, two of eight bytes, as in `double2`, in blocks of
four. LLVM takes five times as long for one shuffle of all, and makes more code of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.ir.text import Text, scalar_bytes

_BLOCK = 8
_LARGE = 16
_WHOLE = range(_BLOCK)
_PAIRS = 4
_FIRSTS, _SECONDS = (0, 4, 2, 6), (1, 5, 3, 7)
_LOW_TWO, _HIGH_TWO = (0, 1, 4, 5), (2, 3, 6, 7)
_LOW, _HIGH = (0, 4, 1, 5), (2, 6, 3, 7)
_LOW_PAIRS, _HIGH_PAIRS = (0, 1, 4, 5), (2, 3, 6, 7)
_LOW_HALVES, _HIGH_HALVES = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)


class Weaver:
    """Arranges elements of lanes for memory, and from there."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def apart(
        self, pointer: str, scalar: str, lanes: int, parts: int, stride: int
    ) -> list[str] | None:
        """Load `parts` vectors; None if there is no good way to.

        Each lane's elements stand together, those of the next one `stride` bytes behind them.
        """
        if _block_lanes(scalar, lanes, parts):
            places = [self.text.at(pointer, lane * stride) for lane in range(lanes)]
            return self.gathered(places, scalar, parts)
        if stride != parts * scalar_bytes(scalar):
            return None
        count = lanes * parts
        whole = self.text.let(f"load <{count} x {scalar}>, ptr {pointer}, align 1")
        return [
            self.text.shuffle(scalar, count, whole, range(part, count, parts))
            for part in range(parts)
        ]

    def gathered(self, pointers: Sequence[str], scalar: str, parts: int) -> list[str] | None:
        """Load `parts` vectors of what stands at the pointers of lanes, as `apart` does."""
        block = _block_lanes(scalar, len(pointers), parts)
        if not block:
            return None
        rows = [
            self.text.let(f"load <{parts} x {scalar}>, ptr {pointer}, align 1")
            for pointer in pointers
        ]
        take = self._block_apart if block == _BLOCK else self._pairs_apart
        if block == _BLOCK and not self.text.tests_bits and not len(rows) % _LARGE:
            block, take = _LARGE, self._large_apart
        blocks = [take(rows[first : first + block], scalar) for first in range(0, len(rows), block)]
        return [self.joined([one[part] for one in blocks], block, scalar) for part in range(parts)]

    def every_other(self, pointer: str, scalar: str, lanes: int) -> str:
        """Load every other element, by two rows of which the second ends with the last one."""
        vector = f"<{lanes} x {scalar}>"
        last = self.text.at(pointer, (lanes - 1) * scalar_bytes(scalar))
        low, high = (
            self.text.let(f"load {vector}, ptr {place}, align 1") for place in (pointer, last)
        )
        picks = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
        return self.text.shuffle_two(scalar, lanes, low, high, picks)

    def overlapping(self, pointer: str, scalar: str, lanes: int, stride: int) -> str:
        """Load elements of which each begins inside the one before, `stride` bytes behind it.

        Compilers make one such load of two of neighbours. A part of each element is a row.
        """
        text, bits, size = self.text, 8 * stride, scalar_bytes(scalar)
        row, kind, found = f"<{lanes} x i{bits}>", f"<{lanes} x i{8 * size}>", ""
        for offset in range(0, size, stride):
            part = text.let(f"load {row}, ptr {text.at(pointer, offset)}, align 1")
            part = text.let(f"zext {row} {part} to {kind}")
            if not found:
                found = part
                continue
            part = text.let(f"shl {kind} {part}, splat (i{8 * size} {8 * offset})")
            found = text.let(f"or {kind} {found}, {part}")
        return text.let(f"bitcast {kind} {found} to <{lanes} x {scalar}>")

    def woven(self, values: Sequence[str], lanes: int, scalar: str) -> str:
        """Return the lanes of several vectors, all elements of a lane together."""
        block = _block_lanes(scalar, lanes, len(values))
        if block:
            weave = self._block if block == _BLOCK else self._pairs
            firsts = range(0, lanes, block)
            blocks = [part for first in firsts for part in weave(values, scalar, lanes, first)]
            return self.joined(blocks, block, scalar)
        whole, have = values[0], lanes
        for value in values[1:]:
            wide = value
            if have != lanes:
                picks = [i if i < lanes else "poison" for i in range(have)]
                wide = self.text.shuffle(scalar, lanes, value, picks)
            whole = self.text.shuffle_two(scalar, have, whole, wide, range(have + lanes))
            have += lanes
        parts = len(values)
        order = [part * lanes + lane for lane in range(lanes) for part in range(parts)]
        return self.text.shuffle(scalar, have, whole, order)

    def joined(self, pieces: Sequence[str], lanes: int, scalar: str) -> str:
        """Return the lanes of several vectors one after another."""
        wanted = len(pieces) * lanes
        while len(pieces) > 1:
            if len(pieces) % 2:
                pieces = [*pieces, "poison"]
            pieces = [
                self.text.shuffle_two(scalar, lanes, a, b, range(2 * lanes))
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            lanes *= 2
        if lanes == wanted:
            return pieces[0]
        return self.text.shuffle(scalar, lanes, pieces[0], range(wanted))

    def behind(self, scalar: str, sizes: Sequence[int], vectors: Sequence[str]) -> str:
        """Return the lanes of vectors of several sizes one after another."""
        lanes, found, position = sum(sizes), "poison", 0
        for size, name in zip(sizes, vectors, strict=True):
            wide = [lane if lane < size else "poison" for lane in range(lanes)]
            spread = self.text.shuffle(scalar, size, name, wide)
            order = [
                lanes + lane - position if position <= lane < position + size else lane
                for lane in range(lanes)
            ]
            found = self.text.shuffle_two(scalar, lanes, found, spread, order)
            position += size
        return found

    # Two elements of four lanes

    def _pairs_apart(self, rows: Sequence[str], scalar: str) -> list[str]:
        far = [
            self.text.shuffle_two(scalar, 2, rows[i], rows[i + 2], range(_PAIRS)) for i in range(2)
        ]
        return [
            self.text.shuffle_two(scalar, _PAIRS, far[0], far[1], picks)
            for picks in (_FIRSTS, _SECONDS)
        ]

    def _pairs(self, values: Sequence[str], scalar: str, lanes: int, first: int) -> list[str]:
        picks = range(first, first + _PAIRS)
        a, b = (self.text.shuffle(scalar, lanes, value, picks) for value in values)
        far = [self.text.shuffle_two(scalar, _PAIRS, a, b, picks) for picks in (_FIRSTS, _SECONDS)]
        return [
            self.text.shuffle_two(scalar, _PAIRS, far[0], far[1], halves)
            for halves in (_LOW_TWO, _HIGH_TWO)
        ]

    # Four elements of eight lanes

    def _block_apart(self, rows: Sequence[str], scalar: str) -> list[str]:
        far = [self.text.shuffle_two(scalar, 4, rows[i], rows[i + 4], _WHOLE) for i in range(4)]
        return self._transposed(scalar, far[0], far[1], far[2], far[3])

    def _large_apart(self, rows: Sequence[str], scalar: str) -> list[str]:
        """Take sixteen lanes apart in registers of 64 bytes, which move in one unit only.

        Rows are put into them one by one, which loads do by the way.
        """
        far = list[str]()
        for first in range(4):
            found = self._widened(scalar, rows[first])
            for number in range(1, 4):
                at, row = 4 * number, self._widened(scalar, rows[first + 4 * number])
                ends = range(_LARGE, _LARGE + 4)
                found = self.text.shuffle_two(
                    scalar, _LARGE, found, row, [*range(at), *ends, *range(at + 4, _LARGE)]
                )
            far.append(found)
        return self._transposed(scalar, far[0], far[1], far[2], far[3], _LARGE)

    def _widened(self, scalar: str, row: str) -> str:
        """Return four elements at the beginning of sixteen."""
        picks = [lane if lane < 4 else "poison" for lane in range(_LARGE)]
        return self.text.shuffle(scalar, 4, row, picks)

    def _block(self, values: Sequence[str], scalar: str, lanes: int, first: int) -> list[str]:
        a, b, c, d = (
            self.text.shuffle(scalar, lanes, value, range(first, first + _BLOCK))
            for value in values
        )
        far = self._transposed(scalar, a, b, c, d)
        return [
            self.text.shuffle_two(scalar, _BLOCK, far[i], far[i + 1], halves)
            for halves in (_LOW_HALVES, _HIGH_HALVES)
            for i in (0, 2)
        ]

    def _transposed(
        self, scalar: str, a: str, b: str, c: str, d: str, lanes: int = _BLOCK
    ) -> list[str]:
        """Return four vectors with rows and columns exchanged, in each four lanes by themselves."""
        low_ab, high_ab, low_cd, high_cd = (
            self.text.shuffle_two(scalar, lanes, x, y, _in_fours(picks, lanes))
            for x, y in ((a, b), (c, d))
            for picks in (_LOW, _HIGH)
        )
        return [
            self.text.shuffle_two(scalar, lanes, x, y, _in_fours(picks, lanes))
            for x, y in ((low_ab, low_cd), (high_ab, high_cd))
            for picks in (_LOW_PAIRS, _HIGH_PAIRS)
        ]


def _in_fours(picks: Sequence[int], lanes: int) -> list[int]:
    """Return what is picked of two vectors as of each four lanes of them.

    `picks` are numbers of the first four lanes, 4 to 7 those of the second vector.
    """
    return [
        first + pick % 4 + (lanes if pick >= 4 else 0)
        for first in range(0, lanes, 4)
        for pick in picks
    ]


def _block_lanes(scalar: str, lanes: int, parts: int) -> int:
    """Return how many lanes are transposed at a time; 0 if LLVM chooses how."""
    found = {(4, 4): _BLOCK, (8, 2): _PAIRS}.get((scalar_bytes(scalar), parts), 0)
    return found if found and lanes % found == 0 else 0
