"""Claims as LLVM IR: who accesses memory is compared with who did, four bytes after four bytes.

Each kind of access is a function. Lanes side by side are done as vectors of cells; others one after
another, the lowest first. `visim.engine.claims` says what words are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from visim.engine.claims import (
    ATOMIC,
    CELL_BYTES,
    CHANNEL_SHIFT,
    EVERYBODY,
    GROUP,
    GROUP_SHIFT,
    PATTERN_SHIFT,
    PHASE_SHIFT,
    PHASES,
    PLAIN,
    SEVERAL_GROUPS,
    SEVERAL_ITEMS,
    WHOLE,
    WORD_BYTES,
)
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.shapes import Shape, ShapeWriter
from visim.engine.jit.ir.text import Text, numbers, signed, splat
from visim.engine.jit.writing.values import Values
from visim.sem.effects import Claim, Fill

_CELLS = 8
"""So many cells are compared at once: as many words as a register of AVX-512 has."""
_PIECE = 8
"""So many lanes are looked at together where not all are side by side."""
_MOST_PLACES = 4
"""So many places that several lanes share are looked at one after another."""
_ADDRESS_BITS = 64
_SHIFT_PATTERN = PATTERN_SHIFT + 2
_ITEMS = (1 << CHANNEL_SHIFT) - 1
"""The marks of a word, below what says whose it is."""


def write_claim(values: Values, effect: Claim) -> None:
    """Write a claim; whether it is suspicious becomes known to the values."""
    text, lanes = values.text, effect.addresses.lanes
    own = values.scalar(effect.own)
    mask = values.mask_bits(effect.mask, lanes)
    call = ClaimCall(
        effect.verb,
        effect.is_local,
        lanes,
        effect.bytes,
        effect.first,
        effect.words,
        effect.bits,
        effect.launch,
    )
    known = values.shape(effect.addresses, effect.mask)
    rows = None if known is None else _rows(values, call, known, own, mask)
    if rows is None:
        found = _anywhere(values, call, effect, own, mask)
    elif rows.straight is None:
        found = rows.write()
    else:
        straight, bent, join = text.labels("straight", "bent", "join")
        values.value(effect.addresses)
        text.likely(rows.straight, straight, bent)
        text.label(straight)
        one, before = rows.write(), text.block
        text.jump(join)
        text.label(bent)
        other, after = _anywhere(values, call, effect, own, mask), text.block
        text.jump(join)
        text.label(join)
        found = text.let(f"phi i1 [ {one}, %{before} ], [ {other}, %{after} ]")
    values.loaded[id(effect)] = [text.let(f"insertelement <1 x i1> poison, i1 {found}, i64 0")]


def _anywhere(values: Values, call: ClaimCall, effect: Claim, own: str, mask: str) -> str:
    """Write a claim of lanes anywhere; return whether it is suspicious."""
    call.make(values.library)
    given = f"<{call.lanes} x i64> {values.value(effect.addresses)}"
    return values.text.let(f"call i1 @{call.name}(i64 {own}, {given}, i64 {mask})")


def _rows(values: Values, call: ClaimCall, shape: Shape, own: str, mask: str) -> _Rows | None:
    """Return how to write a claim whose lanes are in rows, or all at one place; else None."""
    form, writer = shape.form, ShapeWriter(values.text)
    is_one_place = form.step == 0 and call.verb != "store"
    if form.ragged or form.bits != _ADDRESS_BITS or call.lanes % form.piece:
        return None
    if not is_one_place and (form.stride != call.bytes or form.piece < _PIECE):
        return None
    if is_one_place and call.lanes // form.piece > _MOST_PLACES:
        return None
    tests = [one for core in shape.cores for one in writer.straight(form, core)]
    if "false" in tests:
        return None
    straight = values.text.all_of(tests) if tests else None
    starts = [writer.first(shape, number) for number in range(len(shape.cores))]
    return _Rows(values, call, form.piece, starts, own, mask, straight, is_one_place)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A claim of rows of `piece` lanes, or of places that so many lanes share.

    `straight` is whether lanes are where `starts` say; None: they are.
    """

    values: Values
    call: ClaimCall
    piece: int
    starts: list[str]
    own: str
    mask: str
    straight: str | None
    is_one_place: bool

    def write(self) -> str:
        """Write the calls; return whether any is suspicious."""
        text, call, found = self.values.text, self.call, "false"
        for number, start in enumerate(self.starts):
            first = number * self.piece
            own, mask, lanes = self.own, self.mask, self.piece
            if len(self.starts) > 1:
                moved = text.let(f"lshr i64 {mask}, {first}")
                mask = text.let(f"and i64 {moved}, {(1 << self.piece) - 1}")
            part = replace(call, lanes=lanes, first=None if call.first is None else 0)
            if call.first is not None:
                own = text.let(f"or i64 {own}, {call.channel(first) << CHANNEL_SHIFT}")
            if self.is_one_place and lanes > 1:
                own, mask = self._shared(own, mask)
                part = replace(part, lanes=1)
            part.make_row(self.values.library)
            given = f"i64 {own}, i64 {start}, i64 {mask}"
            one = text.let(f"call i1 @{part.name}.row({given})")
            found = one if found == "false" else text.let(f"or i1 {found}, {one}")
        return found

    def _shared(self, own: str, mask: str) -> tuple[str, str]:
        """Return the word and the mask for a place that lanes share: the lowest one's."""
        text = self.values.text
        some = text.let(f"zext i1 {text.let(f'icmp ne i64 {mask}, 0')} to i64")
        if self.call.first is None:
            return own, some
        zeros = self.values.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        lane = text.let(f"call i64 {zeros}(i64 {mask}, i1 false)")
        lane = text.let(f"and i64 {lane}, {self.piece - 1}")
        own = text.let(f"or i64 {own}, {text.let(f'shl i64 {lane}, {CHANNEL_SHIFT}')}")
        if self.call.verb != "load":
            return own, some
        lower = text.let(f"sub i64 {mask}, 1")
        others = text.let(f"icmp ne i64 {text.let(f'and i64 {mask}, {lower}')}, 0")
        mark = text.let(f"select i1 {others}, i64 {SEVERAL_ITEMS}, i64 0")
        return text.let(f"or i64 {own}, {mark}"), some


