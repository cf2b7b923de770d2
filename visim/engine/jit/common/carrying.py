"""Threads that go in step, where a turn of one ends between barriers, in LLVM IR.

One function runs all threads of a group from barrier to barrier, one after another. A thread whose
turn ends in a loop keeps what it has in that function's variables and on its stack, so the whole
stack is put aside: it *carries* the thread. The function runs on another stack meanwhile, from the
next thread on. When all threads have had a turn, those that were put aside have theirs, the one
that has waited longest first, until none is left; so turns come in the order of threads that all
have stacks. A stack that carries nobody any more is left to others. What a carrier has to know of
the group it finds in the worker's context, where the one before has left it, so whoever is the last
one goes on with all threads.

`scheduler` puts the numbers of fields in.
"""

from __future__ import annotations

PUT_ASIDE = "call void @put_aside(ptr %ctx, ptr %thread)"

CARRYING = r"""
define internal void @prepare_carrier(ptr %ctx, ptr %records, ptr %thread) alwaysinline #0 {
entry:
  %sp = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  %spare = load i64, ptr %sp
  %is.spare = icmp ne i64 %spare, 0
  br i1 %is.spare, label %again, label %fresh
again:
  %spare.pointer = inttoptr i64 %spare to ptr
  %link = getelementptr i64, ptr %spare.pointer, i64 -1
  %other = load i64, ptr %link
  store i64 %other, ptr %sp
  br label %go
fresh:
  %np = getelementptr i64, ptr %ctx, i64 $C_STACKS$
  %n = load i64, ptr %np
  %more = add i64 %n, 1
  store i64 %more, ptr %np
  %owner.at = getelementptr ptr, ptr %records, i64 %n
  %owner = load ptr, ptr %owner.at
  %topp = getelementptr i64, ptr %owner, i64 $T_TOP$
  %own = load i64, ptr %topp
  br label %go
go:
  %top = phi i64 [ %spare, %again ], [ %own, %fresh ]
  %up = getelementptr i64, ptr %ctx, i64 $C_USED$
  store i64 %top, ptr %up
  call void @prepare_stack(ptr %thread, i64 %top, ptr @carry)
  ret void
}

define internal void @carry(ptr %ctx, ptr %starter) noinline #0 {
  %wp = getelementptr i64, ptr %ctx, i64 $C_WORK$
  %work = load ptr, ptr %wp
  %xp = getelementptr i64, ptr %work, i64 $W_X$
  %x = load i64, ptr %xp
  %yp = getelementptr i64, ptr %work, i64 $W_Y$
  %y = load i64, ptr %yp
  %zp = getelementptr i64, ptr %work, i64 $W_Z$
  %z = load i64, ptr %zp
  %gp = getelementptr i64, ptr %work, i64 $W_GROUPS$
  %groups = load i64, ptr %gp
  %kp = getelementptr i64, ptr %ctx, i64 $C_KERNEL$
  %kernel = load ptr, ptr %kp
  %ran = call i64 %kernel(ptr %ctx, ptr %work, i64 %x, i64 %y, i64 %z, i64 %groups)
  %rp = getelementptr i64, ptr %work, i64 $W_RAN$
  store i64 %ran, ptr %rp
  call void @go_home(ptr %ctx, ptr %starter)
  unreachable
}

define internal ptr @next_aside(ptr %ctx) alwaysinline #0 {
  %ap = getelementptr i64, ptr %ctx, i64 $C_ASIDE$
  %first = load ptr, ptr %ap
  %lp = getelementptr i64, ptr %first, i64 $T_LINK$
  %next = load ptr, ptr %lp
  store ptr %next, ptr %ap
  %ep = getelementptr i64, ptr %ctx, i64 $C_ENTRANTS$
  store i64 0, ptr %ep
  ret ptr %first
}

define internal void @put_aside(ptr %ctx, ptr %thread) noinline #0 {
entry:
  %lp = getelementptr i64, ptr %thread, i64 $T_LINK$
  store ptr null, ptr %lp
  %ap = getelementptr i64, ptr %ctx, i64 $C_ASIDE$
  %first = load ptr, ptr %ap
  %zp = getelementptr i64, ptr %ctx, i64 $C_ASIDE_LAST$
  %last = load ptr, ptr %zp
  %link = getelementptr i64, ptr %last, i64 $T_LINK$
  %is.first = icmp eq ptr %first, null
  %place = select i1 %is.first, ptr %ap, ptr %link
  store ptr %thread, ptr %place
  store ptr %thread, ptr %zp
  %up = getelementptr i64, ptr %ctx, i64 $C_USED$
  %used = load i64, ptr %up
  %ip = getelementptr i64, ptr %thread, i64 $T_INDEX$
  %index = load i64, ptr %ip
  %next = add i64 %index, 1
  %ep = getelementptr i64, ptr %ctx, i64 $C_ENTRANTS$
  %entrants = load i64, ptr %ep
  %more = icmp ult i64 %next, %entrants
  br i1 %more, label %begin, label %resume
begin:
  %wp = getelementptr i64, ptr %ctx, i64 $C_WORK$
  %work = load ptr, ptr %wp
  %np = getelementptr i64, ptr %work, i64 $W_ENTRANT$
  store i64 %next, ptr %np
  %rp = getelementptr i64, ptr %work, i64 $W_RECORDS$
  %records = load ptr, ptr %rp
  %record.at = getelementptr ptr, ptr %records, i64 %next
  %record = load ptr, ptr %record.at
  call void @prepare_carrier(ptr %ctx, ptr %records, ptr %record)
  br label %go
resume:
  %other = call ptr @next_aside(ptr %ctx)
  %is.alone = icmp eq ptr %other, %thread
  br i1 %is.alone, label %out, label %go
go:
  %to = phi ptr [ %record, %begin ], [ %other, %resume ]
  %from.stack = getelementptr i64, ptr %thread, i64 $T_STACK$
  %to.stack = getelementptr i64, ptr %to, i64 $T_STACK$
  %back = call { ptr, ptr, ptr } @switch_stack(ptr %ctx, ptr %from.stack, ptr %to.stack)
  store i64 %used, ptr %up
  br label %out
out:
  ret void
}

define void @visim_rest(ptr %ctx) noinline noreturn #0 {
  %own = alloca [4 x i64]
  %up = getelementptr i64, ptr %ctx, i64 $C_USED$
  %used = load i64, ptr %up
  %sp = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  %spare = load i64, ptr %sp
  %top = inttoptr i64 %used to ptr
  %link = getelementptr i64, ptr %top, i64 -1
  store i64 %spare, ptr %link
  store i64 %used, ptr %sp
  %next = call ptr @next_aside(ptr %ctx)
  %to = getelementptr i64, ptr %next, i64 $T_STACK$
  %back = call { ptr, ptr, ptr } @switch_stack(ptr %ctx, ptr %own, ptr %to)
  unreachable
}

define internal i64 @run_in_step(ptr %ctx, ptr %work, ptr %records, i64 %x, i64 %y, i64 %z,
                                 i64 %groups) alwaysinline #0 {
entry:
  %xp = getelementptr i64, ptr %work, i64 $W_X$
  store i64 %x, ptr %xp
  %yp = getelementptr i64, ptr %work, i64 $W_Y$
  store i64 %y, ptr %yp
  %zp = getelementptr i64, ptr %work, i64 $W_Z$
  store i64 %z, ptr %zp
  %gp = getelementptr i64, ptr %work, i64 $W_GROUPS$
  store i64 %groups, ptr %gp
  %bp = getelementptr i64, ptr %work, i64 $W_GROUP$
  store i64 0, ptr %bp
  %ep = getelementptr i64, ptr %work, i64 $W_ENTRANT$
  store i64 0, ptr %ep
  %wp = getelementptr i64, ptr %ctx, i64 $C_WORK$
  store ptr %work, ptr %wp
  %sp = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  store i64 0, ptr %sp
  %np = getelementptr i64, ptr %ctx, i64 $C_STACKS$
  store i64 0, ptr %np
  %ap = getelementptr i64, ptr %ctx, i64 $C_ASIDE$
  store ptr null, ptr %ap
  %first = load ptr, ptr %records
  call void @prepare_carrier(ptr %ctx, ptr %records, ptr %first)
  %stack = getelementptr i64, ptr %first, i64 $T_STACK$
  %who = call ptr @visit(ptr %ctx, ptr %stack)
  br label %head
head:
  %at = phi ptr [ %ap, %entry ], [ %lp, %sum ]
  %left = load ptr, ptr %at
  %end = icmp eq ptr %left, null
  br i1 %end, label %out, label %sum
sum:
  call void @note(ptr %work, ptr %left)
  %lp = getelementptr i64, ptr %left, i64 $T_LINK$
  br label %head
out:
  %rp = getelementptr i64, ptr %work, i64 $W_RAN$
  %ran = load i64, ptr %rp
  ret i64 %ran
}
"""
"""Carriers, from the start of a row of groups to its end.

- `prepare_carrier` has a carrier begin, on a stack that another one has left or that nobody has
  used yet. It is found by the record of its first thread.
- `carry` runs the kernel's function on a stack. If that returns, the row is done, or a thread has
  faulted: it goes home, whoever else was put aside.
- `next_aside` takes the one that was put aside first from the list. All have had a turn then.
- `put_aside` puts a thread aside, with the stack on which it runs, until its next turn.
- `visim_rest` leaves a stack that carries nobody, for good.
- `run_in_step` runs a row of groups, and returns how many have ended well. What threads have
  executed that are still aside, since another one has faulted, is counted at the end.
"""

