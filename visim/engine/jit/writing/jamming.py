"""Two threads side by side from one barrier to the next, where they only read memory.

What threads of a group do there is one trace (`traces`), and two copies of it are one block: chains
of multiply-adds of one thread fill the gaps between those of the other, and what both load alike,
such as the rows of a tile, is loaded once. All their tests come first. If one of them fails,
nothing has happened yet, and the threads go on one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from visim.engine.jit.ir.accesses import NAME
from visim.engine.jit.ir.traces import Line, Memory, Trace, Tracer

_OWN = ("%number", "%thread", "%kept")
"""What a thread has of its own before it does anything; all else follows from it."""
_LASTING = ("%ctx", "%thread", "%image", "%payload", "%firsts")
_CLOCK = "%clock"
LEAST_LOADS = 8
"""So many loads pay for the look whether there are two threads that can go side by side."""


@dataclass(frozen=True)
class Threads:
    """What all jams of a function have in common.

    Attributes:
        body: the function's body.
        start: what each thread starts with, without the room for variables.
        room: the instructions that make this room, by the names of variables.
        common: pointers that all threads have in common to what nobody writes.
        frame_bytes: the size of a frame.
    """

    body: Sequence[str]
    start: Sequence[str]
    room: Mapping[str, str]
    common: Sequence[str]
    frame_bytes: int

    def jam(self, label: str, state: int) -> Jam | None:
        """Return the jam of threads that go on at a label; None if there is none."""
        fixed = [line.split()[0] for line in self.start if " = getelementptr " in line]
        memory = Memory(self.room, {*_LASTING, *self.common, *fixed}, {"%kept"})
        trace = Tracer(self.body, self.start, memory).trace(label, "thread.meets")
        if trace is None or sum(bool(line.loads) for line in trace.late) < LEAST_LOADS:
            return None
        return Jam(label, state, trace, self)


class Jam:
    """Writes one jam; `label` and `state` are those of the place where its threads go on."""

    def __init__(self, label: str, state: int, trace: Trace, threads: Threads) -> None:
        self.name = f"jam.{label}"
        self._label, self._state = label, state
        self._trace, self._threads = trace, threads
        self._own = _own(trace.lines)
        names = {line.name for line in trace.lines if line.name} | trace.variables | {_CLOCK, *_OWN}
        self._ends = tuple(f".{self.name}.{number}" for number in range(2))
        self._marks = [
            {name: end if name in self._own else self._ends[0] for name in names}
            for end in self._ends
        ]

    def room(self) -> Iterator[str]:
        """Yield the instructions that make room for the variables of both threads."""
        for name in sorted({*self._trace.variables, _CLOCK}):
            for end in self._ends if name in self._own else self._ends[:1]:
                yield f"  {name}{end} = {self._threads.room[name]}"

    def written(self) -> Iterator[str]:
        """Yield the lines of the jam."""
        name, (one, other), trace = self.name, self._ends, self._trace
        yield f"{name}:"
        yield f"  %number{other} = add i64 %number, 1"
        yield f"  %entrants{other} = load i64, ptr %entrants"
        yield f"  %is.there{other} = icmp ult i64 %number{other}, %entrants{other}"
        yield self._unless_alone(f"%is.there{other}", "look")
        yield f"{name}.look:"
        yield f"  %number{one} = add i64 %number, 0"
        for end in self._ends:
            yield from self._thread(end)
        yield f"  %is.here{other} = icmp eq i32 %state{other}, {self._state}"
        yield self._unless_alone(f"%is.here{other}", "begin")
        yield f"{name}.begin:"
        yield from self._copies(trace.early)
        yield from self._tested()
        yield f"{name}.goes:"
        yield from self._copies(trace.late)
        yield from self._end()

    def _unless_alone(self, test: str, label: str) -> str:
        """Return the jump to a part of the jam, or to where the first thread goes on alone."""
        return f"  br i1 {test}, label %{self.name}.{label}, label %{self._label}, !prof !1"

    def _thread(self, end: str) -> Iterator[str]:
        yield f"  %thread.at{end} = getelementptr ptr, ptr %records, i64 %number{end}"
        yield f"  %thread{end} = load ptr, ptr %thread.at{end}"
        yield f"  %kept.place{end} = mul i64 %number{end}, {self._threads.frame_bytes}"
        yield f"  %kept{end} = getelementptr i8, ptr %frames, i64 %kept.place{end}"
        yield f"  %state{end} = load i32, ptr %kept{end}"

    def _copies(self, lines: Iterable[Line]) -> Iterator[str]:
        """Yield lines for both threads, or once where that is enough."""
        for line in lines:
            for marks in self._marks if _is_own(line, self._own) else self._marks[:1]:
                yield _renamed(line.text, marks)

    def _tested(self) -> Iterator[str]:
        """Yield what finds out whether all tests hold."""
        fits = "true"
        for number, (test, wanted) in enumerate(self._trace.tests):
            for end, marks in zip(self._ends, self._marks, strict=True):
                name, shown = f"%fits.{number}{end}", _renamed(test, marks)
                yield f"  {name}.one = xor i1 {shown}, {'false' if wanted else 'true'}"
                yield f"  {name} = and i1 {fits}, {name}.one"
                fits = name
        yield self._unless_alone(fits, "goes")

    def _end(self) -> Iterator[str]:
        """Yield how both threads have met others: the last one is counted as if it were alone."""
        name = self.name
        yield f"  %before.{name} = load i64, ptr %executed"
        for end, marks in zip(self._ends, self._marks, strict=True):
            yield f"  %count{end} = load i64, ptr {_renamed(_CLOCK, marks)}"
        yield f"  %counts.{name} = add i64 %count{self._ends[0]}, %count{self._ends[1]}"
        yield f"  %now.{name} = add i64 %before.{name}, %counts.{name}"
        yield f"  store i64 %now.{name}, ptr %executed"
        yield f"  %met.{name} = load i64, ptr %met"
        yield f"  %met.now.{name} = add i64 %met.{name}, 1"
        yield f"  store i64 %met.now.{name}, ptr %met"
        yield f"  store i64 %number{self._ends[1]}, ptr %number.last"
        yield "  br label %thread.meets"


def _own(lines: Sequence[Line]) -> set[str]:
    """Return the names and the variables in which two threads may differ."""
    found, before = set[str](_OWN), 0
    while before != len(found):
        before = len(found)
        for line in lines:
            if _is_own(line, found):
                found |= {line.name, line.writes} - {""}
    return found


def _is_own(line: Line, own: set[str]) -> bool:
    """Whether a line does something else in each of two threads, neither of which stores."""
    return bool(line.stores) or not own.isdisjoint(line.names)


def _renamed(text: str, marks: Mapping[str, str]) -> str:
    return NAME.sub(lambda name: name[0] + marks.get(name[0], ""), text)


__all__ = ["LEAST_LOADS", "Jam", "Threads"]
