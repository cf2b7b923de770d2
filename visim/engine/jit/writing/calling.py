"""Native code that calls out: operands into the exchange area, results out of it."""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.jit.analysis.blocks import expressions, operands, readers
from visim.engine.jit.analysis.callouts import WAIT, CallOut
from visim.engine.jit.ir.text import scalar_type, vector_type
from visim.engine.jit.layout import Context, FaultKind
from visim.engine.jit.writing.frame import Operands, UnitFrame
from visim.sem.effects import Effect, Message, Synchronization
from visim.sem.expr import Expr
from visim.types import BOOL


class CallOutWriter:
    """Writes the call-outs of one unit."""

    def __init__(self, unit: UnitFrame) -> None:
        self.unit = unit

    def message(self, values: Operands, effect: Message, effects: Sequence[Effect]) -> None:
        """Write a message; what it returns to an instruction's `effects` becomes known."""
        leaves: dict[int, list[Expr]] = {}
        for expr in readers(effect, expressions(effects)):
            leaves.setdefault(expr.attribute[1], []).append(expr)
        outputs = tuple(group[0] for group in leaves.values())
        found = self.call(values, effect, operands(effect), outputs)
        for group, name in zip(leaves.values(), found, strict=True):
            for leaf in group:
                values.know(leaf, name)

    def expression(self, values: Operands, expr: Expr) -> str:
        """Return the value of an expression that the interpreter's code computes."""
        return self.call(values, None, expr.args, (expr,))[0]

    def call(
        self,
        values: Operands,
        effect: Message | Synchronization | None,
        inputs: tuple[Expr, ...],
        outputs: tuple[Expr, ...],
    ) -> list[str]:
        """Write a call-out and return the names of its outputs."""
        unit, text = self.unit, self.unit.text
        site = CallOut(unit.unit.number, unit.pc, effect, inputs, outputs)
        offsets = site.offsets()
        given = [values.value(expr) for expr in inputs]
        area = unit.context_pointer(Context.EXCHANGE)
        for expr, name, offset in zip(inputs, given, offsets, strict=False):
            self._put(area, offset, expr, name)
        number = unit.module.sites.add_callout(site, offsets[-1])
        answer = text.let(
            f"call i32 @host(ptr %ctx, ptr %thread, i64 {number}, i64 0, i64 {values.control()})"
        )
        unit.fault_if(text.let(f"icmp eq i32 {answer}, 1"), FaultKind.HOST, unit.pc)
        if isinstance(effect, Synchronization):
            self._suspend_if(text.let(f"icmp eq i32 {answer}, {WAIT}"))
        after = offsets[len(inputs) :]
        return [self._take(area, at, expr) for expr, at in zip(outputs, after, strict=False)]

    def _put(self, area: str, offset: int, expr: Expr, name: str) -> None:
        text, vector = self.unit.text, vector_type(expr.type, expr.lanes)
        place = text.let(f"getelementptr i8, ptr {area}, i64 {offset}")
        if expr.type == BOOL:
            name = text.let(f"zext {vector} {name} to <{expr.lanes} x i8>")
            vector = f"<{expr.lanes} x i8>"
        text.do(f"store {vector} {name}, ptr {place}, align 1")

    def _take(self, area: str, offset: int, expr: Expr) -> str:
        text, scalar, lanes = self.unit.text, scalar_type(expr.type), expr.lanes
        place = text.let(f"getelementptr i8, ptr {area}, i64 {offset}")
        if expr.type == BOOL:
            octets = text.let(f"load <{lanes} x i8>, ptr {place}, align 1")
            return text.let(f"icmp ne <{lanes} x i8> {octets}, zeroinitializer")
        return text.let(f"load <{lanes} x {scalar}>, ptr {place}, align 1")

    def _suspend_if(self, condition: str) -> None:
        text = self.unit.text
        pause, on = text.fresh("gives"), text.fresh("goes")
        text.branch(condition, pause, on)
        text.label(pause)
        self.unit.suspend()
        text.jump(on)
        text.label(on)