def write_fill(values: Values, effect: Fill) -> None:
    """Write a fill of shadow memory."""
    text = values.text
    size = values.scalar(effect.size)
    address = text.let(f"inttoptr i64 {values.scalar(effect.address)} to ptr")
    octet = signed(effect.octet, 8)
    text.do(f"call void @llvm.memset.p0.i64(ptr {address}, i8 {octet}, i64 {size}, i1 false)")


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
        return replace(self, lanes=_PIECE, first=None if self.first is None else 0)

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
    """Writes the function of a shape: whether an access is suspicious.

    Attributes:
        base: the word of the access's group.
        limit: how far behind that words of the time since the last barrier begin.
        oldest: the least word of the launch.
        many: the word of atomics of several groups.
    """

    def __init__(self, shape: ClaimCall, library: Library) -> None:
        self.shape = shape
        self.text = Text(hint="c")
        self._library = library
        self.base = self.limit = self.oldest = self.many = ""

    def written(self) -> str:
        """Return the function of lanes anywhere."""
        text, shape = self.text, self.shape
        vector = f"<{shape.lanes} x i64>"
        area = text.let(f"alloca {vector}, align 64")
        self._begin()
        if shape.has_rows:
            start, fits = self._lowest_row()
            self._row(start, fits)
        if shape.lanes > _PIECE:
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

    def _begin(self) -> None:
        """Load what words are compared with; return where no lane is on."""
        text = self.text
        self.base = text.let(f"and i64 %own, {signed(GROUP, 64)}")
        self.limit = text.let(f"and i64 %own, {PHASES}")
        self.oldest, self.many = (
            text.let(f"load i64, ptr inttoptr (i64 {self.shape.launch + place} to ptr), align 8")
            for place in (0, WORD_BYTES)
        )
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
        words = _Words(self, count, self._owners(first, count, own))
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

    def _store(self, words: _Words, value: str, place: str, mask: str) -> None:
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
        found, vector = "false", f"<{_PIECE} x i64>"
        for first in range(0, shape.lanes, _PIECE):
            lanes = range(first, first + _PIECE)
            addresses = text.shuffle("i64", shape.lanes, "%addresses", lanes)
            mask = text.let(f"lshr i64 %mask, {first}")
            mask = text.let(f"and i64 {mask}, {(1 << _PIECE) - 1}")
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
        words = _Words(self, 1, one, several)
        writer, reader = (
            text.let(f"load <1 x i64>, ptr {at}, align 8") for at in (writer_at, reader_at)
        )
        found, changed = words.compared(writer, reader)
        place = reader_at if self.shape.verb == "load" else writer_at
        text.do(f"store <1 x i64> {changed}, ptr {place}, align 8")
        return text.let(f"extractelement <1 x i1> {found}, i64 0")


