"""The pass `canonicalise`: rewrite rules, value numbering and dead code in one walk.

Blocks are walked down the tree of dominators, so that a value is known where an equal one comes
first on every path. Parameters that always get the same value are that value.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from visim.engine.jit.mir.attributes import Attribute
from visim.engine.jit.mir.cloning import Rewriter, without, without_unwanted
from visim.engine.jit.mir.dominators import dominators
from visim.engine.jit.mir.numbering import Key, pure_key
from visim.engine.jit.mir.ops import NO_MODE, OPS
from visim.engine.jit.mir.rules import FOLD, RULES, UNIFORM, Rule
from visim.engine.jit.mir.values import Block, Edge, End, EndKind, Function, Value
from visim.types import DataType

_MOST_STEPS = 8
"""How often one value is rewritten at most."""


def canonicalise(function: Function) -> Function:
    """Return a function that does the same in fewer operations."""
    return Canonicaliser(function).function()


@dataclass
class Canonicaliser:
    """Rewrites one function. `counts` says how often each rule has held, for tests."""

    source: Function
    counts: Counter[str] = field(default_factory=Counter[str])
    _known: dict[Key, Value] = field(default_factory=dict[Key, Value])
    _body: list[Value] = field(default_factory=list[Value])
    _added: list[Key] = field(default_factory=list[Key])

    def function(self) -> Function:
        """Return the function rewritten."""
        source = _without_equal_params(self.source)
        tree = dominators(source)
        self._rewriter = Rewriter()
        bodies: dict[int, tuple[Value, ...]] = {}
        waiting: list[tuple[int, bool]] = [(source.entry.number, False)]
        marks: list[int] = []
        while waiting:
            number, left = waiting.pop()
            if left:
                mark = marks.pop()
                for key in self._added[mark:]:
                    del self._known[key]
                del self._added[mark:]
                continue
            marks.append(len(self._added))
            bodies[number] = self._block(source.by_number[number])
            waiting.append((number, True))
            waiting += [(child, False) for child in reversed(tree.children.get(number, ()))]
        blocks = [
            replace(block, body=bodies[block.number], end=self._end(block.end))
            for block in source.blocks
            if block.number in bodies
        ]
        found = _in_reach(replace(source, blocks=tuple(blocks)))
        return without_unwanted(_without_equal_params(found))

    def _block(self, block: Block) -> tuple[Value, ...]:
        self._body = []
        for value in block.body:
            if value.op.is_pure:
                args = self._rewriter.all(value.args)
                made = (value.op.name, value.type, value.lanes, args, value.attribute, value.mode)
                self._rewriter.replace(value, self._made(*made))
            else:
                self._body.append(self._rewriter.value(value))
        return tuple(self._body)

    def _made(
        self,
        name: str,
        kind: DataType | None,
        lanes: int,
        args: tuple[Value, ...] = (),
        attribute: Attribute = None,
        mode: int = NO_MODE,
        depth: int = 0,
    ) -> Value:
        """Return what stands for a new value: an equal one, what a rule makes of it, or itself."""
        op = OPS[name]
        key = pure_key(op, kind, lanes, args, attribute, mode)
        found = self._known.get(key)
        if found is not None:
            return found
        value = Value(op, kind, lanes, args, attribute, mode)
        found = self._rewritten(value, depth) if depth < _MOST_STEPS else None
        if found is None:
            found = value
            self._body.append(value)
        self._known[key] = found
        self._added.append(key)
        return found

    def _rewritten(self, value: Value, depth: int) -> Value | None:
        """Return what the first rule that holds makes of a value."""

        def make(
            name: str,
            kind: DataType | None,
            lanes: int,
            args: tuple[Value, ...] = (),
            attribute: Attribute = None,
            mode: int = NO_MODE,
        ) -> Value:
            return self._made(name, kind, lanes, args, attribute, mode, depth + 1)

        rules: tuple[Rule, ...] = (FOLD, *RULES.get(value.op.name, ()), UNIFORM)
        for rule in rules:
            found = rule.rewrite(value, make)
            if found is not None:
                self.counts[rule.name] += 1
                return found
        return None

    def _end(self, end: End) -> End:
        """Return the end of a block, a jump where it is known which way a branch goes."""
        end = self._rewriter.end(end)
        if end.kind is EndKind.BRANCH and end.args[0].op.name == "constant":
            edge = end.edges[0] if end.args[0].attribute else end.edges[1]
            return End(EndKind.JUMP, (), (edge,))
        if end.kind is EndKind.SWITCH and end.args[0].op.name == "constant":
            number = end.args[0].attribute
            assert isinstance(number, int)
            return End(EndKind.JUMP, (), (end.edges[min(number, len(end.edges) - 1)],))
        return end


def _in_reach(function: Function) -> Function:
    """Return a function without the blocks to which control does not come."""
    seen, waiting = {function.entry.number}, [function.entry]
    while waiting:
        for edge in waiting.pop().end.edges:
            if edge.block not in seen:
                seen.add(edge.block)
                waiting.append(function.by_number[edge.block])
    if len(seen) == len(function.blocks):
        return function
    return replace(
        function, blocks=tuple(block for block in function.blocks if block.number in seen)
    )


def _without_equal_params(function: Function) -> Function:
    """Return a function without the parameters that have one value besides themselves."""
    given: dict[Value, list[Value]] = {}
    for block in function.blocks:
        edges: list[Edge] = [edge for _, edge in function.sources[block.number]]
        for number, one in enumerate(block.params):
            if edges:
                given[one] = [edge.args[number] for edge in edges]
    same: dict[Value, Value] = {}

    def final(value: Value) -> Value:
        while value in same:
            value = same[value]
        return value

    changed = True
    while changed:
        changed = False
        for one, values in given.items():
            if one in same:
                continue
            others = {final(value) for value in values} - {one}
            if len(others) == 1:
                same[one] = others.pop()
                changed = True
    if not same:
        return function
    function = without(function, lambda _: True, lambda one: one not in same)
    rewriter = Rewriter(same)
    blocks = [
        replace(block, body=tuple(map(rewriter.value, block.body)), end=rewriter.end(block.end))
        for block in function.blocks
    ]
    return replace(function, blocks=tuple(blocks))


__all__ = ["Canonicaliser", "canonicalise"]
