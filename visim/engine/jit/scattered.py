"""Loads and stores of ragged shapes: any indices into one array, all checked at once.

Where neighbours turn out to be adjacent, short rows are moved; else lane by lane, in the way that
the host's processor likes best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visim.engine.jit.atomics import atomic_function
from visim.engine.jit.bounds import Bounds
from visim.engine.jit.floats import Library
from visim.engine.jit.general import Access
from visim.engine.jit.lanes import move_function
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.rows import Rows, RowWriter
from visim.engine.jit.shapes import Form, Shape
from visim.engine.jit.text import Text, numbers, scalar_bytes, signed, splat

if TYPE_CHECKING:
    from visim.engine.jit.unit import UnitWriter

_MOST_INDEX = (1 << 31) - 1
MOST_PARTS = 4
"""Messages that move more components for each lane are left to the general form."""
_ROW_BYTES = 32
"""How much is moved at once."""


def core_range(
    text: Text, library: Library, form: Form, delta: str, limit: str
) -> tuple[str, str, str]:
    """Return the least core in range, how many more are in range, and whether any is.

    A core is in range if `delta + core * scale` is not negative and below `limit`, which is no
    negative number.
    """
    shift = form.scale.bit_length() - 1
    least, most = (-(1 << 31), _MOST_INDEX) if form.signed else (0, (1 << 32) - 1)
    smax = library.intrinsic("llvm.smax.i64", "i64", "i64", "i64")
    smin = library.intrinsic("llvm.smin.i64", "i64", "i64", "i64")
    below = text.let(f"ashr i64 {delta}, {shift}")
    minus = library.intrinsic("llvm.ssub.sat.i64", "i64", "i64", "i64")
    low = text.let(f"call i64 {minus}(i64 0, i64 {below})")
    low = text.let(f"call i64 {smax}(i64 {low}, i64 {least})")
    last = text.let(f"sub i64 {limit}, 1")
    high = text.let(f"ashr i64 {text.let(f'sub i64 {last}, {delta}')}, {shift}")
    high = text.let(f"call i64 {smin}(i64 {high}, i64 {most})")
    some = text.let(f"icmp sle i64 {low}, {high}")
    room = text.let(f"sub i64 {high}, {low}")
    return low, text.let(f"call i64 {smin}(i64 {room}, i64 {_MOST_INDEX})"), some


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


def has_window(shape: Shape) -> bool:
    """Whether a shape's lanes can be checked together: factors are powers of two."""
    return shape.form.ragged and shape.form.scale.bit_count() == 1 and shape.form.scale > 0


