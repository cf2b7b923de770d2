"""Messages that move one block, which all channels share: checked and moved in one access.

What is not in range goes to the reference memory, but for loads that end behind a surface or a
little behind an allocation: there are zeros.
"""

from __future__ import annotations

from visim.engine.jit.ir.text import scalar_type, vector_type
from visim.engine.jit.layout import EXCHANGE_DATA, Context, FaultKind
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.general import beyond_function
from visim.engine.jit.writing.reach import BoundsWriter, extent_of
from visim.engine.jit.writing.rows import RowWriter
from visim.engine.jit.writing.telling import leave_group
from visim.engine.jit.writing.values import Values
from visim.machine.allocations import LARGEST_ELEMENT
from visim.sem.effects import LoadBlock, Space, StoreBlock, Within
from visim.sem.expr import Expr


class BlockWriter:
    """Writes the blocks that the instruction at `pc` moves."""

    def __init__(
        self, unit: FunctionFrame, values: Values, bounds: BoundsWriter, rows: RowWriter, pc: int
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.bounds = bounds
        self.rows = rows
        self.pc = pc

    def load(self, effect: LoadBlock, site: int) -> None:
        """Load a block; it becomes known to the values."""
        text, vector = self.text, f"<{effect.count} x {scalar_type(effect.type)}>"
        begin, skipped, end = self._enter(effect.mask)
        pointer, slow, join = self._block(effect, site, effect.count * effect.type.bytes)
        found = text.let(f"load {vector}, ptr {pointer}, align 1")
        fast = text.block
        text.jump(join)
        text.label(slow)
        place = self._uncommon_block(effect, site)
        answer = text.let(f"load {vector}, ptr {place}, align 1")
        after = text.block
        text.jump(join)
        text.label(join)
        found = text.let(f"phi {vector} [ {found}, %{fast} ], [ {answer}, %{after} ]")
        if skipped:
            text.jump(end)
            text.label(end)
            found = text.let(f"phi {vector} [ {found}, %{join} ], [ zeroinitializer, %{begin} ]")
        self.values.loaded[id(effect)] = [found]

    def _uncommon_block(self, effect: LoadBlock, site: int) -> str:
        """Load a block that is not, or not surely, in range; return where it is then."""
        text = self.text
        place = text.at(self.unit.context_pointer(Context.EXCHANGE), EXCHANGE_DATA)
        size = effect.count * effect.type.bytes
        block = f"i64 {self._address}, ptr {place}, i64 {size}"
        within = effect.within
        if within is not None:
            if not extent_of(effect) or size <= LARGEST_ELEMENT or within.needed >= size:
                self._refer(effect, site, None)
                return place
            call = self._if_needed_is_there(within, place, size)
        elif effect.surface is not None:
            function = beyond_function(self.unit.module.library)
            call = f"@{function}(ptr {self.bounds.entry(effect.surface)}, {block})"
        elif effect.space in {Space.FLAT, Space.SHADOW} and size > LARGEST_ELEMENT:
            call = f"@visim_padded(ptr %ctx, {block})"
        else:
            self._refer(effect, site, None)
            return place
        refer, done = self.text.labels("refer", "done")
        text.branch(text.let(f"call i1 {call}"), done, refer)
        text.label(refer)
        self._refer(effect, site, None)
        text.jump(done)
        text.label(done)
        return place

    def _if_needed_is_there(self, within: Within, place: str, size: int) -> str:
        """Return the call that loads a block that ends behind its extent, if nobody reads there."""
        text = self.text
        bounds = self.unit.surfaces.extent(within.extent or 0, within.needed, None, reads=True)
        offset = text.let(f"sub i64 {self._address}, {bounds.start}")
        inside = text.let(f"icmp ult i64 {offset}, {bounds.limit}")
        wanted = text.let(f"select i1 {inside}, i64 {size}, i64 0")
        return f"@visim_padded(ptr %ctx, i64 {self._address}, ptr {place}, i64 {wanted})"

    def store(self, effect: StoreBlock, site: int) -> None:
        """Store a block."""
        text, value = self.text, effect.value
        vector, stored = vector_type(value.type, value.lanes), self.values.value(value)
        _, skipped, end = self._enter(effect.mask)
        pointer, slow, join = self._block(effect, site, value.lanes * value.type.bytes)
        text.do(f"store {vector} {stored}, ptr {pointer}, align 1")
        text.jump(join)
        text.label(slow)
        self._refer(effect, site, (stored, vector))
        text.jump(join)
        text.label(join)
        if skipped:
            text.jump(end)
            text.label(end)

    def _block(self, effect: LoadBlock | StoreBlock, site: int, size: int) -> tuple[str, str, str]:
        """Begin the common case of a block; return its pointer and the labels `slow` and `join`."""
        text, bounds = self.text, self.bounds.of(effect, site, size)
        fast, look, slow, join = self.text.labels("fast", "look", "slow", "join")
        kind = scalar_type(effect.address.type)
        address = self.values.scalar(effect.address)
        if kind != "i64":
            address = text.let(f"zext {kind} {address} to i64")
        self._address = address
        offset = text.let(f"sub i64 {address}, {bounds.start}")
        flat = effect.space in {Space.FLAT, Space.SHADOW}
        inside = "true"
        if self.unit.is_checked(effect):
            inside = text.let(f"icmp ult i64 {offset}, {bounds.limit}")
        text.likely(inside, fast, look if flat else slow)
        if flat:
            text.label(look)
            area = self.unit.context_pointer(Context.EXCHANGE)
            text.do(f"store i64 {address}, ptr {area}, align 8")
            write, cache = int(isinstance(effect, StoreBlock)), self.bounds.cache(site)
            known = text.let(
                f"call i1 @flat_check(ptr %ctx, ptr {cache}, ptr {area}, i64 1, "
                f"i64 {size}, i64 {write}, i64 {extent_of(effect)})"
            )
            text.branch(known, fast, slow)
        text.label(fast)
        return self.rows.pointer(offset, bounds), slow, join

    def _refer(
        self, effect: LoadBlock | StoreBlock, site: int, given: tuple[str, str] | None
    ) -> None:
        """Hand a block to the reference memory, which answers in the exchange area."""
        text, area = self.text, self.unit.context_pointer(Context.EXCHANGE)
        text.do(f"store i64 {self._address}, ptr {area}, align 8")
        if given is not None:
            text.do(f"store {given[1]} {given[0]}, ptr {text.at(area, EXCHANGE_DATA)}, align 1")
        leave_group(self.values, effect.within)
        surface = self.bounds.surface(effect)
        failed = text.let(
            f"call i32 @host(ptr %ctx, ptr %thread, i64 {site}, i64 1, i64 {surface}) cold"
        )
        self.unit.fault_if(text.let(f"icmp ne i32 {failed}, 0"), FaultKind.MEMORY, self.pc)

    def _enter(self, mask: Expr | None) -> tuple[str, bool, str]:
        """Begin code that runs only where the one lane of a mask is on."""
        begin, end = self.text.block, self.text.fresh("end")
        known = self.values.mask(mask)
        if known is None:
            return begin, False, end
        bit = self.text.let(f"extractelement <1 x i1> {known}, i64 0")
        begin, run = self.text.block, self.text.fresh("run")
        self.text.branch(bit, run, end)
        self.text.label(run)
        return begin, True, end
