"""The native part that is the same for all kernels: running threads, barriers, address checks.

Threads that can wait for others, and threads whose calls may nest deeply, run on stacks of their
own; a barrier switches back to the scheduler's stack. Threads are resumed in turn. A thread that
ends leaves its stack to the next one that starts. Call-outs to Python run on the scheduler's stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.interp import TURN
from visim.engine.jit.layout import (
    POLL,
    TABLE_ENTRY,
    TURNS_BETWEEN_LOOKS,
    Context,
    Shared,
    Status,
    Thread,
    Work,
)
from visim.engine.jit.switching import GIVE_WAY, STACKED, SWITCH, SWITCHING


def scheduler_text(kernel: str, places: Sequence[tuple[int, int]], *, stacks: bool) -> str:
    """Return the functions around the kernel's function `kernel`.

    With `stacks` every thread runs on a stack of its own. `places` are where in the registers the
    group's coordinates stand: byte offsets and axes.
    """
    fields = {f"T_{field.name}": int(field) for field in Thread}
    fields |= {f"C_{field.name}": int(field) for field in Context}
    fields |= {f"W_{field.name}": int(field) for field in Work}
    fields |= {f"H_{field.name}": int(field) for field in Shared}
    fields |= {f"S_{status.name}": int(status) for status in Status}
    numbers = {"TURN": TURN, "POLL": POLL, "PATIENCE": TURNS_BETWEEN_LOOKS, "ENTRY": TABLE_ENTRY}
    fields |= numbers
    text = _TEXT + _GROUPS + (SWITCHING + STACKED if stacks else _DIRECT)
    text = text.replace("$PAUSE$", GIVE_WAY if stacks else "")
    for name in sorted(fields, key=len, reverse=True):
        text = text.replace(f"${name}$", str(fields[name]))
    text = text.replace("$PLACES$", "\n".join(_stored(*place) for place in places))
    text = text.replace("$SWITCH$", "\\0A".join(SWITCH))
    return text.replace("$KERNEL$", kernel)


def _stored(offset: int, axis: int) -> str:
    """Return code that stores a coordinate of the group."""
    return (
        f"  %at.{offset} = getelementptr i8, ptr %image, i64 {offset}\n"
        f"  store i32 %low.{'xyz'[axis]}, ptr %at.{offset}, align 1"
    )


_TEXT = r"""
define internal i1 @flat_check(ptr %ctx, ptr %cache, ptr %addresses, i64 %mask, i64 %size,
                               i64 %write) noinline #0 {
entry:
  %tp = getelementptr i64, ptr %ctx, i64 $C_TABLE$
  %table = load ptr, ptr %tp
  %np = getelementptr i64, ptr %ctx, i64 $C_TABLE_ENTRIES$
  %n = load i64, ptr %np
  br label %lanes
lanes:
  %left = phi i64 [ %mask, %entry ], [ %rest, %found ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %good, label %lane
lane:
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %ap = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %ap
  br label %search
search:
  %i = phi i64 [ 0, %lane ], [ %j, %other ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %bad, label %entry.i
entry.i:
  %byte = mul i64 %i, $ENTRY$
  %ep = getelementptr i8, ptr %table, i64 %byte
  %base = load i64, ptr %ep
  %sp = getelementptr i64, ptr %ep, i64 1
  %bytes = load i64, ptr %sp
  %wp = getelementptr i64, ptr %ep, i64 2
  %writable = load i64, ptr %wp
  %offset = sub i64 %address, %base
  %fits = icmp uge i64 %bytes, %size
  %room = sub i64 %bytes, %size
  %below = icmp ule i64 %offset, %room
  %inside = and i1 %fits, %below
  %allowed = icmp uge i64 %writable, %write
  %ok = and i1 %inside, %allowed
  br i1 %ok, label %found, label %other
other:
  %j = add i64 %i, 1
  br label %search
found:
  store i64 %base, ptr %cache
  %limit = add i64 %room, 1
  %lp = getelementptr i64, ptr %cache, i64 1
  store i64 %limit, ptr %lp
  br label %lanes
good:
  ret i1 true
bad:
  ret i1 false
}

define i64 @run_threads(ptr %ctx, ptr %threads, i64 %n) #0 {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %out, label %body
body:
  %tp = getelementptr ptr, ptr %threads, i64 %i
  %thread = load ptr, ptr %tp
  %mp = getelementptr i64, ptr %thread, i64 $T_MASK$
  %mask = load i64, ptr %mp
  %low = trunc i64 %mask to i32
  %failed = call i32 @$KERNEL$(ptr %ctx, ptr %thread, i32 %low)
  %wrong = icmp ne i32 %failed, 0
  br i1 %wrong, label %out, label %next
next:
  %j = add i64 %i, 1
  br label %head
out:
  ret i64 %i
}

