"""Asking for memory ahead of time: for the rows that threads will move which start later.

Processors do not foresee these if rows of several threads, or several rows of one array, alternate.
Some find what follows a row by themselves if it is the only one of its array that a thread moves;
asking for that as well takes such a processor longer (Zen 4: sums of two arrays 1.17 times as long,
of three 1.27, copies up to 1.3).
"""

from __future__ import annotations

from collections.abc import Hashable

from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.writing.anchors import Anchors
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.rows import Rows

_LINE = 64
_AHEAD = 3072
"""How far before its use memory is asked for, in bytes: some 25 threads of 32 channels. 1, 2 and 4
KiB are slower (measured on Zen 3), and so is one request for two lines."""
_THREADS_AHEAD = 8
"""The same where threads have work-items one behind the other, on processors with fast gathers: the
rows of so many threads, but at least _LEAST_AHEAD bytes (measured on Sapphire Rapids: saxpy takes
a tenth less time, a triad 7 %)."""
_LEAST_AHEAD = 1024
_AHEAD_OF_PIECES = 256
"""The same where a thread moves pieces of several rows, as in tiles of 16 or 8 by 16: the threads
of some groups. So near are no rows of the next tiles fetched that would be dropped before their
turn (a transpose by tiles takes 1.3 to 1.7 times as long with 3072, on Sapphire Rapids)."""
_MOST_AHEAD = 2048
"""Longer rows, in bytes, are not asked for."""


class Requests:
    """What the messages of a chain of nodes ask for.

    All code behind them comes after them. `anchors` are the rows that others may be near to.
    """

    def __init__(self, unit: FunctionFrame, anchors: Anchors) -> None:
        self._unit = unit
        self._anchors = anchors
        self._made = set[Hashable]()
        self._held: dict[Hashable, Rows | None] = {}

    def load(self, rows: Rows, where: Hashable) -> None:
        """Ask for what is behind rows that are loaded; `where` says in which array they are.

        If the processor finds single rows by itself, this waits for another row of the array.
        """
        if not self._are_worth_it(rows):
            return
        if len(rows.pointers) == 1 and self._unit.module.version.finds_rows:
            first = self._held.get(where, rows)
            if where not in self._held:
                self._held[where] = rows
                return
            if first is not None:
                self._held[where] = None
                self._ask(first)
        self._ask(rows)

    def store(self, rows: Rows) -> None:
        """Ask for what is behind rows that are stored, unless the processor finds all rows."""
        finds_all = len(rows.pointers) == 1 and self._unit.module.version.finds_rows
        if self._are_worth_it(rows) and not (finds_all and not self._made):
            self._ask(rows)

    def _are_worth_it(self, rows: Rows) -> bool:
        """Whether rows go up, without long gaps, and are not those of an anchor."""
        form = rows.shape.form
        return 0 <= form.stride * form.piece <= _MOST_AHEAD and not rows.are_asked_for

    def _ask(self, rows: Rows) -> None:
        """Ask for the rows at a distance, which need not be memory of anybody.

        Of longer rows most lines are between what lanes move, and those that go down are behind.
        What is stored where it was loaded has been asked for.
        """
        module, text = self._unit.module, self._unit.text
        form = rows.shape.form
        span, ahead = form.stride * form.piece, _AHEAD_OF_PIECES
        if len(rows.pointers) == 1:
            ahead = _AHEAD
            if module.goes_along_rows and module.version.has_gathers:
                ahead = min(_AHEAD, max(_LEAST_AHEAD, _THREADS_AHEAD * span))
        name = "llvm.prefetch.p0"
        function = module.library.intrinsic(name, "void", "ptr", "i32", "i32", "i32")
        for pointer in dict.fromkeys(rows.pointers):
            if not self._is_new(rows.shape, rows.pointers.index(pointer)):
                continue
            for line in range(0, span, _LINE):
                place = text.at(pointer, ahead + line)
                text.do(f"call void {function}(ptr {place}, i32 0, i32 3, i32 1)")

    def _is_new(self, shape: Shape, piece: int) -> bool:
        """Note that what is behind a piece is asked for; return whether nobody has before."""
        asked = self._anchors.place(shape, piece)
        is_new = asked not in self._made
        self._made.add(asked)
        return is_new
