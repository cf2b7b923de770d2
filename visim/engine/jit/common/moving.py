"""Messages in their general form, in native code that all kernels share: any addresses, any mask.

What goes in and comes out lies in the exchange area of the worker: the channels' addresses (or
offsets) as 64-bit numbers, behind them the vectors of values. That is where the reference memory
finds it too, when native code has to ask for help. What is known of a message comes packed:
`%where` is its number, and in the upper half the byte of the exchange area for what it loads;
`%place` its program counter, and in the upper half its unit; `%form` is made by `packed_form`.

`scheduler` puts the numbers of fields in, and how threads run.
"""

from __future__ import annotations

_FLAT, _WRITES, _ALIGNED, _TOGETHER = 32, 33, 34, 40
FAILED, DONE, REACHED = 0, 1, 2
"""What looking for memory finds: a fault, that Python has done the message, where lanes are."""

PARAMETERS = (
    "ptr %ctx, ptr %thread, i64 %mask, i64 %where, i64 %place, i64 %form, i64 %start, "
    "i64 %limit, i64 %host, i64 %surface"
)
TYPES = "ptr, ptr, i64, i64, i64, i64, i64, i64, i64, i64"
"""What all functions here take, but for `visim_row`: as parameters and as what is passed on."""


def packed_form(
    size: int, parts: int, vector_bytes: int, *, flat: bool, writes: bool, aligned: bool
) -> int:
    """Return the form of a message.

    Args:
        size: the bytes of an element: 1, 2, 4 or 8.
        parts: how many elements each lane has.
        vector_bytes: the size of a vector of elements in the exchange area.
        flat: whether addresses are looked up among the allocations, and where they were last;
            then `%start` is the extent in which they have to be, 0: in any allocation.
        writes: whether the memory has to be writable.
        aligned: whether addresses have to be multiples of the size.
    """
    flags = flat << _FLAT | writes << _WRITES | aligned << _ALIGNED
    return size | parts << 8 | vector_bytes << 16 | flags


def together(lanes: int) -> int:
    """Return what a form has besides if so many lanes load the same: the first that is on does."""
    return lanes << _TOGETHER


_FORM = """
  %size = and i64 %form, 255
  %form.parts = lshr i64 %form, 8
  %parts = and i64 %form.parts, 255
  %form.vector = lshr i64 %form, 16
  %vector = and i64 %form.vector, 65535
  %reached.bytes = mul i64 %size, %parts
  %area.at = getelementptr i64, ptr %ctx, i64 $C_EXCHANGE$
  %area = load ptr, ptr %area.at
  %data = getelementptr i8, ptr %area, i64 $EXCHANGE_DATA$
"""
"""Takes a form apart, and finds the exchange area and the data in it. `%vector` is the distance
from one element of a lane to the next."""

_LANE = """
  br label %$N$.head
$N$.head:
  %$N$.left = phi i64 [ %mask, %$BEFORE$ ], [ %$N$.rest, %$N$.next ]
  %$N$.none = icmp eq i64 %$N$.left, 0
  br i1 %$N$.none, label %$END$, label %$N$.lane
$N$.lane:
  %$N$.number = call i64 @llvm.cttz.i64(i64 %$N$.left, i1 true)
  %$N$.less = sub i64 %$N$.left, 1
  %$N$.rest = and i64 %$N$.left, %$N$.less
  %$N$.at = getelementptr i64, ptr %area, i64 %$N$.number
  %$N$.address = load i64, ptr %$N$.at
"""
"""The begin of a loop over the lanes that are on, from the block `$BEFORE$` on: its body
follows, and ends with a jump to `$N$.next`, which jumps to `$N$.head`. Behind it comes `$END$`."""

