"""Blocks while they are made: control first, then values, as SSA for whatever is a variable.

The values of a block are made by actions, once all edges are known: reading a variable finds its
value in the block or in those before it, and makes a parameter where several values of it meet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from visim.engine.jit.graphs import DominatorTree
from visim.engine.jit.mir.attributes import Attribute
from visim.engine.jit.mir.numbering import Key, pure_key
from visim.engine.jit.mir.ops import NO_MODE, OPS, Op
from visim.engine.jit.mir.values import (
    NOWHERE,
    Block,
    Edge,
    End,
    EndKind,
    Function,
    Value,
    param,
)
from visim.errors import InternalError
from visim.types import DataType

Name = Hashable
"""What a variable is called: a web, or a mask of channels."""

Action = Callable[["Draft"], None]


@dataclass(eq=False)
class Draft:
    """A block that is being made.

    `condition` gives the operand of its end when its actions have run. `note` says where it comes
    from. `defines` are the variables that it writes, which have to be known before its actions run;
    `values` are those of variables where it has come to, as far as known.
    """

    note: str
    actions: list[Action] = field(default_factory=list[Action])
    kind: EndKind = EndKind.STOP
    condition: Callable[[Draft], Value] | None = None
    targets: list[Draft] = field(default_factory=list["Draft"])
    reason: str = "unreachable"
    pc: int = NOWHERE
    number: int = -1
    defines: set[Name] = field(default_factory=set[Name])
    values: dict[Name, Value] = field(default_factory=dict[Name, Value])
    params: dict[Name, Value] = field(default_factory=dict[Name, Value])
    head: list[Value] = field(default_factory=list[Value])
    body: list[Value] = field(default_factory=list[Value])
    operand: Value | None = None
    _known: dict[Key, Value] = field(default_factory=dict[Key, Value])

    # Control

    def jump(self, target: Draft) -> None:
        """End with a jump."""
        self._end(EndKind.JUMP, [target])

    def branch(self, condition: Callable[[Draft], Value], yes: Draft, no: Draft) -> None:
        """End with a branch on one bit."""
        self._end(EndKind.BRANCH, [yes, no], condition)

    def switch(self, condition: Callable[[Draft], Value], targets: list[Draft]) -> None:
        """End with a switch, whose last target is that of all other numbers."""
        self._end(EndKind.SWITCH, targets, condition)

    def ret(self) -> None:
        """End the function."""
        self._end(EndKind.RET, [])

    def stop(self, reason: str, pc: int, condition: Callable[[Draft], Value] | None = None) -> None:
        """End with a fault."""
        self._end(EndKind.STOP, [], condition)
        self.reason, self.pc = reason, pc

    def _end(
        self,
        kind: EndKind,
        targets: list[Draft],
        condition: Callable[[Draft], Value] | None = None,
    ) -> None:
        self.kind, self.targets, self.condition = kind, targets, condition

    def act(self, action: Action, *defines: Name) -> None:
        """Have an action run where the block's values are made; it writes some variables."""
        self.actions.append(action)
        self.defines.update(defines)

    def write(self, name: Name, value: Value) -> None:
        """Give a variable another value from here on."""
        if name not in self.defines:
            raise InternalError(f"MIR: a block writes {name}, which it does not say")
        self.values[name] = value

    # Values

    def make(
        self,
        op: str,
        kind: DataType | None,
        lanes: int,
        args: tuple[Value, ...] = (),
        attribute: Attribute = None,
        mode: int = NO_MODE,
        pc: int = NOWHERE,
    ) -> Value:
        """Return a new value of the block, or one that is the same."""
        row: Op = OPS[op]
        if not row.is_pure:
            value = Value(row, kind, lanes, args, attribute, mode, pc)
            self.body.append(value)
            return value
        key = pure_key(row, kind, lanes, args, attribute, mode)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Value(row, kind, lanes, args, attribute, mode)
            self.body.append(found)
        return found