define internal i32 @ask(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value) noinline #0 {
  %cp = getelementptr i64, ptr %ctx, i64 $C_CALLBACK$
  %callback = load ptr, ptr %cp
  %answer = call i32 %callback(i64 %site, i64 %mask, i64 %value, ptr %thread)
  ret i32 %answer
}

define internal i32 @pause(ptr %ctx, ptr %thread, i64 %executed, i64 %pc, i64 %unit) noinline #0 {
entry:
  %pp = getelementptr i64, ptr %thread, i64 $T_PC$
  store i64 %pc, ptr %pp
  %up = getelementptr i64, ptr %thread, i64 $T_UNIT$
  store i64 %unit, ptr %up
  %lp = getelementptr i64, ptr %ctx, i64 $C_PATIENCE$
  %left = load i64, ptr %lp
  %less = sub i64 %left, 1
  store i64 %less, ptr %lp
  %look = icmp slt i64 %less, 0
  br i1 %look, label %ask, label %on
ask:
  store i64 $PATIENCE$, ptr %lp
  %answer = call i32 @host(ptr %ctx, ptr %thread, i64 $POLL$, i64 0, i64 0)
  %stop = icmp ne i32 %answer, 0
  br i1 %stop, label %end, label %on
on:
  $PAUSE$
  %ep = getelementptr i64, ptr %thread, i64 $T_TURN_ENDS$
  %ends = add i64 %executed, $TURN$
  store i64 %ends, ptr %ep
  ret i32 0
end:
  ret i32 1
}
"""

_GROUPS = r"""
define internal void @start_thread(ptr %work, ptr %thread, i64 %x, i64 %y, i64 %z)
    alwaysinline #0 {
entry:
  %ip = getelementptr i64, ptr %thread, i64 $T_IMAGE$
  %image = load ptr, ptr %ip
  %ibp = getelementptr i64, ptr %work, i64 $W_IMAGE_BYTES$
  %bytes = load i64, ptr %ibp
  %has.image = icmp ne i64 %bytes, 0
  br i1 %has.image, label %copy, label %copied
copy:
  %tp = getelementptr i64, ptr %thread, i64 $T_TEMPLATE$
  %template = load ptr, ptr %tp
  call void @llvm.memcpy.p0.p0.i64(ptr %image, ptr %template, i64 %bytes, i1 false)
  br label %copied
copied:
  %pp = getelementptr i64, ptr %work, i64 $W_PRIVATE_BYTES$
  %private.bytes = load i64, ptr %pp
  %has.private = icmp ne i64 %private.bytes, 0
  br i1 %has.private, label %clear.private, label %private.done
clear.private:
  %qp = getelementptr i64, ptr %thread, i64 $T_PRIVATE$
  %private = load ptr, ptr %qp
  call void @llvm.memset.p0.i64(ptr %private, i8 0, i64 %private.bytes, i1 false)
  br label %private.done
