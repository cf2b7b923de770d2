"""Barriers at which threads signal and wait apart, in LLVM IR: split-phase and named ones.

In kernels that have any, all barriers are of this kind, the group's own, too. `scheduler` puts the
numbers of fields in; what is counted is that of `visim.engine.barriers`.
"""

from __future__ import annotations

SIGNALLING = r"""
define internal void @let_go(ptr %ctx, ptr %barrier) alwaysinline #0 {
entry:
  %wp = getelementptr i64, ptr %barrier, i64 $BARRIER_WAITERS$
  %waiter = load ptr, ptr %wp
  store ptr null, ptr %wp
  %tpp = getelementptr i64, ptr %ctx, i64 $C_TURN_PHASE$
  %turn = load i64, ptr %tpp
  %next.turn = add i64 %turn, 1
  %cpp = getelementptr i64, ptr %ctx, i64 $C_PHASE$
  store i64 %next.turn, ptr %cpp
  br label %head
head:
  %one = phi ptr [ %waiter, %entry ], [ %other, %release ]
  %none = icmp eq ptr %one, null
  br i1 %none, label %done, label %release
release:
  %php = getelementptr i64, ptr %one, i64 $T_PHASE$
  store i64 %turn, ptr %php
  %lp = getelementptr i64, ptr %one, i64 $T_LINK$
  %other = load ptr, ptr %lp
  br label %head
done:
  ret void
}

define internal i64 @until(ptr %thread, ptr %barrier, i64 %wanted) alwaysinline #0 {
  %pp = getelementptr i64, ptr %barrier, i64 $BARRIER_PHASE$
  %phase = load i64, ptr %pp
  %over = icmp uge i64 %phase, %wanted
  br i1 %over, label %go, label %wait
go:
  ret i64 $ANYTIME$
wait:
  %wp = getelementptr i64, ptr %barrier, i64 $BARRIER_WAITERS$
  %before = load ptr, ptr %wp
  %lp = getelementptr i64, ptr %thread, i64 $T_LINK$
  store ptr %before, ptr %lp
  store ptr %thread, ptr %wp
  ret i64 $NEVER$
}

define internal i1 @signal(ptr %ctx, ptr %thread, i64 %number, i64 %role, i64 %producers,
                           i64 %consumers) alwaysinline #0 {
entry:
  %np = getelementptr i64, ptr %ctx, i64 $C_THREADS$
  %n = load i64, ptr %np
  %cp = getelementptr i64, ptr %ctx, i64 $C_BARRIER_COUNT$
  %count = load i64, ptr %cp
  %is.barrier = icmp ult i64 %number, %count
  %is.role = icmp ult i64 %role, 3
  %less.producers = sub i64 %producers, 1
  %some.produce = icmp ult i64 %less.producers, %n
  %less.consumers = sub i64 %consumers, 1
  %some.consume = icmp ult i64 %less.consumers, %n
  %named = and i1 %is.barrier, %is.role
  %counted = and i1 %some.produce, %some.consume
  %well = and i1 %named, %counted
  br i1 %well, label %look, label %refused, !prof !1
look:
  %bp = getelementptr i64, ptr %ctx, i64 $C_BARRIERS$
  %barriers = load ptr, ptr %bp
  %first = mul i64 %number, $BARRIER_SIZE$
  %barrier = getelementptr i64, ptr %barriers, i64 %first
  %pp = getelementptr i64, ptr %barrier, i64 $BARRIER_PHASE$
  %phase = load i64, ptr %pp
  %this = add i64 %phase, 1
  %mp = getelementptr i64, ptr %thread, i64 $T_MARKS$
  %marks = load ptr, ptr %mp
  %markp = getelementptr i64, ptr %marks, i64 %number
  %mark = load i64, ptr %markp
  %held.bit = and i64 %mark, $M_HELD$
  %held = icmp ne i64 %held.bit, 0
  %marked = lshr i64 %mark, $MARKED_PHASE$
  %again = icmp eq i64 %marked, %this
  %high = shl i64 %consumers, 32
  %wanted = or i64 %producers, %high
  %ep = getelementptr i64, ptr %barrier, i64 $BARRIER_EXPECTED$
  %expected = load i64, ptr %ep
  %said = icmp ne i64 %expected, 0
  %unlike = icmp ne i64 %expected, %wanted
  %differs = and i1 %said, %unlike
  %produces = icmp ne i64 %role, 2
  %consumes = icmp ne i64 %role, 1
  %one.producer = zext i1 %produces to i64
  %one.consumer = select i1 %consumes, i64 4294967296, i64 0
  %ones = or i64 %one.producer, %one.consumer
  %ap = getelementptr i64, ptr %barrier, i64 $BARRIER_ARRIVED$
  %before = load i64, ptr %ap
  %arrived = add i64 %before, %ones
  %arrived.producers = and i64 %arrived, 4294967295
  %arrived.consumers = lshr i64 %arrived, 32
  %more.producers = icmp ugt i64 %arrived.producers, %producers
  %more.consumers = icmp ugt i64 %arrived.consumers, %consumers
  %twice = or i1 %held, %again
  %more = or i1 %more.producers, %more.consumers
  %unfit = or i1 %differs, %more
  %wrong = or i1 %twice, %unfit
  br i1 %wrong, label %refused, label %signal, !prof !0
signal:
  %shifted = shl i64 %this, $MARKED_PHASE$
  %producer = select i1 %produces, i64 $M_PRODUCER$, i64 0
  %consumer = select i1 %consumes, i64 $M_HOLDING_CONSUMER$, i64 0
  %as = or i64 %producer, %consumer
  %mark.now = or i64 %shifted, %as
  store i64 %mark.now, ptr %markp
  %last = icmp eq i64 %arrived, %wanted
  br i1 %last, label %end, label %wait
wait:
  store i64 %wanted, ptr %ep
  store i64 %arrived, ptr %ap
  ret i1 true
end:
  store i64 %this, ptr %pp
  store i64 0, ptr %ep
  store i64 0, ptr %ap
  call void @let_go(ptr %ctx, ptr %barrier)
  ret i1 true
refused:
  ret i1 false
}

define internal i64 @await(ptr %ctx, ptr %thread, i64 %number) alwaysinline #0 {
entry:
  %cp = getelementptr i64, ptr %ctx, i64 $C_BARRIER_COUNT$
  %count = load i64, ptr %cp
  %is.barrier = icmp ult i64 %number, %count
  br i1 %is.barrier, label %look, label %refused, !prof !1
look:
  %mp = getelementptr i64, ptr %thread, i64 $T_MARKS$
  %marks = load ptr, ptr %mp
  %markp = getelementptr i64, ptr %marks, i64 %number
  %mark = load i64, ptr %markp
  %held.bit = and i64 %mark, $M_HELD$
  %held = icmp ne i64 %held.bit, 0
  br i1 %held, label %take, label %refused, !prof !1
take:
  %without = sub i64 %mark, $M_HELD$
  %mark.now = or i64 %without, $M_WAITED$
  store i64 %mark.now, ptr %markp
  %marked = lshr i64 %mark, $MARKED_PHASE$
  %bp = getelementptr i64, ptr %ctx, i64 $C_BARRIERS$
  %barriers = load ptr, ptr %bp
  %first = mul i64 %number, $BARRIER_SIZE$
  %barrier = getelementptr i64, ptr %barriers, i64 %first
  %when = call i64 @until(ptr %thread, ptr %barrier, i64 %marked)
  ret i64 %when
refused:
  ret i64 $REFUSED$
}

define internal i1 @count(ptr %ctx, ptr %thread, i64 %most) alwaysinline #0 {
entry:
  %markp.p = getelementptr i64, ptr %thread, i64 $T_MARKS$
  %markp = load ptr, ptr %markp.p
  %mark = load i64, ptr %markp
  %ahead = and i64 %mark, $M_AHEAD$
  %well = icmp ult i64 %ahead, %most
  br i1 %well, label %signal, label %refused, !prof !1
signal:
  %mark.now = add i64 %mark, 1
  store i64 %mark.now, ptr %markp
  %np = getelementptr i64, ptr %ctx, i64 $C_THREADS$
  %n = load i64, ptr %np
  %bp = getelementptr i64, ptr %ctx, i64 $C_BARRIERS$
  %barrier = load ptr, ptr %bp
  %ap = getelementptr i64, ptr %barrier, i64 $BARRIER_ARRIVED$
  %before = load i64, ptr %ap
  %arrived = add i64 %before, 1
  %last = icmp eq i64 %arrived, %n
  br i1 %last, label %end, label %wait
wait:
  store i64 %arrived, ptr %ap
  ret i1 true
end:
  %pp = getelementptr i64, ptr %barrier, i64 $BARRIER_PHASE$
  %phase = load i64, ptr %pp
  %this = add i64 %phase, 1
  store i64 %this, ptr %pp
  store i64 0, ptr %ap
  call void @let_go(ptr %ctx, ptr %barrier)
  ret i1 true
refused:
  ret i1 false
}

define internal i64 @await_counted(ptr %ctx, ptr %thread) alwaysinline #0 {
entry:
  %markp.p = getelementptr i64, ptr %thread, i64 $T_MARKS$
  %markp = load ptr, ptr %markp.p
  %mark = load i64, ptr %markp
  %ahead = and i64 %mark, $M_AHEAD$
  %well = icmp ne i64 %ahead, 0
  br i1 %well, label %take, label %refused, !prof !1
take:
  %one.less = sub i64 %mark, 1
  %one.wait = shl i64 1, $MARKED_WAITS$
  %mark.now = add i64 %one.less, %one.wait
  store i64 %mark.now, ptr %markp
  %waits = lshr i64 %mark.now, $MARKED_WAITS$
  %bp = getelementptr i64, ptr %ctx, i64 $C_BARRIERS$
  %barrier = load ptr, ptr %bp
  %when = call i64 @until(ptr %thread, ptr %barrier, i64 %waits)
  ret i64 %when
refused:
  ret i64 $REFUSED$
}
"""
"""Who is ready is decided when a turn begins, by phases: `suspend` says how.

- `signal` counts a thread at barrier `number`, of which the group's is 0. The last
  one ends the phase of the barrier. Those that wait for that can go on when the next turn begins:
  their phase becomes that of this turn, and the group's the next one. False: the signal is one that
  the specification leaves undefined, and nothing has changed.
- `await` returns the phase with which the thread has to suspend itself: it can go on from the
  next turn on, or is linked to the others that wait. `REFUSED`: it has not signalled as a consumer.
  `until` finds that for the phase of the barrier that is wanted.
- `count` and `await_counted` are the same for the group's barrier of a device without named ones,
  whose gateway counts signals. A thread may then be `most` of them ahead of its waits. Whoever
  waits waits for the next notification: it has had all those before.
"""
