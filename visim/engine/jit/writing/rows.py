"""Loads and stores whose addresses have a shape: few accesses for all channels of a message."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.gathers import Gatherer, distances
from visim.engine.jit.ir.lanes import row_function
from visim.engine.jit.ir.shapes import Form, Shape, ShapeWriter
from visim.engine.jit.ir.spacing import Spacer
from visim.engine.jit.ir.text import Text, low_bits, scalar_bytes, signed
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.writing.anchors import Anchors, Near, start_near
from visim.engine.jit.writing.bounds import Bounds

_LINE = 64
_PAGE = 4096
"""Memory can be read by so many bytes, or not at all; some hosts have larger pages."""
_LONGEST = 64
"""More bytes than what is loaded for a lane."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Lanes that reach pieces of rows.

    Attributes:
        shape: the addresses.
        pointers: where the pieces begin in the host's memory.
        fits: whether all lanes are in range and all pieces linear.
        near: for each piece, if it is known from an anchor, how.
        again: looks once more, only at lanes that are on, where not all lanes are in range.
        supposed: whether lanes may be elsewhere, since choices may have changed some.
    """

    shape: Shape
    pointers: list[str]
    fits: str = "true"
    near: tuple[Near | None, ...] = ()
    again: Callable[[], Rows] | None = None
    supposed: bool = False

    @property
    def is_sure(self) -> bool:
        """Whether it is known when code is made that all lanes fit."""
        return self.fits == "true"

    def supposing(self, text: Text, tests: Sequence[str]) -> Rows:
        """Return the same rows, which fit only if tests hold."""
        again = self.again
        if again is not None:
            again = partial(_supposing_again, text, again, tests)
        fits = text.all_of([*tests, self.fits])
        return replace(self, fits=fits, again=again, supposed=True)

    @property
    def are_asked_for(self) -> bool:
        """Whether memory is asked for nearly the same lines for the rows' anchors."""
        return bool(self.near) and all(one and abs(one.offset) <= _LINE for one in self.near)


