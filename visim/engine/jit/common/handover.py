"""How native code hands calls to other threads: boxes with futexes, in LLVM IR.

A call that nobody has taken when the others have ended is taken back, so that a launch never waits
for a thread that gets no processor. So a thread leaves the processor of who asks it (`placing`)
before it takes the call. Who looks for something looks only for some microseconds before the
operating system lets it sleep: longer looks take the time from somebody. Only while calls follow
each other within 50 us threads look that long for the next one.

Calls that are done in less time than waking a thread takes are *small*: they are given to threads
that are awake, and wake others only if they follow each other quickly.
"""

from __future__ import annotations

from visim.engine.jit.layout import Box, BoxState, Call, Gang
from visim.engine.jit.targets import Machine

_WAIT, _WAKE = 128, 129
"""FUTEX_WAIT and FUTEX_WAKE, among the threads of one process."""
_LOOKS = 150
"""How often a thread looks before it sleeps, each time a processor's pause (some 20 ns)."""
_LOOKS_FOR_END = 2000
"""How often a thread looks whether another one has ended before it sleeps: for as long as sleeping
and waking take. Those that share groups end within such times of each other."""
_PATIENCE_NS = 20_000_000
"""After so long Python looks whether signals have come."""
_QUICK_NS = 50_000
"""Calls follow each other quickly if no more time is between them."""
_STREAK = 3
"""After so many that did, threads look for the next one for that time before they sleep: sleeping
and waking take as long as the call. Small calls wake threads only then."""
_LATE_NS = 200_000
"""Who waits longer for the end of small calls waits for a thread that has lost its processor."""
_ALONE = 1000
"""So many small calls are made by one thread after that."""


def handover_numbers(machine: Machine) -> dict[str, str]:
    """Return the numbers that `HANDOVER` has by name."""
    found = {f"B_{field.name}": int(field) for field in Box}
    found |= {f"L_{field.name}": int(field) for field in Call}
    found |= {f"G_{field.name}": int(field) for field in Gang}
    found |= {f"X_{state.name}": int(state) for state in BoxState}
    found |= {"FUTEX": machine.calls.futex, "WAIT": _WAIT, "WAKE": _WAKE}
    found |= {"LOOKS": _LOOKS, "LOOKS_FOR_END": _LOOKS_FOR_END, "PATIENCE_NS": _PATIENCE_NS}
    found |= {"QUICK_NS": _QUICK_NS, "STREAK": _STREAK, "LATE_NS": _LATE_NS, "ALONE": -_ALONE}
    return {name: str(value) for name, value in found.items()} | {"REST": machine.rest}


