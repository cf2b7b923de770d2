"""Call-outs: what native code leaves to the code of the reference interpreter.

A call-out carries values: native code puts the operands of a message or of one micro-operation
into the exchange area, the interpreter's own step computes on them there, and native code takes
the results out. Registers stay where they are, so a call-out costs its caller nothing elsewhere.

This module is the table of what is called out; `calling` writes the native side, `hosting` has the
other side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from visim.engine.jit.analysis.blocks import UnknownControl, control_value, writes_cr0
from visim.engine.jit.analysis.images import function_of
from visim.engine.jit.ir.arranging import arrangement_of
from visim.engine.modes import CR0_USED, float_mode
from visim.sem.effects import (
    Atomic,
    Effect,
    FusedExchange,
    Load,
    LoadBlock,
    Message,
    Rectangle,
    Request,
    Store,
    StoreBlock,
    Synchronization,
    expressions,
)
from visim.sem.expr import WIDE, Expr
from visim.sem.uops import WITHOUT_MODE, Group
from visim.types import BOOL, DataType

ALIGNMENT = 64
"""Bytes at a multiple of which each value stands in the exchange area."""

MOST_LANES = 64
"""How many addresses native code can have in one message."""

_MOST_BYTES = 4096
"""The largest 2D block that native code moves; devices have half as much."""

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
        return isinstance(effect, FusedExchange)
    if isinstance(effect, Load | Store | Atomic):
        return effect.addresses.lanes > MOST_LANES or rectangle_of(effect) is not None
    return isinstance(effect, Message) and not isinstance(effect, LoadBlock | StoreBlock)


def rectangle_of(effect: Effect) -> Rectangle | None:
    """Return the 2D block that a message moves, if native code moves its rows."""
    if not isinstance(effect, Load | Store) or effect.rectangle is None:
        return None
    found = effect.rectangle
    if found.size * len(found.cells) > _MOST_BYTES:
        return None
    if isinstance(effect, Load) or arrangement_of(found.cells).is_in_order:
        return found
    return None


def parts_of(effect: Message) -> Sequence[Message]:
    """Return the messages as which the interpreter's code does a message."""
    rectangle = getattr(effect, "rectangle", None)
    return rectangle.parts if isinstance(rectangle, Rectangle) and rectangle.parts else (effect,)


def _is_answered(effect: Effect) -> bool:
    """Whether native code answers a message but in rare cases."""
    if rectangle_of(effect) is not None:
        return True
    return isinstance(effect, Request) and function_of(effect) is not None


def needs_interpreter(expr: Expr) -> bool:
    """Whether native code leaves a micro-operation to the interpreter's code in every mode."""
    if expr.uop.name in {"div", "rem"}:
        return expr.type is WIDE
    return expr.uop.name == "convert" and expr.type is WIDE and expr.args[0].type.is_float


def follows_mode(expr: Expr) -> bool:
    """Whether the value of a micro-operation depends on the modes of %cr0."""
    kinds = [arg.type for arg in expr.args]
    if expr.attribute == "rne" or expr.uop.name in WITHOUT_MODE:
        return expr.uop.name == "canonical"
    if expr.uop.group is Group.CONVERT:
        return expr.uop.name == "convert" and (expr.type.is_float or kinds[0].is_float)
    if expr.uop.group is Group.COMPARE:
        return kinds[0].is_float
    return expr.uop.group in {Group.FLOAT, Group.ROUND}


def reasons(effects: Sequence[Effect]) -> Iterator[str]:
    """Yield what of an instruction the JIT calls out."""
    for effect in effects:
        if is_called_out(effect) and not _is_answered(effect):
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
