"""Call-outs: what native code leaves to the code of the reference interpreter.

A call-out carries values: native code puts the operands of a message or of one micro-operation
into the exchange area, the interpreter's own step computes on them there, and native code takes
the results out. Registers stay where they are, so a call-out costs its caller nothing elsewhere.

This module is the table of what is called out, and writes the native side; `hosting` has the
other side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from visim.engine.jit.blocks import (
    UnknownControl,
    control_value,
    expressions,
    operands,
    readers,
    writes_cr0,
)
from visim.engine.jit.layout import Context, FaultKind
from visim.engine.jit.text import scalar_type, vector_type
from visim.engine.modes import CR0_USED, float_mode
from visim.sem.effects import (
    Atomic,
    Barrier,
    Effect,
    Load,
    LoadBlock,
    Message,
    Store,
    StoreBlock,
    Synchronization,
)
from visim.sem.expr import WIDE, Expr
from visim.sem.uops import Group
from visim.types import BOOL, DataType

if TYPE_CHECKING:
    from visim.engine.jit.unit import UnitWriter
    from visim.engine.jit.values import Values

ALIGNMENT = 64
"""Bytes at a multiple of which each value stands in the exchange area."""

MOST_LANES = 64
"""How many addresses native code can have in one message."""

WAIT = 2
"""What a call-out answers when the thread has to let others run; 0 is to go on, 1 a fault."""

ALTERNATE = "%cr0 chooses the ALT mode: floats behind it are the interpreter's"
COMPUTED_MODE = "%cr0 gets a value that is computed: roundings behind it are the interpreter's"


@dataclass(frozen=True, slots=True, eq=False)
class CallOut:
    """Values in, values out, at one instruction.

    `effect` is the message or synchronization that is done; without one, the only output is
    computed of the inputs. The values stand one after another, inputs first.
    """

    unit: int
    pc: int
    effect: Message | Synchronization | None
    inputs: tuple[Expr, ...]
    outputs: tuple[Expr, ...]

    def offsets(self) -> list[int]:
        """Return where each value stands in the exchange area, and the end of all."""
        found = [0]
        for expr in (*self.inputs, *self.outputs):
            size = expr.lanes * stored_bytes(expr.type)
            found.append(found[-1] + -(-size // ALIGNMENT) * ALIGNMENT)
        return found


def stored_bytes(kind: DataType) -> int:
    """Return the size of an element in the exchange area."""
    return 1 if kind == BOOL else kind.bits // 8


def is_called_out(effect: Effect) -> bool:
    """Whether native code leaves an effect to the interpreter's code."""
    if isinstance(effect, Synchronization):
        return not isinstance(effect, Barrier)
    if isinstance(effect, Load | Store | Atomic):
        return effect.addresses.lanes > MOST_LANES
    return isinstance(effect, Message) and not isinstance(effect, LoadBlock | StoreBlock)


def needs_interpreter(expr: Expr) -> bool:
    """Whether native code leaves a micro-operation to the interpreter's code in every mode."""
    if expr.uop.name in {"div", "rem"}:
        return expr.type is WIDE
    return expr.uop.name == "convert" and expr.type is WIDE and expr.args[0].type.is_float


def follows_mode(expr: Expr) -> bool:
    """Whether the value of a micro-operation depends on the modes of %cr0."""
    kinds = [arg.type for arg in expr.args]
    if expr.attribute == "rne" or expr.uop.name in {"fneg", "fabs"}:
        return expr.uop.name == "canonical"
    if expr.uop.group is Group.CONVERT:
        return expr.uop.name == "convert" and (expr.type.is_float or kinds[0].is_float)
    if expr.uop.group is Group.COMPARE:
        return kinds[0].is_float
    return expr.uop.group in {Group.FLOAT, Group.ROUND}


def reasons(effects: Sequence[Effect]) -> Iterator[str]:
    """Yield what of an instruction the JIT calls out."""
    for effect in effects:
        if is_called_out(effect):
            yield f"{type(effect).__name__} is done by the interpreter's code"
        if writes_cr0(effect):
            try:
                if float_mode(control_value(effects, 0) & CR0_USED).alternate:
                    yield ALTERNATE
            except UnknownControl:
                yield COMPUTED_MODE
    wide = sorted({expr.uop.name for expr in expressions(effects) if needs_interpreter(expr)})
    for name in wide:
        yield f"{name} of 128-bit integers is computed by the interpreter's code"


class CallOutWriter:
    """Writes the call-outs of one unit; `pc` is the instruction that is being written."""

    def __init__(self, unit: UnitWriter) -> None:
        self.unit = unit
        self.pc = 0

    def message(self, values: Values, effect: Message, effects: Sequence[Effect]) -> None:
        """Write a message; what it returns to an instruction's `effects` becomes known."""
        leaves: dict[int, list[Expr]] = {}
        for expr in readers(effect, expressions(effects)):
            leaves.setdefault(expr.attribute[1], []).append(expr)
        outputs = tuple(group[0] for group in leaves.values())
        found = self.call(values, effect, operands(effect), outputs)
        for group, name in zip(leaves.values(), found, strict=True):
            for leaf in group:
                values.know(leaf, name)

    def expression(self, values: Values, expr: Expr) -> str:
        """Return the value of an expression that the interpreter's code computes."""
        return self.call(values, None, expr.args, (expr,))[0]

    def call(
        self,
        values: Values,
        effect: Message | Synchronization | None,
        inputs: tuple[Expr, ...],
        outputs: tuple[Expr, ...],
    ) -> list[str]:
        """Write a call-out and return the names of its outputs."""
        unit, text = self.unit, self.unit.text
        site = CallOut(unit.unit.number, self.pc, effect, inputs, outputs)
        offsets = site.offsets()
        given = [values.value(expr) for expr in inputs]
        area = unit.context_pointer(Context.EXCHANGE)
        for expr, name, offset in zip(inputs, given, offsets, strict=False):
            self._put(area, offset, expr, name)
        number = unit.module.sites.add_callout(site, offsets[-1])
        answer = text.let(
            f"call i32 @host(ptr %ctx, ptr %thread, i64 {number}, i64 0, i64 {values.control()})"
        )
        unit.fault_if(text.let(f"icmp eq i32 {answer}, 1"), FaultKind.HOST, self.pc)
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
