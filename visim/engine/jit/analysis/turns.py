"""What one turn of a loop over the bits of numbers makes of each dword, for each lane by itself.

A turn is followed from the loop's first block through those whose jumps all bits of a range decide
alike. Where channels part, those that do not jump go through some blocks more and meet the others
again; what they write is chosen by the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Flow, Key, Node, is_uniform, passed
from visim.engine.jit.analysis.words import NotFollowed, Wide, Word, Words
from visim.engine.jit.ir.places import place_offsets
from visim.sem.effects import Effect, Goto, Place, WritePredicate, WriteRegister
from visim.sem.expr import Expr
from visim.types import BOOL, DataType

Variable = tuple[int, str]
"""The index and the name of a variable; predicates have -2."""

Cell = tuple[Variable, int]
"""A dword of a variable, by the byte where it begins, or a predicate's bit."""

Writers = set[int | None]
"""Channels that have to be on for something to be written; None: it is always written."""

_PREDICATES = -2


def cells_of(place: Place, lane: int) -> list[Cell]:
    """Return the dwords of an element."""
    offset, variable = place_offsets(place)[lane], (place.variable.index, place.variable.name)
    if offset % 4 or place.type.bits not in {32, 64} or place.type.is_float:
        raise NotFollowed
    return [(variable, at) for at in range(offset, offset + place.type.bytes, 4)]


def read_variable(expr: Expr) -> Variable | None:
    """Return the variable that an expression reads by itself."""
    match expr.uop.name:
        case "read":
            return expr.attribute.variable.index, expr.attribute.variable.name
        case "fused":
            return expr.attribute[1].variable.index, expr.attribute[1].variable.name
        case "predicate":
            return _PREDICATES, expr.attribute[0].name
        case _:
            return None