CARRIED = r"""
declare void @visim_rest(ptr) noreturn

define internal void @leave_carried(ptr %ctx, ptr %work, ptr %met, ptr %executed) alwaysinline #0 {
  %count = load i64, ptr %met
  %ap = getelementptr i64, ptr %ctx, i64 $C_ARRIVED$
  store i64 %count, ptr %ap
  %own = load i64, ptr %executed
  store i64 0, ptr %executed
  %xp = getelementptr i64, ptr %work, i64 $W_EXECUTED$
  %before = load i64, ptr %xp
  %now = add i64 %before, %own
  store i64 %now, ptr %xp
  ret void
}

define internal void @find_carried(ptr %ctx, ptr %met, ptr %entrants) alwaysinline #0 {
  %ap = getelementptr i64, ptr %ctx, i64 $C_ARRIVED$
  %count = load i64, ptr %ap
  store i64 %count, ptr %met
  %ep = getelementptr i64, ptr %ctx, i64 $C_ENTRANTS$
  %begin = load i64, ptr %ep
  store i64 %begin, ptr %entrants
  ret void
}

define internal i32 @pause_carried(ptr %ctx, ptr %thread, i64 %pc, i64 %unit, ptr %work, ptr %met,
                                   ptr %entrants, ptr %executed) alwaysinline #0 {
  call void @leave_carried(ptr %ctx, ptr %work, ptr %met, ptr %executed)
  %stop = call i32 @pause(ptr %ctx, ptr %thread, i64 %pc, i64 %unit)
  call void @find_carried(ptr %ctx, ptr %met, ptr %entrants)
  ret i32 %stop
}
"""
"""What a kernel's module does where a thread's turn ends before a barrier.

A carrier has in variables of its own, which are registers mostly, how many threads have met, how
many begin one after another, and what they have executed.

- `leave_carried` leaves these numbers for the carrier that goes on; what has been executed is added
  to that of the range of groups, as this one may never go on.
- `find_carried` finds them where a carrier begins or goes on.
- `pause_carried` does both around the pause of a thread.
"""
