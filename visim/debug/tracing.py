"""Traces: what each hardware thread did and wrote, for Perfetto and for comparing runs.

A trace is a file of trace events (the JSON that Perfetto and Chrome read). A process is a group, a
track one of its hardware threads; a stretch is a source line, or the instructions between two
labels where there are no lines; one executed instruction of the group stands as one microsecond.
Writes to memory are instants with the values that were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from visim.debug.engine.memory import HOST, Access
from visim.debug.engine.timeline import Moment
from visim.debug.looking.lines import Place
from visim.debug.session import Session
from visim.errors import ArgumentError

MOST_EVENTS = 2_000_000
FORMAT = "visim trace 1"
_RANGE = re.compile(r"(\d{1,12})(?:-(\d{1,12}))?")
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which groups, threads and source lines a trace has; None stands for all."""

    groups: range | None = None
    threads: range | None = None
    lines: range | None = None

    @classmethod
    def of(cls, text: str) -> Chosen:
        """Return what a text such as "group=3,thread=0-1,line=10-20" chooses.

        Raises:
            ArgumentError: it says something else.
        """
        found: dict[str, range] = {}
        for part in text.split(","):
            name, _, value = part.strip().partition("=")
            match = _RANGE.fullmatch(value.strip())
            if name not in {"group", "thread", "line"} or match is None:
                raise ArgumentError(
                    f"trace-only: expected group=N, thread=N or line=A-B, found {part.strip()!r}"
                )
            first = int(match[1])
            found[f"{name}s"] = range(first, int(match[2] or first) + 1)
        return cls(**found)


@dataclass(slots=True)
class _Open:
    """A stretch that has begun and not ended."""

    name: str
    place: Place
    begun: int
    instructions: int = 0


