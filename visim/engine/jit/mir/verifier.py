"""Whether a function of MIR is well formed. All that is wrong is found, and named by its place.

Checked are: numbers of blocks that are there and differ; edges that give each parameter of their
block an operand of its type; ends with as many edges and operands as their kind has; conditions of
one bit; that each value stands once, and in front of what uses it on every path; that parameters
are parameters of one block; that the first block has one parameter, a mask of all channels.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.engine.jit.mir.dominators import dominators
from visim.engine.jit.mir.errors import MirError
from visim.engine.jit.mir.printer import end_text, value_text
from visim.engine.jit.mir.types import type_text
from visim.engine.jit.mir.values import PARAM, Block, Edge, End, EndKind, Function, Value
from visim.types import BOOL, UD

_EDGES = {EndKind.JUMP: (1, 1), EndKind.BRANCH: (2, 2), EndKind.RET: (0, 0), EndKind.STOP: (0, 0)}
_OPERANDS = {EndKind.JUMP: (0, 0), EndKind.BRANCH: (1, 1), EndKind.SWITCH: (1, 1)}


def verify(function: Function) -> Function:
    """Return a function that is well formed.

    Raises:
        MirError: it is not; all problems are named.
    """
    found = tuple(problems(function))
    if found:
        raise MirError(function.name, found)
    return function


def problems(function: Function) -> Iterator[str]:
    """Yield what is wrong with a function."""
    structure = list(_structure(function))
    yield from structure
    if not structure:
        yield from _Uses(function).problems()


def _structure(function: Function) -> Iterator[str]:
    """Yield what is wrong with blocks and edges."""
    if not function.blocks:
        yield "a function has one block at least, found none"
        return
    numbers = set[int]()
    for block in function.blocks:
        if block.number in numbers:
            yield f"^{block.number}: the number of a block is its own, found twice"
        numbers.add(block.number)
    params = function.entry.params
    if [(one.type, one.lanes) for one in params] != [(BOOL, function.simd)]:
        yield f"^{function.entry.number}: the first block has one parameter, m{function.simd}"
    for block in function.blocks:
        for one in block.params:
            if one.op is not PARAM:
                yield f"^{block.number}: parameters are param, found {one.op.name}"
        for one in block.body:
            if one.op is PARAM:
                yield f"^{block.number}: param stands in front of a block, found in it"
        for problem in _end(function, block.end):
            yield f"^{block.number}: {end_text(block.end, function.names)}: {problem}"


def _end(function: Function, end: End) -> Iterator[str]:
    least, most = _EDGES.get(end.kind, (1, None))
    if len(end.edges) < least or (most is not None and len(end.edges) > most):
        yield f"{least} edges, found {len(end.edges)}"
    least, most = _OPERANDS.get(end.kind, (0, 1))
    if not least <= len(end.args) <= most:
        yield f"{least} operands, found {len(end.args)}"
    wanted = {EndKind.BRANCH: BOOL, EndKind.SWITCH: UD}.get(end.kind)
    for one in end.args if wanted else ():
        if (one.type, one.lanes) != (wanted, 1):
            yield f"an operand of one lane of {wanted!r}, found {_shape(one)}"
    for edge in end.edges:
        yield from _edge(function, edge)


def _edge(function: Function, edge: Edge) -> Iterator[str]:
    target = function.by_number.get(edge.block)
    if target is None:
        yield f"a block that is there, found ^{edge.block}"
        return
    if target is function.entry:
        yield f"no edge to the first block, found ^{edge.block}"
    if len(edge.args) != len(target.params):
        yield f"{len(target.params)} operands for ^{edge.block}, found {len(edge.args)}"
        return
    for arg, one in zip(edge.args, target.params, strict=True):
        if (arg.type, arg.lanes) != (one.type, one.lanes):
            yield f"{_shape(one)} for ^{edge.block}, found {_shape(arg)}"


def _shape(value: Value) -> str:
    return "nothing" if value.type is None else type_text(value.type, value.lanes)


class _Uses:
    """Finds values that are used where they are not known."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._places: dict[Value, tuple[int, int]] = {}
        self._twice: list[str] = []
        for block in function.blocks:
            for value in block.params:
                self._place(block, value, -1)
            for number, value in enumerate(block.body):
                self._place(block, value, number)
        self._dominators = dominators(function)

    def _place(self, block: Block, value: Value, number: int) -> None:
        if value in self._places:
            where = f"^{block.number} and ^{self._places[value][0]}"
            text = value_text(value, self._function.names)
            self._twice.append(f"{text}: a value stands once, found in {where}")
        self._places[value] = block.number, number

    def problems(self) -> Iterator[str]:
        """Yield them, each with what uses it."""
        yield from self._twice
        names = self._function.names
        for block in self._function.blocks:
            for number, value in enumerate(block.body):
                for arg in value.args:
                    if not self._is_seen(arg, block.number, number):
                        text = value_text(value, names)
                        yield f"^{block.number}: {text}: {self._unseen(arg)}"
            ending = [*block.end.args, *(arg for edge in block.end.edges for arg in edge.args)]
            for arg in ending:
                if not self._is_seen(arg, block.number, len(block.body)):
                    yield f"^{block.number}: {end_text(block.end, names)}: {self._unseen(arg)}"

    def _unseen(self, value: Value) -> str:
        place = self._places.get(value)
        if place is None:
            return f"a value that stands in a block, found {value.op.name}"
        name = self._function.names.get(value, "?")
        return f"a value that is computed on every path to here, found %{name} of ^{place[0]}"

    def _is_seen(self, value: Value, block: int, number: int) -> bool:
        place = self._places.get(value)
        if place is None or value.type is None:
            return False
        if place[0] == block:
            return place[1] < number
        known = self._dominators
        if not known.reaches(block):
            return True
        return known.reaches(place[0]) and known.dominates(place[0], block)


__all__ = ["problems", "verify"]
