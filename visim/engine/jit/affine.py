"""Which variables hold shapes: an analysis of one unit before it is written.

A slot is a row of elements of a variable that is always written as a whole with values of one
form. While the unit runs, the scalars of its shape are kept beside the variable. Whether they can
be trusted where the slot is read follows from the control-flow graph: a write must come first on
every path, and no channels may have come back that were away when the slot was written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from visim.engine.jit.flow import Flow, Key
from visim.engine.jit.shapes import Form, Shape, ShapeWriter, linear, literal, signed, uniform
from visim.engine.jit.storage import Storage, check_place, place_offsets
from visim.engine.jit.text import Text
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import FIRST_DECLARED_GENERAL
from visim.sem.effects import Place, WriteRegister
from visim.sem.expr import WIDE, Expr
from visim.types import BOOL, DataType

MOST_NODES = 400
"""Units with more blocks are not analysed: their compilation is long enough."""

_ROUNDS = 12
_LEAST_LANES = 4
_UNIFORM_WORDS = {"and": "and", "or": "or", "xor": "xor", "mul": "mul", "shl": "shl"}


@dataclass(frozen=True, slots=True)
class Row:
    """Elements of a variable at equal distances, all in bytes."""

    variable: int
    offset: int
    stride: int
    lanes: int
    size: int

    @property
    def end(self) -> int:
        """The byte behind the last element."""
        return self.offset + (self.lanes - 1) * self.stride + self.size


@dataclass(frozen=True, slots=True)
class InputShape:
    """What a launch says of an input variable: in every thread, neighbours differ by `step`.

    Each thread's row is made of pieces of `piece` lanes; within one, sums do not wrap.
    """

    row: Row
    piece: int
    step: int


@dataclass(frozen=True, slots=True)
class Definition:
    """A write of a slot: instruction `step` of a node; `key` None is the start of the thread."""

    key: Key | None
    step: int
    write: WriteRegister | None
    whole: bool
    channel: int


@dataclass
class Slot:
    """A row with its definitions, and the form of its shapes (None: not known yet)."""

    row: Row
    number: int
    definitions: list[Definition] = field(default_factory=list[Definition])
    form: Form | None = None
    dead: bool = False

    @property
    def whole(self) -> bool:
        """Whether the shape holds for all channels, not only for active ones."""
        return all(one.whole for one in self.definitions)

    @property
    def channel(self) -> int:
        """The channel of lane 0, where the shape holds for active channels only."""
        return next(one.channel for one in self.definitions if not one.whole)

    def pieces(self) -> range:
        """Return the numbers of the pieces."""
        return range(self.row.lanes // self.form.piece if self.form else 0)


class _Later(Exception):
    """A form is asked for that the analysis does not have yet."""


def is_integer(kind: DataType) -> bool:
    """Whether shapes can describe elements of a type."""
    return not kind.is_float and kind not in {BOOL, WIDE}


def row_of(place: Place) -> Row | None:
    """Return a place as a row, if it is one."""
    offsets = place_offsets(place)
    if place.lanes < _LEAST_LANES or not is_integer(place.type):
        return None
    stride = offsets[1] - offsets[0]
    steps = {b - a for a, b in zip(offsets, offsets[1:], strict=False)}
    if steps != {stride} or stride < place.type.bytes:
        return None
    return Row(place.variable.index, offsets[0], stride, place.lanes, place.type.bytes)


def channel_of(mask: Expr | None) -> int | None:
    """Return the channel of lane 0 where a mask is exactly the active channels."""
    if mask is None or mask.uop.name != "execution":
        return None
    return int(mask.attribute)


def channel_within(mask: Expr | None) -> int | None:
    """Return the channel of lane 0 where a mask has active channels only, perhaps not all."""
    if mask is not None and mask.uop.name == "and":
        found = [channel_within(arg) for arg in mask.args]
        return next((one for one in found if one is not None), None)
    return channel_of(mask)


class Affine:
    """The slots of one unit, and where they can be read."""

    def __init__(
        self,
        kernel: LinkedKernel,
        flow: Flow,
        full: set[int],
        inputs: Sequence[InputShape],
        *,
        inputs_whole: bool,
        registers_are_addressed: bool,
        has_calls: bool,
    ) -> None:
        self.kernel = kernel
        self.flow = flow
        self.full = full
        self.slots: dict[Row, Slot] = {}
        self.by_variable: dict[int, list[Slot]] = {}
        self._has_calls = has_calls
        if len(flow.nodes) > MOST_NODES or registers_are_addressed:
            return
        self._paths = _Paths(flow)
        self._collect(inputs, whole=inputs_whole)
        self._settle()

    def write_at(self, key: Key, step: int, place: Place) -> Slot | None:
        """Return the slot that an instruction writes, if it has a shape."""
        row = row_of(place)
        slot = None if row is None else self.slots.get(row)
        if slot is None or slot.dead or slot.form is None:
            return None
        found = any(one.key == key and one.step == step for one in slot.definitions)
        return slot if found else None

    def readable(self, row: Row, key: Key, step: int, channel: int | None) -> Slot | None:
        """Return a slot that contains a row and whose shape holds at an instruction.

        Raises:
            _Later: its form is not known yet.
        """
        for slot in self.by_variable.get(row.variable, ()):
            if slot.dead or not _contains(slot.row, row):
                continue
            first = (row.offset - slot.row.offset) // slot.row.stride
            if not slot.whole and channel != slot.channel + first:
                continue
            if not self._paths.holds(slot, key, step):
                continue
            if slot.form is None:
                raise _Later
            return slot
        return None

    # Collection

    def _collect(self, inputs: Sequence[InputShape], *, whole: bool) -> None:
        spans: dict[int, list[tuple[int, int, Row | None]]] = {}
        for key, step, write in _writes(self.flow):
            row = row_of(write.place)
            offsets = place_offsets(write.place)
            span = (min(offsets), max(offsets) + write.place.type.bytes, row)
            spans.setdefault(write.place.variable.index, []).append(span)
            if row is not None:
                self._define(row, key, step, write)
        for one in inputs:
            form = Form(one.piece, 8 * one.row.size, 8 * one.row.size, one.step, exact=True)
            slot = self._slot(one.row)
            slot.form = form
            slot.definitions.append(Definition(None, -1, None, whole, 0))
        for slot in self.slots.values():
            slot.dead = slot.dead or any(
                row != slot.row and low < slot.row.end and slot.row.offset < high
                for low, high, row in spans.get(slot.row.variable, ())
            )
            channels = {one.channel for one in slot.definitions if not one.whole}
            slot.dead |= len(channels) > 1 or self._is_input_and_written(slot)
            slot.dead |= self._has_calls and slot.row.variable < FIRST_DECLARED_GENERAL

    @staticmethod
    def _is_input_and_written(slot: Slot) -> bool:
        return len(slot.definitions) > 1 and any(one.key is None for one in slot.definitions)

    def _slot(self, row: Row) -> Slot:
        slot = self.slots.get(row)
        if slot is None:
            slot = self.slots[row] = Slot(row, len(self.slots))
            self.by_variable.setdefault(row.variable, []).append(slot)
        return slot

    def _define(self, row: Row, key: Key, step: int, write: WriteRegister) -> None:
        slot, mask = self._slot(row), write.mask
        if mask is None:
            slot.definitions.append(Definition(key, step, write, True, 0))
            return
        channel = channel_of(mask)
        if channel is None:
            slot.dead = True
            return
        node = self.flow.nodes[key]
        inside = channel + row.lanes <= self.kernel.simd_size
        whole = inside and key[0] in self.full and not node.waiting
        slot.definitions.append(Definition(key, step, write, whole, channel))

    # Forms

    def _settle(self) -> None:
        """Find the forms: assume that definitions agree, until one does not."""
        for turn in range(_ROUNDS):
            changed = False
            for slot in self.slots.values():
                for one in slot.definitions if not slot.dead else ():
                    changed |= one.write is not None and self._judge(slot, one)
            if not changed:
                break
            if turn == _ROUNDS - 1:
                self._give_up()
        for slot in self.slots.values():
            slot.dead |= slot.form is None

    def _give_up(self) -> None:
        for slot in self.slots.values():
            slot.dead |= any(one.key is not None for one in slot.definitions)

    def _judge(self, slot: Slot, one: Definition) -> bool:
        """Compare a definition with the slot's form; return whether that changed."""
        if one.write is None or one.key is None or slot.dead:
            return False
        unit = self.flow.code.unit
        text = Text()
        reader = ShapeReader(text, Storage(self.kernel, unit, text), self, one.key, one.step)
        try:
            shape = reader.shape(one.write.value, channel_of(one.write.mask))
        except _Later:
            return False
        if shape is None or (slot.form is not None and not _agree(slot.form, shape.form)):
            slot.dead = True
            return True
        before = slot.form
        if before is None:
            slot.form = shape.form
        else:
            piece = min(before.piece, shape.form.piece)
            slot.form = replace(before, piece=piece, exact=before.exact and shape.form.exact)
        return slot.form != before