@dataclass(slots=True)
class Tracer:
    """Writes down what a session's launch does.

    Args:
        session: the launch, at its start.
        chosen: what is written down.
    """

    session: Session
    chosen: Chosen = field(default_factory=Chosen)
    events: list[Event] = field(default_factory=list[Event])
    is_cut: bool = False
    _open: dict[int, _Open] = field(default_factory=dict[int, _Open])
    _before: tuple[int, int, Place, int, int] | None = None
    _known: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def run(self) -> None:
        """Run the launch to its end or its fault."""
        session = self.session
        order = session.debuggee.order
        for index in range(len(order)):
            if self.chosen.groups is not None and index not in self.chosen.groups:
                continue
            if session.timeline.moment != Moment(index, 0):
                session.timeline.go_to(Moment(index, 0))
            self._group(index)
            if session.timeline.fault is not None or self.is_cut:
                return
        session.timeline.go_to(Moment(len(order), 0))

    def _group(self, index: int) -> None:
        timeline = self.session.timeline
        timeline.log.accesses.clear()
        timeline.log.is_on = True
        self._before, self._open = None, {}
        try:
            timeline.run(None, lambda: self._note(index), Moment(index + 1, 0), singly=True)
            self._writes()
        finally:
            timeline.log.is_on = False
        if self._before is not None:
            self._end_all(index, self._before[1] + 1)

    def _note(self, index: int) -> bool:
        """Write down the instruction that comes next, and what the last one has written."""
        self._writes()
        stepper = self.session.timeline.stepper
        thread, stretch, pc = stepper.thread, stepper.stretch, stepper.pc
        if thread is None or stretch is None or pc is None:
            return False
        tick, place = stepper.group.tick, (stretch.unit, pc)
        before = self._before
        if before is not None and before[0] != thread.number:
            self._end(index, before[0], before[1] + 1)
        self._before = thread.number, tick, place, thread.active, index
        threads = self.chosen.threads
        if threads is not None and thread.number not in threads:
            return False
        name = self._name(place)
        now = self._open.get(thread.number)
        if now is None or now.name != name:
            self._end(index, thread.number, tick)
            self._open[thread.number] = now = _Open(name, place, tick)
        now.instructions += 1
        if len(self.events) >= MOST_EVENTS:
            self.is_cut = True
        return self.is_cut

    def _name(self, place: Place) -> str:
        lines = self.session.lines
        if lines.source(place) is not None:
            return lines.where(place)
        return f"{lines.unit_name(place[0])}: {lines.instruction(place).split()[0]}"

    def _is_chosen(self, place: Place) -> bool:
        source = self.session.lines.source(place)
        return self.chosen.lines is None or (
            source is not None and source.line in self.chosen.lines
        )

    def _end(self, index: int, thread: int, tick: int) -> None:
        """End the stretch of a thread."""
        found = self._open.pop(thread, None)
        if found is None or not self._is_chosen(found.place):
            return
        self._introduce(index, thread)
        source = self.session.lines.source(found.place)
        arguments: Event = {"pc": found.place[1], "instructions": found.instructions}
        if source is not None:
            arguments["text"] = self.session.lines.text(source).strip()
        self.events.append(
            {
                "ph": "X",
                "name": found.name,
                "cat": "line",
                "pid": index,
                "tid": thread,
                "ts": found.begun,
                "dur": max(1, tick - found.begun),
                "args": arguments,
            }
        )

    def _end_all(self, index: int, tick: int) -> None:
        for thread in list(self._open):
            self._end(index, thread, tick)

    def _introduce(self, index: int, thread: int) -> None:
        """Name a group and a thread when they are first met."""
        group = self.session.debuggee.group_id(index)
        for key, name, text in (
            ((index, -1), "process_name", f"group {group}"),
            ((index, thread), "thread_name", f"thread {thread}"),
        ):
            if key not in self._known:
                self._known.add(key)
                self.events.append(
                    {"ph": "M", "name": name, "pid": index, "tid": thread, "args": {"name": text}}
                )

    # Writes

    def _writes(self) -> None:
        """Write down what the last instruction has stored."""
        log, before = self.session.timeline.log, self._before
        accesses = log.accesses[:]
        log.accesses.clear()
        if before is None or not accesses:
            return
        thread, tick, place, _, index = before
        threads = self.chosen.threads
        if (threads is not None and thread not in threads) or not self._is_chosen(place):
            return
        for access in accesses:
            if access.kind != "load" and access.space == HOST and not access.is_picture:
                self._write(index, thread, tick, place, access)

    def _write(self, index: int, thread: int, tick: int, place: Place, access: Access) -> None:
        """Write down an access: elements of arguments with their values, by lanes."""
        session = self.session
        items = session.looker.items
        ids = None if items is None else items.global_ids(session.debuggee.group_id(index), thread)
        written: list[list[Any]] = []
        for lane, address in zip(access.lanes.tolist(), access.addresses.tolist(), strict=True):
            channel = session.lines.channel(place, lane)
            item = None if ids is None else [int(one) for one in ids[:, channel]]
            found = session.element(address)
            if found is None:
                continue
            name, dtype = found
            buffer, _, number = name.rstrip("]").partition("[")
            data = session.host_bytes(address, access.size)
            values = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
            written += [
                [channel, item, buffer, int(number) + n, _plain(value)]
                for n, value in enumerate(values)
            ]
        if not written:
            return
        self._introduce(index, thread)
        self.events.append(
            {
                "ph": "i",
                "s": "t",
                "name": f"{access.kind} {written[0][2]}",
                "cat": "write",
                "pid": index,
                "tid": thread,
                "ts": tick,
                "args": {"where": session.lines.where(place), "pc": place[1], "writes": written},
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as an object for `json.dumps`."""
        debuggee = self.session.debuggee
        about = {
            "format": FORMAT,
            "kernel": debuggee.linked.name,
            "device": debuggee.linked.platform.name,
            "unit": "one instruction of the group is shown as one microsecond",
            "is_cut": self.is_cut,
        }
        return {"traceEvents": self.events, "displayTimeUnit": "ns", "otherData": about}


def _plain(value: np.generic) -> Any:
    number: Any = value.item()
    is_odd = isinstance(number, float) and not np.isfinite(number)
    return str(value) if is_odd else number


# Comparing


@dataclass(frozen=True, slots=True)
class Write:
    """A value that a work-item, or a channel of a bare kernel, has written, and where."""

    who: tuple[int, ...]
    buffer: str
    element: int
    value: Any
    where: str
    moment: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first write that two traces do not have alike; None where one has none.

    `count` is how many work-items have written something else.
    """

    first: Write | None
    second: Write | None
    count: int


def read_trace(text: str, name: str) -> dict[tuple[int, ...], list[Write]]:
    """Return what each work-item has written, in its order.

    Raises:
        ArgumentError: it is no trace of `visim run --trace`.
    """
    try:
        found: Any = json.loads(text)
        is_ours = found["otherData"]["format"] == FORMAT
    except (ValueError, KeyError, TypeError, RecursionError):
        is_ours, found = False, {}
    if not is_ours:
        raise ArgumentError(f"{name} is no trace that visim run --trace has written")
    by_item: dict[tuple[int, ...], list[Write]] = {}
    try:
        for event in cast("list[Event]", found["traceEvents"]):
            if event.get("cat") == "write":
                for one in _read(event):
                    by_item.setdefault(one.who, []).append(one)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ArgumentError(f"{name} is damaged: an event lacks what visim writes") from None
    return by_item


def _read(event: Event) -> Iterator[Write]:
    arguments: Event = event["args"]
    for lane, item, buffer, element, value in arguments["writes"]:
        who = (event["pid"], event["tid"], lane) if item is None else tuple(reversed(item))
        moment = (int(event["pid"]), int(event["ts"]))
        yield Write(who, str(buffer), int(element), value, str(arguments["where"]), moment)


def compare(
    first: Mapping[tuple[int, ...], list[Write]],
    second: Mapping[tuple[int, ...], list[Write]],
    tolerance: float = 0.0,
) -> Difference | None:
    """Return the first difference of two traces, by work-items in order; None: there is none.

    What a work-item writes to one element is compared in its order. The order of writes to
    different elements does not matter, because compilers choose it.

    Args:
        first: a trace.
        second: another.
        tolerance: by which part of the larger one floating-point numbers may differ.
    """
    found: tuple[Write | None, Write | None] | None = None
    count = 0
    for who in sorted({*first, *second}):
        pair = _differing(first.get(who, []), second.get(who, []), tolerance)
        if pair is not None:
            count += 1
            found = found or pair
    return None if found is None else Difference(*found, count)


def _differing(
    first: list[Write], second: list[Write], tolerance: float
) -> tuple[Write | None, Write | None] | None:
    others: dict[tuple[str, int], list[Write]] = {}
    for one in second:
        others.setdefault((one.buffer, one.element), []).append(one)
    for one in first:
        waiting = others.get((one.buffer, one.element))
        if not waiting:
            return one, None
        other = waiting.pop(0)
        if not _same(one.value, other.value, tolerance):
            return one, other
    left = [one for waiting in others.values() for one in waiting]
    return (None, min(left, key=lambda one: one.moment)) if left else None


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if a == b:
        return True
    if tolerance and isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= tolerance * max(abs(a), abs(b))
    return False


__all__ = ["MOST_EVENTS", "Chosen", "Difference", "Tracer", "Write", "compare", "read_trace"]
