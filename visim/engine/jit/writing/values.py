"""Micro-operations as LLVM IR: vectors of channels in, vectors of channels out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from visim import predefined
from visim.engine.blocks import CR0
from visim.engine.jit.analysis.affine import ShapeReader
from visim.engine.jit.analysis.callouts import follows_mode, needs_interpreter
from visim.engine.jit.analysis.lanes import channel_within
from visim.engine.jit.analysis.slots import Slot, is_integer
from visim.engine.jit.analysis.truths import TruthReader, Truths
from visim.engine.jit.ir.division import DivisionWriter, is_one
from visim.engine.jit.ir.floats import FloatWriter
from visim.engine.jit.ir.places import check_place
from visim.engine.jit.ir.relations import RelationWriter
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.storage import bits_vector, vector_bits
from visim.engine.jit.ir.sums import Sums
from visim.engine.jit.ir.text import (
    Text,
    constant_text,
    low_bits,
    scalar_type,
    splat,
    vector_type,
)
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.writing.calling import CallOutWriter
from visim.engine.jit.writing.dots import DotWriter
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.registers import RegisterAccess
from visim.engine.jit.writing.taking import LaneTaker
from visim.engine.modes import CR0_USED, FloatMode
from visim.engine.rounding import Rounding
from visim.sem.effects import Place
from visim.sem.expr import Expr, is_seldom, leaves_below
from visim.sem.uops import WITHOUT_MODE, Group
from visim.types import BOOL, DataType

_FEW = {2, 4}
"""Numbers of lanes of which words or bytes are less than a register of 128 bits, in `_limited`."""
_PLAIN = {"add", "sub", "mul", "and", "or", "xor"}
_ROUNDED = {"fadd", "fsub", "fmul", "fdiv", "fsqrt", "ffma"}
_INTEGRAL = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "roundeven"}
_INTEGER_RELATION = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le"}
_FLOAT_RELATION = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole"}


@dataclass
class Values:
    """Writes the values of one instruction's expressions, each at most once.

    `active` is the i32 of active channels, `channels` the same as a vector; `full` says that all
    of the kernel are known to be on. `dynamic` says that only the running program knows the
    mode. `fresh` has predicates that are still there as vectors, for instructions that do not
    look at channels that are off, `never` the bits of predicates that are known to be off. `sums`
    has what straight code has added up so far, `truths` which conditions it has found. `into` is
    where they are written, if that is not the unit's own text. `needed` is the mask of the channels
    that values are needed of, None: of all.
    """

    unit: UnitFrame
    mode: FloatMode
    active: str
    channels: str
    dynamic: bool
    full: bool
    shapes: ShapeReader | None = None
    sums: Sums | None = None
    truths: Truths = field(default_factory=Truths)
    loaded: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    fresh: dict[tuple[str, int, int], str] = field(default_factory=dict[tuple[str, int, int], str])
    never: dict[str, int] = field(default_factory=dict[str, int])
    into: Text | None = None
    needed: Expr | None = None
    _known: dict[Expr, str] = field(default_factory=dict[Expr, str])
    _bits_known: dict[Expr, str] = field(default_factory=dict[Expr, str])

    def __post_init__(self) -> None:
        self.text, self.storage = self.into or self.unit.text, self.unit.storage
        self.library, self.simd = self.unit.module.library, self.unit.kernel.simd_size
        self.floats = FloatWriter(self.text, self.library)
        self.taker = LaneTaker(self.text, None if self.into else self.unit)

    def value(self, expr: Expr) -> str:
        """Return the vector that an expression stands for."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._new(expr)
        return found

    def need(self, masks: Iterable[Expr | None]) -> None:
        """Note for which channels values are that are asked for from now on, if all alike."""
        found = set(masks)
        self.needed = found.pop() if len(found) == 1 else None

    def know(self, expr: Expr, name: str) -> None:
        """Take a vector as the value of an expression."""
        self._known[expr] = name

    def control(self) -> str:
        """Return the bits of %cr0 that say how floats are rounded, as i64."""
        if not self.dynamic:
            return str(self.mode.bits)
        pointer = self.storage.pointer(predefined.GENERALS[CR0], 0)
        control = self.text.let(f"load i32, ptr {pointer}, align 1")
        used = self.text.let(f"and i32 {control}, {CR0_USED}")
        return self.text.let(f"zext i32 {used} to i64")

    def _new(self, expr: Expr) -> str:
        if expr.uop.group is Group.LEAF:
            return self._leaf(expr)
        if needs_interpreter(expr) or (self.dynamic and follows_mode(expr)):
            return CallOutWriter(self.unit).expression(self, expr)
        return self._compute(expr)

    def scalar(self, expr: Expr) -> str:
        """Return lane 0 of an expression."""
        vector = vector_type(expr.type, expr.lanes)
        return self.text.let(f"extractelement {vector} {self.value(expr)}, i64 0")

    def mask(self, expr: Expr | None) -> str | None:
        """Return a mask, or None when all its lanes are known to be on."""
        if expr is None:
            return None
        if expr.uop.name == "execution" and self.full and expr.attribute + expr.lanes <= self.simd:
            return None
        if expr.uop.name == "and" and expr.type is BOOL:
            left, right = (self.mask(arg) for arg in expr.args)
            if left is None or right is None:
                return left or right
        if expr.uop.name in {"any", "take", "broadcast"} and self.mask(expr.args[0]) is None:
            return None
        return self.value(expr)

    def shape(self, expr: Expr, mask: Expr | None) -> Shape | None:
        """Return the shape of integers, in all lanes or in those of the mask `mask`."""
        if self.shapes is None:
            return None
        return self.shapes.shape(expr, channel_within(mask))

    def truth(self, expr: Expr, mask: Expr | None) -> str | None:
        """Return in which lanes of a mask an expression is not zero, if scalars tell.

        The other lanes get any bits. Those of booleans are taken for their values from now on.
        """
        found = TruthReader(self.text, self.truths, mask, self._compare_rows).bits(expr)
        if found is not None and expr.type is BOOL:
            self._bits_known[expr] = found
        return found

    def _compare_rows(self, expr: Expr, mask: Expr | None) -> str | None:
        """Return the bits of a comparison of integers, if their shapes tell."""
        if not is_integer(expr.args[0].type):
            return None
        a, b = (self.shape(arg, mask) for arg in expr.args)
        if a is None or b is None:
            return None
        relations = RelationWriter(self.text, self.library)
        return relations.bits(expr.uop.name, a, b, signed=expr.args[0].type.is_signed)

    def keep(self, slot: Slot, shape: Shape) -> None:
        """Store the scalars of a shape that is written to a slot."""
        if self.shapes is not None:
            self.shapes.keep(slot, shape)

    # Masks as numbers

    def bits(self, expr: Expr) -> str:
        """Return booleans as the low bits of an i64, the others zero."""
        found = self._bits_known.get(expr)
        if found is None:
            found = self._bits_known[expr] = self._find_bits(expr)
        return found

    def _find_bits(self, expr: Expr) -> str:
        text, lanes = self.text, expr.lanes
        if not _is_number(expr):
            return vector_bits(text, self.value(expr), lanes)
        match expr.uop.name:
            case "predicate":
                variable, offset = expr.attribute
                return self._cut(self.storage.load_bits(variable.name), offset, lanes)
            case "execution":
                wide = text.let(f"zext i32 {self.active} to i64")
                return self._cut(wide, expr.attribute, lanes)
            case "not":
                return text.let(f"xor i64 {self.bits(expr.args[0])}, {low_bits(lanes)}")
            case name:
                a, b = (self.bits(arg) for arg in expr.args)
                return text.let(f"{name} i64 {a}, {b}")

    def _cut(self, bits: str, offset: int, lanes: int) -> str:
        if offset:
            bits = self.text.let(f"lshr i64 {bits}, {offset}")
        return bits if lanes == 64 else self.text.let(f"and i64 {bits}, {low_bits(lanes)}")

    def mask_bits(self, expr: Expr | None, lanes: int) -> str:
        """Return a mask as the low bits of an i64."""
        if expr is None or self.mask(expr) is None:
            return str(low_bits(lanes))
        return self.bits(expr)

    # Leaves

    def _leaf(self, expr: Expr) -> str:
        text, lanes = self.text, expr.lanes
        match expr.uop.name:
            case "constant":
                return constant_text([expr.attribute] * lanes, expr.type)
            case "vector":
                return constant_text(expr.attribute, expr.type)
            case "read":
                check_place(self.storage.kernel, self.storage.unit, expr.attribute)
                return self.storage.read(expr.attribute)
            case "predicate":
                variable, offset = expr.attribute
                known = self.fresh.get((variable.name, offset, lanes))
                return known or bits_vector(text, self.bits(expr), 0, lanes)
            case "execution":
                return self._execution(expr.attribute, lanes)
            case "addresses" | "state":
                variable, element = expr.attribute
                pointer = self.storage.element(variable.name, element, lanes)
                return text.let(f"load <{lanes} x i32>, ptr {pointer}, align 4")
            case "address":
                variable, offset = expr.attribute
                start = self.storage.kernel.offset(self.storage.unit, variable) + offset
                return splat("i32", lanes, start % 2**32)
            case "function":
                return splat("i64", lanes, self.storage.kernel.address(expr.attribute))
            case "clock":
                if expr.attribute:
                    return "zeroinitializer"
                low = text.let(f"trunc i64 {text.let(f'load i64, ptr {self.unit.clock}')} to i32")
                return text.spread("i32", lanes, low)
            case "gather":
                return RegisterAccess(self.unit).gather(self, expr)
            case _:
                place: tuple[object, int] = expr.attribute
                return self.loaded[id(place[0])][place[1]]

    def _execution(self, offset: int, lanes: int) -> str:
        """Return bits of the execution mask; channels from 32 on are never active."""
        if offset + lanes > 32:
            wide = self.text.let(f"zext i32 {self.active} to i64")
            return bits_vector(self.text, wide, offset, lanes)
        return self.text.shuffle("i1", 32, self.channels, range(offset, offset + lanes))

    # Operations

    def _compute(self, expr: Expr) -> str:
        name = expr.uop.name
        if expr.uop.group in {Group.FLOAT, Group.ROUND} or (
            expr.uop.group is Group.COMPARE and expr.args[0].type.is_float
        ):
            return self._float(expr)
        if name == "broadcast":
            return self._broadcast(expr)
        if name == "dot":
            return DotWriter(self.unit.module, self.text, self.taker).write(self, expr)
        if is_seldom(expr):
            return self._choose_seldom(expr)
        if _is_number(expr) and not self.fresh:
            return bits_vector(self.text, self.bits(expr), 0, expr.lanes)
        if self.sums is not None and self.sums.takes(expr):
            return self.sums.write(expr, self.value)
        args = [self.value(arg) for arg in expr.args]
        match expr.uop.group:
            case Group.INTEGER if name in {"div", "rem"}:
                writer = DivisionWriter(self.text, self.library, alone=is_one(expr.args[1]))
                return writer.divide(name, expr.type, expr.lanes, args)
            case Group.INTEGER:
                return self._integer(name, expr.type, expr.lanes, args)
            case Group.BITS:
                return self._bits(name, expr.type, expr.lanes, args)
            case Group.COMPARE:
                return self._compare(name, expr.args[0].type, expr.lanes, args)
            case Group.CONVERT:
                return self._convert(expr, args[0])
            case _:
                return self._shape(expr, args)

    def _float(self, expr: Expr) -> str:
        name, kind, lanes = expr.uop.name, expr.args[0].type, expr.lanes
        args = [self.value(arg) for arg in expr.args]
        if name == "fneg":
            return self.text.let(f"fneg {vector_type(kind, lanes)} {args[0]}")
        if name == "fabs":
            return self.floats.call("fabs", kind, lanes, args)
        follows = name == "canonical" or (expr.attribute != "rne" and name not in WITHOUT_MODE)
        flushed = follows and self.mode.flushes(kind)
        if flushed:
            args = [self.floats.flush(arg, kind, lanes) for arg in args]
        if name == "canonical":
            return args[0]
        found = self._float_operation(expr, kind, lanes, args)
        if flushed and expr.type.is_float:
            found = self.floats.flush(found, kind, lanes)
        return found

    def _float_operation(self, expr: Expr, kind: DataType, lanes: int, args: list[str]) -> str:
        name = expr.uop.name
        if name in _ROUNDED:
            exact = expr.attribute == "rne"
            rounding = Rounding.NEAREST_EVEN if exact else self.mode.rounding
            return self.floats.arithmetic(name, kind, lanes, args, rounding)
        if name in _INTEGRAL:
            return self.floats.call(_INTEGRAL[name], kind, lanes, args)
        match name:
            case "fmin":
                return self.floats.extreme("olt", kind, lanes, args)
            case "fmax":
                return self.floats.extreme("oge", kind, lanes, args)
            case "saturate":
                return self.floats.saturate(kind, lanes, args[0])
            case "frac":
                return self.floats.fraction(kind, lanes, args[0])
            case _:
                relation, vector = _FLOAT_RELATION[name], vector_type(kind, lanes)
                return self.text.let(f"fcmp {relation} {vector} {args[0]}, {args[1]}")

    def _integer(self, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
        text, vector = self.text, vector_type(kind, lanes)
        if name in _PLAIN:
            if lanes == 1 and kind.bits == 128:
                return self._alone(name, args)
            return text.let(f"{name} {vector} {args[0]}, {args[1]}")
        if name == "neg":
            return text.let(f"sub {vector} zeroinitializer, {args[0]}")
        if name == "abs":
            if not kind.is_signed:
                return args[0]
            return self._intrinsic("abs", kind, lanes, args, ", i1 false")
        return self._limited(name, kind, lanes, args)

    def _alone(self, name: str, args: list[str]) -> str:
        """Compute with scalars: doubling a vector of one 128-bit number ends LLVM's process."""
        text = self.text
        a, b = (text.let(f"extractelement <1 x i128> {arg}, i64 0") for arg in args)
        found = text.let(f"{name} i128 {a}, {b}")
        return text.let(f"insertelement <1 x i128> poison, i128 {found}, i64 0")

    def _intrinsic(
        self, name: str, kind: DataType, lanes: int, args: list[str], flag: str = ""
    ) -> str:
        vector = vector_type(kind, lanes)
        extra = ["i1"] if flag else []
        function = self.library.intrinsic(
            f"llvm.{name}.v{lanes}{scalar_type(kind)}", vector, *[vector] * len(args), *extra
        )
        joined = ", ".join(f"{vector} {arg}" for arg in args)
        return self.text.let(f"call {vector} {function}({joined}{flag})")

    def _limited(self, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
        """Return the smaller ("min") or larger ("max") of two integers.

        LLVM 22 makes a shuffle of integers that are limited to the range of a narrower type, but
        are in it anyway, and then cut to that type. If they have less than a register of 128 bits
        and a mask of AVX-512 chooses some of them, it takes that for a whole register and ends the
        process. Behind a fence they are not known to be in the range.
        """
        found = self._intrinsic(("s" if kind.is_signed else "u") + name, kind, lanes, args)
        return self.text.apart(scalar_type(kind), lanes, found) if lanes in _FEW else found

    def _bits(self, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
        text, vector = self.text, vector_type(kind, lanes)
        match name:
            case "and" | "or" | "xor" | "shl":
                return text.let(f"{name} {vector} {args[0]}, {args[1]}")
            case "not":
                ones = splat(scalar_type(kind), lanes, "true" if kind is BOOL else -1)
                return text.let(f"xor {vector} {args[0]}, {ones}")
            case "shr":
                word = "ashr" if kind.is_signed else "lshr"
                return text.let(f"{word} {vector} {args[0]}, {args[1]}")
            case "popcount":
                return self._intrinsic("ctpop", kind, lanes, args)
            case "clz":
                return self._intrinsic("ctlz", kind, lanes, args, ", i1 false")
            case _:
                return self._intrinsic("bitreverse", kind, lanes, args)

    def _compare(self, name: str, kind: DataType, lanes: int, args: list[str]) -> str:
        relation = _INTEGER_RELATION[name]
        if name in {"lt", "le"}:
            relation = ("s" if kind.is_signed else "u") + relation
        vector = vector_type(kind, lanes)
        return self.text.let(f"icmp {relation} {vector} {args[0]}, {args[1]}")

    # Conversions and shapes

    def _convert(self, expr: Expr, arg: str) -> str:
        source, target, lanes = expr.args[0].type, expr.type, expr.lanes
        fixed = expr.attribute == "rne"
        if expr.uop.name == "bitcast":
            return self._reinterpret(arg, source, target, lanes)
        if expr.uop.name == "clamp":
            return self._clamp(arg, source, target, lanes)
        if source.is_float and not target.is_float:
            rounding = Rounding.ZERO if fixed else self.mode.to_integer
            return self.floats.to_integer(arg, source, target, lanes, rounding)
        if target.is_float:
            rounding = Rounding.NEAREST_EVEN if fixed else self.mode.rounding
            return self.floats.convert(arg, source, target, lanes, rounding)
        return self._resize(arg, source, target, lanes)

    def _reinterpret(self, arg: str, source: DataType, target: DataType, lanes: int) -> str:
        before, after = vector_type(source, lanes), vector_type(target, lanes)
        return arg if before == after else self.text.let(f"bitcast {before} {arg} to {after}")

    def _resize(self, arg: str, source: DataType, target: DataType, lanes: int) -> str:
        if source.bits == target.bits:
            return arg
        word = "trunc" if target.bits < source.bits else "sext" if source.is_signed else "zext"
        before, after = vector_type(source, lanes), vector_type(target, lanes)
        return self.text.let(f"{word} {before} {arg} to {after}")

    def _clamp(self, arg: str, source: DataType, target: DataType, lanes: int) -> str:
        low = -(1 << target.bits - 1) if target.is_signed else 0
        high = (1 << target.bits - target.is_signed) - 1
        least = -(1 << source.bits - 1) if source.is_signed else 0
        most = (1 << source.bits - source.is_signed) - 1
        scalar = scalar_type(source)
        if low > least:
            arg = self._limited("max", source, lanes, [arg, splat(scalar, lanes, low)])
        if high < most:
            arg = self._limited("min", source, lanes, [arg, splat(scalar, lanes, high)])
        return self._resize(arg, source, target, lanes)

    def _broadcast(self, expr: Expr) -> str:
        arg = expr.args[0]
        if arg.uop.name == "read":
            place: Place = arg.attribute
            wide = Place(place.variable, place.offset, place.type, expr.lanes, expr.lanes, 0, 0)
            check_place(self.storage.kernel, self.storage.unit, wide)
            return self.storage.read(wide)
        if arg.uop.name == "constant":
            return constant_text([arg.attribute] * expr.lanes, arg.type)
        return self.text.spread(scalar_type(arg.type), expr.lanes, self.scalar(arg))

    def _shape(self, expr: Expr, args: list[str]) -> str:
        text, lanes, kind = self.text, expr.lanes, expr.type
        vector = vector_type(kind, lanes)
        match expr.uop.name:
            case "select":
                # Either may be chosen by the mask or its inverse.
                one, other = (text.apart(scalar_type(kind), lanes, arg) for arg in args[1:])
                return text.let(
                    f"select <{lanes} x i1> {args[0]}, {vector} {one}, {vector} {other}"
                )
            case "any" | "all":
                bits = text.let(f"bitcast <{lanes} x i1> {args[0]} to i{lanes}")
                test = "ne" if expr.uop.name == "any" else "eq"
                bound = 0 if expr.uop.name == "any" else -1
                found = text.let(f"icmp {test} i{lanes} {bits}, {bound}")
                return text.spread("i1", lanes, found)
            case "take":
                return self.taker.take(expr, args[0])
            case "mask_bits":
                wide = vector_bits(text, args[0], expr.args[0].lanes)
                low = text.let(f"trunc i64 {wide} to i32")
                return text.let(f"insertelement <1 x i32> poison, i32 {low}, i64 0")
            case _:
                sizes = [arg.lanes for arg in expr.args]
                return Weaver(text).behind(scalar_type(kind), sizes, args)

    def _choose_seldom(self, expr: Expr) -> str:
        """Choose, with a branch around what is seldom needed; what is found out there is lost."""
        text, (condition, other, usual), lanes = self.text, expr.args, expr.lanes
        for leaf in leaves_below(other):
            self.value(leaf)
        test, found, on = self.value(condition), self.value(usual), self.mask(self.needed)
        needed = test if on is None else text.let(f"and <{lanes} x i1> {test}, {on}")
        bits = text.let(f"bitcast <{lanes} x i1> {needed} to i{lanes}")
        before, (rare, done) = text.block, text.labels("rare", "done")
        text.unlikely(text.let(f"icmp ne i{lanes} {bits}, 0"), rare, done)
        text.label(rare)
        known = {"_known": dict(self._known), "_bits_known": dict(self._bits_known)}
        vector = vector_type(expr.type, lanes)
        special = replace(self, sums=None, **known).value(other)
        special = text.let(f"select <{lanes} x i1> {test}, {vector} {special}, {vector} {found}")
        after = text.block
        text.jump(done)
        text.label(done)
        return text.let(f"phi {vector} [ {found}, %{before} ], [ {special}, %{after} ]")


def _is_number(expr: Expr) -> bool:
    """Whether booleans are made of masks that are kept as numbers."""
    if expr.type is not BOOL:
        return False
    if expr.uop.name in {"and", "or", "xor", "not"}:
        return all(_is_number(arg) for arg in expr.args)
    return expr.uop.name in {"predicate", "execution"}


__all__ = ["Values"]
