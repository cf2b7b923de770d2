"""Messages of long units: a function for each kind looks where lanes are and moves them.

Where lanes are anywhere in an array, checking and moving them takes more than a hundred
instructions. Where a message stands there are a few then: its indices are left in the exchange
area, with what it stores, and what it loads is found there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from visim.engine.jit.ir.shapes import Form, Shape
from visim.engine.jit.ir.storage import bits_vector
from visim.engine.jit.ir.text import Text
from visim.engine.jit.layout import CACHE_ENTRY, Context
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.butterflies import ButterflyWriter, candidate
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.functions import ModuleFrame
from visim.engine.jit.writing.general import general_function
from visim.engine.jit.writing.rows import RowWriter
from visim.engine.jit.writing.scattered import ScatterWriter
from visim.engine.jit.writing.vectors import Candidate
from visim.engine.jit.writing.windows import Window, WindowWriter

_PARAMETERS = (
    "ptr %ctx, ptr %thread, i64 %mask, ptr %facts, i64 %offset, "
    "i64 %start, i64 %limit, i64 %host, i64 %surface"
)
"""What all functions here take. In flat memory `%start` is where the extent is in which a message
has to stay, and the last three are left undefined."""


@dataclass(frozen=True, slots=True)
class Distant:
    """Lanes that a function looks for; `shape` is that of their addresses (None: any)."""

    shape: Shape | None

    @property
    def offset(self) -> str:
        """What is added to all indices, as i64."""
        return "0" if self.shape is None else self.shape.offsets[0]


def known_facts(module: ModuleFrame, site: int, numbers: Sequence[int]) -> str:
    """Return the pointer to what is known of a message: its site, its place, its form."""
    name, found = f"@facts.{site}", ", ".join(f"i64 {number}" for number in numbers)
    text = f"{name} = private constant [{len(numbers)} x i64] [{found}]"
    module.library.functions[name] = text
    return name


def shared_function(module: ModuleFrame, access: Access, way: Distant, *, masked: bool) -> str:
    """Return the name of the function for a kind of message, which is made when first asked for.

    It finds 32-bit indices, or addresses where there is no shape, where the exchange area begins,
    and returns whether all went well. Without `masked` all lanes are on.
    """
    form = None if way.shape is None else replace(way.shape.form, exact=False)
    places = "far" if form is None else f"{form.scale}{'s' if form.signed else 'u'}{form.bits}"
    kinds = ("flat", access.flat), ("masked", masked), ("free", not access.checked)
    words = [access.verb, *(word for word, holds in kinds if holds)]
    name = f"{'.'.join(words)}.{access.lanes}.{access.scalar}.{access.parts}.{places}"
    if name not in module.library.functions:
        writer = _FunctionWriter(module, access, form, masked=masked)
        module.library.functions[name] = writer.write(name)
    return name


class _FunctionWriter:
    """Writes the function for a kind of message."""

    def __init__(
        self, module: ModuleFrame, access: Access, form: Form | None, *, masked: bool
    ) -> None:
        self.module = module
        self.access = access
        self.form = form
        self.masked = masked
        self.text = Text(tests_bits=not module.version.has_mask_registers)
        gatherer, spacer = module.gatherer(self.text), module.spacer(self.text)
        self.rows = RowWriter(self.text, module.library, gatherer, spacer)
        self.moves = WindowWriter(
            self.rows,
            lambda _: "%area",
            unrolls=True,
            skips=True,
        )

    def write(self, name: str) -> str:
        """Return the text of the function."""
        text, access = self.text, self.access
        shape, addresses = self._lanes()
        bounds = self._bounds()
        found = self._candidate(shape)
        if found is not None:
            self._butterfly(found, bounds)
        window = self._window(shape, addresses, bounds, near=found is None)
        text.likely(window.fits, "direct", "general")
        text.label("direct")
        self.moves.move_all(access.verb, window, access.scalar, access.parts)
        text.do("ret i1 true")
        text.label("general")
        if shape is not None:
            self._leave_addresses(shape)
        function = general_function(self.module.library, access, self.module.way)
        where, place, form = (self._fact(number) for number in range(3))
        surface = "0"
        known = "%start, i64 0, i64 0" if access.checked else "0, i64 -1, i64 0"
        if not access.flat:
            surface = "%surface"
            known = f"%start, i64 {'%limit' if access.checked else -1}, i64 %host"
        given = f"i64 {where}, i64 {place}, i64 {form}, i64 {known}, i64 {surface}"
        well = text.let(
            f"call preserve_mostcc i1 @{function}(ptr %ctx, ptr %thread, i64 %mask, {given})"
        )
        head = f"define internal i1 @{name}({_PARAMETERS}) noinline #0 {{"
        first = f"  %area.at = getelementptr i64, ptr %ctx, i64 {int(Context.EXCHANGE)}"
        area = "  %area = load ptr, ptr %area.at, align 8"
        return "\n".join([head, "entry:", first, area, *text.lines, f"  ret i1 {well}", "}"])

    def _fact(self, number: int) -> str:
        """Return a number that is known of the message: its site, its place, its form."""
        return self.text.let(f"load i64, ptr {self.text.at('%facts', 8 * number)}, align 8")

    def _lanes(self) -> tuple[Shape | None, str]:
        """Return what is known of the lanes: the shape of their addresses, or the addresses."""
        lanes, form = self.access.lanes, self.form
        bits = 64 if form is None else 32
        vector = self.text.let(f"load <{lanes} x i{bits}>, ptr %area, align 8")
        if form is None:
            return None, vector
        offset = "%offset" if form.bits == 64 else "0"
        return Shape(form, lanes, (vector,), (offset,)), ""

    def _candidate(self, shape: Shape | None) -> Candidate | None:
        """Return what may be a butterfly, where the host moves one as vectors."""
        if shape is None or not self.module.version.has_mask_registers:
            return None
        return candidate(shape, self.access)

    def _butterfly(self, found: Candidate, bounds: Bounds) -> None:
        """Move the lanes and return if they are a butterfly."""
        text, access, moves = self.text, self.access, self.moves
        writer = ButterflyWriter(self.rows, {})
        mask = "%mask" if self.masked else None
        taken = writer.begin(found, access, bounds, mask, "far")
        if access.verb == "load":
            moves.leave(access.lanes, access.scalar, writer.load(taken, access))
        else:
            writer.store(taken, access, moves.given(access.lanes, access.scalar, access.parts))
        text.do("ret i1 true")
        text.label("far")

    def _window(self, shape: Shape | None, addresses: str, bounds: Bounds, *, near: bool) -> Window:
        access, scattered = self.access, ScatterWriter(self.rows, self.moves)
        vector = bits_vector(self.text, "%mask", 0, access.lanes) if self.masked else None
        mask = vector, "%mask"
        if shape is None:
            window = scattered.far_window(addresses, access.lanes, bounds, mask)
        else:
            window = scattered.window(shape, bounds, mask, checked=access.checked, near=near)
        return scattered.with_rest(window, bounds, access)

    def _bounds(self) -> Bounds:
        """Return where lanes may be; in flat memory that is where they were last."""
        if not self.access.flat:
            return Bounds("%start", "%limit", "%host")
        text = self.text
        place = text.let(f"getelementptr i64, ptr %ctx, i64 {int(Context.CACHE)}")
        caches = text.let(f"load ptr, ptr {place}, align 8")
        site = text.let(f"and i64 {self._fact(0)}, 4294967295")
        byte = text.let(f"mul i64 {site}, {CACHE_ENTRY}")
        cache = text.let(f"getelementptr i8, ptr {caches}, i64 {byte}")
        base = text.let(f"load i64, ptr {cache}, align 8")
        return Bounds(base, text.let(f"load i64, ptr {text.at(cache, 8)}, align 8"), base)

    def _leave_addresses(self, shape: Shape) -> None:
        """Leave all addresses where the general form finds them."""
        vector, lanes = self.rows.shapes.vector(shape), shape.lanes
        if shape.form.bits != 64:
            source = f"<{lanes} x i{shape.form.bits}>"
            vector = self.text.let(f"zext {source} {vector} to <{lanes} x i64>")
        self.text.do(f"store <{lanes} x i64> {vector}, ptr %area, align 8")
