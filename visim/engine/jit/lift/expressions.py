"""Expressions of an instruction as values of MIR: what they read becomes values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from visim.engine.jit.lift.drafts import Draft, Drafts
from visim.engine.jit.lift.state import CONTROL, Mask, State
from visim.engine.jit.lift.webs import Web, access_of, variable_of
from visim.engine.jit.mir.attributes import Attribute, Bank, Home
from visim.engine.jit.mir.errors import NotLifted
from visim.engine.jit.mir.ops import ANY_MODE, NO_MODE, OPS, STATE, follows_mode
from visim.engine.jit.mir.values import Value
from visim.sem.effects import Message, Place, WriteRegister
from visim.sem.expr import Expr
from visim.sem.uops import Role, total
from visim.types import BOOL, UD, DataType


@dataclass
class Values:
    """Makes the values of one instruction's expressions, each once.

    `mode` are the bits of %cr0, `ANY_MODE` where they are not known. `loaded` are results of
    messages, first the first element of all lanes.
    """

    state: State
    drafts: Drafts
    draft: Draft
    mode: int
    pc: int
    loaded: dict[Message, Value] = field(default_factory=dict[Message, Value])
    _known: dict[Expr, Value] = field(default_factory=dict[Expr, Value])

    def value(self, expr: Expr) -> Value:
        """Return the value of an expression."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = _TABLE[expr.uop.name](self, expr)
        return found

    def mask(self, expr: Expr | None) -> Value | None:
        """Return the value of a mask, None where there is none."""
        return None if expr is None else self.value(expr)

    # Helpers

    def take(self, value: Value, lanes: tuple[int, ...]) -> Value:
        """Return lanes of a value."""
        if lanes == tuple(range(value.lanes)):
            return value
        if len(lanes) > 1 and len(set(lanes)) == 1:
            one = self.take(value, lanes[:1])
            return self.draft.make("broadcast", value.type, len(lanes), (one,))
        return self.draft.make("take", value.type, len(lanes), (value,), lanes)

    def bitcast(self, value: Value, kind: DataType) -> Value:
        """Return the bits of a value as another type."""
        if value.type is kind:
            return value
        return self.draft.make("bitcast", kind, value.lanes, (value,))

    def constant(self, number: int, kind: DataType, lanes: int) -> Value:
        """Return a number in all lanes."""
        return self.draft.make("constant", kind, lanes, attribute=number)

    def wide(self, mask: Value, offset: int, lanes: int) -> Value:
        """Return a mask that begins at a channel as one of all channels; others are off."""
        parts = [self.constant(0, BOOL, offset)] if offset else []
        kept = self.take(mask, tuple(range(min(mask.lanes, lanes - offset))))
        parts.append(kept)
        rest = lanes - offset - kept.lanes
        parts += [self.constant(0, BOOL, rest)] if rest > 0 else []
        if len(parts) == 1:
            return parts[0]
        return self.draft.make("concat", BOOL, lanes, tuple(parts))

    def active(self) -> Value:
        """Return the mask of active channels."""
        return self.drafts.read(self.draft, Mask("active"))

    # Registers

    def read(self, place: Place) -> Value:
        """Return the elements of a place."""
        if self.state.is_in_memory(place):
            home = Home(*variable_of(place), access_of(place)[0])
            return self.draft.make("peek", place.type, place.lanes, attribute=home, pc=self.pc)
        web = self.state.webs.of(place)
        found = self.take(self.drafts.read(self.draft, web), web.picks(access_of(place)))
        if found.lanes != place.lanes:
            return self.draft.make("regroup", place.type, place.lanes, (found,))
        return self.bitcast(found, place.type)

    def write(self, write: WriteRegister, value: Value, mask: Value | None) -> None:
        """Write the elements of a place, where a mask is on."""
        place, draft = write.place, self.draft
        value = self.bitcast(value, place.type)
        if self.state.is_in_memory(place):
            home = Home(*variable_of(place), access_of(place)[0])
            args = (value,) if mask is None else (value, mask)
            draft.make("poke", None, 0, args, home, pc=self.pc)
            return
        web = self.state.webs.of(place)
        picks = web.picks(access_of(place))
        parts = len(picks) // value.lanes
        if parts == 1:
            value = self.bitcast(value, web.kind)
        else:
            value = draft.make("regroup", web.kind, len(picks), (value,))
            if mask is not None:
                lanes = tuple(lane for lane in range(mask.lanes) for _ in range(parts))
                mask = self.take(mask, lanes)
        self.insert(web, picks, value, mask)

    def insert(self, web: Web, picks: tuple[int, ...], value: Value, mask: Value | None) -> None:
        """Write lanes of a web, where a mask is on; of lanes that are the same the last one."""
        if len(set(picks)) < len(picks):
            for lane, pick in enumerate(picks):
                bit = None if mask is None else self.take(mask, (lane,))
                self.insert(web, (pick,), self.take(value, (lane,)), bit)
            return
        whole = picks == tuple(range(web.lanes))
        if not whole or mask is not None:
            old = self.drafts.read(self.draft, web)
            if mask is not None:
                args = (mask, value, self.take(old, picks))
                value = self.draft.make("select", value.type, value.lanes, args)
            if not whole:
                value = self.draft.make("insert", web.kind, web.lanes, (old, value), picks)
        self.draft.write(web, value)

    def elements(self, bank: Bank, name: str, first: int, lanes: int) -> Value:
        """Return elements of a variable of another bank."""
        web = self.state.other(bank, name)
        return self.take(self.drafts.read(self.draft, web), tuple(range(first, first + lanes)))


