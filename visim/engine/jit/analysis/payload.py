"""Threads that their kernel's own code starts in a loop, and what they start with.

What all threads of a launch start with alike is read before the loop, the coordinates of groups are
its own variables, and only what differs from thread to thread within a group is read from the
registers that Python has filled. Where local ids are rows, only their first elements are needed:
Python has put those of all threads side by side, since three loads that wait for each other in
front of each address are most of what a short thread takes. Groups come by rows (`groups`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visim.engine.base import Coordinate, SharedStarts
from visim.engine.jit.analysis.cores import InputCore
from visim.engine.jit.layout import Context, Thread, Work

Span = tuple[int, int]
"""The first byte of a part of the register image, and the byte behind it."""

PARAMETERS = "ptr %ctx, ptr %work, i64 %first.x, i64 %y, i64 %z, i64 %groups"
"""Those of a kernel's function that runs groups of a row; it returns how many have ended well."""


def overlaps(spans: Iterable[Span], first: int, size: int) -> bool:
    """Whether some bytes of a part of the register image are in one of the spans."""
    return any(start < first + size and first < stop for start, stop in spans)


@dataclass(frozen=True, slots=True)
class Payload:
    """Which registers threads find filled when they start; all other bytes are zero.

    Attributes:
        alike: the parts that all threads of a launch start with alike.
        own: those in which they differ.
        places: where the coordinates of a group stand.
    """

    alike: tuple[Span, ...]
    own: tuple[Span, ...]
    places: tuple[Coordinate, ...]

    @classmethod
    def of(cls, shared: SharedStarts) -> Payload:
        """Return what the threads of a dispatch find."""
        filled = [set(start.registers) for start in shared.starts]
        alike = set[tuple[int, bytes]].intersection(*filled)
        own = set[tuple[int, bytes]].union(*filled) - alike
        return cls(_spans(alike.union(shared.common)), _spans(own), tuple(sorted(shared.places)))

    @property
    def filled(self) -> tuple[Span, ...]:
        """All parts in which threads find something."""
        coordinates = ((place.offset, place.offset + place.size) for place in self.places)
        return tuple(sorted({*self.alike, *self.own, *coordinates}))

    def source(self, first: int, size: int) -> str | None:
        """Return the pointer to the image from which a variable is filled; None for zeros."""
        if overlaps(self.own, first, size):
            return "%image"
        return "%payload" if overlaps(self.alike, first, size) else None


@dataclass(frozen=True, slots=True)
class Loop:
    """What the loop over groups and threads has to prepare.

    Attributes:
        image_bytes: the size of a register image.
        spans: the parts of it, places and sizes, that all threads start with alike.
        cores: the scalars of their shapes.
        own: the scalars in which threads differ.
        full: the mask of every thread; None: threads say it.
        slm_bytes: the size of the groups' shared local memory.
        before: what else is done before the loop.
        group: how a group begins, up to the clearing of its memory.
        thread: how a turn of the loop over threads begins.
    """

    image_bytes: int
    spans: tuple[Span, ...]
    cores: tuple[InputCore, ...]
    own: tuple[InputCore, ...]
    full: int | None
    slm_bytes: int
    before: str
    group: str
    thread: str

    def head(self) -> Iterable[str]:
        """Return the instructions before the loop, and those that begin a thread.

        They fill `%payload`, which is like a register image.
        """
        yield f"  %payload = alloca [{self.image_bytes} x i8], align 64"
        yield _BEFORE + self.before
        for place, size in self.spans:
            yield f"  %from.{place} = getelementptr i8, ptr %image.0, i64 {place}"
            yield f"  %to.{place} = getelementptr i8, ptr %payload, i64 {place}"
            yield (
                f"  call void @llvm.memcpy.p0.p0.i64(ptr %to.{place}, ptr %from.{place}, "
                f"i64 {size}, i1 false)"
            )
        for core in self.cores:
            yield f"  {core.name}.at = getelementptr i8, ptr %image.0, i64 {core.place}"
            yield f"  {core.name}.v = load {core.kind}, ptr {core.name}.at, align 1"
        if self.own:
            yield f"  %firsts.at = getelementptr i64, ptr %work, i64 {int(Work.FIRSTS)}"
            yield "  %firsts = load ptr, ptr %firsts.at"
        if self.slm_bytes:
            yield f"  %slm.at = getelementptr i64, ptr %ctx, i64 {int(Context.SLM)}"
            yield "  %slm = load ptr, ptr %slm.at"
        yield self.group
        if self.slm_bytes:
            size = f"i64 {self.slm_bytes}"
            yield f"  call void @llvm.memset.p0.i64(ptr align 64 %slm, i8 0, {size}, i1 false)"
        yield self.thread
        yield from self.begin()

    def begin(self) -> Iterable[str]:
        """Return the instructions that read what a thread has of its own."""
        yield _OWN_MASK if self.full is None else f"  %mask = add i32 {self.full}, 0"
        for place, core in enumerate(self.own):
            row = f"getelementptr [{len(self.own)} x i64], ptr %firsts, i64 %number"
            yield f"  {core.name}.at = {row}, i64 {place}"
            yield f"  {core.name}.v = load {core.kind}, ptr {core.name}.at, align 8"


