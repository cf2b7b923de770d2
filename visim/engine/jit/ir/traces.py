"""The way of a function from one place to another on which nothing unusual happens, as one trace.

A trace has no branches: what they decide are its tests. Only traces are found that write no memory
but what is their thread's own. Of their lines those are told apart that can be done before all
others, so that some copies of a trace can first look whether all their tests hold, and then do the
rest side by side.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from visim.engine.jit.ir.accesses import NAME

_LET = re.compile(r"  (%[\w.]+) = (\w+) (.*)")
_KIND = r"(?:<\d+ x \w+>|\w+)"
_LOAD = re.compile(rf"{_KIND}, ptr (%[\w.]+)(?:, align \d+)?$")
_STORE = re.compile(rf"  store {_KIND} (\S.*), ptr (%[\w.]+)(?:, align \d+)?$")
_AT = re.compile(r"\w+, ptr (%[\w.]+), i64 -?\d+$")
_COPY = re.compile(
    r"  call void @llvm\.mem(?:cpy|set)\.p0\.(?:p0\.)?i64\(ptr (?:align \d+ )?(%[\w.]+), "
    r"(?:i8 0|ptr (%[\w.]+)), i64 \d+, i1 false\)$"
)
_INTRINSIC = re.compile(r"[^@]*@llvm\.[\w.]+\((.*)\)$")
_ENTRY = re.compile(r"\[ (\S+), %([\w.]+) \]")
_JUMP = re.compile(r"  br label %([\w.]+)$")
_LIKELY = re.compile(r"  br i1 (\S+), label %([\w.]+), label %([\w.]+), !prof !([01])$")
_IMPURE = frozenset({"alloca", "atomicrmw", "cmpxchg", "invoke"})
_HINTS = ("  fence syncscope(", "  call void @llvm.prefetch.")
_SOMEWHERE = "?"
"""Memory of which nobody knows where it is."""
_MOST_LINES = 1500
"""Longer traces are not copied: code would be made for too long."""


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction of a trace.

    Attributes:
        text: it.
        name: what it defines; empty if nothing.
        names: what it needs, variables and pointers included.
        reads: the variable that it reads.
        writes: the variable that it writes.
        loads: the pointer to other memory that it reads.
        stores: the pointer to other memory that it writes.
    """

    text: str
    name: str = ""
    names: Sequence[str] = ()
    reads: str = ""
    writes: str = ""
    loads: str = ""
    stores: str = ""


@dataclass
class Trace:
    """A trace.

    Attributes:
        early: the lines that can be done first.
        late: the others.
        tests: what has to hold, and what it has to be, from early lines.
    """

    early: list[Line] = field(default_factory=list[Line])
    late: list[Line] = field(default_factory=list[Line])
    tests: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    @property
    def lines(self) -> list[Line]:
        """All lines."""
        return [*self.early, *self.late]

    @property
    def variables(self) -> set[str]:
        """The variables that are read or written."""
        return {name for line in self.lines for name in (line.reads, line.writes) if name}


@dataclass(frozen=True)
class Memory:
    """What is known of a function's memory.

    Attributes:
        variables: the pointers to its variables.
        lasting: pointers to what nobody writes in a trace.
        kept: pointers to what only its own thread writes.
    """

    variables: Collection[str]
    lasting: Collection[str]
    kept: Collection[str]


class Tracer:
    """Finds traces in a function's body.

    Args:
        body: its lines.
        start: what a thread does in front of each trace; only what is needed of it comes along.
        memory: what is known of memory.
    """

    def __init__(self, body: Iterable[str], start: Sequence[str], memory: Memory) -> None:
        self._start, self._memory = start, memory
        self._blocks: dict[str, list[str]] = {}
        block: list[str] = []
        for line in body:
            if line.endswith(":"):
                block = self._blocks.setdefault(line[:-1], [])
            else:
                block.append(line)

    def trace(self, start: str, end: str) -> Trace | None:
        """Return the trace from one block up to another; None if there is none."""
        path = self._path(start, end)
        if not path or sum(len(self._blocks[label]) for label in path) > _MOST_LINES:
            return None
        lines = list(self._lines(path))
        texts = [line for line in lines if isinstance(line, str)]
        first = list(_needed(self._start, {name for text in texts for name in NAME.findall(text)}))
        return _Sorter(self._memory).sorted([*first, *lines])

    def _path(self, start: str, end: str) -> list[str]:
        """Return the blocks that usually follow each other; none if they turn, or nobody knows."""
        found, label = list[str](), start
        while label != end:
            if label in found or not self._blocks.get(label):
                return []
            found.append(label)
            last = self._blocks[label][-1]
            jump, branch = _JUMP.match(last), _LIKELY.match(last)
            if jump:
                label = jump[1]
            elif branch:
                label = branch[3 - int(branch[4])]
            else:
                return []
        return found

    def _lines(self, path: Sequence[str]) -> Iterator[str | tuple[str, bool]]:
        """Yield the lines along a way, without joins, and what has to hold where it branches."""
        same: dict[str, str] = {}
        for number, label in enumerate(path):
            for line in self._blocks[label]:
                let = _LET.match(line)
                if let and let[2] == "phi":
                    entries = {entry[2]: entry[1] for entry in _ENTRY.finditer(let[3])}
                    value = entries[path[number - 1]]
                    same[let[1]] = same.get(value, value)
                    continue
                shown = NAME.sub(lambda name: same.get(name[0], name[0]), line)
                branch = _LIKELY.match(shown)
                if branch:
                    yield branch[1], branch[4] == "1"
                elif not _JUMP.match(shown):
                    yield shown


