"""Functions of MIR as data: blocks of values, which end in branches that all channels take.

All is frozen: passes make new functions. A value is compared by identity, and checked where it is
made. Blocks have parameters in place of phis; an edge gives one operand for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from visim.engine.jit.mir.attributes import Attribute
from visim.engine.jit.mir.errors import MirTypeError
from visim.engine.jit.mir.ops import ANY_MODE, NO_MODE, OPS, Op, Shape, follows_mode
from visim.types import UD, DataType

NOWHERE = -1
"""In place of a program counter: of no instruction."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An operation on vectors of lanes, and its result.

    Attributes:
        op: the operation.
        type: of the result's elements; None: there is none.
        lanes: how many elements the result has.
        args: the operands; behind them %cr0 where `mode` is `ANY_MODE`.
        attribute: what else the operation needs.
        mode: the bits of %cr0 that the result depends on.
        pc: the instruction that an effect is of, for faults.
    """

    op: Op
    type: DataType | None
    lanes: int
    args: tuple[Value, ...] = ()
    attribute: Attribute = None
    mode: int = NO_MODE
    pc: int = NOWHERE

    def __post_init__(self) -> None:
        op, kind, lanes = self.op, self.type, self.lanes
        if op.plain == len(self.args) and self.mode == NO_MODE and not op.has_modes and lanes > 0:
            for arg in self.args:
                if arg.type is not kind or arg.lanes != lanes:
                    break
            else:
                if kind is not None:
                    return
        self._check()

    def _check(self) -> None:
        """Raise MirTypeError unless operands, attribute and mode are those of the operation."""
        op, kind = self.op, self.type
        if (kind is None) == op.has_result:
            raise MirTypeError(op.name, "a result" if op.has_result else "no result")
        types = tuple(_type(arg, op) for arg in self.operands)
        sizes = tuple(arg.lanes for arg in self.operands)
        problem = op.rule(Shape(kind, self.lanes, types, sizes, self.attribute))
        if problem is None and kind is not None and self.lanes < 1:
            problem = "one lane at least"
        if problem is None:
            problem = self._mode_problem(types)
        if problem:
            raise MirTypeError(op.name, problem)

    @property
    def operands(self) -> tuple[Value, ...]:
        """The operands, without %cr0."""
        return self.args[:-1] if self.mode == ANY_MODE else self.args

    def _mode_problem(self, types: tuple[DataType, ...]) -> str | None:
        follows = follows_mode(self.op, self.type, types, self.attribute)
        if follows == (self.mode == NO_MODE):
            return "the mode that it computes in" if follows else "no mode"
        if self.mode == ANY_MODE and (self.args[-1].type, self.args[-1].lanes) != (UD, 1):
            return "%cr0 as last operand, one UD, where the mode is not known"
        return None


def _type(arg: Value, op: Op) -> DataType:
    if arg.type is None:
        raise MirTypeError(op.name, f"values, found {arg.op.name}, which has no result")
    return arg.type


class EndKind(StrEnum):
    """How blocks end."""

    JUMP = "jump"
    BRANCH = "branch"
    SWITCH = "switch"
    RET = "ret"
    STOP = "stop"


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Where control goes, by the number of the block, and what its parameters are there."""

    block: int
    args: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The end of a block.

    `jump` has one edge; `branch` goes along the first edge where its operand, one bit, is on;
    `switch` along the edge whose number its operand is, or along the last one; `stop` is a fault,
    of the kind that `reason` says, with what it is about as operand.
    """

    kind: EndKind
    args: tuple[Value, ...] = ()
    edges: tuple[Edge, ...] = ()
    reason: str = ""
    pc: int = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Values in order; `note` says which block of the program it comes from."""

    number: int
    params: tuple[Value, ...]
    body: tuple[Value, ...]
    end: End
    note: str = ""


@dataclass(frozen=True)
class Function:
    """A unit as MIR. The first block is where it starts; its parameter is the mask that is on."""

    name: str
    simd: int
    blocks: tuple[Block, ...]
    by_number: Mapping[int, Block] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_number", {block.number: block for block in self.blocks})

    @property
    def entry(self) -> Block:
        """The block at which it starts."""
        return self.blocks[0]

    def values(self) -> Iterator[Value]:
        """Yield all values in the order of the text, parameters as well."""
        for block in self.blocks:
            yield from block.params
            yield from block.body

    @cached_property
    def names(self) -> dict[Value, int]:
        """The numbers of values that have results, in the order of the text."""
        known = (value for value in self.values() if value.type is not None)
        return {value: number for number, value in enumerate(known)}

    @cached_property
    def sources(self) -> dict[int, list[tuple[Block, Edge]]]:
        """The edges that lead to each block, with the blocks that they leave."""
        found: dict[int, list[tuple[Block, Edge]]] = {one.number: [] for one in self.blocks}
        for block in self.blocks:
            for edge in block.end.edges:
                found.setdefault(edge.block, []).append((block, edge))
        return found


PARAM = OPS["param"]


def param(kind: DataType, lanes: int) -> Value:
    """Return a new parameter of a block."""
    return Value(PARAM, kind, lanes)


__all__ = [
    "NOWHERE",
    "PARAM",
    "Block",
    "Edge",
    "End",
    "EndKind",
    "Function",
    "Value",
    "param",
]
