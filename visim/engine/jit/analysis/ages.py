"""What depends on data: on what channels have loaded, each for itself.

Nobody knows before what they will be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.analysis.lanes import Row, channel_of
from visim.engine.jit.analysis.walks import What, overlap, part_of
from visim.sem.effects import LoadBlock, WritePredicate, WriteRegister
from visim.sem.expr import Expr

_Holder = What | str
"""What holds values: parts of variables, predicates."""


@dataclass
class _Tainted:
    """Which rows, other parts of variables and predicates depend on loads.

    They are kept for each variable, and for each predicate.
    """

    known: dict[int | str, set[_Holder]] = field(default_factory=dict[int | str, set[_Holder]])

    def __len__(self) -> int:
        return sum(map(len, self.known.values()))

    def has(self, holder: _Holder) -> bool:
        """Whether what is held there depends on a load."""
        parts = self.known.get(_name(holder), set[_Holder]())
        if holder in parts or isinstance(holder, str):
            return holder in parts
        return any(not isinstance(one, str) and overlap(one, holder) for one in parts)

    def note(self, holder: _Holder) -> None:
        """Note that something depends on a load."""
        self.known.setdefault(_name(holder), set()).add(holder)


def _name(holder: _Holder) -> int | str:
    """Return the variable, or the predicate's name."""
    if isinstance(holder, str):
        return holder
    return holder.variable if isinstance(holder, Row) else holder[0]


@dataclass(frozen=True)
class Data:
    """What depends, anywhere in a unit, on what channels have loaded each for itself.

    It is found when it is first asked for.
    """

    flow: Flow

    def decide(self, expr: Expr) -> bool:
        """Whether a value depends on data."""
        return _depends(expr, self._known)

    @cached_property
    def _known(self) -> _Tainted:
        steps = [step for node in self.flow.nodes.values() for step in node.block.steps]
        known = _Tainted()
        while True:
            size = len(known)
            for step in steps:
                for what in _written(step, known):
                    known.note(what)
            if len(known) == size:
                return known


def _written(step: Step, known: _Tainted) -> list[_Holder]:
    """Return what an instruction writes that depends on loads."""
    found = list[_Holder]()
    for write in step.effects:
        if not isinstance(write, WriteRegister | WritePredicate):
            continue
        what = part_of(write.place) if isinstance(write, WriteRegister) else write.variable.name
        depends = _depends(write.value, known)
        if write.mask is not None and channel_of(write.mask) is None:
            depends = depends or _depends(write.mask, known) or known.has(what)
        if depends:
            found.append(what)
    return found


def _depends(expr: Expr, known: _Tainted) -> bool:
    """Whether an expression depends on a load, other than of a block, which all channels share."""
    match expr.uop.name:
        case "loaded":
            return not isinstance(expr.attribute[0], LoadBlock)
        case "read":
            return known.has(part_of(expr.attribute))
        case "predicate":
            return known.has(expr.attribute[0].name)
        case _:
            return any(_depends(arg, known) for arg in expr.args)