@dataclass
class Drafts:
    """All drafts of a unit, and the variables that they have.

    `kinds` tells a variable's type and lanes, `initial` makes the value that it has at the start.
    """

    entry: Draft
    kinds: Callable[[Name], tuple[DataType, int]]
    initial: Callable[[Draft, Name], Value]
    _order: list[Draft] = field(default_factory=list[Draft])
    _waiting: list[tuple[Draft, Name]] = field(default_factory=list[tuple[Draft, Name]])
    _joins: dict[Name, set[int]] = field(default_factory=dict[Name, set[int]])
    _defined: dict[Name, list[int]] = field(default_factory=dict[Name, list[int]])

    def read(self, draft: Draft, name: Name) -> Value:
        """Return the value of a variable where a draft has come to."""
        found = draft.values.get(name)
        if found is None:
            found = self._before(draft, name)
        return found

    def _before(self, draft: Draft, name: Name) -> Value:
        """Return the value of a variable at the start of a draft, which has not written it."""
        joins, parents = self._joins.get(name), self._tree.parent
        if joins is None:
            joins = self._joins[name] = self._tree.joins(self._defined.get(name, ()))
        passed, one = [draft], draft
        while True:
            if one is not draft and name in one.values:
                found = one.values[name]
                break
            if one.number in joins:
                found = one.params[name] = param(*self.kinds(name))
                self._waiting.append((one, name))
                passed.append(one)
                break
            if one is self.entry:
                found = self._start(name)
                break
            one = self._order[parents[one.number]]
            passed.append(one)
        for one in passed:
            one.values.setdefault(name, found)
        return found

    def _start(self, name: Name) -> Value:
        """Return the value of a variable at the start, which stands in front of all others."""
        entry, before = self.entry, len(self.entry.body)
        found = self.initial(entry, name)
        entry.head += entry.body[before:]
        del entry.body[before:]
        return found

    # Making the function

    def function(self, name: str, simd: int, on: Value) -> Function:
        """Return the function that the drafts are, whose parameter is `on`."""
        order, sources = self._number()
        self._tree = DominatorTree(range(len(order)), sources)
        for draft in order:
            for action in draft.actions:
                action(draft)
            if draft.condition is not None:
                draft.operand = draft.condition(draft)
        at = 0
        while at < len(self._waiting):
            draft, variable = self._waiting[at]
            at += 1
            for source in sources[draft.number]:
                self.read(order[source], variable)
        self.entry.params = {"on": on}
        return Function(name, simd, tuple(_block(draft) for draft in order))

    def _number(self) -> tuple[list[Draft], dict[int, list[int]]]:
        """Number the drafts that control reaches, each behind those that come first on all ways.

        Return them, and from where control comes to each.
        """
        started, found = set[Draft](), list[Draft]()
        waiting: list[tuple[Draft, bool]] = [(self.entry, False)]
        while waiting:
            draft, left = waiting.pop()
            if left:
                found.append(draft)
            elif draft not in started:
                started.add(draft)
                waiting.append((draft, True))
                waiting += [(target, False) for target in reversed(draft.targets)]
        self._order = found[::-1]
        sources: dict[int, list[int]] = {number: [] for number in range(len(found))}
        for number, draft in enumerate(self._order):
            draft.number = number
            for name in draft.defines:
                self._defined.setdefault(name, []).append(number)
        for draft in self._order:
            for target in draft.targets:
                sources[target.number].append(draft.number)
        return self._order, sources


def _block(draft: Draft) -> Block:
    """Return a finished block."""
    edges = tuple(
        Edge(target.number, tuple(draft.values[name] for name in target.params))
        for target in draft.targets
    )
    operands = () if draft.operand is None else (draft.operand,)
    reason = draft.reason if draft.kind is EndKind.STOP else ""
    end = End(draft.kind, operands, edges, reason, draft.pc)
    params = tuple(draft.params.values())
    return Block(draft.number, params, (*draft.head, *draft.body), end, draft.note)


__all__ = ["Draft", "Drafts", "Name"]