def _operation(values: Values, expr: Expr) -> Value:
    """Return the value of what is an operation of MIR as well."""
    args = tuple(values.value(arg) for arg in expr.args)
    op, attribute = OPS[expr.uop.name], expr.attribute
    if isinstance(attribute, Role):
        attribute = attribute.name.lower()
    mode = NO_MODE
    if follows_mode(op, expr.type, [arg.type for arg in expr.args], attribute):
        mode = values.mode
        if mode == ANY_MODE:
            args = (*args, values.read(CONTROL))
    return values.draft.make(op.name, expr.type, expr.lanes, args, attribute, mode)


def _take(values: Values, expr: Expr) -> Value:
    return values.take(values.value(expr.args[0]), expr.attribute)


def _vector(values: Values, expr: Expr) -> Value:
    numbers: Attribute = tuple(expr.attribute)
    return values.draft.make("vector", expr.type, expr.lanes, attribute=numbers)


def _read(values: Values, expr: Expr) -> Value:
    return values.read(expr.attribute)


def _fused(values: Values, expr: Expr) -> Value:
    raise NotLifted("instructions of fused pairs of threads read each other's registers")


def _gather(values: Values, expr: Expr) -> Value:
    addresses = values.value(expr.args[0])
    return values.draft.make("gather", expr.type, expr.lanes, (addresses,), pc=values.pc)


def _address(values: Values, expr: Expr) -> Value:
    variable, offset = expr.attribute
    state = values.state
    start = state.kernel.register_address(state.unit, variable) + offset
    return values.constant(start % (1 << UD.bits), UD, expr.lanes)


def _function(values: Values, expr: Expr) -> Value:
    return values.constant(values.state.kernel.address(expr.attribute), expr.type, expr.lanes)


def _elements(bank: Bank) -> Callable[[Values, Expr], Value]:
    def elements(values: Values, expr: Expr) -> Value:
        variable, first = expr.attribute
        return values.elements(bank, variable.name, first, expr.lanes)

    return elements


def _execution(values: Values, expr: Expr) -> Value:
    """Return bits of the mask of active channels; beyond the kernel's none are on."""
    first, lanes, simd = expr.attribute, expr.lanes, values.state.kernel.simd_size
    inside = max(0, min(lanes, simd - first))
    if not inside:
        return values.constant(0, BOOL, lanes)
    found = values.take(values.active(), tuple(range(first, first + inside)))
    return values.wide(found, 0, lanes)


def _loaded(values: Values, expr: Expr) -> Value:
    message, component = expr.attribute
    first = component * expr.lanes
    return values.take(values.loaded[message], tuple(range(first, first + expr.lanes)))


def _clock(values: Values, expr: Expr) -> Value:
    if expr.attribute:
        return values.constant(0, UD, expr.lanes)
    found = values.draft.make("clock", UD, 1)
    return values.draft.make("broadcast", UD, expr.lanes, (found,))


def _broadcast(values: Values, expr: Expr) -> Value:
    if expr.lanes == 1:
        return values.value(expr.args[0])
    return _operation(values, expr)


_LEAVES: dict[str, Callable[[Values, Expr], Value]] = {
    "read": _read,
    "fused": _fused,
    "gather": _gather,
    "address": _address,
    "function": _function,
    "addresses": _elements(Bank.ADDRESS),
    "state": _elements(Bank.STATE),
    "predicate": _elements(Bank.PREDICATE),
    "execution": _execution,
    "loaded": _loaded,
    "clock": _clock,
    "vector": _vector,
    "take": _take,
    "broadcast": _broadcast,
}
_TABLE: Mapping[str, Callable[[Values, Expr], Value]] = total(
    "way into MIR",
    {**{name: _operation for name, op in OPS.items() if op.uop and name not in STATE}, **_LEAVES},
)

__all__ = ["Values"]
