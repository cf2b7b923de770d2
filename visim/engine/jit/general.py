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
from visim.engine.jit.text import scalar_bytes
from visim.sem.effects import AtomicOperation

PARAMETERS = (
    "ptr %ctx, ptr %thread, ptr %cache, i64 %start, i64 %limit, i64 %host, i64 %mask, "
    "i64 %site, i64 %surface"
)


@dataclass(frozen=True, slots=True)
class Access:
    """A kind of message.

    `size` is what each lane reaches, in bytes; `flat` says that addresses are looked up among the
    allocations; `checked` that what is out of range is noticed; `own` that no other worker can
    reach the memory; `returns` that somebody reads what an atomic operation returns.
    """

    verb: str
    lanes: int
    scalar: str
    parts: int
    size: int
    flat: bool
    checked: bool
    own: bool = False
    returns: bool = True
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


_BEYOND = """
define internal i1 @block.beyond(ptr %entry, i64 %offset, ptr %to, i64 %wanted) noinline {
begin:
  %size.at = getelementptr i64, ptr %entry, i64 1
  %size = load i64, ptr %size.at, align 8
  %known = icmp ne i64 %size, 0
  br i1 %known, label %part, label %unknown
part:
  %start = call i64 @llvm.umin.i64(i64 %offset, i64 %size)
  %held = sub i64 %size, %start
  %base = load ptr, ptr %entry, align 8
  %from = getelementptr i8, ptr %base, i64 %start
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %wanted, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %held, i1 false)
  %count.at = getelementptr i64, ptr %entry, i64 3
  %count = load i64, ptr %count.at, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %count.at, align 8
  ret i1 true
unknown:
  ret i1 false
}"""


def beyond_function(library: Library) -> str:
    """Return the name of the function that loads a block which does not fit into its surface.

    What is out of range is 0, and counted in the entry of the binding table. Compilers read beyond
    the ends of constants. It returns false where the table has no bytes for the surface.
    """
    library.intrinsic("llvm.umin.i64", "i64", "i64", "i64")
    library.functions.setdefault("block.beyond", _BEYOND)
    return "block.beyond"


def general_function(library: Library, access: Access) -> str:
    """Return the name of the function for a kind of message; it returns whether all went well.

    Lanes are done one by one in a loop, lowest first. Callers keep their registers: they seldom
    come here.
    """
    if access.name in library.functions:
        return access.name
    library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
    lines = [
        f"define internal preserve_mostcc i1 @{access.name}({PARAMETERS}) noinline #0 {{",
        "entry:",
        f"  %ap = getelementptr i64, ptr %ctx, i64 {int(Context.EXCHANGE)}",
        "  %area = load ptr, ptr %ap, align 8",
        f"  %data = getelementptr i8, ptr %area, i64 {EXCHANGE_DATA}",
        "  br label %lanes",
        "lanes:",
        *_lanes(access),
        *_ends(access),
        "}",
    ]
    library.functions[access.name] = "\n".join(lines)
    return access.name


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
