"""The instructions of chains of nodes of a unit's graph as LLVM IR: messages, values, registers."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cached_property, partial
from itertools import accumulate

from visim.engine.jit.analysis.affine import Indices, ShapeReader
from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import MemoryMessage, Step, readers
from visim.engine.jit.analysis.callouts import is_called_out, rectangle_of
from visim.engine.jit.analysis.elements import MOST_ELEMENTS, elements_at
from visim.engine.jit.analysis.flow import Key, Node, is_dynamic, mode_of
from visim.engine.jit.analysis.lanes import Row, channel_of, channel_within
from visim.engine.jit.analysis.lookups import Lookup, LookupFinder
from visim.engine.jit.analysis.settings import overlaps
from visim.engine.jit.analysis.slots import Slot, looks_across
from visim.engine.jit.analysis.truths import Truths
from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.ir.storage import bits_vector
from visim.engine.jit.ir.text import numbers, scalar_type
from visim.engine.jit.layout import FaultKind
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.anchors import Anchors
from visim.engine.jit.writing.asking import Requests
from visim.engine.jit.writing.attempts import Attempt
from visim.engine.jit.writing.calling import CallOutWriter
from visim.engine.jit.writing.claims import write_claim, write_fill
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.joint import JointWriter
from visim.engine.jit.writing.messages import MessageWriter
from visim.engine.jit.writing.reach import BoundsWriter
from visim.engine.jit.writing.ready import Passed
from visim.engine.jit.writing.rectangles import RectangleWriter
from visim.engine.jit.writing.registers import RegisterAccess
from visim.engine.jit.writing.supposing import Supposed, Supposing, Suppositions
from visim.engine.jit.writing.tracing import TraceWriter
from visim.engine.jit.writing.values import Values
from visim.sem.effects import (
    Claim,
    Effect,
    Fence,
    Fill,
    Load,
    Message,
    Rectangle,
    RegisterWrite,
    Store,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr, is_seldom


class StepWriter:
    """Writes the instructions of one chain of nodes of the graph."""

    def __init__(self, unit: UnitFrame, chain: Sequence[Node], loop: Attempt | None) -> None:
        self.unit = unit
        self.text = unit.text
        self.runs = unit.module.version.runs
        self.loop = loop
        self.callouts = CallOutWriter(unit)
        self.tracing = TraceWriter(unit)
        self.chain = chain
        self.located = list(self._located())
        ends = accumulate(len(node.block.before) for node in chain)
        self.uncounted = list(zip(chain, ends, strict=True))
        self.stand_in(chain[0])
        all_on = self.node.entry in unit.full and not self.node.waiting
        self.full = all_on or unit.second is not None
        self.repeats = unit.flow.repeats(self.node.key)
        self.joint = JointWriter(unit)
        anchors = Anchors(unit.text, shares=self.runs(Pass.BASES))
        self.passed = Passed(anchors, Requests(unit, anchors), {})
        self.active = self.channels = ""
        self.fresh: dict[tuple[str, int, int], tuple[str, int | None]] = {}
        self.kept: dict[str, tuple[tuple[int, int, int | None, str], str]] = {}
        self.truths = Truths()
        self.bindings = Bindings()
        self.never: dict[str, int] = {}
        self.indices = Indices(self._tables())
        self.suppositions = Suppositions()
        self.written = 0

    def _located(self) -> Iterator[tuple[Node, int, Step]]:
        """Return the chain's instructions, each with its node and its number there."""
        for node in self.chain:
            for number, step in enumerate(node.block.before):
                yield node, number, step

    @cached_property
    def _of_lanes(self) -> list[Load | Store]:
        """The messages for which lanes say where."""
        effects = (effect for _, _, step in self.located for effect in step.effects)
        return [effect for effect in effects if isinstance(effect, Load | Store)]

    def _has_indices(self, message: Load | Store) -> bool:
        """Whether a message may have indices that are not in rows."""
        return self.unit.has_indices or message.addresses.type.bits == 32

    def _tables(self) -> dict[tuple[Key, int, Expr], Lookup]:
        """Return the indices into tables, by the instruction that has them.

        Where variables are reached through others nobody knows what a row has got last.
        """
        loads = [one for one in self._of_lanes if isinstance(one, Load)]
        if self.unit.module.flat or not any(map(self._has_indices, loads)):
            return {}
        if not self.runs(Pass.TABLES):
            return {}
        finder = LookupFinder(partial(self.unit.lasting.constant, self.chain))
        return {
            (node.key, number, index): lookup
            for node, number, step in self.located
            for index, lookup in finder.next(step).items()
        }

    def stand_in(self, node: Node) -> None:
        """Write what follows as code of a node of the chain."""
        self.node = node
        self.mode, self.dynamic = mode_of(node), is_dynamic(node)

    def stand_at(self, place: int) -> int:
        """Write what follows as code of an instruction of the chain; return its number there."""
        node, number, _ = self.located[place]
        self.stand_in(node)
        return number

    def _begin(self) -> None:
        """Write how a node starts: with which channels."""
        text, node = self.text, self.node
        text.label(self.unit.body_label(node.key))
        if self.full:
            text.do(f"store i32 {self.unit.all_on}, ptr %active")
            self.active = str(self.unit.all_on)
        else:
            if not node.waiting:
                whole = text.let(f"load i32, ptr %entered.{node.entry}")
                text.do(f"store i32 {whole}, ptr %active")
            self.active = text.let("load i32, ptr %active")
        if self.loop is not None:
            self.loop.enter()
        wide = text.let(f"zext i32 {self.active} to i64")
        self.channels = bits_vector(text, wide, 0, 32)

    def new_values(self) -> Values:
        """Return the writer of an instruction's values."""
        return Values(
            self.unit, self.mode, self.active, self.channels, dynamic=self.dynamic, full=self.full
        )

    # Steps

    def write_step(self, step: Step, place: int) -> bool:
        """Write one instruction of the chain; return whether control can go on behind it."""
        number = self.stand_at(place)
        self.joint.before(step, dynamic=self.dynamic)
        if step.refusal is not None:
            self.unit.fault(FaultKind.REFUSED, step.refusal.pc, int(step.refusal.undefined))
            return False
        self.unit.pc = step.pc
        self._effects(step, self.new_values(), number)
        return True

    def write_elements(self, place: int) -> int:
        """Write the elements of an array that pairs of instructions write from one on.

        Return the number of the instruction behind them. Predicates that nobody else reads are
        left out.
        """
        unit, (node, _, first) = self.unit, self.located[place]
        if unit.module.flat or not any(isinstance(one, WritePredicate) for one in first.effects):
            return place
        if not self.runs(Pass.ELEMENTS):
            return place
        rest = self.located[place : place + 2 * MOST_ELEMENTS]
        steps = [step for owner, _, step in rest if owner is node]
        found = elements_at(steps, partial(unit.kernel.is_reached, unit.unit))
        for number in range(0, 2 * len(found), 2):
            if unit.is_read_beside(steps[number], steps[number + 1]):
                self.write_step(steps[number], place + number)
        if found:
            self.joint.flush()
            self.suppositions.held.clear()
            self.stand_at(place)
            channels = [one.channel for one in found if one.channel is not None]
            all_on = self.full and max(channels, default=0) < unit.kernel.simd_size
            access = RegisterAccess(unit)
            access.scatter_elements(
                self.new_values(), found, self.channels if channels and not all_on else ""
            )
            for step in steps[1 : 2 * len(found) : 2]:
                for write in step.effects:
                    if isinstance(write, WriteIndirect):
                        self.truths.note(write, None)
        return place + 2 * len(found)

    def _effects(self, step: Step, values: Values, number: int) -> None:
        """Write the messages of an instruction in order, then its register writes."""
        unit, key = self.unit, self.node.key
        reader = ShapeReader(
            self.text, unit.storage, unit.affine, key, number, values.value, self.indices
        )
        values.shapes, values.fresh = reader, self._still_vectors(step)
        channels = {channel_within(getattr(effect, "mask", None)) for effect in step.effects}
        channel = channels.pop() if len(channels) == 1 else None
        supposing = Supposing(values, reader, self.suppositions)
        reader.remake = partial(supposing.ragged, channel)
        values.truths, values.never = self.truths, self.never
        for effect in step.effects:
            self.tracing.effect(values, effect, step.pc)
            rectangle = rectangle_of(effect)
            if rectangle is not None:
                self._rectangle(step, values, effect, rectangle)
            elif isinstance(effect, Message) and is_called_out(effect):
                self.callouts.message(values, effect, step.effects)
            elif isinstance(effect, Load | Store):
                messages = self._messages(values, step)
                ready = messages.ready(effect)
                if self.joint.take(
                    step, messages, ready, partial(self._writes, step, values, number)
                ):
                    return
                messages.finish(ready)
            elif isinstance(effect, MemoryMessage):
                self._messages(values, step).message(effect, step.expressions)
            elif isinstance(effect, Claim):
                write_claim(values, effect)
            elif isinstance(effect, Fill):
                write_fill(values, effect)
            elif isinstance(effect, Fence):
                self.text.do('fence syncscope("singlethread") seq_cst')
        self._writes(step, values, number)

    def _rectangle(self, step: Step, values: Values, effect: Effect, rectangle: Rectangle) -> None:
        """Write a message that moves a 2D block."""
        bounds = BoundsWriter(self.unit, values, self.bindings)
        writer = RectangleWriter(self.unit, values, bounds, self.callouts)
        if isinstance(effect, Store):
            writer.store(effect, rectangle)
        elif isinstance(effect, Load):
            (loaded,) = readers(effect, step.expressions)
            writer.load(effect, rectangle, loaded)

    def _messages(self, values: Values, step: Step) -> MessageWriter:
        found = self.unit, values, self.bindings, self.passed, step.pc
        scattered = self.node.key in self.unit.scattered
        return MessageWriter(*found, self.suppositions, repeats=self.repeats, scattered=scattered)

    def _writes(self, step: Step, values: Values, number: int) -> None:
        """Write the registers that an instruction writes."""
        unit = self.unit
        writes = [effect for effect in step.effects if isinstance(effect, RegisterWrite)]
        truths = [self._truth(write, values) for write in writes]
        if any(map(is_seldom, step.expressions)) and not looks_across(step.effects):
            values.need(write.mask for write in writes)
        found = [(w, *self._found(w, values)) for w in writes]
        kept = self.shapes(step, number, values)
        rows = {slot.row for slot, shape in kept if not shape.form.ragged}
        supposed = self._supposed(values, writes, rows)
        for write, value, mask in found:
            if isinstance(write, WriteRegister) and not unit.keeps_others(write.place):
                self._write(write, self._without_idle(write, value), None, values)
            else:
                self._write(write, value, mask, values)
        for slot, shape in kept:
            values.keep(slot, shape)
        self.suppositions.note(writes, supposed)
        for write, truth in zip(writes, truths, strict=True):
            self.truths.note(write, truth)
            self.bindings.note(write)
            if isinstance(write, WritePredicate):
                self._remember(write, values)

    def _supposed(
        self, values: Values, writes: Sequence[RegisterWrite], known: Container[Row]
    ) -> list[Supposed]:
        """Return what is supposed of registers that an instruction writes."""
        if values.shapes is None or self.unit.module.flat or not self._of_lanes:
            return []
        if not self.runs(Pass.SPECULATE):
            return []
        return Supposing(values, values.shapes, self.suppositions).written(writes, known)

    def _without_idle(self, write: WriteRegister, value: str) -> str:
        """Return what is written where nobody looks at channels that are off.

        Those that never run get zeros, for which LLVM computes nothing: neither what they would
        have been, nor what follows from them. In registers of the host that others share it would
        put zeros after each operation.
        """
        version, channel = self.unit.module.version, channel_within(write.mask)
        scalar, lanes = scalar_type(write.place.type), write.value.lanes
        busy = max(version.low, version.vector_lanes)
        if not version.low or channel is None or channel + lanes <= busy:
            return value
        runs = numbers("i1", [int(channel + lane < busy) for lane in range(lanes)])
        vector = f"<{lanes} x {scalar}>"
        return self.text.let(
            f"select <{lanes} x i1> {runs}, {vector} {value}, {vector} zeroinitializer"
        )

    @staticmethod
    def _truth(write: RegisterWrite, values: Values) -> str | None:
        """Return which lanes of what is written are not zero, if scalars tell."""
        if not isinstance(write, WriteRegister | WritePredicate):
            return None
        return values.truth(write.value, write.mask)

    def _still_vectors(self, step: Step) -> dict[tuple[str, int, int], str]:
        """Return the predicates that an instruction can have as vectors, as they were computed.

        Where channels are off, such a vector is not what the predicate holds.
        """
        if not self.fresh or looks_across(step.effects):
            return {}
        channels = {channel_within(getattr(effect, "mask", None)) for effect in step.effects}
        return {
            key: vector
            for key, (vector, channel) in self.fresh.items()
            if channel is None or channels == {channel}
        }

    def _remember(self, write: WritePredicate, values: Values) -> None:
        name, lanes = write.variable.name, write.value.lanes
        self.fresh = {
            key: known
            for key, known in self.fresh.items()
            if not overlaps(key, name, write.offset, lanes)
        }
        channel = channel_of(write.mask)
        if write.mask is None or channel is not None:
            key = (name, write.offset, lanes)
            self.fresh[key] = (values.value(write.value), channel)
        self._note_constant(write)

    def _note_constant(self, write: WritePredicate) -> None:
        """Note which bits of a predicate are off where a constant is written to it."""
        name, value, lanes = write.variable.name, write.value, write.value.lanes
        others = self.never.pop(name, 0) & ~((1 << lanes) - 1 << write.offset)
        if write.mask is None and value.uop.name == "vector":
            off = sum(1 << lane for lane, bit in enumerate(value.attribute) if not bit)
            others |= off << write.offset
        self.never[name] = others

    @staticmethod
    def _found(write: RegisterWrite, values: Values) -> tuple[str, str | None]:
        """Return the value and mask of a write, those of predicates as numbers."""
        mask = values.mask(write.mask)
        if not isinstance(write, WritePredicate):
            return values.value(write.value), mask
        if mask is not None and write.mask is not None:
            mask = values.bits(write.mask)
        return values.bits(write.value), mask

    def shapes(self, step: Step, number: int, values: Values) -> list[tuple[Slot, Shape]]:
        """Return the shapes that an instruction writes to slots."""
        found: list[tuple[Slot, Shape]] = []
        for write in step.effects:
            if not isinstance(write, WriteRegister):
                continue
            slot = self.unit.affine.write_at(self.node.key, number, write.place)
            shape = None if slot is None else values.shape(write.value, write.mask)
            if slot is not None and shape is not None:
                found.append((slot, shape))
        return found

    def _write(self, write: RegisterWrite, value: str, mask: str | None, values: Values) -> None:
        storage, lanes = self.unit.storage, write.value.lanes
        match write:
            case WriteRegister(place):
                storage.write(place, value, mask)
            case WritePredicate():
                self._write_bits(write, value, mask)
            case WriteAddress(variable, element) | WriteState(variable, element):
                self._write_element(variable.name, element, lanes, value, mask)
            case WriteIndirect():
                RegisterAccess(self.unit).scatter(values, write, value, mask)

    def _write_bits(self, write: WritePredicate, value: str, mask: str | None) -> None:
        """Write bits of a predicate.

        Where the last write of it was for the same channels, the bits of others are those that it
        has kept: then nobody needs the bits that it has written.
        """
        name, channel = write.variable.name, channel_of(write.mask)
        bits = write.offset, write.value.lanes
        where, last = (*bits, channel, self.active), self.kept.pop(name, None)
        kept = last[1] if last is not None and last[0] == where else None
        kept = self.unit.storage.write_bits(name, *bits, value, mask, kept)
        if channel is not None:
            self.kept[name] = where, kept

    def _write_element(
        self, name: str, element: int, lanes: int, value: str, mask: str | None
    ) -> None:
        text, vector = self.text, f"<{lanes} x i32>"
        pointer = self.unit.storage.element(name, element, lanes)
        if mask is not None:
            old = text.let(f"load {vector}, ptr {pointer}, align 4")
            value = text.let(f"select <{lanes} x i1> {mask}, {vector} {value}, {vector} {old}")
        text.do(f"store {vector} {value}, ptr {pointer}, align 4")

    def _count(self) -> None:
        """Count the instructions of the node's block."""
        unit, block = self.unit, self.node.block
        self.tracing.block(unit.module.number(unit.unit.number, block))
        unit.count(block)
