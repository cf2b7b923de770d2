"""Tables that fit a few registers of AVX-512: lanes take their elements by permutations.

A permutation of two registers finds any of up to 128 bytes, 64 words, 32 dwords or 16 elements of
eight bytes for each lane, and one more and a choice twice as many. Loaded one by one, lanes would
leave vectors, and come back, through memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text, numbers, scalar_bytes, signed, splat
from visim.engine.jit.ir.weaving import Weaver

_BYTES = 64
"""Of a register."""
_MOST_REGISTERS = {1: 4, 2: 8, 4: 4, 8: 4}
"""By bytes of an element. Indices of bytes are bytes. Dwords of 32 lanes fill two registers, for
each of which all of a table is permuted: from 8 registers they take nearly as long as Zen 4 takes
to gather them (measured there)."""
_KINDS = {1: "qi", 2: "hi", 4: "si", 8: "di"}
_KINDS_OF_TWO = {1: "qi", 2: "hi", 4: "d", 8: "q"}
"""The ends of the names of permutations of one register, and of two, by bytes of an element."""


class Permuter:
    """Takes lanes from tables; `permuted_bytes` is how many bytes the host permutes at once."""

    def __init__(self, text: Text, library: Library, *, permuted_bytes: int) -> None:
        self.text = text
        self.library = library
        self._permuted_bytes = permuted_bytes
        self._weaver = Weaver(text)

    def suits(self, entries: int, scalar: str, parts: int, scale: int) -> bool:
        """Whether a table of so many entries (0: any), `scale` bytes apart, fits registers."""
        size = scalar_bytes(scalar)
        if parts > 1 or scale != size or (size == 1 and self._permuted_bytes < _BYTES):
            return False
        return 0 < entries * size <= _MOST_REGISTERS[size] * _BYTES

    def load(self, base: str, index: str, lanes: int, scalar: str, entries: int) -> str:
        """Return the entries at the indices of lanes, which are in the table, as all of it is."""
        text, size = self.text, scalar_bytes(scalar)
        kind, count = f"i{8 * size}", _BYTES // size
        table = [
            self._register(text.at(base, first * size), kind, count, min(count, entries - first))
            for first in range(0, entries, count)
        ]
        pieces = list[str]()
        for first in range(0, lanes, count):
            few = min(count, lanes - first)
            places = self._places(index, lanes, range(first, first + few), kind)
            found = self._taken(table, places, kind, count)
            found = text.shuffle(kind, count, found, range(few))
            pieces.append(text.let(f"bitcast <{few} x {kind}> {found} to <{few} x {scalar}>"))
        return self._weaver.joined(pieces, min(count, lanes), scalar)

    def _register(self, place: str, kind: str, count: int, few: int) -> str:
        """Load some entries of a table; nothing is read behind them."""
        vector = f"<{count} x {kind}>"
        if few == count:
            return self.text.let(f"load {vector}, ptr {place}, align 1")
        on = numbers("i1", ("true" if number < few else "false" for number in range(count)))
        load = self.library.intrinsic(
            f"llvm.masked.load.v{count}{kind}.p0", vector, "ptr", f"<{count} x i1>", vector
        )
        return self.text.let(
            f"call {vector} {load}(ptr align 1 {place}, <{count} x i1> {on}, {vector} poison)"
        )

    def _places(self, index: str, lanes: int, picks: range, kind: str) -> str:
        """Return indices of some lanes as elements of a register, whose other ones are any."""
        text, count = self.text, _BYTES // scalar_bytes(kind)
        some: list[int | str] = [*picks, *["poison"] * (count - len(picks))]
        if kind == "i64":
            part = text.shuffle("i32", lanes, index, some)
            return text.let(f"zext <{count} x i32> {part} to <{count} x i64>")
        if kind != "i32":
            index = text.let(f"trunc <{lanes} x i32> {index} to <{lanes} x {kind}>")
        return text.shuffle(kind, lanes, index, some)

    def _taken(self, table: Sequence[str], places: str, kind: str, count: int) -> str:
        """Take elements from registers: from two at a time, of which bits of indices choose."""
        text, vector, reach = self.text, f"<{count} x {kind}>", 2 * count
        bits = 8 * scalar_bytes(kind)
        found = [
            self._of_two(table[first : first + 2], places, kind, count)
            for first in range(0, len(table), 2)
        ]
        while len(found) > 1:
            bit = text.let(f"and {vector} {places}, {splat(kind, count, signed(reach, bits))}")
            on = text.let(f"icmp ne {vector} {bit}, zeroinitializer")
            chosen = [
                text.let(f"select <{count} x i1> {on}, {vector} {high}, {vector} {low}")
                for low, high in zip(found[::2], found[1::2], strict=False)
            ]
            found, reach = chosen + found[2 * len(chosen) :], 2 * reach
        return found[0]

    def _of_two(self, table: Sequence[str], places: str, kind: str, count: int) -> str:
        """Take elements from one register or two."""
        vector, size = f"<{count} x {kind}>", scalar_bytes(kind)
        if len(table) == 1:
            name = f"llvm.x86.avx512.permvar.{_KINDS[size]}.512"
            take = self.library.intrinsic(name, vector, vector, vector)
            return self.text.let(f"call {vector} {take}({vector} {table[0]}, {vector} {places})")
        name = f"llvm.x86.avx512.vpermi2var.{_KINDS_OF_TWO[size]}.512"
        take = self.library.intrinsic(name, vector, vector, vector, vector)
        low, high = table
        return self.text.let(
            f"call {vector} {take}({vector} {low}, {vector} {places}, {vector} {high})"
        )
