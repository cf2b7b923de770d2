"""Values of MIR as names of LLVM's: pure operations by the lowerings of micro-operations.

A lowering takes an expression. That of a value has the expressions of its operands, which are known
already, so that nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from visim.engine.jit.emit.shapes import ShapeFinder
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.text import scalar_type, vector_type
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.mir.ops import ANY_MODE, NO_MODE, OPS, ROLES
from visim.engine.jit.mir.solver import Facts
from visim.engine.jit.mir.values import Value
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.taking import LaneTaker
from visim.engine.jit.writing.values import Values
from visim.engine.modes import CR0_USED, float_mode
from visim.errors import InternalError
from visim.sem.expr import Expr
from visim.sem.uops import UOPS
from visim.types import BOOL, DataType

_CONSTANT, _RESULT = UOPS["constant"], UOPS["loaded"]


class MirValues(Values):
    """Writes the values of one function of MIR.

    Args:
        unit: the function.
        facts: what is known of its values.
        exact: affine ones that are known not to wrap.
    """

    def __init__(self, unit: FunctionFrame, facts: Facts, exact: Container[Value]) -> None:
        super().__init__(unit, float_mode(0), "", "", dynamic=False, full=False)
        self.found = ShapeFinder(self.text, facts, exact, self.name)
        self._exprs: dict[Value, Expr] = {}
        self._values: dict[Expr, Value] = {}
        self._control: Value | None = None

    def begin_block(self) -> None:
        """Forget what holds only where the last block has been."""
        self.taker = LaneTaker(self.text, self.unit)
        self.found.begin_block()
        self.begin_effect()

    def begin_effect(self) -> None:
        """Forget masks as numbers, which may have been found where the last message branches."""
        self._bits_known.clear()

    def name(self, value: Value) -> str:
        """Return the vector that a value is."""
        return self.value(self._exprs[value])

    def expr(self, value: Value) -> Expr:
        """Return the expression that stands for a value."""
        return self._exprs[value]

    def define(self, value: Value, name: str) -> None:
        """Take a vector as a value: what a parameter is, or an operation that has effects."""
        leaf = Expr(_RESULT, kind_of(value), value.lanes, (), (value, 0))
        self.know(leaf, name)
        self._note(value, leaf)

    def _note(self, value: Value, expr: Expr) -> None:
        self._exprs[value] = expr
        self._values[expr] = value

    def compute(self, value: Value) -> None:
        """Write a pure operation."""
        lower = _OWN.get(value.op.name)
        if lower is not None:
            self.define(value, lower(self, value))
            return
        if value.op.uop is None:
            raise InternalError(f"{value.op.name} is no pure operation of MIR")
        attribute = None if value.op is _SELECT else value.attribute
        if value.op is _CANONICAL:
            attribute = ROLES[str(attribute)]
        args = tuple(map(self.expr, value.operands))
        is_known = value.mode != ANY_MODE
        self.mode = float_mode(value.mode if is_known and value.mode != NO_MODE else 0)
        self.dynamic = not is_known or self.mode.alternate
        self._control = None if is_known else value.args[-1]
        expr = Expr(value.op.uop, kind_of(value), value.lanes, args, attribute)
        self._note(value, expr)
        self.value(expr)

    # What writers of messages ask for

    def control(self) -> str:
        """Return the bits of %cr0 that say how floats are rounded, as i64."""
        if self._control is None:
            return str(self.mode.bits)
        text = self.text
        control = text.let(f"extractelement <1 x i32> {self.name(self._control)}, i64 0")
        used = text.let(f"and i32 {control}, {CR0_USED}")
        return text.let(f"zext i32 {used} to i64")

    def mask(self, expr: Expr | None) -> str | None:
        """Return a mask, or None when all its lanes are known to be on."""
        if expr is not None and expr.uop is _CONSTANT and expr.type is BOOL and expr.attribute:
            return None
        return super().mask(expr)

    def shape(self, expr: Expr, mask: Expr | None) -> Shape | None:
        """Return the shape of integers in all lanes."""
        value = self._values.get(expr)
        return None if value is None else self.found.addresses(value)


def kind_of(value: Value) -> DataType:
    """Return the type of a value that has one."""
    if value.type is None:
        raise InternalError(f"{value.op.name} has no result")
    return value.type


def _insert(values: MirValues, value: Value) -> str:
    """Write a vector with lanes of another one, which LLVM wants as long as the first."""
    old, new = value.args
    scalar, where = scalar_type(kind_of(value)), dict[int, int]()
    for lane, pick in enumerate(picks_of(value)):
        where[pick] = lane
    lanes = range(value.lanes)
    spread = [where.get(lane, "poison") for lane in lanes]
    wide = values.text.shuffle(scalar, new.lanes, values.name(new), spread)
    order = [value.lanes + lane if lane in where else lane for lane in lanes]
    return values.text.shuffle_two(scalar, value.lanes, values.name(old), wide, order)


def _regroup(values: MirValues, value: Value) -> str:
    (arg,) = value.args
    before = vector_type(kind_of(arg), arg.lanes)
    after = vector_type(kind_of(value), value.lanes)
    name = values.name(arg)
    return name if before == after else values.text.let(f"bitcast {before} {name} to {after}")


def _concat(values: MirValues, value: Value) -> str:
    scalar, sizes = scalar_type(kind_of(value)), [arg.lanes for arg in value.args]
    names = [values.name(arg) for arg in value.args]
    return Weaver(values.text).behind(scalar, sizes, names)


def picks_of(value: Value) -> tuple[int, ...]:
    """Return the numbers of lanes that an operation's attribute has."""
    found = value.attribute
    if not isinstance(found, tuple):
        raise InternalError(f"{value.op.name} without numbers of lanes")
    return tuple(int(one) for one in found)


_SELECT, _CANONICAL = OPS["select"], OPS["canonical"]
_OWN: dict[str, Callable[[MirValues, Value], str]] = {
    "insert": _insert,
    "regroup": _regroup,
    "concat": _concat,
}
"""Pure operations that are no micro-operations, or written in another way than these."""

__all__ = ["MirValues", "kind_of", "picks_of"]
