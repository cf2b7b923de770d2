"""Random operands that are legal for an instruction: types, regions, modifiers, constants.

Regions touch at most two registers of the device, which its instructions can do.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

from visim.isa.operand_types import Modifiers
from visim.target import Platform
from visim.types import BF, DF, HF, UQ, DataType, F, Q

VARIABLE_BYTES = 128
"""Size of each variable that programs compute with."""
_SPECIAL_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 65504.0, 1e-7, float("inf"), float("nan"))
_SPECIAL_INTEGERS = (0, 1, 2, 7, 8, 31, 32, 127, 128, 255, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000)


@dataclass(frozen=True, slots=True)
class Span:
    """The channels of an instruction: `size` of them from `offset` on, masked or not."""

    size: int
    offset: int
    is_masked: bool

    def __str__(self) -> str:
        return f"(M{self.offset // 4 + 1}{'' if self.is_masked else '_NM'}, {self.size})"


def types_of(platform: Platform, types: frozenset[DataType]) -> list[DataType]:
    """Return the types that programs for a device compute with, out of `types`."""
    missing = set[DataType]() if platform.has_bf16 else {BF}
    if not platform.has_fp64:
        missing.add(DF)
    if not platform.has_int64:
        missing |= {Q, UQ}
    return sorted(types - missing, key=lambda kind: kind.name)


def variable(kind: DataType, number: int) -> str:
    """Return the name of a variable of a type."""
    return f"{kind.name.upper()}{number}"


class OperandWriter:
    """Writes operands for one device."""

    def __init__(self, rng: random.Random, platform: Platform, copies: int) -> None:
        self.rng = rng
        self.platform = platform
        self.copies = copies

    def span(self, simd: int, widest: int) -> Span:
        """Return channels for an instruction whose widest element has `widest` bytes."""
        most = min(simd, 16, 2 * self.platform.grf_bytes // widest)
        sizes = [size for size in (1, 2, 4, 8, 16) if size <= most]
        size = self.rng.choice([*sizes, most, most, most])
        step = max(size, 4)
        offset = self.rng.randrange(0, simd, step) if simd > step else 0
        return Span(size, offset, is_masked=self.rng.random() < 0.8)

    def destination(self, kind: DataType, span: Span) -> str:
        """Return a destination: a variable, a place in it, a stride."""
        fitting = [
            stride
            for stride in (1, 2, 4)
            if stride * kind.bytes * span.size <= 2 * self.platform.grf_bytes
        ]
        stride = self.rng.choice([1, *fitting]) if fitting else 1
        return f"{self._origin(kind, (span.size - 1) * stride + 1)}<{stride}>"

    def source(self, kind: DataType, span: Span, modifiers: Modifiers) -> str:
        """Return a source: a variable with a region, and perhaps a modifier."""
        width, across, down = self.rng.choice(self._regions(kind, span.size))
        rows = span.size // width
        last = (rows - 1) * down + (width - 1) * across
        sign = self._modifier(kind, modifiers)
        return f"{sign}{self._origin(kind, last + 1)}<{down};{width},{across}>"

    def _regions(self, kind: DataType, size: int) -> list[tuple[int, int, int]]:
        """Return (width, horizontal, vertical stride) that stay in two registers."""
        most = min(2 * self.platform.grf_bytes, VARIABLE_BYTES) // kind.bytes
        found = [(1, 0, 0), (1, 0, 1)]
        for width in (2, 4, 8, 16):
            for across in (1, 2):
                for down in (0, width * across):
                    rows = size // width
                    if width <= size and down <= 32:
                        last = (rows - 1) * down + (width - 1) * across
                        found += [(width, across, down)] * (last < most)
        return [one for one in found if (size // one[0] - 1) * one[2] < most]

    def _origin(self, kind: DataType, elements: int) -> str:
        """Return a variable and a place in it from which `elements` elements follow."""
        per_register = self.platform.grf_bytes // kind.bytes
        number = self.rng.randrange(self.copies)
        room = VARIABLE_BYTES // kind.bytes - elements
        place = self.rng.randint(0, room) if room > 0 and self.rng.random() < 0.3 else 0
        if place % per_register + elements > 2 * per_register:
            place -= place % per_register
        return f"{variable(kind, number)}({place // per_register},{place % per_register})"

    def _modifier(self, kind: DataType, modifiers: Modifiers) -> str:
        if self.rng.random() < 0.75:
            return ""
        if modifiers is Modifiers.LOGIC:
            return "(~)"
        if modifiers is Modifiers.ARITHMETIC and kind.is_signed:
            return self.rng.choice(("(-)", "(abs)", "(-abs)"))
        return ""

    def immediate(self, kind: DataType) -> str:
        """Return a constant, special values more often than not."""
        if kind.is_float:
            value = self.rng.choice((*_SPECIAL_FLOATS, self.rng.uniform(-100, 100)))
            code = {HF: "e", F: "f", DF: "d"}[kind]
            bits = int.from_bytes(struct.pack(f"<{code}", value), "little")
        else:
            bits = self.rng.choice((*_SPECIAL_INTEGERS, self.rng.getrandbits(32)))
            bits &= (1 << kind.bits) - 1
        return f"0x{bits:x}:{kind.name}"
