"""From traced expressions to Python: views of the register image, and NumPy calls on them.

A builder collects the lines of one function; its free names are views and constants, and equal
sources share one code object. The values of an instruction's expressions are computed once each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.engine import floats, lanes
from visim.engine.context import Bytes, Context
from visim.engine.modes import FloatMode
from visim.engine.rounding import Rounding
from visim.errors import InternalError
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import Load, Message, Place, Request
from visim.sem.expr import Expr, is_seldom, leaves_below
from visim.sem.uops import LEAVES, WITHOUT_MODE, Group, Role, total
from visim.types import BF, BOOL, DataType

_UFUNCS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.absolute,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "fneg": np.negative,
    "fabs": np.absolute,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "select": np.where,
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "fsqrt": np.sqrt,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **_UFUNCS,
    "div": lanes.quotient,
    "rem": lanes.remainder,
    "dot": lanes.dot,
    "popcount": lanes.popcount,
    "clz": lanes.leading_zeros,
    "reverse": lanes.reverse_bits,
    "fmuladd": floats.muladd,
    "fmin": floats.fmin,
    "fmax": floats.fmax,
    "saturate": floats.saturate,
    "frac": floats.frac,
    "mask_bits": lanes.mask_bits,
    "concat": lanes.concat,
}
ROUNDED: dict[str, Callable[..., Any]] = {
    "fadd": floats.add,
    "fsub": floats.sub,
    "fmul": floats.mul,
    "fdiv": floats.div,
    "fsqrt": floats.sqrt,
    "ffma": floats.fma,
}
WRITTEN = (
    *("convert", "clamp", "bitcast", "broadcast", "take", "any", "all", "canonical"),
    *LEAVES,
)
"""Micro-operations for which lines of their own are written, which no function stands for."""
total("function in the interpreter", {**FUNCTIONS, **ROUNDED, **dict.fromkeys(WRITTEN)})


class ValueBuilder:
    """Writes lines that compute expressions, for the function of one instruction.

    `full` means that every channel below the kernel's dispatch width is known to be on.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        unit: LinkedUnit,
        context: Context,
        mode: FloatMode,
        *,
        full: bool,
    ) -> None:
        self.kernel = kernel
        self.unit = unit
        self.context = context
        self.mode = mode
        self.full = full
        self.lines: list[str] = []
        self.bound: list[Any] = []
        self._names: dict[int, str] = {}
        self._known: dict[Expr, str] = {}
        self._views: set[str] = set()
        self._loaded: dict[int, str] = {}

    # Names

    def bind(self, value: Any) -> str:
        """Return the name under which the function will know `value`."""
        name = self._names.get(id(value))
        if name is None:
            name = f"b{len(self.bound)}"
            self._names[id(value)] = name
            self.bound.append(value)
        return name

    def temporary(self, code: str) -> str:
        """Assign the value of `code` to a new name."""
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def build(self, result: str | None = None) -> Callable[[], Any]:
        """Return the finished function, which returns `result`."""
        lines = [*self.lines, f"return {result}"] if result else self.lines or ["pass"]
        names = ", ".join(f"b{i}" for i in range(len(self.bound)))
        body = "\n        ".join(lines)
        source = f"def make({names}):\n    def step():\n        {body}\n    return step\n"
        scope: dict[str, Any] = {}
        exec(_code(source), scope)
        return scope["make"](*self.bound)

    # Register image

    def place(self, place: Place, shadow: Bytes | None = None) -> NDArray[Any]:
        """Return the view of a register place, or of its shadow as unsigned integers."""
        start = self.kernel.offset(self.unit, place.variable) + place.offset
        dtype = np.dtype(place.type.numpy)
        image = self.context.image
        if shadow is not None:
            dtype, image = np.dtype(f"u{dtype.itemsize}"), shadow
        rows = place.lanes // place.width
        last = start + (rows - 1) * place.row_stride + (place.width - 1) * place.stride
        if start < 0 or last + dtype.itemsize > image.size:
            raise lanes.RegisterRange(last, place.lanes - 1)
        if place.stride == dtype.itemsize and rows == 1:
            return image[start : start + place.lanes * place.stride].view(dtype)
        base = np.ndarray((1,), dtype, image.data, start)
        shape, strides = (rows, place.width), (place.row_stride, place.stride)
        if rows == 1:
            shape, strides = shape[1:], strides[1:]
        elif place.width == 1:
            shape, strides = shape[:1], strides[:1]
        elif place.row_stride == place.width * place.stride:
            shape, strides = (place.lanes,), (place.stride,)
        return np.lib.stride_tricks.as_strided(base, shape, strides)

    def other(self, name: str, element: int, count: int, dtype: str) -> NDArray[Any]:
        """Return the view of elements of a predicate, address, surface or sampler variable."""
        size = np.dtype(dtype).itemsize
        start = self.unit.others[name] + element * size
        return self.context.image[start : start + count * size].view(dtype)

    # Expressions

    def value(self, expr: Expr) -> str:
        """Return the name of an expression's value, computing it at most once."""
        name = self._known.get(expr)
        if name is None:
            name = self._leaf(expr) if expr.uop.group is Group.LEAF else self._compute(expr)
            self._known[expr] = name
        return name

    def know(self, expr: Expr, value: str) -> None:
        """Take what a name stands for as an expression's value."""
        self._known[expr] = value

    def mask(self, expr: Expr | None) -> str | None:
        """Return the name of a mask's value, or None when all its lanes are known to be on."""
        if expr is None:
            return None
        if expr in self._known:
            return self._known[expr]
        if expr.uop.name == "execution" and self._all_on(expr):
            return None
        if expr.uop.name == "and" and expr.type is BOOL:
            parts = [self.mask(arg) for arg in expr.args]
            left, right = parts
            if left is None or right is None:
                return left or right
            known = self._known[expr] = self.temporary(f"{left} & {right}")
            return known
        return self.value(expr)

    def _all_on(self, expr: Expr) -> bool:
        return self.full and expr.attribute + expr.lanes <= self.kernel.simd_size

    def _leaf(self, expr: Expr) -> str:
        match expr.uop.name:
            case "constant" | "vector":
                return self.bind(_constant(expr))
            case "read":
                view = self.place(expr.attribute)
                name = self.bind(view)
                if view.ndim > 1:
                    return self.temporary(f"{name}.ravel()")
                self._views.add(name)
                return name
            case "fused":
                thread, place = expr.attribute
                return self._fused(thread, place)
            case "predicate":
                variable, offset = expr.attribute
                return self._view(self.other(variable.name, offset, expr.lanes, "bool"))
            case "execution":
                first = expr.attribute
                return self.bind(self.context.execution[first : first + expr.lanes])
            case "addresses" | "state":
                variable, element = expr.attribute
                return self._view(self.other(variable.name, element, expr.lanes, "uint32"))
            case "address":
                variable, offset = expr.attribute
                start = self.kernel.register_address(self.unit, variable) + offset
                return self.bind(np.full(expr.lanes, start, np.uint32))
            case "function":
                address = self.kernel.address(expr.attribute)
                return self.bind(np.full(expr.lanes, address, np.uint64))
            case "clock":
                return self._clock(expr)
            case "gather":
                return self._gather(expr)
            case "loaded":
                effect, component = expr.attribute
                found = self._loaded[id(effect)]
                return f"{found}[:, {component}]" if components(effect) > 1 else found
            case name:
                raise InternalError(f"the interpreter does not read {name}")

    def _clock(self, expr: Expr) -> str:
        # Each run has a clock of its own; what is built here is for all of them.
        context, full = self.bind(self.context), self.bind(np.full)
        count, uint32 = f"{context}.clock({expr.attribute})", self.bind(np.uint32)
        return self.temporary(f"{full}({expr.lanes}, {count}, {uint32})")

    def _gather(self, expr: Expr) -> str:
        gather, reached = self.bind(lanes.gather), self.bind(self.reached(self.context.image))
        dtype = self.bind(np.dtype(expr.type.numpy))
        return self.temporary(f"{gather}({reached}, {self.value(expr.args[0])}, {dtype})")

    def reached(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the part of an image that indirect operands can reach."""
        return image[: self.kernel.reached_bytes]

    def _fused(self, thread: int, place: Place) -> str:
        start = self.kernel.offset(self.unit, place.variable) + place.offset
        dtype = np.dtype(place.type.numpy)
        if start < 0 or start + place.lanes * dtype.itemsize > self.context.image.size:
            raise lanes.RegisterRange(start, 0)
        end = start + place.lanes * dtype.itemsize
        image = f"{self.bind(self.context)}.fused[{thread}]"
        return self.temporary(f"{image}[{start}:{end}].view({self.bind(dtype)})")

    def _view(self, view: NDArray[Any]) -> str:
        name = self.bind(view)
        self._views.add(name)
        return name

    def _compute(self, expr: Expr) -> str:
        match expr.uop.name:
            case "convert":
                return self._convert(expr)
            case "clamp":
                arg = expr.args[0]
                call = f"{self.bind(lanes.clamp)}({self.value(arg)}, {self.bind(arg.type)}"
                return self.temporary(f"{call}, {self.bind(expr.type)})")
            case "bitcast":
                dtype = self.bind(np.dtype(expr.type.numpy))
                return self.temporary(f"{self.value(expr.args[0])}.view({dtype})")
            case "broadcast":
                return self._broadcast(expr)
            case "take":
                index = self.bind(np.array(expr.attribute, np.intp))
                return self.temporary(f"{self.value(expr.args[0])}[{index}]")
            case "select" if is_seldom(expr):
                return self._choose_seldom(expr)
            case "any" | "all":
                full, arg = self.bind(np.full), self.value(expr.args[0])
                return self.temporary(f"{full}({expr.lanes}, {arg}.{expr.uop.name}())")
            case _:
                return self._apply(expr)

    def _choose_seldom(self, expr: Expr) -> str:
        """Compute a choice of which one value is needed in few runs: only in those."""
        other = expr.args[1]
        for leaf in leaves_below(other):
            self.value(leaf)
        condition, usual = self.value(expr.args[0]), self.value(expr.args[2])
        found = self.temporary(usual)
        self.lines.append(f"if {condition}.any():")
        known, first = dict(self._known), len(self.lines)
        chosen = f"{self.bind(np.where)}({condition}, {self.value(other)}, {usual})"
        self.lines.append(f"{found} = {chosen}")
        self.lines[first:] = [f"    {line}" for line in self.lines[first:]]
        self._known = known
        return found

    def _apply(self, expr: Expr) -> str:
        kind, args = expr.type, [self.value(arg) for arg in expr.args]
        name = expr.uop.name
        if name == "canonical":
            return self._canonical(args[0], kind, expr.attribute)
        computed = expr.uop.group in {Group.FLOAT, Group.COMPARE, Group.ROUND}
        follows_mode = computed and name not in WITHOUT_MODE and expr.attribute != "rne"
        if follows_mode:
            args = [self._flushed(arg, expr.args[0].type) for arg in args]
        rounding = Rounding.NEAREST_EVEN if expr.attribute == "rne" else self.mode.rounding
        if name == "ffma" or (name in ROUNDED and rounding is not Rounding.NEAREST_EVEN):
            function, extra = ROUNDED[name], [self.bind(rounding)]
        else:
            function, extra = FUNCTIONS[name], []
        found = self.temporary(f"{self.bind(function)}({', '.join([*args, *extra])})")
        return self._finished(found, kind) if follows_mode and kind.is_float else found

    def _canonical(self, name: str, kind: DataType, role: Role) -> str:
        if role is Role.RESULT:
            return self._finished(name, kind)
        if role is Role.MAGNITUDE and self.mode.is_alternate(kind):
            name = self.temporary(f"{self.bind(np.absolute)}({name})")
        return self._flushed(name, kind)

    def _finished(self, name: str, kind: DataType) -> str:
        """Return a result as CR0 lets it be: denormals flushed, in ALT mode no infinities."""
        return self._finite(self._flushed(name, kind), kind)

    def _finite(self, name: str, kind: DataType) -> str:
        if not self.mode.is_alternate(kind):
            return name
        return self.temporary(f"{self.bind(floats.without_infinities)}({name})")

    def _flushed(self, name: str, kind: DataType) -> str:
        if not self.mode.flushes(kind):
            return name
        return self.temporary(f"{self.bind(floats.flush_denormals)}({name})")

    def _convert(self, expr: Expr) -> str:
        source, target = expr.args[0].type, expr.type
        arg = self.value(expr.args[0])
        fixed = expr.attribute == "rne"
        if source.is_float and not target.is_float:
            call = self.bind(lanes.float_to_integer)
            rounding = self.bind(Rounding.ZERO if fixed else self.mode.to_integer)
        elif source.is_integer and target.is_integer and 128 not in {source.bits, target.bits}:
            return self.temporary(f"{arg}.astype({self.bind(np.dtype(target.numpy))})")
        else:
            call = self.bind(lanes.convert)
            rounding = self.bind(Rounding.NEAREST_EVEN if fixed else self.mode.rounding)
        kinds = f"{self.bind(source)}, {self.bind(target)}"
        found = self.temporary(f"{call}({arg}, {kinds}, {rounding})")
        is_result = source.is_float and target.is_float and not fixed
        return self._finite(found, target) if is_result else found

    def _broadcast(self, expr: Expr) -> str:
        arg = expr.args[0]
        if arg.uop.name == "read" and arg not in self._known:
            place: Place = arg.attribute
            wide = Place(place.variable, place.offset, place.type, expr.lanes, expr.lanes, 0, 0)
            return self._view(self.place(wide))
        if arg.uop.name == "constant":
            return self.bind(_constant(Expr(arg.uop, arg.type, expr.lanes, (), arg.attribute)))
        return self.temporary(f"{self.value(arg)}.repeat({expr.lanes})")


def components(effect: Message) -> int:
    """Return how many values for each channel a message returns."""
    match effect:
        case Load():
            return effect.components
        case Request():
            return effect.operation.columns
        case _:
            return 1


def _constant(expr: Expr) -> NDArray[Any]:
    kind: DataType = expr.type
    if kind == BF:
        raise TypeError("constants of BF are made from their bits")
    if expr.uop.name == "constant":
        return np.full(expr.lanes, expr.attribute, kind.numpy)
    return np.array(expr.attribute, kind.numpy)


@cache
def _code(source: str) -> CodeType:
    return compile(source, "<step>", "exec")
