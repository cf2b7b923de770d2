"""Divisions of integers where the device has none: the branch that compilers take for zero.

Devices since Xe-HP divide integers by reciprocals of floats. The compiler compares the divisor with
zero first, and goes around all that to where the result is all ones:

    cmp.eq P1 divisor 0
    (P1) goto zero
    ... inv ...
    goto further
  zero:
    mov quotient -1
  further:

Numbers of 64 bits are converted to double, then to float for the reciprocal; of unsigned ones zero
is not asked for.
"""

from __future__ import annotations

from visim.isa import Instruction
from visim.isa.forms import FileMark, LabelMark, LineMark
from visim.linker.program import LinkedUnit
from visim.operands import (
    General,
    GeneralDestination,
    GeneralSource,
    Immediate,
    PredicateOperand,
)
from visim.types import DF, DataType

_MOST_BETWEEN = 4
"""Instructions that may stand between the comparison and the branch."""
_ALL_ONES = frozenset((1 << bits) - 1 for bits in (8, 16, 32, 64))
_INVERSE = "inv"


def divisions(unit: LinkedUnit) -> frozenset[int]:
    """Return the program counters of the branches that are taken where a divisor is zero."""
    return frozenset(
        pc
        for pc, item in enumerate(unit.body)
        if item.op.mnemonic == "goto" and _is_division(unit, pc, item)
    )


def reciprocals(unit: LinkedUnit) -> frozenset[int]:
    """Return the program counters of the reciprocals that divisions of 64-bit integers take."""
    made: dict[object, tuple[Instruction, ...]] = {}
    found: set[int] = set()
    for pc, item in enumerate(unit.body):
        if isinstance(item, LabelMark):
            made.clear()
        source, destination = getattr(item, "src0", None), getattr(item, "dst", None)
        if not isinstance(destination, GeneralDestination):
            continue
        before = made.get(_root(source.variable), ()) if isinstance(source, GeneralSource) else ()
        if item.op.mnemonic == _INVERSE:
            types = [_source_type(one) for one in before]
            if DF in types and any(kind is not None and kind.is_integer for kind in types):
                found.add(pc)
        is_move = item.op.mnemonic == "mov"
        made[_root(destination.variable)] = (*before, item) if is_move else ()
    return frozenset(found)


def _root(variable: General) -> int:
    return variable.root()[0].index


def _source_type(item: Instruction) -> DataType | None:
    source = getattr(item, "src0", None)
    return source.variable.type if isinstance(source, GeneralSource) else None


def _is_division(unit: LinkedUnit, pc: int, item: Instruction) -> bool:
    predication = getattr(item, "pred", None)
    target = unit.labels.get(getattr(item, "label", ""))
    if predication is None or target is None or target <= pc:
        return False
    return (
        _compares(unit, pc, predication.variable)
        and _is_answer(unit, target)
        and any(one.op.mnemonic == _INVERSE for one in unit.body[pc + 1 : target])
        and _is_same_line(unit, pc, target)
    )


def _compares(unit: LinkedUnit, pc: int, variable: object) -> bool:
    """Whether a predicate says before `pc` how something compares with a number.

    It is zero mostly; what was shifted or divided itself is below a number then.
    """
    for item in reversed(unit.body[max(0, pc - _MOST_BETWEEN) : pc]):
        destination = getattr(item, "dst", None)
        if isinstance(destination, PredicateOperand) and destination.variable is variable:
            return isinstance(getattr(item, "src1", None), Immediate)
    return False


def _is_same_line(unit: LinkedUnit, pc: int, target: int) -> bool:
    """Whether the branch and what it leads to are of one line of the source."""
    lines = unit.unit.source_lines()
    behind = next(
        (n for n in range(target, len(unit.body)) if unit.body[n].op.mnemonic == "mov"), target
    )
    return lines[pc] == lines[behind]


def _is_answer(unit: LinkedUnit, target: int) -> bool:
    """Whether nothing is done behind a label but to set a result to all ones."""
    moves = 0
    for item in unit.body[target + 1 :]:
        source = getattr(item, "src0", None)
        if isinstance(item, LineMark | FileMark):
            continue
        if item.op.mnemonic != "mov" or not isinstance(source, Immediate):
            return moves > 0 and (isinstance(item, LabelMark) or item.op.mnemonic == "goto")
        if source.bits not in _ALL_ONES:
            return False
        moves += 1
    return False


__all__ = ["divisions", "reciprocals"]
