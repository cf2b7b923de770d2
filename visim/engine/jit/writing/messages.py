"""Memory messages as LLVM IR: each is looked at, then moved in the way that its addresses allow.

`ready` chooses the way and writes its checks, which branch nowhere; `finish` writes what moves the
lanes behind them. Where a check fails, and where no way does all lanes at once, a message is done
in the general form (`exchanging`), which all kernels share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import MemoryMessage, readers
from visim.engine.jit.analysis.slots import channel_within
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import scalar_type, signed
from visim.engine.jit.layout import Context
from visim.engine.jit.writing.blockwise import BlockWriter
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.butterflies import ButterflyWriter, Candidate, candidate
from visim.engine.jit.writing.exchanging import ExchangeWriter
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.ready import Passed, Ready, Way
from visim.engine.jit.writing.rows import Rows, RowWriter, choose
from visim.engine.jit.writing.scattered import MOST_PARTS, ScatterWriter, Table, has_window
from visim.engine.jit.writing.shared import Distant
from visim.engine.jit.writing.supposing import Supposing, Suppositions
from visim.engine.jit.writing.values import Values
from visim.engine.jit.writing.windows import Window, WindowWriter
from visim.sem.effects import Atomic, Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import Expr

_LEAST_MASKED = 4
"""Hosts store some lanes of a vector if elements have so many bytes."""
_MOST_SPAN = 1 << 62
"""The ends of longer rows and tables, in bytes, say nothing of what is between them: addresses wrap
there."""


class MessageWriter:
    """Writes the messages of one instruction.

    `passed` is what the messages in front of it tell it. `repeats` says that it is in a loop,
    `scattered` that it is in one where data say where channels load: such lanes are no butterflies.
    """

    def __init__(
        self,
        unit: UnitFrame,
        values: Values,
        bindings: Bindings,
        passed: Passed,
        pc: int,
        suppositions: Suppositions,
        *,
        repeats: bool,
        scattered: bool,
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.pc = pc
        self.passed = passed
        self.suppositions = suppositions
        self.repeats = repeats
        self._may_exchange = unit.module.version.has_mask_registers and not scattered
        module, text = unit.module, unit.text
        gatherer, spacer = module.gatherer(text), module.spacer(text)
        self.rows = RowWriter(text, module.library, gatherer, spacer)
        self.bounds = BoundsWriter(unit, values, bindings)
        self.general = ExchangeWriter(unit, values, self.bounds, self.rows, pc)
        area = self.general.area
        self.moves = WindowWriter(self.rows, area, unrolls=repeats, skips=not repeats)
        self.scattered = ScatterWriter(self.rows, self.moves)
        families = {} if values.shapes is None else values.shapes.indices.families
        self.butterflies = ButterflyWriter(self.rows, passed.butterflies, families)
        self._blocks = BlockWriter(unit, values, self.bounds, self.rows, pc)

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
        otherwise = self._otherwise(effect, way)
        return Ready(effect, site, access, bounds, way, mask, self._mask, given, otherwise)

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
                self._blocks.load(effect, site)
            case StoreBlock():
                self._blocks.store(effect, site)
            case Atomic():
                self._mask = self.values.mask_bits(effect.mask, effect.addresses.lanes)
                self._atomic(effect, site, returns=bool(readers(effect, nodes)))

    def _site(self, effect: MemoryMessage) -> int:
        sites, number = self.unit.module.sites, self.unit.unit.number
        if self.unit.second is not None:
            return sites.number(effect, number)
        return sites.add(effect, number, self.pc)

    # Vectors of channels

    def _load(self, ready: Ready) -> None:
        text, access, way = self.text, ready.access, ready.way
        loaded = self.values.loaded
        if way is None:
            self.general.move(ready)
            loaded[id(ready.effect)] = self.general.results(ready.access)
            return
        if isinstance(way, Distant):
            self.general.distant(ready, way)
            loaded[id(ready.effect)] = self.general.results(ready.access)
            return
        if isinstance(way, Candidate):
            loaded[id(ready.effect)] = self._load_candidate(ready, way)
            return
        if isinstance(way, Table):
            loaded[id(ready.effect)] = self._load_table(ready, way)
            return
        direct, general, join = self.text.labels("direct", "general", "join")
        if isinstance(way, Rows):
            [rows] = choose(text, [way], direct, general)
            found = self.rows.load(rows, access.scalar, access.parts)
            if way.supposed:
                self._join_others(ready, found, (general, join))
                return
        else:
            text.likely(way.fits, direct, general)
            text.label(direct)
            found = self.moves.load(way, access.scalar, access.parts)
        direct = text.block
        text.jump(join)
        text.label(general)
        self.general.move(ready)
        others, general = self.general.results(ready.access), text.block
        text.jump(join)
        text.label(join)
        loaded[id(ready.effect)] = [
            text.let(f"phi {access.vector} [ {a}, %{direct} ], [ {b}, %{general} ]")
            for a, b in zip(found, others, strict=True)
        ]

    def _join_others(self, ready: Ready, found: list[str], labels: tuple[str, str]) -> None:
        """Load in another way where lanes are not the rows that were supposed."""
        text, before, (general, join) = self.text, self.text.block, labels
        text.jump(join)
        text.label(general)
        others, after = self.load_elsewhere(ready), text.block
        text.jump(join)
        text.label(join)
        self.values.loaded[id(ready.effect)] = [
            text.let(f"phi {ready.access.vector} [ {a}, %{before} ], [ {b}, %{after} ]")
            for a, b in zip(found, others, strict=True)
        ]

    def load_elsewhere(self, ready: Ready) -> list[str]:
        """Load lanes where not all is as was supposed of some messages."""
        self._load(self._elsewhere(ready) if _is_supposed(ready) else ready)
        return self.values.loaded[id(ready.effect)]

    def store_elsewhere(self, ready: Ready) -> None:
        """Store lanes where not all is as was supposed of some messages."""
        self._store(self._elsewhere(ready) if _is_supposed(ready) else ready)

    def _elsewhere(self, ready: Ready) -> Ready:
        """Look where lanes are that are not the rows that were supposed."""
        shape = ready.otherwise
        remade = None if shape is None else self.suppositions.cores.get(shape.cores[0])
        if shape is not None and remade is not None:
            shape = replace(shape, cores=(remade.write(),))
        return self._anywhere(ready, shape, near=True)

    def _anywhere(self, ready: Ready, shape: Shape | None, *, near: bool) -> Ready:
        """Look where all lanes are, or leave that to a function."""
        if self.unit.is_long:
            return replace(ready, way=Distant(shape))
        given = ready.effect, shape, ready.bounds, ready.access, ready.mask
        return replace(ready, way=self._window(*given, near=near))

    def _store(self, ready: Ready) -> None:
        text, way = self.text, ready.way
        if way is None:
            self.general.move(ready)
            return
        if isinstance(way, Distant):
            self.general.distant(ready, way)
            return
        if isinstance(way, Candidate):
            self._store_candidate(ready, way)
            return
        if isinstance(way, Table):
            raise TypeError("a store into a table")
        direct, general, join = self.text.labels("direct", "general", "join")
        if isinstance(way, Rows):
            [rows] = choose(text, [way], direct, general)
            self.store_rows(ready, rows)
        else:
            text.likely(way.fits, direct, general)
            text.label(direct)
            self.moves.store(way, ready.access.scalar, ready.given)
        text.jump(join)
        text.label(general)
        if _is_supposed(ready):
            self.store_elsewhere(ready)
        else:
            self.general.move(ready)
        text.jump(join)
        text.label(join)

    # Tables

    def _table(
        self, effect: MemoryMessage, shape: Shape, bounds: Bounds, access: Access
    ) -> Table | None:
        """Check a table as a whole if a message loads from one."""
        shapes = self.values.shapes
        if shapes is None or not isinstance(effect, Load):
            return None
        known = shapes.indices.lookups.get(shape.cores[0])
        if known is None or known.channel not in {None, channel_within(effect.mask)}:
            return None
        if known.most * shape.form.scale > _MOST_SPAN:
            return None
        if not self.unit.is_data(effect.addresses):
            return None
        mask = self.values.mask(effect.mask), self._mask
        most = known.most if access.checked else None
        table = self.scattered.table(shape, most, bounds, mask)
        window = self.scattered.with_rest(table.window, bounds, access)
        return replace(table, window=window)

    def _load_table(self, ready: Ready, way: Table) -> list[str]:
        """Load lanes from a table that is in range; else those of a window."""
        text, access, window = self.text, ready.access, way.window
        if window.fits == "true":
            return self.moves.gathered(window, access.scalar, access.parts)
        near, far, join = text.labels("table", "elsewhere", "joined")
        text.likely(window.fits, near, far)
        text.label(near)
        found = self.moves.gathered(window, access.scalar, access.parts)
        before = text.block
        text.jump(join)
        text.label(far)
        self._load(self._anywhere(ready, way.shape, near=False))
        others, after = self.values.loaded[id(ready.effect)], text.block
        text.jump(join)
        text.label(join)
        return [
            text.let(f"phi {access.vector} [ {a}, %{before} ], [ {b}, %{after} ]")
            for a, b in zip(found, others, strict=True)
        ]

    # Butterflies

    def _load_candidate(self, ready: Ready, way: Candidate) -> list[str]:
        """Load lanes as a butterfly if they are one, else as those of a window."""
        text, access, (far, join) = self.text, ready.access, self.text.labels("far", "joined")
        bits = None if ready.mask is None else ready.bits
        taken = self.butterflies.begin(way, access, ready.bounds, bits, far)
        near, before = self.butterflies.load(taken, access), text.block
        text.jump(join)
        text.label(far)
        self._load(self._anywhere(ready, way.shape, near=False))
        others, after = self.values.loaded[id(ready.effect)], text.block
        text.jump(join)
        text.label(join)
        return [
            text.let(f"phi {access.vector} [ {a}, %{before} ], [ {b}, %{after} ]")
            for a, b in zip(near, others, strict=True)
        ]

    def _store_candidate(self, ready: Ready, way: Candidate) -> None:
        """Store lanes as a butterfly if they are one, else as those of a window."""
        text, (far, join) = self.text, self.text.labels("far", "joined")
        bits = None if ready.mask is None else ready.bits
        taken = self.butterflies.begin(way, ready.access, ready.bounds, bits, far)
        self.butterflies.store(taken, ready.access, ready.given)
        text.jump(join)
        text.label(far)
        self._store(self._anywhere(ready, way.shape, near=False))
        text.jump(join)
        text.label(join)

    def store_rows(self, ready: Ready, way: Rows) -> None:
        """Store rows, which fit: all lanes, or those that are on."""
        text, access, values = self.text, ready.access, ready.given
        stride = way.shape.form.stride
        adjacent = stride == access.size
        if self.rows.scatters(way, access.scalar, values):
            self.rows.scatter(way, access.scalar, values, ready.mask or "")
            return
        if self.unit.is_long and not adjacent:  # a function needs less code than so many stores
            self._store_some(ready, way)
            return
        if ready.mask is None:
            self.rows.store_all(way.pointers, access.lanes, access.scalar, values, stride)
            return
        every, some, stored = self.text.labels("every", "some", "stored")
        whole = text.let(f"icmp eq i64 {ready.bits}, {signed((1 << access.lanes) - 1, 64)}")
        text.branch(whole, every, some)
        text.label(every)
        self.rows.store_all(way.pointers, access.lanes, access.scalar, values, stride)
        text.jump(stored)
        text.label(some)
        if adjacent and len(values) == 1 and access.size >= _LEAST_MASKED:
            self.rows.store_masked(way.pointers, access.lanes, access.scalar, values[0], ready.mask)
        else:
            self._store_some(ready, way)
        text.jump(stored)
        text.label(stored)

    def _store_some(self, ready: Ready, way: Rows) -> None:
        data = self.moves.data(ready.access.lanes * ready.access.size)
        self.rows.store_some(way, ready.access.scalar, ready.given, ready.bits, data)

    def _access(
        self, verb: str, effect: Load | Store | Atomic, lanes: int, scalar: str, parts: int
    ) -> Access:
        return Access(
            verb=verb,
            lanes=lanes,
            scalar=scalar,
            parts=parts,
            flat=effect.space is Space.FLAT,
            checked=self.unit.is_checked(effect),
        )

    def _way(self, effect: Load | Store | Atomic, bounds: Bounds, access: Access) -> Way:
        """Check all lanes at once; None where there is no way but the general form."""
        mask, shape = self.values.mask(effect.mask), self._shape(effect)
        supposed = self._supposed(effect, shape, access)
        if supposed is not None:
            rows = self._rows(effect, bounds, access, supposed[0], sure=False)
            return rows.supposing(self.text, supposed[1])
        if shape is not None and _is_row(shape, access):
            return self._rows(effect, bounds, access, shape, sure=self.unit.foresees(effect))
        if access.parts > MOST_PARTS:
            return None
        shape = shape if shape is not None and has_window(shape) else None
        table = None if shape is None else self._table(effect, shape, bounds, access)
        if table is not None:
            return table
        if self.unit.is_long and not access.operation and (shape or access.checked):
            return Distant(shape)
        if shape is not None:
            found = candidate(shape, access) if self._may_exchange else None
            data = found is not None and self.unit.is_data(effect.addresses)
            if found is not None and not data:
                return found
            return self._window(effect, shape, bounds, access, mask, near=not data)
        return self._window(effect, None, bounds, access, mask, near=False)

    def _window(
        self,
        effect: Load | Store | Atomic,
        shape: Shape | None,
        bounds: Bounds,
        access: Access,
        mask: str | None,
        *,
        near: bool,
    ) -> Window | None:
        """Check all lanes; those of a ragged shape may be every other element if they are `near`.

        None where there is no check, and no shape.
        """
        masks, checked = (mask, self._mask), access.checked
        if shape is not None:
            window = self.scattered.window(shape, bounds, masks, checked=checked, near=near)
        elif checked:
            addresses = self.general.addresses(effect, None)
            window = self.scattered.far_window(addresses, access.lanes, bounds, masks)
        else:
            return None
        return self.scattered.with_rest(window, bounds, access)

    def _rows(
        self,
        effect: Load | Store | Atomic,
        bounds: Bounds,
        access: Access,
        shape: Shape,
        *,
        sure: bool,
    ) -> Rows:
        """Look where the rows of a message are."""
        # Only those that are on are stored, in rows that do not wrap where 64 bits say where.
        stores = access.verb == "store" and not access.checked and shape.form.bits == 64
        some = "" if self.values.mask(effect.mask) is None or stores else self._mask
        where = (access.verb, access.size) if access.flat else (bounds.host, bounds.limit)
        rows = self.rows.rows(
            shape,
            bounds,
            checked=access.checked,
            sure=sure,
            some=some,
            near=(self.passed.anchors, where),
            read=access.parts * access.size if access.verb == "load" else 0,
        )
        if self._is_followed(effect):
            follow = self.unit.module.goes_along_rows
            self.rows.prefetch(rows, self.passed.anchors, follow=follow)
        return rows

    def _supposed(
        self, effect: Load | Store | Atomic, shape: Shape | None, access: Access
    ) -> tuple[Shape, tuple[str, ...]] | None:
        """Return the row that addresses without one are supposed to be, and its tests."""
        reader = self.values.shapes
        if reader is None or (shape is not None and not shape.form.ragged):
            return None
        supposing = Supposing(self.values, reader, self.suppositions)
        found = supposing.shape(effect.addresses, channel_within(effect.mask))
        if found is None or not _is_row(found[0], access):
            return None
        return found if access.parts <= MOST_PARTS else None

    def _otherwise(self, effect: Load | Store, way: Way) -> Shape | None:
        """Return what is known of addresses that are not the rows that were supposed."""
        if not isinstance(way, Rows) or not way.supposed:
            return None
        shape = self._shape(effect)
        if shape is not None and has_window(shape):
            return shape
        self.values.value(effect.addresses)  # written in front of all that branches
        return None

    def _is_followed(self, effect: Load | Store | Atomic) -> bool:
        """Whether threads that start after this one are likely to move the rows behind its own."""
        shared = effect.space in {Space.FLAT, Space.SURFACE}
        return shared and self.unit.is_kernel and not self.repeats

    def _shape(self, effect: Load | Store | Atomic) -> Shape | None:
        """Return the shape of a message's addresses; those of 32 bits have one in any case."""
        expr = effect.addresses
        found = self.values.shape(expr, effect.mask)
        shapes = self.values.shapes
        if found is None and shapes is not None and expr.type.bits == 32:
            return shapes.ragged(expr, 64, signed=False)
        return found

    # Atomic operations

    def _atomic(self, effect: Atomic, site: int, *, returns: bool) -> None:
        lanes, scalar = effect.addresses.lanes, scalar_type(effect.type)
        found = self._access("atomic." + effect.operation.value, effect, lanes, scalar, 1)
        own = effect.space in {Space.SLM, Space.SCRATCH}
        access = replace(found, operation=effect.operation, own=own, returns=returns)
        values = [self.values.value(operand) for operand in effect.operands]
        bounds = self.bounds.of(effect, site, access.size)
        way = self._way(effect, bounds, access)
        if not isinstance(way, Window):
            self.general.update(effect, site, access, bounds, self._mask, None, values)
            self.values.loaded[id(effect)] = self.general.results(access)
            return
        text, (direct, general, join) = self.text, self.text.labels("direct", "general", "join")
        aligned = self.scattered.aligned(way, access.size)
        text.likely(text.let(f"and i1 {way.fits}, {aligned}"), direct, general)
        text.label(direct)
        adds = id(effect) in self.unit.module.adding
        if adds:
            self._tally(access, way, site, values, join)
        found, direct = self.scattered.atomic(way, access, values), text.block
        text.jump(join)
        text.label(general)
        self.general.update(effect, site, access, bounds, self._mask, way.shape, values)
        if adds:
            text.do(f"call void @visim_tally(ptr %ctx, i64 {site})")
        (other,), general = self.general.results(access), text.block
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
        text, (own, shared) = self.text, self.text.labels("own", "shared")
        self.unit.module.sites.adding.append(site)
        place = text.at(self.unit.context_pointer(Context.TALLIES), 8 * site)
        away = text.let(f"load i64, ptr {place}, align 8")
        text.branch(text.let(f"icmp eq i64 {away}, 0"), shared, own)
        text.label(own)
        copy = text.let(f"getelementptr i8, ptr {window.base}, i64 {away}")
        self.scattered.atomic(replace(window, base=copy), replace(access, own=True), values)
        text.jump(done)
        text.label(shared)


def _is_supposed(ready: Ready) -> bool:
    """Whether a message is in rows that are only supposed."""
    return isinstance(ready.way, Rows) and ready.way.supposed


def _is_row(shape: Shape, access: Access) -> bool:
    """Whether lanes can be moved in rows: any that are read, such apart that are written."""
    form = shape.form
    if form.ragged or access.operation is not None or abs(form.stride) * form.piece > _MOST_SPAN:
        return False
    return access.verb == "load" or abs(form.stride) >= access.size
