"""Groups in native code: taking the next ones, clearing the memory that their threads start with.

`scheduler` puts the numbers of fields in, and makes a function of each way to run threads. Those
that run directly are started by their kernel's own code (`payload`), a row of groups at a time.
"""

from __future__ import annotations

STARTING = r"""
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

define void @visim_clear_memory(ptr %work, ptr %thread) #0 {
entry:
  %ibp = getelementptr i64, ptr %work, i64 $W_IMAGE_BYTES$
  %bytes = load i64, ptr %ibp
  %has.image = icmp ne i64 %bytes, 0
  br i1 %has.image, label %copy, label %copied
copy:
  %image = load ptr, ptr %thread
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
  br i1 %has.scratch, label %clear.scratch, label %out
clear.scratch:
  %sp = getelementptr i64, ptr %thread, i64 $T_SCRATCH$
  %scratch = load ptr, ptr %sp
  call void @llvm.memset.p0.i64(ptr %scratch, i8 0, i64 %scratch.bytes, i1 false)
  br label %out
out:
  ret void
}
"""
"""What happens when threads start and end.

- `note` adds the instructions that a thread has executed to those of the range of groups.
- `started` adds to the threads that the range has started.
- `visim_clear_memory` gives a thread the memory that it starts with: registers as its template has
  them, private and scratch memory zero.
"""

TELL = r"""
define internal i1 @tell(ptr %ctx, ptr %records, i64 %what, i64 %number) alwaysinline #0 {
entry:
  %wp = getelementptr i64, ptr %ctx, i64 $C_WATCHED$
  %watched = load i64, ptr %wp
  %nobody = icmp eq i64 %watched, 0
  br i1 %nobody, label %on, label %ask
ask:
  %record = load ptr, ptr %records
  %answer = call i32 @visim_ask(ptr %ctx, ptr %record, i64 %what, i64 %number, i64 0)
  %well = icmp eq i32 %answer, 0
  ret i1 %well
on:
  ret i1 true
}
"""
"""`tell` tells observers, if there are any, that a group begins or that a turn has ended.

It returns whether the run goes on.
"""

GROUPS = r"""
define i64 @run_groups_$WAY$(ptr %ctx, ptr %work, i64 %unused) #0 {
entry:
  %np = getelementptr i64, ptr %work, i64 $W_NUMBERS$
  %numbers = load ptr, ptr %np
  %chp = getelementptr i64, ptr %work, i64 $W_CHUNK$
  %chunk = load i64, ptr %chp
  %lep = getelementptr i64, ptr %work, i64 $W_LEAST$
  %least = load i64, ptr %lep
  %sap = getelementptr i64, ptr %work, i64 $W_SHARES$
  %shares = load i64, ptr %sap
  %shp = getelementptr i64, ptr %work, i64 $W_SHARED$
  %shared = load ptr, ptr %shp
  %op = getelementptr i64, ptr %work, i64 $W_OWN$
  %own = load i64, ptr %op
  %ptp = getelementptr i64, ptr %work, i64 $W_PARTS$
  %parts = load i64, ptr %ptp
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
  %plp = getelementptr i64, ptr %work, i64 $W_ALL_PLACES$
  %all.places = load i64, ptr %plp
  %xpp = getelementptr i64, ptr %work, i64 $W_ROW_PLACES$
  %row.places = load i64, ptr %xpp
  %donep = getelementptr i64, ptr %work, i64 $W_DONE_GROUPS$
  %ctp = getelementptr i64, ptr %ctx, i64 $C_THREADS$
  store i64 %threads, ptr %ctp
  %at = alloca [3 x i64]
  %aty = getelementptr i64, ptr %at, i64 1
  %atz = getelementptr i64, ptr %at, i64 2
  %tgp = getelementptr i64, ptr %work, i64 $W_TOGETHER$
  %together.field = load i64, ptr %tgp
  %together = icmp ne i64 %together.field, 0
  br label %part
part:
  %part.now = phi i64 [ %own, %entry ], [ %part.after, %other ]
  %seen = phi i64 [ 0, %entry ], [ %seen.now, %other ]
  %row.left = phi i64 [ $NO_ROW$, %entry ], [ %row.before, %other ]
  %part.word = mul i64 %part.now, $P_SIZE$
  %part.place = add i64 %part.word, $H_PARTS$
  %part.at = getelementptr i64, ptr %shared, i64 %part.place
  %part.end.at = getelementptr i64, ptr %part.at, i64 $P_END$
  %part.end = load i64, ptr %part.end.at
  br label %take
take:
  %row.before = phi i64 [ %row.left, %part ], [ %row.now, %head ]
  %end.now = load atomic i64, ptr %shared acquire, align 8
  %n = call i64 @llvm.umin.i64(i64 %part.end, i64 %end.now)
  %taken = load atomic i64, ptr %part.at monotonic, align 8
  %go = icmp ult i64 %taken, %n
  br i1 %go, label %chunk.take, label %other
chunk.take:
  %left = sub i64 %n, %taken
  %fair = udiv i64 %left, %shares
  %most.fair = call i64 @llvm.umin.i64(i64 %chunk, i64 %fair)
  %size = call i64 @llvm.umax.i64(i64 %most.fair, i64 %least)
  %first = atomicrmw add ptr %part.at, i64 %size monotonic, align 8
  %some = icmp ult i64 %first, %n
  br i1 %some, label %chunk.run, label %other
chunk.run:
  %limit = add i64 %first, %size
  %last = call i64 @llvm.umin.i64(i64 %limit, i64 %part.end)
  br label %head
other:
  %seen.now = add i64 %seen, 1
  %part.next = add i64 %part.now, 1
  %is.behind = icmp uge i64 %part.next, %parts
  %part.after = select i1 %is.behind, i64 0, i64 %part.next
  %all.seen = icmp uge i64 %seen.now, %parts
  br i1 %all.seen, label %good, label %part
head:
  %i = phi i64 [ %first, %chunk.run ], [ %j, %next ]
  %row.now = phi i64 [ %row.before, %chunk.run ], [ %row, %next ]
  %end = icmp eq i64 %i, %last
  br i1 %end, label %take, label %body
body:
  %number.p = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %number.p
  %same.x = sub i64 %number, %row.now
  %same = icmp ult i64 %same.x, %width
  br i1 %same, label %run, label %row.new
row.new:
  %row.number = udiv i64 %number, %width
  %row.first = mul i64 %row.number, %width
  %new.x = sub i64 %number, %row.first
  %y = urem i64 %row.number, %height
  %z = udiv i64 %row.number, %height
  %gy = add i64 %y, %fy
  %gz = add i64 %z, %fz
  store i64 %gy, ptr %aty
  store i64 %gz, ptr %atz
  br label %run
run:
  %count = phi i64 [ %row.places, %body ], [ %all.places, %row.new ]
  %row = phi i64 [ %row.now, %body ], [ %row.first, %row.new ]
  %x = phi i64 [ %same.x, %body ], [ %new.x, %row.new ]
  %gx = add i64 %x, %fx
  store i64 %gx, ptr %at
  %on = call i1 @tell(ptr %ctx, ptr %records, i64 $GROUP_BEGINS$, i64 %number)
  br i1 %on, label %start, label %good
start:
  $RUN$
  %done = load i64, ptr %donep
  %done.now = add i64 %done, %ran
  store i64 %done.now, ptr %donep
  %j = add i64 %i, %ran
  br i1 %wrong, label %bad, label %next
next:
  br label %head
good:
  call void @add_up(ptr %ctx)
  ret i64 0
bad:
  call void @add_up(ptr %ctx)
  %fgp = getelementptr i64, ptr %work, i64 $W_FAULT_GROUP$
  store i64 %j, ptr %fgp
  %end.before = atomicrmw umin ptr %shared, i64 %j release, align 8
  ret i64 %failed
}
"""
"""`run_groups_$WAY$` runs groups of a range until none is left or somebody has stopped the run.

At `take` a worker takes its next chunk of a part of the groups, its own one first. Launches that
follow each other on the same arrays find these in the worker's cache then; fetching half of 256 KB
from another processor's takes 30 us. Where a part is done the worker goes on to the `other`
ones. Within a row of groups only x changes; at `row.new` the other coordinates are computed from a
group's number. `$RUN$` runs the group, or several of its row: it leaves in `%ran` how many have
ended well, in `%wrong` and `%failed` whether the run fails, and how. Then no worker takes groups
behind that one. The answer is 0, or how the run has failed.
"""