def _needed(start: Sequence[str], wanted: set[str]) -> Iterable[str]:
    """Return those lines of a straight start that somebody needs who needs some names."""
    bases: dict[str, str] = {}
    for line in start:
        let = _LET.match(line)
        at = _AT.match(let[3]) if let and let[2] == "getelementptr" else None
        if let and at:
            bases[let[1]] = bases.get(at[1], at[1])
    found: list[str] = []
    wanted |= {bases[name] for name in wanted if name in bases}
    for line in reversed(start):
        let, copy, store = _LET.match(line), _COPY.match(line), _STORE.match(line)
        target = copy[1] if copy else store[2] if store else ""
        if (let and let[1] in wanted) or bases.get(target, target) in wanted:
            names = NAME.findall(line)
            wanted |= {*names, *(bases[name] for name in names if name in bases)}
            found.append(line)
    return reversed(found)


class _Reader:
    """Reads the lines of a trace, one after the other."""

    def __init__(self, variables: Iterable[str]) -> None:
        self._pointers = {name: name for name in variables}

    def line(self, text: str) -> Line | None:
        """Return what a line does; None if nobody knows, or if it is nothing for a trace."""
        let, copy, store = _LET.match(text), _COPY.match(text), _STORE.match(text)
        if let:
            return self._let(text, *let.groups())
        names = NAME.findall(text)
        if copy:
            return Line(
                text,
                names=names,
                reads=self._pointers.get(copy[2], ""),
                loads="" if copy[2] in self._pointers else copy[2] or "",
                writes=self._pointers.get(copy[1], ""),
                stores="" if copy[1] in self._pointers else copy[1],
            )
        if store and not self._reaches(NAME.findall(store[1])):
            variable = self._pointers.get(store[2], "")
            return Line(text, names=names, writes=variable, stores="" if variable else store[2])
        if text.startswith(_HINTS) and not self._reaches(names):
            return Line(text, names=names, loads=_SOMEWHERE)
        return None

    def _let(self, text: str, name: str, code: str, rest: str) -> Line | None:
        names = NAME.findall(rest)
        at, load = _AT.match(rest), _LOAD.match(rest)
        if code == "getelementptr" and at and at[1] in self._pointers:
            self._pointers[name] = self._pointers[at[1]]
            return Line(text, name, names)
        if code == "load" and load and load[1] in self._pointers:
            return Line(text, name, names, reads=self._pointers[load[1]])
        if code in _IMPURE or self._reaches(names):
            return None
        if code == "load":
            return Line(text, name, names, loads=load[1]) if load else None
        if code == "call":
            call = _INTRINSIC.match(rest)
            if call is None:
                return None
            return Line(text, name, names, loads=_SOMEWHERE if "ptr" in call[1] else "")
        return Line(text, name, names)

    def _reaches(self, names: Iterable[str]) -> bool:
        return any(name in self._pointers for name in names)


class _Sorter:
    """Tells lines that can be done first from the others.

    Each of these has to stay behind what is late and makes what it needs, or reads or writes the
    same variable.
    """

    def __init__(self, memory: Memory) -> None:
        self._reader = _Reader(memory.variables)
        self._lasting, self._kept = set(memory.lasting), set(memory.kept)
        self._late: set[str] = set()
        self._late_reads: set[str] = set()
        self._late_writes: set[str] = set()
        self._has_kept = False

    def sorted(self, lines: Iterable[str | tuple[str, bool]]) -> Trace | None:
        """Return the trace of some lines and tests, or None."""
        trace = Trace()
        for text in lines:
            if isinstance(text, tuple):
                if text[0] in self._late:
                    return None
                trace.tests.append(text)
                continue
            line = self._reader.line(text)
            if line is None or line.stores not in {"", *self._kept}:
                return None
            self._follow(line)
            if self._is_early(line):
                trace.early.append(line)
            else:
                trace.late.append(line)
                self._note(line)
        return trace

    def _follow(self, line: Line) -> None:
        """Note where a pointer leads."""
        at = _AT.search(line.text) if " = getelementptr " in line.text else None
        for known in (self._lasting, self._kept):
            if at and at[1] in known:
                known.add(line.name)

    def _is_early(self, line: Line) -> bool:
        if line.stores or not self._late.isdisjoint(line.names):
            return False
        kept = () if self._has_kept else self._kept
        if line.loads and line.loads not in self._lasting and line.loads not in kept:
            return False
        if not self._late_writes.isdisjoint({line.reads, line.writes}):
            return False
        return line.writes not in self._late_reads

    def _note(self, line: Line) -> None:
        self._has_kept |= bool(line.stores)
        self._late |= {line.name} - {""}
        self._late_reads |= {line.reads} - {""}
        self._late_writes |= {line.writes} - {""}


__all__ = ["Line", "Memory", "Trace", "Tracer"]
