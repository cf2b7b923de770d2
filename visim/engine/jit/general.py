"""Functions for messages in their general form: any addresses, any mask, checked lane by lane.

Each does a whole message. What goes in and comes out lies in the exchange area of the worker: the
channels' addresses (or offsets) as 64-bit numbers, behind them the vectors of values. That is
where the reference memory finds it too, when native code has to ask for help.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.atomics import atomic_lines
from visim.engine.jit.floats import Library
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.scattered import gather_function, lane_loop, loop_tail
from visim.engine.jit.text import numbers, splat
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


def scalar_bytes(scalar: str) -> int:
    """Return the size of a scalar type in bytes."""
    return {"half": 2, "float": 4, "double": 8}.get(scalar) or int(scalar[1:]) // 8


def general_function(library: Library, access: Access) -> str:
    """Return the name of the function for a kind of message; it returns whether all went well."""
    if access.name in library.functions:
        return access.name
    library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
    lines = [
        f"define internal i1 @{access.name}({PARAMETERS}) noinline #0 {{",
        "begin:",
        f"  %ap = getelementptr i64, ptr %ctx, i64 {int(Context.EXCHANGE)}",
        "  %area = load ptr, ptr %ap, align 8",
        f"  %data = getelementptr i8, ptr %area, i64 {EXCHANGE_DATA}",
        f"  %given = load <{access.lanes} x i64>, ptr %area, align 8",
        *_enabled(access.lanes),
        *_offsets(access),
        *_check(access),
        "good:",
        *_hosts(access),
        *_body(library, access),
        "done:",
        "  ret i1 true",
        "}",
    ]
    library.functions[access.name] = "\n".join(lines)
    return access.name


def _spread(name: str, scalar: str, lanes: int) -> list[str]:
    vector = f"<{lanes} x i64>"
    return [
        f"  %{name}.0 = insertelement {vector} poison, i64 {scalar}, i64 0",
        f"  %{name} = shufflevector {vector} %{name}.0, {vector} poison, "
        f"<{lanes} x i32> zeroinitializer",
    ]


def _enabled(lanes: int) -> list[str]:
    """Return code for `%on`, tested in elements as wide as those it is used with."""
    vector = f"<{lanes} x i64>"
    bits = numbers("i64", [1 << lane if lane < 63 else -(1 << 63) for lane in range(lanes)])
    return [
        *_spread("bits", "%mask", lanes),
        f"  %each = and {vector} %bits, {bits}",
        f"  %on = icmp ne {vector} %each, zeroinitializer",
    ]


def _offsets(access: Access) -> list[str]:
    vector = f"<{access.lanes} x i64>"
    return [
        *_spread("starts", "%start", access.lanes),
        f"  %offsets = sub {vector} %given, %starts",
    ]


def _hosts(access: Access) -> list[str]:
    vector = f"<{access.lanes} x i64>"
    if access.flat:
        return [f"  %hosts = add {vector} %given, zeroinitializer"]
    return [
        *_spread("bases", "%host", access.lanes),
        f"  %hosts = add {vector} %offsets, %bases",
    ]


def _some(name: str, vector: str, lanes: int) -> list[str]:
    return [
        f"  %{name}.on = and <{lanes} x i1> {vector}, %on",
        f"  %{name}.bits = bitcast <{lanes} x i1> %{name}.on to i{lanes}",
        f"  %{name} = icmp ne i{lanes} %{name}.bits, 0",
    ]


def _check(access: Access) -> list[str]:
    """Go on at `good`, or hand the message over; atomic addresses have to be aligned."""
    lanes, lines = access.lanes, list[str]()
    vector = f"<{lanes} x i64>"
    if access.operation is not None:
        low = splat("i64", lanes, access.size - 1)
        lines += [
            f"  %low = and {vector} %given, {low}",
            f"  %odd = icmp ne {vector} %low, zeroinitializer",
            *_some("odds", "%odd", lanes),
            "  br i1 %odds, label %slow, label %aligned, !prof !0",
            "aligned:",
        ]
    if access.checked:
        lines += [
            *_spread("limits", "%limit", lanes),
            f"  %over = icmp uge {vector} %offsets, %limits",
            *_some("overs", "%over", lanes),
            "  br i1 %overs, label %look, label %good, !prof !0",
            "look:",
            *_look(access),
        ]
    else:
        lines.append("  br label %good")
    if not access.checked and access.operation is None:
        return lines
    return [
        *lines,
        "slow:",
        "  %failed = call i32 @host(ptr %ctx, ptr %thread, i64 %site, i64 %mask, i64 %surface) cold",
        "  %well = icmp eq i32 %failed, 0",
        "  ret i1 %well",
    ]


def _look(access: Access) -> list[str]:
    if not access.flat:
        return ["  br label %slow"]
    reads = access.verb == "load" or access.operation is AtomicOperation.LOAD
    return [
        f"  %known = call i1 @flat_check(ptr %ctx, ptr %cache, ptr %area, i64 %mask, "
        f"i64 {access.size}, i64 {int(not reads)})",
        "  br i1 %known, label %good, label %slow",
    ]


def _body(library: Library, access: Access) -> list[str]:
    if access.operation is not None:
        return _lanes(access, atomic_lines(access.operation, access.lanes, access.scalar, own=access.own))
    return _loads(library, access) if access.verb == "load" else _stores(access)


def _loads(library: Library, access: Access) -> list[str]:
    """Load with a function that takes what it finds: one address, rows, or anything."""
    lanes, parts, vector = access.lanes, access.parts, access.vector
    function = gather_function(library, lanes, access.scalar, parts)
    returned = f"{{ {', '.join([vector] * parts)} }}" if parts > 1 else vector
    lines = [
        f"  %np = getelementptr i64, ptr %ctx, i64 {int(Context.NOTHING)}",
        "  %nothing = load i64, ptr %np, align 8",
        f"  %found = call {returned} @{function}(<{lanes} x i64> %hosts, <{lanes} x i1> %on, "
        "i64 %nothing)",
    ]
    for part in range(parts):
        name = "%found"
        if parts > 1:
            name = f"%found.{part}"
            lines.append(f"  {name} = extractvalue {returned} %found, {part}")
        lines += [
            f"  %to.{part} = getelementptr i8, ptr %data, i64 {part * access.vector_bytes}",
            f"  store {vector} {name}, ptr %to.{part}, align 8",
        ]
    return [*lines, "  br label %done"]


def _stores(access: Access) -> list[str]:
    """Store a row at once where all lanes are on and their addresses follow each other."""
    lanes, scalar, vector = access.lanes, access.scalar, f"<{access.lanes} x i64>"
    body = [
        "  %p = inttoptr i64 %a to ptr",
        *[
            line
            for part in range(access.parts)
            for line in (
                f"  %f{part} = getelementptr i8, ptr %data, i64 {part * access.vector_bytes}",
                f"  %s{part} = getelementptr {scalar}, ptr %f{part}, i64 %lane",
                f"  %x{part} = load {scalar}, ptr %s{part}, align 1",
                f"  %t{part} = getelementptr {scalar}, ptr %p, i64 {part}",
                f"  store {scalar} %x{part}, ptr %t{part}, align 1",
            )
        ],
        "  br label %next",
    ]
    if access.parts > 1 or lanes == 1:
        return _lanes(access, body)
    steps = numbers("i64", [lane * access.size for lane in range(lanes)])
    every = -1 if lanes == 64 else (1 << lanes) - 1
    return [
        f"  %first = shufflevector {vector} %hosts, {vector} poison, <{lanes} x i32> zeroinitializer",
        f"  %want = add {vector} %first, {steps}",
        f"  %apart = icmp ne {vector} %hosts, %want",
        f"  %apart.bits = bitcast <{lanes} x i1> %apart to i{lanes}",
        f"  %row = icmp eq i{lanes} %apart.bits, 0",
        f"  %all = icmp eq i64 %mask, {every}",
        "  %whole = and i1 %row, %all",
        "  br i1 %whole, label %together, label %singly",
        "together:",
        f"  %wa = extractelement {vector} %hosts, i64 0",
        "  %wp = inttoptr i64 %wa to ptr",
        f"  %wv = load {access.vector}, ptr %data, align 8",
        f"  store {access.vector} %wv, ptr %wp, align 1",
        "  br label %done",
        "singly:",
        *_lanes(access, body),
    ]


def _lanes(access: Access, body: list[str]) -> list[str]:
    """Return a loop over the lanes that are on, lowest first; `%a` is the host's address."""
    vector = f"<{access.lanes} x i64>"
    return [
        f"  store {vector} %hosts, ptr %area, align 8",
        "  br label %lanes",
        "lanes:",
        *lane_loop("lanes"),
        "  %pa = getelementptr i64, ptr %area, i64 %lane",
        "  %a = load i64, ptr %pa, align 8",
        *body,
        *loop_tail(),
        "  br label %done",
    ]
