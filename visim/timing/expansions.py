"""Which native instructions a vISA lane operation becomes on a generation, as data and rules.

Where a generation has the instruction it is one; elsewhere it is a short chain of others, whose
length is assumed from what the instructions can do. What no chain is known for is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.errors import UnsupportedError
from visim.timing.emitter import Step
from visim.timing.machine import NativeRules
from visim.types import BF, DF, HF, DataType

_LOGIC = frozenset({
    "sel", "not", "and", "or", "xor", "shl", "shr", "asr", "min", "max", "avg", "frc", "rndd",
    "rndu", "rnde", "rndz", "lzd", "sad2", "sad2add", "line", "setp",
})  # fmt: skip
_MOVES = frozenset({"mov", "add", "cmp", "mul", "fcvt", "addr_add", "movs", "faddr"})
_MATH = {
    "inv": "inv", "rsqrt": "rsqrt", "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin",
    "cos": "sin", "pow": "pow",
}  # fmt: skip
_BITS = frozenset({"bfe", "bfrev", "cbit", "fbl", "fbh"})
_DOTS = frozenset({"dp2", "dp3", "dp4", "dph"})
_REFINEMENTS = {"div": 8, "divm": 8, "sqrtm": 7}
"""Multiply-adds that follow the table look-up of an exactly rounded operation."""


def steps(
    mnemonic: str, kind: DataType, others: Sequence[DataType], native: NativeRules, name: str
) -> tuple[Step, ...]:
    """Return the instructions of a lane operation.

    Args:
        mnemonic: the vISA instruction.
        kind: the type in which it computes.
        others: the types of its sources.
        native: what the generation has.
        name: the generation's name, for errors.

    Raises:
        UnsupportedError: the generation has nothing for it.
    """
    _check_type(mnemonic, kind, native, name)
    if kind.is_integer and kind.bytes > 4 and native.int64 == "emulated":
        return _wide_integer(mnemonic, name)
    found = _special(mnemonic, kind, others, native)
    if found is None:
        raise UnsupportedError(
            f"timing: {name} has no instructions for {mnemonic} of type {kind!r}"
        )
    return found


def _check_type(mnemonic: str, kind: DataType, native: NativeRules, name: str) -> None:
    missing = (
        (kind == DF and not native.fp64)
        or (kind == HF and not native.half)
        or (kind == BF and "bfloat" not in native.features)
    )
    if missing and not (kind == DF and mnemonic == "mov"):
        raise UnsupportedError(f"timing: {name} cannot compute in type {kind!r} ({mnemonic})")


def typed(base: str, kind: DataType) -> str:
    """Return a class of instructions for a type: wide for 8 bytes, float, or neither."""
    if kind.bytes > 4:
        return "mad.wide" if base == "mad" else "alu.wide"
    if base == "logic":
        return base
    return f"{base}.float" if kind.is_float else base


def _special(
    mnemonic: str, kind: DataType, others: Sequence[DataType], native: NativeRules
) -> tuple[Step, ...] | None:
    alu, logic = typed("alu", kind), typed("logic", kind)
    match mnemonic:
        case "mov" if kind.bytes > 4 and (
            (native.int64 != "native" and kind != DF) or not native.fp64
        ):
            return _chain("mov:alu mov:alu")
        case "mul" if kind.is_integer:
            return _multiply(others, native, "d")
        case "mad":
            return _multiply_add(kind, others, native)
        case "add3" | "bfn" if mnemonic in native.features:
            return (Step(mnemonic, "three", "d"),)
        case "add3":
            return _chain("add:alu add:alu")
        case "bfn":
            return _chain("and:logic or:logic xor:logic")
        case "rol" | "ror":
            if "rotate" in native.features:
                return (Step(mnemonic, "logic", "d"),)
            return _chain("shl:logic shr:logic or:logic")
        case "div" | "mod" | "divm" | "sqrtm":
            return _divided(mnemonic, kind, native)
        case "mulh":
            return (Step("mul", "alu.wide", "acc"), Step("mach", "logic", "d"))
        case "madw":
            product = (Step("mul", "alu.wide", "acc"), Step("mach", "logic"))
            return (*product, Step("addc", "logic"), Step("add", "alu", "d"))
        case "lrp" | "pln" | "line":
            return _interpolated(mnemonic, native)
        case "bfi":
            bits = "bits" in native.features
            return (Step("bfi1", logic), Step("bfi2", "three", "d")) if bits else None
        case "bfe" if "bits" not in native.features:
            return _chain("shl:logic shr:logic")
        case "dp4a":
            return (Step("dp4a", "three", "d"),) if "dp4a" in native.features else None
        case "srnd":
            return (Step("srnd", "alu.float", "d"),)
        case _:
            return _plain(mnemonic, alu, logic, native)


def _divided(mnemonic: str, kind: DataType, native: NativeRules) -> tuple[Step, ...] | None:
    match mnemonic:
        case "div" | "mod" if kind.is_integer:
            has_unit = "intdiv" in native.features
            return (Step("math.intdiv", "math.intdiv", "d"),) if has_unit else None
        case "div" if "fdiv" in native.features and kind.bytes <= 4:
            return (Step("math.fdiv", "math.fdiv", "d"),)
        case "div" if kind.bytes <= 4:
            return _chain("math.inv:math.inv mul:alu.float")
        case "mod":
            return None
        case _:
            return _refined(mnemonic, kind, native)


def _interpolated(mnemonic: str, native: NativeRules) -> tuple[Step, ...] | None:
    if mnemonic in native.features:
        return (Step(mnemonic, "logic" if mnemonic == "line" else mnemonic, "d"),)
    return _chain("mad:mad.float mad:mad.float") if "mad" in native.features else None


def _plain(mnemonic: str, alu: str, logic: str, native: NativeRules) -> tuple[Step, ...] | None:
    if mnemonic in _MOVES:
        return (Step(mnemonic if mnemonic != "addr_add" else "add", alu, "d"),)
    if mnemonic in {"min", "max"} and native.version < 60:
        return (Step("cmp", alu), Step("sel", logic, "d"))
    if mnemonic in _LOGIC:
        return (Step("sel" if mnemonic in {"min", "max"} else mnemonic, logic, "d"),)
    if mnemonic in _MATH:
        kind = f"math.{_MATH[mnemonic]}"
        moved = (Step("mov", "alu"),) if native.version < 60 else ()
        return (*moved, Step(f"math.{mnemonic}", kind, "d"))
    if mnemonic in _BITS and "bits" in native.features:
        return (Step(mnemonic, "three" if mnemonic == "bfe" else logic, "d"),)
    if mnemonic in _DOTS and "dp" in native.features:
        return (Step(mnemonic, "dp", "d"),)
    return None


def _multiply(others: Sequence[DataType], native: NativeRules, target: str) -> tuple[Step, ...]:
    """Return an integer product; one with a word or byte is always one instruction."""
    if min(other.bytes for other in others[:2]) < 4:
        return (Step("mul", "alu", target),)
    match native.mul32:
        case "native":
            return (Step("mul", "alu.wide", target),)
        case "macl":
            return (Step("mul", "alu", "acc"), Step("macl", "logic", target))
        case _:
            mach = Step("mach", "logic")
            return (Step("mul", "alu", "acc"), mach, Step("mov", "alu", target))


def _multiply_add(
    kind: DataType, others: Sequence[DataType], native: NativeRules
) -> tuple[Step, ...] | None:
    if kind.is_integer:
        return (*_multiply(others, native, "t"), Step("add", "alu", "d"))
    if "mad" in native.features:
        return (Step("mad", typed("mad", kind), "d"),)
    return _chain("mul:alu.float add:alu.float")


def _refined(mnemonic: str, kind: DataType, native: NativeRules) -> tuple[Step, ...] | None:
    if "mad" not in native.features:
        return None
    mad = Step("mad", typed("mad", kind))
    first = "math.rsqrt" if mnemonic == "sqrtm" else "math.inv"
    count = _REFINEMENTS[mnemonic]
    return (Step(first, first), *[mad] * (count - 1), Step("mad", mad.kind, "d"))


_EMULATED = {
    "mov": "mov:alu mov:alu",
    "add": "addc:logic mov:alu add:alu add:alu",
    "mul": "mul:alu mach:logic mul:alu mul:alu add:alu add:alu",
    "mad": "mul:alu mach:logic mul:alu mul:alu add:alu add:alu addc:logic add:alu",
    "cmp": "cmp:alu cmp:alu cmp:alu",
    "shl": "shl:logic shl:logic shr:logic or:logic cmp:alu sel:logic sel:logic",
    "shr": "shr:logic shr:logic shl:logic or:logic cmp:alu sel:logic sel:logic",
    "asr": "asr:logic shr:logic shl:logic or:logic cmp:alu sel:logic sel:logic",
    "min": "cmp:alu cmp:alu cmp:alu sel:logic sel:logic",
    "max": "cmp:alu cmp:alu cmp:alu sel:logic sel:logic",
}
_HALVES = frozenset({"and", "or", "xor", "not", "sel"})


def _wide_integer(mnemonic: str, name: str) -> tuple[Step, ...]:
    """Return the instructions on dwords that stand for one on qwords."""
    if mnemonic in _HALVES:
        return _chain(f"{mnemonic}:logic {mnemonic}:logic")
    if mnemonic not in _EMULATED:
        raise UnsupportedError(f"timing: {name} has no 64-bit integers, and none for {mnemonic}")
    return _chain(_EMULATED[mnemonic])


def _chain(text: str) -> tuple[Step, ...]:
    parts = [tuple(part.split(":")) for part in text.split()]
    return tuple(
        Step(opcode, kind, "d" if number == len(parts) - 1 else "t")
        for number, (opcode, kind) in enumerate(parts)
    )


__all__ = ["steps", "typed"]
