"""Threads that native code starts in a loop of the kernel's own module, and what they start with.

The kernel's function is inlined into the loop. What all threads of a launch start with alike is
read before it, the coordinates of groups are the loop's own variables, and only what differs from
thread to thread within a group is read from the registers that Python has filled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from visim.engine.base import SharedStarts
from visim.engine.jit.groups import GROUPS, TELL
from visim.engine.jit.layout import CACHE_ENTRY, Context
from visim.engine.jit.scheduler import DIRECT, numbered

Span = tuple[int, int]
"""The first byte of a part of the register image, and the byte behind it."""

ENTRY = "run_groups_direct"
"""The function of a module that starts its threads itself."""

MORE_PARAMETERS = (
    ", i32 %group.0, i32 %group.1, i32 %group.2, ptr %payload, ptr %cores, ptr %known, ptr %counted"
)
"""What a kernel's function that is inlined into the loop over threads has beside the rest.

`payload` has the registers that all threads start with alike, `cores` the scalars of their shapes;
`known` has where each message to flat memory was last; how many instructions the thread has
executed is added to `counted`.
"""

KNOWN_ENTRY = 24
"""Bytes of what is known of a message: the last allocation's base, the first offset refused, the
first one refused for rows."""


def overlaps(spans: Iterable[Span], first: int, size: int) -> bool:
    """Whether some bytes of a part of the register image are in one of the spans."""
    return any(start < first + size and first < stop for start, stop in spans)


@dataclass(frozen=True, slots=True)
class Payload:
    """Which registers threads find filled when they start; all other bytes are zero.

    Attributes:
        alike: the parts that all threads of a launch start with alike.
        own: those in which they differ.
        places: where the coordinates of a group stand, each a UD: offset and axis.
    """

    alike: tuple[Span, ...]
    own: tuple[Span, ...]
    places: tuple[tuple[int, int], ...]

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
        coordinates = ((place, place + 4) for place, _ in self.places)
        return tuple(sorted({*self.alike, *self.own, *coordinates}))

    def source(self, first: int, size: int) -> str | None:
        """Return the pointer to the image from which a variable is filled; None for zeros."""
        if overlaps(self.own, first, size):
            return "%image"
        return "%payload" if overlaps(self.alike, first, size) else None


@dataclass(frozen=True, slots=True)
class Filling:
    """What a kernel's function wants to find in `payload` and `cores`.

    Attributes:
        spans: parts of the register image.
        cores: for each number of 64 bits in `cores`, its type and its place in the image.
        reaches: the messages to flat memory by number, each with how many bytes lie between the
            first element of a row and its last one.
    """

    spans: tuple[Span, ...]
    cores: tuple[tuple[str, int], ...]
    reaches: Mapping[int, int]


def loop_text(kernel: str, filling: Filling, *, image_bytes: int, full: int | None) -> str:
    """Return the functions that run groups of threads.

    Args:
        kernel: the name of the kernel's function.
        filling: what it wants to find.
        image_bytes: the size of a register image.
        full: the mask of every thread; None: threads say it.
    """
    marks = {
        "MASK": _OWN_MASK if full is None else _FULL_MASK.replace("$ALL$", str(full)),
        "PREPARE": "\n".join([*_prepare(filling, image_bytes), *_remembered(filling.reaches)]),
        "KERNEL": kernel,
        "GIVEN": ", ptr %payload, ptr %cores, ptr %known, ptr %counted",
        "ASK": "visim_host_direct",
        "WAY": DIRECT,
    }
    text = TELL + _GROUP + GROUPS
    for mark, found in marks.items():
        text = text.replace(f"${mark}$", found)
    return numbered(text)


def _prepare(filling: Filling, image_bytes: int) -> Iterable[str]:
    """Return the instructions that read what is alike, from the registers of the first thread."""
    yield "%counted = alloca i64"
    yield f"  %payload = alloca [{image_bytes} x i8], align 64"
    yield f"  %cores = alloca [{max(1, len(filling.cores))} x i64]"
    yield "  %thread.0 = load ptr, ptr %records"
    yield "  %image.0 = load ptr, ptr %thread.0"
    for number, (first, end) in enumerate(filling.spans):
        yield f"  %from.{number} = getelementptr i8, ptr %image.0, i64 {first}"
        yield f"  %to.{number} = getelementptr i8, ptr %payload, i64 {first}"
        yield (
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %to.{number}, ptr %from.{number}, "
            f"i64 {end - first}, i1 false)"
        )
    for number, (kind, place) in enumerate(filling.cores):
        yield f"  %core.at.{number} = getelementptr i8, ptr %image.0, i64 {place}"
        yield f"  %core.{number} = load {kind}, ptr %core.at.{number}, align 1"
        yield f"  %core.to.{number} = getelementptr i64, ptr %cores, i64 {number}"
        yield f"  store {kind} %core.{number}, ptr %core.to.{number}"


def _remembered(reaches: Mapping[int, int]) -> Iterable[str]:
    """Return the instructions that copy what the worker remembers of messages."""
    yield f"  %known = alloca [{KNOWN_ENTRY * (max(reaches, default=0) + 1)} x i8], align 8"
    yield f"  %caches.at = getelementptr i64, ptr %ctx, i64 {int(Context.CACHE)}"
    yield "  %caches = load ptr, ptr %caches.at"
    for site, reach in reaches.items():
        yield f"  %cache.{site} = getelementptr i8, ptr %caches, i64 {site * CACHE_ENTRY}"
        yield f"  %known.{site} = getelementptr i8, ptr %known, i64 {site * KNOWN_ENTRY}"
        yield f"  call void @remember(ptr %cache.{site}, ptr %known.{site}, i64 {reach})"


def _spans(registers: Iterable[tuple[int, bytes]]) -> tuple[Span, ...]:
    return tuple(sorted({(first, first + len(data)) for first, data in registers}))


_OWN_MASK = """
  %maskp = getelementptr i64, ptr %thread, i64 $T_MASK$
  %wide = load i64, ptr %maskp
  %mask = trunc i64 %wide to i32
  %empty = icmp eq i32 %mask, 0
  br i1 %empty, label %next, label %run
