"""What a function's text does with its variables: which lines read and write which bytes.

A variable is memory of the function, reached by pointers that the text makes of its name. Loads
that nothing with an effect needs are left out, as LLVM does, and stores that only they would see.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.ir.text import scalar_bytes
from visim.errors import InternalError

NAME = re.compile(r"%[\w.]+")
_LET = re.compile(r"  (%[\w.]+) = (\w+) (.*)")
_LOAD = re.compile(r"(<\d+ x \w+>|\w+), ptr (%[\w.]+)(?:, align \d+)?$")
_STORE = re.compile(r"  store (<\d+ x \w+>|\w+) (\S.*), ptr (%[\w.]+)(?:, align \d+)?$")
_AT = re.compile(r"i8, ptr (%[\w.]+), i64 (-?\d+)$")
_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_LABEL = re.compile(r"label %([\w.]+)")
_ROOM = re.compile(r"  (%[\w.]+) = alloca (?:\[(\d+) x i8\]|(<\d+ x \w+>|\w+))(?:, align \d+)?$")
_EFFECTS = frozenset({"call", "atomicrmw", "cmpxchg"})


def type_bytes(kind: str) -> int:
    """Return the size of a type in memory."""
    vector = _VECTOR.fullmatch(kind)
    if vector is None:
        return 8 if kind == "ptr" else max(1, scalar_bytes(kind))
    lanes, scalar = int(vector[1]), vector[2]
    return -(-lanes // 8) if scalar == "i1" else lanes * scalar_bytes(scalar)


def allocated(lines: Iterable[str]) -> dict[str, int]:
    """Return the variables for which lines make room, and their sizes in bytes."""
    found: dict[str, int] = {}
    for line in lines:
        if " = alloca " in line:
            room = _ROOM.match(line)
            if room is None:
                raise InternalError(f"room for a variable of which nobody knows the size: {line}")
            found[room[1]] = int(room[2]) if room[2] else type_bytes(room[3])
    return found


@dataclass(frozen=True, slots=True)
class Access:
    """A line that reads bytes of a variable, or writes them.

    Attributes:
        line: the number of the line.
        name: the variable.
        first: the first byte.
        size: how many bytes.
        writes: whether it writes them.
        kind: the type of what is read or written; empty if nobody knows what happens there.
        value: what is written.
    """

    line: int
    name: str
    first: int
    size: int
    writes: bool = False
    kind: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Let:
    """An instruction with a result: its line, its name, the rest."""

    line: int
    code: str
    rest: str


@dataclass(slots=True)
class Block:
    """A block of a function: where it goes, and what it does with variables, in order."""

    label: str
    targets: list[str] = field(default_factory=list[str])
    accesses: list[Access] = field(default_factory=list[Access])


class Body:
    """The body of a function as accesses to its variables.

    Args:
        lines: the text.
        sizes: how many bytes each variable has, by the name of its pointer.

    Attributes:
        lets: the instructions with results, by names.
        blocks: the blocks by labels; the first one has none.
    """

    def __init__(self, lines: Sequence[str], sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.lets: dict[str, Let] = {}
        self._pointers = {name: (name, 0) for name in sizes}
        self._roots = list[str]()
        self._loads: dict[str, Access] = {}
        self._stores: dict[str, list[Access]] = {}
        self.blocks: dict[str, Block] = {}
        block = self._begin("")
        for number, line in enumerate(lines):
            if line.endswith(":"):
                block = self._begin(line[:-1])
            else:
                block.accesses += self._accesses(number, line, block)
        self._leave_out(self._needed())

    def _begin(self, label: str) -> Block:
        return self.blocks.setdefault(label, Block(label))

    def _accesses(self, number: int, line: str, block: Block) -> Iterable[Access]:
        """Return what a line does, and note what it is."""
        let = _LET.match(line)
        if let:
            name, code, rest = let.groups()
            self.lets[name] = Let(number, code, rest)
            return self._of_let(number, name, code, rest)
        store = _STORE.match(line)
        if store and store[2] in self._pointers:
            raise _unknown_pointer(line)
        if store and store[3] in self._pointers:
            variable, first = self._pointers[store[3]]
            size = type_bytes(store[1])
            access = Access(number, variable, first, size, True, store[1], store[2])
            self._stores.setdefault(variable, []).append(access)
            return (access,)
        if line.startswith(("  br ", "  switch ")):
            block.targets = _LABEL.findall(line)
        return self._escaping(number, NAME.findall(line))

    def _of_let(self, number: int, name: str, code: str, rest: str) -> Iterable[Access]:
        if code == "load":
            load = _LOAD.match(rest)
            if load and load[2] in self._pointers:
                variable, first = self._pointers[load[2]]
                access = Access(number, variable, first, type_bytes(load[1]), kind=load[1])
                self._loads[name] = access
                return (access,)
        elif code == "getelementptr":
            at = _AT.match(rest)
            if at and at[1] in self._pointers:
                variable, offset = self._pointers[at[1]]
                self._pointers[name] = variable, offset + int(at[2])
                return ()
        names = NAME.findall(rest)
        has_effect = code in _EFFECTS or rest.startswith(("volatile ", "atomic "))
        if not has_effect and not any(one in self._pointers for one in names):
            return ()
        if not has_effect and code != "load":
            raise _unknown_pointer(f"{name} = {code} {rest}")
        return self._escaping(number, names)

    def _escaping(self, number: int, names: Sequence[str]) -> Iterator[Access]:
        """Yield what a line may do with variables whose addresses it has: read and write all."""
        self._roots += names
        for variable in dict.fromkeys(self._pointers[n][0] for n in names if n in self._pointers):
            yield Access(number, variable, 0, self.sizes[variable])
            yield Access(number, variable, 0, self.sizes[variable], writes=True)

    def _needed(self) -> set[str]:
        """Return the names and the variables that something with an effect needs."""
        waiting, needed, variables = list(self._roots), set[str](), set[str]()
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            let = self.lets.get(name)
            if let is not None:
                waiting += NAME.findall(let.rest)
            variable = self._pointers.get(name, ("",))[0]
            if variable and variable not in variables:
                variables.add(variable)
                for store in self._stores.get(variable, ()):
                    waiting += NAME.findall(store.value)
        return needed

    def _leave_out(self, needed: set[str]) -> None:
        unused = {load.line for name, load in self._loads.items() if name not in needed}
        for block in self.blocks.values():
            block.accesses = [
                one
                for one in block.accesses
                if one.name in needed and (one.writes or one.line not in unused)
            ]

    def loaded(self, name: str) -> Access | None:
        """Return the load from a variable that has a name."""
        return self._loads.get(name)


def _unknown_pointer(line: str) -> InternalError:
    return InternalError(f"a pointer into a variable, and nobody knows who uses it: {line.strip()}")


__all__ = ["NAME", "Access", "Block", "Body", "Let", "allocated", "type_bytes"]