HANDOVER = r"""
declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare i32 @memcmp(ptr, ptr, i64)

define internal i64 @now() noinline #0 {
  %time = alloca [2 x i64]
  %failed = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %np = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %np
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

define internal void @follow(ptr %gang) noinline #0 {
entry:
  %mask = alloca [$MASK_BYTES$ x i8], align 8
  %failed = call i32 @sched_getaffinity(i32 0, i64 $MASK_BYTES$, ptr %mask)
  %known = icmp eq i32 %failed, 0
  %set = getelementptr i64, ptr %gang, i64 $G_PROCESSORS$
  br i1 %known, label %compare, label %out
compare:
  %differs = call i32 @memcmp(ptr %mask, ptr %set, i64 $MASK_BYTES$)
  %same = icmp eq i32 %differs, 0
  br i1 %same, label %out, label %note
note:
  call void @llvm.memcpy.p0.p0.i64(ptr %set, ptr %mask, i64 $MASK_BYTES$, i1 false)
  %boxes = load ptr, ptr %gang
  %count.at = getelementptr i64, ptr %gang, i64 $G_COUNT$
  %count = load i64, ptr %count.at
  br label %head
head:
  %i = phi i64 [ 0, %note ], [ %j, %body ]
  %end = icmp eq i64 %i, %count
  br i1 %end, label %out, label %body
body:
  %j = add i64 %i, 1
  %bp = getelementptr ptr, ptr %boxes, i64 %i
  %box = load ptr, ptr %bp
  %tp = getelementptr i64, ptr %box, i64 $B_THREAD$
  %thread = load i64, ptr %tp
  %number = trunc i64 %thread to i32
  %refused = call i32 @sched_setaffinity(i32 %number, i64 $MASK_BYTES$, ptr %mask)
  br label %head
out:
  ret void
}

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
  %i = phi i64 [ 0, %entry ], [ 0, %ended ], [ 0, %slept ], [ 0, %missed ], [ %j, %again ],
               [ 0, %waits ]
  %until = phi i64 [ 0, %entry ], [ 0, %ended ], [ 0, %slept ], [ 0, %missed ], [ %until, %again ],
                   [ %until.now, %waits ]
  %state = load atomic i32, ptr %box acquire, align 4
  %posted = icmp eq i32 %state, $X_POSTED$
  br i1 %posted, label %take, label %again
again:
  $REST$
  %j = add i64 %i, 1
  %enough = icmp eq i64 %j, $LOOKS$
  br i1 %enough, label %tires, label %look
tires:
  %patience.at = getelementptr i64, ptr %box, i64 $B_PATIENCE$
  %patience = load atomic i64, ptr %patience.at monotonic, align 8
  %is.patient = icmp ne i64 %patience, 0
  br i1 %is.patient, label %waits, label %rests
waits:
  %time = call i64 @now()
  %is.first = icmp eq i64 %until, 0
  %last = add i64 %time, %patience
  %until.now = select i1 %is.first, i64 %last, i64 %until
  %before.end = icmp slt i64 %time, %until.now
  %its.processor = getelementptr i64, ptr %box, i64 $B_PROCESSOR$
  %taken.one = load atomic i64, ptr %its.processor monotonic, align 8
  %here = call i64 @processor()
  %is.elsewhere = icmp ne i64 %here, %taken.one
  %goes.on = and i1 %before.end, %is.elsewhere
  br i1 %goes.on, label %look, label %rests
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

define i64 @settle(ptr %gang, ptr %unused, i64 %n) #0 {
entry:
  %boxes = load ptr, ptr %gang
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

define i64 @lead(ptr %gang, ptr %calls, i64 %n) #0 {
entry:
  %boxes = load ptr, ptr %gang
  call void @follow(ptr %gang)
  %here = call i64 @processor()
  %began = call i64 @now()
  %ended.at = getelementptr i64, ptr %gang, i64 $G_ENDED$
  %ended.before = load i64, ptr %ended.at
  %gap = sub i64 %began, %ended.before
  %quick = icmp ult i64 %gap, $QUICK_NS$
  %streak.at = getelementptr i64, ptr %gang, i64 $G_STREAK$
  %streak.before = load i64, ptr %streak.at
  %streak.more = add i64 %streak.before, 1
  %streak.new = call i64 @llvm.smin.i64(i64 %streak.more, i64 0)
  %streak = select i1 %quick, i64 %streak.more, i64 %streak.new
  store i64 %streak, ptr %streak.at
  %lasts = icmp sge i64 %streak, $STREAK$
  %patience = select i1 %lasts, i64 $QUICK_NS$, i64 0
  %small.at = getelementptr i64, ptr %calls, i64 $L_SMALL$
  %small.field = load i64, ptr %small.at
  %small = icmp ne i64 %small.field, 0
  %shuns = icmp slt i64 %streak, 0
  %alone = and i1 %small, %shuns
  %new = xor i1 %lasts, true
  %spares = and i1 %small, %new
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
  %state = load atomic i32, ptr %box monotonic, align 4
  %sleeps = icmp eq i32 %state, $X_ASLEEP$
  %spared = and i1 %sleeps, %spares
  %left.alone = or i1 %spared, %alone
  br i1 %left.alone, label %next, label %ask
ask:
  %lp = getelementptr i64, ptr %box, i64 $B_CALL$
  store ptr %call, ptr %lp
  %pp = getelementptr i64, ptr %box, i64 $B_PROCESSOR$
  store atomic i64 %here, ptr %pp monotonic, align 8
  %patience.at = getelementptr i64, ptr %box, i64 $B_PATIENCE$
  store atomic i64 %patience, ptr %patience.at monotonic, align 8
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
  %made = call i64 @now()
  %left = call i64 @settle(ptr %gang, ptr null, i64 %n)
  %ended = call i64 @now()
  store i64 %ended, ptr %ended.at
  %took = sub i64 %ended, %made
  %late = icmp sgt i64 %took, $LATE_NS$
  %hindered = and i1 %small, %late
  br i1 %hindered, label %shun, label %out
shun:
  store i64 $ALONE$, ptr %streak.at
  br label %out
out:
  ret i64 %left
}
"""
"""Helpers and those who ask them; what they tell each other is in boxes (`Box`, `BoxState`).

- `wake` wakes the thread that sleeps on a box, `make` makes a call and notes its answer.
- `follow` lets the threads of a gang run where that one may run which leads it.
- `now` is a time in nanoseconds.
- `serve` is the whole life of a helper, and does not return. It looks into its box for a call, and
  sleeps when it has looked in vain: at once if it is on the processor of who asked last, else after
  the time that the box says. Before it takes a call it leaves the processor of who asks; a
  call that was taken back meanwhile is none. If somebody sleeps until the call's end, it wakes
  them.
- `has_ended` takes a call back that nobody has taken; else it waits for the end, but sleeps no
  longer than `_PATIENCE_NS`, since Python has to look for signals. It returns whether the call is
  over.
- `settle` waits for the ends of `n` calls in turn, and returns how many may still be running.
- `lead` gives `n` boxes a call each, makes the first of the `n + 1` calls itself, and settles. It
  counts how often calls have followed each other quickly (`Gang`). Where it had to wait for small
  ones it makes the next thousand of them alone.
"""
