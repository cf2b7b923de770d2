"""Which writes of a function's variables reach a place, and which bytes are read behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Literal

from visim.engine.jit.ir.accesses import Access, Body

Written = Access | Literal["start", "restored"]
"""A line that writes a variable; or what it starts with; or what it is restored to at a place."""


def sources(body: Body) -> dict[str, list[str]]:
    """Return from which blocks control comes to each block."""
    found: dict[str, list[str]] = {label: [] for label in body.blocks}
    for block in body.blocks.values():
        for target in block.targets:
            if target in found:
                found[target].append(block.label)
    return found


class Live:
    """What is read from the start of blocks on before it is written, of a function's variables."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._offsets: dict[str, int] = {}
        end = 0
        for name, size in body.sizes.items():
            self._offsets[name] = end
            end += size
        self._reads, writes = dict[str, int](), dict[str, int]()
        for label, block in body.blocks.items():
            seen = done = 0
            for one in block.accesses:
                mask = (1 << one.size) - 1 << self._offsets[one.name] + one.first
                if not one.writes:
                    seen |= mask & ~done
                elif one.kind:
                    done |= mask
            self._reads[label], writes[label] = seen, ~done
        come_from, waiting = sources(body), list(body.blocks)
        while waiting:
            label = waiting.pop()
            for source in come_from[label]:
                before = self._reads[source]
                after = before | self._reads[label] & writes[source]
                if after != before:
                    self._reads[source] = after
                    waiting.append(source)

    def at(self, label: str) -> Iterator[tuple[str, int, int]]:
        """Yield the variables of which bytes are read: the first byte, and how many to the last."""
        reads = self._reads[label]
        for name, offset in self._offsets.items():
            mask = reads >> offset & (1 << self._body.sizes[name]) - 1
            if mask:
                first = (mask & -mask).bit_length() - 1
                yield name, first, mask.bit_length() - first


class Reaching:
    """Which writes reach the start of each block.

    Args:
        body: the function's body.
        restored: variables that are restored at the start of blocks, by their labels.
    """

    def __init__(self, body: Body, restored: Mapping[str, Collection[str]]) -> None:
        self._body = body
        self._restored = restored
        self._written: list[Written] = []
        self._starts: dict[str, int] = {}
        self._all: dict[str, int] = {}
        self._numbers: dict[Access, int] = {}
        for name, accesses in self._by_variable().items():
            self._starts[name] = len(self._written)
            self._written += ("start", "restored", *accesses)
            for number, access in enumerate(accesses, start=self._starts[name] + 2):
                self._numbers[access] = number
            self._all[name] = (1 << len(accesses) + 2) - 1 << self._starts[name]
        self._at = self._solved()

    def _by_variable(self) -> dict[str, list[Access]]:
        found: dict[str, list[Access]] = {}
        for block in self._body.blocks.values():
            for one in block.accesses:
                writes = found.setdefault(one.name, [])
                if one.writes:
                    writes.append(one)
        return found

    def _solved(self) -> dict[str, int]:
        start = 0
        for number in self._starts.values():
            start |= 1 << number
        found, waiting = {"": start}, [""]
        changes = {label: self._change(label) for label in self._body.blocks}
        while waiting:
            label = waiting.pop()
            kept, added = changes[label]
            after = found[label] & kept | added
            for target in self._body.blocks[label].targets:
                before = found.get(target)
                if target in changes and (before is None or after & ~before):
                    found[target] = after | (before or 0)
                    waiting.append(target)
        return found

    def _change(self, label: str, until: int | None = None) -> tuple[int, int]:
        """Return which writes pass through a block, up to a line of it, and those in it."""
        kept, added = -1, 0
        for name in self._restored.get(label, ()):
            if name in self._all:
                kept &= ~self._all[name]
                added |= 2 << self._starts[name]
        for one in self._body.blocks[label].accesses:
            if until is not None and one.line >= until:
                break
            if one.writes:
                if one.kind and one.size == self._body.sizes[one.name]:
                    kept &= ~self._all[one.name]
                    added &= ~self._all[one.name]
                added |= 1 << self._numbers[one]
        return kept, added

    def at(self, label: str, name: str) -> set[Written]:
        """Return the writes of a variable that reach a block, in front of what it restores."""
        return self._of(self._at.get(label, 0), name)

    def in_front_of(self, access: Access) -> set[Written]:
        """Return the writes that a load from a variable may see."""
        label = self._homes[access.line]
        kept, added = self._change(label, access.line)
        return self._of(self._at.get(label, 0) & kept | added, access.name)

    @cached_property
    def _homes(self) -> dict[int, str]:
        """The block of each line that reads a variable."""
        blocks = self._body.blocks.values()
        return {one.line: block.label for block in blocks for one in block.accesses}

    def _of(self, bits: int, name: str) -> set[Written]:
        bits &= self._all.get(name, 0)
        found = set[Written]()
        while bits:
            found.add(self._written[(bits & -bits).bit_length() - 1])
            bits &= bits - 1
        return found


__all__ = ["Live", "Reaching", "Written"]
