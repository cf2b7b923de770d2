"""Lane-wise instructions: they compute each channel from the same channel of other variables.

What is the same for all channels may be an operand too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.analysis.callouts import follows_mode, needs_interpreter
from visim.engine.jit.analysis.lanes import Row, row_of
from visim.engine.jit.ir.places import is_repeated
from visim.operands import FIRST_DECLARED_GENERAL, General
from visim.sem.effects import Effect, Load, Place, WritePredicate, WriteRegister
from visim.sem.expr import Expr
from visim.sem.uops import Group

Bits = tuple[str, int]
"""Bits of a predicate variable from a number on, one for each channel."""


@dataclass
class Accesses:
    """What one instruction reads and writes.

    Places come with their rows, None where all channels read the same; `kept` are those in which
    channels that a write is not for keep what they have.
    """

    reads: list[tuple[Place, Row | None]] = field(default_factory=list[tuple[Place, "Row | None"]])
    writes: list[tuple[Place, Row | None]] = field(default_factory=list[tuple[Place, "Row | None"]])
    kept: list[tuple[Place, Row | None]] = field(default_factory=list[tuple[Place, "Row | None"]])
    read_bits: list[Bits] = field(default_factory=list[Bits])
    written_bits: list[Bits] = field(default_factory=list[Bits])


class LaneWise:
    """Tells which instructions are lane-wise.

    Args:
        keeps_others: whether a write has to keep what lanes have that it is not for.
        dynamic: whether only the running program knows how floats are rounded.
    """

    def __init__(self, keeps_others: Callable[[WriteRegister], bool], *, dynamic: bool) -> None:
        self._keeps_others = keeps_others
        self._dynamic = dynamic

    def accesses(self, effects: Sequence[Effect], lanes: int) -> Accesses | None:
        """Return what effects read and write; None unless each of `lanes` lanes is on its own."""
        found = Accesses()
        seen: set[Expr] = set()
        for effect in effects:
            if not isinstance(effect, Load | WriteRegister | WritePredicate):
                return None
            value = effect.addresses if isinstance(effect, Load) else effect.value
            roots = (value,) if effect.mask is None else (value, effect.mask)
            if not all(self.stays(root, lanes, found, seen) for root in roots):
                return None
            if isinstance(effect, WritePredicate):
                found.written_bits.append((effect.variable.name, effect.offset))
            elif isinstance(effect, WriteRegister) and not self._write(effect, found):
                return None
        return found

    def _write(self, effect: WriteRegister, found: Accesses) -> bool:
        """Note what is written, if it is a row."""
        row = row_of(effect.place)
        if row is None:
            return False
        found.writes.append((effect.place, row))
        if self._keeps_others(effect):
            found.kept.append((effect.place, row))
        return True

    def stays(self, expr: Expr, lanes: int, found: Accesses, seen: set[Expr]) -> bool:
        """Whether every channel of an expression depends on the same channel of others."""
        if expr in seen:
            return True
        seen.add(expr)
        if needs_interpreter(expr) or (self._dynamic and follows_mode(expr)):
            return False
        if expr.uop.name == "broadcast" and expr.args[0].lanes == 1:
            return is_uniform_value(expr.args[0], found)
        if expr.lanes != lanes:
            return False
        if expr.uop.group is Group.LEAF:
            return _is_lane_wise_leaf(expr, found)
        if expr.uop.crosses:
            return False
        return all(self.stays(arg, lanes, found, seen) for arg in expr.args)


def is_own(variable: General) -> bool:
    """Whether only one unit has a variable."""
    return variable.index >= FIRST_DECLARED_GENERAL and not variable.is_file_scope


def is_uniform_value(expr: Expr, found: Accesses, *, loads: bool = False) -> bool:
    """Whether a value of one lane is made of registers, which are noted, and constants.

    With `loads` it may be made of what its instruction loads, too.
    """
    leaves = {"constant", "loaded"} if loads else {"constant"}
    for node in (expr, *_below(expr)):
        if node.lanes != 1 or needs_interpreter(node):
            return False
        if node.uop.name == "read":
            found.reads.append((node.attribute, None))
        elif node.uop.group is Group.LEAF and node.uop.name not in leaves:
            return False
    return True


def _is_lane_wise_leaf(expr: Expr, found: Accesses) -> bool:
    match expr.uop.name:
        case "constant" | "address" | "function" | "loaded":
            return True
        case "execution":
            return expr.attribute == 0
        case "predicate":
            variable, offset = expr.attribute
            found.read_bits.append((variable.name, offset))
            return True
        case "read":
            place: Place = expr.attribute
            row = row_of(place)
            found.reads.append((place, row))
            return row is not None or is_repeated(place)
        case _:
            return False


def _below(expr: Expr) -> Iterator[Expr]:
    for arg in expr.args:
        yield arg
        yield from _below(arg)
