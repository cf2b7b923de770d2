"""Functions for messages in their general form: any addresses, any mask, checked lane by lane.

Each does a whole message. What goes in and comes out lies in the exchange area of the worker: the
channels' addresses (or offsets) as 64-bit numbers, behind them the vectors of values. That is
where the reference memory finds it too, when native code has to ask for help.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.atomics import atomic_lines
from visim.engine.jit.floats import Library
from visim.engine.jit.lanes import lane_loop, loop_tail
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.text import numbers, scalar_bytes
from visim.sem.effects import AtomicOperation

PARAMETERS = (
    "ptr %ctx, ptr %thread, ptr %cache, i64 %start, i64 %limit, i64 %host, i64 %mask, "
    "i64 %site, i64 %surface"
)

_LEAST_ROW = 4


@dataclass(frozen=True, slots=True)
class Access:
    """A kind of message.

    `size` is what each lane reaches, in bytes; `flat` says that addresses are looked up among the
    allocations; `checked` that what is out of range is noticed; `own` that no other worker can
    reach the memory.
    """

    verb: str
    lanes: int
    scalar: str
    parts: int
    size: int
    flat: bool
    checked: bool
    own: bool = False
    operation: AtomicOperation | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        flags = ("flat." if self.flat else "") + ("own." if self.own else "")
        kind = "" if self.checked else "free."
        return f"{self.verb}.{flags}{kind}{self.lanes}.{self.scalar}.{self.parts}"

    @property
    def vector(self) -> str:
        """The type of one vector of values."""
        return f"<{self.lanes} x {self.scalar}>"

    @property
    def vector_bytes(self) -> int:
        """The bytes of one vector in the exchange area."""
        return self.lanes * scalar_bytes(self.scalar)


def general_function(library: Library, access: Access) -> str:
    """Return the name of the function for a kind of message; it returns whether all went well.

    Lanes are done one by one in a loop, lowest first. Loads and stores look before that whether
    all lanes are on and reach one row, or one element.
    """
    if access.name in library.functions:
        return access.name
    library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
    rows = access.operation is None and access.lanes >= _LEAST_ROW
    lines = [
        f"define internal i1 @{access.name}({PARAMETERS}) noinline #0 {{",
        "entry:",
        f"  %ap = getelementptr i64, ptr %ctx, i64 {int(Context.EXCHANGE)}",
        "  %area = load ptr, ptr %ap, align 8",
        f"  %data = getelementptr i8, ptr %area, i64 {EXCHANGE_DATA}",
        *(_row(access) if rows else ["  br label %lanes"]),
        "lanes:",
        *_lanes(access),
        *_ends(access),
        "}",
    ]
    library.functions[access.name] = "\n".join(lines)
    return access.name


# Rows


def _row(access: Access) -> list[str]:
    """Return code for lanes that are all on and reach one row, or load one element."""
    lanes, vector, reads = access.lanes, f"<{access.lanes} x i64>", access.verb == "load"
    every = -1 if lanes == 64 else (1 << lanes) - 1
    steps = numbers("i64", [lane * access.size for lane in range(lanes)])
    # An element that all lanes reach can be loaded at once; stores to it have an order.
    single = "icmp eq i64 %far, 0" if reads else "icmp eq i64 %far, -1"
    return [
        f"  %all = icmp eq i64 %mask, {every}",
        "  br i1 %all, label %compare, label %lanes",
        "compare:",
        "  %first = load i64, ptr %area, align 8",
        f"  %lp = getelementptr i64, ptr %area, i64 {lanes - 1}",
        "  %last = load i64, ptr %lp, align 8",
        "  %far = sub i64 %last, %first",
        f"  %row = icmp eq i64 %far, {(lanes - 1) * access.size}",
        f"  %one = {single}",
        "  %perhaps = or i1 %row, %one",
        "  br i1 %perhaps, label %each, label %lanes",
        "each:",
        f"  %given = load {vector}, ptr %area, align 8",
        f"  %f.0 = insertelement {vector} poison, i64 %first, i64 0",
        f"  %f = shufflevector {vector} %f.0, {vector} poison, <{lanes} x i32> zeroinitializer",
        f"  %delta = sub {vector} %given, %f",
        f"  %want = select i1 %row, {vector} {steps}, {vector} zeroinitializer",
        f"  %apart = icmp ne {vector} %delta, %want",
        f"  %apart.bits = bitcast <{lanes} x i1> %apart to i{lanes}",
        f"  %straight = icmp eq i{lanes} %apart.bits, 0",
        "  %low = sub i64 %first, %start",
        "  %high = sub i64 %last, %start",
        f"  %low.in = {_inside('%low', access)}",
        f"  %high.in = {_inside('%high', access)}",
        "  %in = and i1 %low.in, %high.in",
        "  %fine = and i1 %in, %straight",
        "  br i1 %fine, label %known, label %lanes",
        "known:",
        "  %at = add i64 %low, %host",
        "  %place = inttoptr i64 %at to ptr",
        *(_read_row(access) if reads else _write_row(access)),
    ]


def _inside(offset: str, access: Access) -> str:
    if access.checked:
        return f"icmp ult i64 {offset}, %limit"
    return "or i1 true, true"


def _read_row(access: Access) -> list[str]:
    lines, vector, lanes = list[str](), access.vector, access.lanes
    lines += ["  br i1 %row, label %whole, label %same", "same:"]
    for part in range(access.parts):
        lines += [
            f"  %eq{part} = getelementptr {access.scalar}, ptr %place, i64 {part}",
            f"  %ex{part} = load {access.scalar}, ptr %eq{part}, align 1",
            f"  %ei{part} = insertelement {vector} poison, {access.scalar} %ex{part}, i64 0",
            f"  %ev{part} = shufflevector {vector} %ei{part}, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
            f"  %et{part} = getelementptr i8, ptr %data, i64 {part * access.vector_bytes}",
            f"  store {vector} %ev{part}, ptr %et{part}, align 8",
        ]
    lines += ["  br label %done", "whole:"]
    if access.parts > 1:
        return [*lines, "  br label %lanes"]
    return [
        *lines,
        f"  %wv = load {vector}, ptr %place, align 1",
        f"  store {vector} %wv, ptr %data, align 8",
        "  br label %done",
    ]


def _write_row(access: Access) -> list[str]:
    if access.parts > 1:
        return ["  br label %lanes"]
    return [
        f"  %wv = load {access.vector}, ptr %data, align 8",
        f"  store {access.vector} %wv, ptr %place, align 1",
        "  br label %done",
    ]


# Lanes


def _lanes(access: Access) -> list[str]:
    """Return the loops over lanes; `look` comes back to `begin` without limits.

    What writes checks all lanes before it does the first.
    """
    lines: list[str] = []
    if access.verb == "load":
        count = access.parts * access.lanes
        lines = [f"  store <{count} x {access.scalar}> zeroinitializer, ptr %data, align 8"]
    again = access.flat and access.checked
    lines += [
        "  br label %begin",
        "begin:",
        f"  %from = phi i64 [ %start, %lanes ]{', [ 0, %look ]' if again else ''}",
        f"  %to = phi i64 [ %limit, %lanes ]{', [ -1, %look ]' if again else ''}",
        f"  %base = phi i64 [ %host, %lanes ]{', [ 0, %look ]' if again else ''}",
    ]
    before = "begin"
    if access.verb != "load" and (access.checked or access.operation is not None):
        lines += [*_test(access), "act:"]
        before = "act"
    lines += [*lane_loop(before), *_address("a", "%lane")]
    if access.verb == "load" and access.checked:
        lines += [f"  br i1 %inside.a, label %do, label %{_refused(access)}, !prof !1", "do:"]
    lines += ["  %address = add i64 %offset.a, %base", "  %p = inttoptr i64 %address to ptr"]
    if access.operation is not None:
        lines += atomic_lines(access.operation, access.lanes, access.scalar, own=access.own)
    else:
        for part in range(access.parts):
            lines += _element(access, part)
        lines.append("  br label %next")
    return [*lines, *loop_tail(), "  br label %done"]


def _refused(access: Access) -> str:
    return "look" if access.flat and access.checked else "slow"


def _address(name: str, lane: str) -> list[str]:
    """Return code for a lane's address, offset and whether that is in range."""
    return [
        f"  %p{name} = getelementptr i64, ptr %area, i64 {lane}",
        f"  %{name} = load i64, ptr %p{name}, align 8",
        f"  %offset.{name} = sub i64 %{name}, %from",
        f"  %inside.{name} = icmp ult i64 %offset.{name}, %to",
    ]


