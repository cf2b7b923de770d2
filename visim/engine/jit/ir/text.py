"""LLVM IR as text: names, types, constants and the writer of one function's body.

Knows LLVM's syntax and the types of vISA, nothing of what is computed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np

from visim.engine.jit.ir.distances import Distances
from visim.types import BF, BOOL, DF, HF, DataType, F

_HANDED_OVER = 32
"""How many bytes are stored at once where they are loaded in parts."""

_FLOATS = {HF: "half", F: "float", DF: "double"}


def scalar_type(kind: DataType) -> str:
    """Return the LLVM type of one element."""
    if kind == BOOL:
        return "i1"
    return _FLOATS.get(kind) or f"i{kind.bits}"


def vector_type(kind: DataType, lanes: int) -> str:
    """Return the LLVM type of a vector of `lanes` elements."""
    return f"<{lanes} x {scalar_type(kind)}>"


def scalar_bytes(scalar: str) -> int:
    """Return the size of a scalar type in bytes."""
    return {"half": 2, "float": 4, "double": 8}.get(scalar) or int(scalar[1:]) // 8


def splat(kind: str, lanes: int, value: object) -> str:
    """Return the constant vector with `value` of scalar type `kind` in every lane."""
    return f"splat ({kind} {value})" if lanes else "zeroinitializer"


def numbers(kind: str, values: Iterable[object]) -> str:
    """Return the constant vector of scalars of type `kind`."""
    return "<" + ", ".join(f"{kind} {value}" for value in values) + ">"


def signed(number: int, bits: int) -> int:
    """Return an integer modulo 2**bits, as a signed number."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> bits - 1 else number


def opaque(number: str) -> str:
    """Return code for an i64 that is this number, which LLVM is not told."""
    return f'call i64 asm "", "=r,0"(i64 {number}) memory(none)'


def low_bits(count: int) -> int:
    """Return the number with so many low bits set, as a signed one of 64 bits."""
    return -1 if count == 64 else (1 << count) - 1


def float_bits(value: float, kind: DataType) -> int:
    """Return the bits of a Python float in a floating-point type."""
    with np.errstate(all="ignore"):
        raw = np.array(value, kind.numpy)
    return int(raw.view(f"u{kind.bytes}"))


def constant_text(values: Sequence[float], kind: DataType) -> str:
    """Return the constant vector of vISA values of type `kind`."""
    scalar = scalar_type(kind)
    if kind == BOOL:
        shown: list[object] = ["true" if value else "false" for value in values]
    elif kind.is_float and kind != BF:
        shown = [_float_text(value, kind) for value in values]
    else:
        shown = [int(value) for value in values]
    if len(set(shown)) == 1:
        return splat(scalar, len(shown), shown[0])
    return numbers(scalar, shown)


def _float_text(value: float, kind: DataType) -> str:
    bits = float_bits(value, kind)
    if kind == HF:
        return f"0xH{bits:04X}"
    if kind == F:
        single = struct.unpack("<f", struct.pack("<I", bits))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X}"
    return f"0x{bits:016X}"


_FENCED_LANES = (2, 4, 8, 16, 32)
_FENCED = {
    (lanes, kind): (f"<{lanes} x {floats}>", f"v{lanes}f{kind[1:]}")
    for kind, floats in (("i32", "float"), ("i64", "double"))
    for lanes in _FENCED_LANES
} | {(2, "i16"): ("float", "f32"), (4, "i16"): ("double", "f64")}
"""Floats of the size of a vector of integers, as a type and in names: fences take floats."""
_FENCE = "llvm.arithmetic.fence"


def fences() -> list[str]:
    """Return the declarations of all functions that `Text.apart` calls."""
    return [f"declare {floats} @{_FENCE}.{name}({floats})" for floats, name in _FENCED.values()]


