"""The native code that is the same for all kernels: running threads and groups, address checks.

It is compiled once and kept as object code of its own; kernels call it by its names, which begin
with `visim_`. What a function's name ends in says whether threads run `direct`, or `stacked`: on
stacks of their own, because they can wait for others or their calls may nest deeply; or `carried`:
in step, on stacks that one of them has for itself when its turn ends on the way. Threads are
resumed in turn. A thread that ends leaves its stack to the next one that starts. Call-outs to
Python run on the worker's own stack.
"""

from __future__ import annotations

from visim.engine.jit.common.carrying import CARRIED, CARRYING, PUT_ASIDE
from visim.engine.jit.common.groups import (
    GROUPS,
    RUN_DIRECT,
    RUN_IN_STEP,
    RUN_STACKED,
    STARTING,
    TELL,
)
from visim.engine.jit.common.handover import HANDOVER, handover_numbers
from visim.engine.jit.common.moving import MOVING, ROW, TYPES
from visim.engine.jit.common.padding import PADDED
from visim.engine.jit.common.placing import PLACING, placing_numbers
from visim.engine.jit.common.rectangles import RECTANGLE_TYPES, RECTANGLES
from visim.engine.jit.common.signalling import SIGNALLING
from visim.engine.jit.common.switching import BARRIER, GIVE_WAY, STACKED, WAITING
from visim.engine.jit.common.tallying import TALLYING
from visim.engine.jit.layout import (
    ANYTIME,
    BARRIERS_BETWEEN_LOOKS,
    CACHE_ENTRY,
    EXCHANGE_DATA,
    GROUP_BEGINS,
    MARKED_PHASE,
    MARKED_WAITS,
    NEVER,
    NO_ROW,
    POLL,
    REFUSED,
    SURFACE_ENTRY,
    TABLE_ENTRY,
    TURN_ENDS,
    TURNS_BETWEEN_LOOKS,
    Barrier,
    Context,
    FaultKind,
    Mark,
    Part,
    Shared,
    Status,
    Thread,
    Work,
)
from visim.engine.jit.targets import Machine, Stacks

DIRECT, STACKS, CARRIERS = "direct", "stacked", "carried"
ENTRIES = ("run_threads", "run_groups_direct", "lead", "settle", "serve")
STACK_ENTRIES = ("run_groups_stacked", "run_groups_carried", "turn", "turns")
_WAYS_CALLED = ("visim_pause", "visim_host", "visim_reach", "visim_load", "visim_store")
CALLED = (
    *("visim_flat_check", "visim_padded", "visim_clear_memory", "visim_row", "visim_tally"),
    "visim_rectangle",
    *(f"{name}_{DIRECT}" for name in _WAYS_CALLED),
)
STACK_CALLED = (
    *(f"{name}_{way}" for name in _WAYS_CALLED for way in (STACKS, CARRIERS)),
    "visim_rest",
)
"""What Python calls and what kernels call, and what there is of it only with stacks of threads."""


def scheduler_text(machine: Machine) -> str:
    """Return the module that all kernels share, with stacks of threads where a machine has them."""
    parts = [_HEAD, _TEXT, PADDED, RECTANGLES, TALLYING, ROW, STARTING, TELL]
    parts.append(_way(DIRECT, "", "visim_ask", RUN_DIRECT))
    parts.append(machine.declared)
    if machine.stacks is not None:
        stacked = _way(STACKS, GIVE_WAY, "visim_ask_stacked", RUN_STACKED)
        carried = _way(CARRIERS, PUT_ASIDE, "visim_ask_stacked", RUN_IN_STEP)
        parts += [stacked, carried, WAITING, STACKED, CARRYING]
    return _numbered("\n".join([*parts, PLACING, HANDOVER, _TAIL]), machine)


def calls_text(way: str, machine: Machine) -> str:
    """Return what a kernel's module needs to call the scheduler, as its threads run."""
    text = _CALLS.replace("$WAY$", way)
    if way == STACKS:
        return _numbered(text + WAITING + BARRIER + SIGNALLING, machine)
    return _numbered(text + CARRIED, machine) if way == CARRIERS else text


def _way(name: str, give_way: str, ask: str, run: str) -> str:
    """Return the functions that there are of each way to run threads."""
    text = _BOTH_WAYS + MOVING + GROUPS
    for mark, found in (("PAUSE", give_way), ("ASK", ask), ("RUN", run), ("WAY", name)):
        text = text.replace(f"${mark}$", found)
    return text


