"""Memory messages as LLVM IR: checked, in one access where the channels' addresses are adjacent.

What is out of the ordinary (an access that is not entirely inside one allocation, and is not flat)
goes to the reference memory in Python, through the callback of the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from visim.engine.jit.blocks import MemoryMessage, readers
from visim.engine.jit.bounds import Bindings, Bounds
from visim.engine.jit.forms import Access
from visim.engine.jit.frame import UnitFrame
from visim.engine.jit.general import beyond_function, general_function
from visim.engine.jit.layout import EXCHANGE_DATA, Context, FaultKind
from visim.engine.jit.moving import packed_widths, together
from visim.engine.jit.reach import BoundsWriter
from visim.engine.jit.rows import Rows, RowWriter
from visim.engine.jit.scattered import MOST_PARTS, ScatterWriter, has_window
from visim.engine.jit.shapes import Shape, ragged
from visim.engine.jit.text import scalar_bytes, scalar_type, signed, vector_type
from visim.engine.jit.values import Values
from visim.engine.jit.windows import Window
from visim.sem.effects import Atomic, Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import Expr


@dataclass(frozen=True, slots=True)
class Ready:
    """A load or store of lanes after a look where they are.

    `way` are all lanes at once (None: there is only the general form), `mask` are the lanes that
    are on as a vector (None: all), `bits` the same as i64, `given` are the values to be stored.
    """

    effect: Load | Store
    site: int
    access: Access
    bounds: Bounds
    way: Rows | Window | None
    mask: str | None
    bits: str
    given: list[str]

    @property
    def moves_some(self) -> bool:
        """Whether the host can store some lanes of a row."""
        return len(self.given) == 1 and scalar_bytes(self.access.scalar) >= 4


class MessageWriter:
    """Writes the messages of one instruction; `repeats` says that it is in a loop."""

    def __init__(
        self, unit: UnitFrame, values: Values, bindings: Bindings, pc: int, *, repeats: bool
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.pc = pc
        self.repeats = repeats
        self.rows = RowWriter(unit.text, unit.module.library)
        self.bounds = BoundsWriter(unit, values, bindings)
        self.scattered = ScatterWriter(unit, self.rows, repeats=repeats)

    def ready(self, effect: Load | Store) -> Ready:
        """Look where all lanes of a message are; this branches nowhere."""
        # Values are written where they are first asked for: before anything branches.
        self._mask = self.values.mask_bits(effect.mask, effect.addresses.lanes)
        if effect.surface is not None:  # what follows may choose another one for its own message
            self.values.scalar(effect.surface)
        lanes, given = effect.addresses.lanes, list[str]()
        if isinstance(effect, Load):
            access = self._access(
                "load", effect, lanes, scalar_type(effect.type), effect.components
            )
        else:
            given = [self.values.value(value) for value in effect.values]
            access = self._access(
                "store", effect, lanes, scalar_type(effect.values[0].type), len(given)
            )
        site = self._site(effect)
        bounds = self.bounds.of(effect, site, access.size)
        way = self._way(effect, bounds, access)
        mask = self.values.mask(effect.mask)
        return Ready(effect, site, access, bounds, way, mask, self._mask, given)

    def finish(self, ready: Ready) -> None:
        """Write a message that has been looked at; what it returns becomes known to the values."""
        if isinstance(ready.effect, Load):
            self._load(ready)
        else:
            self._store(ready)

    def message(self, effect: LoadBlock | StoreBlock | Atomic, nodes: Sequence[Expr]) -> None:
        """Write one message of the instruction that has these nodes.

        What it returns becomes known to the values.
        """
        site = self._site(effect)
        match effect:
            case LoadBlock():
                self._load_block(effect, site)
            case StoreBlock():
                self._store_block(effect, site)
            case Atomic():
                self._mask = self.values.mask_bits(effect.mask, effect.addresses.lanes)
                self._atomic(effect, site, returns=bool(readers(effect, nodes)))

    def _site(self, effect: MemoryMessage) -> int:
        return self.unit.module.sites.add(effect, self.unit.unit.number, self.pc)

    # Vectors of channels

    def _load(self, ready: Ready) -> None:
        text, access, way = self.text, ready.access, ready.way
        loaded = self.values.loaded
        if way is None:
            self.general(ready)
            loaded[id(ready.effect)] = self.results(ready.access)
            return
        direct, general, join = self._labels("direct", "general", "join")
        text.likely(way.fits, direct, general)
        text.label(direct)
        if isinstance(way, Rows):
            found = self.rows.load(way, access.scalar, access.parts)
        else:
            found = self.scattered.load(way, access.scalar, access.parts)
        direct = text.block
        text.jump(join)
        text.label(general)
        self.general(ready)
        others, general = self.results(ready.access), text.block
        text.jump(join)
        text.label(join)
        loaded[id(ready.effect)] = [
            text.let(f"phi {access.vector} [ {a}, %{direct} ], [ {b}, %{general} ]")
            for a, b in zip(found, others, strict=True)
        ]

    def _store(self, ready: Ready) -> None:
        text, way = self.text, ready.way
        if way is None:
            self.general(ready)
            return
        direct, general, join = self._labels("direct", "general", "join")
        text.likely(way.fits, direct, general)
        text.label(direct)
        if isinstance(way, Rows):
            self.store_rows(ready, way, general)
        else:
            self.scattered.store(way, ready.access.scalar, ready.given)
        text.jump(join)
        text.label(general)
        self.general(ready)
        text.jump(join)
        text.label(join)

    def store_rows(self, ready: Ready, way: Rows, general: str = "") -> None:
        """Store rows, which fit; go to `general` where that is not possible for some lanes."""
        text, access, values = self.text, ready.access, ready.given
        if ready.mask is None:
            self.rows.store(way.pointers, access.lanes, access.scalar, values)
            return
        every, some, stored = self._labels("every", "some", "stored")
        whole = text.let(f"icmp eq i64 {ready.bits}, {signed((1 << access.lanes) - 1, 64)}")
        text.branch(whole, every, some if ready.moves_some else general)
        text.label(every)
        self.rows.store(way.pointers, access.lanes, access.scalar, values)
        if not ready.moves_some:
            return
        text.jump(stored)
        text.label(some)
        self.rows.store_masked(way.pointers, access.lanes, access.scalar, values[0], ready.mask)
        text.jump(stored)
        text.label(stored)

    def _access(
        self, verb: str, effect: Load | Store | Atomic, lanes: int, scalar: str, parts: int
    ) -> Access:
        return Access(
            verb=verb,
            lanes=lanes,
            scalar=scalar,
            parts=parts,
            flat=effect.space is Space.FLAT,
            checked=self.unit.module.version.checked or effect.space is Space.SURFACE,
        )

    def _way(
        self, effect: Load | Store | Atomic, bounds: Bounds, access: Access
    ) -> Rows | Window | None:
        """Check all lanes at once; None where there is no way but the general form."""
        mask, shape = (self.values.mask(effect.mask), self._mask), self._shape(effect)
        if shape is not None and _is_row(shape, access):
            rows = self.rows.rows(shape, bounds, checked=access.checked)
            if self._is_followed(effect):
                self.rows.prefetch(rows)
            return rows
        if access.parts > MOST_PARTS:
            return None
        if shape is not None and has_window(shape):
            return self.scattered.window(shape, bounds, mask, checked=access.checked)
        if not access.checked:
            return None
        addresses = self._addresses(effect, None)
        return self.scattered.far_window(addresses, access.lanes, bounds, mask)

    def _is_followed(self, effect: Load | Store | Atomic) -> bool:
        """Whether threads that start after this one are likely to move the rows behind its own."""
        shared = effect.space in {Space.FLAT, Space.SURFACE}
        return shared and self.unit.payload is not None and not self.repeats

    def _shape(self, effect: Load | Store | Atomic) -> Shape | None:
        """Return the shape of a message's addresses; those of 32 bits have one in any case."""
        expr = effect.addresses
        found = self.values.shape(expr, effect.mask)
        if found is None and expr.type.bits == 32:
            return ragged(expr.lanes, self.values.value(expr), 64, signed=False)
        return found

    # The general form

    def general(self, ready: Ready, to: int = EXCHANGE_DATA, *, firsts: int = 0) -> None:
        """Do a message that has been looked at in its general form.

        What it loads is left at byte `to` of the exchange area, vector by vector; with `firsts` one
        element for so many lanes.
        """
        shape = None if ready.way is None else ready.way.shape
        self._mask = ready.bits
        form = ready.access.form | together(firsts)
        self._general(
            ready.access,
            ready.effect,
            ready.bounds,
            ready.site | to << 32,
            form,
            shape,
            ready.given,
        )

    def _general(
        self,
        access: Access,
        effect: Load | Store | Atomic,
        bounds: Bounds,
        where: int,
        form: int,
        shape: Shape | None,
        values: Sequence[str] = (),
    ) -> None:
        """Call the function that does a message whatever its addresses and mask are."""
        text, module = self.text, self.unit.module
        module.sites.reserve(EXCHANGE_DATA + access.parts * access.vector_bytes)
        area = self.unit.context_pointer(Context.EXCHANGE)
        self._leave_addresses(area, effect, shape)
        for part, value in enumerate(values):
            place = text.at(area, EXCHANGE_DATA + part * access.vector_bytes)
            text.do(f"store {access.vector} {value}, ptr {place}, align 8")
        surface = "0"
        if effect.surface is not None:
            surface = text.let(f"zext i32 {self.values.scalar(effect.surface)} to i64")
        function = general_function(module.library, access, module.way)
        known = (bounds.start, bounds.limit, bounds.host)
        if access.flat:
            known = ("0", "0" if access.checked else "-1", "0")
        elif not access.checked:
            known = (bounds.start, "-1", bounds.host)
        place = self.pc | self.unit.unit.number << 32
        numbers = ", ".join(f"i64 {one}" for one in (where, place, form, *known, surface))
        well = text.let(
            f"call preserve_mostcc i1 @{function}(ptr %ctx, ptr %thread, i64 {self._mask}, "
            f"{numbers})"
        )
        self.unit.failed_unless(well)

    def _leave_addresses(
        self, area: str, effect: Load | Store | Atomic, shape: Shape | None
    ) -> None:
        """Leave all addresses in the exchange area, as 64-bit numbers."""
        text, lanes = self.text, effect.addresses.lanes
        if shape is None or shape.form.ragged:
            text.do(f"store <{lanes} x i64> {self._addresses(effect, shape)}, ptr {area}, align 8")
            return
        form = shape.form
        widths = packed_widths(form.piece, form.core_bits, form.bits, signed=form.extends_sign)
        for piece, numbers in enumerate(self.rows.shapes.wide(shape)):
            place = text.at(area, 8 * piece * form.piece)
            given = ", ".join(
                f"i64 {number}" for number in (*numbers, form.step, form.scale, widths)
            )
            text.do(f"call void @visim_row(ptr {place}, {given})")

    def _addresses(self, effect: Load | Store | Atomic, shape: Shape | None) -> str:
        """Return all addresses as 64-bit numbers."""
        if shape is None:
            bits, vector = effect.addresses.type.bits, self.values.value(effect.addresses)
        else:
            bits, vector = shape.form.bits, self.rows.shapes.vector(shape)
        if bits == 64:
            return vector
        lanes = effect.addresses.lanes
        return self.text.let(f"zext <{lanes} x i{bits}> {vector} to <{lanes} x i64>")

    def results(self, access: Access) -> list[str]:
        """Read what the general form has left: a vector for each component."""
        text = self.text
        area = self.unit.context_pointer(Context.EXCHANGE)
        places = [
            text.at(area, EXCHANGE_DATA + part * access.vector_bytes)
            for part in range(access.parts)
        ]
        return [text.let(f"load {access.vector}, ptr {place}, align 8") for place in places]

    def _atomic(self, effect: Atomic, site: int, *, returns: bool) -> None:
        lanes, scalar = effect.addresses.lanes, scalar_type(effect.type)
        found = self._access("atomic." + effect.operation.value, effect, lanes, scalar, 1)
        own = effect.space in {Space.SLM, Space.SCRATCH}
        access = replace(found, operation=effect.operation, own=own, returns=returns)
        values = [self.values.value(operand) for operand in effect.operands]
        bounds = self.bounds.of(effect, site, access.size)
        way = self._way(effect, bounds, access)
        if not isinstance(way, Window):
            self._general(access, effect, bounds, site, access.form, None, values)
            self.values.loaded[id(effect)] = self.results(access)
            return
        text, (direct, general, join) = self.text, self._labels("direct", "general", "join")
        aligned = self.scattered.aligned(way, access.size)
        text.likely(text.let(f"and i1 {way.fits}, {aligned}"), direct, general)
        text.label(direct)
        adds = id(effect) in self.unit.module.adding
        if adds:
            self._tally(access, way, site, values, join)
        found, direct = self.scattered.atomic(way, access, values), text.block
        text.jump(join)
        text.label(general)
        self._general(access, effect, bounds, site, access.form, way.shape, values)
        if adds:
            text.do(f"call void @visim_tally(ptr %ctx, i64 {site})")
        (other,), general = self.results(access), text.block
        text.jump(join)
        text.label(join)
        if not returns:
            return
        self.values.loaded[id(effect)] = [
            text.let(f"phi {access.vector} [ {found}, %{direct} ], [ {other}, %{general} ]")
        ]

    def _tally(
        self, access: Access, window: Window, site: int, values: list[str], done: str
    ) -> None:
        """Add to the worker's own copy of the counters and go to `done`, where it has one."""
        text, (own, shared) = self.text, self._labels("own", "shared")
        self.unit.module.sites.adding.append(site)
        place = text.at(self.unit.context_pointer(Context.TALLIES), 8 * site)
        away = text.let(f"load i64, ptr {place}, align 8")
        text.branch(text.let(f"icmp eq i64 {away}, 0"), shared, own)
        text.label(own)
        copy = text.let(f"getelementptr i8, ptr {window.base}, i64 {away}")
        self.scattered.atomic(replace(window, base=copy), replace(access, own=True), values)
        text.jump(done)
        text.label(shared)

    # One block

    def _load_block(self, effect: LoadBlock, site: int) -> None:
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
        if effect.surface is None:
            self._refer(effect, site, None)
            return place
        refer, done = self._labels("refer", "done")
        function = beyond_function(self.unit.module.library)
        size = effect.count * effect.type.bytes
        entry = self.bounds.entry(effect.surface)
        loaded = text.let(
            f"call i1 @{function}(ptr {entry}, i64 {self._address}, ptr {place}, i64 {size})"
        )
        text.branch(loaded, done, refer)
        text.label(refer)
        self._refer(effect, site, None)
        text.jump(done)
        text.label(done)
        return place

    def _store_block(self, effect: StoreBlock, site: int) -> None:
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
        fast, look, slow, join = self._labels("fast", "look", "slow", "join")
        kind = scalar_type(effect.address.type)
        address = self.values.scalar(effect.address)
        if kind != "i64":
            address = text.let(f"zext {kind} {address} to i64")
        self._address = address
        offset = text.let(f"sub i64 {address}, {bounds.start}")
        flat = effect.space is Space.FLAT
        inside = "true"
        if self.unit.module.version.checked or effect.space is Space.SURFACE:
            inside = text.let(f"icmp ult i64 {offset}, {bounds.limit}")
        text.likely(inside, fast, look if flat else slow)
        if flat:
            text.label(look)
            area = self.unit.context_pointer(Context.EXCHANGE)
            text.do(f"store i64 {address}, ptr {area}, align 8")
            write, cache = int(isinstance(effect, StoreBlock)), self.bounds.cache(site)
            known = text.let(
                f"call i1 @flat_check(ptr %ctx, ptr {cache}, ptr {area}, i64 1, "
                f"i64 {size}, i64 {write})"
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
        surface = "0"
        if effect.surface is not None:
            surface = text.let(f"zext i32 {self.values.scalar(effect.surface)} to i64")
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

    def _labels(self, *hints: str) -> list[str]:
        return [self.text.fresh(hint) for hint in hints]


def _is_row(shape: Shape, access: Access) -> bool:
    """Whether lanes can be moved in rows: any that are read, adjacent ones that are written."""
    if shape.form.ragged or access.operation is not None:
        return False
    return access.verb == "load" or shape.form.stride == access.size
