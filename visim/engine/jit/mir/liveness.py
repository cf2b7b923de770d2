"""Which values are wanted where: by effects, and at the starts and ends of blocks."""

from __future__ import annotations

from visim.engine.jit.mir.values import PARAM, Block, Function, Value


def wanted(function: Function) -> set[Value]:
    """Return the values that an effect or a branch is made of, parameters as well.

    A parameter is wanted if something in its block wants it, and so is then what edges give it.
    """
    found, waiting = set[Value](), list[Value]()

    def want(values: tuple[Value, ...]) -> None:
        for value in values:
            if value not in found:
                found.add(value)
                waiting.append(value)

    places: dict[Value, tuple[int, int]] = {}
    for block in function.blocks:
        for number, one in enumerate(block.params):
            places[one] = block.number, number
        for value in block.body:
            if not value.op.is_pure:
                want((value,))
        want(block.end.args)
    while waiting:
        value = waiting.pop()
        want(value.args)
        if value.op is PARAM and value in places:
            number, at = places[value]
            want(tuple(edge.args[at] for _, edge in function.sources[number]))
    return found


class Liveness:
    """The values that are still to be used at the start and at the end of each block.

    Those that edges give to parameters are live at the ends of their blocks; parameters are live
    at the start of theirs.
    """

    def __init__(self, function: Function) -> None:
        self.starts: dict[int, set[Value]] = {block.number: set() for block in function.blocks}
        self.ends: dict[int, set[Value]] = {block.number: set() for block in function.blocks}
        waiting = [block.number for block in function.blocks]
        while waiting:
            number = waiting.pop()
            block = function.by_number[number]
            end = self._end(block)
            start = self._through(block, set(end))
            self.ends[number] = end
            if start != self.starts[number]:
                self.starts[number] = start
                waiting += [source.number for source, _ in function.sources[number]]

    def _end(self, block: Block) -> set[Value]:
        found = set[Value]()
        for edge in block.end.edges:
            found |= self.starts[edge.block]
            found |= set(edge.args)
        return found

    @staticmethod
    def _through(block: Block, live: set[Value]) -> set[Value]:
        """Return what is live in front of a block's values, without its parameters."""
        live |= set(block.end.args)
        for value in reversed(block.body):
            live.discard(value)
            live |= set(value.args)
        return live - set(block.params)

    def most(self, function: Function) -> int:
        """Return how many values are live at once, at most."""
        most = 0
        for block in function.blocks:
            live = self._end(block) | set(block.end.args)
            most = max(most, len(live))
            for value in reversed(block.body):
                live.discard(value)
                live |= set(value.args)
                most = max(most, len(live))
        return most


__all__ = ["Liveness", "wanted"]
