"""Nodes of a graph from which control can come back to them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def cyclic(edges: Mapping[_Node, Iterable[_Node]]) -> Iterator[_Node]:
    """Yield the nodes of a graph that lie on cycles (Tarjan's strongly connected components)."""
    lowest, numbers, open_nodes = dict[_Node, int](), dict[_Node, int](), list[_Node]()
    path: list[tuple[_Node, Iterator[_Node]]] = []

    def enter(key: _Node) -> None:
        lowest[key] = numbers[key] = len(numbers)
        open_nodes.append(key)
        path.append((key, iter(edges.get(key, ()))))

    for root in edges:
        if root not in numbers:
            enter(root)
        while path:
            key, rest = path[-1]
            for target in rest:
                if target not in numbers:
                    enter(target)
                    break
                if target in lowest:
                    lowest[key] = min(lowest[key], numbers[target])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[key])
                if lowest[key] == numbers[key]:
                    yield from _closed(edges, key, open_nodes, lowest)


def _closed(
    edges: Mapping[_Node, Iterable[_Node]],
    key: _Node,
    open_nodes: list[_Node],
    lowest: dict[_Node, int],
) -> list[_Node]:
    """Take a component off the nodes that are open; return it if it has a cycle."""
    component = list[_Node]()
    while key in lowest:
        component.append(open_nodes.pop())
        del lowest[component[-1]]
    return component if len(component) > 1 or key in edges.get(key, ()) else []


__all__ = ["cyclic"]
