"""What each lane of an instruction's effects is computed from: registers, loads, conditions.

Static: an instruction is looked at once. Where a lane may come of several lanes all of them count.
Knows expressions and where variables stand, nothing of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.linker.program import LinkedKernel
from visim.sem.effects import (
    Atomic,
    Call,
    CallFunction,
    Effect,
    Goto,
    Jump,
    Load,
    LoadBlock,
    Message,
    Place,
    RegisterWrite,
    Return,
    Store,
    StoreBlock,
    Switch,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr, leaves_below

VALUE, ADDRESS, MASK, BRANCH, MEMORY = "value", "address", "condition", "branch", "memory"
_MOST_NODES = 4096


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes of the register image."""

    start: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A component of what a message of the same instruction gave a lane."""

    effect: Effect
    component: int
    lane: int


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """A register element whose address the run knows."""

    expr: Expr
    lane: int


Source = Bytes | Loaded | Gathered


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """A register write: where its lanes begin (None: only the run knows), and of how many bytes.

    `span` are the first byte and the one behind the last; all there are where only the run knows.
    """

    effect: RegisterWrite
    starts: NDArray[np.int64] | None
    size: int
    span: tuple[int, int]


def _written(effect: RegisterWrite, starts: NDArray[np.int64] | None, size: int) -> Write:
    if starts is None or not starts.size:
        return Write(effect, starts, size, (0, 1 << 31))
    return Write(effect, starts, size, (int(starts.min()), int(starts.max()) + size))


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What one instruction writes, which messages it sends, and what only its run can tell.

    `asked` are expressions whose values are to be noted when it runs: masks, conditions of selects,
    addresses of registers.
    """

    writes: tuple[Write, ...]
    messages: tuple[Message, ...]
    branch: Goto | Jump | Switch | Return | Call | CallFunction | None
    asked: tuple[Expr, ...]


class Sources:
    """The facts of a kernel's instructions.

    Args:
        kernel: the kernel.
    """

    def __init__(self, kernel: LinkedKernel) -> None:
        self._kernel = kernel
        self._facts: dict[tuple[int, int], Facts] = {}

    def facts(self, unit: int, pc: int) -> Facts:
        """Return the facts of an instruction; what cannot be executed does nothing."""
        found = self._facts.get((unit, pc))
        if found is None:
            found = self._facts[unit, pc] = self._made(unit, pc)
        return found

    def _made(self, unit: int, pc: int) -> Facts:
        effects = self._kernel.known_effects(self._kernel.units[unit], pc)
        writes = tuple(self._write(unit, one) for one in effects if isinstance(one, RegisterWrite))
        messages = tuple(one for one in effects if isinstance(one, Message))
        kinds = (Goto, Jump, Switch, Return, Call, CallFunction)
        branch = next((one for one in effects if isinstance(one, kinds)), None)
        asked: dict[Expr, None] = {}
        for write in writes:
            mask = write.effect.mask
            if mask is not None:
                asked[mask] = None
            if isinstance(write.effect, WriteIndirect):
                asked[write.effect.addresses] = None
            asked |= dict.fromkeys(_chosen_by(write.effect.value))
        for message in messages:
            for value in values_of(message):
                asked |= dict.fromkeys(_chosen_by(value))
        known = tuple(one for one in asked if not _needs_message(one))
        return Facts(writes, messages, branch, known)

    def _write(self, unit: int, effect: RegisterWrite) -> Write:
        linked = self._kernel.units[unit]
        match effect:
            case WriteRegister(place):
                return _written(effect, self._lanes(unit, place), max(1, place.type.bytes))
            case WritePredicate(variable, offset):
                first = linked.others[variable.name] + offset
                return _written(effect, first + np.arange(effect.value.lanes), 1)
            case WriteAddress(variable, element) | WriteState(variable, element):
                first = linked.others[variable.name] + 4 * element
                return _written(effect, first + 4 * np.arange(effect.value.lanes), 4)
            case WriteIndirect():
                return _written(effect, None, max(1, effect.value.type.bytes))

    def _lanes(self, unit: int, place: Place) -> NDArray[np.int64]:
        base = self._kernel.offset(self._kernel.units[unit], place.variable) + place.offset
        lanes = np.arange(place.lanes)
        rows, columns = lanes // place.width, lanes % place.width
        return base + rows * place.row_stride + columns * place.stride

    def of(
        self, unit: int, expr: Expr, lane: int, known: Mapping[Expr, NDArray[Any]]
    ) -> list[Source]:
        """Return what a lane of an expression is computed from.

        Args:
            unit: the unit that it is in.
            expr: the expression.
            lane: the lane.
            known: what the run has noted: of a select whose condition is known one side counts.
        """
        found: dict[Any, Source] = {}
        seen: set[tuple[int, int]] = set()
        waiting = [(expr, lane)]
        while waiting and len(seen) < _MOST_NODES:
            node, at = waiting.pop()
            if (id(node), at) in seen:
                continue
            seen.add((id(node), at))
            for source in self._leaf(unit, node, at):
                key = source if isinstance(source, Bytes) else (id(node), at)
                found[key] = source
            waiting += _below(node, at, known)
        return list(found.values())

    def _leaf(self, unit: int, node: Expr, lane: int) -> Iterator[Source]:
        linked = self._kernel.units[unit]
        match node.uop.name:
            case "read":
                place: Place = node.attribute
                yield Bytes(int(self._lanes(unit, place)[lane]), max(1, place.type.bytes))
            case "predicate":
                variable, offset = node.attribute
                yield Bytes(linked.others[variable.name] + offset + lane, 1)
            case "addresses" | "state":
                variable, element = node.attribute
                yield Bytes(linked.others[variable.name] + 4 * (element + lane), 4)
            case "gather":
                yield Gathered(node, lane)
            case "loaded":
                effect, component = node.attribute
                yield Loaded(effect, component, lane)
            case _:
                pass