class RowWriter:
    """Writes accesses of rows.

    `gatherer` writes the host's gathers, where they are fast, `spacer` reaches rows with gaps.
    """

    def __init__(
        self, text: Text, library: Library, gatherer: Gatherer | None, spacer: Spacer
    ) -> None:
        self.spacer = spacer
        self.gatherer = gatherer
        self.text = text
        self.library = library
        self.shapes = ShapeWriter(text)
        self.weaver = Weaver(text)

    # Range

    def rows(
        self,
        shape: Shape,
        bounds: Bounds,
        *,
        checked: bool,
        sure: bool = False,
        some: str = "",
        near: tuple[Anchors, Hashable] | None = None,
        read: int = 0,
    ) -> Rows:
        """Look where the pieces of a shape are; without `checked` all are taken to be in range.

        Where it is `sure` that all lanes are on and in range, all pieces are linear, too.

        With `some`, the bits of the lanes that are on, the others may be in the bounds' margin: if
        not all lanes are in range, another look can tell. Where there is no margin and nobody
        checks, rows fit if all lanes are on, since those that are off may be anywhere; those of
        which a lane reads `read` bytes fit within a page that a lane reads, too. Those with
        the bounds that are named in `near` are looked at together.
        """
        text, form = self.text, shape.form
        is_short = abs(form.stride) * form.piece < bounds.margin - _LONGEST
        again = None
        if some and form.stride and is_short:
            again = partial(self._in_part, shape, bounds, some, checked=checked)
            if not checked:
                return again()
        enough = self._enough(shape, some) if some and not checked else ""
        tests = [enough] if enough and not read else []
        pointers, nears = list[str](), list[Near | None]()
        starts = list(zip(shape.cores, shape.offsets, strict=True))
        for piece, start in enumerate(starts):
            if starts.index(start) < piece:
                pointers.append(pointers[starts.index(start)])
                nears.append(nears[starts.index(start)])
                continue
            known = near[0].near(shape, piece, near[1]) if near and checked else None
            nears.append(known)
            if known is not None:
                tests += self._near(form, known)
                pointers.append(text.at(known.anchor.pointer, known.offset))
                continue
            if not (sure or (checked and _is_straight_within(form, shape.offsets[piece], bounds))):
                tests += self.shapes.straight(form, shape.cores[piece])
            first = self._offset(shape, piece, bounds)
            pointers.append(self.pointer(first, bounds))
            if checked:
                tests += self._within(first, form.stride * (form.piece - 1), bounds)
            elif enough and read:
                can = self._can_be_read(pointers[-1], form, self._of_piece(form, piece, some), read)
                tests.append(text.let(f"or i1 {enough}, {can}"))
            if near is not None:
                near[0].add(shape, piece, near[1], first, pointers[-1], bounds)
        return Rows(shape, pointers, self.text.all_of(tests), tuple(nears), again)

    def _in_part(self, shape: Shape, bounds: Bounds, some: str, *, checked: bool) -> Rows:
        """Look where the pieces of a shape are, of which lanes that are off may be in a margin."""
        pieces = range(len(shape.cores))
        found = [self._partly(shape, one, bounds, some, checked=checked) for one in pieces]
        fits = self.text.all_of([fits for _, fits in found])
        return Rows(shape, [pointer for pointer, _ in found], fits)

    def reached(self, rows: Rows) -> Shape:
        """Return the shape of rows; what is known from anchors is computed here."""
        shape, near = rows.shape, rows.near
        if not any(near):
            return shape
        starts = [
            (shape.cores[piece], shape.offsets[piece])
            if one is None
            else start_near(self.text, shape.form, one)
            for piece, one in enumerate(near)
        ]
        cores, offsets = zip(*starts, strict=True)
        return replace(shape, cores=cores, offsets=offsets)

    def _near(self, form: Form, near: Near) -> list[str]:
        """Return tests whether a row near an anchor is linear and in range."""
        text, anchor, reach = self.text, near.anchor, form.stride * (form.piece - 1)
        tests, limit = list[str](), anchor.bounds.limit
        ahead = near.core >= 0 and near.base >= 0
        if not (ahead and _is_straight_within(form, anchor.base, anchor.bounds)):
            tests = self.shapes.straight(form, anchor.core, near.core)
        if limit.isdigit() and near.offset >= 0 and reach >= 0:
            most = max(0, int(limit) - reach - near.offset)
            return [*tests, text.let(f"icmp ult i64 {anchor.first}, {most}")]
        first = text.let(f"add i64 {anchor.first}, {near.offset}")
        return tests + self._within(first, reach, anchor.bounds)

    def _within(self, first: str, reach: int, bounds: Bounds) -> list[str]:
        """Return tests whether a row's first element and its last one are in range."""
        text, limit = self.text, bounds.limit
        if reach < 0:
            end = text.let(f"add i64 {first}, {reach}")
            return [text.let(f"icmp ult i64 {place}, {limit}") for place in (first, end)]
        if limit.isdigit():
            return [text.let(f"icmp ult i64 {first}, {max(0, int(limit) - reach)}")]
        if reach:
            less = self.library.intrinsic("llvm.usub.sat.i64", "i64", "i64", "i64")
            limit = text.let(f"call i64 {less}(i64 {limit}, i64 {reach})")
        return [text.let(f"icmp ult i64 {first}, {limit}")]

    def _enough(self, shape: Shape, some: str) -> str:
        """Return whether all lanes are on, or at least one of those that have the same address."""
        if not shape.form.stride and len(shape.cores) == 1:
            return self.text.let(f"icmp ne i64 {some}, 0")
        return self.text.let(f"icmp eq i64 {some}, {low_bits(shape.lanes)}")

    def _can_be_read(self, pointer: str, form: Form, bits: str, read: int) -> str:
        """Return whether a lane that is on reads of the only page that a piece is in.

        Then lanes that are off can be read, too, wherever they are: memory comes in pages.
        """
        text, reach = self.text, form.stride * (form.piece - 1)
        first = text.let(f"ptrtoint ptr {pointer} to i64")
        low, high = (
            text.let(f"add i64 {first}, {n}") for n in (min(reach, 0), max(reach, 0) + read - 1)
        )
        differ = text.let(f"xor i64 {low}, {high}")
        within = text.let(f"icmp ult i64 {differ}, {_PAGE}")
        return text.let(f"and i1 {within}, {text.let(f'icmp ne i64 {bits}, 0')}")

    def _partly(
        self, shape: Shape, piece: int, bounds: Bounds, some: str, *, checked: bool
    ) -> tuple[str, str]:
        """Return where a piece begins, and whether the lanes that are on are in range.

        That are those from the lowest one to the highest. A piece without any begins anywhere.
        """
        text, stride = self.text, shape.form.stride
        bits = self._of_piece(shape.form, piece, some)
        lowest, highest = self._ends(bits)
        distance = text.let(f"sub i64 {highest}, {lowest}")
        rest = self.shapes.behind(shape, piece, lowest)
        low = self._offset(rest, 0, bounds)
        fits, tests = "true", [self.shapes.straight_until(rest, distance)]
        if checked:
            reach = text.let(f"mul i64 {distance}, {stride}")
            fits = text.let(f"icmp ult i64 {low}, {bounds.limit}")
            tests += self._within(text.let(f"add i64 {low}, {reach}"), 0, bounds)
        fits = text.all_of([fits, *filter(None, tests)])
        first = text.let(f"sub i64 {low}, {text.let(f'mul i64 {lowest}, {stride}')}")
        none = text.let(f"icmp eq i64 {bits}, 0")
        fits = text.let(f"or i1 {fits}, {none}")
        first = text.let(f"select i1 {none}, i64 {_nowhere(bounds, stride)}, i64 {first}")
        return self.pointer(first, bounds), fits

    def _of_piece(self, form: Form, piece: int, bits: str) -> str:
        """Return the bits of the lanes of a piece."""
        if piece:
            bits = self.text.let(f"lshr i64 {bits}, {piece * form.piece}")
        return self.text.let(f"and i64 {bits}, {low_bits(form.piece)}")

    def _ends(self, bits: str) -> tuple[str, str]:
        """Return the lowest and the highest lane of some; of none what is no lane: 64 and -1."""
        text, places = self.text, list[str]()
        for name in ("cttz", "ctlz"):
            count = self.library.intrinsic(f"llvm.{name}.i64", "i64", "i64", "i1")
            places.append(text.let(f"call i64 {count}(i64 {bits}, i1 false)"))
        return places[0], text.let(f"sub i64 63, {places[1]}")

    def _offset(self, shape: Shape, piece: int, bounds: Bounds) -> str:
        text, bits = self.text, shape.form.bits
        first = self.shapes.first(shape, piece)
        if bits != 64:
            first = text.let(f"zext i{bits} {first} to i64")
        return first if bounds.start == "0" else text.let(f"sub i64 {first}, {bounds.start}")

    def pointer(self, offset: str, bounds: Bounds) -> str:
        """Return where an offset that is in range is in the host's memory."""
        address = self.text.let(f"add i64 {offset}, {bounds.host}")
        return self.text.let(f"inttoptr i64 {address} to ptr")

    # Loads

    def load(self, rows: Rows, scalar: str, parts: int) -> list[str]:
        """Return `parts` vectors of the elements at the lanes of rows, which fit."""
        form = rows.shape.form
        pieces = {
            pointer: self._piece(form, pointer, scalar, parts)
            for pointer in dict.fromkeys(rows.pointers)
        }
        return [
            self.weaver.joined([pieces[one][part] for one in rows.pointers], form.piece, scalar)
            for part in range(parts)
        ]

    def _piece(self, form: Form, pointer: str, scalar: str, parts: int) -> list[str]:
        """Load a piece of a row in the way that its stride allows: a vector for each component."""
        size = scalar_bytes(scalar)
        if not form.step or form.piece == 1:
            return [
                self.text.spread(scalar, form.piece, self._scalar(pointer, scalar, part * size))
                for part in range(parts)
            ]
        if form.stride == size:
            return [self._vector(pointer, scalar, form.piece, part * size) for part in range(parts)]
        woven = self.weaver.apart(pointer, scalar, form.piece, parts, form.stride)
        if woven is not None:
            return woven
        if form.stride == 2 * size and parts == 1 and not form.piece % 2:
            return [self.weaver.every_other(pointer, scalar, form.piece)]
        if 0 < form.stride < size and size % form.stride == 0 and parts == 1:
            return [self.weaver.overlapping(pointer, scalar, form.piece, form.stride)]
        spaced = None
        if parts == 1:
            spaced = self.spacer.load(pointer, scalar, form.piece, form.stride)
        if spaced is not None:
            return [spaced]
        gatherer, lanes = self.gatherer, form.piece
        if gatherer is not None and gatherer.suits(lanes, scalar, parts, 1) and _are_near(form):
            index = distances(lanes, form.stride)
            return gatherer.load(pointer, index, lanes, scalar, parts, 1, "")
        return [self._strided(form, pointer, scalar, part * size) for part in range(parts)]

    def _scalar(self, pointer: str, scalar: str, offset: int) -> str:
        return self.text.let(f"load {scalar}, ptr {self.text.at(pointer, offset)}, align 1")

    def _vector(self, pointer: str, scalar: str, lanes: int, offset: int) -> str:
        place = self.text.at(pointer, offset)
        return self.text.let(f"load <{lanes} x {scalar}>, ptr {place}, align 1")

    def _strided(self, form: Form, pointer: str, scalar: str, offset: int) -> str:
        found, vector = "poison", f"<{form.piece} x {scalar}>"
        for lane in range(form.piece):
            one = self._scalar(pointer, scalar, offset + lane * form.stride)
            found = self.text.let(f"insertelement {vector} {found}, {scalar} {one}, i64 {lane}")
        return found

    # Stores

    def store(self, pointers: list[str], lanes: int, scalar: str, values: list[str]) -> None:
        """Store vectors, the elements of a lane together, in pieces of equal size."""
        whole, parts = self.weaver.woven(values, lanes, scalar), len(values)
        count = lanes * parts // len(pointers)
        for number, pointer in enumerate(pointers):
            picks = range(number * count, (number + 1) * count)
            one = self.text.shuffle(scalar, lanes * parts, whole, picks)
            self.text.do(f"store <{count} x {scalar}> {one}, ptr {pointer}, align 1")

    def store_all(
        self, pointers: list[str], lanes: int, scalar: str, values: list[str], stride: int
    ) -> None:
        """Store vectors at all lanes, the elements of a lane together, lanes at equal distances."""
        if stride == len(values) * scalar_bytes(scalar):
            self.store(pointers, lanes, scalar, values)
        else:
            self._store_apart(pointers, lanes, scalar, values, stride)

    def _store_apart(
        self, pointers: list[str], lanes: int, scalar: str, values: list[str], stride: int
    ) -> None:
        """Store each lane by itself, in pieces of equal size, at equal distances."""
        text, parts, piece = self.text, len(values), lanes // len(pointers)
        kind, whole = f"<{parts} x {scalar}>", self.weaver.woven(values, lanes, scalar)
        done = [
            self.spacer.store(
                pointer, scalar, parts, stride, whole, range(first, first + piece), lanes
            )
            for first, pointer in zip(range(0, lanes, piece), pointers, strict=True)
        ]
        if all(done):
            return
        for lane in range(lanes):
            picks = range(lane * parts, lane * parts + parts)
            one = text.shuffle(scalar, lanes * parts, whole, picks)
            place = text.at(pointers[lane // piece], lane % piece * stride)
            text.do(f"store {kind} {one}, ptr {place}, align 1")

    def scatters(self, rows: Rows, scalar: str, values: list[str]) -> bool:
        """Whether the host's scatters store lanes that are not side by side."""
        form, gatherer = rows.shape.form, self.gatherer
        if gatherer is None or not gatherer.scatters or not _are_near(form):
            return False
        if form.stride == len(values) * scalar_bytes(scalar):
            return False
        return gatherer.suits(form.piece, scalar, len(values), 1, stores=True)

    def scatter(self, rows: Rows, scalar: str, values: list[str], mask: str) -> None:
        """Store lanes by scatters; `mask` are those that are on, as a vector (empty: all)."""
        form, gatherer = rows.shape.form, self.gatherer
        if gatherer is None:
            return
        index = distances(form.piece, form.stride)
        for number, pointer in enumerate(rows.pointers):
            picks = range(number * form.piece, (number + 1) * form.piece)
            some = [self.text.shuffle(scalar, rows.shape.lanes, value, picks) for value in values]
            on = self.text.shuffle("i1", rows.shape.lanes, mask, picks) if mask else ""
            gatherer.store(pointer, index, form.piece, scalar, some, 1, on)

    def store_some(self, rows: Rows, scalar: str, values: list[str], bits: str, data: str) -> None:
        """Store the lanes whose bits are set, one after another; their elements pass `data`."""
        text, form, lanes = self.text, rows.shape.form, rows.shape.lanes
        size, count = len(values) * scalar_bytes(scalar), len(values) * lanes
        name = f"store.row.{size}.{form.stride}"
        self.library.functions.setdefault(name, row_function(name, size, form.stride))
        self.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        whole = self.weaver.woven(values, lanes, scalar)
        text.hand_over(scalar, count, whole, data)
        for number, pointer in enumerate(rows.pointers):
            first, mask = number * form.piece, bits
            if len(rows.pointers) > 1:
                some = signed(low_bits(form.piece) << first, 64)
                mask = text.let(f"and i64 {bits}, {some}")
            place = text.at(pointer, -first * form.stride)
            text.do(f"call void @{name}(ptr {place}, ptr {data}, i64 {mask})")

    def store_masked(
        self, pointers: list[str], lanes: int, scalar: str, value: str, mask: str
    ) -> None:
        """Store the lanes of a mask."""
        count = lanes // len(pointers)
        vector, bools = f"<{count} x {scalar}>", f"<{count} x i1>"
        function = self.library.intrinsic(
            f"llvm.masked.store.v{count}{_suffix(scalar)}.p0", "void", vector, "ptr", bools
        )
        for number, pointer in enumerate(pointers):
            picks = range(number * count, (number + 1) * count)
            one = self.text.shuffle(scalar, lanes, value, picks)
            on = self.text.shuffle("i1", lanes, mask, picks)
            self.text.do(
                f"call void {function}({vector} {one}, ptr align 1 {pointer}, {bools} {on})"
            )


def choose(text: Text, ways: Sequence[Rows], direct: str, general: str) -> list[Rows]:
    """Go on at `direct` if all rows fit, else at `general`; return the rows there."""
    fits = text.all_of([way.fits for way in ways])
    if not any(way.again for way in ways):
        text.likely(fits, direct, general)
        text.label(direct)
        return list(ways)
    again, first = text.fresh("again"), text.block
    text.likely(fits, direct, again)
    text.label(again)
    others = [way if way.again is None else way.again() for way in ways]
    text.likely(text.all_of([other.fits for other in others]), direct, general)
    second = text.block
    text.label(direct)
    found = list[Rows]()
    for way, other in zip(ways, others, strict=True):
        pairs = list(zip(way.pointers, other.pointers, strict=True))
        names = {
            (a, b): text.let(f"phi ptr [ {a}, %{first} ], [ {b}, %{second} ]")
            for a, b in dict.fromkeys(pairs)
        }
        found.append(replace(way, pointers=[names[pair] for pair in pairs]))
    return found


def _supposing_again(text: Text, again: Callable[[], Rows], tests: Sequence[str]) -> Rows:
    return again().supposing(text, tests)


def _is_straight_within(form: Form, offset: str, bounds: Bounds) -> bool:
    """Whether a row that goes up and is in range is linear: cores that wrap are out of range."""
    if form.signed is not False or offset != "0" or bounds.end is None or form.stride < 0:
        return False
    return bounds.end <= form.scale << form.core_bits


def _nowhere(bounds: Bounds, stride: int) -> int:
    """Return an offset in a margin from which a row stays in the margin.

    Nothing is stored there in part, for which processors would wait where they load a row.
    """
    return -bounds.margin if stride > 0 else -_LONGEST


def pieces_of_rows(lanes: int, piece: int, stride: int, pointers: list[str]) -> Rows:
    """Return pieces of rows that begin at some pointers."""
    return Rows(Shape(Form(piece, 64, 64, stride), lanes, (), ()), pointers)


def _are_near(form: Form) -> bool:
    """Whether distances between lanes of a piece are numbers of 32 bits."""
    return abs(form.stride) * form.piece < 1 << 31


def _suffix(scalar: str) -> str:
    return {"half": "f16", "float": "f32", "double": "f64"}.get(scalar, scalar)