def _agree(a: Form, b: Form) -> bool:
    return replace(a, piece=1, exact=False) == replace(b, piece=1, exact=False)


def _contains(row: Row, part: Row) -> bool:
    if part.size != row.size or part.stride != row.stride:
        return False
    distance = part.offset - row.offset
    return distance >= 0 and not distance % row.stride and part.end <= row.end


def _writes(flow: Flow) -> Iterator[tuple[Key, int, WriteRegister]]:
    for key, node in flow.nodes.items():
        for number, step in enumerate(node.block.steps):
            for effect in step.effects:
                if isinstance(effect, WriteRegister):
                    yield key, number, effect


class _Paths:
    """Answers about the paths of a control-flow graph."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._numbers = {key: number for number, key in enumerate(flow.nodes)}
        self._dominators = self._find_dominators()
        self._back: dict[Key, set[Key]] = {}

    def _find_dominators(self) -> dict[Key, int]:
        """Return the dominators of every node, itself included, as bit masks."""
        flow, numbers = self._flow, self._numbers
        before: dict[Key, list[Key]] = {key: [] for key in flow.nodes}
        for key, targets in flow.edges.items():
            for target in targets:
                before[target].append(key)
        everything = (1 << len(numbers)) - 1
        found = dict.fromkeys(flow.nodes, everything)
        found[flow.start] = 1 << numbers[flow.start]
        changed = True
        while changed:
            changed = False
            for key in flow.nodes:
                if key == flow.start:
                    continue
                mask = everything
                for source in before[key]:
                    mask &= found[source]
                mask |= 1 << numbers[key]
                changed |= mask != found[key]
                found[key] = mask
        return found

    def holds(self, slot: Slot, key: Key, step: int) -> bool:
        """Whether the last write of a slot had all channels that an instruction can have."""
        if any(one.key == key and one.step < step for one in slot.definitions):
            return True
        if not any(self._comes_first(one, key) for one in slot.definitions):
            return False
        if slot.whole:
            return True
        return all(one.key is None or key not in self._returned(one.key) for one in slot.definitions)

    def _comes_first(self, one: Definition, key: Key) -> bool:
        if one.key is None:
            return True
        if one.key == key:
            return False
        return bool(self._dominators[key] >> self._numbers[one.key] & 1)

    def _returned(self, start: Key) -> set[Key]:
        """Return where channels can be active that were not when node `start` ran last."""
        found = self._back.get(start)
        if found is None:
            found = self._back[start] = self._find_returned(start)
        return found

    def _find_returned(self, start: Key) -> set[Key]:
        edges, waiting = self._flow.edges, self._flow.nodes[start].waiting
        reached, tainted = {start}, set[Key]()
        work = [(target, False) for target in edges.get(start, ())]
        seen: set[tuple[Key, bool]] = set()
        while work:
            key, stained = work.pop()
            stained = stained or key[0] != start[0] or key[1] in waiting
            if (key, stained) in seen:
                continue
            seen.add((key, stained))
            reached.add(key)
            if stained:
                tainted.add(key)
            if key != start:
                work += [(target, stained) for target in edges.get(key, ())]
        return tainted


class ShapeReader:
    """Finds the shapes of expressions at one instruction, writing code for their scalars."""

    def __init__(
        self, text: Text, storage: Storage, affine: Affine, key: Key, step: int
    ) -> None:
        self.text = text
        self.storage = storage
        self.affine = affine
        self.key = key
        self.step = step
        self.writer = ShapeWriter(text)

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
                return _row_of_constants([int(value) for value in expr.attribute], bits)
            case "read":
                return self._read(expr.attribute, channel)
            case "broadcast":
                one = self.shape(expr.args[0], None)
                return None if one is None else uniform(lanes, bits, one.cores[0])
            case "convert" | "bitcast":
                return self._convert(expr, channel)
            case "neg":
                one = self.shape(expr.args[0], channel)
                return None if one is None else self.writer.scaled(one, -1)
            case "add" | "sub" | "mul" | "shl" | "and" | "or" | "xor" | "shr":
                return self._binary(expr, channel)
            case _:
                return None

    def _convert(self, expr: Expr, channel: int | None) -> Shape | None:
        source = expr.args[0]
        if not is_integer(source.type):
            return None
        one = self.shape(source, channel)
        if one is None:
            return None
        return self.writer.convert(one, expr.type.bits, signed=source.type.is_signed)

    def _binary(self, expr: Expr, channel: int | None) -> Shape | None:
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
        offsets, bits = place_offsets(place), place.type.bits
        if len(set(offsets)) == 1:
            pointer = self.storage.pointer(place.variable, offsets[0])
            return uniform(
                place.lanes, bits, self.text.let(f"load i{bits}, ptr {pointer}, align 1")
            )
        row = row_of(place)
        if row is None:
            return None
        slot = self.affine.readable(row, self.key, self.step, channel)
        if slot is None:
            return None
        first = (row.offset - slot.row.offset) // row.stride
        return self.writer.part(self.load(slot), first, row.lanes)

    def load(self, slot: Slot) -> Shape:
        """Return the shape that a slot has."""
        form = slot.form
        if form is None:
            raise _Later
        cores = [self._scalar("core", slot, form.core_bits, piece) for piece in slot.pieces()]
        offsets = ["0"] * len(cores)
        if form.signed is not None:
            offsets = [self._scalar("base", slot, form.bits, piece) for piece in slot.pieces()]
        return Shape(form, slot.row.lanes, tuple(cores), tuple(offsets))

    def _scalar(self, what: str, slot: Slot, bits: int, piece: int) -> str:
        return self.text.let(f"load i{bits}, ptr %{what}.{slot.number}.{piece}")

    def keep(self, slot: Slot, shape: Shape) -> None:
        """Store the scalars of a shape that is written to a slot."""
        form = slot.form
        if form is None:
            return
        shape = self.writer.refine(shape, form.piece)
        for piece in slot.pieces():
            core, offset = shape.cores[piece], shape.offsets[piece]
            number = f"{slot.number}.{piece}"
            self.text.do(f"store i{form.core_bits} {core}, ptr %core.{number}")
            if form.signed is not None:
                self.text.do(f"store i{form.bits} {offset}, ptr %base.{number}")


def allocations(affine: Affine) -> list[str]:
    """Return the instructions that make room for the scalars of all slots."""
    lines: list[str] = []
    for slot in affine.slots.values():
        if slot.dead or slot.form is None:
            continue
        for piece in slot.pieces():
            lines.append(f"  %core.{slot.number}.{piece} = alloca i{slot.form.core_bits}")
            if slot.form.signed is not None:
                lines.append(f"  %base.{slot.number}.{piece} = alloca i{slot.form.bits}")
    return lines


def start(affine: Affine, storage: Storage, unit: LinkedUnit) -> list[str]:
    """Return the instructions that read the shapes of inputs when a thread starts."""
    text = storage.text
    before = len(text.lines)
    variables = {one.index: one for one in unit.unit.generals}
    for slot in affine.slots.values():
        if slot.dead or slot.form is None or slot.definitions[0].key is not None:
            continue
        bits = slot.form.bits
        for piece in slot.pieces():
            offset = slot.row.offset + piece * slot.form.piece * slot.row.stride
            pointer = storage.pointer(variables[slot.row.variable], offset)
            one = text.let(f"load i{bits}, ptr {pointer}, align 1")
            text.do(f"store i{bits} {one}, ptr %core.{slot.number}.{piece}")
    lines = text.lines[before:]
    del text.lines[before:]
    return lines


def _row_of_constants(values: list[int], bits: int) -> Shape | None:
    if len(values) == 1:
        return uniform(1, bits, str(signed(values[0], bits)))
    step = values[1] - values[0]
    if any(b - a != step for a, b in zip(values, values[1:], strict=False)):
        return None
    exact = min(values) >= 0
    return linear(len(values), bits, (str(signed(values[0], bits)),), step, exact=exact)


def _constant(shape: Shape) -> int | None:
    """Return the number that a shape is in every lane, if that is known."""
    if shape.form.step or len(set(shape.cores)) > 1:
        return None
    return literal(shape.cores[0])