_REACH = f"""
define preserve_mostcc i64 @visim_reach_$WAY$({PARAMETERS}) noinline #0 {{
entry:
{_FORM}
  %flat.bit = and i64 %form, {1 << _FLAT}
  %is.flat = icmp ne i64 %flat.bit, 0
  %writes.bit = lshr i64 %form, {_WRITES}
  %writes = and i64 %writes.bit, 1
  %aligned.bit = and i64 %form, {1 << _ALIGNED}
  %any.place = icmp eq i64 %aligned.bit, 0
  %size.less = sub i64 %size, 1
  %odd = select i1 %any.place, i64 0, i64 %size.less
  %site = and i64 %where, 4294967295
  %caches.at = getelementptr i64, ptr %ctx, i64 $C_CACHE$
  %caches = load ptr, ptr %caches.at
  %cache.byte = mul i64 %site, $CACHE_ENTRY$
  %cache = getelementptr i8, ptr %caches, i64 %cache.byte
  br i1 %is.flat, label %remembered, label %given
given:
  br label %begin
remembered:
  %last.start = load i64, ptr %cache
  %last.limit.at = getelementptr i64, ptr %cache, i64 1
  %last.limit = load i64, ptr %last.limit.at
  br label %begin
begin:
  %from = phi i64 [ %start, %given ], [ %last.start, %remembered ], [ 0, %look ]
  %to = phi i64 [ %limit, %given ], [ %last.limit, %remembered ], [ -1, %look ]
  %base = phi i64 [ %host, %given ], [ %last.start, %remembered ], [ 0, %look ]
{_LANE.replace("$N$", "test").replace("$BEFORE$", "begin").replace("$END$", "found")}
  %low = and i64 %test.address, %odd
  %even = icmp eq i64 %low, 0
  br i1 %even, label %range, label %ask, !prof !1
range:
  %offset = sub i64 %test.address, %from
  %inside = icmp ult i64 %offset, %to
  br i1 %inside, label %test.next, label %refused, !prof !1
test.next:
  br label %test.head
refused:
  br i1 %is.flat, label %look, label %ask
look:
  %known = call i1 @visim_flat_check(ptr %ctx, ptr %cache, ptr %area, i64 %mask,
                                     i64 %reached.bytes, i64 %writes, i64 %start)
  br i1 %known, label %begin, label %ask
found:
  %delta = sub i64 %base, %from
{_LANE.replace("$N$", "set").replace("$BEFORE$", "found").replace("$END$", "out")}
  %pointer = add i64 %set.address, %delta
  store i64 %pointer, ptr %set.at
  br label %set.next
set.next:
  br label %set.head
out:
  ret i64 {REACHED}
ask:
  %answer = call i32 @visim_host_$WAY$(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %surface)
  %well = icmp eq i32 %answer, 0
  br i1 %well, label %answered, label %fault
answered:
  ret i64 {DONE}
fault:
  %pc = and i64 %place, 4294967295
  %unit = lshr i64 %place, 32
  call void @fault(ptr %thread, i64 $MEMORY$, i64 %pc, i64 %unit)
  ret i64 {FAILED}
}}
"""
"""Looks where all lanes of a message are. What is beyond everything known Python does. Else the
lanes' addresses are replaced by those that the host has for them."""

_ELEMENT = """
  switch i64 %size, label %$N$.eight [i64 1, label %$N$.one
                                      i64 2, label %$N$.two
                                      i64 4, label %$N$.four]
$N$.one:
  %$N$.x1 = load i8, ptr $FROM$, align 1
  store i8 %$N$.x1, ptr $TO$, align 1
  br label %$N$.moved
$N$.two:
  %$N$.x2 = load i16, ptr $FROM$, align 1
  store i16 %$N$.x2, ptr $TO$, align 1
  br label %$N$.moved
$N$.four:
  %$N$.x4 = load i32, ptr $FROM$, align 1
  store i32 %$N$.x4, ptr $TO$, align 1
  br label %$N$.moved
$N$.eight:
  %$N$.x8 = load i64, ptr $FROM$, align 1
  store i64 %$N$.x8, ptr $TO$, align 1
  br label %$N$.moved
$N$.moved:
"""
"""Moves one element of 1, 2, 4 or 8 bytes."""


def _element(name: str, source: str, target: str) -> str:
    """Return code that moves an element of `%size` bytes."""
    text = _ELEMENT.replace("$N$", name)
    return text.replace("$FROM$", source).replace("$TO$", target)


def _moved(source: str, target: str) -> str:
    """Return a loop that moves all elements of all lanes, behind the block `reached`."""
    lane = _LANE.replace("$N$", "move").replace("$BEFORE$", "reached").replace("$END$", "out")
    return f"""
{lane}
  %own = inttoptr i64 %move.address to ptr
  %slot.byte = mul i64 %move.number, %size
  %slot = getelementptr i8, ptr %data, i64 %slot.byte
  br label %part
part:
  %part.number = phi i64 [ 0, %move.lane ], [ %part.next, %element.moved ]
  %own.byte = mul i64 %part.number, %size
  %element.own = getelementptr i8, ptr %own, i64 %own.byte
  %data.byte = mul i64 %part.number, %vector
  %element.data = getelementptr i8, ptr %slot, i64 %data.byte
{_element("element", source, target)}
  %part.next = add i64 %part.number, 1
  %part.more = icmp ult i64 %part.next, %parts
  br i1 %part.more, label %part, label %move.next
move.next:
  br label %move.head
"""


_LOOK = f"""
  %status = call preserve_mostcc i64 @visim_reach_$WAY$({PARAMETERS})
  %failed = icmp eq i64 %status, {FAILED}
"""
"""Looks where the lanes of a message are; `%failed` says that there is a fault."""

_STORE = f"""
define preserve_mostcc i1 @visim_store_$WAY$({PARAMETERS}) noinline #0 {{
entry:
{_FORM}
{_LOOK}
  %here = icmp eq i64 %status, {REACHED}
  br i1 %here, label %reached, label %end
reached:
{_moved("%element.data", "%element.own")}
out:
  br label %end
end:
  %well = xor i1 %failed, true
  ret i1 %well
}}
"""
"""`visim_store` stores what lies in the exchange area; it returns whether all went well."""

