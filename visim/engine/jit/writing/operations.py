"""Micro-operations on values as LLVM IR: one function a row of `visim.sem.uops`, or for several.

Each is given the writer of the instruction's values, which computes its operands, and the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from visim.engine.jit.common.native import fuses_products
from visim.engine.jit.ir.division import DivisionWriter, is_one
from visim.engine.jit.ir.places import check_place
from visim.engine.jit.ir.storage import vector_bits
from visim.engine.jit.ir.text import constant_text, scalar_type, splat, vector_type
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.dots import DotWriter
from visim.engine.rounding import Rounding
from visim.sem.effects import Place
from visim.sem.expr import Expr
from visim.sem.uops import LEAVES, UOPS, WITHOUT_MODE, total
from visim.types import BOOL, DataType

if TYPE_CHECKING:
    from visim.engine.jit.writing.values import Values

_FEW = {2, 4}
"""Numbers of lanes of which words or bytes are less than a register of 128 bits, in `_limited`."""
_INTEGRAL = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven"}
_FLOAT_RELATION = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole"}

Lowering = Callable[["Values", Expr], str]


def _args(values: Values, expr: Expr) -> list[str]:
    return [values.value(arg) for arg in expr.args]


# Integers


def _plain(values: Values, expr: Expr) -> str:
    """Write what LLVM has under the same name."""
    args, kind, name = _args(values, expr), expr.type, expr.uop.name
    if expr.lanes == 1 and kind.bits == 128:
        return _alone(values, name, args)
    return values.text.let(f"{name} {vector_type(kind, expr.lanes)} {args[0]}, {args[1]}")


def _alone(values: Values, name: str, args: list[str]) -> str:
    """Compute with scalars: doubling a vector of one 128-bit number ends LLVM's process."""
    text = values.text
    a, b = (text.let(f"extractelement <1 x i128> {arg}, i64 0") for arg in args)
    found = text.let(f"{name} i128 {a}, {b}")
    return text.let(f"insertelement <1 x i128> poison, i128 {found}, i64 0")


def _divide(values: Values, expr: Expr) -> str:
    args = _args(values, expr)
    writer = DivisionWriter(values.text, values.library, alone=is_one(expr.args[1]))
    return writer.divide(expr.uop.name, expr.type, expr.lanes, args)


def _dot(values: Values, expr: Expr) -> str:
    return DotWriter(values.unit.module, values.text, values.taker).write(values, expr)


def _neg(values: Values, expr: Expr) -> str:
    (arg,) = _args(values, expr)
    return values.text.let(f"sub {vector_type(expr.type, expr.lanes)} zeroinitializer, {arg}")


def _abs(values: Values, expr: Expr) -> str:
    args = _args(values, expr)
    if not expr.type.is_signed:
        return args[0]
    return _intrinsic(values, "abs", expr.type, expr.lanes, args, ", i1 false")


def _extreme(values: Values, expr: Expr) -> str:
    return _limited(values, expr.uop.name, expr.type, expr.lanes, _args(values, expr))