class _Words:
    """Writes comparisons of some cells' words with those of who accesses them now."""

    def __init__(self, function: _ClaimFunction, count: int, own: str, several: str = "0") -> None:
        self.count = count
        self.kind, self.bools = f"<{count} x i64>", f"<{count} x i1>"
        self._own, self._shape, self._text = own, function.shape, function.text
        self._base = self._text.spread("i64", count, function.base)
        self._limit = self._text.spread("i64", count, function.limit)
        self._oldest = self._text.spread("i64", count, function.oldest)
        self._many = function.many
        self._several = several

    def compared(self, writer: str, reader: str) -> tuple[str, str]:
        """Return which cells are suspicious, and their new words: of readers or of writers."""
        met = self._meets(writer)
        if self._shape.verb == "load":
            return met, self._new_reader(reader)
        read = self._meets_readers(reader)
        if self._shape.verb == "store":
            return self._or(met, read), self._op("or", self._own, PLAIN)
        plain = self._is("eq", self._op("and", writer, ATOMIC), 0)
        return self._or(self._and(met, plain), read), self._new_atomic(writer)

    def _meets(self, word: str) -> str:
        """Return where a word is somebody else's, whom nothing has ordered before this access."""
        behind = self._op("sub", word, self._base)
        others = self._is("ugt", self._op("xor", word, self._own), _ITEMS)
        return self._counts(self._and(self._since(behind), others), behind, word)

    def _meets_readers(self, word: str) -> str:
        behind = self._op("sub", word, self._base)
        others = self._is("ugt", self._op("xor", word, self._own), _ITEMS)
        others = self._or(others, self._marked(word, SEVERAL_ITEMS))
        found = self._and(self._since(behind), others)
        if not self._shape.is_local:
            found = self._or(found, self._marked(word, SEVERAL_GROUPS))
        return self._counts(found, behind, word)

    def _since(self, behind: str) -> str:
        """Return where words are not of before the last barrier."""
        return self._text.let(f"icmp uge {self.kind} {behind}, {self._limit}")

    def _counts(self, found: str, behind: str, word: str) -> str:
        """Leave out words that are nobody's, or another group's local memory's."""
        if self._shape.is_local:
            return self._and(found, self._is("ult", behind, 1 << GROUP_SHIFT))
        return self._and(found, self._is("uge", word, self._oldest))

    def _new_reader(self, word: str) -> str:
        """Return the word of readers; that of several groups' stays, which is never in order."""
        changed = self._op("xor", word, self._own)
        together = self._is("ult", changed, 1 << PHASE_SHIFT)
        others = self._is("ugt", changed, _ITEMS)
        others = self._or(others, self._marked(word, SEVERAL_ITEMS))
        new = self._op("or", self._own, self._mark(self._and(together, others), SEVERAL_ITEMS))
        if self._several != "0":
            new = self._op("or", new, self._text.spread("i64", self.count, self._several))
        if self._shape.is_local:
            return new
        behind = self._op("sub", word, self._base)
        counts = self._is("uge", word, self._oldest)
        apart = self._and(self._is("uge", behind, 1 << GROUP_SHIFT), counts)
        new = self._op("or", new, self._mark(apart, SEVERAL_GROUPS))
        stays = self._and(self._marked(word, SEVERAL_GROUPS), counts)
        return self._chosen(stays, word, new)

    def _new_atomic(self, word: str) -> str:
        """Return the word of atomics: all of a group are one, and so are several groups."""
        new = self._op("or", self._own, EVERYBODY | ATOMIC)
        if self._shape.is_local:
            return new
        behind = self._op("sub", word, self._base)
        apart = self._is("uge", behind, 1 << GROUP_SHIFT)
        apart = self._and(apart, self._marked(word, ATOMIC))
        apart = self._and(apart, self._is("uge", word, self._oldest))
        many = self._text.spread("i64", self.count, self._many)
        return self._chosen(apart, self._op("or", many, ATOMIC), new)

    # Instructions

    def _splat(self, value: str | int) -> str:
        return splat("i64", self.count, signed(value, 64)) if isinstance(value, int) else value

    def _op(self, name: str, a: str, b: str | int) -> str:
        return self._text.let(f"{name} {self.kind} {a}, {self._splat(b)}")

    def _is(self, relation: str, a: str, b: str | int) -> str:
        return self._text.let(f"icmp {relation} {self.kind} {a}, {self._splat(b)}")

    def _and(self, a: str, b: str) -> str:
        return self._text.let(f"and {self.bools} {a}, {b}")

    def _or(self, a: str, b: str) -> str:
        return self._text.let(f"or {self.bools} {a}, {b}")

    def _marked(self, word: str, mark: int) -> str:
        return self._is("ne", self._op("and", word, mark), 0)

    def _mark(self, where: str, mark: int) -> str:
        return self._chosen(where, self._splat(mark), "zeroinitializer")

    def _chosen(self, where: str, a: str, b: str) -> str:
        return self._text.let(f"select {self.bools} {where}, {self.kind} {a}, {self.kind} {b}")


__all__ = ["ClaimCall", "write_claim", "write_fill"]
