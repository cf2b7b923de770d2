"""The functions of claims: who accesses memory is compared with who did, cell after cell.

Each kind of access is a function. Lanes side by side are done as vectors of cells; others one after
another, the lowest first. `visim.engine.claims` says what words are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from visim.engine.claims import (
    CELL_BYTES,
    CHANNEL_SHIFT,
    GROUP,
    PATTERN_SHIFT,
    PHASES,
    SEVERAL_ITEMS,
    WHOLE,
    WORD_BYTES,
)
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text, numbers, signed, splat
from visim.engine.jit.writing.claimwords import Accessor, ClaimWords

_CELLS = 8
"""So many cells are compared at once: as many words as a register of AVX-512 has."""
PIECE = 8
"""So many lanes are looked at together where not all are side by side."""
_SHIFT_PATTERN = PATTERN_SHIFT + 2


@dataclass(frozen=True, slots=True)
class ClaimCall:
    """What claims have in common that call one function: see `Claim`."""

    verb: str
    is_local: bool
    lanes: int
    bytes: int
    first: int | None
    words: tuple[int, int]
    bits: int
    launch: int

    @property
    def name(self) -> str:
        """The name of the function."""
        memory = "slm" if self.is_local else "flat"
        whose = "whole" if self.first is None else str(self.first)
        return f"claim.{self.verb}.{memory}.{self.lanes}x{self.bytes}.{whose}"

    def make(self, library: Library) -> None:
        """Make the function for lanes anywhere, which is given addresses."""
        if self.name not in library.functions:
            library.functions[self.name] = _ClaimFunction(self, library).written()

    def make_row(self, library: Library) -> None:
        """Make the function for lanes side by side, which is given the address of the first."""
        name = f"{self.name}.row"
        if name not in library.functions:
            self.make(library)
            library.functions[name] = _ClaimFunction(self, library).written_row()

    @property
    def piece(self) -> ClaimCall:
        """The shape of a part of the lanes, which is given what its channels begin with."""
        return replace(self, lanes=PIECE, first=None if self.first is None else 0)

    @property
    def is_narrow(self) -> bool:
        """Whether lanes side by side share cells."""
        return self.bytes < CELL_BYTES

    @property
    def cells(self) -> int:
        """How many cells lanes side by side reach; narrow ones may begin inside of a cell."""
        if self.is_narrow:
            return (self.lanes * self.bytes + 2 * CELL_BYTES - 1 - self.bytes) // CELL_BYTES
        return self.lanes * self.bytes // CELL_BYTES

    @property
    def has_rows(self) -> bool:
        """Whether cells of lanes side by side are each of one lane, or of lanes as whole."""
        size = self.bytes
        return size % CELL_BYTES == 0 or (self.is_narrow and size & (size - 1) == 0)

    def channel(self, lane: int) -> int:
        """Return the channel of a lane."""
        return WHOLE if self.first is None else self.first + lane


class _ClaimFunction:
    """Writes the function of a shape: whether an access is suspicious."""

    def __init__(self, shape: ClaimCall, library: Library) -> None:
        self.shape = shape
        self.text = Text(hint="c")
        self._library = library
        self._accessor = self._loaded()

    def written(self) -> str:
        """Return the function of lanes anywhere."""
        text, shape = self.text, self.shape
        vector = f"<{shape.lanes} x i64>"
        area = text.let(f"alloca {vector}, align 64")
        self._begin()
        if shape.has_rows:
            start, fits = self._lowest_row()
            self._row(start, fits)
        if shape.lanes > PIECE:
            self._pieces()
        else:
            self._lanes(area)
        return self._function(shape.name, f"{vector} %addresses")

    def written_row(self) -> str:
        """Return the function of lanes side by side."""
        text, shape = self.text, self.shape
        lanes, vector = shape.lanes, f"<{shape.lanes} x i64>"
        self._begin()
        if shape.has_rows:
            self._row("%start", "true")
        steps = numbers("i64", [lane * shape.bytes for lane in range(lanes)])
        addresses = text.let(f"add {vector} {text.spread('i64', lanes, '%start')}, {steps}")
        given = f"i64 %own, {vector} {addresses}, i64 %mask"
        text.do(f"ret i1 {text.let(f'call i1 @{shape.name}({given})')}")
        return self._function(f"{shape.name}.row", "i64 %start")

    def _function(self, name: str, given: str) -> str:
        head = f"define internal i1 @{name}(i64 %own, {given}, i64 %mask) noinline {{"
        return "\n".join([head, "entry:", *self.text.lines, "}"])

    def _loaded(self) -> Accessor:
        """Load what words are compared with."""
        text, shape = self.text, self.shape
        base = text.let(f"and i64 %own, {signed(GROUP, 64)}")
        limit = text.let(f"and i64 %own, {PHASES}")
        oldest, many = (
            text.let(f"load i64, ptr inttoptr (i64 {shape.launch + place} to ptr), align 8")
            for place in (0, WORD_BYTES)
        )
        return Accessor(text, shape.verb, shape.is_local, base, limit, oldest, many)

    def _begin(self) -> None:
        """Return where no lane is on."""
        text = self.text
        some, none = text.labels("some", "none")
        text.likely(text.let("icmp ne i64 %mask, 0"), some, none)
        text.label(none)
        text.do("ret i1 false")
        text.label(some)

    # Lanes side by side

    def _lowest_row(self) -> tuple[str, str]:
        """Return where the row begins in which the lowest lane is, and whether all lanes are."""
        text, shape, lanes = self.text, self.shape, self.shape.lanes
        vector = f"<{lanes} x i64>"
        if lanes == 1:
            return text.let(f"extractelement {vector} %addresses, i64 0"), "true"
        steps = numbers("i64", [lane * shape.bytes for lane in range(lanes)])
        starts = text.let(f"sub {vector} %addresses, {steps}")
        start = self._lowest(starts)
        equal = text.let(f"icmp eq {vector} {starts}, {text.spread('i64', lanes, start)}")
        off = text.let(f"xor <{lanes} x i1> {self._mask()}, {splat('i1', lanes, 'true')}")
        every = text.let(f"or <{lanes} x i1> {equal}, {off}")
        bits = text.let(f"bitcast <{lanes} x i1> {every} to i{lanes}")
        return start, text.let(f"icmp eq i{lanes} {bits}, -1")

    def _row(self, start: str, fits: str) -> None:
        """Do lanes side by side, and return; go on where they are not."""
        text, shape = self.text, self.shape
        rest = text.let(f"and i64 {start}, {min(shape.bytes, CELL_BYTES) - 1}")
        fits = text.let(f"and i1 {fits}, {text.let(f'icmp eq i64 {rest}, 0')}")
        row, apart = text.labels("row", "apart")
        text.likely(fits, row, apart)
        text.label(row)
        own, bits = self._pattern(start) if shape.is_narrow else ("%own", "%mask")
        writers, readers = self._places(start)
        found = "false"
        for first in range(0, shape.cells, _CELLS):
            found = text.let(f"or i1 {found}, {self._chunk(first, own, bits, writers, readers)}")
        text.do(f"ret i1 {found}")
        text.label(apart)

    def _lowest(self, starts: str) -> str:
        """Return the element of the lowest lane that is on."""
        text, vector = self.text, f"<{self.shape.lanes} x i64>"
        zeros = self._library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        first = text.let("and i64 %mask, 1")
        usual, other, join = text.labels("usual", "other", "join")
        text.likely(text.let(f"icmp ne i64 {first}, 0"), usual, other)
        text.label(usual)
        one = text.let(f"extractelement {vector} {starts}, i64 0")
        text.jump(join)
        text.label(other)
        lane = text.let(f"call i64 {zeros}(i64 %mask, i1 true)")
        two = text.let(f"extractelement {vector} {starts}, i64 {lane}")
        text.jump(join)
        text.label(join)
        return text.let(f"phi i64 [ {one}, %{usual} ], [ {two}, %{other} ]")

    def _mask(self) -> str:
        """Return the mask as a vector."""
        text, lanes = self.text, self.shape.lanes
        low = "%mask" if lanes == 64 else text.let(f"trunc i64 %mask to i{lanes}")
        return text.let(f"bitcast i{lanes} {low} to <{lanes} x i1>")

    def _pattern(self, start: str) -> tuple[str, str]:
        """Return a word that says how narrow lanes lie in cells, and the mask moved as they are."""
        text, size = self.text, self.shape.bytes
        away = text.let(f"and i64 {start}, {CELL_BYTES - 1}")
        code = text.let(f"shl i64 {away}, {_SHIFT_PATTERN}")
        own = text.let(f"or i64 %own, {size << PATTERN_SHIFT}")
        own = text.let(f"or i64 {own}, {code}")
        lanes = text.let(f"lshr i64 {away}, {size.bit_length() - 1}")
        return own, text.let(f"shl i64 %mask, {lanes}")

    def _places(self, address: str) -> tuple[str, str]:
        """Return pointers to the words of the cell at an address, of writers and of readers."""
        text, shape = self.text, self.shape
        low = text.let(f"and i64 {address}, {(1 << shape.bits) - CELL_BYTES}")
        offset = text.let(f"mul i64 {low}, {WORD_BYTES // CELL_BYTES}")
        sums = [text.let(f"add i64 {offset}, {base}") for base in shape.words]
        writer, reader = (text.let(f"inttoptr i64 {place} to ptr") for place in sums)
        return writer, reader

    def _chunk(self, first: int, own: str, bits: str, writers: str, readers: str) -> str:
        """Do some cells of a row; return whether one is suspicious."""
        text, shape = self.text, self.shape
        count = min(_CELLS, shape.cells - first)
        words = ClaimWords(self._accessor, count, self._owners(first, count, own))
        on = self._cells_on(first, count, bits)
        places = [text.at(one, first * WORD_BYTES) for one in (writers, readers)]
        writer, reader = (text.let(f"load {words.kind}, ptr {one}, align 8") for one in places)
        found, changed = words.compared(writer, reader)
        number = int(shape.verb == "load")
        before = (writer, reader)[number]
        differs = text.let(f"icmp ne {words.kind} {changed}, {before}")
        stored = text.let(f"and {words.bools} {differs}, {on}")
        self._store(words, changed, places[number], stored)
        found = text.let(f"and {words.bools} {found}, {on}")
        return self._any(found, count)

    def _store(self, words: ClaimWords, value: str, place: str, mask: str) -> None:
        """Store words of cells, where any changes."""
        text = self.text
        some, done = text.labels("some", "done")
        text.branch(self._any(mask, words.count), some, done)
        text.label(some)
        name = self._library.intrinsic(
            f"llvm.masked.store.v{words.count}i64.p0", "void", words.kind, "ptr", words.bools
        )
        given = f"{words.kind} {value}, ptr align 8 {place}, {words.bools} {mask}"
        text.do(f"call void {name}({given})")
        text.jump(done)
        text.label(done)

    def _any(self, mask: str, count: int) -> str:
        bits = self.text.let(f"bitcast <{count} x i1> {mask} to i{count}")
        return self.text.let(f"icmp ne i{count} {bits}, 0")

    def _owners(self, first: int, count: int, own: str) -> str:
        """Return the words of cells of a row for those who access them now."""
        text, shape = self.text, self.shape
        cells = range(first, first + count)
        if shape.first is None:
            channels = [WHOLE] * count
        elif shape.is_narrow:
            channels = list(cells)
        else:
            channels = [shape.channel(cell * CELL_BYTES // shape.bytes) for cell in cells]
        added = numbers("i64", [channel << CHANNEL_SHIFT for channel in channels])
        return text.let(f"or <{count} x i64> {text.spread('i64', count, own)}, {added}")

    def _cells_on(self, first: int, count: int, bits: str) -> str:
        """Return which cells of a row some lane that is on reaches."""
        text, size, kind = self.text, self.shape.bytes, f"<{count} x i64>"
        cells = range(first, first + count)
        lanes = [cell * CELL_BYTES // size for cell in cells]
        mask = (1 << max(1, CELL_BYTES // size)) - 1
        moved = text.let(f"lshr {kind} {text.spread('i64', count, bits)}, {numbers('i64', lanes)}")
        picked = text.let(f"and {kind} {moved}, {splat('i64', count, mask)}")
        return text.let(f"icmp ne {kind} {picked}, zeroinitializer")

    # Lanes in pieces, and anywhere

    def _pieces(self) -> None:
        """Do piece after piece of the lanes, and return: rows of groups are short."""
        text, shape = self.text, self.shape
        piece = shape.piece
        piece.make(self._library)
        found, vector = "false", f"<{PIECE} x i64>"
        for first in range(0, shape.lanes, PIECE):
            lanes = range(first, first + PIECE)
            addresses = text.shuffle("i64", shape.lanes, "%addresses", lanes)
            mask = text.let(f"lshr i64 %mask, {first}")
            mask = text.let(f"and i64 {mask}, {(1 << PIECE) - 1}")
            own = "%own"
            if shape.first is not None:
                own = text.let(f"or i64 %own, {shape.channel(first) << CHANNEL_SHIFT}")
            given = f"i64 {own}, {vector} {addresses}, i64 {mask}"
            found = text.let(f"or i1 {found}, {text.let(f'call i1 @{piece.name}({given})')}")
        text.do(f"ret i1 {found}")

    def _lanes(self, area: str) -> None:
        """Do lane after lane, and return; `area` has room for their addresses."""
        text, lanes = self.text, self.shape.lanes
        text.do(f"store <{lanes} x i64> %addresses, ptr {area}, align 64")
        mask, several = self._alike() if self.shape.verb == "load" and lanes > 1 else ("%mask", "0")
        before = text.block
        lane_loop, cell_loop, next_lane, end = text.labels("lane", "cell", "next", "end")
        text.jump(lane_loop)
        text.label(lane_loop)
        left, found, after = (f"%{text.fresh('left')}", f"%{text.fresh('found')}", text.fresh())
        text.do(f"{left} = phi i64 [ {mask}, %{before} ], [ %{after}.left, %{next_lane} ]")
        text.do(f"{found} = phi i1 [ false, %{before} ], [ %{after}.found, %{next_lane} ]")
        zeros = self._library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        lane = text.let(f"call i64 {zeros}(i64 {left}, i1 true)")
        place = text.let(f"getelementptr i64, ptr {area}, i64 {lane}")
        address = text.let(f"load i64, ptr {place}, align 8")
        own = self._owner_of(lane)
        start = text.let(f"and i64 {address}, -{CELL_BYTES}")
        stop = text.let(f"add i64 {address}, {self.shape.bytes}")
        text.jump(cell_loop)
        text.label(cell_loop)
        cell, so_far = f"%{text.fresh('at')}", f"%{text.fresh('seen')}"
        text.do(f"{cell} = phi i64 [ {start}, %{lane_loop} ], [ %{after}.cell, %{cell_loop} ]")
        text.do(f"{so_far} = phi i1 [ {found}, %{lane_loop} ], [ %{after}.seen, %{cell_loop} ]")
        one = self._cell(cell, own, several)
        text.do(f"%{after}.seen = or i1 {so_far}, {one}")
        text.do(f"%{after}.cell = add i64 {cell}, {CELL_BYTES}")
        more = text.let(f"icmp ult i64 %{after}.cell, {stop}")
        text.branch(more, cell_loop, next_lane)
        text.label(next_lane)
        text.do(f"%{after}.found = phi i1 [ %{after}.seen, %{cell_loop} ]")
        lower = text.let(f"sub i64 {left}, 1")
        text.do(f"%{after}.left = and i64 {left}, {lower}")
        text.branch(text.let(f"icmp ne i64 %{after}.left, 0"), lane_loop, end)
        text.label(end)
        text.do(f"ret i1 %{after}.found")

    def _alike(self) -> tuple[str, str]:
        """Return the lanes to do and a mark for readers: lanes at one address are done once."""
        text, lanes, vector = self.text, self.shape.lanes, f"<{self.shape.lanes} x i64>"
        one = text.spread("i64", lanes, self._lowest("%addresses"))
        same = text.let(f"icmp eq {vector} %addresses, {one}")
        same = text.let(f"and <{lanes} x i1> {same}, {self._mask()}")
        bits = text.let(f"bitcast <{lanes} x i1> {same} to i{lanes}")
        bits = bits if lanes == 64 else text.let(f"zext i{lanes} {bits} to i64")
        alike = text.let(f"icmp eq i64 {bits}, %mask")
        negative = text.let("sub i64 0, %mask")
        lowest = text.let(f"and i64 %mask, {negative}")
        single = text.let(f"icmp eq i64 %mask, {lowest}")
        mark = 0 if self.shape.first is None else SEVERAL_ITEMS
        several = text.let(f"select i1 {single}, i64 0, i64 {mark}")
        several = text.let(f"select i1 {alike}, i64 {several}, i64 0")
        return text.let(f"select i1 {alike}, i64 {lowest}, i64 %mask"), several

    def _owner_of(self, lane: str) -> str:
        """Return the word of a lane."""
        text, first = self.text, self.shape.first
        if first is None:
            return text.let(f"or i64 %own, {WHOLE << CHANNEL_SHIFT}")
        channel = text.let(f"add i64 {lane}, {first}")
        return text.let(f"or i64 %own, {text.let(f'shl i64 {channel}, {CHANNEL_SHIFT}')}")

    def _cell(self, address: str, own: str, several: str) -> str:
        """Do one cell; return whether it is suspicious."""
        text = self.text
        writer_at, reader_at = self._places(address)
        one = text.let(f"insertelement <1 x i64> poison, i64 {own}, i64 0")
        words = ClaimWords(self._accessor, 1, one, several)
        writer, reader = (
            text.let(f"load <1 x i64>, ptr {at}, align 8") for at in (writer_at, reader_at)
        )
        found, changed = words.compared(writer, reader)
        place = reader_at if self.shape.verb == "load" else writer_at
        text.do(f"store <1 x i64> {changed}, ptr {place}, align 8")
        return text.let(f"extractelement <1 x i1> {found}, i64 0")


__all__ = ["PIECE", "ClaimCall"]
