"""Gathers and scatters of the host: lanes at any distance in memory, some by one instruction.

They take elements of 4 or 8 bytes. Gathers fill a register: those of 32 bytes load as fast as those
of 64 by themselves, but lanes that are taken apart for them, and joined behind them, cost more
(measured on an Intel server with AMX). Lanes that are off are left alone; loaded they are zero.
"""

from __future__ import annotations

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text, numbers, scalar_bytes, splat
from visim.engine.jit.ir.weaving import Weaver

_BYTES = 32
_WIDE = 64
"""Bytes of a register of AVX-512."""
_GATHERS = {
    (8, 32): "gather3siv8.si",
    (4, 64): "gather3siv4.di",
    (16, 32): "gather.dpi.512",
    (8, 64): "gather.dpq.512",
}
"""The ends of the names of AVX-512's gathers, by lanes and bits of an element."""
_SCALES = {1, 2, 4, 8}
_LONG = "i64"


class Gatherer:
    """Writes gathers; `scatters` says that the host has those of AVX-512, and scatters.

    Lane i is at `base + index[i] * scale`; indices are signed numbers of 32 bits. Scatters go from
    the lowest lane to the highest one.
    """

    def __init__(self, text: Text, library: Library, *, scatters: bool) -> None:
        self.text = text
        self.library = library
        self.scatters = scatters
        self._weaver = Weaver(text)

    @staticmethod
    def suits(lanes: int, scalar: str, parts: int, scale: int, *, stores: bool = False) -> bool:
        """Whether lanes of so many elements can be gathered, or scattered if it `stores`."""
        size = parts * scalar_bytes(scalar)
        if parts == 3 and size == 12 and not stores:
            size = 4
        elif parts > 2 or (parts == 2 and size != 8):
            return False
        return size in {4, 8} and not lanes * size % _BYTES and scale in _SCALES

    def load(
        self, base: str, index: str, lanes: int, scalar: str, parts: int, scale: int, mask: str
    ) -> list[str]:
        """Return `parts` vectors of the elements of lanes; `mask` is a vector, or empty: all on."""
        if parts != 2:
            size = scalar_bytes(scalar)
            places = [self.text.at(base, part * size) for part in range(parts)]
            return [self._gather(at, index, lanes, scalar, scale, mask) for at in places]
        both = self._gather(base, index, lanes, _LONG, scale, mask)
        kind, count = f"<{2 * lanes} x {scalar}>", 2 * lanes
        whole = self.text.let(f"bitcast <{lanes} x {_LONG}> {both} to {kind}")
        return [self.text.shuffle(scalar, count, whole, range(part, count, 2)) for part in range(2)]

    @staticmethod
    def suits_narrow(lanes: int, scalar: str) -> bool:
        """Whether lanes of elements of 1 or 2 bytes can be cut out of what is gathered."""
        return scalar_bytes(scalar) < 4 and not 4 * lanes % _BYTES

    def load_narrow(
        self, base: str, index: str, last: str, lanes: int, scalar: str, scale: int
    ) -> str:
        """Return a vector of narrow elements, each cut out of 4 bytes that are in range.

        Indices are not negative, also times `scale`. `last` is how far from `base` 4 bytes may be,
        as i32: what is behind that is cut out of those.
        """
        text, kind, bits = self.text, f"<{lanes} x i32>", 8 * scalar_bytes(scalar)
        place = index
        if scale > 1:
            place = text.let(f"mul {kind} {index}, {splat('i32', lanes, scale)}")
        umin = self.library.intrinsic(f"llvm.umin.v{lanes}i32", kind, kind, kind)
        most = text.spread("i32", lanes, last)
        start = text.let(f"call {kind} {umin}({kind} {place}, {kind} {most})")
        found = self._gather(base, start, lanes, "i32", 1, "")
        away = text.let(f"sub {kind} {place}, {start}")
        shift = text.let(f"shl {kind} {away}, {splat('i32', lanes, 3)}")
        found = text.let(f"lshr {kind} {found}, {shift}")
        found = text.let(f"trunc {kind} {found} to <{lanes} x i{bits}>")
        return text.let(f"bitcast <{lanes} x i{bits}> {found} to <{lanes} x {scalar}>")

    def _gather(self, base: str, index: str, lanes: int, scalar: str, scale: int, mask: str) -> str:
        text, bits = self.text, 8 * scalar_bytes(scalar)
        few = self._most(lanes * bits // 8) * 8 // bits
        kind, found = f"<{few} x i{bits}>", list[str]()
        for first in range(0, lanes, few):
            picks = range(first, first + few)
            some = text.shuffle("i32", lanes, index, picks)
            on = text.shuffle("i1", lanes, mask, picks) if mask else ""
            write = self._by_masks if self.scatters else self._by_signs
            one = write(few, bits, base, some, scale, on)
            found.append(text.let(f"bitcast {kind} {one} to <{few} x {scalar}>"))
        return self._weaver.joined(found, few, scalar)

    def _most(self, size: int) -> int:
        """Return how many bytes one gather loads, of `size` in all."""
        return _WIDE if self.scatters and not size % _WIDE else _BYTES

    def _by_signs(self, few: int, bits: int, base: str, index: str, scale: int, on: str) -> str:
        """Gather with AVX2."""
        kind, indices = f"<{few} x i{bits}>", f"<{few} x i32>"
        name = self.library.intrinsic(
            f"llvm.x86.avx2.gather.d.{'d' if bits == 32 else 'q'}.256",
            *(kind, kind, "ptr", indices, kind, "i8"),
        )
        signs = splat(f"i{bits}", few, -1)
        if on:
            signs = self.text.let(f"sext <{few} x i1> {on} to {kind}")
        return self.text.let(
            f"call {kind} {name}({kind} zeroinitializer, ptr {base}, "
            f"{indices} {index}, {kind} {signs}, i8 {scale})"
        )

    def _by_masks(self, few: int, bits: int, base: str, index: str, scale: int, on: str) -> str:
        """Gather with AVX-512."""
        kind, indices, bools = f"<{few} x i{bits}>", f"<{few} x i32>", f"<{few} x i1>"
        name = self.library.intrinsic(
            f"llvm.x86.avx512.mask.{_GATHERS[few, bits]}",
            *(kind, kind, "ptr", indices, bools, "i32"),
        )
        return self.text.let(
            f"call {kind} {name}({kind} zeroinitializer, ptr {base}, {indices} {index}, "
            f"{bools} {on or splat('i1', few, 'true')}, i32 {scale})"
        )

    def store(
        self,
        base: str,
        index: str,
        lanes: int,
        scalar: str,
        values: list[str],
        scale: int,
        mask: str,
    ) -> None:
        """Store one or two elements of lanes side by side."""
        text, bits = self.text, 8 * scalar_bytes(scalar)
        whole, few = values[0], _BYTES * 8 // (bits * len(values))
        if len(values) == 2:
            woven = self._weaver.woven(values, lanes, scalar)
            whole = text.let(f"bitcast <{2 * lanes} x {scalar}> {woven} to <{lanes} x {_LONG}>")
            scalar, bits = _LONG, 64
        kind, indices, bools = f"<{few} x i{bits}>", f"<{few} x i32>", f"<{few} x i1>"
        name = self.library.intrinsic(
            f"llvm.x86.avx512.mask.scattersi{'v8.si' if bits == 32 else 'v4.di'}",
            *("void", "ptr", bools, indices, kind, "i32"),
        )
        for first in range(0, lanes, few):
            picks = range(first, first + few)
            some = text.shuffle("i32", lanes, index, picks)
            on = text.shuffle("i1", lanes, mask, picks) if mask else splat("i1", few, "true")
            one = text.shuffle(scalar, lanes, whole, picks)
            one = text.let(f"bitcast <{few} x {scalar}> {one} to {kind}")
            text.do(
                f"call void {name}(ptr {base}, {bools} {on}, {indices} {some}, {kind} {one}, "
                f"i32 {scale})"
            )


def distances(lanes: int, stride: int) -> str:
    """Return the indices of lanes at equal distances in bytes; scale is 1."""
    return numbers("i32", [lane * stride for lane in range(lanes)])