private.done:
  %sbp = getelementptr i64, ptr %work, i64 $W_SCRATCH_BYTES$
  %scratch.bytes = load i64, ptr %sbp
  %has.scratch = icmp ne i64 %scratch.bytes, 0
  br i1 %has.scratch, label %clear.scratch, label %scratch.done
clear.scratch:
  %sp = getelementptr i64, ptr %thread, i64 $T_SCRATCH$
  %scratch = load ptr, ptr %sp
  call void @llvm.memset.p0.i64(ptr %scratch, i8 0, i64 %scratch.bytes, i1 false)
  br label %scratch.done
scratch.done:
  %mp = getelementptr i64, ptr %thread, i64 $T_MASK$
  %mask = load i64, ptr %mp
  %empty = icmp eq i64 %mask, 0
  %status = select i1 %empty, i64 $S_DONE$, i64 $S_READY$
  %stp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  store i64 %status, ptr %stp
  %ep = getelementptr i64, ptr %thread, i64 $T_EXECUTED$
  store i64 0, ptr %ep
  %dp = getelementptr i64, ptr %thread, i64 $T_DEPTH$
  store i64 0, ptr %dp
  %topp = getelementptr i64, ptr %thread, i64 $T_TOP$
  %top = load i64, ptr %topp
  %kp = getelementptr i64, ptr %thread, i64 $T_STACK$
  store i64 %top, ptr %kp
  %tep = getelementptr i64, ptr %thread, i64 $T_TURN_ENDS$
  store i64 $TURN$, ptr %tep
  %frp = getelementptr i64, ptr %thread, i64 $T_FRAME$
  store i64 0, ptr %frp
  %low.x = trunc i64 %x to i32
  %low.y = trunc i64 %y to i32
  %low.z = trunc i64 %z to i32
$PLACES$
  ret void
}

define i64 @run_groups(ptr %ctx, ptr %work, i64 %unused) #0 {
entry:
  %gp = getelementptr i64, ptr %work, i64 $W_GROUPS$
  %n = load i64, ptr %gp
  %np = getelementptr i64, ptr %work, i64 $W_NUMBERS$
  %numbers = load ptr, ptr %np
  %chp = getelementptr i64, ptr %work, i64 $W_CHUNK$
  %chunk = load i64, ptr %chp
  %shp = getelementptr i64, ptr %work, i64 $W_SHARED$
  %shared = load ptr, ptr %shp
  %stop = getelementptr i64, ptr %shared, i64 $H_STOP$
  %tp = getelementptr i64, ptr %work, i64 $W_THREADS$
  %threads = load i64, ptr %tp
  %rp = getelementptr i64, ptr %work, i64 $W_RECORDS$
  %records = load ptr, ptr %rp
  %wp = getelementptr i64, ptr %work, i64 $W_WIDTH$
  %width = load i64, ptr %wp
  %hp = getelementptr i64, ptr %work, i64 $W_HEIGHT$
  %height = load i64, ptr %hp
  %fxp = getelementptr i64, ptr %work, i64 $W_FIRST_X$
  %fx = load i64, ptr %fxp
  %fyp = getelementptr i64, ptr %work, i64 $W_FIRST_Y$
  %fy = load i64, ptr %fyp
  %fzp = getelementptr i64, ptr %work, i64 $W_FIRST_Z$
  %fz = load i64, ptr %fzp
  %slmp = getelementptr i64, ptr %ctx, i64 $C_SLM$
  %slm = load ptr, ptr %slmp
  %slmbp = getelementptr i64, ptr %work, i64 $W_SLM_BYTES$
  %slm.bytes = load i64, ptr %slmbp
  %has.slm = icmp ne i64 %slm.bytes, 0
  %donep = getelementptr i64, ptr %work, i64 $W_DONE_GROUPS$
  %ctp = getelementptr i64, ptr %ctx, i64 $C_THREADS$
  store i64 %threads, ptr %ctp
  br label %take
take:
  %stopped = load atomic i64, ptr %stop acquire, align 8
  %go = icmp eq i64 %stopped, 0
  br i1 %go, label %chunk.take, label %good
