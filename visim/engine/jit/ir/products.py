"""Sums of products of bytes, four of which stand in each dword: the micro-operation `dot`.

Processors with VNNI add the four products of unsigned and signed bytes to a number at once. Where
both are of one kind, the sign bits of one of them are flipped, which adds 128 to its bytes or
takes that away, and what that changes is made up for by sums of the others. All other x86 add two
products of words at once: the bytes at even places are made words, then those at odd places.

Everything is modulo 2**32, so that the order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text, splat
from visim.engine.jit.ir.weaving import Weaver

_SIGNS, _ONES = 0x8080_8080, 0x0101_0101
_SHIFT = 7
"""Sums of bytes are multiplied by 128."""
_VNNI = {16: "512", 8: "256", 4: "128"}
_WORDS = {8: "avx2.pmadd.wd", 4: "sse2.pmadd.wd"}


@dataclass(frozen=True, slots=True)
class Signs:
    """Whether the bytes of the left and the right factor are signed."""

    left: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Host:
    """What the host has: dwords of its registers, sums of four products of bytes, of two words'."""

    lanes: int
    has_byte_products: bool
    has_word_products: bool


class ProductWriter:
    """Writes such sums, of `lanes` dwords."""

    def __init__(self, text: Text, library: Library, host: Host, lanes: int, signs: Signs) -> None:
        self.text, self.library = text, library
        self.lanes, self.signs = lanes, signs
        sizes = _VNNI if host.has_byte_products else _WORDS if host.has_word_products else {}
        fitting = (size for size in sizes if size <= host.lanes and not lanes % size)
        self.size = next(fitting, lanes)
        self.by_bytes = host.has_byte_products and self.size in sizes
        self.by_words = not self.by_bytes and self.size in sizes

    def left(self, lanes: int, value: str) -> list[str]:
        """Return the forms in which `lanes` dwords of the left factor are needed."""
        if self.by_words:
            return self._words(lanes, value, signed=self.signs.left)
        if self.by_bytes and self.signs.left == self.signs.right:
            return [self.text.let(f"xor <{lanes} x i32> {value}, {splat('i32', lanes, _SIGNS)}")]
        return [value]

    def add(self, total: str, terms: Sequence[tuple[Sequence[str], str]]) -> str:
        """Return a number and products added to it.

        Args:
            total: the number.
            terms: of each product the forms of the left factor, and the right factor.
        """
        parts: list[str] = []
        for first in range(0, self.lanes, self.size):
            cut = [([self._cut(form, first) for form in a], self._cut(b, first)) for a, b in terms]
            parts.append(self._part(self._cut(total, first), cut))
        return Weaver(self.text).joined(parts, self.size, "i32")

    def _cut(self, value: str, first: int) -> str:
        if self.size == self.lanes:
            return value
        return self.text.shuffle("i32", self.lanes, value, range(first, first + self.size))

    def _part(self, total: str, terms: Sequence[tuple[Sequence[str], str]]) -> str:
        if self.by_bytes:
            if self.signs.left == self.signs.right:
                total = self._made_up(total, [b for _, b in terms])
            for (a,), b in terms:
                total = self._bytes(total, *((a, b) if self.signs.right else (b, a)))
            return total
        for forms, b in terms:
            if self.by_words:
                rights = self._words(self.size, b, signed=self.signs.right)
                for a, right in zip(forms, rights, strict=True):
                    total = self._plus(total, self._two_products(a, right))
            else:
                total = self._one_by_one(total, forms[0], b)
        return total

    # Bytes

    def _made_up(self, total: str, rights: Sequence[str]) -> str:
        """Return a number less, or more, 128 times all bytes of the right factors."""
        found = "zeroinitializer"
        if self.signs.right:
            for right in rights:
                found = self._bytes(found, splat("i32", self.size, _SIGNS), right)
            return self.text.let(f"sub <{self.size} x i32> {total}, {found}")
        for right in rights:
            found = self._bytes(found, right, splat("i32", self.size, _ONES))
        count = splat("i32", self.size, _SHIFT)
        return self._plus(total, self.text.let(f"shl <{self.size} x i32> {found}, {count}"))

    def _bytes(self, total: str, unsigned: str, signed: str) -> str:
        name, vector = f"llvm.x86.avx512.vpdpbusd.{_VNNI[self.size]}", f"<{self.size} x i32>"
        function = self.library.intrinsic(name, vector, vector, vector, vector)
        given = ", ".join(f"{vector} {one}" for one in (total, unsigned, signed))
        return self.text.let(f"call {vector} {function}({given})")

    # Words

    def _words(self, lanes: int, value: str, *, signed: bool) -> list[str]:
        """Return the bytes at even and at odd places of dwords as words."""
        text, words, back = self.text, f"<{2 * lanes} x i16>", f"<{lanes} x i32>"
        value = text.let(f"bitcast {back} {value} to {words}")
        eight, shift = splat("i16", 2 * lanes, 8), "ashr" if signed else "lshr"
        high = text.let(f"shl {words} {value}, {eight}")
        found = [text.let(f"{shift} {words} {one}, {eight}") for one in (high, value)]
        return [text.let(f"bitcast {words} {one} to {back}") for one in found]

    def _two_products(self, a: str, b: str) -> str:
        name, vector = f"llvm.x86.{_WORDS[self.size]}", f"<{self.size} x i32>"
        words = f"<{2 * self.size} x i16>"
        function = self.library.intrinsic(name, vector, words, words)
        factors = [self.text.let(f"bitcast {vector} {one} to {words}") for one in (a, b)]
        given = ", ".join(f"{words} {one}" for one in factors)
        return self.text.let(f"call {vector} {function}({given})")

    # Bytes one by one

    def _one_by_one(self, total: str, a: str, b: str) -> str:
        for place in range(4):
            one = self._byte(a, place, signed=self.signs.left)
            other = self._byte(b, place, signed=self.signs.right)
            product = self.text.let(f"mul <{self.size} x i32> {one}, {other}")
            total = self._plus(total, product)
        return total

    def _byte(self, value: str, place: int, *, signed: bool) -> str:
        vector, left = f"<{self.size} x i32>", splat("i32", self.size, 24 - 8 * place)
        high = self.text.let(f"shl {vector} {value}, {left}")
        shift, right = "ashr" if signed else "lshr", splat("i32", self.size, 24)
        return self.text.let(f"{shift} {vector} {high}, {right}")

    def _plus(self, a: str, b: str) -> str:
        return self.text.let(f"add <{self.size} x i32> {a}, {b}")


__all__ = ["Host", "ProductWriter", "Signs"]
