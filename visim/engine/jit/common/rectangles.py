"""2D blocks that are not wholly inside of their surface, in code that all kernels share.

Kernels move what is inside of the surface by rows themselves. At its edges, and where a message
has not been before, this moves the part that is inside between memory and the exchange area, where
the rows of the whole block stand one after another; what is outside of the surface is 0 there.
"""

from __future__ import annotations

RECTANGLE_TYPES = "ptr, ptr, ptr, ptr, i64, i64, i64, i1, i1"
"""What `visim_rectangle` takes: the context, what the message remembers, the six numbers that say
where the block is (`sem.effects.Rectangle.numbers`, which get lost), the block's rows; the bytes of
a row, the number of rows, the bytes of an element; whether it stores, whether memory is checked."""

RECTANGLES = """
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

define i1 @visim_rectangle(ptr %ctx, ptr %cache, ptr %numbers, ptr %data, i64 %row, i64 %rows,
                           i64 %size, i1 %stores, i1 %checked) #0 {
entry:
  %base = load i64, ptr %numbers
  %width.at = getelementptr i64, ptr %numbers, i64 1
  %width = load i64, ptr %width.at
  %height.at = getelementptr i64, ptr %numbers, i64 2
  %height = load i64, ptr %height.at
  %pitch.at = getelementptr i64, ptr %numbers, i64 3
  %pitch = load i64, ptr %pitch.at
  %x.at = getelementptr i64, ptr %numbers, i64 4
  %x = load i64, ptr %x.at
  %y.at = getelementptr i64, ptr %numbers, i64 5
  %y = load i64, ptr %y.at
  br i1 %stores, label %clip, label %clear
clear:
  %bytes = mul i64 %row, %rows
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  br label %clip
clip:
  %before = mul i64 %x, %size
  %before.less = sub i64 0, %before
  %left = call i64 @llvm.smax.i64(i64 %before.less, i64 0)
  %width.all = add i64 %width, 1
  %size.less = sub i64 0, %size
  %width.whole = and i64 %width.all, %size.less
  %width.rest = sub i64 %width.whole, %before
  %right = call i64 @llvm.smin.i64(i64 %width.rest, i64 %row)
  %y.less = sub i64 0, %y
  %upper = call i64 @llvm.smax.i64(i64 %y.less, i64 0)
  %height.all = add i64 %height, 1
  %height.rest = sub i64 %height.all, %y
  %lower = call i64 @llvm.smin.i64(i64 %height.rest, i64 %rows)
  %has.columns = icmp slt i64 %left, %right
  %has.rows = icmp slt i64 %upper, %lower
  %has.any = and i1 %has.columns, %has.rows
  br i1 %has.any, label %place, label %good
place:
  %first.row = add i64 %y, %upper
  %first.away = mul i64 %first.row, %pitch
  %first.byte = add i64 %before, %left
  %first.at = add i64 %first.away, %first.byte
  %first = add i64 %base, %first.at
  %held = sub i64 %right, %left
  %count = sub i64 %lower, %upper
  %count.less = sub i64 %count, 1
  %last.away = mul i64 %count.less, %pitch
  %behind = add i64 %last.away, %held
  %span = sub i64 %behind, 1
  %skipped = mul i64 %upper, %row
  %begin = add i64 %skipped, %left
  br i1 %checked, label %test, label %copy
test:
  %again = phi i1 [ false, %place ], [ true, %find ]
  %start = load i64, ptr %cache
  %limit.at = getelementptr i64, ptr %cache, i64 1
  %limit = load i64, ptr %limit.at
  %offset = sub i64 %first, %start
  %end = add i64 %offset, %span
  %begins = icmp ult i64 %offset, %limit
  %ends = icmp ult i64 %end, %limit
  %inside = and i1 %begins, %ends
  br i1 %inside, label %copy, label %other
other:
  br i1 %again, label %bad, label %find
find:
  store i64 %first, ptr %numbers
  %stores.wide = zext i1 %stores to i64
  %known = call i1 @visim_flat_check(ptr %ctx, ptr %cache, ptr %numbers, i64 1, i64 1,
                                     i64 %stores.wide, i64 0)
  br i1 %known, label %test, label %bad
copy:
  %i = phi i64 [ 0, %place ], [ 0, %test ], [ %next, %copy ]
  %away = mul i64 %i, %pitch
  %there.at = add i64 %first, %away
  %there = inttoptr i64 %there.at to ptr
  %down = mul i64 %i, %row
  %here.at = add i64 %begin, %down
  %here = getelementptr i8, ptr %data, i64 %here.at
  %to = select i1 %stores, ptr %there, ptr %here
  %from = select i1 %stores, ptr %here, ptr %there
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %held, i1 false)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %copy, label %good
good:
  ret i1 true
bad:
  ret i1 false
}
"""
"""Moves a block's part that is inside; returns false where it is not all in one allocation."""