chunk.take:
  %first = atomicrmw add ptr %shared, i64 %chunk monotonic, align 8
  %some = icmp ult i64 %first, %n
  br i1 %some, label %chunk.run, label %good
chunk.run:
  %limit = add i64 %first, %chunk
  %last = call i64 @llvm.umin.i64(i64 %limit, i64 %n)
  br label %head
head:
  %i = phi i64 [ %first, %chunk.run ], [ %j, %next ]
  %end = icmp eq i64 %i, %last
  br i1 %end, label %take, label %body
body:
  br i1 %has.slm, label %clear, label %cleared
clear:
  call void @llvm.memset.p0.i64(ptr %slm, i8 0, i64 %slm.bytes, i1 false)
  br label %cleared
cleared:
  %number.p = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %number.p
  %x = urem i64 %number, %width
  %yz = udiv i64 %number, %width
  %y = urem i64 %yz, %height
  %z = udiv i64 %yz, %height
  %gx = add i64 %x, %fx
  %gy = add i64 %y, %fy
  %gz = add i64 %z, %fz
  %failed = call i64 @run_group(ptr %ctx, ptr %work, ptr %records, i64 %threads, i64 %gx,
                                i64 %gy, i64 %gz)
  %wrong = icmp ne i64 %failed, 0
  br i1 %wrong, label %bad, label %next
next:
  %done = load i64, ptr %donep
  %done.next = add i64 %done, 1
  store i64 %done.next, ptr %donep
  %j = add i64 %i, 1
  br label %head
good:
  ret i64 0
bad:
  %fgp = getelementptr i64, ptr %work, i64 $W_FAULT_GROUP$
  store i64 %i, ptr %fgp
  store atomic i64 1, ptr %stop release, align 8
  ret i64 %failed
}

define internal void @note(ptr %work, ptr %thread) alwaysinline #0 {
  %ep = getelementptr i64, ptr %thread, i64 $T_EXECUTED$
  %one = load i64, ptr %ep
  %tp = getelementptr i64, ptr %work, i64 $W_EXECUTED$
  %total = load i64, ptr %tp
  %sum = add i64 %total, %one
  store i64 %sum, ptr %tp
  ret void
}

define internal void @started(ptr %work, i64 %count) alwaysinline #0 {
  %sp = getelementptr i64, ptr %work, i64 $W_STARTED$
  %before = load i64, ptr %sp
  %sum = add i64 %before, %count
  store i64 %sum, ptr %sp
  ret void
}
"""

_DIRECT = r"""
define internal i32 @host(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value) noinline #0 {
  %answer = call i32 @ask(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value)
  ret i32 %answer
}

define internal i64 @run_group(ptr %ctx, ptr %work, ptr %records, i64 %n, i64 %x, i64 %y,
                               i64 %z) #0 {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %good, label %body
body:
  %tp = getelementptr ptr, ptr %records, i64 %i
  %thread = load ptr, ptr %tp
  call void @start_thread(ptr %work, ptr %thread, i64 %x, i64 %y, i64 %z)
  call void @started(ptr %work, i64 1)
  %mp = getelementptr i64, ptr %thread, i64 $T_MASK$
  %mask = load i64, ptr %mp
  %empty = icmp eq i64 %mask, 0
  br i1 %empty, label %next, label %run
run:
  %low = trunc i64 %mask to i32
  %failed = call i32 @$KERNEL$(ptr %ctx, ptr %thread, i32 %low)
  call void @note(ptr %work, ptr %thread)
  %wrong = icmp ne i32 %failed, 0
  br i1 %wrong, label %bad, label %next
next:
  %j = add i64 %i, 1
  br label %head
good:
  ret i64 0
bad:
  %fp = getelementptr i64, ptr %work, i64 $W_FAULT_THREAD$
  store i64 %i, ptr %fp
  ret i64 1
}
"""
