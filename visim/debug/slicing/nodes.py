"""The nodes of a chain: instructions that took part, and where values begin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from visim.debug.naming.values import REGISTERS
from visim.debug.slicing.recording import Record
from visim.types import DataType


class Where(NamedTuple):
    """Bytes: of a thread's registers, of host memory, or of local or scratch memory."""

    space: str
    owner: int
    start: int
    size: int


@dataclass(slots=True, eq=False)
class Node:
    """An instruction's channel that took part, or where values begin (`record` is None).

    `wrote` is what it wrote, of which `text` is the value. `causes` are the nodes that it was
    computed from, and as what.
    """

    number: int
    group: int
    record: Record | None
    lane: int
    wrote: Where
    text: str = ""
    origin: str = ""
    kind: DataType | None = None
    causes: list[tuple[str, Node]] = field(default_factory=list["tuple[str, Node]"])


@dataclass(slots=True, eq=False)
class Chain:
    """All nodes, the first being that of the value; `is_cut` where there are too many."""

    nodes: list[Node]
    is_cut: bool = False


__all__ = ["REGISTERS", "Chain", "Node", "Where"]