def _test(access: Access) -> list[str]:
    """Return a loop that leaves for `act` when all lanes are in range, and aligned if atomic."""
    lines = [
        "  br label %test.head",
        "test.head:",
        "  %test.left = phi i64 [ %mask, %begin ], [ %test.rest, %test.next ]",
        "  %test.none = icmp eq i64 %test.left, 0",
        "  br i1 %test.none, label %act, label %test",
        "test:",
        "  %test.lane = call i64 @llvm.cttz.i64(i64 %test.left, i1 true)",
        *_address("t", "%test.lane"),
    ]
    if access.operation is not None:
        lines += [
            f"  %low = and i64 %t, {access.size - 1}",
            "  %even = icmp eq i64 %low, 0",
            "  br i1 %even, label %test.range, label %slow, !prof !1",
            "test.range:",
        ]
    if access.checked:
        lines.append(f"  br i1 %inside.t, label %test.next, label %{_refused(access)}, !prof !1")
    else:
        lines.append("  br label %test.next")
    return [
        *lines,
        "test.next:",
        "  %test.less = sub i64 %test.left, 1",
        "  %test.rest = and i64 %test.left, %test.less",
        "  br label %test.head",
    ]


def _element(access: Access, part: int) -> list[str]:
    """Return code that moves one component of a lane."""
    scalar = access.scalar
    ends = f"%t{part}", f"%s{part}"
    source, target = ends if access.verb == "load" else reversed(ends)
    return [
        f"  %t{part} = getelementptr {scalar}, ptr %p, i64 {part}",
        f"  %f{part} = getelementptr i8, ptr %data, i64 {part * access.vector_bytes}",
        f"  %s{part} = getelementptr {scalar}, ptr %f{part}, i64 %lane",
        f"  %x{part} = load {scalar}, ptr {source}, align 1",
        f"  store {scalar} %x{part}, ptr {target}, align 1",
    ]


def _ends(access: Access) -> list[str]:
    """Return the blocks behind the loops: all done, looked up among the allocations, refused."""
    lines = ["done:", "  ret i1 true"]
    if not access.checked and access.operation is None:
        return lines
    if access.flat and access.checked:
        reads = access.verb == "load" or access.operation is AtomicOperation.LOAD
        lines += [
            "look:",
            "  %found = call i1 @flat_check(ptr %ctx, ptr %cache, ptr %area, i64 %mask, "
            f"i64 {access.size}, i64 {int(not reads)})",
            "  br i1 %found, label %begin, label %slow",
        ]
    return [
        *lines,
        "slow:",
        "  %failed = call i32 @host(ptr %ctx, ptr %thread, i64 %site, i64 %mask, "
        "i64 %surface) cold",
        "  %well = icmp eq i32 %failed, 0",
        "  ret i1 %well",
    ]
