"""General variables that a unit reads although nothing writes them, and the rule against them.

A compiler that drops instructions leaves those that use their results, and who writes texts by hand
forgets some. What a unit computes from such a variable is what registers happened to hold on a
device. Only operands with a region read:
messages also name registers of which they use nothing, and whatever else mentions a variable may
be what fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from operator import attrgetter
from typing import cast

from visim.check.rule import Rules, UnitSite, Wrong
from visim.diag import Severity
from visim.isa import Instruction
from visim.isa.move import AddressAdd, Compare
from visim.module import SourceLine, Unit
from visim.operands import (
    FIRST_DECLARED_GENERAL,
    AddressOf,
    General,
    GeneralDestination,
    GeneralSource,
    Immediate,
    Lifetime,
    RawOperand,
)
from visim.records import record
from visim.renaming import operand_fields

rules = Rules()

_HELP = (
    "write it before, or make it an input; where a compiler has made this, look whether it left"
    " something out, as Intel's does with pown and -cl-fast-relaxed-math, or with reads of images"
    " for pvc; or whether the source reads what has no value"
)
_WITHOUT_GENERALS = frozenset({"exec", "pred"})
_PLAIN = frozenset({type(None), bool, int, str, Immediate, Lifetime})
_FILLED = ("Input", "Input_Output")


@record
class UnwrittenRead:
    """A general variable that nothing writes, and the first instruction that reads it.

    `variable` is the one that the instruction names, which may be an alias; `line` the source line
    of which a compiler made it, if the unit says so.
    """

    variable: General
    instruction: Instruction
    line: SourceLine | None = None


@rules.unit(
    "unwritten-variable",
    "vISA 4, General Variables",
    severity=Severity.WARNING,
    failing="mov (M1, 8) D(0,0)<1> UD(0,0)<1;1,0>\nret (M1, 1)",
    passing=".input UD offset=64 size=256\nmov (M1, 8) D(0,0)<1> UD(0,0)<1;1,0>\nret (M1, 1)",
)
def variables_are_written(at: UnitSite) -> Iterator[Wrong]:
    """Something writes each variable that a kernel or function reads, or it is an input.

    Where nothing does, a compiler has lost code, or the source reads what has no value. Registers
    that nothing has written are 0 in visim; on a device they hold anything.
    """
    for read in unwritten_reads(at.unit):
        where = "" if read.line is None else f" ({read.line})"
        text = f"reads {read.variable.name}, which nothing writes; its value is 0{where}"
        yield Wrong(text, _HELP, read.instruction.origin)


def unwritten_reads(unit: Unit) -> list[UnwrittenRead]:
    """Return the variables that a unit reads and nothing writes, in the order of their reads.

    Aliases of one variable are one variable. Those that the machine, the file or a caller fills
    are written. A read does not count whose value changes nothing, or begins an array.
    """
    missing = _never_written(unit)
    return list(_first_reads(unit, missing)) if missing else []


def _never_written(unit: Unit) -> set[int]:
    """Return the indices of the variables, none of which is an alias, that are only read."""
    read, mentioned = _indices(unit.body)
    mentioned.update(one.variable.index for one in unit.inputs if isinstance(one.variable, General))
    for one in unit.generals:
        if one.attributes and any(entry.name in _FILLED for entry in one.attributes):
            mentioned.add(one.index)
    roots = {one.index: one.root()[0].index for one in unit.generals}
    owners = {roots[index] for index in read if index in roots}
    owners.difference_update(roots[index] for index in mentioned if index in roots)
    return {index for index in owners if index >= FIRST_DECLARED_GENERAL}


def _indices(body: tuple[Instruction, ...]) -> tuple[set[int], set[int]]:
    """Return the indices of the variables that are read, and of those mentioned in other ways.

    All programs that are loaded come along here, so it takes a microsecond an instruction.
    """
    read, mentioned = set[int](), set[int]()
    for item in body:
        for value in _operands_of(type(item))(item):
            if isinstance(value, GeneralSource):
                read.add(value.variable.index)
            elif isinstance(value, (GeneralDestination, RawOperand, AddressOf)):
                mentioned.add(value.variable.index)
            elif type(value) not in _PLAIN:
                for inner in _variables(value):
                    into = read if isinstance(inner, GeneralSource) else mentioned
                    into.add(_general(inner).index)
        if type(item) is AddressAdd and isinstance(item.src0, GeneralSource):
            mentioned.add(item.src0.variable.index)
    return read, mentioned


@cache
def _operands_of(form: type[Instruction]) -> Callable[[Instruction], tuple[object, ...]]:
    """Return what gives the operands of an instruction that may have general variables."""
    names = [name for name in operand_fields(form) if name not in _WITHOUT_GENERALS]
    if not names:
        return lambda item: ()
    if len(names) == 1:
        alone = attrgetter(names[0])
        return lambda item: (alone(item),)
    return attrgetter(*names)


def _variables(value: object) -> Iterator[GeneralSource | General]:
    """Yield the sources that a value consists of, and general variables that stand elsewhere."""
    if isinstance(value, (GeneralSource, General)):
        yield value
    elif isinstance(value, tuple):
        for entry in cast("tuple[object, ...]", value):
            yield from _variables(entry)
    elif type(value) not in _PLAIN and is_dataclass(value) and not isinstance(value, type):
        for name in operand_fields(type(value)):
            yield from _variables(getattr(value, name))


def _general(found: GeneralSource | General) -> General:
    return found.variable if isinstance(found, GeneralSource) else found


def _first_reads(unit: Unit, missing: set[int]) -> Iterator[UnwrittenRead]:
    left, lines, arrays = set(missing), unit.source_lines(), _addressed(unit.body)
    for item, line in zip(unit.body, lines, strict=True):
        if not left:
            return
        if _begins_array(item, arrays):
            continue
        for value in _operands_of(type(item))(item):
            for inner in _variables(value):
                variable = _general(inner)
                owner = variable.root()[0].index
                if owner in left and not _changes_nothing(item):
                    left.remove(owner)
                    yield UnwrittenRead(variable, item, line)


def _addressed(body: tuple[Instruction, ...]) -> set[int]:
    """Return the indices of the variables whose addresses are taken, none of them an alias."""
    found = (item.src0 for item in body if type(item) is AddressAdd)
    return {one.variable.root()[0].index for one in found if isinstance(one, AddressOf)}


def _begins_array(item: Instruction, arrays: set[int]) -> bool:
    """Tell whether an instruction copies something to a variable that is filled by address.

    Compilers do so with a variable that nothing writes where a vector or an array without a value
    is filled element by element.
    """
    target = getattr(item, "dst", None) if item.op.mnemonic == "mov" else None
    return isinstance(target, GeneralDestination) and target.variable.root()[0].index in arrays


def _changes_nothing(item: Instruction) -> bool:
    """Tell whether an instruction does the same whatever its sources hold.

    Compilers write %null to wait for a message, and compare an integer to itself for a predicate
    that is always true.
    """
    if isinstance(item, Compare):
        first = item.src0
        is_exact = isinstance(first, GeneralSource) and not first.variable.type.is_float
        return is_exact and first == item.src1
    target = getattr(item, "dst", None) if item.op.mnemonic == "mov" else None
    return isinstance(target, GeneralDestination) and target.variable.index == 0
