"""The instrument of what is undefined: tells of the lanes in which it happens.

What an instruction computes says itself where it is undefined: quotients, shifted and converted
values are micro-operations. Compilers' own divisions are found by their form (`divisions`).
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.isa import Instruction
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import GeneralSource
from visim.predefined import BY_NAME
from visim.sanitize.bounds.instrument import (
    Access,
    access_bytes,
    address_of,
    element_bytes,
    group_of_thread,
)
from visim.sanitize.undefined.divisions import divisions, reciprocals
from visim.sanitize.undefined.prints import Prints
from visim.sem.effects import (
    Atomic,
    Effect,
    Goto,
    Load,
    RegisterWrite,
    Space,
    Store,
    Watch,
    WriteRegister,
    operands,
)
from visim.sem.expr import UOPS, Expr, below, lane_numbers
from visim.sem.tracer import Tracer
from visim.types import UQ, DataType, F

PREFIX = "undefined "
DIVISION, SHIFT, CONVERSION, ALIGNMENT, NULL, PRINTF = (
    PREFIX + kind
    for kind in (
        "division-by-zero",
        "shift-range",
        "conversion-range",
        "misaligned",
        "null-operand",
        "printf-overflow",
    )
)
_SHIFTS = frozenset({"shl", "shr", "asr"})
_SCALED = frozenset({"gather4_scaled", "scatter4_scaled"})
"""Messages of one element a lane that want it aligned; others of one element may be anywhere."""
_ALIGNED = frozenset({Space.FLAT, Space.SURFACE, Space.SLM})


class UndefinedInstrument:
    """Tells where an instruction does what languages leave undefined.

    Args:
        prints: where it prints.
        has_groups: whether r0 has the coordinates of groups.
    """

    def __init__(self, prints: Prints, *, has_groups: bool) -> None:
        self.name = f"undefined, printf of {prints.size} at {prints.name}"
        self._prints = prints
        self._group = group_of_thread() if has_groups else None
        self._divisions: dict[int, tuple[frozenset[int], frozenset[int]]] = {}

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction, with notes of what is undefined."""
        del kernel
        item = unit.body[pc]
        found = list[Effect]()
        if _reads_null(item):
            found.append(self._note(NULL, None, 1))
        if pc in self._of(unit)[1]:
            found += self._reciprocal(effects)
        writes = [effect for effect in effects if isinstance(effect, RegisterWrite)]
        for effect in effects:
            if isinstance(effect, Goto):
                found += self._branch(unit, pc, effect)
            if isinstance(effect, Access):
                found += self._access(item, effect)
            if not isinstance(effect, RegisterWrite):
                found.append(effect)
            if isinstance(effect, Access):
                found += self._printed(unit, effect)
        for write in writes:
            found += self._computed(item, write)
        return (*found, *writes)

    def _note(self, name: str, mask: Expr | None, lanes: int, values: Expr | None = None) -> Watch:
        told = lane_numbers(lanes).to(UQ) if values is None else values
        return Watch(name, told, mask, self._group)

    # Values

    def _computed(self, item: Instruction, write: RegisterWrite) -> Iterator[Watch]:
        saturates = getattr(getattr(item, "dst", None), "saturate", False)
        for expr in below([write.value]):
            name, wrong = None, None
            if expr.uop.name in {"div", "rem"}:
                name, wrong = DIVISION, expr.args[1].eq(0)
            elif expr.uop.name in {"shl", "shr"} and item.op.mnemonic in _SHIFTS:
                name, wrong = SHIFT, _too_far(expr.args[1])
            elif expr.uop.name == "convert" and not saturates:
                name, wrong = CONVERSION, _unconvertible(expr)
            if name is None or wrong is None or wrong.lanes != write.value.lanes:
                continue
            mask = wrong if write.mask is None else write.mask & wrong
            yield self._note(name, mask, wrong.lanes)

    def _branch(self, unit: LinkedUnit, pc: int, effect: Goto) -> Iterator[Watch]:
        if effect.mask is None or pc not in self._of(unit)[0]:
            return
        lanes = effect.mask.lanes
        mask = Tracer.execution(effect.offset, lanes) & effect.mask
        yield self._note(DIVISION, mask, lanes)

    def _reciprocal(self, effects: tuple[Effect, ...]) -> Iterator[Watch]:
        for effect in effects:
            read = [one for one in below(operands(effect)) if one.uop.name == "read"]
            if isinstance(effect, WriteRegister) and len(read) == 1:
                wrong = read[0].eq(0)
                mask = wrong if effect.mask is None else effect.mask & wrong
                yield self._note(DIVISION, mask, wrong.lanes)

    def _of(self, unit: LinkedUnit) -> tuple[frozenset[int], frozenset[int]]:
        """Return where a unit branches for a divisor of zero, and where it takes reciprocals."""
        found = self._divisions.get(unit.number)
        if found is None:
            found = self._divisions[unit.number] = divisions(unit), reciprocals(unit)
        return found

    # Memory

    def _access(self, item: Instruction, effect: Access) -> Iterator[Watch]:
        size = element_bytes(effect)
        is_one = isinstance(effect, Load | Store) and access_bytes(effect) == size
        if (
            size == 1
            or effect.space not in _ALIGNED
            or (is_one and item.op.mnemonic not in _SCALED)
        ):
            return
        if isinstance(effect, Load | Store) and (effect.rectangle or effect.shape):
            return
        where = address_of(effect)
        wrong = (where & (size - 1)).ne(0)
        mask = wrong if effect.mask is None else effect.mask & wrong
        yield self._note(ALIGNMENT, mask, wrong.lanes, where.to(UQ))

    def _printed(self, unit: LinkedUnit, effect: Access) -> Iterator[Watch]:
        """Tell where a record has no room in the buffer of printf."""
        if not isinstance(effect, Atomic) or not self._prints.reserves(unit, effect):
            return
        lanes = effect.addresses.lanes
        old = Expr(UOPS["loaded"], effect.type, lanes, (), (effect, 0))
        end = old + effect.operands[0]
        wrong = end.gt(self._prints.size) | end.lt(old)
        mask = wrong if effect.mask is None else effect.mask & wrong
        yield self._note(PRINTF, mask, lanes)


