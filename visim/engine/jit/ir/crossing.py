"""What of a function's variables crosses places at which others run meanwhile.

Threads that go in step (`writing/meeting`) leave their variables in a frame at such a place, and
find them there when they go on. Only what code behind the place reads of what code in front of it
has written is kept. What follows from numbers that stay as they are is computed again instead, and
what only passes through is in the frame already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from visim.engine.jit.ir.accesses import NAME, Access, Body, Let, type_bytes
from visim.engine.jit.ir.cycles import cyclic
from visim.engine.jit.ir.reaching import Live, Reaching, Written

_PURE = frozenset(
    {
        *("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "icmp", "select"),
        *("zext", "sext", "trunc", "bitcast", "insertelement", "extractelement"),
    }
)
_MOST_AGAIN = 24
"""How many instructions are done again rather than keep a number."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a variable: the name of its pointer, where they begin, how many they are."""

    name: str
    first: int
    size: int


@dataclass(frozen=True, slots=True)
class Crossed:
    """What crosses a place.

    Attributes:
        kept: what is found there by those that go on.
        left: what is left there; the rest of what is kept is left wherever it is written.
        code: what computes other variables again.
    """

    kept: tuple[Part, ...]
    left: tuple[Part, ...]
    code: tuple[str, ...]


class Crossing:
    """Finds what crosses some places of a function.

    Args:
        body: its body.
        places: the labels of the blocks that begin behind these places.

    Attributes:
        crossed: what crosses each of them.
        at_once: the parts of variables that are left where they are written, by the lines.
    """

    def __init__(self, body: Body, places: Sequence[str]) -> None:
        self._body = body
        self._reaching = Reaching(body, {})
        live = Live(body)
        kept, code = dict[str, list[Part]](), dict[str, list[str]]()
        for place in places:
            kept[place], code[place] = [], []
            for part in self._changed(place, live):
                again = _Again(body, self._reaching, place, part.name).code()
                code[place] += again
                if not again:
                    kept[place].append(part)
        passing = self._passing(kept)
        self.crossed = {
            place: Crossed(
                tuple(parts),
                tuple(part for part in parts if part.name not in passing),
                tuple(code[place]),
            )
            for place, parts in kept.items()
        }
        self.at_once = dict[int, list[Part]]()
        for name, accesses in passing.items():
            some = [part for parts in kept.values() for part in parts if part.name == name]
            first = min(part.first for part in some)
            end = max(part.first + part.size for part in some)
            for one in accesses:
                part = _within(one, first, end)
                self.at_once.setdefault(one.line, []).extend(part)

    def _changed(self, place: str, live: Live) -> Iterator[Part]:
        """Yield what is read behind a place, of variables that are written in front of it."""
        for name, first, size in live.at(place):
            if self._reaching.at(place, name) - {"start"}:
                yield Part(name, first, size)

    def _passing(self, kept: Mapping[str, Sequence[Part]]) -> dict[str, list[Access]]:
        """Return the variables that come from one place to the next as they are, in some turns.

        With each are the writes that the places see: where these are it is left at once. Loops that
        have no such place in them would leave it in each of their turns.
        """
        names = {place: {part.name for part in parts} for place, parts in kept.items()}
        reaching = Reaching(self._body, names)
        inner = self._in_loops(kept)
        found = dict[str, list[Access]]()
        for name in sorted(set[str]().union(*names.values())):
            seen = set[Written]()
            for place, some in names.items():
                if name in some:
                    seen |= reaching.at(place, name)
            if "restored" in seen and "start" not in seen:
                accesses = [one for one in seen if isinstance(one, Access)]
                if not any(one.line in inner for one in accesses):
                    found[name] = sorted(accesses, key=lambda one: one.line)
        return found

    def _in_loops(self, places: Collection[str]) -> set[int]:
        """Return the lines of accesses in loops that have none of some places in them."""
        blocks = self._body.blocks
        edges = {
            label: [target for target in block.targets if target not in places]
            for label, block in blocks.items()
        }
        found = [label for label in cyclic(edges) if label in blocks]
        return {one.line for label in found for one in blocks[label].accesses}


def _within(access: Access, first: int, end: int) -> Iterator[Part]:
    """Yield the part of what an access writes that is within some bytes of the variable."""
    first, end = max(first, access.first), min(end, access.first + access.size)
    if first < end:
        yield Part(access.name, first, end - first)


class _Again:
    """Writes code that computes a variable again at a place, under names that end in a mark."""

    def __init__(self, body: Body, reaching: Reaching, place: str, name: str) -> None:
        self._body, self._reaching = body, reaching
        self._place, self._name = place, name
        self._mark = f".{place}.{name[1:]}"
        self._lines: dict[str, str] = {}
        self._open = set[str]()

    def code(self) -> list[str]:
        """Return the code; nothing if it would be long, or depends on what may have changed."""
        store = self._only_store(self._reaching.at(self._place, self._name))
        if store is None or not self._makes(store.value):
            return []
        shown = self._shown(store.value)
        return [*self._lines.values(), f"  store {store.kind} {shown}, ptr {self._name}"]

    def _only_store(self, written: set[Written]) -> Access | None:
        """Return the store of a whole variable that alone is seen."""
        one = next(iter(written)) if len(written) == 1 else None
        if not isinstance(one, Access) or not one.kind:
            return None
        return one if one.size == self._body.sizes[one.name] else None

    def _shown(self, value: str) -> str:
        return value + self._mark if value.startswith("%") else value

    def _makes(self, value: str) -> bool:
        """Write what makes a value; return whether that is possible."""
        if not value.startswith("%") or value in self._lines:
            return True
        let = self._body.lets.get(value)
        if let is None or value in self._open:
            return False
        if len(self._lines) + len(self._open) >= _MOST_AGAIN:
            return False
        self._open.add(value)  # nothing that needs itself is made of what stays
        made = self._made(value, let)
        self._open.remove(value)
        if made:
            self._lines[value] = f"  {value}{self._mark} = {made}"
        return bool(made)

    def _made(self, value: str, let: Let) -> str:
        access = self._body.loaded(value)
        if access is not None:
            return self._loaded(access)
        if let.code not in _PURE or "<" in let.rest.replace("<1 x ", ""):
            return ""
        if not all(map(self._makes, NAME.findall(let.rest))):
            return ""
        return f"{let.code} " + NAME.sub(lambda name: name[0] + self._mark, let.rest)

    def _loaded(self, access: Access) -> str:
        """Return code for what a load has found: what a store has left, or the thread's start."""
        written = self._reaching.in_front_of(access)
        if written == {"start"}:
            if self._reaching.at(self._place, access.name) != written:
                return ""
            pointer = f"%at{self._mark}.{access.line}"
            at = f"getelementptr i8, ptr {access.name}, i64 {access.first}"
            self._lines.setdefault(pointer, f"  {pointer} = {at}")
            return f"load {access.kind}, ptr {pointer}, align 1"
        store = self._only_store(written)
        if store is None or store.size != type_bytes(access.kind) or not self._makes(store.value):
            return ""
        return f"bitcast {store.kind} {self._shown(store.value)} to {access.kind}"


__all__ = ["Crossed", "Crossing", "Part"]
