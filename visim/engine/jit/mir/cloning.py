"""New functions from old ones: values replaced, dropped or made again, blocks left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from visim.engine.jit.mir.liveness import wanted
from visim.engine.jit.mir.values import Block, Edge, End, Function, Value


class Rewriter:
    """Makes blocks again whose values stand for others.

    Blocks have to come in an order in which values stand in front of their uses.
    """

    def __init__(self, new: dict[Value, Value] | None = None) -> None:
        self._new = dict(new or {})

    def find(self, value: Value) -> Value:
        """Return what stands for a value."""
        while value in self._new:
            value = self._new[value]
        return value

    def all(self, values: Iterable[Value]) -> tuple[Value, ...]:
        """Return what stands for values."""
        return tuple(map(self.find, values))

    def value(self, old: Value) -> Value:
        """Return a value with other operands, which stands for the old one from now on."""
        args = self.all(old.args)
        if all(new is was for new, was in zip(args, old.args, strict=True)):
            return old
        found = self._new[old] = replace(old, args=args)
        return found

    def replace(self, old: Value, new: Value) -> None:
        """Have a value stand for another one."""
        if old is not new:
            self._new[old] = new

    def end(self, end: End) -> End:
        """Return the end of a block with other operands."""
        edges = tuple(Edge(edge.block, self.all(edge.args)) for edge in end.edges)
        return replace(end, args=self.all(end.args), edges=edges)


def without(
    function: Function,
    values: Callable[[Value], bool],
    params: Callable[[Value], bool],
) -> Function:
    """Return a function without some values and parameters, which nobody uses.

    Args:
        function: the function.
        values: whether a value of a block stays.
        params: whether a parameter stays.
    """
    blocks: list[Block] = []
    kept = {block.number: [params(one) for one in block.params] for block in function.blocks}
    for block in function.blocks:
        edges = tuple(
            Edge(edge.block, _where(edge.args, kept[edge.block])) for edge in block.end.edges
        )
        blocks.append(
            replace(
                block,
                params=_where(block.params, kept[block.number]),
                body=tuple(filter(values, block.body)),
                end=replace(block.end, edges=edges),
            )
        )
    return replace(function, blocks=tuple(blocks))


def without_unwanted(function: Function) -> Function:
    """Return a function without the values that no effect and no branch is made of."""
    found = wanted(function)
    first = function.entry.params
    return without(
        function,
        lambda value: value in found,
        lambda one: one in found or one in first,
    )


def _where(values: tuple[Value, ...], kept: list[bool]) -> tuple[Value, ...]:
    return tuple(value for value, stays in zip(values, kept, strict=True) if stays)


__all__ = ["Rewriter", "without", "without_unwanted"]
