"""The words of claims: how those of some cells are compared with who accesses them now."""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.claims import (
    ATOMIC,
    CHANNEL_SHIFT,
    EVERYBODY,
    GROUP_SHIFT,
    PHASE_SHIFT,
    PLAIN,
    SEVERAL_GROUPS,
    SEVERAL_ITEMS,
)
from visim.engine.jit.ir.text import Text, signed, splat

_ITEMS = (1 << CHANNEL_SHIFT) - 1
"""The marks of a word, below what says whose it is."""


@dataclass(frozen=True, slots=True)
class Accessor:
    """Who accesses memory now, and how, as names of LLVM's values.

    Attributes:
        text: what is written.
        verb: "load", "store" or "atomic".
        is_local: whether the memory is shared local memory.
        base: the word of the access's group.
        limit: how far behind that words of the time since the last barrier begin.
        oldest: the least word of the launch.
        many: the word of atomics of several groups.
    """

    text: Text
    verb: str
    is_local: bool
    base: str
    limit: str
    oldest: str
    many: str


class ClaimWords:
    """Writes comparisons of some cells' words with those of who accesses them now."""

    def __init__(self, accessor: Accessor, count: int, own: str, several: str = "0") -> None:
        self.count = count
        self.kind, self.bools = f"<{count} x i64>", f"<{count} x i1>"
        self._own, self._accessor, self._text = own, accessor, accessor.text
        self._base = self._text.spread("i64", count, accessor.base)
        self._limit = self._text.spread("i64", count, accessor.limit)
        self._oldest = self._text.spread("i64", count, accessor.oldest)
        self._many = accessor.many
        self._several = several

    def compared(self, writer: str, reader: str) -> tuple[str, str]:
        """Return which cells are suspicious, and their new words: of readers or of writers."""
        met = self._meets(writer)
        if self._accessor.verb == "load":
            return met, self._new_reader(reader)
        read = self._meets_readers(reader)
        if self._accessor.verb == "store":
            return self._or(met, read), self._op("or", self._own, PLAIN)
        plain = self._marked(writer, PLAIN)
        return self._or(self._and(met, plain), read), self._new_atomic(writer)

    def _meets(self, word: str) -> str:
        """Return where a word is somebody else's, whom nothing has ordered before this access."""
        behind = self._op("sub", word, self._base)
        others = self._is("ugt", self._op("xor", word, self._own), _ITEMS)
        return self._counts(self._and(self._since(behind), others), behind, word)

    def _meets_readers(self, word: str) -> str:
        behind = self._op("sub", word, self._base)
        others = self._is("ugt", self._op("xor", word, self._own), _ITEMS)
        others = self._or(others, self._marked(word, SEVERAL_ITEMS))
        found = self._and(self._since(behind), others)
        if not self._accessor.is_local:
            found = self._or(found, self._marked(word, SEVERAL_GROUPS))
        return self._counts(found, behind, word)

    def _since(self, behind: str) -> str:
        """Return where words are not of before the last barrier."""
        return self._text.let(f"icmp uge {self.kind} {behind}, {self._limit}")

    def _counts(self, found: str, behind: str, word: str) -> str:
        """Leave out words that are nobody's, or another group's local memory's."""
        if self._accessor.is_local:
            return self._and(found, self._is("ult", behind, 1 << GROUP_SHIFT))
        return self._and(found, self._is("uge", word, self._oldest))

    def _new_reader(self, word: str) -> str:
        """Return the word of readers; that of several groups' stays, which is never in order."""
        changed = self._op("xor", word, self._own)
        together = self._is("ult", changed, 1 << PHASE_SHIFT)
        others = self._is("ugt", changed, _ITEMS)
        others = self._or(others, self._marked(word, SEVERAL_ITEMS))
        new = self._op("or", self._own, self._mark(self._and(together, others), SEVERAL_ITEMS))
        if self._several != "0":
            new = self._op("or", new, self._text.spread("i64", self.count, self._several))
        if self._accessor.is_local:
            return new
        behind = self._op("sub", word, self._base)
        counts = self._is("uge", word, self._oldest)
        apart = self._and(self._is("uge", behind, 1 << GROUP_SHIFT), counts)
        new = self._op("or", new, self._mark(apart, SEVERAL_GROUPS))
        stays = self._and(self._marked(word, SEVERAL_GROUPS), counts)
        return self._chosen(stays, word, new)

    def _new_atomic(self, word: str) -> str:
        """Return the word of atomics: all of a group are one, and so are several groups.

        A plain store stays marked in front of which there was no barrier: it is in order with the
        atomic of the same work-item, but not with those of others.
        """
        new = self._op("or", self._own, EVERYBODY | ATOMIC)
        behind = self._op("sub", word, self._base)
        stored = self._and(self._since(behind), self._marked(word, PLAIN))
        stored = self._counts(stored, behind, word)
        new = self._op("or", new, self._mark(stored, PLAIN))
        if self._accessor.is_local:
            return new
        apart = self._is("uge", behind, 1 << GROUP_SHIFT)
        apart = self._and(apart, self._marked(word, ATOMIC))
        apart = self._and(apart, self._is("uge", word, self._oldest))
        many = self._text.spread("i64", self.count, self._many)
        return self._chosen(apart, self._op("or", many, ATOMIC), new)

    # Instructions

    def _splat(self, value: str | int) -> str:
        return splat("i64", self.count, signed(value, 64)) if isinstance(value, int) else value

    def _op(self, name: str, a: str, b: str | int) -> str:
        return self._text.let(f"{name} {self.kind} {a}, {self._splat(b)}")

    def _is(self, relation: str, a: str, b: str | int) -> str:
        return self._text.let(f"icmp {relation} {self.kind} {a}, {self._splat(b)}")

    def _and(self, a: str, b: str) -> str:
        return self._text.let(f"and {self.bools} {a}, {b}")

    def _or(self, a: str, b: str) -> str:
        return self._text.let(f"or {self.bools} {a}, {b}")

    def _marked(self, word: str, mark: int) -> str:
        return self._is("ne", self._op("and", word, mark), 0)

    def _mark(self, where: str, mark: int) -> str:
        return self._chosen(where, self._splat(mark), "zeroinitializer")

    def _chosen(self, where: str, a: str, b: str) -> str:
        return self._text.let(f"select {self.bools} {where}, {self.kind} {a}, {self.kind} {b}")


__all__ = ["Accessor", "ClaimWords"]
