"""Code that tallies: what `tallies` says, in native code that all kernels share."""

from __future__ import annotations

OTHER = 1
"""In place of a message's offset: it does not add. Offsets are multiples of four."""

_FIELD = """
  %$N$.at = getelementptr i64, ptr %ctx, i64 $C_$F$$
  %$N$ = load $T$, ptr %$N$.at
"""


def _fields(**names: str) -> str:
    """Return code that reads fields of the context; those with a star are pointers."""
    return "".join(
        _FIELD.replace("$N$", name)
        .replace("$F$", field.removesuffix("*"))
        .replace("$T$", "ptr" if field.endswith("*") else "i64")
        for name, field in names.items()
    )


_ADD_UP = f"""
define internal void @add_up(ptr %ctx) noinline #0 {{
entry:
{_fields(bytes="TALLY_BYTES", start="TALLY_START*", copy="TALLY_COPY*")}
  %nothing = icmp eq i64 %bytes, 0
  br i1 %nothing, label %out, label %four
four:
  %at = phi i64 [ 0, %entry ], [ %next, %four.done ]
  %from = getelementptr i8, ptr %copy, i64 %at
  %sums = load <4 x i32>, ptr %from, align 16
  %whole = bitcast <4 x i32> %sums to i128
  %none = icmp eq i128 %whole, 0
  br i1 %none, label %four.done, label %one
one:
  %byte = phi i64 [ %at, %four ], [ %byte.next, %one.done ]
  %one.from = getelementptr i8, ptr %copy, i64 %byte
  %sum = load i32, ptr %one.from, align 4
  %zero = icmp eq i32 %sum, 0
  br i1 %zero, label %one.done, label %add
add:
  %to = getelementptr i8, ptr %start, i64 %byte
  %before = atomicrmw add ptr %to, i32 %sum seq_cst, align 4
  store i32 0, ptr %one.from, align 4
  br label %one.done
one.done:
  %byte.next = add i64 %byte, 4
  %within = and i64 %byte.next, 15
  %more = icmp ne i64 %within, 0
  br i1 %more, label %one, label %four.done
four.done:
  %next = add i64 %at, 16
  %rest = icmp ult i64 %next, %bytes
  br i1 %rest, label %four, label %out
out:
  ret void
}}
"""
"""Adds what was tallied so far, and begins anew."""

_MEET = f"""
define internal void @meet(ptr %ctx, ptr %cache, i64 %base) noinline #0 {{
entry:
{_fields(room="TALLY_ROOM", offsets="TALLIES*", sites="TALLY_SITES", caches="CACHE")}
  %never = icmp eq i64 %room, 0
  br i1 %never, label %out, label %look
look:
  %place = ptrtoint ptr %cache to i64
  %byte = sub i64 %place, %caches
  %site = udiv i64 %byte, $CACHE_ENTRY$
  %offset.at = getelementptr i64, ptr %offsets, i64 %site
  %offset = load i64, ptr %offset.at
  %other = icmp eq i64 %offset, {OTHER}
  br i1 %other, label %compare, label %adds
adds:
  store i64 0, ptr %offset.at
  br label %out
compare:
{_fields(bytes="TALLY_BYTES", start="TALLY_START")}
  %away = sub i64 %base, %start
  %ends = icmp ult i64 %away, %bytes
  br i1 %ends, label %end, label %out
end:
  call void @add_up(ptr %ctx)
  store i64 0, ptr %bytes.at
  br label %site.i
site.i:
  %i = phi i64 [ 0, %end ], [ %j, %site.next ]
  %known.at = getelementptr i64, ptr %offsets, i64 %i
  %known = load i64, ptr %known.at
  %keeps = icmp eq i64 %known, {OTHER}
  br i1 %keeps, label %site.next, label %reset
reset:
  store i64 0, ptr %known.at
  br label %site.next
site.next:
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %sites
  br i1 %more, label %site.i, label %out
out:
  ret void
}}
"""
"""Notes that the message of a cache has met the allocation at `%base`: if it adds it has no offset
there yet, else a tally of that allocation ends."""

