"""The elements of 2D blocks, from rows of memory to their places in registers and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visim.engine.jit.ir.text import Text
from visim.engine.jit.ir.weaving import Weaver
from visim.sem.effects import Cell


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What stands where: element i of a block is that of `rows` and `columns` at `cells[i]`."""

    cells: tuple[Cell | None, ...]
    rows: int
    columns: int

    @property
    def together(self) -> int:
        """How many rows stand column by column: all when transposed, few for VNNI, or 1."""
        count = 0
        while count < self.rows and self.cells[count : count + 1] == ((count, 0),):
            count += 1
        is_power = count and not count & (count - 1)
        return count if is_power and not self.rows % count else 1

    @property
    def is_in_order(self) -> bool:
        """Whether elements stand as in memory, each row behind the one above."""
        known = [cell for cell in self.cells if cell is not None]
        return known == sorted(known)


def arrangement_of(cells: tuple[Cell | None, ...]) -> Arrangement:
    """Return the arrangement of a block, which has some cells."""
    known = [cell for cell in cells if cell is not None]
    rows, columns = (1 + max(cell[part] for cell in known) for part in (0, 1))
    return Arrangement(cells, rows, columns)


class Arranger:
    """Arranges elements by shuffles that each take two registers at a time."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.weaver = Weaver(text)

    def gathered(self, found: Arrangement, rows: Sequence[str], scalar: str) -> str:
        """Return a block's elements from the vectors of its rows; padding is 0."""
        few, columns = found.together, found.columns
        parts = [
            self._by_columns(rows[first : first + few], columns, scalar)
            for first in range(0, found.rows, few)
        ]
        whole, lanes = self.weaver.joined(parts, few * columns, scalar), found.rows * columns
        picks = [lanes if cell is None else self._place(found, cell) for cell in found.cells]
        if None not in found.cells:
            return self.text.shuffle(scalar, lanes, whole, picks)
        return self.text.shuffle_two(scalar, lanes, whole, "zeroinitializer", picks)

    def spread(self, found: Arrangement, block: str, scalar: str) -> list[str]:
        """Return the vectors of a block's rows."""
        numbers = {cell: number for number, cell in enumerate(found.cells)}
        return [
            self.text.shuffle(
                scalar, len(found.cells), block, [numbers[row, at] for at in range(found.columns)]
            )
            for row in range(found.rows)
        ]

    def _by_columns(self, rows: Sequence[str], columns: int, scalar: str) -> str:
        """Return some rows column by column.

        Each step exchanges halves, of which a register needs two others; so there are as many as
        twice, and twice again, make the rows.
        """
        found, lanes = self.weaver.joined(rows, columns, scalar), len(rows) * columns
        half = [lane // 2 + lane % 2 * (lanes // 2) for lane in range(lanes)]
        for _ in range(len(rows).bit_length() - 1):
            found = self.text.shuffle(scalar, lanes, found, half)
        return found

    @staticmethod
    def _place(found: Arrangement, cell: Cell) -> int:
        (row, column), few = cell, found.together
        return row // few * few * found.columns + column * few + row % few