class Text:
    """Writes the body of one function: every value gets a fresh name, blocks are in order.

    `tests_bits` says that the host has no registers for masks: LLVM then takes the bits of a
    number apart one by one, so that code which tests a bit in every lane is much better. Several
    writers of one function differ by the `hint` that names of values begin with. What is known of
    numbers by their names is in `distances`.
    """

    def __init__(self, *, tests_bits: bool = False, hint: str = "v") -> None:
        self.tests_bits = tests_bits
        self.hint = hint
        self.distances = Distances()
        self.lines: list[str] = []
        self.block = "entry"
        self._count = 0

    def fresh(self, hint: str = "") -> str:
        """Return a name that the function does not have yet, without its `%`."""
        self._count += 1
        return f"{hint or self.hint}.{self._count}"

    def labels(self, *hints: str) -> list[str]:
        """Return a name for each of several labels."""
        return [self.fresh(hint) for hint in hints]

    def let(self, code: str) -> str:
        """Give the result of an instruction a name and return it."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {code}")
        return name

    def do(self, code: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(f"  {code}")

    def at(self, pointer: str, offset: int) -> str:
        """Return a pointer to a byte behind another pointer."""
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def jump(self, target: str) -> None:
        """End the block by going to `target`."""
        self.do(f"br label %{target}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block by going to `yes` if the i1 `condition` holds, else to `no`."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def unlikely(self, condition: str, yes: str, no: str) -> None:
        """Branch as `branch` does, where `yes` is rare."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}, !prof !0")

    def likely(self, condition: str, yes: str, no: str) -> None:
        """Branch as `branch` does, where `no` is rare."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}, !prof !1")

    def shuffle(self, kind: str, lanes: int, value: str, picks: Sequence[int | str]) -> str:
        """Return the lanes of `value` with the given numbers; "poison" is any lane."""
        if list(picks) == list(range(lanes)):
            return value
        return self.shuffle_two(kind, lanes, value, "poison", picks)

    def shuffle_two(self, kind: str, lanes: int, a: str, b: str, picks: Sequence[int | str]) -> str:
        """Return lanes of two vectors; those of the second one follow those of the first."""
        vector, mask = f"<{lanes} x {kind}>", numbers("i32", picks)
        return self.let(f"shufflevector {vector} {a}, {vector} {b}, <{len(picks)} x i32> {mask}")

    def all_of(self, tests: Sequence[str]) -> str:
        """Return whether all tests hold."""
        found = tests[0] if tests else "true"
        for test in tests[1:]:
            found = self.let(f"and i1 {found}, {test}")
        return found

    def hand_over(self, kind: str, lanes: int, vector: str, place: str) -> None:
        """Store a vector whose elements are loaded one by one soon.

        Of a store of 64 bytes processors with AVX-512 hand elements on later than of 32 (measured
        on an Intel server). LLVM would join what is not volatile.
        """
        few = _HANDED_OVER // scalar_bytes(kind)
        if self.tests_bits or lanes <= few or lanes % few:
            self.do(f"store <{lanes} x {kind}> {vector}, ptr {place}, align 8")
            return
        self.leave(kind, lanes, vector, place)

    def leave(self, kind: str, lanes: int, vector: str, place: str) -> None:
        """Store a vector whose elements are loaded one by one, which LLVM is to leave so."""
        most = _HANDED_OVER // scalar_bytes(kind)
        for first in range(0, lanes, most):
            part = range(first, min(first + most, lanes))
            one = self.shuffle(kind, lanes, vector, part)
            there = self.at(place, first * scalar_bytes(kind))
            self.do(f"store volatile <{len(part)} x {kind}> {one}, ptr {there}, align 8")

    def apart(self, kind: str, lanes: int, value: str) -> str:
        """Return a vector of which LLVM does not know that it is `value`, to choose lanes of.

        LLVM 22 makes one masked `vpternlog` of bits that a constant takes from two values, where
        lanes of one of the two are chosen beside them; if the constant is in memory, it takes the
        wrong operand for it. The fence is no instruction.
        """
        if self.tests_bits or (lanes, kind) not in _FENCED or value[0] != "%":
            return value
        (floats, name), bits = _FENCED[lanes, kind], f"<{lanes} x {kind}>"
        found = self.let(f"bitcast {bits} {value} to {floats}")
        found = self.let(f"call {floats} @{_FENCE}.{name}({floats} {found})")
        return self.let(f"bitcast {floats} {found} to {bits}")

    def spread(self, kind: str, lanes: int, scalar: str) -> str:
        """Return a vector with a scalar in every lane."""
        one = self.let(f"insertelement <{lanes} x {kind}> poison, {kind} {scalar}, i64 0")
        return self.shuffle_all(kind, lanes, one)

    def shuffle_all(self, kind: str, lanes: int, value: str) -> str:
        """Return a vector with lane 0 of `value`, which has `lanes` lanes, in every lane."""
        if lanes == 1:
            return value
        vector = f"<{lanes} x {kind}>"
        return self.let(
            f"shufflevector {vector} {value}, {vector} poison, <{lanes} x i32> zeroinitializer"
        )
