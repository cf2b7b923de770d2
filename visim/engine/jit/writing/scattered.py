"""Messages of ragged shapes: any indices into one array, all checked at once.

`windows` moves what has been checked; atomic operations go lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.permuting import Permuter
from visim.engine.jit.ir.shapes import Form, Shape, literal
from visim.engine.jit.ir.text import Text, splat
from visim.engine.jit.writing.atomics import atomic_function
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.rows import RowWriter
from visim.engine.jit.writing.windows import ROW_BYTES, Window, WindowWriter, none_of

_MOST_INDEX = (1 << 31) - 1
MOST_PARTS = 4
"""Messages that move more components for each lane are left to the general form."""


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


def has_window(shape: Shape) -> bool:
    """Whether a shape's lanes can be checked together: factors are powers of two."""
    return shape.form.ragged and shape.form.scale.bit_count() == 1 and shape.form.scale > 0


@dataclass(frozen=True, slots=True)
class Table:
    """Lanes of a ragged shape that reach the first elements of an array, which one check covers.

    `entries` is how many elements the check covers, `permuter` what takes lanes from all of them;
    None: lanes are loaded from where they are.
    """

    shape: Shape
    window: Window
    entries: int
    permuter: Permuter | None = None


class ScatterWriter:
    """Writes accesses of lanes that are anywhere in an array.

    `moves` moves what has been checked.
    """

    def __init__(self, rows: RowWriter, moves: WindowWriter) -> None:
        self.text = rows.text
        self.library = rows.library
        self.moves = moves

    # Range

    def window(
        self,
        shape: Shape,
        bounds: Bounds,
        mask: tuple[str | None, str],
        *,
        checked: bool,
        near: bool = True,
    ) -> Window:
        """Check all lanes of a ragged shape.

        `mask` are the lanes that are on, as a vector (None: all) and as i64. Without `checked`
        all are taken to be in range; `near` says that they may be every other element.
        """
        text, lanes, form = self.text, shape.lanes, shape.form
        kind, (vector, bits) = f"<{lanes} x i32>", mask
        delta = text.let(f"sub i64 {shape.offsets[0]}, {bounds.start}")
        low, room, fits = str(_least_of_all(form)), "", "true"
        if checked:
            low, room, fits = core_range(text, self.library, form, delta, bounds.limit)
        least = text.spread("i32", lanes, text.let(f"trunc i64 {low} to i32"))
        index = text.let(f"sub {kind} {shape.cores[0]}, {least}")
        index = self._without_idle(vector, lanes, index)
        if checked:
            fits = text.let(f"and i1 {fits}, {self._all_within(index, room, lanes)}")
        skipped = text.let(f"mul i64 {low}, {form.scale}")
        first = text.let(f"add i64 {shape.offsets[0]}, {skipped}")
        base = self._base(first, bounds)
        known = form.scale, first, base, index, fits, vector, bits, checked, near
        return Window(shape, lanes, *known)

    def table(
        self, shape: Shape, most: int | None, bounds: Bounds, mask: tuple[str | None, str]
    ) -> Table:
        """Check the ends of what the lanes of a ragged shape can reach, whose cores end at `most`.

        None: all lanes are taken to be in range.
        """
        lanes, form, (vector, bits) = shape.lanes, shape.form, mask
        index = self._without_idle(vector, lanes, shape.cores[0])
        first, fits = shape.offsets[0], "true"
        if most is not None:
            fits = self._both_within(first, most * form.scale, bounds)
        base, checked = self._base(first, bounds), most is not None
        return Table(
            shape,
            Window(shape, lanes, form.scale, first, base, index, fits, vector, bits, checked),
            0 if most is None else most + 1,
        )

    def _both_within(self, first: str, size: int, bounds: Bounds) -> str:
        """Return whether an address, and what is `size` behind it, are in range."""
        text, places = self.text, _numbers(first, bounds)
        if places is not None:
            first_place, limit = places
            return "true" if first_place >= 0 and first_place + size < limit else "false"
        delta = text.let(f"sub i64 {first}, {bounds.start}")
        last = text.let(f"add i64 {delta}, {size}")
        tests = [text.let(f"icmp ult i64 {one}, {bounds.limit}") for one in (delta, last)]
        return text.let(f"and i1 {tests[0]}, {tests[1]}")

    def with_rest(self, window: Window, bounds: Bounds, access: Access) -> Window:
        """Let narrow elements be cut out of what is gathered, as far as 4 bytes are in range."""
        text, gatherer = self.text, self.moves.rows.gatherer
        if gatherer is None or not window.checked or (access.verb, access.parts) != ("load", 1):
            return window
        if not gatherer.suits_narrow(access.lanes, access.scalar) or window.scale > _MOST_INDEX:
            return window
        places, less = _numbers(window.first, bounds), 5 - access.size
        if places is not None and window.fits == "true":
            first, limit = places
            fits = "true" if limit - first >= less else "false"
            return replace(window, fits=fits, last=str(limit - first - less))
        end = text.let(f"add i64 {bounds.start}, {bounds.limit}")
        rest = text.let(f"sub i64 {end}, {window.first}")
        rest = text.let(f"sub i64 {rest}, {less}")
        test = f"sge i64 {rest}, 0" if window.scale == 1 else f"ule i64 {rest}, {_MOST_INDEX}"
        enough = text.let(f"icmp {test}")
        smin = self.library.intrinsic("llvm.smin.i64", "i64", "i64", "i64")
        last = text.let(f"call i64 {smin}(i64 {rest}, i64 {_MOST_INDEX})")
        fits = text.let(f"and i1 {window.fits}, {enough}")
        return replace(window, fits=fits, last=text.let(f"trunc i64 {last} to i32"))

    def far_window(
        self, addresses: str, lanes: int, bounds: Bounds, mask: tuple[str | None, str]
    ) -> Window:
        """Check all lanes of 64-bit addresses."""
        text, kind, (vector, bits) = self.text, f"<{lanes} x i64>", mask
        start, limit = (text.spread("i64", lanes, one) for one in (bounds.start, bounds.limit))
        offset = text.let(f"sub {kind} {addresses}, {start}")
        offset = self._without_idle(vector, lanes, offset, 64)
        inside = none_of(text, text.let(f"icmp uge {kind} {offset}, {limit}"), lanes)
        small = text.let(f"icmp ule i64 {bounds.limit}, {_MOST_INDEX}")
        fits = text.let(f"and i1 {inside}, {small}")
        index = text.let(f"trunc {kind} {offset} to <{lanes} x i32>")
        base = self._base(bounds.start, bounds)
        return Window(None, lanes, 1, bounds.start, base, index, fits, vector, bits, checked=True)

    def _without_idle(self, mask: str | None, lanes: int, numbers: str, bits: int = 32) -> str:
        """Return numbers that are zero in lanes that are off; without a mask none are."""
        if mask is None:
            return numbers
        kind = f"<{lanes} x i{bits}>"
        return self.text.let(
            f"select <{lanes} x i1> {mask}, {kind} {numbers}, {kind} zeroinitializer"
        )

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
        return none_of(self.text, beyond, few)

    def _largest(self, vector: str, lanes: int) -> tuple[str, int]:
        """Return the larger ones of halves, until they have 32 bytes, and their number."""
        text = self.text
        while lanes * 4 > ROW_BYTES and not lanes % 2:
            whole, lanes = lanes, lanes // 2
            name, kind = f"llvm.umax.v{lanes}i32", f"<{lanes} x i32>"
            umax = self.library.intrinsic(name, kind, kind, kind)
            low, high = (
                text.shuffle("i32", whole, vector, range(first, first + lanes))
                for first in (0, lanes)
            )
            vector = text.let(f"call {kind} {umax}({kind} {low}, {kind} {high})")
        return vector, lanes

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
        return none_of(text, text.let(f"icmp ne {kind} {low}, zeroinitializer"), lanes)

    def atomic(self, window: Window, access: Access, operands: Sequence[str]) -> str:
        """Do an atomic operation at each lane of a window, which fits, lowest lane first.

        Return what it returns.
        """
        text, way = self.text, ("own." if access.own else "") + ("" if access.returns else "void.")
        name = f"{access.verb}.{way}lanes.{window.lanes}.{access.scalar}.{window.scale}"
        if name not in self.library.functions:
            self.library.functions[name] = atomic_function(access, name, window.scale)
        data = self.moves.data(max(1, len(operands)) * access.vector_bytes)
        for part, operand in enumerate(operands):
            place = text.at(data, part * access.vector_bytes)
            text.hand_over(access.scalar, access.lanes, operand, place)
        self.moves.do(name, window, window.bits)
        return text.let(f"load {access.vector}, ptr {data}, align 8")


def _numbers(first: str, bounds: Bounds) -> tuple[int, int] | None:
    """Return how far an address is from where bounds begin, and their limit, if both are known."""
    place, start, limit = (literal(one) for one in (first, bounds.start, bounds.limit))
    return None if place is None or start is None or limit is None else (place - start, limit)


def _least_of_all(form: Form) -> int:
    """Return what to subtract from any core so that the difference is a signed number."""
    return 0 if form.signed else 1 << 31
