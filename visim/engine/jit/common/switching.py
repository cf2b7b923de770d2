"""Threads on stacks of their own, in LLVM IR: switching, barriers, turns, groups of such threads.

`scheduler` puts the numbers of fields in.
"""

from __future__ import annotations

GIVE_WAY = "%self = call ptr @suspend(ptr %ctx, ptr %thread, i64 $S_PAUSED$, i64 $ANYTIME$)"

WAITING = r"""
define internal { ptr, ptr, ptr } @switch_stack(ptr %ctx, ptr %from, ptr %to) alwaysinline #0 {
  %found = call { ptr, ptr, ptr } asm sideeffect "$SWITCH$", "$OPERANDS$"(ptr %ctx, ptr %to,
                                                                          ptr %from)
  ret { ptr, ptr, ptr } %found
}

define internal void @go_home(ptr %ctx, ptr %thread) alwaysinline #0 {
  %own = getelementptr i64, ptr %thread, i64 $T_STACK$
  %home = getelementptr i64, ptr %ctx, i64 $C_HOME$
  %back = call { ptr, ptr, ptr } @switch_stack(ptr %ctx, ptr %own, ptr %home)
  ret void
}

define internal ptr @suspend(ptr %ctx, ptr %thread, i64 %status, i64 %phase) alwaysinline #0 {
entry:
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  store i64 %status, ptr %sp
  %fp = getelementptr i64, ptr %thread, i64 $T_PHASE$
  store i64 %phase, ptr %fp
  %np = getelementptr i64, ptr %thread, i64 $T_NEXT$
  %next = load ptr, ptr %np
  %tpp = getelementptr i64, ptr %ctx, i64 $C_TURN_PHASE$
  %own = getelementptr i64, ptr %thread, i64 $T_STACK$
  %home = getelementptr i64, ptr %ctx, i64 $C_HOME$
  %is.last = icmp eq ptr %next, null
  br i1 %is.last, label %around, label %look, !prof !0
around:
  %fsp = getelementptr i64, ptr %ctx, i64 $C_FIRST$
  %first = load ptr, ptr %fsp
  %nobody = icmp eq ptr %first, null
  br i1 %nobody, label %go, label %begin
begin:
  %pp = getelementptr i64, ptr %ctx, i64 $C_PHASE$
  %now = load i64, ptr %pp
  store i64 %now, ptr %tpp
  %lp = getelementptr i64, ptr %ctx, i64 $C_TURNS$
  %left = load i64, ptr %lp
  %less = sub i64 %left, 1
  store i64 %less, ptr %lp
  %late = icmp slt i64 %less, 0
  br i1 %late, label %go, label %look, !prof !0
look:
  %other = phi ptr [ %next, %entry ], [ %first, %begin ]
  %qp = getelementptr i64, ptr %other, i64 $T_PHASE$
  %waits = load i64, ptr %qp
  %over = load i64, ptr %tpp
  %ready = icmp slt i64 %waits, %over
  %there = getelementptr i64, ptr %other, i64 $T_STACK$
  br i1 %ready, label %go, label %leave, !prof !1
leave:
  br label %go
go:
  %to = phi ptr [ %home, %around ], [ %home, %begin ], [ %there, %look ], [ %home, %leave ]
  %back = call { ptr, ptr, ptr } @switch_stack(ptr %ctx, ptr %own, ptr %to)
  %place = extractvalue { ptr, ptr, ptr } %back, 1
  %self = getelementptr i8, ptr %place, i64 -$PLACE$
  ret ptr %self
}
"""
"""How a thread gives way: to the thread whose turn is next, if that can run, else to the scheduler.

Threads that follow each other name the next one (`NEXT`); behind the last one a turn of all of them
begins. Who may run in a turn is decided by the phase at its start. The answer is the thread itself,
which it would otherwise find on its stack: so the processor knows early who is next but one.
"""

