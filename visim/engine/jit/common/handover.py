"""How native code hands calls to other threads: boxes with futexes, in LLVM IR.

A call that nobody has taken when the others have ended is taken back, so that a launch never waits
for a thread that gets no processor. So a thread leaves the processor of who asks it (`placing`)
before it takes the call. Who looks for something looks only for some microseconds before the
operating system lets it sleep: longer looks take the time from somebody.
"""

from __future__ import annotations

import platform

from visim.engine.jit.layout import Box, BoxState, Call

_FUTEX = {"x86_64": 202, "amd64": 202, "aarch64": 98, "arm64": 98}
"""The number of Linux's system call, by machine."""
_WAIT, _WAKE = 128, 129
"""FUTEX_WAIT and FUTEX_WAKE, among the threads of one process."""
_LOOKS = 150
"""How often a thread looks before it sleeps, each time a processor's pause (some 20 ns)."""
_LOOKS_FOR_END = 2000
"""How often a thread looks whether another one has ended before it sleeps: for as long as sleeping
and waking take. Those that share groups end within such times of each other."""
_PATIENCE_NS = 20_000_000
"""After so long Python looks whether signals have come."""


def handover_numbers(*, is_x86: bool) -> dict[str, str]:
    """Return the numbers that `HANDOVER` has by name."""
    found = {f"B_{field.name}": int(field) for field in Box}
    found |= {f"L_{field.name}": int(field) for field in Call}
    found |= {f"X_{state.name}": int(state) for state in BoxState}
    found |= {"FUTEX": _FUTEX.get(platform.machine().lower(), 0), "WAIT": _WAIT, "WAKE": _WAKE}
    found |= {"LOOKS": _LOOKS, "LOOKS_FOR_END": _LOOKS_FOR_END, "PATIENCE_NS": _PATIENCE_NS}
    rest = "call void @llvm.x86.sse2.pause()" if is_x86 else ""
    return {name: str(value) for name, value in found.items()} | {"REST": rest}


