"""How old the loads are on which values depend: of this turn of a loop, of turns before, of none.

What channels have loaded each for itself are data: nobody knows before what they will be.
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

NEW, OLD = 1, 2
"""Loads of this turn, and of turns before."""

_Holder = What | str
"""What holds values: parts of variables, predicates."""


@dataclass
class Ages:
    """How old the loads are on which rows, other parts of variables and predicates depend.

    They are kept for each variable, and for each predicate.
    """

    known: dict[int | str, dict[_Holder, int]] = field(
        default_factory=dict[int | str, dict[_Holder, int]]
    )

    def __len__(self) -> int:
        return sum(map(len, self.known.values()))

    def copy(self) -> Ages:
        """Return the same as another object."""
        return Ages({name: dict(parts) for name, parts in self.known.items()})

    def of(self, holder: _Holder) -> int:
        """Return the age of what is held there, 0: that of no load."""
        parts = self.known.get(_name(holder), {})
        if holder in parts or isinstance(holder, str):
            return parts.get(holder, 0)
        found = (
            age for one, age in parts.items() if not isinstance(one, str) and overlap(one, holder)
        )
        return max(found, default=0)

    def note(self, holder: _Holder, age: int) -> None:
        """Note of what age the loads are on which something depends."""
        self.known.setdefault(_name(holder), {})[holder] = age

    def older(self) -> list[_Holder]:
        """Return what depends on loads."""
        return [one for parts in self.known.values() for one, age in parts.items() if age]


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
        return age_of(expr, self._known) > 0

    @cached_property
    def _known(self) -> Ages:
        steps = [step for node in self.flow.nodes.values() for step in node.block.steps]
        known = Ages()
        while True:
            size = len(known)
            for step in steps:
                for what in [what for what, age in written(step, known) if age]:
                    known.note(what, OLD)
            if len(known) == size:
                return known


def written(step: Step, known: Ages) -> list[tuple[_Holder, int]]:
    """Return what an instruction writes, and of what age the loads are that it depends on."""
    found = list[tuple[_Holder, int]]()
    for write in step.effects:
        if not isinstance(write, WriteRegister | WritePredicate):
            continue
        what = part_of(write.place) if isinstance(write, WriteRegister) else write.variable.name
        ages = [age_of(write.value, known)]
        if write.mask is not None and channel_of(write.mask) is None:
            ages += [age_of(write.mask, known), known.of(what)]
        found.append((what, max(ages)))
    return found


def age_of(expr: Expr, known: Ages) -> int:
    """Return the age of the oldest load that an expression depends on.

    It is 0 if there is none, and for blocks, which all channels share.
    """
    match expr.uop.name:
        case "loaded":
            return 0 if isinstance(expr.attribute[0], LoadBlock) else NEW
        case "read":
            return known.of(part_of(expr.attribute))
        case "predicate":
            return known.of(expr.attribute[0].name)
        case _:
            return max((age_of(arg, known) for arg in expr.args), default=0)