BARRIER = r"""
define internal ptr @barrier(ptr %ctx, ptr %thread) alwaysinline #0 {
  %ap = getelementptr i64, ptr %ctx, i64 $C_ARRIVED$
  %before = load i64, ptr %ap
  %arrived = add i64 %before, 1
  %np = getelementptr i64, ptr %ctx, i64 $C_THREADS$
  %n = load i64, ptr %np
  %pp = getelementptr i64, ptr %ctx, i64 $C_PHASE$
  %phase = load i64, ptr %pp
  %last = icmp eq i64 %arrived, %n
  br i1 %last, label %release, label %wait
release:
  store i64 0, ptr %ap
  %next = add i64 %phase, 1
  store i64 %next, ptr %pp
  br label %rest
wait:
  store i64 %arrived, ptr %ap
  br label %rest
rest:
  %self = call ptr @suspend(ptr %ctx, ptr %thread, i64 $S_WAITING$, i64 %phase)
  ret ptr %self
}
"""
"""`barrier` counts threads as they arrive; the last one begins the next phase. Each gives way,
the last one too, until the phase in which it has arrived is over. The answer is that of
`suspend`."""

STACKED = r"""
define internal void @begin_thread() naked noinline #0 {
  call void asm sideeffect "$BEGIN$", ""()
  unreachable
}

define internal void @prepare_stack(ptr %thread, i64 %top, ptr %main) alwaysinline #0 {
  %usedp = getelementptr i64, ptr %thread, i64 $T_USED$
  store i64 %top, ptr %usedp
  %stack = getelementptr i64, ptr %thread, i64 $T_STACK$
  store i64 %top, ptr %stack
  %kept = getelementptr i64, ptr %thread, i64 $T_KEPT$
  store ptr %main, ptr %kept
  %resumed = getelementptr i64, ptr %thread, i64 $T_RESUMED$
  store ptr @begin_thread, ptr %resumed
  ret void
}

define internal void @thread_main(ptr %ctx, ptr %starter) noinline #0 {
entry:
  %usedp = getelementptr i64, ptr %starter, i64 $T_USED$
  %used = load i64, ptr %usedp
  br label %start
start:
  %thread = phi ptr [ %starter, %entry ], [ %next, %look ]
  %failed = call i32 @run_kernel(ptr %ctx, ptr %thread)
  %wrong = icmp ne i32 %failed, 0
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  br i1 %wrong, label %fault, label %done
done:
  store i64 $S_DONE$, ptr %sp
  %fp = getelementptr i64, ptr %thread, i64 $T_PHASE$
  store i64 $NEVER$, ptr %fp
  %np = getelementptr i64, ptr %thread, i64 $T_NEXT$
  %next = load ptr, ptr %np
  %is.last = icmp eq ptr %next, null
  br i1 %is.last, label %leave, label %look
look:
  %qp = getelementptr i64, ptr %next, i64 $T_STATUS$
  %status = load i64, ptr %qp
  %is.new = icmp eq i64 %status, $S_READY$
  br i1 %is.new, label %start, label %leave
leave:
  %sparep = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  store i64 %used, ptr %sparep
  %self = call ptr @suspend(ptr %ctx, ptr %thread, i64 $S_DONE$, i64 $NEVER$)
  unreachable
fault:
  store i64 $S_FAULTED$, ptr %sp
  call void @go_home(ptr %ctx, ptr %thread)
  unreachable
}

define internal i32 @visim_ask_stacked(ptr %ctx, ptr %thread, i64 %site, i64 %mask,
                                       i64 %value) noinline #0 {
  %tp = getelementptr i64, ptr %thread, i64 $T_SITE$
  store i64 %site, ptr %tp
  %mp = getelementptr i64, ptr %thread, i64 $T_CHOSEN$
  store i64 %mask, ptr %mp
  %vp = getelementptr i64, ptr %thread, i64 $T_VALUE$
  store i64 %value, ptr %vp
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  store i64 $S_ASKING$, ptr %sp
  call void @go_home(ptr %ctx, ptr %thread)
  %ap = getelementptr i64, ptr %thread, i64 $T_ANSWER$
  %answer = load i64, ptr %ap
  %short = trunc i64 %answer to i32
  ret i32 %short
}

define internal void @answer(ptr %ctx, ptr %thread) noinline #0 {
  %sp = getelementptr i64, ptr %thread, i64 $T_SITE$
  %site = load i64, ptr %sp
  %mp = getelementptr i64, ptr %thread, i64 $T_CHOSEN$
  %mask = load i64, ptr %mp
  %vp = getelementptr i64, ptr %thread, i64 $T_VALUE$
  %value = load i64, ptr %vp
  %answer = call i32 @visim_ask(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %value)
  %wide = zext i32 %answer to i64
  %ap = getelementptr i64, ptr %thread, i64 $T_ANSWER$
  store i64 %wide, ptr %ap
  %stp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  store i64 $S_PAUSED$, ptr %stp
  ret void
}

define internal ptr @resume(ptr %ctx, ptr %thread) alwaysinline #0 {
entry:
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  %status = load i64, ptr %sp
  %stack = getelementptr i64, ptr %thread, i64 $T_STACK$
  %new = icmp eq i64 %status, $S_READY$
  br i1 %new, label %start, label %go
start:
  %topp = getelementptr i64, ptr %thread, i64 $T_TOP$
  %own = load i64, ptr %topp
  %sparep = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  %spare = load i64, ptr %sparep
  store i64 0, ptr %sparep
  %free = icmp ne i64 %spare, 0
  %top = select i1 %free, i64 %spare, i64 %own
  call void @prepare_stack(ptr %thread, i64 %top, ptr @thread_main)
  br label %go
go:
  %record = call ptr @visit(ptr %ctx, ptr %stack)
  ret ptr %record
}

define internal ptr @visit(ptr %ctx, ptr %stack) alwaysinline #0 {
entry:
  br label %go
go:
  %to = phi ptr [ %stack, %entry ], [ %who, %asks ]
  %home = getelementptr i64, ptr %ctx, i64 $C_HOME$
  %back = call { ptr, ptr, ptr } @switch_stack(ptr %ctx, ptr %home, ptr %to)
  %who = extractvalue { ptr, ptr, ptr } %back, 2
  %record = getelementptr i8, ptr %who, i64 -$PLACE$
  %ap = getelementptr i64, ptr %record, i64 $T_STATUS$
  %after = load i64, ptr %ap
  %asking = icmp eq i64 %after, $S_ASKING$
  br i1 %asking, label %asks, label %out
asks:
  call void @answer(ptr %ctx, ptr %record)
  br label %go
out:
  ret ptr %record
}

define i64 @turn(ptr %ctx, ptr %threads, i64 %n) #0 {
entry:
  %pp = getelementptr i64, ptr %ctx, i64 $C_PHASE$
  %phase = load i64, ptr %pp
  %tpp = getelementptr i64, ptr %ctx, i64 $C_TURN_PHASE$
  store i64 %phase, ptr %tpp
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %ran = phi i64 [ 0, %entry ], [ %ran.next, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %out, label %body
body:
  %tp = getelementptr ptr, ptr %threads, i64 %i
  %thread = load ptr, ptr %tp
  %qp = getelementptr i64, ptr %thread, i64 $T_PHASE$
  %waits = load i64, ptr %qp
  %over = load i64, ptr %tpp
  %ready = icmp slt i64 %waits, %over
  br i1 %ready, label %run, label %next
run:
  %ip = getelementptr i64, ptr %thread, i64 $T_INDEX$
  store i64 %i, ptr %ip
  %who = call ptr @resume(ptr %ctx, ptr %thread)
  %wip = getelementptr i64, ptr %who, i64 $T_INDEX$
  %at = load i64, ptr %wip
  %sp = getelementptr i64, ptr %who, i64 $T_STATUS$
  %after = load i64, ptr %sp
  %wrong = icmp eq i64 %after, $S_FAULTED$
  br i1 %wrong, label %fault, label %next
next:
  %last = phi i64 [ %i, %body ], [ %at, %run ]
  %more = phi i64 [ 0, %body ], [ 1, %run ]
  %ran.next = or i64 %ran, %more
  %j = add i64 %last, 1
  br label %head
fault:
  ret i64 %at
out:
  %idle = xor i64 %ran, 1
  %idle.n = add i64 %n, %idle
  ret i64 %idle.n
}

define i64 @turns(ptr %ctx, ptr %threads, i64 %n) #0 {
entry:
  br label %again
again:
  %at = call i64 @turn(ptr %ctx, ptr %threads, i64 %n)
  %heard = call i1 @tell(ptr %ctx, ptr %threads, i64 $TURN_ENDS$, i64 0)
  %on = icmp eq i64 %at, %n
  br i1 %on, label %count, label %out
count:
  %lp = getelementptr i64, ptr %ctx, i64 $C_TURNS$
  %record = load ptr, ptr %threads
  %stop = call i1 @has_to_stop_direct(ptr %ctx, ptr %record, ptr %lp, i64 $BARRIERS_BETWEEN_LOOKS$)
  br i1 %stop, label %end, label %again
end:
  %kp = getelementptr i64, ptr %record, i64 $T_FAULT$
  store i64 $HOST$, ptr %kp
  ret i64 0
out:
  ret i64 %at
}

define internal void @start_thread_stacked(ptr %work, ptr %thread, ptr %ids, i64 %count)
    alwaysinline #0 {
entry:
  %mp = getelementptr i64, ptr %work, i64 $W_MEMORY$
  %memory = load i64, ptr %mp
  %has.memory = icmp ne i64 %memory, 0
  br i1 %has.memory, label %clear, label %cleared
clear:
  call void @visim_clear_memory(ptr %work, ptr %thread)
  br label %cleared
cleared:
  %smp = getelementptr i64, ptr %thread, i64 $T_MASK$
  %mask = load i64, ptr %smp
  %empty = icmp eq i64 %mask, 0
  %status = select i1 %empty, i64 $S_DONE$, i64 $S_READY$
  %stp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  store i64 %status, ptr %stp
  %phase = select i1 %empty, i64 $NEVER$, i64 $ANYTIME$
  %php = getelementptr i64, ptr %thread, i64 $T_PHASE$
  store i64 %phase, ptr %php
  %ep = getelementptr i64, ptr %thread, i64 $T_EXECUTED$
  store i64 0, ptr %ep
  %topp = getelementptr i64, ptr %thread, i64 $T_TOP$
  %top = load i64, ptr %topp
  call void @prepare_stack(ptr %thread, i64 %top, ptr @thread_main)
  %dp = getelementptr i64, ptr %thread, i64 $T_DEPTH$
  store i64 0, ptr %dp
  %frp = getelementptr i64, ptr %thread, i64 $T_FRAME$
  store i64 0, ptr %frp
  %image = load ptr, ptr %thread
  %lp = getelementptr i64, ptr %work, i64 $W_PLACES$
  %places = load ptr, ptr %lp
  br label %head
head:
  %k = phi i64 [ 0, %cleared ], [ %next, %place ], [ %next, %whole ]
  %end = icmp eq i64 %k, %count
  br i1 %end, label %out, label %place
place:
  %four = shl i64 %k, 2
  %op = getelementptr i64, ptr %places, i64 %four
  %offset = load i64, ptr %op
  %axp = getelementptr i64, ptr %op, i64 1
  %axis = load i64, ptr %axp
  %cp = getelementptr i64, ptr %ids, i64 %axis
  %coordinate = load i64, ptr %cp
  %scp = getelementptr i64, ptr %op, i64 2
  %scale = load i64, ptr %scp
  %yp = getelementptr i64, ptr %ids, i64 1
  %y = load i64, ptr %yp
  %scaled = mul i64 %y, %scale
  %value = add i64 %coordinate, %scaled
  %szp = getelementptr i64, ptr %op, i64 3
  %size = load i64, ptr %szp
  %register = getelementptr i8, ptr %image, i64 %offset
  %short = trunc i64 %value to i16
  store i16 %short, ptr %register, align 1
  %next = add i64 %k, 1
  %is.short = icmp eq i64 %size, 2
  br i1 %is.short, label %head, label %whole
whole:
  %low = trunc i64 %value to i32
  store i32 %low, ptr %register, align 1
  br label %head
out:
  ret void
}

define internal i64 @run_group_stacked(ptr %ctx, ptr %work, ptr %records, i64 %n, ptr %ids,
                                       i64 %count) alwaysinline #0 {
entry:
  %ap = getelementptr i64, ptr %ctx, i64 $C_ARRIVED$
  store i64 0, ptr %ap
  %pp = getelementptr i64, ptr %ctx, i64 $C_PHASE$
  store i64 0, ptr %pp
  %sparep = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  store i64 0, ptr %sparep
  call void @started(ptr %work, i64 %n)
  %bcp = getelementptr i64, ptr %ctx, i64 $C_BARRIER_COUNT$
  %barriers = load i64, ptr %bcp
  %mark.bytes = shl i64 %barriers, 3
  %has.barriers = icmp ne i64 %barriers, 0
  br i1 %has.barriers, label %clear, label %head
clear:
  %bp = getelementptr i64, ptr %ctx, i64 $C_BARRIERS$
  %table = load ptr, ptr %bp
  %table.bytes = mul i64 %mark.bytes, $BARRIER_SIZE$
  call void @llvm.memset.p0.i64(ptr %table, i8 0, i64 %table.bytes, i1 false)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ 0, %clear ], [ %j, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %run, label %body
body:
  %tp = getelementptr ptr, ptr %records, i64 %i
  %thread = load ptr, ptr %tp
  call void @start_thread_stacked(ptr %work, ptr %thread, ptr %ids, i64 %count)
  br i1 %has.barriers, label %unmark, label %next
unmark:
  %mkp = getelementptr i64, ptr %thread, i64 $T_MARKS$
  %marks = load ptr, ptr %mkp
  call void @llvm.memset.p0.i64(ptr %marks, i8 0, i64 %mark.bytes, i1 false)
  br label %next
next:
  %j = add i64 %i, 1
  br label %head
run:
  %at = call i64 @turns(ptr %ctx, ptr %records, i64 %n)
  %fp = getelementptr i64, ptr %work, i64 $W_FAULT_THREAD$
  store i64 %at, ptr %fp
  br label %sum
sum:
  %k = phi i64 [ 0, %run ], [ %m, %add ]
  %live = phi i64 [ 0, %run ], [ %more, %add ]
  %last = icmp eq i64 %k, %n
  br i1 %last, label %judge, label %add
add:
  %kp = getelementptr ptr, ptr %records, i64 %k
  %one = load ptr, ptr %kp
  call void @note(ptr %work, ptr %one)
  %sp = getelementptr i64, ptr %one, i64 $T_STATUS$
  %status = load i64, ptr %sp
  %ended = icmp eq i64 %status, $S_DONE$
  %plus = select i1 %ended, i64 0, i64 1
  %more = add i64 %live, %plus
  %m = add i64 %k, 1
  br label %sum
judge:
  %fault = icmp ult i64 %at, %n
  br i1 %fault, label %bad, label %check
check:
  %stuck = icmp ne i64 %live, 0
  br i1 %stuck, label %deadlock, label %good
good:
  ret i64 0
bad:
  ret i64 1
deadlock:
  ret i64 2
}
"""
"""Threads with stacks, from the start of a group to its end.

- `prepare_stack` lets a thread begin on a stack: where it is resumed, `begin_thread` jumps to
  `main`, as if that had been called.
- `thread_main` runs a thread and, if the next one has not begun, that one on the same stack. Else
  the stack is a spare one for threads that begin later, and what ran on it gives way for good.
- `visim_ask_stacked` leaves a call-out in the thread's record and goes home, to the worker's own
  stack, where `answer` asks Python.
- `visit` leaves the worker's own stack for a thread's until one comes home, answers those that
  ask, and returns the record of the one that comes for another reason. As threads switch to each
  other, it may be another one. `resume` does so for a thread that may have to begin.
- `turn` gives each of `n` threads its turn, if it can go on. It returns the number of one that has
  faulted, `n` if there is none, and `n + 1` if no thread could go on.
- `turns` repeats that as long as it returns `n`, and looks now and then whether the launch is to
  stop.
- `start_thread_stacked` prepares a thread: its memory, its record, the group's coordinates `ids` in
  `count` places of its registers. A thread without channels has ended already.
- `run_group_stacked` runs a group. 0: all went well, 1: a fault, 2: threads wait for ever.
"""
