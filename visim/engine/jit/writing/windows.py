"""Windows: lanes that are anywhere in an array, which have been checked, loaded or stored.

Where neighbours turn out to be adjacent, short rows are moved; else lane by lane, in the way that
the host's processor likes best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visim.engine.jit.ir.gathers import Gatherer
from visim.engine.jit.ir.lanes import move_function
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import Text, low_bits, numbers, opaque, scalar_bytes, signed
from visim.engine.jit.layout import EXCHANGE_DATA
from visim.engine.jit.writing.rows import RowWriter, pieces_of_rows

ROW_BYTES = 32
"""How much is moved at once."""


@dataclass(frozen=True, slots=True)
class Window:
    """Lanes that reach memory at `base + index * scale`, as names.

    Attributes:
        shape: that of the addresses, if they have one.
        first: the address that index 0 stands for.
        base: the pointer to it.
        index: a vector of signed 32-bit numbers; zero in lanes that are off.
        fits: whether all lanes that are on are in range.
        mask: the lanes that are on as a vector; None: all.
        bits: the same as i64.
        checked: whether all lanes are in range, also those that are off.
        near: whether all lanes may be every other element, which what is no butterfly is not.
        last: how far from `base` 4 bytes are in range, as i32, if so many may be loaded of lanes
            that have fewer; else empty.
    """

    shape: Shape | None
    lanes: int
    scale: int
    first: str
    base: str
    index: str
    fits: str
    mask: str | None
    bits: str
    checked: bool
    near: bool = True
    last: str = ""
    apart: bool = False


class WindowWriter:
    """Writes what moves lanes of windows.

    `exchange` returns the exchange area, of which so many bytes are used. `unrolls` says that lanes
    are loaded one by one where the code stands, and `skips` that every other element is looked for.
    """

    def __init__(
        self,
        rows: RowWriter,
        exchange: Callable[[int], str],
        *,
        unrolls: bool,
        skips: bool,
    ) -> None:
        self.rows = rows
        self.text = rows.text
        self.library = rows.library
        self.exchange = exchange
        self.unrolls = unrolls
        self.skips = skips

    def move_all(self, verb: str, window: Window, scalar: str, parts: int) -> None:
        """Move the lanes of a window from or to vectors in the exchange area."""
        if verb == "load":
            self.leave(window.lanes, scalar, self.load(window, scalar, parts))
        else:
            self.store(window, scalar, self.given(window.lanes, scalar, parts))

    def leave(self, lanes: int, scalar: str, values: list[str]) -> None:
        """Leave vectors in the exchange area."""
        places = self._vectors(lanes, scalar, len(values))
        for value, place in zip(values, places, strict=True):
            self.text.do(f"store <{lanes} x {scalar}> {value}, ptr {place}, align 8")

    def given(self, lanes: int, scalar: str, parts: int) -> list[str]:
        """Return the vectors that stand in the exchange area."""
        text, vector = self.text, f"<{lanes} x {scalar}>"
        places = self._vectors(lanes, scalar, parts)
        return [text.let(f"load {vector}, ptr {place}, align 8") for place in places]

    def _vectors(self, lanes: int, scalar: str, parts: int) -> list[str]:
        """Return where vectors stand in the exchange area."""
        size = lanes * scalar_bytes(scalar)
        data = self.data(parts * size)
        return [self.text.at(data, part * size) for part in range(parts)]

    # Loads

    def load(self, window: Window, scalar: str, parts: int) -> list[str]:
        """Return `parts` vectors of the elements at the lanes of a window, which fits."""
        text, found = self.text, list[tuple[list[str], str]]()
        join = text.fresh("loaded")
        for piece, stride in self._pieces(window, scalar, parts, loads=True):
            apart = self._begin_rows(window, piece, stride)
            rows = pieces_of_rows(window.lanes, piece, stride, self._rows(window, piece))
            found.append((self.rows.load(rows, scalar, parts), text.block))
            text.jump(join)
            text.label(apart)
        found.append((self.gathered(window, scalar, parts), text.block))
        text.jump(join)
        text.label(join)
        vector = f"<{window.lanes} x {scalar}>"
        return [
            text.let(
                f"phi {vector} " + ", ".join(f"[ {some[part]}, %{block} ]" for some, block in found)
            )
            for part in range(parts)
        ]

    def gathered(self, window: Window, scalar: str, parts: int) -> list[str]:
        """Return `parts` vectors of the elements at lanes that are not looked at for rows."""
        gatherer = self._by_hardware(window, scalar, parts)
        if gatherer:
            mask = "" if window.mask is None or window.checked else window.mask
            return gatherer.load(
                window.base, window.index, window.lanes, scalar, parts, window.scale, mask
            )
        narrow = self.rows.gatherer
        if window.last and narrow is not None:
            where = window.base, window.index, window.last
            return [narrow.load_narrow(*where, window.lanes, scalar, window.scale)]
        if self.unrolls and window.checked:
            return self._one_by_one(window, scalar, parts)
        lanes, size = window.lanes, parts * scalar_bytes(scalar)
        data = self._call("load", window, size)
        return self.rows.load(pieces_of_rows(lanes, lanes, size, [data]), scalar, parts)

    def _by_hardware(
        self, window: Window, scalar: str, parts: int, *, stores: bool = False
    ) -> Gatherer | None:
        """Return what moves the lanes of a window; None if the host does not, or not fast."""
        gatherer, lanes, scale = self.rows.gatherer, window.lanes, window.scale
        if gatherer is None or not gatherer.suits(lanes, scalar, parts, scale, stores=stores):
            return None
        return gatherer

    def _one_by_one(self, window: Window, scalar: str, parts: int) -> list[str]:
        """Load each lane by itself; those that are off have an index that is in range."""
        text, lanes = self.text, window.lanes
        pointers = self._pointers(window)
        woven = self.rows.weaver.gathered(pointers, scalar, parts)
        if woven is not None:
            return woven
        vector, found = f"<{lanes} x {scalar}>", ["poison"] * parts
        for lane, pointer in enumerate(pointers):
            for part in range(parts):
                place = text.let(f"getelementptr {scalar}, ptr {pointer}, i64 {part}")
                one = text.let(f"load {scalar}, ptr {place}, align 1")
                found[part] = text.let(
                    f"insertelement {vector} {found[part]}, {scalar} {one}, i64 {lane}"
                )
        return found

    # Stores

    def store(self, window: Window, scalar: str, values: list[str]) -> None:
        """Store vectors at the lanes of a window, which fits, lowest lane first."""
        text, parts = self.text, len(values)
        join, size = text.fresh("stored"), parts * scalar_bytes(scalar)
        for piece, stride in self._pieces(window, scalar, parts, loads=False):
            apart = self._begin_rows(window, piece, stride)
            pointers = self._rows(window, piece)
            self.rows.store_all(pointers, window.lanes, scalar, values, stride)
            text.jump(join)
            text.label(apart)
        if self._scatter(window, scalar, values):
            text.jump(join)
            text.label(join)
            return
        woven = self.rows.weaver.woven(values, window.lanes, scalar)
        self._call("store", window, size, woven, scalar)
        text.jump(join)
        text.label(join)

    def _scatter(self, window: Window, scalar: str, values: list[str]) -> bool:
        """Store the lanes of a window by the host's scatters; whether that can be done."""
        gatherer = self._by_hardware(window, scalar, len(values), stores=True)
        if gatherer is None or not gatherer.scatters:
            return False
        lanes, mask = window.lanes, window.mask or ""
        gatherer.store(window.base, window.index, lanes, scalar, values, window.scale, mask)
        return True

    # Lane by lane

    def _call(self, verb: str, window: Window, size: int, given: str = "", scalar: str = "") -> str:
        """Move `size` bytes for each lane; return where values are, lane after lane."""
        lanes, mask = window.lanes, window.bits
        if verb == "load" and window.checked:
            mask = str(signed((1 << lanes) - 1, 64))
        name = f"{verb}.lanes.{lanes}.{size}.{window.scale}"
        if name not in self.library.functions:
            function = move_function(name, verb, lanes, size, window.scale)
            self.library.functions[name] = function
        data = self.data(lanes * size)
        if given:
            self.text.hand_over(scalar, lanes * size // scalar_bytes(scalar), given, data)
        self.do(name, window, mask)
        return data

    def data(self, size: int) -> str:
        """Return where values stand, of which there are `size` bytes."""
        return self.text.at(self.exchange(EXCHANGE_DATA + size), EXCHANGE_DATA)

    def do(self, name: str, window: Window, mask: str) -> None:
        """Call a function for the lanes of a mask."""
        text, area = self.text, self.exchange(4 * window.lanes)
        self.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        text.hand_over("i32", window.lanes, window.index, area)
        text.do(f"call void @{name}(ptr {window.base}, ptr {area}, i64 {mask})")

    # Rows

    def _pieces(
        self, window: Window, scalar: str, parts: int, *, loads: bool
    ) -> list[tuple[int, int]]:
        """Return how many neighbours may turn out to be rows, and how far apart, if any are.

        Pairs are what is left of rows where elements are exchanged over short distances, and every
        other element where neighbours are.
        """
        lanes, size = window.lanes, parts * scalar_bytes(scalar)
        most = min(lanes, ROW_BYTES // max(4, scalar_bytes(scalar)))
        if size % window.scale or lanes % most:
            return []
        found = [(most, size), (2, size)] if most > 2 else [(most, size)]
        gatherer = self._by_hardware(window, scalar, parts, stores=not loads)
        if gatherer is not None and (loads or gatherer.scatters):
            return [] if window.apart else found[:1]
        if parts == 1 and self.skips and window.near and lanes % 2 == 0:
            found.append((lanes, 2 * size))
        return found

    def _begin_rows(self, window: Window, piece: int, stride: int) -> str:
        """Begin code for where lanes are in pieces whose neighbours are `stride` bytes apart.

        Return the label for where they are not.
        """
        text, lanes = self.text, window.lanes
        row, apart = text.fresh("row"), text.fresh("apart")
        step, kind = stride // window.scale, f"<{lanes} x i32>"
        first = text.let(f"extractelement {kind} {window.index}, i64 0")
        last = text.let(f"extractelement {kind} {window.index}, i64 {piece - 1}")
        far = text.let(f"sub i32 {last}, {first}")
        near, look = text.let(f"icmp eq i32 {far}, {(piece - 1) * step}"), text.fresh("look")
        if window.mask is not None:
            every = text.let(f"icmp eq i64 {window.bits}, {signed((1 << lanes) - 1, 64)}")
            near = text.let(f"and i1 {near}, {every}")
        text.branch(near, look, apart)
        text.label(look)
        picks = [lane // piece * piece for lane in range(lanes)]
        firsts = text.shuffle("i32", lanes, window.index, picks)
        steps = numbers("i32", [lane % piece * step for lane in range(lanes)])
        wanted = text.let(f"add {kind} {firsts}, {steps}")
        other = text.let(f"icmp ne {kind} {window.index}, {wanted}")
        text.branch(none_of(text, other, lanes), row, apart)
        text.label(row)
        return apart

    def _rows(self, window: Window, piece: int) -> list[str]:
        """Return where the pieces of a window begin."""
        return [self._pointer(window, lane) for lane in range(0, window.lanes, piece)]

    def _pointers(self, window: Window) -> list[str]:
        """Return where all lanes are, which are in range.

        Indices leave vectors by twos: the way from there to addresses is narrower than all that
        follows. LLVM would take the two apart where they still are a vector, so it is not told.
        """
        text, lanes, found = self.text, window.lanes, list[str]()
        if not text.tests_bits:
            return self._pointers_by_memory(window)
        if lanes % 2:
            return [self._pointer(window, lane) for lane in range(lanes)]
        twos = text.let(f"bitcast <{lanes} x i32> {window.index} to <{lanes // 2} x i64>")
        for pair in range(lanes // 2):
            both = text.let(f"extractelement <{lanes // 2} x i64> {twos}, i64 {pair}")
            for half in (f"and i64 {both}, {low_bits(32)}", f"lshr i64 {both}, 32"):
                found.append(self._at(window, text.let(opaque(text.let(half)))))
        return found

    def _pointers_by_memory(self, window: Window) -> list[str]:
        """Return where all lanes are; indices pass through memory.

        While registers of 64 bytes are used, one unit of a processor takes vectors apart.
        """
        text, area, found = self.text, self.exchange(4 * window.lanes), list[str]()
        text.hand_over("i32", window.lanes, window.index, area)
        for lane in range(window.lanes):
            one = text.let(f"load i32, ptr {text.at(area, 4 * lane)}, align 4")
            found.append(self._at(window, text.let(f"zext i32 {one} to i64")))
        return found

    def _pointer(self, window: Window, lane: int) -> str:
        """Return where a lane is."""
        text, word = self.text, "zext" if window.checked else "sext"
        one = text.let(f"extractelement <{window.lanes} x i32> {window.index}, i64 {lane}")
        return self._at(window, text.let(f"{word} i32 {one} to i64"))

    def _at(self, window: Window, index: str) -> str:
        """Return the pointer to an index of 64 bits."""
        text = self.text
        offset = text.let(f"mul i64 {index}, {window.scale}")
        return text.let(f"getelementptr i8, ptr {window.base}, i64 {offset}")


def none_of(text: Text, vector: str, lanes: int) -> str:
    """Return whether a vector of i1 is false in all lanes."""
    whole = text.let(f"bitcast <{lanes} x i1> {vector} to i{lanes}")
    return text.let(f"icmp eq i{lanes} {whole}, 0")