@dataclass
class Turn:
    """A turn while the bit's number, in the cell `bit`, is one of a range.

    Attributes:
        cells: what was written to cells.
        channels: which have to be on for that; None: it is always written.
        inputs: what is looked at before it is written, with a place that has it.
        parted: cells that only those channels have written that did not jump where they parted.
        writers: for which channels cells are written.
        surely: the same, without what is written only where channels parted.
        taken: for each channel the condition with which it jumped there.
        visited: the nodes that it goes through.
        one: the cell with what is added for a bit, which is taken for 1.
        count: how many instructions a turn has, beside those where channels parted.
        more: how many these are.
    """

    words: Words
    bit: Cell
    cells: dict[Cell, Word] = field(default_factory=dict[Cell, Word])
    channels: dict[Cell, int | None] = field(default_factory=dict["Cell", "int | None"])
    inputs: dict[Cell, Place | None] = field(default_factory=dict["Cell", "Place | None"])
    parted: set[Cell] = field(default_factory=set[Cell])
    writers: dict[Cell, Writers] = field(default_factory=dict["Cell", "Writers"])
    surely: dict[Cell, Writers] = field(default_factory=dict["Cell", "Writers"])
    taken: list[Word] = field(default_factory=list[Word])
    visited: set[Key] = field(default_factory=set["Key"])
    one: Cell | None = None
    count: int = 0
    more: int = 0

    def __post_init__(self) -> None:
        self.cells[self.bit], self.channels[self.bit] = self.words.bit, None

    # Blocks

    def follow(self, flow: Flow, first: Node, last: Node) -> bool:
        """Follow a turn; return whether it goes back to the first block, and not on behind."""
        node = first
        while True:
            self.count += self._run(node)
            following, parts = self._next(flow, node, last)
            if parts:
                self._part(flow, node, last, following)
            if following == first.key:
                return True
            if not first.key <= following <= last.key:
                return False
            if following <= node.key:
                raise NotFollowed
            node = flow.nodes[following]

    def _run(self, node: Node) -> int:
        """Follow a block; return how many instructions it has."""
        if node.block.changes_mode:
            raise NotFollowed
        self.visited.add(node.key)
        for step in node.block.before:
            self._step(step)
        return len(node.block.forms)

    def _next(self, flow: Flow, node: Node, last: Node) -> tuple[Key, bool]:
        """Return where channels go on behind a node, or meet again, and whether they part there."""
        leave, here = node.block.transfer, (node.entry, node.block.next, node.after)
        if leave is None:
            return here, False
        if not isinstance(leave, Goto):
            raise NotFollowed
        target = (node.entry, flow.label(leave.label), node.after)
        inside = target <= last.key
        if inside and passed(node.waiting, node.block.next, target[1]):
            raise NotFollowed
        if leave.mask is None:
            return target, False
        if not is_uniform(leave.mask):
            if target <= here or not inside or leave.offset:
                raise NotFollowed
            return target, True
        found = self.words.value(self._word(leave.mask.args[0], 0, None))
        if found is None:
            raise NotFollowed
        return (target if found else here), False

    def _part(self, flow: Flow, node: Node, last: Node, meets: Key) -> None:
        """Follow the channels that do not jump, until they meet the others."""
        leave = node.block.transfer
        if self.taken or not isinstance(leave, Goto) or leave.mask is None:
            raise NotFollowed
        if leave.mask.uop.name != "and" or leave.mask.args[0].uop.name != "execution":
            raise NotFollowed
        condition = leave.mask.args[1]
        self.taken = [self._word(condition, lane, lane) for lane in range(condition.lanes)]
        before, surely = dict(self.cells), self.surely
        channels, self.surely = dict(self.channels), {}
        here: Key = (node.entry, node.block.next, node.after)
        while here != meets:
            if not node.key < here < meets:
                raise NotFollowed
            node = flow.nodes[here]
            self.more += self._run(node)
            here, parts = self._next(flow, node, last)
            if parts:
                raise NotFollowed
        written, self.surely = self.surely.keys(), surely
        self._meet(written, before, channels)

    def _meet(
        self,
        written: Iterable[Cell],
        before: dict[Cell, Word],
        channels: dict[Cell, int | None],
    ) -> None:
        """Choose between what channels have that parted, and what they had.

        What they have written without looking at channels nobody may look at any more.
        """
        words = self.words
        for cell in written:
            channel = self.channels[cell]
            if cell not in before:
                self.parted.add(cell)
            elif channel is None or channels[cell] not in {None, channel}:
                raise NotFollowed
            if channel is None:
                del self.cells[cell]
                continue
            if channel >= len(self.taken):
                raise NotFollowed
            had = before.get(cell, words.of("input", cell))
            self.cells[cell] = words.chosen(self.taken[channel], had, self.cells[cell])

    # Instructions

    def _step(self, step: Step) -> None:
        """Note what an instruction writes."""
        if step.refusal is not None:
            raise NotFollowed
        found: list[tuple[Cell, Word, int | None]] = []
        for effect in step.effects:
            found += self._writes(effect)
        for cell, value, channel in found:
            self.cells[cell], self.channels[cell] = value, channel
            for writers in (self.writers, self.surely):
                writers.setdefault(cell, set()).add(channel)

    def _writes(self, effect: Effect) -> Iterator[tuple[Cell, Word, int | None]]:
        if not isinstance(effect, WriteRegister | WritePredicate):
            raise NotFollowed
        if effect.mask is not None and effect.mask.uop.name != "execution":
            raise NotFollowed
        for lane in range(effect.value.lanes):
            channel = None if effect.mask is None else int(effect.mask.attribute) + lane
            value = self._value(effect.value, lane, channel)
            if isinstance(effect, WritePredicate):
                yield _bit_of(effect.variable.name, effect.offset + lane), _word(value), channel
                continue
            cells = cells_of(effect.place, lane)
            for cell, word in zip(cells, _halves(value, len(cells)), strict=True):
                yield cell, word, channel

    def _read(self, cell: Cell, place: Place | None, channel: int | None) -> Word:
        if cell not in self.cells or cell in self.parted:
            self.inputs.setdefault(cell, place)
        if cell not in self.cells:
            return self.words.of("input", cell)
        if self.channels[cell] not in {None, channel}:
            raise NotFollowed
        return self.cells[cell]

    # Values

    def _word(self, expr: Expr, lane: int, channel: int | None) -> Word:
        return _word(self._value(expr, lane, channel))

    def _value(self, expr: Expr, lane: int, channel: int | None) -> Word | Wide:
        """Return what a lane of an expression is made of."""
        match expr.uop.name:
            case "constant":
                return self._number(int(expr.attribute), expr)
            case "read":
                place: Place = expr.attribute
                found = [self._read(cell, place, channel) for cell in cells_of(place, lane)]
                return (found[0], found[1]) if len(found) == 2 else found[0]
            case "predicate":
                variable, offset = expr.attribute
                return self._read(_bit_of(variable.name, offset + lane), None, channel)
            case "broadcast":
                return self._value(expr.args[0], 0, channel)
            case "convert":
                return self._converted(expr, lane, channel)
            case "select":
                condition, *others = expr.args
                chooses = self._word(condition, lane, channel)
                a, b = (self._value(other, lane, channel) for other in others)
                return self._each(lambda a, b: self.words.chosen(chooses, a, b), a, b)
            case _:
                return self._computed(expr, lane, channel)

    def _computed(self, expr: Expr, lane: int, channel: int | None) -> Word | Wide:
        if not expr.args:  # Immediates that have a number for each channel.
            raise NotFollowed
        name, args, kind = expr.uop.name, expr.args, expr.args[0].type
        a = self._value(args[0], lane, channel)
        if name == "abs" and _is_signed_long(args[0]):
            return self.words.magnitude(_wide(a))
        if kind is not BOOL and not (_is_integer(kind) and kind.bits in {32, 64}):
            raise NotFollowed
        match name:
            case "not" if expr.type is BOOL:
                return self.words.opposite(_word(a))
            case "neg":
                return self.words.sum((_word(a), -1))
            case "add" if kind.bits == 64 and args[1].uop.name == "neg":
                return self.words.less(_wide(a), _wide(self._value(args[1].args[0], lane, channel)))
            case _:
                return self._of_two(expr, a, self._value(args[-1], lane, channel))

    def _of_two(self, expr: Expr, a: Word | Wide, b: Word | Wide) -> Word | Wide:
        """Return what an operation with two operands makes of these."""
        words, signed = self.words, expr.args[0].type.is_signed
        match expr.uop.name, isinstance(a, tuple):
            case ("add" | "sub") as name, False:
                return words.sum((_word(a), 1), (_word(b), 1 if name == "add" else -1))
            case "sub", True:
                return words.less(_wide(a), _wide(b))
            case "and", _:
                return self._each(self._common, a, b)
            case "or", _:
                return self._each(words.either, a, b)
            case "shl", False:
                return words.left(_word(a), _word(b))
            case "shr", False:
                return words.right(_word(a), _word(b), signed=signed)
            case "shl", True:
                return words.wide_left(_wide(a), _low(b))
            case "shr", True:
                return words.wide_right(_wide(a), _low(b), signed=signed)
            case "lt", False:
                return words.below(_word(a), _word(b), signed=signed)
            case "lt", True if not signed:
                return words.wide_below(_wide(a), _wide(b))
            case ("eq" | "ne") as name, False:
                same = words.equal(_word(a), _word(b))
                return same if name == "eq" else words.opposite(same)
            case _:
                raise NotFollowed

    @staticmethod
    def _each(
        operation: Callable[[Word, Word], Word], a: Word | Wide, b: Word | Wide
    ) -> Word | Wide:
        """Return what an operation makes of words, or of halves."""
        if isinstance(a, tuple) and isinstance(b, tuple):
            return operation(a[0], b[0]), operation(a[1], b[1])
        return operation(_word(a), _word(b))

    def _common(self, a: Word, b: Word) -> Word:
        """Return the bits that words have in common; one may be what is added for a bit."""
        for one, other in ((a, b), (b, a)):
            match self.words.parts(one), self.words.parts(other):
                case ("input", cell), ("or" | "shr" | "asr", *_) if self.one in {None, cell}:
                    self.one = cell
                    return self.words.lowest(other)
                case _:
                    pass
        return self.words.both(a, b)

    def _number(self, value: int, expr: Expr) -> Word | Wide:
        if not _is_integer(expr.type):
            raise NotFollowed
        number = self.words.number
        return (number(value), number(value >> 32)) if expr.type.bits > 32 else number(value)

    def _converted(self, expr: Expr, lane: int, channel: int | None) -> Word | Wide:
        source, words = expr.args[0], self.words
        if not _is_integer(source.type) or not _is_integer(expr.type):
            raise NotFollowed
        value = self._value(source, lane, channel)
        if source.uop.name == "constant":
            number = int(source.attribute) & (1 << source.type.bits) - 1
            sign = source.type.is_signed and number >> source.type.bits - 1
            return self._number(number - (sign << source.type.bits), expr)
        match (source.type.bits, expr.type.bits):
            case (32, 32) | (64 | 128, 64 | 128):  # Nothing but magnitudes needs more than 64.
                return value
            case (64, 32):
                return _wide(value)[0]
            case (32, 64):
                most = (words.bounds(_word(value)) or (0, 1 << 32))[1]
                if source.type.is_signed and most >> 31:
                    raise NotFollowed
                return _word(value), words.number(0)
            case _:
                raise NotFollowed


def _is_integer(kind: DataType) -> bool:
    return not kind.is_float and kind is not BOOL


def _is_signed_long(expr: Expr) -> bool:
    """Whether an expression is a signed number of 64 bits, or that with more bits."""
    source = expr.args[0] if expr.uop.name == "convert" and expr.type.bits > 64 else expr
    return source.type.bits == 64 and source.type.is_signed


def _bit_of(name: str, bit: int) -> Cell:
    return (_PREDICATES, name), bit


def _word(value: Word | Wide) -> Word:
    if isinstance(value, tuple):
        raise NotFollowed
    return value


def _wide(value: Word | Wide) -> Wide:
    if not isinstance(value, tuple):
        raise NotFollowed
    return value


def _low(value: Word | Wide) -> Word:
    """Return how far something is shifted."""
    return value[0] if isinstance(value, tuple) else value


def _halves(value: Word | Wide, count: int) -> tuple[Word, ...]:
    found = value if isinstance(value, tuple) else (value,)
    if len(found) != count:
        raise NotFollowed
    return found
