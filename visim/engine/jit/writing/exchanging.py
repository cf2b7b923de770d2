"""Messages in their general form: calls of functions that all kernels share.

Addresses, and what is stored, are left in the exchange area; what is loaded comes back there.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.common.moving import packed_widths, together
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.general import general_function
from visim.engine.jit.writing.reach import BoundsWriter, extent_of
from visim.engine.jit.writing.ready import Ready
from visim.engine.jit.writing.rows import Rows, RowWriter
from visim.engine.jit.writing.shared import Distant, known_facts, shared_function
from visim.engine.jit.writing.telling import leave_group
from visim.engine.jit.writing.values import Values
from visim.sem.effects import Atomic, Load, Store


class ExchangeWriter:
    """Writes the calls for the messages of one instruction."""

    def __init__(
        self, unit: FunctionFrame, values: Values, bounds: BoundsWriter, rows: RowWriter, pc: int
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.bounds = bounds
        self.rows = rows
        self.pc = pc

    def area(self, size: int) -> str:
        """Return the pointer to the exchange area, which has so many bytes at least."""
        self.unit.module.sites.reserve(size)
        return self.unit.context_pointer(Context.EXCHANGE)

    def move(self, ready: Ready, to: int = EXCHANGE_DATA, *, firsts: int = 0) -> None:
        """Do a message that has been looked at in its general form.

        What it loads is left at byte `to` of the exchange area, vector by vector; with `firsts` one
        element for so many lanes.
        """
        shape = None if ready.way is None else ready.way.shape
        if isinstance(ready.way, Rows):
            shape = self.rows.reached(ready.way)
        form = ready.access.form | together(firsts)
        where = ready.site | to << 32
        known = ready.bits, where, form
        self._call(ready.access, ready.effect, ready.bounds, known, shape, ready.given)

    def update(
        self,
        effect: Atomic,
        site: int,
        access: Access,
        bounds: Bounds,
        bits: str,
        shape: Shape | None,
        values: Sequence[str],
    ) -> None:
        """Do an atomic message; `bits` are the lanes that are on, `values` its operands."""
        self._call(access, effect, bounds, (bits, site, access.form), shape, values)

    def _call(
        self,
        access: Access,
        effect: Load | Store | Atomic,
        bounds: Bounds,
        known: tuple[str, int, int],
        shape: Shape | None,
        values: Sequence[str],
    ) -> None:
        """Call the function that does a message whatever its addresses and mask are."""
        area = self._filled(access, values)
        self._leave_addresses(area, effect, shape)
        leave_group(self.values, effect.within)
        function = general_function(self.unit.module.library, access, self.unit.module.way)
        given = self._given(access, effect, bounds, *known)
        self.unit.failed_unless(self.text.let(f"call preserve_mostcc i1 @{function}({given})"))

    def distant(self, ready: Ready, way: Distant) -> None:
        """Call the function that looks where lanes are, and moves them."""
        effect, access, shape, lanes = ready.effect, ready.access, way.shape, ready.access.lanes
        area = self._filled(access, ready.given)
        if shape is None:
            bits, vector = 64, self.addresses(effect, None)
        else:
            bits, vector = 32, shape.cores[0]
        self.text.do(f"store <{lanes} x i{bits}> {vector}, ptr {area}, align 8")
        leave_group(self.values, effect.within)
        module, surface = self.unit.module, self.bounds.surface(effect)
        place = self.pc | self.unit.unit.number << 32
        known = ready.site | EXCHANGE_DATA << 32, place, access.form
        facts = known_facts(module, ready.site, known)
        function = shared_function(module, access, way, masked=ready.mask is not None)
        bounds = ready.bounds
        others = [bounds.start, bounds.limit, bounds.host, surface]
        if access.flat:
            others = [str(extent_of(effect)), *["poison"] * 3]
        given = ", ".join(f"i64 {number}" for number in (way.offset, *others))
        well = self.text.let(
            f"call i1 @{function}(ptr %ctx, ptr %thread, i64 {ready.bits}, ptr {facts}, {given})"
        )
        self.unit.failed_unless(well)

    def _filled(self, access: Access, values: Sequence[str]) -> str:
        """Return the pointer to the exchange area, where values are left."""
        area = self.area(EXCHANGE_DATA + access.parts * access.vector_bytes)
        for part, value in enumerate(values):
            place = self.text.at(area, EXCHANGE_DATA + part * access.vector_bytes)
            self.text.do(f"store {access.vector} {value}, ptr {place}, align 8")
        return area

    def _given(
        self,
        access: Access,
        effect: Load | Store | Atomic,
        bounds: Bounds,
        bits: str,
        where: int,
        form: int,
    ) -> str:
        """Return what functions for messages are told."""
        surface = self.bounds.surface(effect)
        known = (bounds.start, bounds.limit, bounds.host)
        if access.flat:
            known = (str(extent_of(effect)), "0", "0") if access.checked else ("0", "-1", "0")
        elif not access.checked:
            known = (bounds.start, "-1", bounds.host)
        place = self.pc | self.unit.unit.number << 32
        numbers = [bits, where, place, form, *known, surface]
        return ", ".join(["ptr %ctx", "ptr %thread", *(f"i64 {one}" for one in numbers)])

    def _leave_addresses(
        self, area: str, effect: Load | Store | Atomic, shape: Shape | None
    ) -> None:
        """Leave all addresses in the exchange area, as 64-bit numbers."""
        text, lanes = self.text, effect.addresses.lanes
        if shape is None or shape.form.ragged:
            text.do(f"store <{lanes} x i64> {self.addresses(effect, shape)}, ptr {area}, align 8")
            return
        form = shape.form
        widths = packed_widths(form.piece, form.core_bits, form.bits, signed=form.extends_sign)
        for piece, numbers in enumerate(self.rows.shapes.wide(shape)):
            place = text.at(area, 8 * piece * form.piece)
            given = ", ".join(
                f"i64 {number}" for number in (*numbers, form.step, form.scale, widths)
            )
            text.do(f"call void @visim_row(ptr {place}, {given})")

    def addresses(self, effect: Load | Store | Atomic, shape: Shape | None) -> str:
        """Return all addresses as 64-bit numbers."""
        if shape is None:
            bits, vector = effect.addresses.type.bits, self.values.value(effect.addresses)
        else:
            bits, vector = shape.form.bits, self.rows.shapes.vector(shape)
        if bits == 64:
            return vector
        lanes = effect.addresses.lanes
        return self.text.let(f"zext <{lanes} x i{bits}> {vector} to <{lanes} x i64>")

    def results(self, access: Access, first: int = EXCHANGE_DATA) -> list[str]:
        """Read what the general form has left at a byte of the exchange area, by component."""
        text = self.text
        area = self.unit.context_pointer(Context.EXCHANGE)
        places = [text.at(area, first + part * access.vector_bytes) for part in range(access.parts)]
        return [text.let(f"load {access.vector}, ptr {place}, align 8") for place in places]