def _below(node: Expr, lane: int, known: Mapping[Expr, NDArray[Any]]) -> list[tuple[Expr, int]]:
    """Return the operands, and the lanes of them, that a lane of a node comes of."""
    args = node.args
    match node.uop.name:
        case "broadcast":
            return [(args[0], 0)]
        case "take":
            return [(args[0], int(node.attribute[lane]))]
        case "concat":
            for arg in args:
                if lane < arg.lanes:
                    return [(arg, lane)]
                lane -= arg.lanes
            return []
        case "any" | "all" | "mask_bits":
            return [(args[0], one) for one in range(args[0].lanes)]
        case "select":
            condition = known.get(args[0])
            if condition is None or lane >= condition.size:
                return [(arg, lane) for arg in args]
            return [(args[0], lane), (args[1] if condition[lane] else args[2], lane)]
        case _:
            return [(arg, _same(arg, lane)) for arg in args]


def _same(arg: Expr, lane: int) -> int:
    return lane if lane < arg.lanes else 0


def _chosen_by(root: Expr) -> list[Expr]:
    """Return the conditions of selects, and addresses of registers, below an expression."""
    found: list[Expr] = []
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.uop.name == "select":
            found.append(node.args[0])
        if node.uop.name == "gather":
            found.append(node.args[0])
        waiting += node.args
    return found


def _needs_message(expr: Expr) -> bool:
    return any(leaf.uop.name in {"loaded", "fused", "clock"} for leaf in leaves_below(expr))


def values_of(message: Message) -> tuple[Expr, ...]:
    """Return what a message stores, or combines with what memory holds."""
    match message:
        case Store(values=values):
            return values
        case StoreBlock(value=value):
            return (value,)
        case Atomic(operands=operands):
            return operands
        case Load() | LoadBlock():
            return ()
        case _:
            return message.values


def address_of(message: Message) -> Expr | None:
    """Return the addresses of a message; those of pictures are among its values."""
    match message:
        case Load() | Store() | Atomic():
            return message.addresses
        case LoadBlock() | StoreBlock():
            return message.address
        case _:
            return None


__all__ = [
    "ADDRESS",
    "BRANCH",
    "MASK",
    "MEMORY",
    "VALUE",
    "Bytes",
    "Facts",
    "Gathered",
    "Loaded",
    "Source",
    "Sources",
    "Write",
    "address_of",
    "values_of",
]