RUN_STACKED = r"""
  %slmp = getelementptr i64, ptr %ctx, i64 $C_SLM$
  %slm = load ptr, ptr %slmp
  %slmbp = getelementptr i64, ptr %work, i64 $W_SLM_BYTES$
  %slm.bytes = load i64, ptr %slmbp
  %has.slm = icmp ne i64 %slm.bytes, 0
  br i1 %has.slm, label %clear, label %cleared
clear:
  call void @llvm.memset.p0.i64(ptr %slm, i8 0, i64 %slm.bytes, i1 false)
  br label %cleared
cleared:
  %failed = call i64 @run_group_stacked(ptr %ctx, ptr %work, ptr %records, i64 %threads, ptr %at,
                                        i64 %count)
  %wrong = icmp ne i64 %failed, 0
  %ran = select i1 %wrong, i64 0, i64 1
"""
"""A group runs on the stacks of its threads; before that its shared local memory is cleared."""

_ROW = r"""
  %row.rest = sub i64 %width, %x
  %chunk.rest = sub i64 %last, %i
  %rest = call i64 @llvm.umin.i64(i64 %row.rest, i64 %chunk.rest)
  %most = select i1 %together, i64 %rest, i64 1
  %at.y = load i64, ptr %aty
  %at.z = load i64, ptr %atz
  $CALL$
  %wrong = icmp ult i64 %ran, %most
  %failed = zext i1 %wrong to i64
"""
RUN_DIRECT = _ROW.replace(
    "$CALL$",
    """
  %kp = getelementptr i64, ptr %ctx, i64 $C_KERNEL$
  %kernel = load ptr, ptr %kp
  %ran = call i64 %kernel(ptr %ctx, ptr %work, i64 %gx, i64 %at.y, i64 %at.z, i64 %most)
""",
)
RUN_IN_STEP = _ROW.replace(
    "$CALL$",
    """
  %ran = call i64 @run_in_step(ptr %ctx, ptr %work, ptr %records, i64 %gx, i64 %at.y, i64 %at.z,
                               i64 %most)
""",
)
"""The kernel runs groups of a row, and says how many have ended well; if its threads go in step, on
stacks that can be put aside."""