_APART = f"""
define internal i1 @is_apart(ptr %ctx, i64 %start, i64 %bytes) noinline #0 {{
entry:
{_fields(table="TABLE*", entries="TABLE_ENTRIES", offsets="TALLIES*", sites="TALLY_SITES")}
{_fields(caches="CACHE*", surfaces="SURFACES*", reached="TALLY_SURFACES*")}
  %end = add i64 %start, %bytes
  br label %flat
flat:
  %i = phi i64 [ 0, %entry ], [ %i.next, %flat ]
  %many = phi i64 [ 0, %entry ], [ %many.now, %flat ]
  %flat.byte = mul i64 %i, $ENTRY$
  %flat.at = getelementptr i8, ptr %table, i64 %flat.byte
  %flat.hit = call i1 @overlaps(ptr %flat.at, i64 %start, i64 %end)
  %flat.one = zext i1 %flat.hit to i64
  %many.now = add i64 %many, %flat.one
  %i.next = add i64 %i, 1
  %flat.more = icmp ult i64 %i.next, %entries
  br i1 %flat.more, label %flat, label %flat.done
flat.done:
  %alone = icmp eq i64 %many.now, 1
  br i1 %alone, label %site, label %no
site:
  %s = phi i64 [ 0, %flat.done ], [ %s.next, %site.next ]
  %offset.at = getelementptr i64, ptr %offsets, i64 %s
  %offset = load i64, ptr %offset.at
  %cache.byte = mul i64 %s, $CACHE_ENTRY$
  %cache = getelementptr i8, ptr %caches, i64 %cache.byte
  %base = load i64, ptr %cache
  %other = icmp eq i64 %offset, {OTHER}
  %away = sub i64 %base, %start
  %same = icmp ult i64 %away, %bytes
  %reads = and i1 %other, %same
  br i1 %reads, label %no, label %site.next
site.next:
  %s.next = add i64 %s, 1
  %site.more = icmp ult i64 %s.next, %sites
  br i1 %site.more, label %site, label %sites.done
sites.done:
  %count = load i64, ptr %reached
  br label %surface
surface:
  %left = phi i64 [ %count, %sites.done ], [ %rest, %surface.one ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %yes, label %surface.one
surface.one:
  %number.at = getelementptr i64, ptr %reached, i64 %left
  %number = load i64, ptr %number.at
  %rest = sub i64 %left, 1
  %surface.byte = mul i64 %number, $SURFACE_ENTRY$
  %surface.at = getelementptr i8, ptr %surfaces, i64 %surface.byte
  %hit = call i1 @overlaps(ptr %surface.at, i64 %start, i64 %end)
  br i1 %hit, label %no, label %surface
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal i1 @overlaps(ptr %entry, i64 %start, i64 %end) alwaysinline #0 {{
  %first = load i64, ptr %entry
  %size.at = getelementptr i64, ptr %entry, i64 1
  %size = load i64, ptr %size.at
  %last = add i64 %first, %size
  %before = icmp ult i64 %first, %end
  %behind = icmp ult i64 %start, %last
  %both = and i1 %before, %behind
  ret i1 %both
}}
"""
"""Whether no other allocation, message or surface that is known reaches an allocation."""

_TALLY = f"""
define void @visim_tally(ptr %ctx, i64 %site) #0 {{
entry:
{_fields(room="TALLY_ROOM", offsets="TALLIES*", caches="CACHE*", copy="TALLY_COPY")}
{_fields(bytes="TALLY_BYTES", start="TALLY_START", table="TABLE*", entries="TABLE_ENTRIES")}
  %never = icmp eq i64 %room, 0
  br i1 %never, label %out, label %look
look:
  %offset.at = getelementptr i64, ptr %offsets, i64 %site
  %cache.byte = mul i64 %site, $CACHE_ENTRY$
  %cache = getelementptr i8, ptr %caches, i64 %cache.byte
  %base = load i64, ptr %cache
  %away = sub i64 %copy, %base
  %idle = icmp eq i64 %bytes, 0
  br i1 %idle, label %find, label %busy
busy:
  %same = icmp eq i64 %base, %start
  br i1 %same, label %go, label %out
find:
  %i = phi i64 [ 0, %look ], [ %j, %find.next ]
  %all = icmp eq i64 %i, %entries
  br i1 %all, label %out, label %entry.i
entry.i:
  %byte = mul i64 %i, $ENTRY$
  %first.at = getelementptr i8, ptr %table, i64 %byte
  %first = load i64, ptr %first.at
  %size.at = getelementptr i64, ptr %first.at, i64 1
  %size = load i64, ptr %size.at
  %found = icmp eq i64 %first, %base
  br i1 %found, label %suits, label %find.next
find.next:
  %j = add i64 %i, 1
  br label %find
suits:
  %small = icmp ule i64 %size, %room
  %odd = and i64 %base, 3
  %even = icmp eq i64 %odd, 0
  %fit = and i1 %small, %even
  br i1 %fit, label %ask, label %out
ask:
  %apart = call i1 @is_apart(ptr %ctx, i64 %base, i64 %size)
  br i1 %apart, label %begin, label %out
begin:
  store i64 %base, ptr %start.at
  store i64 %size, ptr %bytes.at
  br label %go
go:
  store i64 %away, ptr %offset.at
  br label %out
out:
  ret void
}}
"""
"""Begins the tally of a message at the allocation that it has met, where that can be."""

TALLYING = _ADD_UP + _MEET + _APART + _TALLY
"""What kernels share of it; `scheduler` puts the numbers of fields in."""
