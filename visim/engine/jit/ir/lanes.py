"""Loops over the lanes of a mask, and functions that move values lane by lane, in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

from visim.engine.jit.ir.text import signed
from visim.engine.jit.layout import EXCHANGE_DATA


def lane_loop(before: str) -> list[str]:
    """Return the head of a loop over the bits of `%mask`, lowest first, behind block `before`.

    Inside, `%lane` is the lane's number as i64. The body ends by branching to `next`.
    """
    return [
        "  br label %head",
        "head:",
        f"  %left = phi i64 [ %mask, %{before} ], [ %rest, %next ]",
        "  %none = icmp eq i64 %left, 0",
        "  br i1 %none, label %out, label %body",
        "body:",
        "  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)",
    ]


def loop_tail() -> list[str]:
    """Return the end of the loop of `lane_loop`; the block `out` is open then."""
    return [
        "next:",
        "  %less = sub i64 %left, 1",
        "  %rest = and i64 %left, %less",
        "  br label %head",
        "out:",
    ]


def indexed(lane: str, scale: int, n: str = "") -> list[str]:
    """Return code that makes `%p` point to a lane, whose index stands in `%area`.

    `n` is put behind all names, so that the code can stand there for several lanes.
    """
    return [
        f"  %at{n} = getelementptr i32, ptr %area, i64 {lane}",
        f"  %index{n} = load i32, ptr %at{n}, align 4",
        f"  %wide{n} = sext i32 %index{n} to i64",
        f"  %offset{n} = mul i64 %wide{n}, {scale}",
        f"  %p{n} = getelementptr i8, ptr %base, i64 %offset{n}",
    ]


def lanes_function(name: str, body: list[str], before: list[str] | None = None) -> str:
    """Return a function that does `body` for each lane of a mask, lowest first.

    `%base` is what indices are added to, which stand at `%area`; values stand at `%data`. Code of
    `before` ends by returning or by going to `some`.
    """
    return "\n".join(
        [
            f"define internal void @{name}(ptr %base, ptr %area, i64 %mask) noinline #0 {{",
            "entry:",
            f"  %data = getelementptr i8, ptr %area, i64 {EXCHANGE_DATA}",
            *(before or ["  br label %some"]),
            "some:",
            *lane_loop("some"),
            *body,
            *loop_tail(),
            "  ret void",
            "}",
        ]
    )


def each_lane_function(
    name: str, lanes: int, scale: int, done: Callable[[str, str], list[str]]
) -> str:
    """Return a function that does the same for each lane of a mask, lowest first.

    `done` returns the code for a lane, given its number and what is put behind names; `%p` with
    that behind it points to the lane. There are no branches if all lanes are on.
    """
    whole = [
        f"  %all = icmp eq i64 %mask, {signed((1 << lanes) - 1, 64)}",
        "  br i1 %all, label %whole, label %some",
        "whole:",
    ]
    for lane in range(0, lanes - 1, 2):
        whole += [*_two_indexed(lane, scale), *done(str(lane), f".{lane}")]
        whole += done(str(lane + 1), f".{lane + 1}")
    if lanes % 2:
        last = lanes - 1
        whole += [*indexed(str(last), scale, f".{last}"), *done(str(last), f".{last}")]
    body = [*indexed("%lane", scale), *done("%lane", ""), "  br label %next"]
    return lanes_function(name, body, [*whole, "  ret void"])


def _two_indexed(lane: int, scale: int) -> list[str]:
    """Return code that makes pointers to a lane and the next, whose indices are loaded at once."""
    return [
        f"  %at.{lane} = getelementptr i32, ptr %area, i64 {lane}",
        f"  %two.{lane} = load i64, ptr %at.{lane}, align 4",
        f"  %low.{lane} = trunc i64 %two.{lane} to i32",
        f"  %wide.{lane} = sext i32 %low.{lane} to i64",
        f"  %wide.{lane + 1} = ashr i64 %two.{lane}, 32",
        *(
            line
            for n in (lane, lane + 1)
            for line in (
                f"  %offset.{n} = mul i64 %wide.{n}, {scale}",
                f"  %p.{n} = getelementptr i8, ptr %base, i64 %offset.{n}",
            )
        ),
    ]


def move_function(name: str, verb: str, lanes: int, size: int, scale: int) -> str:
    """Return a function that loads or stores `size` bytes for each lane, values lane after lane."""

    def moved(lane: str, n: str) -> list[str]:
        here, there = f"ptr %value{n}", f"ptr %p{n}"
        ends = f"{here}, {there}" if verb == "load" else f"{there}, {here}"
        return [
            f"  %byte{n} = mul i64 {lane}, {size}",
            f"  %value{n} = getelementptr i8, ptr %data, i64 %byte{n}",
            f"  call void @llvm.memcpy.p0.p0.i64({ends}, i64 {size}, i1 false)",
        ]

    return each_lane_function(name, lanes, scale, moved)


def row_function(name: str, size: int, stride: int) -> str:
    """Return a function that stores `size` bytes for each lane of a mask, `stride` bytes apart.

    Values stand at `%data`, lane after lane.
    """
    return "\n".join(
        [
            f"define internal void @{name}(ptr %base, ptr %data, i64 %mask) noinline #0 {{",
            "entry:",
            *lane_loop("entry"),
            f"  %byte = mul i64 %lane, {size}",
            "  %value = getelementptr i8, ptr %data, i64 %byte",
            f"  %offset = mul i64 %lane, {stride}",
            "  %p = getelementptr i8, ptr %base, i64 %offset",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %value, i64 {size}, i1 false)",
            "  br label %next",
            *loop_tail(),
            "  ret void",
            "}",
        ]
    )
