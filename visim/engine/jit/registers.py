"""Register access by address: gathers from and scatters into the register image.

Compilers keep short arrays in registers. Where all channels have the same index, they are a row of
elements, checked and moved at once. Where each has its own, compilers write one element at a time,
under predicates with one bit: of these the lanes that are known to be off are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from visim.engine.jit.frame import Operands, UnitFrame
from visim.engine.jit.layout import FaultKind
from visim.engine.jit.text import scalar_type, signed, splat
from visim.sem.effects import WriteIndirect
from visim.sem.expr import Expr

MOST_SINGLE = 2
"""With so many lanes that may be on, elements are written one by one."""


class RegisterAccess:
    """Writes indirect accesses of one unit."""

    def __init__(self, unit: UnitFrame) -> None:
        self.unit = unit

    def gather(self, values: Operands, expr: Expr) -> str:
        """Return the register elements at byte addresses."""
        text, lanes, scalar = values.text, expr.lanes, scalar_type(expr.type)
        start = _row_start(expr.args[0], expr.type.bytes)
        if start is not None:
            first = self._first(values, start)
            self._check_row(values, expr.args[0], first, expr.type.bytes)
            return text.let(f"load <{lanes} x {scalar}>, ptr {self._at(first)}, align 1")
        addresses = values.value(expr.args[0])
        self._check(addresses, lanes, expr.type.bytes, None)
        found = "poison"
        for lane in range(lanes):
            pointer = self._pointer(addresses, lanes, lane)
            one = text.let(f"load {scalar}, ptr {pointer}, align 1")
            found = text.let(
                f"insertelement <{lanes} x {scalar}> {found}, {scalar} {one}, i64 {lane}"
            )
        return found

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
        text, lanes, count, kind = values.text, write.value.lanes, len(some), write.value.type
        scalar = scalar_type(kind)
        addresses = text.shuffle("i32", lanes, values.value(write.addresses), some)
        value = text.shuffle(scalar, lanes, value, some)
        mask = None if mask is None else text.shuffle("i1", lanes, mask, some)
        self._check(addresses, count, kind.bytes, mask)
        for lane in range(count):
            one = text.let(f"extractelement <{count} x {scalar}> {value}, i64 {lane}")
            if mask is None:
                pointer = self._pointer(addresses, count, lane)
                text.do(f"store {scalar} {one}, ptr {pointer}, align 1")
                continue
            bit = text.let(f"extractelement <{count} x i1> {mask}, i64 {lane}")
            run, end = text.fresh("run"), text.fresh("end")
            text.branch(bit, run, end)
            text.label(run)
            pointer = self._pointer(addresses, count, lane)
            text.do(f"store {scalar} {one}, ptr {pointer}, align 1")
            text.jump(end)
            text.label(end)

    # Rows

    @staticmethod
    def _first(values: Operands, start: tuple[Expr, int]) -> str:
        return values.text.let(f"add i32 {values.scalar(start[0])}, {signed(start[1], 32)}")

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
        """Fault unless a row of elements from byte address `first` on is in the image."""
        text, right, wrong = values.text, values.text.fresh("right"), values.text.fresh("wrong")
        every = values.value(addresses)
        text.likely(self._fits(first, addresses.lanes, size), right, wrong)
        text.label(wrong)
        self._check(every, addresses.lanes, size, None)
        text.do("unreachable")
        text.label(right)

    def _fits(self, first: str, lanes: int, size: int) -> str:
        """Return whether a row begins at a multiple of its elements' size and is in the image."""
        text, last = self.unit.text, self.unit.kernel.register_bytes - lanes * size
        inside = text.let(f"icmp ule i32 {first}, {last}")
        low = text.let(f"and i32 {first}, {size - 1}")
        return text.let(f"and i1 {inside}, {text.let(f'icmp eq i32 {low}, 0')}")

    def _at(self, first: str) -> str:
        wide = self.unit.text.let(f"zext i32 {first} to i64")
        return self.unit.text.let(f"getelementptr i8, ptr %image, i64 {wide}")

    # Lanes

    def _pointer(self, addresses: str, lanes: int, lane: int) -> str:
        text = self.unit.text
        one = text.let(f"extractelement <{lanes} x i32> {addresses}, i64 {lane}")
        return self._at(one)

    def _check(self, addresses: str, lanes: int, size: int, mask: str | None) -> None:
        """Fault unless all enabled addresses are aligned and in the image."""
        text, vector, bools = self.unit.text, f"<{lanes} x i32>", f"<{lanes} x i1>"
        last = self.unit.kernel.register_bytes - size
        beyond = text.let(f"icmp ugt {vector} {addresses}, {splat('i32', lanes, last)}")
        low = text.let(f"and {vector} {addresses}, {splat('i32', lanes, size - 1)}")
        odd = text.let(f"icmp ne {vector} {low}, zeroinitializer")
        wrong = text.let(f"or {bools} {beyond}, {odd}")
        if mask is not None:
            wrong = text.let(f"and {bools} {wrong}, {mask}")
        bits = text.let(f"bitcast {bools} {wrong} to i{lanes}")
        some = text.let(f"icmp ne i{lanes} {bits}, 0")
        counter = self.unit.module.library.intrinsic(
            f"llvm.cttz.i{lanes}", f"i{lanes}", f"i{lanes}", "i1"
        )
        fault, right = text.fresh("wrong"), text.fresh("right")
        text.unlikely(some, fault, right)
        text.label(fault)
        lane = text.let(f"call i{lanes} {counter}(i{lanes} {bits}, i1 false)")
        wide = text.let(f"zext i{lanes} {lane} to i64") if lanes < 64 else lane
        address = text.let(f"extractelement {vector} {addresses}, i64 {wide}")
        shown = text.let(f"zext i32 {address} to i64")
        self.unit.fault(FaultKind.REGISTER, self.unit.pc, shown, self._number(wide, mask, lanes))
        text.label(right)

    def _number(self, lane: str, mask: str | None, lanes: int) -> str:
        """Return the channel that a fault names: its rank among the enabled ones."""
        if mask is None:
            return lane
        text = self.unit.text
        name = self.unit.module.library.intrinsic("llvm.ctpop.i64", "i64", "i64")
        on = text.let(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
        wide = text.let(f"zext i{lanes} {on} to i64") if lanes < 64 else on
        below = text.let(f"shl i64 -1, {lane}")
        kept = text.let(f"and i64 {wide}, {text.let(f'xor i64 {below}, -1')}")
        return text.let(f"call i64 {name}(i64 {kept})")


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