def _spans(registers: Iterable[tuple[int, bytes]]) -> tuple[Span, ...]:
    return tuple(sorted({(first, first + len(data)) for first, data in registers}))


_BEFORE = f"""
  %executed = alloca i64
  store i64 0, ptr %executed
  %records.at = getelementptr i64, ptr %work, i64 {int(Work.RECORDS)}
  %records = load ptr, ptr %records.at
  %threads.at = getelementptr i64, ptr %work, i64 {int(Work.THREADS)}
  %threads = load i64, ptr %threads.at
  %memory.at = getelementptr i64, ptr %work, i64 {int(Work.MEMORY)}
  %memory = load i64, ptr %memory.at
  %has.memory = icmp ne i64 %memory, 0
  %image.at = getelementptr i64, ptr %work, i64 {int(Work.ALIKE)}
  %image.0 = load ptr, ptr %image.at
  %group.1 = trunc i64 %y to i32
  %group.2 = trunc i64 %z to i32
"""
"""What is read once, in front of the loops over groups and their threads."""

_GROUP = """
  br label %group.begins
group.begins:
  %group = phi i64 [ 0, %entry ], [ %group.next, %group.ends ]
  %x = add i64 %first.x, %group
  %group.0 = trunc i64 %x to i32
"""
"""The begin of the loop over the groups of a row."""

_THREAD = """
  br label %thread.begins
thread.begins:
  %number = phi i64 [ 0, %group.begins ], [ %number.next, %thread.ends ]
  %thread.at = getelementptr ptr, ptr %records, i64 %number
  %thread = load ptr, ptr %thread.at
  br i1 %has.memory, label %clear, label %cleared
clear:
  call void @visim_clear_memory(ptr %work, ptr %thread)
  br label %cleared
cleared:
"""
"""The begin of the loop over the threads of a group."""

ALONE = "", _GROUP, _THREAD
"""What a `Loop` does before it, for a group and for a thread, where threads run to their ends."""

_OWN_MASK = f"""
  %mask.at = getelementptr i64, ptr %thread, i64 {int(Thread.MASK)}
  %mask.field = load i64, ptr %mask.at
  %mask = trunc i64 %mask.field to i32
  %is.empty = icmp eq i32 %mask, 0
  br i1 %is.empty, label %thread.ends, label %thread.runs
thread.runs:
"""
"""The channels of a thread, if they are not the same for all; one without channels is left out."""

WRONG = """
wrong:
  %executed.so.far = load i64, ptr %executed
  %count.wrong = load i64, ptr %clock
  %executed.at.last = add i64 %executed.so.far, %count.wrong
  store i64 %executed.at.last, ptr %executed
  %number.one = add i64 %number, 1
"""
"""How a thread ends that has faulted."""

_NEXT = """
  %executed.before = load i64, ptr %executed
  %count = load i64, ptr %clock
  %executed.now = add i64 %executed.before, %count
  store i64 %executed.now, ptr %executed
  br label %thread.ends
thread.ends:
  %number.next = add i64 %number, 1
  $MORE$
  br i1 %more.threads, label %thread.begins, label %turn.is.over
group.ends:
  %group.next = add i64 %group, 1
  %more.groups = icmp ult i64 %group.next, %groups
  br i1 %more.groups, label %group.begins, label %out
"""
"""What follows a thread: what it has executed is counted, then comes the next one. Groups end at
`group.ends`; when all threads have had a turn, at `turn.is.over`, somebody else says whether."""


def following(more: str) -> str:
    """Return what follows a thread, where `more` finds out whether it is not the last one."""
    return _NEXT.replace("$MORE$", more)


TAIL = f"""{WRONG}
  br label %out
right:{following("%more.threads = icmp ult i64 %number.next, %threads")}
turn.is.over:
  br label %group.ends
out:
  %ended = phi i64 [ %group.next, %group.ends ], [ %group, %wrong ]
  %begun = phi i64 [ 0, %group.ends ], [ %number.one, %wrong ]
  %faulted.thread = phi i64 [ %number, %group.ends ], [ %number, %wrong ]
"""
"""What follows a thread that has ended well, at `right`, or has faulted, at `wrong`."""

OUT = f"""
  %whole = mul i64 %ended, %threads
  %started = add i64 %whole, %begun
  %started.at = getelementptr i64, ptr %work, i64 {int(Work.STARTED)}
  %started.before = load i64, ptr %started.at
  %started.now = add i64 %started.before, %started
  store i64 %started.now, ptr %started.at
  %total = load i64, ptr %executed
  %total.at = getelementptr i64, ptr %work, i64 {int(Work.EXECUTED)}
  %total.before = load i64, ptr %total.at
  %total.now = add i64 %total.before, %total
  store i64 %total.now, ptr %total.at
  %fault.at = getelementptr i64, ptr %work, i64 {int(Work.FAULT_THREAD)}
  store i64 %faulted.thread, ptr %fault.at
  ret i64 %ended
"""
"""How the loop ends: so many groups have ended well; of another one so many threads have begun, and
one of them has faulted."""