def _numbered(text: str, machine: Machine) -> str:
    """Put in the numbers of fields and states."""
    fields = {f"T_{field.name}": int(field) for field in Thread}
    fields |= {f"C_{field.name}": int(field) for field in Context}
    fields |= {f"W_{field.name}": int(field) for field in Work}
    fields |= {f"H_{field.name}": int(field) for field in Shared}
    fields |= {f"P_{field.name}": int(field) for field in Part}
    fields |= {f"S_{status.name}": int(status) for status in Status}
    fields |= {f"BARRIER_{field.name}": int(field) for field in Barrier}
    fields |= {f"M_{bit.name}": int(bit) for bit in Mark}
    fields |= {"M_HOLDING_CONSUMER": Mark.CONSUMER | Mark.HELD, "MARKED_PHASE": MARKED_PHASE}
    fields |= {"REFUSED": REFUSED, "MARKED_WAITS": MARKED_WAITS, "M_AHEAD": (1 << MARKED_WAITS) - 1}
    fields |= {"PLACE": 8 * int(Thread.STACK), "ANYTIME": ANYTIME, "NEVER": NEVER}
    fields |= {"GROUP_BEGINS": GROUP_BEGINS, "TURN_ENDS": TURN_ENDS, "NO_ROW": NO_ROW}
    fields |= {"TURNS_BETWEEN_LOOKS": TURNS_BETWEEN_LOOKS}
    fields |= {"BARRIERS_BETWEEN_LOOKS": BARRIERS_BETWEEN_LOOKS}
    fields |= {"POLL": POLL, "ENTRY": TABLE_ENTRY, "CACHE_ENTRY": CACHE_ENTRY}
    fields |= {"SURFACE_ENTRY": SURFACE_ENTRY}
    fields |= {"HOST": FaultKind.HOST, "MEMORY": FaultKind.MEMORY}
    fields |= {"EXCHANGE_DATA": EXCHANGE_DATA}
    shown = {name: str(int(value)) for name, value in fields.items()}
    if machine.stacks is not None:
        text = _with_assembly(text, machine.stacks)
    shown |= handover_numbers(machine) | placing_numbers(machine)
    for name, value in shown.items():
        text = text.replace(f"${name}$", value)
    return text


def _with_assembly(text: str, stacks: Stacks) -> str:
    """Put in how a machine leaves stacks."""
    parts = {"SWITCH": "\\0A".join(stacks.switch), "OPERANDS": stacks.constraints}
    parts["BEGIN"] = "\\0A".join(stacks.begin)
    for name, value in parts.items():
        text = text.replace(f"${name}$", value)
    return text


_HEAD = r"""
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare i64 @llvm.cttz.i64(i64, i1)
"""

_TAIL = """
attributes #0 = { nounwind }
!0 = !{!"branch_weights", i32 1, i32 10000}
!1 = !{!"branch_weights", i32 10000, i32 1}
"""

_CALLS = rf"""
declare i1 @visim_flat_check(ptr, ptr, ptr, i64, i64, i64, i64)
declare i1 @visim_padded(ptr, i64, ptr, i64)
declare i1 @visim_rectangle({RECTANGLE_TYPES})
declare i32 @visim_pause_$WAY$(ptr, ptr, i64, i64)
declare i32 @visim_host_$WAY$(ptr, ptr, i64, i64, i64)
declare preserve_mostcc i64 @visim_reach_$WAY$({TYPES})
declare preserve_mostcc i1 @visim_load_$WAY$({TYPES})
declare preserve_mostcc i1 @visim_store_$WAY$({TYPES})
declare void @visim_row(ptr, i64, i64, i64, i64, i64)
declare void @visim_clear_memory(ptr, ptr)
declare void @visim_tally(ptr, i64)

define internal i1 @flat_check(ptr %ctx, ptr %cache, ptr %addresses, i64 %mask, i64 %size,
                               i64 %write, i64 %extent) alwaysinline #0 {{
  %found = call i1 @visim_flat_check(ptr %ctx, ptr %cache, ptr %addresses, i64 %mask, i64 %size,
                                     i64 %write, i64 %extent)
  ret i1 %found
}}

define internal i32 @pause(ptr %ctx, ptr %thread, i64 %pc, i64 %unit)
    alwaysinline #0 {{
  %stop = call i32 @visim_pause_$WAY$(ptr %ctx, ptr %thread, i64 %pc, i64 %unit)
  ret i32 %stop
}}

define internal i32 @host(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value)
    alwaysinline #0 {{
  %answer = call i32 @visim_host_$WAY$(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value)
  ret i32 %answer
}}
"""
"""What a kernel's module calls of the scheduler, and shorter names for some of it, which leave
out in which way threads run."""

