"""The effects of an instruction as text, for people: what a declaration means, line by line.

Channels are implied: `V41:ud` stands for a channel's element, `where` for the channels that are
written. Values that are used more than once get a line of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, cast

from visim.operands import Variable
from visim.sem.effects import (
    Effect,
    Place,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
    operands,
)
from visim.sem.expr import Expr
from visim.types import DataType

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "fadd": "+",
    "fsub": "-",
    "fmul": "*",
    "fdiv": "/",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
}
_PREFIX = {"neg": "-", "fneg": "-", "not": "~"}
#: What does not change a channel's value.
_SILENT = frozenset({"broadcast"})
_SHOWN_LANES = 4
Write = WriteRegister | WriteIndirect | WritePredicate | WriteAddress | WriteState


def render(effects: Sequence[Effect]) -> list[str]:
    """Return lines that say what the effects do, in their order."""
    return list(_Renderer(effects).lines())


class _Renderer:
    def __init__(self, effects: Sequence[Effect]) -> None:
        self.effects = effects
        self.messages: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.pending: list[str] = []
        self.uses: Counter[int] = Counter()
        for effect in effects:
            for root in operands(effect):
                self._count(root)

    def _count(self, node: Expr) -> None:
        self.uses[id(node)] += 1
        if self.uses[id(node)] == 1:
            for part in node.args:
                self._count(part)

    def lines(self) -> Iterator[str]:
        """Return the lines of all effects."""
        for number, effect in enumerate(self.effects, 1):
            shown = self._effect(effect, number)
            yield from self.pending
            self.pending.clear()
            yield shown

    def _effect(self, effect: Effect, number: int) -> str:
        mask = getattr(effect, "mask", None)
        where = f"  where {self.show(mask)}" if isinstance(mask, Expr) else ""
        if isinstance(effect, Write):
            return f"{self._target(effect)} = {self.show(effect.value)}{where}"
        name = f"m{number}"
        self.messages[id(effect)] = name
        given = ", ".join(
            f"{entry.name}={self._value(getattr(effect, entry.name))}"
            for entry in fields(effect)
            if entry.name != "mask" and getattr(effect, entry.name) is not None
        )
        return f"{name}: {type(effect).__name__}({given}){where}"

    def _target(self, effect: Write) -> str:
        match effect:
            case WriteRegister():
                return _place(effect.place)
            case WriteIndirect():
                return f"r[{self.show(effect.addresses)}]"
            case WritePredicate():
                return effect.variable.name
            case WriteAddress() | WriteState():
                return f"{effect.variable.name}({effect.element})"

    def _value(self, value: Any) -> str:
        match value:
            case Expr():
                return self.show(value)
            case tuple():
                inner = cast("tuple[Any, ...]", value)
                return f"({', '.join(self._value(part) for part in inner)})"
            case Place():
                return _place(value)
            case DataType():
                return value.name
            case _:
                return str(value)

    def show(self, node: Expr) -> str:
        """Return a value, by its name if it has a line of its own."""
        if node.uop.name in _SILENT:
            return self.show(node.args[0])
        known = self.names.get(id(node))
        if known is not None:
            return known
        text = self._node(node)
        if self.uses[id(node)] > 1 and node.args:
            name = self.names[id(node)] = f"t{len(self.names) + 1}"
            self.pending.append(f"{name} = {text}")
            return name
        return text

    def _node(self, node: Expr) -> str:
        """Return the text of a node that has not been shown yet."""
        name, parts = node.uop.name, [self.show(part) for part in node.args]
        if name in _INFIX:
            return f"({parts[0]} {_INFIX[name]} {parts[1]})"
        if name in _PREFIX:
            return f"{_PREFIX[name]}{parts[0]}"
        match name:
            case "read":
                return _place(node.attribute)
            case "constant":
                return f"{node.attribute}"
            case "vector" | "take":
                lanes = [str(value) for value in node.attribute[:_SHOWN_LANES]]
                more = ", ..." if len(node.attribute) > _SHOWN_LANES else ""
                return f"{''.join(parts)}[{', '.join(lanes)}{more}]"
            case "convert":
                return f"{node.type.name}({parts[0]})"
            case "bitcast":
                return f"bits_as_{node.type.name}({parts[0]})"
            case "select":
                return f"({parts[0]} ? {parts[1]} : {parts[2]})"
            case "execution":
                return "active"
            case "loaded":
                effect, component = node.attribute
                return f"{self.messages.get(id(effect), 'message')}.{component}"
            case _:
                return f"{name}({', '.join([*parts, *_attribute(node)])})"


def _attribute(node: Expr) -> list[str]:
    """Return what a leaf such as an address or a predicate names."""
    if node.args or node.attribute is None:
        return []
    attribute: Any = node.attribute
    parts = cast("tuple[Any, ...]", attribute) if isinstance(attribute, tuple) else (attribute,)
    return [part.name if isinstance(part, Variable) else str(part) for part in parts]


def _place(place: Place) -> str:
    offset = f"+{place.offset}" if place.offset else ""
    return f"{place.variable.name}{offset}:{place.type.name}"