_LOAD = f"""
define preserve_mostcc i1 @visim_load_$WAY$({PARAMETERS}) noinline #0 {{
entry:
{_FORM}
  %data.bytes = mul i64 %vector, %parts
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %data.bytes, i1 false)
{_LOOK}
  br i1 %failed, label %wrong, label %right
wrong:
  ret i1 false
right:
  %here = icmp eq i64 %status, {REACHED}
  br i1 %here, label %reached, label %out
reached:
{_moved("%element.own", "%element.data")}
out:
  %target.byte = lshr i64 %where, 32
  %target = getelementptr i8, ptr %area, i64 %target.byte
  %together = lshr i64 %form, {_TOGETHER}
  %apart = icmp eq i64 %together, 0
  br i1 %apart, label %whole, label %firsts
whole:
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %data, i64 %data.bytes, i1 false)
  ret i1 true
firsts:
  %lanes = udiv i64 %vector, %size
  %last = sub i64 %together, 1
  %last.bit = shl i64 1, %last
  br label %piece
piece:
  %piece.lane = phi i64 [ 0, %firsts ], [ %piece.end, %piece.next ]
  %piece.target = phi ptr [ %target, %firsts ], [ %piece.behind, %piece.next ]
  %piece.mask = lshr i64 %mask, %piece.lane
  %piece.bits = or i64 %piece.mask, %last.bit
  %piece.first = call i64 @llvm.cttz.i64(i64 %piece.bits, i1 true)
  %first = add i64 %piece.lane, %piece.first
  %first.byte = mul i64 %first, %size
  %first.at = getelementptr i8, ptr %data, i64 %first.byte
  br label %one
one:
  %one.number = phi i64 [ 0, %piece ], [ %one.next, %copy.moved ]
  %one.from.byte = mul i64 %one.number, %vector
  %one.from = getelementptr i8, ptr %first.at, i64 %one.from.byte
  %one.to.byte = mul i64 %one.number, %size
  %one.to = getelementptr i8, ptr %piece.target, i64 %one.to.byte
{_element("copy", "%one.from", "%one.to")}
  %one.next = add i64 %one.number, 1
  %one.more = icmp ult i64 %one.next, %parts
  br i1 %one.more, label %one, label %piece.next
piece.next:
  %piece.behind = getelementptr i8, ptr %piece.target, i64 %reached.bytes
  %piece.end = add i64 %piece.lane, %together
  %piece.more = icmp ult i64 %piece.end, %lanes
  br i1 %piece.more, label %piece, label %end
end:
  ret i1 true
}}
"""
"""`visim_load` loads into the exchange area, to where the message wants it; lanes that are off
get 0.

If a form has lanes that load the same (`together`), one element is left for each piece of so many:
that of its first lane that is on. The answer is whether all went well.
"""

MOVING = _REACH + _STORE + _LOAD
"""What moves values of lanes; in each way of running threads, since Python may have to be asked."""

ROW = """
define void @visim_row(ptr %to, i64 %core, i64 %offset, i64 %step, i64 %scale, i64 %widths) #0 {
entry:
  %lanes = and i64 %widths, 255
  %widths.core = lshr i64 %widths, 8
  %core.cut = and i64 %widths.core, 63
  %widths.cut = lshr i64 %widths, 16
  %cut = and i64 %widths.cut, 63
  %widths.signed = and i64 %widths, 16777216
  %is.signed = icmp ne i64 %widths.signed, 0
  br label %lane
lane:
  %number = phi i64 [ 0, %entry ], [ %next, %lane ]
  %away = mul i64 %number, %step
  %sum = add i64 %core, %away
  %high = shl i64 %sum, %core.cut
  %unsigned = lshr i64 %high, %core.cut
  %negative = ashr i64 %high, %core.cut
  %wide = select i1 %is.signed, i64 %negative, i64 %unsigned
  %scaled = mul i64 %wide, %scale
  %address = add i64 %scaled, %offset
  %address.high = shl i64 %address, %cut
  %found = lshr i64 %address.high, %cut
  %at = getelementptr i64, ptr %to, i64 %number
  store i64 %found, ptr %at, align 8
  %next = add i64 %number, 1
  %more = icmp ult i64 %next, %lanes
  br i1 %more, label %lane, label %out
out:
  ret void
}
"""
"""Writes the addresses of a piece of a row: see `shapes.Form`, which `packed_widths` says the
widths of."""


def packed_widths(lanes: int, core_bits: int, bits: int, *, signed: bool) -> int:
    """Return the lanes of a piece, and how wide its cores are, and its addresses."""
    return lanes | (64 - core_bits) << 8 | (64 - bits) << 16 | signed << 24
