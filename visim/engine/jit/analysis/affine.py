"""Which slots hold shapes: an analysis of one unit before it is written.

A slot has a shape when all its writes are values of one form. While the unit runs, the scalars of
its shape are kept beside the variable, and are used where reads see that shape only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from visim.engine.jit.analysis.flow import Key
from visim.engine.jit.analysis.lanes import LEAST_LANES, Row, channel_of, row_of
from visim.engine.jit.analysis.lookups import Lookup
from visim.engine.jit.analysis.settings import COMPARISONS, Settings
from visim.engine.jit.analysis.slots import Definition, Slot, Slots, contains, is_integer
from visim.engine.jit.analysis.wide import WideProducts
from visim.engine.jit.ir.places import check_place, is_repeated
from visim.engine.jit.ir.shapes import (
    Form,
    Shape,
    ShapeWriter,
    is_literal,
    is_uniform,
    literal,
    ragged,
    row_of_constants,
    uniform,
)
from visim.engine.jit.ir.storage import Storage
from visim.engine.jit.ir.text import Text, signed
from visim.engine.jit.passes import Pass
from visim.sem.effects import Place
from visim.sem.expr import Expr

_ROUNDS = 12
_UNIFORM_WORDS = {"and": "and", "or": "or", "xor": "xor", "mul": "mul", "shl": "shl"}


@dataclass(frozen=True, slots=True)
class InputShape:
    """What a launch says of an input variable: in every thread, neighbours differ by `step`.

    Each thread's row is made of pieces of `piece` lanes; within one, sums do not wrap. `alike` says
    for each piece which one is the first that begins with the same number, in every thread. Where
    some channels are off, lanes are those of the channels from `channel` on, and others may differ.
    """

    row: Row
    piece: int
    step: int
    alike: tuple[int, ...] = ()
    channel: int = 0


class _Later(Exception):
    """A form is asked for that the analysis does not have yet."""


class Affine:
    """The shapes of the slots of one unit, and where they can be read."""

    def __init__(self, slots: Slots, inputs: Sequence[InputShape], *, inputs_whole: bool) -> None:
        self.slots = slots
        self.products = WideProducts(slots)
        self.settings = Settings(slots.flow)
        self.off = slots.flow.code.off
        for slot in slots.every():
            slot.dead = slot.torn or not Pass.AFFINE.runs(self.off)
        for one in inputs if slots.known and Pass.AFFINE.runs(self.off) else ():
            self._enter(one, whole=inputs_whole)
        self._settle()

    def reader(self, key: Key, step: int) -> ShapeReader:
        """Return what finds shapes at an instruction; nobody wants the code that it writes."""
        storage = Storage(self.slots.kernel, self.slots.flow.code.unit, Text())
        return ShapeReader(storage.text, storage, self, key, step)

    def write_at(self, key: Key, step: int, place: Place) -> Slot | None:
        """Return the slot that an instruction writes, if it has a shape."""
        slot = self.slots.written(place, key, step)
        return None if slot is None or slot.dead or slot.form is None else slot

    def readable(self, row: Row, key: Key, step: int, channel: int | None) -> Slot | None:
        """Return a slot that contains a row and whose shape holds at an instruction.

        Raises:
            _Later: its form is not known yet.
        """
        for slot in self.slots.seen(row.variable, key, step):
            if contains(slot.row, row) and self._shows(slot, row, key, step, channel):
                return slot
        return None

    def parts(
        self, row: Row, key: Key, step: int, channel: int | None
    ) -> list[tuple[Slot, Row]] | None:
        """Return slots that hold a row one after the other, each with its part of it.

        Raises:
            _Later: the form of one is not known yet.
        """
        found, done = list[tuple[Slot, Row]](), 0
        while done < row.lanes:
            rest = row._replace(offset=row.offset + done * row.stride, lanes=row.lanes - done)
            one = self._beginning(rest, key, step, None if channel is None else channel + done)
            if one is None:
                return None
            found.append(one)
            done += one[1].lanes
        return found

    def _beginning(
        self, row: Row, key: Key, step: int, channel: int | None
    ) -> tuple[Slot, Row] | None:
        """Return a slot that holds the first lanes of a row, and these."""
        for slot in self.slots.seen(row.variable, key, step):
            distance = row.offset - slot.row.offset
            alike = (slot.row.stride, slot.row.size) == (row.stride, row.size)
            if not alike or distance < 0 or distance % row.stride or slot.row.end <= row.offset:
                continue
            lanes = min(row.lanes, slot.row.lanes - distance // row.stride)
            part = row._replace(lanes=lanes)
            if self._shows(slot, part, key, step, channel):
                return slot, part
        return None

    def _shows(self, slot: Slot, row: Row, key: Key, step: int, channel: int | None) -> bool:
        """Whether an instruction that reads a row of a slot sees the slot's shape."""
        if slot.dead or not self.slots.holds(slot, row, key, step, channel):
            return False
        if slot.form is None:
            raise _Later
        return True

    def shaped(self) -> Iterator[tuple[Slot, Form]]:
        """Return the slots that have shapes, with their forms."""
        for slot in self.slots.every():
            if not slot.dead and slot.form is not None:
                yield slot, slot.form

    def _enter(self, one: InputShape, *, whole: bool) -> None:
        """Make a slot for an input, which nobody writes."""
        bits = 8 * one.row.size
        slot = self.slots.slot(one.row)
        if not slot.definitions:
            slot.form = Form(one.piece, bits, bits, one.step, exact=True)
            slot.alike = one.alike or tuple(slot.pieces())
            slot.define(Definition(None, -1, None, whole, one.channel))

    # Forms

    def _settle(self) -> None:
        """Find the forms: assume that definitions agree, until one does not."""
        for turn in range(_ROUNDS):
            changed = False
            for slot in self.slots.every():
                for one in slot.definitions if not slot.dead else ():
                    changed |= one.write is not None and self._judge(slot, one)
            if not changed:
                break
            if turn == _ROUNDS - 1:
                self._give_up()
        for slot in self.slots.every():
            slot.dead |= slot.form is None

    def _give_up(self) -> None:
        for slot in self.slots.every():
            slot.dead |= any(one.key is not None for one in slot.definitions)

    def _judge(self, slot: Slot, one: Definition) -> bool:
        """Compare a definition with the slot's form; return whether that changed."""
        if one.write is None or one.key is None or slot.dead:
            return False
        reader = self.reader(one.key, one.step)
        try:
            shape = reader.shape(one.write.value, channel_of(one.write.mask))
        except _Later:
            return False
        agrees = shape is not None and (slot.form is None or _agree(slot.form, shape.form))
        if shape is None or not (agrees or len(slot.definitions) == 1):
            slot.dead = True
            return True
        before = slot.form, slot.fixed, slot.alike
        if not agrees:  # it was made of what another slot had when half of it was known
            slot.form, slot.alike = None, ()
        self._meet(slot, reader.writer, shape)
        slot.fixed = None
        if len(slot.definitions) == 1 and shape.form == slot.form and is_literal(shape):
            slot.fixed = shape.cores
        return (slot.form, slot.fixed, slot.alike) != before

    @staticmethod
    def _meet(slot: Slot, writer: ShapeWriter, shape: Shape) -> None:
        """Keep of what is known of a slot what holds for one more value, too."""
        form = slot.form or shape.form
        piece = min(form.piece, shape.form.piece)
        found = writer.refine(shape, piece)
        names: list[object] = list(zip(found.cores, found.offsets, strict=True))
        if slot.form is not None:
            parts = form.piece // piece
            old = [one * parts + part for one in slot.alike for part in range(parts)]
            names = list(zip(names, old, strict=True))
        slot.form = replace(form, piece=piece, exact=form.exact and shape.form.exact)
        slot.alike = tuple(map(names.index, names))


