"""Memory messages as LLVM IR: each is looked at, then moved in the way that its addresses allow.

`ready` chooses the way and writes its checks, which branch nowhere; `finish` writes what moves the
lanes behind them. Where a check fails, and where no way does all lanes at once, a message is done
in the general form (`exchanging`), which all kernels share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import MemoryMessage, readers
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import scalar_type, signed
from visim.engine.jit.layout import Context
from visim.engine.jit.writing.blockwise import BlockWriter
from visim.engine.jit.writing.butterflies import ButterflyWriter
from visim.engine.jit.writing.exchanging import ExchangeWriter
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.neighbours import NeighbourWriter
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.ready import Look, Passed, Ready
from visim.engine.jit.writing.rows import Rows, RowWriter, choose
from visim.engine.jit.writing.scattered import ScatterWriter, Table
from visim.engine.jit.writing.shared import Distant
from visim.engine.jit.writing.supposing import Suppositions
from visim.engine.jit.writing.values import Values
from visim.engine.jit.writing.vectors import Candidate
from visim.engine.jit.writing.ways import WayFinder
from visim.engine.jit.writing.windows import Window, WindowWriter
from visim.sem.effects import Atomic, Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import Expr

_LEAST_MASKED = 4
"""Hosts store some lanes of a vector if elements have so many bytes."""


class MessageWriter:
    """Writes the messages of one instruction.

    `passed` is what the messages in front of it tell it. `repeats` says that it is in a loop,
    `scattered` that it is in one where data say where channels load: such lanes are no butterflies.
    """

    def __init__(
        self,
        unit: FunctionFrame,
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
        module, text = unit.module, unit.text
        gatherer, spacer = module.gatherer(text), module.spacer(text)
        self.rows = RowWriter(text, module.library, gatherer, spacer)
        self.bounds = BoundsWriter(unit, values, bindings)
        self.general = ExchangeWriter(unit, values, self.bounds, self.rows, pc)
        area = self.general.area
        self.moves = WindowWriter(self.rows, area, unrolls=repeats, skips=not repeats)
        self.scattered = ScatterWriter(self.rows, self.moves)
        self.ways = WayFinder(
            unit,
            values,
            passed,
            suppositions,
            self.general,
            self.scattered,
            repeats=repeats,
            scattered=scattered,
        )
        self.butterflies = ButterflyWriter(self.rows, passed.butterflies)
        self.neighbours = NeighbourWriter(self.rows)
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
        mask, bits = self.values.mask(effect.mask), self._mask
        way = self.ways.way(Look(effect, access, bounds, mask, bits))
        otherwise = self.ways.otherwise(effect, way)
        return Ready(effect, site, access, bounds, way, mask, bits, given, otherwise)

    def finish(self, ready: Ready) -> None:
        """Write a message that has been looked at; what it returns becomes known to the values."""
        if isinstance(ready.effect, Load):
            self.values.loaded[id(ready.effect)] = self._load(ready)
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
        return self.unit.site(effect, self.pc)

    # Vectors of channels

    def _load(self, ready: Ready) -> list[str]:
        """Load lanes; return a vector of each component."""
        text, access, way = self.text, ready.access, ready.way
        if way is None:
            return self._load_generally(ready)
        if isinstance(way, Distant):
            self.general.distant(ready, way)
            return self.general.results(access)
        if isinstance(way, Candidate):
            return self._load_candidate(ready, way)
        if isinstance(way, Table):
            return self._load_table(ready, way)
        direct, general, join = self.text.labels("direct", "general", "join")
        if isinstance(way, Rows):
            [rows] = choose(text, [way], direct, general)
            found = self.rows.load(rows, access.scalar, access.parts)
        else:
            text.likely(way.fits, direct, general)
            text.label(direct)
            found = self.moves.load(way, access.scalar, access.parts)
        other = self.load_elsewhere if _is_supposed(ready) else self._load_generally
        return self._or_else(access, found, (general, join), partial(other, ready))

    def _load_generally(self, ready: Ready) -> list[str]:
        self.general.move(ready)
        return self.general.results(ready.access)

    def _or_else(
        self,
        access: Access,
        found: list[str],
        labels: tuple[str, str],
        load: Callable[[], list[str]],
    ) -> list[str]:
        """Return what has been found, or what is loaded where a check has failed.

        That begins at the first of the labels; both go on at the other one.
        """
        text, before, (failed, join) = self.text, self.text.block, labels
        text.jump(join)
        text.label(failed)
        others, after = load(), text.block
        text.jump(join)
        text.label(join)
        return [
            text.let(f"phi {access.vector} [ {a}, %{before} ], [ {b}, %{after} ]")
            for a, b in zip(found, others, strict=True)
        ]

    def load_elsewhere(self, ready: Ready) -> list[str]:
        """Load lanes where not all is as was supposed of some messages."""
        return self._load(self.ways.elsewhere(ready) if _is_supposed(ready) else ready)

    def store_elsewhere(self, ready: Ready) -> None:
        """Store lanes where not all is as was supposed of some messages."""
        self._store(self.ways.elsewhere(ready) if _is_supposed(ready) else ready)

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

    def _load_table(self, ready: Ready, way: Table) -> list[str]:
        """Load lanes from a table that is in range; else those of a window."""
        text, access, window = self.text, ready.access, way.window
        if window.fits == "true":
            return self._looked_up(way, access)
        near, far, join = text.labels("table", "elsewhere", "joined")
        text.likely(window.fits, near, far)
        text.label(near)
        found = self._looked_up(way, access)
        return self._or_else(access, found, (far, join), partial(self._load_far, ready, way.shape))

    def _looked_up(self, way: Table, access: Access) -> list[str]:
        """Return the elements at lanes of a table that is in range."""
        window = way.window
        if way.permuter is None:
            return self.moves.gathered(window, access.scalar, access.parts)
        where = window.base, window.index, access.lanes
        return [way.permuter.load(*where, access.scalar, way.entries)]

    def _load_far(self, ready: Ready, shape: Shape) -> list[str]:
        """Load lanes of a ragged shape that are no table, and no neighbours."""
        return self._load(self.ways.anywhere(ready, shape, near=False))

    # Neighbours and butterflies

    def _load_candidate(self, ready: Ready, way: Candidate) -> list[str]:
        """Load lanes as neighbours if they are, else as those of a window."""
        access, (far, join) = ready.access, self.text.labels("far", "joined")
        bits = None if ready.mask is None else ready.bits
        near = self.neighbours.begin(way, access, ready.bounds, bits, far)
        found = self.neighbours.load(near, access)
        return self._or_else(access, found, (far, join), partial(self._load_apart, ready, way))

    def _load_apart(self, ready: Ready, way: Candidate) -> list[str]:
        """Load lanes that are no neighbours."""
        ready = self.ways.anywhere(ready, way.shape, near=False)
        if isinstance(ready.way, Window):
            ready = replace(ready, way=replace(ready.way, apart=True))
        return self._load(ready)

    def _store_candidate(self, ready: Ready, way: Candidate) -> None:
        """Store lanes as a butterfly if they are one, else as those of a window."""
        text, (far, join) = self.text, self.text.labels("far", "joined")
        bits = None if ready.mask is None else ready.bits
        taken = self.butterflies.begin(way, ready.access, ready.bounds, bits, far)
        self.butterflies.store(taken, ready.access, ready.given)
        text.jump(join)
        text.label(far)
        self._store(self.ways.anywhere(ready, way.shape, near=False))
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
            flat=effect.space in {Space.FLAT, Space.SHADOW},
            checked=self.unit.is_checked(effect),
        )

    # Atomic operations

    def _atomic(self, effect: Atomic, site: int, *, returns: bool) -> None:
        lanes, scalar = effect.addresses.lanes, scalar_type(effect.type)
        found = self._access("atomic." + effect.operation.value, effect, lanes, scalar, 1)
        own = effect.space in {Space.SLM, Space.SCRATCH}
        access = replace(found, operation=effect.operation, own=own, returns=returns)
        values = [self.values.value(operand) for operand in effect.operands]
        bounds = self.bounds.of(effect, site, access.size)
        mask = self.values.mask(effect.mask)
        way = self.ways.way(Look(effect, access, bounds, mask, self._mask))
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
