"""Blocks of flat memory that end a little behind an allocation, in code that all kernels share.

Compilers load three elements that all channels share as four: what such a block has behind the
end is 0 (`visim.machine.memory`). Small arrays, such as the constants of a program, are read so
by each thread.
"""

from __future__ import annotations

from visim.machine.allocations import PADDING

PADDED = f"""
define i1 @visim_padded(ptr %ctx, i64 %address, ptr %to, i64 %wanted) #0 {{
entry:
  %tp = getelementptr i64, ptr %ctx, i64 $C_TABLE$
  %table = load ptr, ptr %tp
  %np = getelementptr i64, ptr %ctx, i64 $C_TABLE_ENTRIES$
  %n = load i64, ptr %np
  br label %search
search:
  %i = phi i64 [ 0, %entry ], [ %j, %look ]
  %held = phi i64 [ 0, %entry ], [ %held.now, %look ]
  %all = icmp eq i64 %i, %n
  br i1 %all, label %searched, label %look
look:
  %byte = mul i64 %i, $ENTRY$
  %ep = getelementptr i8, ptr %table, i64 %byte
  %start = load i64, ptr %ep
  %sp = getelementptr i64, ptr %ep, i64 1
  %bytes = load i64, ptr %sp
  %offset = sub i64 %address, %start
  %rest = call i64 @llvm.usub.sat.i64(i64 %bytes, i64 %offset)
  %held.now = call i64 @llvm.umax.i64(i64 %rest, i64 %held)
  %j = add i64 %i, 1
  br label %search
searched:
  %begins = icmp ne i64 %held, 0
  %behind = sub i64 %wanted, %held
  %behind.less = sub i64 %behind, 1
  %near = icmp ult i64 %behind.less, {PADDING - 1}
  %well = and i1 %begins, %near
  br i1 %well, label %copy, label %out
copy:
  call void @add_up(ptr %ctx)
  %from = inttoptr i64 %address to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %held, i1 false)
  %end = getelementptr i8, ptr %to, i64 %held
  call void @llvm.memset.p0.i64(ptr %end, i8 0, i64 %behind, i1 false)
  br label %out
out:
  ret i1 %well
}}
"""
"""Loads a block that no allocation holds as a whole, and returns whether it could: it has to begin
in one and end less than `PADDING` bytes behind it. What was tallied is added up before."""