def _too_far(count: Expr) -> Expr | None:
    """Return where a count of bits to shift by was cut off; None where it never is."""
    while count.uop.name in {"convert", "bitcast"}:
        count = count.args[0]
    if count.uop.name != "and" or count.args[1].uop.name != "constant":
        return None
    given, most = count.args[0], count.args[1].attribute
    if given.uop.name == "constant":
        return None
    return given.gt(most) if not given.type.is_signed else given.gt(most) | given.lt(0)


def _unconvertible(expr: Expr) -> Expr | None:
    """Return where a float is no value of the integer type that it is converted to.

    The first number above the type's range is let through: `convert_int_sat` clamps to it.
    """
    (value,) = expr.args
    kind = expr.type
    if not value.type.is_float or not kind.is_integer or value.uop.name == "constant":
        return None
    low, high = _range(kind)
    if value.type.bits < F.bits:
        value = value.to(F)
    inside = value.le(high) & (value.ge(low) if kind.is_signed else value.gt(low))
    return ~inside


def _range(kind: DataType) -> tuple[float, float]:
    """Return the lowest value, of an unsigned type what is below it, and what is above all."""
    if kind.is_signed:
        return -float(2 ** (kind.bits - 1)), float(2 ** (kind.bits - 1))
    return -1.0, float(2**kind.bits)


def _reads_null(item: Instruction) -> bool:
    """Whether an operand that is computed with is %null, of whose value nothing is said."""
    null = BY_NAME["%null"].index
    return any(
        isinstance(source, GeneralSource) and source.variable.root()[0].index == null
        for source in (getattr(item, name, None) for name in ("src0", "src1", "src2"))
    )


__all__ = [
    "ALIGNMENT",
    "CONVERSION",
    "DIVISION",
    "NULL",
    "PREFIX",
    "PRINTF",
    "SHIFT",
    "UndefinedInstrument",
]