class ScatterWriter:
    """Writes accesses of lanes that are anywhere in an array.

    `repeats` says that the code is in a loop, where speed is worth more of it.
    """

    def __init__(self, unit: UnitWriter, rows: RowWriter, *, repeats: bool) -> None:
        self.unit = unit
        self.text = unit.text
        self.rows = rows
        self.library = rows.library
        self.gathers = unit.module.version.has_gathers
        self.repeats = repeats

    # Range

    def window(
        self, shape: Shape, bounds: Bounds, mask: tuple[str | None, str], *, checked: bool
    ) -> Window:
        """Check all lanes of a ragged shape.

        `mask` are the lanes that are on, as a vector (None: all) and as i64. Without `checked`
        all are taken to be in range.
        """
        text, lanes, form = self.text, shape.lanes, shape.form
        kind, (vector, bits) = f"<{lanes} x i32>", mask
        delta = text.let(f"sub i64 {shape.offsets[0]}, {bounds.start}")
        low, room, fits = str(_least_of_all(form)), "", "true"
        if checked:
            low, room, fits = core_range(text, self.library, form, delta, bounds.limit)
        least = text.spread("i32", lanes, text.let(f"trunc i64 {low} to i32"))
        index = text.let(f"sub {kind} {shape.cores[0]}, {least}")
        if vector is not None:
            index = text.let(
                f"select <{lanes} x i1> {vector}, {kind} {index}, {kind} zeroinitializer"
            )
        if checked:
            fits = text.let(f"and i1 {fits}, {self._all_within(index, room, lanes)}")
        skipped = text.let(f"mul i64 {low}, {form.scale}")
        first = text.let(f"add i64 {shape.offsets[0]}, {skipped}")
        base = self._base(first, bounds)
        return Window(shape, lanes, form.scale, first, base, index, fits, vector, bits, checked)

    def far_window(
        self, addresses: str, lanes: int, bounds: Bounds, mask: tuple[str | None, str]
    ) -> Window:
        """Check all lanes of 64-bit addresses."""
        text, kind, (vector, bits) = self.text, f"<{lanes} x i64>", mask
        start, limit = (text.spread("i64", lanes, one) for one in (bounds.start, bounds.limit))
        offset = text.let(f"sub {kind} {addresses}, {start}")
        if vector is not None:
            offset = text.let(
                f"select <{lanes} x i1> {vector}, {kind} {offset}, {kind} zeroinitializer"
            )
        inside = self._none(text.let(f"icmp uge {kind} {offset}, {limit}"), lanes)
        small = text.let(f"icmp ule i64 {bounds.limit}, {_MOST_INDEX}")
        fits = text.let(f"and i1 {inside}, {small}")
        index = text.let(f"trunc {kind} {offset} to <{lanes} x i32>")
        base = self._base(bounds.start, bounds)
        return Window(None, lanes, 1, bounds.start, base, index, fits, vector, bits, checked=True)

    def _base(self, address: str, bounds: Bounds) -> str:
        """Return the pointer to an address."""
        text = self.text
        offset = text.let(f"sub i64 {address}, {bounds.start}")
        return text.let(f"inttoptr i64 {text.let(f'add i64 {offset}, {bounds.host}')} to ptr")

    def _all_within(self, index: str, room: str, lanes: int) -> str:
        text = self.text
        largest, few = self._largest(index, lanes)
        most = text.spread("i32", few, text.let(f"trunc i64 {room} to i32"))
        beyond = text.let(f"icmp ugt <{few} x i32> {largest}, {most}")
        return self._none(beyond, few)

    def _largest(self, vector: str, lanes: int) -> tuple[str, int]:
        """Return the larger ones of halves, until they have 32 bytes, and their number."""
        text = self.text
        while lanes * 4 > _ROW_BYTES and not lanes % 2:
            whole, lanes = lanes, lanes // 2
            name, kind = f"llvm.umax.v{lanes}i32", f"<{lanes} x i32>"
            umax = self.library.intrinsic(name, kind, kind, kind)
            low, high = (
                text.shuffle("i32", whole, vector, range(first, first + lanes))
                for first in (0, lanes)
            )
            vector = text.let(f"call {kind} {umax}({kind} {low}, {kind} {high})")
        return vector, lanes

    def _none(self, vector: str, lanes: int) -> str:
        """Return whether a vector of i1 is false in all lanes."""
        whole = self.text.let(f"bitcast <{lanes} x i1> {vector} to i{lanes}")
        return self.text.let(f"icmp eq i{lanes} {whole}, 0")

    # Loads

    def load(self, window: Window, scalar: str, parts: int) -> list[str]:
        """Return `parts` vectors of the elements at the lanes of a window, which fits."""
        text, found = self.text, list[tuple[list[str], str]]()
        join = text.fresh("loaded")
        for piece, stride in self._pieces(window, scalar, parts):
            apart = self._begin_rows(window, piece, stride)
            rows = _rows(window.lanes, piece, stride, self._rows(window, piece))
            found.append((self.rows.load(rows, scalar, parts), text.block))
            text.jump(join)
            text.label(apart)
        found.append((self._gathered(window, scalar, parts), text.block))
        text.jump(join)
        text.label(join)
        vector = f"<{window.lanes} x {scalar}>"
        return [
            text.let(
                f"phi {vector} " + ", ".join(f"[ {some[part]}, %{block} ]" for some, block in found)
            )
            for part in range(parts)
        ]

    def _gathered(self, window: Window, scalar: str, parts: int) -> list[str]:
        if self.gathers and parts == 1 and _suits_hardware(window, scalar):
            return [self._hardware(window, scalar)]
        if self.repeats and window.checked:
            return self._one_by_one(window, scalar, parts)
        lanes, size = window.lanes, parts * scalar_bytes(scalar)
        data = self._call("load", window, size)
        return self.rows.load(_rows(lanes, lanes, size, [data]), scalar, parts)

    def _one_by_one(self, window: Window, scalar: str, parts: int) -> list[str]:
        """Load each lane by itself; those that are off have an index that is in range."""
        text, lanes = self.text, window.lanes
        vector, found = f"<{lanes} x {scalar}>", ["poison"] * parts
        for lane in range(lanes):
            pointer = self._pointer(window, lane)
            for part in range(parts):
                place = text.let(f"getelementptr {scalar}, ptr {pointer}, i64 {part}")
                one = text.let(f"load {scalar}, ptr {place}, align 1")
                found[part] = text.let(
                    f"insertelement {vector} {found[part]}, {scalar} {one}, i64 {lane}"
                )
        return found

    def _hardware(self, window: Window, scalar: str) -> str:
        """Gather with AVX2, 32 bytes at a time."""
        text, bits = self.text, 8 * scalar_bytes(scalar)
        lanes = _ROW_BYTES * 8 // bits
        kind, indices = f"<{lanes} x i{bits}>", f"<{lanes} x i32>"
        letter = "d" if bits == 32 else "q"
        name = self.library.intrinsic(
            f"llvm.x86.avx2.gather.d.{letter}.256", kind, kind, "ptr", indices, kind, "i8"
        )
        found: list[str] = []
        for first in range(0, window.lanes, lanes):
            picks = range(first, first + lanes)
            index = text.shuffle("i32", window.lanes, window.index, picks)
            on = splat(f"i{bits}", lanes, -1)
            if window.mask is not None and not window.checked:
                some = text.shuffle("i1", window.lanes, window.mask, picks)
                on = text.let(f"sext <{lanes} x i1> {some} to {kind}")
            one = text.let(
                f"call {kind} {name}({kind} zeroinitializer, ptr {window.base}, "
                f"{indices} {index}, {kind} {on}, i8 {window.scale})"
            )
            found.append(text.let(f"bitcast {kind} {one} to <{lanes} x {scalar}>"))
        return self.rows.weaver.joined(found, lanes, scalar)

    # Stores

    def store(self, window: Window, scalar: str, values: list[str]) -> None:
        """Store vectors at the lanes of a window, which fits, lowest lane first."""
        text, parts = self.text, len(values)
        join, size = text.fresh("stored"), parts * scalar_bytes(scalar)
        for piece, stride in self._pieces(window, scalar, parts):
            apart = self._begin_rows(window, piece, stride)
            pointers = self._rows(window, piece)
            if stride == size:
                self.rows.store(pointers, window.lanes, scalar, values)
            else:
                self.rows.store_apart(pointers[0], window.lanes, scalar, values[0], stride)
            text.jump(join)
            text.label(apart)
        woven = self.rows.weaver.woven(values, window.lanes, scalar)
        vector = f"<{window.lanes * parts} x {scalar}>"
        self._call("store", window, size, f"{vector} {woven}")
        text.jump(join)
        text.label(join)

    # Lane by lane

    def _call(self, verb: str, window: Window, size: int, given: str = "") -> str:
        """Move `size` bytes for each lane; return where values are, lane after lane."""
        lanes, mask = window.lanes, window.bits
        if verb == "load" and window.checked:
            mask = str(signed((1 << lanes) - 1, 64))
        name = f"{verb}.lanes.{lanes}.{size}.{window.scale}"
        if name not in self.library.functions:
            function = move_function(name, verb, lanes, size, window.scale)
            self.library.functions[name] = function
        data = self._data(lanes * size)
        if given:
            self.text.do(f"store {given}, ptr {data}, align 8")
        self._do(name, window, mask)
        return data

    def _data(self, size: int) -> str:
        """Return where values stand, of which there are `size` bytes."""
        self.unit.module.sites.reserve(EXCHANGE_DATA + size)
        return self.text.at(self.unit.context_pointer(Context.EXCHANGE), EXCHANGE_DATA)

    def _do(self, name: str, window: Window, mask: str) -> None:
        text, area = self.text, self.unit.context_pointer(Context.EXCHANGE)
        self.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        text.do(f"store <{window.lanes} x i32> {window.index}, ptr {area}, align 8")
        text.do(f"call void @{name}(ptr {window.base}, ptr {area}, i64 {mask})")

    # Atomics

    def aligned(self, window: Window, size: int) -> str:
        """Return whether all lanes have addresses that are multiples of `size`."""
        text, lanes, kind = self.text, window.lanes, f"<{window.lanes} x i32>"
        first = text.let(f"trunc i64 {window.first} to i32")
        if not window.scale % size:
            low = text.let(f"and i32 {first}, {size - 1}")
            return text.let(f"icmp eq i32 {low}, 0")
        scaled = text.let(f"mul {kind} {window.index}, {splat('i32', lanes, window.scale)}")
        places = text.let(f"add {kind} {scaled}, {text.spread('i32', lanes, first)}")
        low = text.let(f"and {kind} {places}, {splat('i32', lanes, size - 1)}")
        return self._none(text.let(f"icmp ne {kind} {low}, zeroinitializer"), lanes)

    def atomic(self, window: Window, access: Access, operands: Sequence[str]) -> str:
        """Do an atomic operation at each lane of a window, which fits, lowest lane first.

        Return what it returns.
        """
        text, way = self.text, ("own." if access.own else "") + ("" if access.returns else "void.")
        name = f"{access.verb}.{way}lanes.{window.lanes}.{access.scalar}.{window.scale}"
        if name not in self.library.functions:
            self.library.functions[name] = atomic_function(access, name, window.scale)
        data = self._data(max(1, len(operands)) * access.vector_bytes)
        for part, operand in enumerate(operands):
            place = text.let(f"getelementptr i8, ptr {data}, i64 {part * access.vector_bytes}")
            text.do(f"store {access.vector} {operand}, ptr {place}, align 8")
        self._do(name, window, window.bits)
        return text.let(f"load {access.vector}, ptr {data}, align 8")

    # Rows

    def _pieces(self, window: Window, scalar: str, parts: int) -> list[tuple[int, int]]:
        """Return how many neighbours may turn out to be rows, and how far apart, if any are.

        Pairs are what is left of rows where elements are exchanged over short distances, and every
        other element where neighbours are.
        """
        lanes, size = window.lanes, parts * scalar_bytes(scalar)
        most = min(lanes, _ROW_BYTES // max(4, scalar_bytes(scalar)))
        if size % window.scale or lanes % most:
            return []
        found = [(most, size), (2, size)] if most > 2 else [(most, size)]
        if parts == 1 and not self.repeats and lanes % 2 == 0:
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
        text.branch(self._none(other, lanes), row, apart)
        text.label(row)
        return apart

    def _rows(self, window: Window, piece: int) -> list[str]:
        """Return where the pieces of a window begin."""
        return [self._pointer(window, lane) for lane in range(0, window.lanes, piece)]

    def _pointer(self, window: Window, lane: int) -> str:
        """Return where a lane is."""
        text, word = self.text, "zext" if window.checked else "sext"
        one = text.let(f"extractelement <{window.lanes} x i32> {window.index}, i64 {lane}")
        wide = text.let(f"{word} i32 {one} to i64")
        offset = text.let(f"mul i64 {wide}, {window.scale}")
        return text.let(f"getelementptr i8, ptr {window.base}, i64 {offset}")


def _rows(lanes: int, piece: int, stride: int, pointers: list[str]) -> Rows:
    """Return pieces of rows that begin at some pointers."""
    return Rows(Shape(Form(piece, 64, 64, stride), lanes, (), ()), pointers)


def _suits_hardware(window: Window, scalar: str) -> bool:
    size = scalar_bytes(scalar)
    whole = size in {4, 8} and not window.lanes * size % _ROW_BYTES
    return whole and window.scale in {1, 2, 4, 8}


def _least_of_all(form: Form) -> int:
    """Return what to subtract from any core so that the difference is a signed number."""
    return 0 if form.signed else 1 << 31