run:
"""

_FULL_MASK = """
  br label %run
run:
  %mask = add i32 $ALL$, 0
"""

_GROUP = r"""
declare void @visim_clear_memory(ptr, ptr)
declare i64 @llvm.usub.sat.i64(i64, i64)

define internal void @remember(ptr %cache, ptr %known, i64 %reach) alwaysinline #0 {
  %base = load i64, ptr %cache
  store i64 %base, ptr %known
  %lp = getelementptr i64, ptr %cache, i64 1
  %limit = load i64, ptr %lp
  %klp = getelementptr i64, ptr %known, i64 1
  store i64 %limit, ptr %klp
  %row = call i64 @llvm.usub.sat.i64(i64 %limit, i64 %reach)
  %krp = getelementptr i64, ptr %known, i64 2
  store i64 %row, ptr %krp
  ret void
}

define internal i64 @run_group_direct(ptr %ctx, ptr %work, ptr %records, i64 %n, ptr %ids,
                                      i64 %count, ptr %payload, ptr %cores, ptr %known,
                                      ptr %counted)
    alwaysinline #0 {
entry:
  %mp = getelementptr i64, ptr %work, i64 $W_MEMORY$
  %memory = load i64, ptr %mp
  %has.memory = icmp ne i64 %memory, 0
  %wide.x = load i64, ptr %ids
  %x = trunc i64 %wide.x to i32
  %py = getelementptr i64, ptr %ids, i64 1
  %wide.y = load i64, ptr %py
  %y = trunc i64 %wide.y to i32
  %pz = getelementptr i64, ptr %ids, i64 2
  %wide.z = load i64, ptr %pz
  %z = trunc i64 %wide.z to i32
  store i64 0, ptr %counted
  br label %body
body:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %tp = getelementptr ptr, ptr %records, i64 %i
  %thread = load ptr, ptr %tp
  br i1 %has.memory, label %clear, label %cleared
clear:
  call void @visim_clear_memory(ptr %work, ptr %thread)
  br label %cleared
cleared:
  $MASK$
  %failed = call i32 @$KERNEL$(ptr %ctx, ptr %thread, i32 %mask, i32 %x, i32 %y, i32 %z,
                               ptr %payload, ptr %cores, ptr %known, ptr %counted)
  %wrong = icmp ne i32 %failed, 0
  br i1 %wrong, label %out, label %next
next:
  %j = add i64 %i, 1
  %on = icmp ult i64 %j, %n
  br i1 %on, label %body, label %good
good:
  br label %out
out:
  %answer = phi i64 [ 0, %good ], [ 1, %run ]
  %begun = phi i64 [ %n, %good ], [ %i, %run ]
  %executed = load i64, ptr %counted
  %ep = getelementptr i64, ptr %work, i64 $W_EXECUTED$
  %executed.before = load i64, ptr %ep
  %executed.now = add i64 %executed.before, %executed
  store i64 %executed.now, ptr %ep
  %sp = getelementptr i64, ptr %work, i64 $W_STARTED$
  %started.before = load i64, ptr %sp
  %started.now = add i64 %started.before, %begun
  %started.all = add i64 %started.now, %answer
  store i64 %started.all, ptr %sp
  %fp = getelementptr i64, ptr %work, i64 $W_FAULT_THREAD$
  store i64 %i, ptr %fp
  ret i64 %answer
}
"""