_TEXT = r"""
define internal void @fault(ptr %thread, i64 %kind, i64 %pc, i64 %unit) alwaysinline #0 {
  %kp = getelementptr i64, ptr %thread, i64 $T_FAULT$
  store i64 %kind, ptr %kp
  %pp = getelementptr i64, ptr %thread, i64 $T_PC$
  store i64 %pc, ptr %pp
  %up = getelementptr i64, ptr %thread, i64 $T_UNIT$
  store i64 %unit, ptr %up
  %ap = getelementptr i64, ptr %thread, i64 $T_ADDRESS$
  store i64 0, ptr %ap
  %cp = getelementptr i64, ptr %thread, i64 $T_CHANNEL$
  store i64 0, ptr %cp
  ret void
}

define i1 @visim_flat_check(ptr %ctx, ptr %cache, ptr %addresses, i64 %mask, i64 %size,
                            i64 %write, i64 %extent) #0 {
entry:
  %tp = getelementptr i64, ptr %ctx, i64 $C_TABLE$
  %all = load ptr, ptr %tp
  %np = getelementptr i64, ptr %ctx, i64 $C_TABLE_ENTRIES$
  %many = load i64, ptr %np
  %anywhere = icmp eq i64 %extent, 0
  br i1 %anywhere, label %any, label %one
one:
  %own = inttoptr i64 %extent to ptr
  %own.bytes.at = getelementptr i64, ptr %own, i64 1
  %own.bytes = load i64, ptr %own.bytes.at
  %unknown = icmp slt i64 %own.bytes, 0
  br i1 %unknown, label %any, label %begin
any:
  br label %begin
begin:
  %table = phi ptr [ %own, %one ], [ %all, %any ]
  %n = phi i64 [ 1, %one ], [ %many, %any ]
  br label %lanes
lanes:
  %left = phi i64 [ %mask, %begin ], [ %rest, %found ]
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
  call void @meet(ptr %ctx, ptr %cache, i64 %base)
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

define internal i32 @run_kernel(ptr %ctx, ptr %thread) alwaysinline #0 {
  %kp = getelementptr i64, ptr %ctx, i64 $C_KERNEL$
  %kernel = load ptr, ptr %kp
  %mp = getelementptr i64, ptr %thread, i64 $T_MASK$
  %mask = load i64, ptr %mp
  %low = trunc i64 %mask to i32
  %failed = call i32 %kernel(ptr %ctx, ptr %thread, i32 %low)
  ret i32 %failed
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
  %failed = call i32 @run_kernel(ptr %ctx, ptr %thread)
  %wrong = icmp ne i32 %failed, 0
  br i1 %wrong, label %out, label %next
next:
  %j = add i64 %i, 1
  br label %head
out:
  ret i64 %i
}

define internal i32 @visim_ask(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value)
    noinline #0 {
  %cp = getelementptr i64, ptr %ctx, i64 $C_CALLBACK$
  %callback = load ptr, ptr %cp
  %answer = call i32 %callback(i64 %site, i64 %mask, i64 %value, ptr %thread)
  ret i32 %answer
}

"""
"""Functions that are the same however threads run.

- `fault` notes in a thread's record why and where it stops.
- `visim_flat_check` looks up, for each active lane, an allocation that has `size` bytes at the
  lane's address and, if `write` is 1, can be written. The message remembers in `cache` where the
  last of them is. False: a lane is in none. With an `extent`, which has the form of an allocation's
  entry, lanes have to be in that one, unless nobody knows its size.
- `run_kernel` runs a thread to its end; `run_threads` runs `n` of them, one after the other, and
  returns the number of the one that has failed, `n` if none has.
- `visim_ask` calls Python, which answers 0 if the thread may go on.
"""

_BOTH_WAYS = r"""
define internal i1 @has_to_stop_$WAY$(ptr %ctx, ptr %thread, ptr %left, i64 %most)
    alwaysinline #0 {
entry:
  %before = load i64, ptr %left
  %less = sub i64 %before, 1
  store i64 %less, ptr %left
  %look = icmp slt i64 %less, 0
  br i1 %look, label %ask, label %on
ask:
  store i64 %most, ptr %left
  %answer = call i32 @$ASK$(ptr %ctx, ptr %thread, i64 $POLL$, i64 0, i64 0)
  %stop = icmp ne i32 %answer, 0
  ret i1 %stop
on:
  ret i1 false
}

define i32 @visim_host_$WAY$(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value) #0 {
  call void @add_up(ptr %ctx)
  %answer = call i32 @$ASK$(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value)
  ret i32 %answer
}

define i32 @visim_pause_$WAY$(ptr %ctx, ptr %thread, i64 %pc, i64 %unit) #0 {
entry:
  %pp = getelementptr i64, ptr %thread, i64 $T_PC$
  store i64 %pc, ptr %pp
  %up = getelementptr i64, ptr %thread, i64 $T_UNIT$
  store i64 %unit, ptr %up
  call void @add_up(ptr %ctx)
  %lp = getelementptr i64, ptr %ctx, i64 $C_PATIENCE$
  %stop = call i1 @has_to_stop_$WAY$(ptr %ctx, ptr %thread, ptr %lp, i64 $TURNS_BETWEEN_LOOKS$)
  br i1 %stop, label %end, label %on
on:
  $PAUSE$
  ret i32 0
end:
  call void @fault(ptr %thread, i64 $HOST$, i64 %pc, i64 %unit)
  ret i32 1
}

"""
"""Functions that there are for each way to run threads: they may have to ask Python.

- `has_to_stop_$WAY$` asks, once in `most` times, whether the launch is to stop; `left` counts down.
- `visim_host_$WAY$` has Python do the call-out `site` for the channels of `mask`. 0: all went well.
- `visim_pause_$WAY$` is called in loops when a thread has had its turn: it notes where the thread
  is, and lets others run if threads have stacks of their own. 1: the launch is to stop.
"""
