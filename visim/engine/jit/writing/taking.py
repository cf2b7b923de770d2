"""Lanes that are taken from other vectors, such as the elements of a matrix for all channels."""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.ir.text import Text, scalar_bytes, scalar_type
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.writing.functions import FunctionFrame
from visim.sem.expr import Expr

_LEAST_RUN = 8
"""Lanes that all get the same one get it from memory if they are so many."""
_LEAST_BYTES = 4
"""Processors load elements of so many bytes into all lanes as they compute with them."""


class LaneTaker:
    """Writes what is taken for one instruction; `unit` has memory for it (None: there is none)."""

    def __init__(self, text: Text, unit: FunctionFrame | None) -> None:
        self.text = text
        self.unit = unit
        self._left: tuple[Expr, str] | None = None

    def take(self, expr: Expr, value: str) -> str:
        """Return the lanes that `expr` takes of its argument, which has a value.

        What many lanes get goes through memory: to load a number into all lanes costs nothing
        beside what is computed, where exchanges in registers need a unit that multiplies, too.
        """
        source, scalar = expr.args[0], scalar_type(expr.type)
        return self.taken(source, scalar, source.lanes, value, expr.attribute)

    def taken(self, source: Expr, scalar: str, lanes: int, value: str, picks: Sequence[int]) -> str:
        """Return lanes of a vector of `lanes`, which is always the same for a source."""
        run = _run_of(picks)
        is_few = run < _LEAST_RUN or lanes <= _LEAST_RUN or scalar_bytes(scalar) < _LEAST_BYTES
        if is_few or self.unit is None:
            return self.text.shuffle(scalar, lanes, value, picks)
        place = self._leave(self.unit, source, scalar, lanes, value)
        parts = [self._everywhere(scalar, run, place, pick) for pick in picks[::run]]
        return Weaver(self.text).joined(parts, run, scalar)

    def _leave(self, unit: FunctionFrame, source: Expr, scalar: str, lanes: int, value: str) -> str:
        """Leave a vector in memory, if it is not there yet; return where it is."""
        if self._left is None or self._left[0] is not source:
            place = unit.common_buffer(lanes * scalar_bytes(scalar))
            self.text.leave(scalar, lanes, value, place)
            self._left = source, place
        return self._left[1]

    def _everywhere(self, scalar: str, lanes: int, place: str, number: int) -> str:
        size = scalar_bytes(scalar)
        at = self.text.at(place, number * size)
        one = self.text.let(f"load {scalar}, ptr {at}, align {size}")
        return self.text.spread(scalar, lanes, one)


def _run_of(picks: Sequence[int]) -> int:
    """Return how many successive lanes get the same one; 0 if that differs."""
    run = next((n for n, pick in enumerate(picks) if pick != picks[0]), len(picks))
    firsts = range(0, len(picks), run)
    alike = len(picks) % run == 0 and all(len(set(picks[n : n + run])) == 1 for n in firsts)
    return run if alike else 0
