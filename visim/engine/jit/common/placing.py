"""How a thread that is asked for help gets a processor soon, in LLVM IR: requests to Linux.

Where other programs run, a thread that wakes may wait for milliseconds: behind another program,
until that one has had its time, or on the processor of the very thread that has woken it, which
does nothing meanwhile. Launches of that length would be done sooner by one thread. So threads that
wait for calls ask for short times, and leave the processor of who asks them.
"""

from __future__ import annotations

from visim.engine.jit.targets import Machine

SLICE_NS = 100_000
"""For how long a thread asks to run at a time, the least there is.

From 6.12 on Linux lets a thread that wakes run before others that ask for more; milliseconds are
usual.
"""
_ATTRIBUTE_BYTES, _MASK_BYTES = 48, 128
"""The sizes of what Linux says of a thread's turns, and of a set of processors."""


def placing_numbers(machine: Machine) -> dict[str, str]:
    """Return the numbers that `PLACING` has by name."""
    found = {
        "SET_ATTRIBUTES": machine.calls.sched_setattr,
        "GET_ATTRIBUTES": machine.calls.sched_getattr,
        "ATTRIBUTE_BYTES": _ATTRIBUTE_BYTES,
        "SLICE_NS": SLICE_NS,
        "MASK_BYTES": _MASK_BYTES,
        "PROCESSORS": 8 * _MASK_BYTES,
    }
    return {name: str(value) for name, value in found.items()}


PLACING = r"""
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i64 @processor() alwaysinline #0 {
  %number = call i32 @sched_getcpu()
  %found = sext i32 %number to i64
  ret i64 %found
}

define internal void @take_short_turns() noinline #0 {
entry:
  %attributes = alloca [$ATTRIBUTE_BYTES$ x i8], align 8
  %answer = call i64 (i64, ...) @syscall(i64 $GET_ATTRIBUTES$, i64 0, ptr %attributes,
                                         i64 $ATTRIBUTE_BYTES$, i64 0)
  %known = icmp eq i64 %answer, 0
  br i1 %known, label %look, label %out
look:
  %policy.at = getelementptr i32, ptr %attributes, i64 1
  %policy = load i32, ptr %policy.at
  %usual = icmp eq i32 %policy, 0
  br i1 %usual, label %ask, label %out
ask:
  %slice.at = getelementptr i64, ptr %attributes, i64 3
  store i64 $SLICE_NS$, ptr %slice.at
  %asked = call i64 (i64, ...) @syscall(i64 $SET_ATTRIBUTES$, i64 0, ptr %attributes, i64 0)
  br label %out
out:
  ret void
}

define internal void @leave(i64 %taken) noinline #0 {
entry:
  %mask = alloca [$MASK_BYTES$ x i8], align 8
  %here = call i64 @processor()
  %same = icmp eq i64 %here, %taken
  %counted = icmp ult i64 %here, $PROCESSORS$
  %move = and i1 %same, %counted
  br i1 %move, label %find, label %out
find:
  %failed = call i32 @sched_getaffinity(i32 0, i64 $MASK_BYTES$, ptr %mask)
  %known = icmp eq i32 %failed, 0
  br i1 %known, label %go, label %out
go:
  %word = lshr i64 %here, 6
  %word.at = getelementptr i64, ptr %mask, i64 %word
  %allowed = load i64, ptr %word.at
  %place = and i64 %here, 63
  %bit = shl i64 1, %place
  %not = xor i64 %bit, -1
  %others = and i64 %allowed, %not
  store i64 %others, ptr %word.at
  %refused = call i32 @sched_setaffinity(i32 0, i64 $MASK_BYTES$, ptr %mask)
  %gone = icmp eq i32 %refused, 0
  br i1 %gone, label %restore, label %out
restore:
  store i64 %allowed, ptr %word.at
  %restored = call i32 @sched_setaffinity(i32 0, i64 $MASK_BYTES$, ptr %mask)
  br label %out
out:
  ret void
}
"""
"""`@leave` moves its thread from a processor to another one, if that is where it runs; when it
returns the thread may run wherever it could before. There may be no other processor for it."""
