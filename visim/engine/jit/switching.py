"""Threads on stacks of their own, in LLVM IR: switching, barriers, turns, groups of such threads.

`scheduler` puts the numbers of fields in.
"""

from __future__ import annotations

_SAVED = ("rbp", "rbx", "r12", "r13", "r14", "r15")
SWITCH = (
    *(f"pushq %{name}" for name in _SAVED),
    "movq %rsp, (%rdi)",
    "movq %rsi, %rsp",
    *(f"popq %{name}" for name in reversed(_SAVED)),
    "popq %rcx",
    "jmpq *%rcx",
)

GIVE_WAY = "call void @suspend(ptr %ctx, ptr %thread, i64 $S_PAUSED$)"

WAITING = r"""
define internal void @switch_stack(ptr %save, ptr %to) naked noinline #0 {
  call void asm sideeffect "$SWITCH$", ""()
  unreachable
}

define internal void @suspend(ptr %ctx, ptr %thread, i64 %status) alwaysinline #0 {
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  store i64 %status, ptr %sp
  %save = getelementptr i64, ptr %thread, i64 $T_STACK$
  %hp = getelementptr i64, ptr %ctx, i64 $C_SCHEDULER$
  %home = load ptr, ptr %hp
  call void @switch_stack(ptr %save, ptr %home)
  ret void
}
"""
"""How a thread gives way. Kernels have it inlined: after a switch each return is mispredicted."""

BARRIER = r"""
define internal void @barrier(ptr %ctx, ptr %thread) alwaysinline #0 {
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
  %alone = icmp eq i64 %n, 1
  br i1 %alone, label %on, label %rest
on:
  ret void
wait:
  store i64 %arrived, ptr %ap
  br label %rest
rest:
  %tp = getelementptr i64, ptr %thread, i64 $T_PHASE$
  store i64 %phase, ptr %tp
  call void @suspend(ptr %ctx, ptr %thread, i64 $S_WAITING$)
  ret void
}
"""

STACKED = r"""
define internal void @begin_thread() naked noinline #0 {
  call void asm sideeffect "movq %r12, %rdi\0Amovq %r13, %rsi\0Acallq *%rbx\0Aud2", ""()
  unreachable
}

define internal void @thread_main(ptr %ctx, ptr %thread) noinline #0 {
  %failed = call i32 @run_kernel(ptr %ctx, ptr %thread)
  %wrong = icmp ne i32 %failed, 0
  %status = select i1 %wrong, i64 $S_FAULTED$, i64 $S_DONE$
  call void @suspend(ptr %ctx, ptr %thread, i64 %status)
  unreachable
}

define internal i32 @visim_ask_stacked(ptr %ctx, ptr %thread, i64 %site, i64 %mask,
                                       i64 %value) noinline #0 {
  %sp = getelementptr i64, ptr %thread, i64 $T_SITE$
  store i64 %site, ptr %sp
  %mp = getelementptr i64, ptr %thread, i64 $T_CHOSEN$
  store i64 %mask, ptr %mp
  %vp = getelementptr i64, ptr %thread, i64 $T_VALUE$
  store i64 %value, ptr %vp
  call void @suspend(ptr %ctx, ptr %thread, i64 $S_ASKING$)
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
  ret void
}

define internal void @resume(ptr %ctx, ptr %thread) alwaysinline #0 {
entry:
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  %status = load i64, ptr %sp
  %stp = getelementptr i64, ptr %thread, i64 $T_STACK$
  %usedp = getelementptr i64, ptr %thread, i64 $T_USED$
  %sparep = getelementptr i64, ptr %ctx, i64 $C_SPARE$
  %new = icmp eq i64 %status, $S_READY$
  br i1 %new, label %start, label %go
start:
  %own = load i64, ptr %stp
  %spare = load i64, ptr %sparep
  store i64 0, ptr %sparep
  %free = icmp ne i64 %spare, 0
  %top = select i1 %free, i64 %spare, i64 %own
  store i64 %top, ptr %usedp
  %low = sub i64 %top, 72
  store i64 %low, ptr %stp
  %frame = inttoptr i64 %low to ptr
  %f13 = getelementptr i64, ptr %frame, i64 2
  store ptr %thread, ptr %f13
  %f12 = getelementptr i64, ptr %frame, i64 3
  store ptr %ctx, ptr %f12
  %fbx = getelementptr i64, ptr %frame, i64 4
  store ptr @thread_main, ptr %fbx
  %fret = getelementptr i64, ptr %frame, i64 6
  store ptr @begin_thread, ptr %fret
  br label %go
go:
  %stack = load ptr, ptr %stp
  %home = getelementptr i64, ptr %ctx, i64 $C_SCHEDULER$
  call void @switch_stack(ptr %home, ptr %stack)
  %after = load i64, ptr %sp
  switch i64 %after, label %out [ i64 $S_ASKING$, label %asks i64 $S_DONE$, label %done ]
asks:
  call void @answer(ptr %ctx, ptr %thread)
  br label %go
done:
  %used = load i64, ptr %usedp
  store i64 %used, ptr %sparep
  br label %out
out:
  ret void
}

define i64 @turn(ptr %ctx, ptr %threads, i64 %n) #0 {
entry:
  %pp = getelementptr i64, ptr %ctx, i64 $C_PHASE$
  %phase = load i64, ptr %pp
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %ran = phi i64 [ 0, %entry ], [ %ran.next, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %out, label %body
body:
  %tp = getelementptr ptr, ptr %threads, i64 %i
  %thread = load ptr, ptr %tp
  %sp = getelementptr i64, ptr %thread, i64 $T_STATUS$
  %status = load i64, ptr %sp
  %qp = getelementptr i64, ptr %thread, i64 $T_PHASE$
  %waits = load i64, ptr %qp
  %is.new = icmp eq i64 %status, $S_READY$
  %is.waiting = icmp eq i64 %status, $S_WAITING$
  %over = icmp ult i64 %waits, %phase
  %released = and i1 %is.waiting, %over
  %is.paused = icmp eq i64 %status, $S_PAUSED$
  %either = or i1 %is.new, %released
  %ready = or i1 %either, %is.paused
  br i1 %ready, label %run, label %next
run:
  call void @resume(ptr %ctx, ptr %thread)
  %after = load i64, ptr %sp
  %wrong = icmp eq i64 %after, $S_FAULTED$
  br i1 %wrong, label %fault, label %next
next:
  %more = phi i64 [ 0, %body ], [ 1, %run ]
  %ran.next = or i64 %ran, %more
  %j = add i64 %i, 1
  br label %head
fault:
  ret i64 %i
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
  br i1 %on, label %again, label %out
out:
  ret i64 %at
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
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %body ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %run, label %body
body:
  %tp = getelementptr ptr, ptr %records, i64 %i
  %thread = load ptr, ptr %tp
  call void @start_thread_stacked(ptr %work, ptr %thread, ptr %ids, i64 %count)
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