def _agree(a: Form, b: Form) -> bool:
    return replace(a, piece=1, exact=False) == replace(b, piece=1, exact=False)


@dataclass
class Indices:
    """What is known of 32-bit indices where code is straight; whoever looks again has the same.

    Attributes:
        tables: those that go into tables, by the instruction that has them.
        cores: those of ragged shapes that slots have got or shown, by slot.
        lookups: the cores that go into tables.
    """

    tables: Mapping[tuple[Key, int, Expr], Lookup] = field(
        default_factory=dict[tuple[Key, int, Expr], Lookup]
    )
    cores: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    lookups: dict[str, Lookup] = field(default_factory=dict[str, Lookup])


class ShapeReader:
    """Finds the shapes of expressions at one instruction, writing code for their scalars.

    `vector` gives the names of vectors, which the analysis does not need. `remake` is told of those
    that are the cores of ragged shapes.
    """

    def __init__(
        self,
        text: Text,
        storage: Storage,
        affine: Affine,
        key: Key,
        step: int,
        vector: Callable[[Expr], str] = lambda _: "poison",
        indices: Indices | None = None,
    ) -> None:
        self.text = text
        self.vector = vector
        self.storage = storage
        self.affine = affine
        self.key = key
        self.step = step
        self.indices = indices or Indices()
        self.remake: Callable[[Expr, str], None] | None = None
        self.writer = ShapeWriter(text)
        self._chooses, self._recombines = (
            one.runs(affine.off) for one in (Pass.SELECTS, Pass.WIDE)
        )

    def shape(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return the shape of an expression, in lanes from `channel` on that are active.

        `channel` None asks for a shape that holds in all lanes.
        """
        if not is_integer(expr.type):
            return None
        bits, lanes = expr.type.bits, expr.lanes
        match expr.uop.name:
            case "constant":
                return uniform(lanes, bits, str(signed(int(expr.attribute), bits)))
            case "vector":
                return row_of_constants([int(value) for value in expr.attribute], bits)
            case "read":
                return self._read(expr.attribute, channel)
            case "broadcast":
                one = self.shape(expr.args[0], None)
                return None if one is None else uniform(lanes, bits, one.cores[0])
            case "take":
                one = self.shape(expr.args[0], None)
                core = None if one is None else _only_core(one)
                return None if core is None else uniform(lanes, bits, core)
            case "convert" | "bitcast":
                return self._convert(expr, channel)
            case "neg" | "not" | "abs":
                return self._unary(expr, channel)
            case "add" | "sub" | "mul" | "shl" | "and" | "or" | "xor" | "shr" | "div" | "rem":
                return self._binary(expr, channel)
            case "min" | "max" if self._chooses:
                return self._extreme(expr, channel)
            case "select" if self._chooses:
                return self._selection(expr, channel)
            case _:
                return None

    def _unary(self, expr: Expr, channel: int | None) -> Shape | None:
        one, name = self.shape(expr.args[0], channel), expr.uop.name
        if one is None or (name == "abs" and not expr.type.is_signed):
            return one
        minus = self.writer.scaled(one, -1)
        if name == "neg":
            return minus
        if name == "not":
            return self.writer.add(minus, uniform(one.lanes, one.form.bits, "-1"))
        below = self.writer.compared("lt", one, uniform(one.lanes, one.form.bits, "0"), signed=True)
        return below and self.writer.chosen(below, minus, one)

    # Choices

    def _extreme(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return the smaller or the larger of two numbers that all channels share."""
        a, b = (self.shape(arg, channel) for arg in expr.args)
        if a is None or b is None:
            return None
        smaller = self.writer.compared("lt", a, b, signed=expr.type.is_signed)
        if smaller is None:
            return None
        return self.writer.chosen(smaller, *((a, b) if expr.uop.name == "min" else (b, a)))

    def _selection(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return a choice between two shapes of one form that all channels make alike."""
        a, b = (self.shape(arg, channel) for arg in expr.args[1:])
        if a is None or b is None:
            return None
        condition = self._condition(expr.args[0], channel)
        return condition and self.writer.chosen(condition, a, b)

    def _condition(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return a comparison of numbers that all channels share, as a shape of single bits."""
        if expr.uop.name == "predicate":
            return self._setting(expr, channel)
        if expr.uop.name == "not":
            one = self._condition(expr.args[0], channel)
            return one and self.writer.combined("xor", one, uniform(expr.lanes, 1, "1"))
        if expr.uop.name not in COMPARISONS or not is_integer(expr.args[0].type):
            return None
        a, b = (self.shape(arg, channel) for arg in expr.args)
        if a is None or b is None:
            return None
        return self.writer.compared(expr.uop.name, a, b, signed=expr.args[0].type.is_signed)

    def _setting(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return what a predicate has been set to, in lanes from `channel` on that are active."""
        setting = self.affine.settings.seen(expr, self.key, self.step)
        if setting is None or (setting.mask is not None and channel_of(setting.mask) != channel):
            return None
        return self._condition(setting.value, channel)

    def _convert(self, expr: Expr, channel: int | None) -> Shape | None:
        source = expr.args[0]
        if not is_integer(source.type):
            return None
        one = self.shape(source, channel)
        if one is None:
            return self._indices(source, expr)
        return self.writer.convert(one, expr.type.bits, signed=source.type.is_signed)

    def _indices(self, source: Expr, expr: Expr) -> Shape | None:
        """Return the shape of numbers that are extended to 64 bits, whatever they are."""
        lanes, bits = expr.lanes, expr.type.bits
        if (source.lanes, bits) != (lanes, 64) or lanes < LEAST_LANES or source.type.bits > 32:
            return None
        return self.ragged(source, bits, signed=source.type.is_signed)

    def ragged(self, source: Expr, bits: int, *, signed: bool) -> Shape:
        """Return the shape of numbers of 32 bits or fewer, whatever they are, extended to more."""
        core, indices, at = self.vector(source), self.indices, (self.key, self.step, source)
        if source.type.bits < 32:
            word, before = ("sext" if signed else "zext"), f"<{source.lanes} x i{source.type.bits}>"
            core = self.text.let(f"{word} {before} {core} to <{source.lanes} x i32>")
        elif self.remake is not None:
            self.remake(source, core)
        if at in indices.tables:
            indices.lookups[core] = indices.tables[at]
        return ragged(source.lanes, core, bits, signed=signed)

    def _binary(self, expr: Expr, channel: int | None) -> Shape | None:
        """Return the shape of an operation on two shapes, None if it has none."""
        a = self.shape(expr.args[0], channel)
        b = None if a is None else self.shape(expr.args[1], channel)
        if a is None or b is None:
            return None
        name = expr.uop.name
        match name:
            case "add":
                return self.writer.add(a, b)
            case "sub":
                return self.writer.add(a, self.writer.scaled(b, -1))
            case "mul" | "shl":
                return self._product(name, a, b)
            case "shr":
                return self.writer.combined("ashr" if expr.type.is_signed else "lshr", a, b)
            case "div" | "rem":
                return None if expr.type.is_signed else self.writer.divided(name, a, b)
            case "and" if (mask := _constant(b)) is not None and mask & mask + 1 == 0 < mask:
                low = self.writer.convert(a, mask.bit_length(), signed=False)
                return low and self.writer.convert(low, a.form.bits, signed=False)
            case _:
                return self.writer.combined(_UNIFORM_WORDS[name], a, b)

    def _product(self, name: str, a: Shape, b: Shape) -> Shape | None:
        if name == "mul" and _constant(a) is not None:
            a, b = b, a
        factor = _constant(b)
        if factor is None:
            return self.writer.combined(name, a, b)
        if name == "shl":
            factor = 1 << (factor & a.form.bits - 1)
        return self.writer.scaled(a, factor)

    # Registers

    def _read(self, place: Place, channel: int | None) -> Shape | None:
        check_place(self.storage.kernel, self.storage.unit, place)
        bits = place.type.bits
        if is_repeated(place):
            return uniform(place.lanes, bits, self._scalar(place))
        row = row_of(place)
        if row is None:
            return None
        slot = self.affine.readable(row, self.key, self.step, channel)
        if slot is not None:
            return self._part(slot, row)
        joined = self._joined(row, channel)
        return joined or (self._product_of_words(row, channel) if self._recombines else None)

    def _product_of_words(self, row: Row, channel: int | None) -> Shape | None:
        """Return the shape of 64-bit numbers that are products, written word by word."""
        found = self.affine.products.product(row, self.key, self.step, channel)
        words = None if found is None else self.shape(found.words, channel)
        if found is None or words is None:
            return None
        wide = self.writer.convert(words, 8 * row.size, signed=found.is_signed)
        return None if wide is None else self.writer.scaled(wide, found.factor)

    def _scalar(self, place: Place) -> str:
        """Return the only element that a place has, in all lanes."""
        pointer = self.storage.pointer(place.variable, place.offset)
        name = self.text.let(f"load i{place.type.bits}, ptr {pointer}, align 1")
        if self.affine.slots.stays(place.variable):
            variable = f"{place.variable.index} {place.offset} {place.type.bits}"
            self.text.distances.load(name, variable, None)
        return name

    def _part(self, slot: Slot, row: Row) -> Shape | None:
        first = (row.offset - slot.row.offset) // row.stride
        return self.writer.part(self.load(slot), first, row.lanes)

    def _joined(self, row: Row, channel: int | None) -> Shape | None:
        """Return the shape of a row whose parts are written apart, as the numbers of channels."""
        parts = self.affine.parts(row, self.key, self.step, channel)
        if parts is None:
            return None
        shapes = [self._part(*one) for one in parts]
        known = [one for one in shapes if one is not None]
        return self.writer.joined(known) if len(known) == len(shapes) else None

    def load(self, slot: Slot) -> Shape:
        """Return the shape that a slot has."""
        form = slot.form
        if form is None:
            raise _Later
        if slot.fixed is not None:
            return Shape(form, slot.row.lanes, slot.fixed, ("0",) * len(slot.fixed))
        known = self.indices.cores
        cores = known.get(slot.number) or self._kept("core", slot, form.core_type)
        if form.ragged:
            known[slot.number] = cores
        offsets = ("0",) * len(cores)
        if form.signed is not None:
            offsets = self._kept("base", slot, f"i{form.bits}")
        return Shape(form, slot.row.lanes, cores, offsets)

    def _kept(self, what: str, slot: Slot, kind: str) -> tuple[str, ...]:
        """Return a scalar for each piece; pieces that are alike have one."""
        found = dict[int, str]()
        moment = None if slot.is_input else self.key
        for piece in slot.firsts():
            variable = f"%{what}.{slot.number}.{piece}"
            found[piece] = self.text.let(f"load {kind}, ptr {variable}")
            self.text.distances.load(found[piece], variable, moment)
        return tuple(found[piece] for piece in slot.alike)

    def keep(self, slot: Slot, shape: Shape) -> None:
        """Store the scalars of a shape that is written to a slot."""
        form = slot.form
        if form is None:
            return
        shape = self.writer.refine(shape, form.piece)
        if form.ragged:
            self.indices.cores[slot.number] = shape.cores
        for piece in slot.firsts():
            number = f"{slot.number}.{piece}"
            self._store(slot, form.core_type, shape.cores[piece], f"%core.{number}")
            if form.signed is not None:
                self._store(slot, f"i{form.bits}", shape.offsets[piece], f"%base.{number}")

    def _store(self, slot: Slot, kind: str, scalar: str, variable: str) -> None:
        self.text.do(f"store {kind} {scalar}, ptr {variable}")
        self.text.distances.keep(variable, scalar, once=len(slot.definitions) == 1)


def _constant(shape: Shape) -> int | None:
    """Return the number that a shape is in every lane, if that is known."""
    core = _only_core(shape)
    return None if core is None else literal(core)


def _only_core(shape: Shape) -> str | None:
    """Return the scalar that a shape is in every lane, if there is one."""
    return shape.cores[0] if is_uniform(shape) and len(set(shape.cores)) == 1 else None
