"""Effects of an instruction as values of MIR: messages in order, then what it writes."""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.lift.expressions import Values
from visim.engine.jit.mir.attributes import Ask, Bank
from visim.engine.jit.mir.attributes import Message as Attribute
from visim.engine.jit.mir.errors import NotLifted
from visim.engine.jit.mir.values import Value
from visim.sem.effects import (
    Atomic,
    Effect,
    Fence,
    Load,
    LoadBlock,
    Message,
    Rectangle,
    RegisterWrite,
    Request,
    Store,
    StoreBlock,
    Watch,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr
from visim.sem.requests import BlockLoad


def lift_effects(values: Values, effects: Sequence[Effect]) -> None:
    """Make the values of an instruction's effects, but for transfers of control."""
    for effect in effects:
        match effect:
            case Load() | LoadBlock() | Store() | StoreBlock() | Atomic() | Request():
                _message(values, effect)
            case Fence():
                values.draft.make("fence", None, 0, pc=values.pc)
            case Watch():
                raise NotLifted("observers watch what it does")
            case _:
                pass
    writes = [effect for effect in effects if isinstance(effect, RegisterWrite)]
    found = [(one, values.value(one.value), values.mask(one.mask)) for one in writes]
    scattered = {
        one: values.value(one.addresses) for one in writes if isinstance(one, WriteIndirect)
    }
    for write, value, mask in found:
        match write:
            case WriteRegister():
                values.write(write, value, mask)
            case WritePredicate(variable, offset):
                _element(values, Bank.PREDICATE, variable.name, offset, value, mask)
            case WriteAddress(variable, element):
                _element(values, Bank.ADDRESS, variable.name, element, value, mask)
            case WriteState(variable, element):
                _element(values, Bank.STATE, variable.name, element, value, mask)
            case WriteIndirect():
                args = (scattered[write], value) + (() if mask is None else (mask,))
                values.draft.make("scatter", None, 0, args, pc=values.pc)


def _element(
    values: Values, bank: Bank, name: str, first: int, value: Value, mask: Value | None
) -> None:
    """Write elements of a variable of another bank."""
    web = values.state.other(bank, name)
    picks = tuple(range(first, first + value.lanes))
    values.insert(web, picks, values.bitcast(value, web.kind), mask)


def _message(values: Values, effect: Message) -> None:
    if isinstance(effect, Request):
        _request(values, effect)
        return
    rectangle = getattr(effect, "rectangle", None)
    if isinstance(rectangle, Rectangle) and rectangle.parts:
        raise NotLifted("2D blocks that are moved register by register, as faults show")
    surface = effect.surface
    count, detail, kind, lanes = 1, "", None, 0
    match effect:
        case Load(addresses=addresses, type=kind, components=count):
            op, where, given, lanes = "load", addresses, (), addresses.lanes * count
        case LoadBlock(address=address, type=kind, count=lanes):
            op, where, given = "load_block", address, ()
            count = lanes
        case Store(addresses=addresses, values=given):
            op, where, count = "store", addresses, len(given)
        case StoreBlock(address=address, value=value):
            op, where, given = "store_block", address, (value,)
            count = value.lanes
        case Atomic(addresses=addresses, type=kind, operands=given):
            op, where, lanes = "atomic", addresses, addresses.lanes
            detail = str(effect.operation)
    args = _operands(values, surface, where, *given, effect.mask)
    attribute = Attribute(effect.space, count, surface is not None, effect.mask is not None, detail)
    found = values.draft.make(op, kind, lanes, args, attribute, pc=values.pc)
    if kind is None:
        return
    if rectangle is not None and effect.mask is not None:
        found = _zero_outside(values, found, effect.mask)
    values.loaded[effect] = found


def _zero_outside(values: Values, found: Value, mask: Expr) -> Value:
    """Return what a 2D block has loaded: zeros in lanes that are not of its surface."""
    on, lanes = values.value(mask), found.lanes
    on = values.take(on, tuple(range(on.lanes)) * (lanes // on.lanes))
    zeros = values.draft.make("constant", found.type, lanes, attribute=0)
    return values.draft.make("select", found.type, lanes, (on, found, zeros))


def _operands(values: Values, *exprs: Expr | None) -> tuple[Value, ...]:
    return tuple(values.value(expr) for expr in exprs if expr is not None)


def _request(values: Values, effect: Request) -> None:
    operation = effect.operation
    args = _operands(values, effect.surface, effect.sampler, *effect.values, effect.mask)
    attribute = Ask(operation, effect.sampler is not None, effect.mask is not None)
    if not operation.columns:
        values.draft.make("request_store", None, 0, args, attribute, pc=values.pc)
        return
    lanes = effect.values[0].lanes * operation.columns
    if isinstance(operation, BlockLoad):
        lanes = operation.width * operation.height
    kind = operation.type
    values.loaded[effect] = values.draft.make("request", kind, lanes, args, attribute, pc=values.pc)


__all__ = ["lift_effects"]
