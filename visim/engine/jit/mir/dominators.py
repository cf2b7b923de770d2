"""The dominators of a function's blocks."""

from __future__ import annotations

from visim.engine.jit import graphs
from visim.engine.jit.mir.values import Function


def dominators(function: Function) -> graphs.DominatorTree[int]:
    """Return the tree of dominators of a function's blocks, by their numbers."""
    sources = {
        number: [block.number for block, _ in edges] for number, edges in function.sources.items()
    }
    return graphs.DominatorTree(reverse_postorder(function), sources)


def reverse_postorder(function: Function) -> list[int]:
    """Return the numbers of the blocks that control can reach, in reverse postorder."""
    blocks = function.by_number

    def targets(number: int) -> list[int]:
        return [edge.block for edge in blocks[number].end.edges]

    return graphs.reverse_postorder(function.entry.number, targets)


__all__ = ["dominators", "reverse_postorder"]
