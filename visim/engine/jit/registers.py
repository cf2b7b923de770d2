"""Register access by address: gathers from and scatters into the register image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from visim.engine.jit.layout import FaultKind
from visim.engine.jit.text import scalar_type, splat
from visim.sem.effects import WriteIndirect
from visim.sem.expr import Expr

if TYPE_CHECKING:
    from visim.engine.jit.unit import UnitWriter
    from visim.engine.jit.values import Values


class RegisterAccess:
    """Writes indirect accesses of one unit; `pc` is the instruction that is being written."""

    def __init__(self, unit: UnitWriter) -> None:
        self.unit = unit
        self.pc = 0

    def gather(self, values: Values, addresses: str, expr: Expr) -> str:
        """Return the register elements at byte addresses."""
        text, lanes, scalar = values.text, expr.lanes, scalar_type(expr.type)
        self._check(addresses, lanes, expr.type.bytes, None)
        found = "poison"
        for lane in range(lanes):
            pointer = self._pointer(addresses, lanes, lane)
            one = text.let(f"load {scalar}, ptr {pointer}, align 1")
            found = text.let(
                f"insertelement <{lanes} x {scalar}> {found}, {scalar} {one}, i64 {lane}"
            )
        return found

    def scatter(self, values: Values, write: WriteIndirect, value: str, mask: str | None) -> None:
        """Write register elements at byte addresses, in channel order."""
        text, lanes, kind = values.text, write.value.lanes, write.value.type
        scalar, addresses = scalar_type(kind), values.value(write.addresses)
        self._check(addresses, lanes, kind.bytes, mask)
        for lane in range(lanes):
            one = text.let(f"extractelement <{lanes} x {scalar}> {value}, i64 {lane}")
            if mask is None:
                pointer = self._pointer(addresses, lanes, lane)
                text.do(f"store {scalar} {one}, ptr {pointer}, align 1")
                continue
            bit = text.let(f"extractelement <{lanes} x i1> {mask}, i64 {lane}")
            run, end = text.fresh("run"), text.fresh("end")
            text.branch(bit, run, end)
            text.label(run)
            pointer = self._pointer(addresses, lanes, lane)
            text.do(f"store {scalar} {one}, ptr {pointer}, align 1")
            text.jump(end)
            text.label(end)

    def _pointer(self, addresses: str, lanes: int, lane: int) -> str:
        text = self.unit.text
        one = text.let(f"extractelement <{lanes} x i32> {addresses}, i64 {lane}")
        wide = text.let(f"zext i32 {one} to i64")
        return text.let(f"getelementptr i8, ptr %image, i64 {wide}")

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
        self.unit.fault(FaultKind.REGISTER, self.pc, shown, self._number(bits, wide, mask, lanes))
        text.label(right)

    def _number(self, bits: str, lane: str, mask: str | None, lanes: int) -> str:
        """Return the channel that a fault names: its rank among the enabled ones."""
        del bits
        if mask is None:
            return lane
        text = self.unit.text
        name = self.unit.module.library.intrinsic("llvm.ctpop.i64", "i64", "i64")
        on = text.let(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
        wide = text.let(f"zext i{lanes} {on} to i64") if lanes < 64 else on
        below = text.let(f"shl i64 -1, {lane}")
        kept = text.let(f"and i64 {wide}, {text.let(f'xor i64 {below}, -1')}")
        return text.let(f"call i64 {name}(i64 {kept})")
