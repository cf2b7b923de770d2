"""Loops over the lanes of a mask, as lines of LLVM IR."""

from __future__ import annotations


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