HANDOVER = r"""
declare i64 @syscall(i64, ...)

define internal void @wake(ptr %box) noinline #0 {
  %woken = call i64 (i64, ...) @syscall(i64 $FUTEX$, ptr %box, i64 $WAKE$, i64 1, ptr null,
                                        ptr null, i64 0)
  ret void
}

define internal void @make(ptr %call) noinline #0 {
  %fp = getelementptr i64, ptr %call, i64 $L_FUNCTION$
  %function = load ptr, ptr %fp
  %cp = getelementptr i64, ptr %call, i64 $L_CONTEXT$
  %context = load ptr, ptr %cp
  %wp = getelementptr i64, ptr %call, i64 $L_WORK$
  %work = load ptr, ptr %wp
  %answer = call i64 %function(ptr %context, ptr %work, i64 0)
  %ap = getelementptr i64, ptr %call, i64 $L_ANSWER$
  store i64 %answer, ptr %ap
  ret void
}

define i64 @serve(ptr %box, ptr %unused, i64 %none) #0 {
entry:
  call void @take_short_turns()
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ 0, %ended ], [ 0, %slept ], [ 0, %missed ], [ %j, %again ]
  %state = load atomic i32, ptr %box acquire, align 4
  %posted = icmp eq i32 %state, $X_POSTED$
  br i1 %posted, label %take, label %again
again:
  $REST$
  %j = add i64 %i, 1
  %enough = icmp eq i64 %j, $LOOKS$
  br i1 %enough, label %rests, label %look
rests:
  %pair = cmpxchg ptr %box, i32 $X_EMPTY$, i32 $X_ASLEEP$ seq_cst seq_cst
  %now = extractvalue { i32, i1 } %pair, 0
  %other = icmp eq i32 %now, $X_POSTED$
  br i1 %other, label %take, label %sleep
sleep:
  %slept.for = call i64 (i64, ...) @syscall(i64 $FUTEX$, ptr %box, i64 $WAIT$, i64 $X_ASLEEP$,
                                            ptr null, ptr null, i64 0)
  br label %slept
slept:
  br label %look
take:
  %pp = getelementptr i64, ptr %box, i64 $B_PROCESSOR$
  %asking = load atomic i64, ptr %pp monotonic, align 8
  call void @leave(i64 %asking)
  %taken.pair = cmpxchg ptr %box, i32 $X_POSTED$, i32 $X_RUNNING$ seq_cst seq_cst
  %taken = extractvalue { i32, i1 } %taken.pair, 1
  br i1 %taken, label %run, label %missed
missed:
  br label %look
run:
  %lp = getelementptr i64, ptr %box, i64 $B_CALL$
  %call = load ptr, ptr %lp
  call void @make(ptr %call)
  %before = atomicrmw xchg ptr %box, i32 $X_EMPTY$ seq_cst
  %awaited = icmp eq i32 %before, $X_AWAITED$
  br i1 %awaited, label %tell, label %ended
tell:
  call void @wake(ptr %box)
  br label %ended
ended:
  br label %look
}

define internal i1 @has_ended(ptr %box) noinline #0 {
entry:
  %pair = cmpxchg ptr %box, i32 $X_POSTED$, i32 $X_EMPTY$ seq_cst seq_cst
  %back = extractvalue { i32, i1 } %pair, 1
  br i1 %back, label %yes, label %look
look:
  %i = phi i64 [ 0, %entry ], [ %j, %again ]
  %state = load atomic i32, ptr %box acquire, align 4
  %running = icmp uge i32 %state, $X_RUNNING$
  br i1 %running, label %again, label %yes
again:
  $REST$
  %j = add i64 %i, 1
  %enough = icmp eq i64 %j, $LOOKS_FOR_END$
  br i1 %enough, label %await, label %look
await:
  %awaits = cmpxchg ptr %box, i32 $X_RUNNING$, i32 $X_AWAITED$ seq_cst seq_cst
  %was = extractvalue { i32, i1 } %awaits, 0
  %runs = icmp uge i32 %was, $X_RUNNING$
  br i1 %runs, label %sleep, label %yes
sleep:
  %time = alloca [2 x i64]
  store i64 0, ptr %time
  %ns = getelementptr i64, ptr %time, i64 1
  store i64 $PATIENCE_NS$, ptr %ns
  %slept.for = call i64 (i64, ...) @syscall(i64 $FUTEX$, ptr %box, i64 $WAIT$, i64 $X_AWAITED$,
                                            ptr %time, ptr null, i64 0)
  %then = load atomic i32, ptr %box acquire, align 4
  %still = icmp uge i32 %then, $X_RUNNING$
  br i1 %still, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

define i64 @settle(ptr %boxes, ptr %unused, i64 %n) #0 {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %out, label %body
body:
  %bp = getelementptr ptr, ptr %boxes, i64 %i
  %box = load ptr, ptr %bp
  %ended = call i1 @has_ended(ptr %box)
  br i1 %ended, label %next, label %out
next:
  %j = add i64 %i, 1
  br label %head
out:
  %left = sub i64 %n, %i
  ret i64 %left
}

define i64 @lead(ptr %boxes, ptr %calls, i64 %n) #0 {
entry:
  %here = call i64 @processor()
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %run, label %body
body:
  %j = add i64 %i, 1
  %at = mul i64 %j, $L_SIZE$
  %call = getelementptr i64, ptr %calls, i64 %at
  %ap = getelementptr i64, ptr %call, i64 $L_ANSWER$
  store i64 0, ptr %ap
  %bp = getelementptr ptr, ptr %boxes, i64 %i
  %box = load ptr, ptr %bp
  %lp = getelementptr i64, ptr %box, i64 $B_CALL$
  store ptr %call, ptr %lp
  %pp = getelementptr i64, ptr %box, i64 $B_PROCESSOR$
  store atomic i64 %here, ptr %pp monotonic, align 8
  %before = atomicrmw xchg ptr %box, i32 $X_POSTED$ seq_cst
  %asleep = icmp eq i32 %before, $X_ASLEEP$
  br i1 %asleep, label %rouse, label %next
rouse:
  call void @wake(ptr %box)
  br label %next
next:
  br label %head
run:
  call void @make(ptr %calls)
  %left = call i64 @settle(ptr %boxes, ptr null, i64 %n)
  ret i64 %left
}
"""
"""Helpers and those who ask them; what they tell each other is in boxes (`Box`, `BoxState`).

- `wake` wakes the thread that sleeps on a box, `make` makes a call and notes its answer.
- `serve` is the whole life of a helper, and does not return. It looks into its box for a call, and
  sleeps when it has looked in vain. Before it takes a call it leaves the processor of who asks; a
  call that was taken back meanwhile is none. If somebody sleeps until the call's end, it wakes
  them.
- `has_ended` takes a call back that nobody has taken; else it waits for the end, but sleeps no
  longer than `_PATIENCE_NS`, since Python has to look for signals. It returns whether the call is
  over.
- `settle` waits for the ends of `n` calls in turn, and returns how many may still be running.
- `lead` gives `n` boxes a call each, makes the first of the `n + 1` calls itself, and settles.
"""
