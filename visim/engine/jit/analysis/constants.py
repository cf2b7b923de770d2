"""Bytes of variables, and bits of predicates, that are constants wherever control comes from.

Payloads of messages are put together in registers, often by products of whole vectors with a
constant and by choices between vectors, so each lane is followed by itself. What is written with
channels that may be off stays known only if it was the same before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Flow, Key, Node
from visim.engine.jit.ir.places import place_offsets
from visim.engine.jit.ir.text import signed
from visim.sem.effects import (
    CallFunction,
    Effect,
    Place,
    Return,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr
from visim.types import BOOL, DataType

Lane = int | None
"""The bits of a lane, None if they are not known."""

State = dict[tuple[int | str, int], int]
"""Known bytes by variable and offset, known bits by the name of a predicate and their number."""

_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
}
_MOST_VISITS = 20_000
"""So many instructions are followed in one unit, those of loops more than once."""


@dataclass
class Constants:
    """Follows constants through some variables of a unit, and all that these are made of.

    Args:
        flow: the unit's graph; its variables lie apart.
        full: the subroutines that always run with all channels.
        roots: the variables that are asked for.
    """

    flow: Flow
    full: set[int]
    roots: set[int]

    def __post_init__(self) -> None:
        code = self.flow.code
        self._simd, self._reached = code.kernel.simd_size, code.kernel.reached(code.unit)
        self._steps = self._writers()
        self._visits = 0
        self._before: dict[Key, State] = {self.flow.start: {}}
        waiting = [self.flow.start]
        while waiting:
            key = waiting.pop()
            after = self._after(self.flow.nodes[key], self._before[key])
            for target in self._targets(self.flow.nodes[key]):
                known = self._before.get(target)
                new = after if known is None else _both(known, after)
                if known is None or len(new) < len(known):
                    self._before[target] = new
                    waiting.append(target)
            if self._visits > _MOST_VISITS:
                self._before = {}
                return

    def seen(self, key: Key, number: int, place: Place) -> Lane:
        """Return what the first lane of a place holds in front of a node's instruction."""
        state = self._before.get(key)
        if state is None:
            return None
        node = self.flow.nodes[key]
        found = self._after(node, state, number)
        return _Evaluator(found, self._on(node)).read(place)[0]

    def _targets(self, node: Node) -> list[Key]:
        """Return where control can go from a node.

        Calls that are found after a subroutine's end have no edges from there.
        """
        found = set(self.flow.edges.get(node.key, ()))
        if isinstance(node.block.transfer, Return):
            for site in self.flow.returns(node.entry):
                found.add((site.caller, site.next, node.after))
        return sorted(found & self.flow.nodes.keys())

    def _writers(self) -> dict[Key, list[tuple[int, Step]]]:
        """Return each node's instructions that matter, with their numbers."""
        writers: dict[int | str, list[Effect]] = {}
        for node in self.flow.nodes.values():
            for step in node.block.steps:
                for effect in step.effects:
                    for what in _written(effect):
                        writers.setdefault(what, []).append(effect)
        wanted, waiting = set[int | str](), list[int | str](self.roots)
        while waiting:
            what = waiting.pop()
            if what not in wanted:
                wanted.add(what)
                waiting += _read(writers.get(what, ()))
        return {
            key: [
                (number, step)
                for number, step in enumerate(node.block.steps)
                if any(self._matters(effect, wanted) for effect in step.effects)
            ]
            for key, node in self.flow.nodes.items()
        }

    @staticmethod
    def _matters(effect: Effect, wanted: set[int | str]) -> bool:
        return isinstance(effect, WriteIndirect) or any(one in wanted for one in _written(effect))

    def _on(self, node: Node) -> int:
        """Return how many channels are known to be on in a node."""
        return self._simd if node.entry in self.full and not node.waiting else 0

    def _after(self, node: Node, before: State, end: int | None = None) -> State:
        """Return what is known behind a node, or in front of its instruction `end`."""
        state, on = dict(before), self._on(node)
        for number, step in self._steps[node.key]:
            if end is not None and number >= end:
                return state
            self._visits += 1
            self._follow(step, state, on)
        if end is None and isinstance(node.block.transfer, CallFunction):
            return {}
        return state

    def _follow(self, step: Step, state: State, on: int) -> None:
        """Follow what an instruction writes: all of it is computed of what was before."""
        values, found = _Evaluator(state, on), list[tuple[tuple[int | str, int], Lane, Lane]]()
        for effect in step.effects:
            match effect:
                case WriteRegister(place, value, mask):
                    variable = place.variable
                    for at, bits, runs in zip(
                        place_offsets(place),
                        values.value(value),
                        values.mask(mask, value.lanes),
                        strict=True,
                    ):
                        for byte in range(place.type.bytes):
                            part = None if bits is None else bits >> 8 * byte & 0xFF
                            found.append(((variable.index, at + byte), part, runs))
                case WritePredicate(variable, offset, value, mask):
                    lanes = zip(values.value(value), values.mask(mask, value.lanes), strict=True)
                    for lane, (bit, runs) in enumerate(lanes):
                        found.append(((variable.name, offset + lane), bit, runs))
                case WriteIndirect():
                    for key in [key for key in state if key[0] in self._reached]:
                        del state[key]
                case _:
                    pass
        for key, value, runs in found:
            if runs == 0:
                continue
            if value is None or (runs is None and state.get(key) != value):
                state.pop(key, None)
            else:
                state[key] = value


