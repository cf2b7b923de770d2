"""Register access by address: gathers from and scatters into what indirect operands reach.

Compilers keep short arrays in registers. Where all channels have the same index, they are a row of
elements, checked and moved at once. Where each has its own, compilers write one element at a time,
under predicates with one bit (`elements`), which are written together here; of others the lanes
that are known to be off are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visim.engine.jit.analysis.elements import Element, row_of
from visim.engine.jit.ir.gathers import Gatherer
from visim.engine.jit.ir.text import numbers, scalar_type, signed, splat
from visim.engine.jit.layout import FaultKind
from visim.engine.jit.writing.distant import (
    all_on,
    load_lanes,
    loading_function,
    store_lanes,
    storing_function,
)
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.operands import Operands
from visim.linker.places import MARGIN
from visim.sem.effects import WriteIndirect
from visim.sem.expr import Expr
from visim.types import DataType

MOST_SINGLE = 2
"""With so many lanes that may be on, elements are written one by one."""


class RegisterAccess:
    """Writes indirect accesses of one unit."""

    def __init__(self, unit: FunctionFrame) -> None:
        self.unit = unit

    def gather(self, values: Operands, expr: Expr) -> str:
        """Return the register elements at byte addresses; those out of reach are 0."""
        text, lanes, scalar, size = values.text, expr.lanes, scalar_type(expr.type), expr.type.bytes
        start = None if self.unit.module.flat else _row_start(expr.args[0], size)
        if start is not None:
            return self._gather_row(expr, self._first(values, start))
        addresses = values.value(expr.args[0])
        self._check(addresses, self._odd(addresses, lanes, size), range(lanes))
        addresses, start = self._near(addresses, lanes), self.unit.storage.reached()
        gatherer = self._gatherer(lanes, scalar)
        if gatherer is not None:
            return gatherer.load(start, addresses, lanes, scalar, 1, 1, "")[0]
        if not self.unit.reaches_often:
            return load_lanes(text, start, addresses, lanes, scalar)
        function = loading_function(self.unit.module.library, lanes, scalar)
        given = f"ptr {start}, <{lanes} x i32> {addresses}"
        return text.let(f"call <{lanes} x {scalar}> @{function}({given})")

    def scatter(self, values: Operands, write: WriteIndirect, value: str, mask: str | None) -> None:
        """Write register elements at byte addresses, in channel order."""
        off = 0 if write.mask is None else _off(write.mask, values.never)
        some = [lane for lane in range(write.value.lanes) if not off >> lane & 1]
        start = _row_start(write.addresses, write.value.type.bytes)
        if start is not None and len(some) > MOST_SINGLE:
            self._scatter_row(values, write, self._first(values, start), value, mask)
        elif some:
            self._scatter_some(values, write, value, mask, some)

    def _scatter_some(
        self, values: Operands, write: WriteIndirect, value: str, mask: str | None, some: list[int]
    ) -> None:
        """Write one by one those of some lanes that are on; all others are off."""
        text, lanes, kind = values.text, write.value.lanes, write.value.type
        addresses = text.shuffle("i32", lanes, values.value(write.addresses), some)
        value = text.shuffle(scalar_type(kind), lanes, value, some)
        mask = None if mask is None else text.shuffle("i1", lanes, mask, some)
        self._check(addresses, self._wrong(addresses, len(some), kind.bytes, mask), some)
        self._store(addresses, value, mask, (len(some), scalar_type(kind)))

    def scatter_elements(
        self, values: Operands, elements: Sequence[Element], channels: str
    ) -> None:
        """Write what moves under constant predicates do, all at once; `channels` are on."""
        text, unit, lanes, first = values.text, self.unit, len(elements), elements[0]
        row = row_of(elements)
        value, vector = values.value(row), f"<{lanes} x i32>"
        pointer = unit.storage.element(first.name, first.number, lanes)
        starts = text.let(f"load {vector}, ptr {pointer}, align 4")
        distances = numbers("i32", [element.distance for element in elements])
        addresses = text.let(f"add {vector} {starts}, {distances}")
        mask = None
        if channels:
            picks = [element.channel or 0 for element in elements]
            mask = text.shuffle("i1", 32, channels, picks)
        lanes_of, pcs = [e.lane for e in elements], [e.pc for e in elements]
        self.scatter_lanes(addresses, value, mask, (lanes, row.type), lanes_of, pcs)

    def scatter_lanes(
        self,
        addresses: str,
        value: str,
        mask: str | None,
        kind: tuple[int, DataType],
        channels: Sequence[int],
        pcs: Sequence[int],
    ) -> None:
        """Write lanes of which each has a channel and an instruction of its own, all at once.

        The first that is wrong faults. Only where registers are kept does anybody see what those
        in front of it have written.
        """
        lanes, saving = kind[0], self.unit.module.version.saving
        stored = lanes, scalar_type(kind[1])
        wrong = self._wrong(addresses, lanes, kind[1].bytes, mask)
        if saving:
            self._store(addresses, value, self._in_front(wrong, lanes, mask), stored)
        self._check(addresses, wrong, channels, pcs)
        if not saving:
            self._store(addresses, value, mask, stored)

    def _store(self, addresses: str, value: str, mask: str | None, kind: tuple[int, str]) -> None:
        """Write lanes, of some number and type, to addresses that are right."""
        unit, (lanes, scalar), start = self.unit, kind, self.unit.storage.reached()
        gatherer = self._gatherer(lanes, scalar)
        if gatherer is not None and gatherer.scatters:
            gatherer.store(start, addresses, lanes, scalar, [value], 1, mask or "")
        elif lanes <= MOST_SINGLE or (mask is None and not unit.reaches_often):
            spare = unit.common_buffer(8) if mask else ""
            store_lanes(unit.text, start, addresses, value, kind, mask, spare)
        elif mask is None or unit.reaches_often:
            self._store_in_function(start, addresses, value, mask, kind)
        else:
            self._store_most(start, addresses, value, mask, kind)

    def _store_most(
        self, start: str, addresses: str, value: str, mask: str, kind: tuple[int, str]
    ) -> None:
        """Write lanes of which mostly all are on; only then the code stands in the unit."""
        text = self.unit.text
        every, some, join = map(text.fresh, ("every", "some", "join"))
        text.branch(all_on(text, mask, kind[0]), every, some)
        text.label(every)
        store_lanes(text, start, addresses, value, kind)
        text.jump(join)
        text.label(some)
        self._store_in_function(start, addresses, value, mask, kind)
        text.jump(join)
        text.label(join)

    def _store_in_function(
        self, start: str, addresses: str, value: str, mask: str | None, kind: tuple[int, str]
    ) -> None:
        unit, (lanes, scalar) = self.unit, kind
        function = storing_function(unit.module.library, lanes, scalar, masked=mask is not None)
        given = f"ptr {start}, <{lanes} x i32> {addresses}, <{lanes} x {scalar}> {value}"
        given += "" if mask is None else f", <{lanes} x i1> {mask}"
        unit.text.do(f"call void @{function}({given})")

    def _gatherer(self, lanes: int, scalar: str) -> Gatherer | None:
        """Return what gathers and scatters with the host's instructions, where that is fast."""
        unit = self.unit
        if not Gatherer.suits(lanes, scalar, 1, 1):
            return None
        return unit.module.gatherer(unit.text)

    def _in_front(self, wrong: str, lanes: int, mask: str | None) -> str:
        """Return the lanes of a mask that come before all that are wrong."""
        text = self.unit.text
        bits = text.let(f"bitcast <{lanes} x i1> {wrong} to i{lanes}")
        lowest = text.let(f"and i{lanes} {bits}, {text.let(f'sub i{lanes} 0, {bits}')}")
        below = text.let(f"sub i{lanes} {lowest}, 1")
        found = text.let(f"bitcast i{lanes} {below} to <{lanes} x i1>")
        return found if mask is None else text.let(f"and <{lanes} x i1> {found}, {mask}")

    # Rows

    @staticmethod
    def _first(values: Operands, start: tuple[Expr, int]) -> str:
        return values.text.let(f"add i32 {values.scalar(start[0])}, {signed(start[1], 32)}")

    def _gather_row(self, expr: Expr, first: str) -> str:
        """Read successive elements, which may begin or end in what surrounds all variables."""
        text, lanes, size = self.unit.text, expr.lanes, expr.type.bytes
        low = text.let(f"and i32 {first}, {size - 1}")
        odd, shown = text.let(f"icmp ne i32 {low}, 0"), text.let(f"zext i32 {first} to i64")
        self.unit.fault_if(odd, FaultKind.REGISTER, self.unit.pc, shown)
        least = self.unit.module.library.intrinsic("llvm.umin.i32", "i32", "i32", "i32")
        near = text.let(f"call i32 {least}(i32 {first}, i32 {self._end})")
        vector = f"<{lanes} x {scalar_type(expr.type)}>"
        return text.let(f"load {vector}, ptr {self._at(near)}, align 1")

    def _scatter_row(
        self, values: Operands, write: WriteIndirect, first: str, value: str, mask: str | None
    ) -> None:
        """Write lanes to successive elements from byte address `first` on."""
        text, lanes, kind = values.text, write.value.lanes, write.value.type
        vector, bools = f"<{lanes} x {scalar_type(kind)}>", f"<{lanes} x i1>"
        if mask is None:
            self._check_row(values, write.addresses, first, kind.bytes)
            text.do(f"store {vector} {value}, ptr {self._at(first)}, align 1")
            return
        values.value(write.addresses)  # written in front of the branch
        direct, general, join = map(text.fresh, ("direct", "general", "join"))
        text.likely(self._fits(first, lanes, kind.bytes), direct, general)
        text.label(direct)
        old = text.let(f"load {vector}, ptr {self._at(first)}, align 1")
        mixed = text.let(f"select {bools} {mask}, {vector} {value}, {vector} {old}")
        text.do(f"store {vector} {mixed}, ptr {self._at(first)}, align 1")
        text.jump(join)
        text.label(general)
        self._scatter_some(values, write, value, mask, list(range(lanes)))
        text.jump(join)
        text.label(join)

    def _check_row(self, values: Operands, addresses: Expr, first: str, size: int) -> None:
        """Fault unless a row of elements can be written from byte address `first` on."""
        text, right, wrong = values.text, values.text.fresh("right"), values.text.fresh("wrong")
        every, lanes = values.value(addresses), addresses.lanes
        text.likely(self._fits(first, lanes, size), right, wrong)
        text.label(wrong)
        self._check(every, self._wrong(every, lanes, size), range(lanes))
        text.do("unreachable")
        text.label(right)

    def _fits(self, first: str, lanes: int, size: int) -> str:
        """Return whether a row begins at a multiple of its elements' size and can be written."""
        text = self.unit.text
        distance = text.let(f"sub i32 {first}, {MARGIN}")
        many = max(0, self._end - MARGIN - lanes * size + 1)
        inside = text.let(f"icmp ult i32 {distance}, {many}")
        low = text.let(f"and i32 {first}, {size - 1}")
        return text.let(f"and i1 {inside}, {text.let(f'icmp eq i32 {low}, 0')}")

    @property
    def _end(self) -> int:
        """The address behind what can be reached, where zeros begin."""
        return self.unit.kernel.reached_bytes - MARGIN

    def _at(self, first: str) -> str:
        wide = self.unit.text.let(f"zext i32 {first} to i64")
        return self.unit.text.let(
            f"getelementptr i8, ptr {self.unit.storage.reached()}, i64 {wide}"
        )

    # Lanes

    def _near(self, addresses: str, lanes: int) -> str:
        """Return addresses, of which those that are out of reach lead to zeros."""
        vector = f"<{lanes} x i32>"
        name = self.unit.module.library.intrinsic(f"llvm.umin.v{lanes}i32", vector, vector, vector)
        end = splat("i32", lanes, self._end)
        return self.unit.text.let(f"call {vector} {name}({vector} {addresses}, {vector} {end})")

    def _odd(self, addresses: str, lanes: int, size: int) -> str:
        """Return in which lanes an address is not aligned."""
        text, vector = self.unit.text, f"<{lanes} x i32>"
        low = text.let(f"and {vector} {addresses}, {splat('i32', lanes, size - 1)}")
        return text.let(f"icmp ne {vector} {low}, zeroinitializer")

    def _wrong(self, addresses: str, lanes: int, size: int, mask: str | None = None) -> str:
        """Return in which lanes of a mask an address is out of reach or not aligned."""
        text, vector = self.unit.text, f"<{lanes} x i32>"
        distance = text.let(f"sub {vector} {addresses}, {splat('i32', lanes, MARGIN)}")
        many = splat("i32", lanes, self._end - MARGIN)
        beyond = text.let(f"icmp uge {vector} {distance}, {many}")
        wrong = text.let(f"or <{lanes} x i1> {beyond}, {self._odd(addresses, lanes, size)}")
        return wrong if mask is None else text.let(f"and <{lanes} x i1> {wrong}, {mask}")

    def _check(
        self, addresses: str, wrong: str, channels: Sequence[int], pcs: Sequence[int] = ()
    ) -> None:
        """Fault at the first lane that is wrong; `channels` are those that lanes belong to.

        Each lane has an instruction of its own, if there are `pcs`.
        """
        text, lanes = self.unit.text, len(channels)
        name = self.unit.module.library.intrinsic(
            f"llvm.cttz.i{lanes}", f"i{lanes}", f"i{lanes}", "i1"
        )
        bits = text.let(f"bitcast <{lanes} x i1> {wrong} to i{lanes}")
        fault, right = text.fresh("wrong"), text.fresh("right")
        text.unlikely(text.let(f"icmp ne i{lanes} {bits}, 0"), fault, right)
        text.label(fault)
        lane = text.let(f"call i{lanes} {name}(i{lanes} {bits}, i1 false)")
        wide = text.let(f"zext i{lanes} {lane} to i64") if lanes < 64 else lane
        address = text.let(f"extractelement <{lanes} x i32> {addresses}, i64 {wide}")
        shown = text.let(f"zext i32 {address} to i64")
        numbered = f"<{lanes} x i64> {numbers('i64', channels)}"
        channel = text.let(f"extractelement {numbered}, i64 {wide}")
        pc: str | int = self.unit.pc
        if pcs:
            pc = text.let(f"extractelement <{lanes} x i64> {numbers('i64', pcs)}, i64 {wide}")
        self.unit.fault(FaultKind.REGISTER, pc, shown, channel)
        text.label(right)


def _row_start(addresses: Expr, size: int) -> tuple[Expr, int] | None:
    """Return a number and what is added to it to give lane 0's address in a row.

    In a row lanes have successive elements of `size` bytes. None if lanes are in none.
    """
    if addresses.uop.name != "add" or addresses.lanes == 1:
        return None
    start, steps = addresses.args
    if start.uop.name != "broadcast" or steps.uop.name != "vector":
        return None
    first = steps.attribute[0]
    row = tuple(range(first, first + addresses.lanes * size, size))
    return (start.args[0], first) if steps.attribute == row else None


def _off(mask: Expr, never: Mapping[str, int]) -> int:
    """Return the lanes of a mask that are known to be off, as bits.

    `never` has the bits of predicates that are.
    """
    if mask.uop.name == "and":
        return _off(mask.args[0], never) | _off(mask.args[1], never)
    if mask.uop.name != "predicate":
        return 0
    variable, offset = mask.attribute
    return never.get(variable.name, 0) >> offset
