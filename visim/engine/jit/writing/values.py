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
from visim.engine.jit.ir.floats import FloatWriter
from visim.engine.jit.ir.relations import RelationWriter
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.storage import bits_vector, vector_bits
from visim.engine.jit.ir.text import (
    Text,
    low_bits,
    vector_type,
)
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.calling import CallOutWriter
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.leaves import LEAF_LOWERINGS
from visim.engine.jit.writing.operations import OPERATION_LOWERINGS
from visim.engine.jit.writing.taking import LaneTaker
from visim.engine.modes import CR0_USED, FloatMode
from visim.errors import InternalError
from visim.sem.expr import Expr, is_seldom, leaves_below
from visim.sem.uops import total
from visim.types import BOOL


@dataclass
class Values:
    """Writes the values of one instruction's expressions, each at most once.

    `active` is the i32 of active channels, `channels` the same as a vector; `full` says that all
    of the kernel are known to be on. `dynamic` says that only the running program knows the
    mode. `fresh` has predicates that are still there as vectors, for instructions that do not
    look at channels that are off, `never` the bits of predicates that are known to be off. `truths`
    has which conditions straight code has found. `into` is where they are written, if that is not
    the unit's own text. `needed` is the mask of the channels that values are needed of, None: of
    all.
    """

    unit: FunctionFrame
    mode: FloatMode
    active: str
    channels: str
    dynamic: bool
    full: bool
    shapes: ShapeReader | None = None
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
        if not self.unit.module.version.runs(Pass.MASKS):
            return None
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
            case "and" | "or" | "xor" as name:
                a, b = (self.bits(arg) for arg in expr.args)
                return text.let(f"{name} i64 {a}, {b}")
            case name:
                raise InternalError(f"{name} is no operation on masks that are numbers")

    def _cut(self, bits: str, offset: int, lanes: int) -> str:
        if offset:
            bits = self.text.let(f"lshr i64 {bits}, {offset}")
        return bits if lanes == 64 else self.text.let(f"and i64 {bits}, {low_bits(lanes)}")

    def mask_bits(self, expr: Expr | None, lanes: int) -> str:
        """Return a mask as the low bits of an i64."""
        if expr is None or self.mask(expr) is None:
            return str(low_bits(lanes))
        return self.bits(expr)

    # Operations

    def _new(self, expr: Expr) -> str:
        if needs_interpreter(expr) or (self.dynamic and follows_mode(expr)):
            return CallOutWriter(self.unit).expression(self, expr)
        if is_seldom(expr):
            return self._choose_seldom(expr)
        if expr.args and _is_number(expr) and not self.fresh:
            return bits_vector(self.text, self.bits(expr), 0, expr.lanes)
        return _LOWERINGS[expr.uop.name](self, expr)

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
        special = replace(self, **known).value(other)
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


_LOWERINGS = total("lowering in the JIT", {**LEAF_LOWERINGS, **OPERATION_LOWERINGS})

__all__ = ["Values"]