class _Evaluator:
    """Computes lanes of one instruction's expressions in a state.

    `on` is how many channels are known to be on.
    """

    def __init__(self, state: State, on: int) -> None:
        self._state = state
        self._on = on
        self._known: dict[Expr, Sequence[Lane]] = {}

    def mask(self, expr: Expr | None, lanes: int) -> Sequence[Lane]:
        """Return whether lanes are written."""
        return (1,) * lanes if expr is None else self.value(expr)

    def value(self, expr: Expr) -> Sequence[Lane]:
        """Return the lanes of an expression."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._new(expr)
        return found

    def read(self, place: Place) -> Sequence[Lane]:
        """Return the lanes of a place."""
        index, state = place.variable.index, self._state
        found: list[Lane] = []
        for at in place_offsets(place):
            octets = [state.get((index, at + byte)) for byte in range(place.type.bytes)]
            known = [octet for octet in octets if octet is not None]
            whole = int.from_bytes(bytes(known), "little") if len(known) == len(octets) else None
            found.append(whole)
        return found

    def _new(self, expr: Expr) -> Sequence[Lane]:
        kind, lanes, attribute = expr.type, expr.lanes, expr.attribute
        match expr.uop.name:
            case "constant" if not kind.is_float:
                return (int(attribute) & _ones(kind),) * lanes
            case "vector" if not kind.is_float:
                return tuple(int(one) & _ones(kind) for one in attribute)
            case "read":
                return self.read(attribute)
            case "predicate":
                variable, offset = attribute
                return [self._state.get((variable.name, offset + lane)) for lane in range(lanes)]
            case "execution":
                return [1 if attribute + lane < self._on else None for lane in range(lanes)]
            case "broadcast":
                return (self.value(expr.args[0])[0],) * lanes
            case "take":
                given = self.value(expr.args[0])
                picks: tuple[int, ...] = attribute
                return [given[lane] for lane in picks]
            case "concat":
                return [lane for arg in expr.args for lane in self.value(arg)]
            case "select":
                choices = zip(*map(self.value, expr.args), strict=True)
                return [_chosen(*choice) for choice in choices]
            case _:
                given = [self.value(arg) for arg in expr.args]
                if not given or any(len(one) != lanes for one in given):
                    return (None,) * lanes
                return [_computed(expr, one) for one in zip(*given, strict=True)]


def _chosen(condition: Lane, first: Lane, second: Lane) -> Lane:
    if condition is None:
        return first if first == second else None
    return first if condition else second


def _computed(expr: Expr, given: Sequence[Lane]) -> Lane:
    """Return a lane of an operation on integers, None if it is not known or of another kind."""
    kind, name = expr.type, expr.uop.name
    known = [one for one in given if one is not None]
    if name == "and" and 0 in known:
        return 0
    if name == "or" and kind == BOOL and 1 in known:
        return 1
    if len(known) < len(given) or any(arg.type.is_float for arg in expr.args):
        return None
    numbers = [_number(arg.type, one) for arg, one in zip(expr.args, known, strict=True)]
    if name == "bitcast":
        return known[0]
    if kind.is_float:
        return None
    match name, numbers:
        case "convert", [a]:
            found = a
        case "not", [a]:
            found = ~a
        case "neg", [a]:
            found = -a
        case _, [a, b] if name in _BINARY:
            found = _BINARY[name](a, b)
        case _:
            return None
    return found & _ones(kind)


def _ones(kind: DataType) -> int:
    return 1 if kind == BOOL else (1 << kind.bits) - 1


def _number(kind: DataType, bits: int) -> int:
    """Return the integer that bits are."""
    return signed(bits, kind.bits) if kind.is_signed else bits


def _written(effect: Effect) -> Iterator[int | str]:
    """Yield the variables, and the names of predicates, that an effect writes."""
    match effect:
        case WriteRegister(place):
            yield place.variable.index
        case WritePredicate(variable):
            yield variable.name
        case _:
            pass


def _read(effects: Sequence[Effect]) -> Iterator[int | str]:
    """Yield the variables and predicates of which effects are made."""
    for expr in expressions(effects):
        if expr.uop.name == "read":
            yield expr.attribute.variable.index
        elif expr.uop.name == "predicate":
            yield expr.attribute[0].name


def _both(one: State, other: State) -> State:
    """Return what is known on both ways."""
    return {key: value for key, value in one.items() if other.get(key) == value}
