"""Where all lanes of a message are, as far as one look tells: rows, tables, butterflies, windows.

The checks of a way are written here, which branch nowhere; `messages` moves what they let pass.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from visim.engine.jit.analysis.lanes import channel_within
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.butterflies import candidate
from visim.engine.jit.writing.exchanging import ExchangeWriter
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.neighbours import neighbours
from visim.engine.jit.writing.reach import extent_of
from visim.engine.jit.writing.ready import Look, Passed, Ready, Way
from visim.engine.jit.writing.rows import Rows
from visim.engine.jit.writing.scattered import MOST_PARTS, ScatterWriter, Table, has_window
from visim.engine.jit.writing.shared import Distant
from visim.engine.jit.writing.supposing import Supposing, Suppositions
from visim.engine.jit.writing.values import Values
from visim.engine.jit.writing.vectors import Candidate
from visim.engine.jit.writing.windows import Window
from visim.sem.effects import Atomic, Load, Space, Store

_MOST_SPAN = 1 << 62
"""The ends of longer rows and tables, in bytes, say nothing of what is between them: addresses wrap
there."""


class WayFinder:
    """Finds the ways of the messages of one instruction.

    `passed` is what the messages in front of it tell it. `repeats` says that it is in a loop,
    `scattered` that it is in one where data say where channels load: such lanes are no butterflies.
    """

    def __init__(
        self,
        unit: FunctionFrame,
        values: Values,
        passed: Passed,
        suppositions: Suppositions,
        general: ExchangeWriter,
        windows: ScatterWriter,
        *,
        repeats: bool,
        scattered: bool,
    ) -> None:
        self.unit = unit
        self.values = values
        self.passed = passed
        self.suppositions = suppositions
        self.general = general
        self.rows = windows.moves.rows
        self.windows = windows
        self.repeats = repeats
        version = unit.module.version
        self._runs = version.runs
        permutes = version.has_mask_registers and self._runs(Pass.PERMUTED)
        self._may_exchange = permutes and not scattered

    def way(self, look: Look) -> Way:
        """Check all lanes at once; None where there is no way but the general form."""
        effect, access, shape = look.effect, look.access, self._shape(look.effect)
        supposed = self._supposed(look, shape) if self._runs(Pass.SPECULATE) else None
        if supposed is not None:
            rows = self._in_rows(look, supposed[0], sure=False)
            return rows.supposing(self.unit.text, supposed[1])
        if shape is not None and _is_row(shape, access) and self._moves_rows(effect):
            return self._in_rows(look, shape, sure=self.unit.foresees(effect))
        if access.parts > MOST_PARTS or not self._runs(Pass.WINDOWS):
            return None
        shape = shape if shape is not None and has_window(shape) else None
        table = None if shape is None else self._table(look, shape)
        if table is not None:
            return table
        if self.unit.is_long and not access.operation and (shape or access.checked):
            return Distant(shape)
        if shape is None:
            return self._window(look, None, near=False)
        found = self._candidate(shape, access)
        data = found is not None and self.unit.decides(effect.addresses)
        return self._window(look, shape, near=not data) if found is None or data else found

    def _candidate(self, shape: Shape, access: Access) -> Candidate | None:
        """Return what may be moved as vectors that are permuted."""
        if not self._may_exchange or self.values.shapes is None:
            return None
        if access.verb == "load":
            return neighbours(shape, access)
        return candidate(shape, access)

    def _moves_rows(self, effect: Load | Store | Atomic) -> bool:
        """Whether rows are moved as such; those of loops that are known to be in range have to."""
        return self._runs(Pass.CONTIGUOUS) or self.unit.foresees(effect)

    def otherwise(self, effect: Load | Store, way: Way) -> Shape | None:
        """Return what is known of addresses that are not the rows that were supposed."""
        if not isinstance(way, Rows) or not way.supposed:
            return None
        shape = self._shape(effect)
        if shape is not None and has_window(shape):
            return shape
        self.values.value(effect.addresses)  # written in front of all that branches
        return None

    def elsewhere(self, ready: Ready) -> Ready:
        """Look where lanes are that are not the rows that were supposed."""
        shape = ready.otherwise
        remade = None if shape is None else self.suppositions.cores.get(shape.cores[0])
        if shape is not None and remade is not None:
            shape = replace(shape, cores=(remade.write(),))
        found = None if shape is None else self._candidate(shape, ready.access)
        if found is not None:
            return replace(ready, way=found)
        return self.anywhere(ready, shape, near=True)

    def anywhere(self, ready: Ready, shape: Shape | None, *, near: bool) -> Ready:
        """Look where all lanes are, or leave that to a function."""
        if self.unit.is_long:
            return replace(ready, way=Distant(shape))
        look = Look(ready.effect, ready.access, ready.bounds, ready.mask, ready.bits)
        return replace(ready, way=self._window(look, shape, near=near))

    def _shape(self, effect: Load | Store | Atomic) -> Shape | None:
        """Return the shape of a message's addresses; those of 32 bits have one in any case.

        Pieces that wrap wherever they begin are no rows.
        """
        expr = effect.addresses
        found = self.values.shape(expr, effect.mask)
        if found is not None and not found.form.always_wraps:
            return found
        shapes = self.values.shapes
        if shapes is not None and expr.type.bits == 32:
            return shapes.ragged(expr, 64, signed=False)
        return None

    # Rows

    def _in_rows(self, look: Look, shape: Shape, *, sure: bool) -> Rows:
        """Look where the rows of a message are."""
        effect, access, bounds = look.effect, look.access, look.bounds
        # Only those that are on are stored, in rows that do not wrap where 64 bits say where.
        stores = access.verb == "store" and not access.checked and shape.form.bits == 64
        where: Hashable = bounds.host, bounds.limit
        if access.flat:
            where = access.verb, access.size, extent_of(effect)
        rows = self.rows.rows(
            shape,
            bounds,
            checked=access.checked,
            sure=sure,
            some="" if look.mask is None or stores else look.bits,
            near=(self.passed.anchors, where),
            read=access.parts * access.size if access.verb == "load" else 0,
        )
        if self._is_followed(effect):
            self._ask(look, rows)
        return rows

    def _ask(self, look: Look, rows: Rows) -> None:
        """Ask for what threads will move that start after this one."""
        if look.access.verb == "store":
            self.passed.requests.store(rows)
            return
        flat = look.access.flat
        array = self.passed.anchors.array(rows.shape) if flat else look.bounds.host
        # Halves of a thread, which some devices have, move halves of one row.
        self.passed.requests.load(rows, (array, channel_within(look.effect.mask)))

    def _is_followed(self, effect: Load | Store | Atomic) -> bool:
        """Whether threads that start after this one are likely to move the rows behind its own."""
        shared = effect.space in {Space.FLAT, Space.SURFACE}
        asks = self._runs(Pass.PREFETCH) and not self.repeats
        return shared and self.unit.is_kernel and asks

    def _supposed(self, look: Look, shape: Shape | None) -> tuple[Shape, tuple[str, ...]] | None:
        """Return the row that addresses without one are supposed to be, and its tests."""
        reader, effect, access = self.values.shapes, look.effect, look.access
        if reader is None or (shape is not None and not shape.form.ragged):
            return None
        supposing = Supposing(self.values, reader, self.suppositions)
        found = supposing.shape(effect.addresses, channel_within(effect.mask))
        if found is None or not _is_row(found[0], access):
            return None
        return found if access.parts <= MOST_PARTS else None

    # Other lanes

    def _table(self, look: Look, shape: Shape) -> Table | None:
        """Check a table as a whole if a message loads from one."""
        shapes, effect, access = self.values.shapes, look.effect, look.access
        if shapes is None or not isinstance(effect, Load):
            return None
        known = shapes.indices.lookups.get(shape.cores[0])
        if known is None or known.channel not in {None, channel_within(effect.mask)}:
            return None
        far = known.most * shape.form.scale > _MOST_SPAN
        if far or not self.unit.decides(effect.addresses):
            return None
        most = known.most if access.checked else None
        table = self.windows.table(shape, most, look.bounds, (look.mask, look.bits))
        if table.window.fits == "false":
            return None
        permuter = self.unit.module.permuter(self.unit.text)
        kind = access.scalar, access.parts, shape.form.scale
        if permuter is not None and permuter.suits(table.entries, *kind):
            return replace(table, permuter=permuter)
        window = self.windows.with_rest(table.window, look.bounds, access)
        return replace(table, window=window)

    def _window(self, look: Look, shape: Shape | None, *, near: bool) -> Window | None:
        """Check all lanes; those of a ragged shape may be every other element if they are `near`.

        None where there is no check, and no shape.
        """
        access, bounds, mask = look.access, look.bounds, (look.mask, look.bits)
        if shape is not None:
            checked = access.checked
            window = self.windows.window(shape, bounds, mask, checked=checked, near=near)
        elif access.checked:
            addresses = self.general.addresses(look.effect, None)
            window = self.windows.far_window(addresses, access.lanes, bounds, mask)
        else:
            return None
        return self.windows.with_rest(window, bounds, access)


def _is_row(shape: Shape, access: Access) -> bool:
    """Whether lanes can be moved in rows: any that are read, such apart that are written."""
    form = shape.form
    if form.ragged or access.operation is not None or abs(form.stride) * form.piece > _MOST_SPAN:
        return False
    return access.verb == "load" or abs(form.stride) >= access.size
