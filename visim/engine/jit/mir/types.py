"""The types of MIR in its text: a scalar's kind and width, and how many lanes."""

from __future__ import annotations

from visim.sem.expr import WIDE
from visim.types import BF, BOOL, DF, HF, UB, UD, UQ, UW, B, D, DataType, F, Q, W

NAMES: dict[DataType, str] = {
    UB: "u8",
    UW: "u16",
    UD: "u32",
    UQ: "u64",
    B: "s8",
    W: "s16",
    D: "s32",
    Q: "s64",
    WIDE: "s128",
    HF: "f16",
    BF: "bf16",
    F: "f32",
    DF: "f64",
    BOOL: "m",
}
"""What a scalar is called; `m` are masks, of which a lane is a bit."""
_BY_NAME = {name: kind for kind, name in NAMES.items()}


def type_text(kind: DataType, lanes: int) -> str:
    """Return a vector's type as text: `f32x16`, `u32` for one lane, `m16` for a mask."""
    name = NAMES[kind]
    if kind is BOOL:
        return f"{name}{lanes}"
    return name if lanes == 1 else f"{name}x{lanes}"


def type_of(text: str) -> tuple[DataType, int] | None:
    """Return the type and the number of lanes that a word says, None if it is no type."""
    if text.startswith("m") and text[1:].isdecimal():
        return BOOL, int(text[1:])
    name, _, lanes = text.partition("x")
    kind = _BY_NAME.get(name)
    if kind is None or kind is BOOL or (lanes and not lanes.isdecimal()):
        return None
    return (kind, int(lanes or 1)) if int(lanes or 1) else None


__all__ = ["NAMES", "type_of", "type_text"]
