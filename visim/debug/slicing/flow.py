"""Which branches decide whether an instruction is executed: control dependence in one unit."""

from __future__ import annotations

from visim.debug.looking.lines import Lines
from visim.sem.effects import FunctionReturn, Goto, Jump, Return, Switch

_MOST = 6000
"""Longer units are not analysed; their branches are left out of what is told."""


class Branches:
    """The branches of all units.

    Args:
        lines: the kernel's instructions.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._known: dict[int, dict[int, frozenset[int]]] = {}

    def deciding(self, unit: int, pc: int) -> frozenset[int]:
        """Return the branches of a unit on which it depends whether an instruction is executed."""
        if unit not in self._known:
            self._known[unit] = self._analysed(unit)
        return self._known[unit].get(pc, frozenset())

    def _analysed(self, unit: int) -> dict[int, frozenset[int]]:
        body = self._lines.kernel.units[unit].body
        if len(body) > _MOST:
            return {}
        after = {pc: self._next(unit, pc, len(body)) for pc in range(len(body))}
        behind = _postdominators(after, len(body))
        branches = [pc for pc, targets in after.items() if len(targets) > 1]
        found: dict[int, set[int]] = {}
        for branch in branches:
            strict = behind[branch] & ~(1 << branch)
            for target in after[branch]:
                bits = behind[target] & ~strict
                while bits:
                    low = bits & -bits
                    found.setdefault(low.bit_length() - 1, set()).add(branch)
                    bits ^= low
        return {pc: frozenset(deciding) for pc, deciding in found.items()}

    def _next(self, unit: int, pc: int, end: int) -> tuple[int, ...]:
        """Return what may be executed after an instruction; `end` is behind all."""
        labels = self._lines.kernel.units[unit].labels
        for effect in self._lines.effects((unit, pc)):
            match effect:
                case Goto(label, _, mask):
                    return (labels[label],) if mask is None else (labels[label], pc + 1)
                case Jump(label, condition):
                    return (labels[label],) if condition is None else (labels[label], pc + 1)
                case Switch(names):
                    return tuple(dict.fromkeys(labels[name] for name in names))
                case Return(_, mask) | FunctionReturn(_, mask):
                    return (end,) if mask is None else (end, pc + 1)
                case _:
                    pass
        return (pc + 1,)


def _postdominators(after: dict[int, tuple[int, ...]], end: int) -> list[int]:
    """Return for each instruction those that every way from it comes by, as bits."""
    everything = (1 << (end + 1)) - 1
    found = [everything] * end + [1 << end]
    changed = True
    while changed:
        changed = False
        for pc in range(end - 1, -1, -1):
            bits = everything
            for target in after[pc]:
                bits &= found[target]
            bits |= 1 << pc
            if bits != found[pc]:
                found[pc] = bits
                changed = True
    return found


__all__ = ["Branches"]