def _limited(values: Values, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
    """Return the smaller ("min") or larger ("max") of two integers.

    LLVM 22 makes a shuffle of integers that are limited to the range of a narrower type, but
    are in it anyway, and then cut to that type. If they have less than a register of 128 bits
    and a mask of AVX-512 chooses some of them, it takes that for a whole register and ends the
    process. Behind a fence they are not known to be in the range.
    """
    found = _intrinsic(values, ("s" if kind.is_signed else "u") + name, kind, lanes, args)
    return values.text.apart(scalar_type(kind), lanes, found) if lanes in _FEW else found


def _intrinsic(
    values: Values, name: str, kind: DataType, lanes: int, args: list[str], flag: str = ""
) -> str:
    vector = vector_type(kind, lanes)
    extra = ["i1"] if flag else []
    function = values.library.intrinsic(
        f"llvm.{name}.v{lanes}{scalar_type(kind)}", vector, *[vector] * len(args), *extra
    )
    joined = ", ".join(f"{vector} {arg}" for arg in args)
    return values.text.let(f"call {vector} {function}({joined}{flag})")


# Bits


def _not(values: Values, expr: Expr) -> str:
    (arg,), kind, lanes = _args(values, expr), expr.type, expr.lanes
    ones = splat(scalar_type(kind), lanes, "true" if kind is BOOL else -1)
    return values.text.let(f"xor {vector_type(kind, lanes)} {arg}, {ones}")


def _shl(values: Values, expr: Expr) -> str:
    a, b = _args(values, expr)
    return values.text.let(f"shl {vector_type(expr.type, expr.lanes)} {a}, {b}")


def _shr(values: Values, expr: Expr) -> str:
    a, b = _args(values, expr)
    word = "ashr" if expr.type.is_signed else "lshr"
    return values.text.let(f"{word} {vector_type(expr.type, expr.lanes)} {a}, {b}")


def _counting(name: str, flag: str = "") -> Lowering:
    """Return what writes an operation on bits that is an intrinsic of LLVM's."""

    def lower(values: Values, expr: Expr) -> str:
        return _intrinsic(values, name, expr.type, expr.lanes, _args(values, expr), flag)

    return lower


# Floats


def _sign(values: Values, expr: Expr) -> str:
    """Write what changes the sign bit only, whatever the mode."""
    (arg,), kind, lanes = _args(values, expr), expr.args[0].type, expr.lanes
    if expr.uop.name == "fneg":
        return values.text.let(f"fneg {vector_type(kind, lanes)} {arg}")
    return values.floats.call("fabs", kind, lanes, [arg])


def _canonical(values: Values, expr: Expr) -> str:
    (arg,), kind = _args(values, expr), expr.args[0].type
    return values.floats.flush(arg, kind, expr.lanes) if values.mode.flushes(kind) else arg


def _in_mode(write: Callable[[Values, Expr, list[str]], str]) -> Lowering:
    """Return what writes an operation on floats whose denormals the mode may flush."""

    def lower(values: Values, expr: Expr) -> str:
        kind, lanes, args = expr.args[0].type, expr.lanes, _args(values, expr)
        follows = expr.attribute != "rne" and expr.uop.name not in WITHOUT_MODE
        if not follows or not values.mode.flushes(kind):
            return write(values, expr, args)
        found = write(values, expr, [values.floats.flush(arg, kind, lanes) for arg in args])
        return values.floats.flush(found, kind, lanes) if expr.type.is_float else found

    return lower


def _rounded(values: Values, expr: Expr, args: list[str]) -> str:
    exact = expr.attribute == "rne"
    rounding = Rounding.NEAREST_EVEN if exact else values.mode.rounding
    return values.floats.arithmetic(expr.uop.name, expr.args[0].type, expr.lanes, args, rounding)


def _muladd(values: Values, expr: Expr) -> str:
    kind, lanes, (a, b, c) = expr.type, expr.lanes, _args(values, expr)

    def rounded(name: str, *args: str) -> str:
        return values.floats.arithmetic(name, kind, lanes, [*args], Rounding.NEAREST_EVEN)

    if values.unit.module.version.runs(Pass.CONTRACT) and fuses_products():
        return rounded("ffma", a, b, c)
    return rounded("fadd", rounded("fmul", a, b), c)


def _integral(values: Values, expr: Expr, args: list[str]) -> str:
    return values.floats.call(_INTEGRAL[expr.uop.name], expr.args[0].type, expr.lanes, args)


def _fmin(values: Values, expr: Expr, args: list[str]) -> str:
    return values.floats.extreme("olt", expr.args[0].type, expr.lanes, args)


def _fmax(values: Values, expr: Expr, args: list[str]) -> str:
    return values.floats.extreme("oge", expr.args[0].type, expr.lanes, args)


def _saturate(values: Values, expr: Expr, args: list[str]) -> str:
    return values.floats.saturate(expr.args[0].type, expr.lanes, args[0])


def _frac(values: Values, expr: Expr, args: list[str]) -> str:
    return values.floats.fraction(expr.args[0].type, expr.lanes, args[0])


def _ordered(values: Values, expr: Expr, args: list[str]) -> str:
    relation, vector = _FLOAT_RELATION[expr.uop.name], vector_type(expr.args[0].type, expr.lanes)
    return values.text.let(f"fcmp {relation} {vector} {args[0]}, {args[1]}")


_compare_floats = _in_mode(_ordered)


def _compare(values: Values, expr: Expr) -> str:
    kind, relation = expr.args[0].type, expr.uop.name
    if kind.is_float:
        return _compare_floats(values, expr)
    a, b = _args(values, expr)
    if relation in {"lt", "le"}:
        relation = ("s" if kind.is_signed else "u") + relation
    return values.text.let(f"icmp {relation} {vector_type(kind, expr.lanes)} {a}, {b}")


# Conversions


def _bitcast(values: Values, expr: Expr) -> str:
    (arg,), lanes = _args(values, expr), expr.lanes
    before, after = vector_type(expr.args[0].type, lanes), vector_type(expr.type, lanes)
    return arg if before == after else values.text.let(f"bitcast {before} {arg} to {after}")


def _convert(values: Values, expr: Expr) -> str:
    source, target, lanes = expr.args[0].type, expr.type, expr.lanes
    (arg,), fixed = _args(values, expr), expr.attribute == "rne"
    if source.is_float and not target.is_float:
        rounding = Rounding.ZERO if fixed else values.mode.to_integer
        return values.floats.to_integer(arg, source, target, lanes, rounding)
    if target.is_float:
        rounding = Rounding.NEAREST_EVEN if fixed else values.mode.rounding
        return values.floats.convert(arg, source, target, lanes, rounding)
    return _resize(values, arg, source, target, lanes)


def _resize(values: Values, arg: str, source: DataType, target: DataType, lanes: int) -> str:
    if source.bits == target.bits:
        return arg
    word = "trunc" if target.bits < source.bits else "sext" if source.is_signed else "zext"
    before, after = vector_type(source, lanes), vector_type(target, lanes)
    return values.text.let(f"{word} {before} {arg} to {after}")


def _clamp(values: Values, expr: Expr) -> str:
    source, target, lanes = expr.args[0].type, expr.type, expr.lanes
    (arg,) = _args(values, expr)
    low = -(1 << target.bits - 1) if target.is_signed else 0
    high = (1 << target.bits - target.is_signed) - 1
    least = -(1 << source.bits - 1) if source.is_signed else 0
    most = (1 << source.bits - source.is_signed) - 1
    scalar = scalar_type(source)
    if low > least:
        arg = _limited(values, "max", source, lanes, [arg, splat(scalar, lanes, low)])
    if high < most:
        arg = _limited(values, "min", source, lanes, [arg, splat(scalar, lanes, high)])
    return _resize(values, arg, source, target, lanes)


# Shapes


def _select(values: Values, expr: Expr) -> str:
    text, lanes, kind = values.text, expr.lanes, expr.type
    condition, *args = _args(values, expr)
    # Either may be chosen by the mask or its inverse.
    one, other = (text.apart(scalar_type(kind), lanes, arg) for arg in args)
    vector = vector_type(kind, lanes)
    return text.let(f"select <{lanes} x i1> {condition}, {vector} {one}, {vector} {other}")


def _whether(test: str, bound: int) -> Lowering:
    """Return what writes a question about all lanes of a mask."""

    def lower(values: Values, expr: Expr) -> str:
        text, lanes, (arg,) = values.text, expr.lanes, _args(values, expr)
        bits = text.let(f"bitcast <{lanes} x i1> {arg} to i{lanes}")
        return text.spread("i1", lanes, text.let(f"icmp {test} i{lanes} {bits}, {bound}"))

    return lower


def _broadcast(values: Values, expr: Expr) -> str:
    arg, storage = expr.args[0], values.storage
    if arg.uop.name == "read":
        place: Place = arg.attribute
        wide = Place(place.variable, place.offset, place.type, expr.lanes, expr.lanes, 0, 0)
        check_place(storage.kernel, storage.unit, wide)
        return storage.read(wide)
    if arg.uop.name == "constant":
        return constant_text([arg.attribute] * expr.lanes, arg.type)
    return values.text.spread(scalar_type(arg.type), expr.lanes, values.scalar(arg))


def _take(values: Values, expr: Expr) -> str:
    return values.taker.take(expr, values.value(expr.args[0]))


def _concat(values: Values, expr: Expr) -> str:
    args, sizes = _args(values, expr), [arg.lanes for arg in expr.args]
    return Weaver(values.text).behind(scalar_type(expr.type), sizes, args)


def _mask_bits(values: Values, expr: Expr) -> str:
    text, (arg,) = values.text, _args(values, expr)
    low = text.let(f"trunc i64 {vector_bits(text, arg, expr.args[0].lanes)} to i32")
    return text.let(f"insertelement <1 x i32> poison, i32 {low}, i64 0")


# fmt: off
_TABLE: dict[str, Lowering] = {
    "add":       _plain,
    "sub":       _plain,
    "mul":       _plain,
    "div":       _divide,
    "rem":       _divide,
    "dot":       _dot,
    "neg":       _neg,
    "abs":       _abs,
    "min":       _extreme,
    "max":       _extreme,

    "and":       _plain,
    "or":        _plain,
    "xor":       _plain,
    "not":       _not,
    "shl":       _shl,
    "shr":       _shr,
    "popcount":  _counting("ctpop"),
    "clz":       _counting("ctlz", ", i1 false"),
    "reverse":   _counting("bitreverse"),

    "fadd":      _in_mode(_rounded),
    "fsub":      _in_mode(_rounded),
    "fmul":      _in_mode(_rounded),
    "fdiv":      _in_mode(_rounded),
    "fsqrt":     _in_mode(_rounded),
    "ffma":      _in_mode(_rounded),
    "fmuladd":   _muladd,
    "fneg":      _sign,
    "fabs":      _sign,
    "fmin":      _in_mode(_fmin),
    "fmax":      _in_mode(_fmax),
    "canonical": _canonical,
    "saturate":  _in_mode(_saturate),

    "floor":     _in_mode(_integral),
    "ceil":      _in_mode(_integral),
    "trunc":     _in_mode(_integral),
    "rint":      _in_mode(_integral),
    "frac":      _in_mode(_frac),

    "eq":        _compare,
    "ne":        _compare,
    "lt":        _compare,
    "le":        _compare,

    "convert":   _convert,
    "clamp":     _clamp,
    "bitcast":   _bitcast,

    "select":    _select,
    "any":       _whether("ne", 0),
    "all":       _whether("eq", -1),
    "broadcast": _broadcast,
    "take":      _take,
    "concat":    _concat,
    "mask_bits": _mask_bits,
}
# fmt: on
OPERATION_LOWERINGS = total(
    "lowering in the JIT", _TABLE, {name: uop for name, uop in UOPS.items() if name not in LEAVES}
)

__all__ = ["OPERATION_LOWERINGS"]
