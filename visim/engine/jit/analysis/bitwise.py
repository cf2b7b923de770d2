"""Loops that divide numbers of 64 bits bit by bit, as Intel's compiler writes them.

A turn doubles the rest so far, adds the next bit of the number, and takes the divisor away where it
fits; where the quotient is asked for, channels in which it fits set its bit there. Then the number
of the bit is counted down, unless it was 0. Turns for the low and the high half of the bits may go
through other blocks. What a turn makes of each dword (`turns`) is compared with what a division
does. What else the loop writes, the last turn computes anew, or nobody looks at it behind the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from visim.engine.jit.analysis.flow import Flow, Key, Node, passed
from visim.engine.jit.analysis.turns import Cell, Turn, Variable, cells_of, read_variable
from visim.engine.jit.analysis.words import NotFollowed, Wide, Word, Words
from visim.operands import FIRST_DECLARED_GENERAL
from visim.sem.effects import Place, WriteRegister, expressions
from visim.types import UD

TOP = 63
"""The highest bit of a number."""

HALF = 32

_LEAST_LANES = 4


@dataclass(frozen=True, slots=True)
class Magnitude:
    """Half of a signed number without its sign; `cells` are both halves of the number."""

    half: int
    cells: tuple[Cell, Cell]


Term = Cell | Magnitude | int
"""A dword of a channel's number: where it is, what it is part of, or what it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """Dwords of successive channels: a place, or a number that all of them are."""

    place: Place | None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbers by their low and high halves; `magnitude`: without their signs."""

    low: Row
    high: Row
    magnitude: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """What successive channels divide.

    Attributes:
        first: the first channel.
        lanes: how many there are.
        number: what is divided.
        compared: with what rests are compared; nothing is left out unless it is the divisor.
        divisor: by what.
        rest: the remainders so far.
        quotient: the quotients so far, if they are asked for.
    """

    first: int
    lanes: int
    number: Rows
    compared: Rows
    divisor: Rows
    rest: Rows
    quotient: Rows | None


@dataclass(frozen=True, slots=True)
class Cost:
    """Instructions of a turn: `more` are those of a turn in which some divisor fits."""

    turn: int
    more: int


@dataclass(frozen=True, slots=True)
class DivisionLoop:
    """A loop over the bits of numbers.

    Attributes:
        bit: the variable with the number of the next bit.
        one: what has to be 1.
        parts: what is divided.
        costs: the instructions of turns for the low and for the high half of the bits.
        hides: whether turns leave what nobody looks at, but the last turn does not.
    """

    bit: Place
    one: Place | None
    parts: tuple[Part, ...]
    costs: tuple[Cost, Cost]
    hides: bool

    @property
    def finds_bits(self) -> bool:
        """Whether anybody asks which bits quotients get."""
        return any(cost.more for cost in self.costs) or any(part.quotient for part in self.parts)

    def variables(self) -> Iterator[int]:
        """Yield the numbers of the variables that have rests and quotients."""
        for part in self.parts:
            for rows in (part.rest, part.quotient):
                if rows is not None:
                    yield from (
                        row.place.variable.index for row in (rows.low, rows.high) if row.place
                    )


def division_loop(flow: Flow, node: Node) -> DivisionLoop | None:
    """Return the loop that starts with a node, if it divides."""
    last = flow.closings.get(node.key)
    if last is None or last == node.key or passed(node.waiting, node.key[1], last[1] + 1):
        return None
    try:
        bit = _counter(flow.nodes[last])
        return _Loop(flow, node, flow.nodes[last], bit).matched()
    except NotFollowed:
        return None


def _counter(last: Node) -> Place:
    """Return the variable that the last block of a turn counts down, and nothing else."""
    effects = [effect for step in last.block.before for effect in step.effects]
    if len(effects) != 1 or not isinstance(effects[0], WriteRegister):
        raise NotFollowed
    place = effects[0].place
    if effects[0].mask is not None or (place.type.bits, place.lanes) != (32, 1):
        raise NotFollowed
    return place


@dataclass(frozen=True, slots=True)
class _Lane:
    """What a channel divides, compares with and divides by, and where rest and quotient are.

    All are halves of numbers, the low ones first.
    """

    terms: tuple[Term, ...]
    cells: list[Cell]


class _Match:
    """What a turn makes of a channel's dwords, `cells`, beside what a division does.

    `half` is the half of the number in which the bit is, 0 for the low one.
    """

    def __init__(self, turn: Turn, channel: int, cells: list[Cell], half: int) -> None:
        self.words, self.half = turn.words, half
        self.had = [self.words.of("input", cell) for cell in cells]
        if any(cell not in turn.cells for cell in cells):
            raise NotFollowed
        self.has = [turn.cells[cell] for cell in cells]
        self.condition = turn.taken[channel] if turn.taken else None

    def terms(self) -> tuple[Term, ...]:
        """Return that half of the number, and of the divisor what is compared and taken away."""
        words, one, zero = self.words, self.words.number(1), self.words.number(0)
        below = self._below()
        doubled = words.wide_left((self.had[0], self.had[1]), one)
        bit = next((w for w in words.within(self.has[0]) if words.parts(w)[0] == "lowest"), zero)
        rest = (words.either(doubled[0], bit), doubled[1])
        compared, divisor = self._compared(below, rest), self._divisor(below, rest)
        if (
            below != words.wide_below(rest, compared)
            or self._after(below, rest, divisor) != self.has
        ):
            raise NotFollowed
        number = zero if bit == zero else self._number(bit)
        return tuple(self._term(word) for word in (number, *compared, *divisor))

    def _compared(self, below: Word, rest: Wide) -> Wide:
        """Return with what rests are compared."""
        words, found = self.words, dict[Word, Word]()
        for word in words.within(below):
            match words.parts(word):
                case ("lt", less, than):
                    found[less] = than
                case _:
                    pass
        if rest[0] not in found:
            raise NotFollowed
        return found[rest[0]], found.get(rest[1], words.number(0))

    def _divisor(self, below: Word, rest: Wide) -> Wide:
        """Return what is taken away where it fits."""
        words = self.words
        low, high = (self._fitting(below, half) for half in self.has[:2])
        low = words.sum((rest[0], 1), (low, -1))
        high = words.sum((rest[1], 1), (high, -1), (words.below(rest[0], low), -1))
        if self.condition is not None:
            return low, high
        return self._fitting(below, low), self._fitting(below, high)

    def _fitting(self, below: Word, word: Word) -> Word:
        """Return what is chosen where the divisor fits."""
        match self.words.parts(word):
            case ("select", condition, _, other) if condition == below:
                return other
            case _:
                return word

    def _below(self) -> Word:
        """Return the condition that the divisor does not fit."""
        if self.condition is not None:
            return self.condition
        words = self.words
        for word in words.within(self.has[0]):
            if words.parts(word)[0] == "select":
                return words.parts(word)[1]
        raise NotFollowed

    def _after(self, below: Word, rest: Wide, divisor: Wide) -> list[Word]:
        """Return what a turn leaves, where what has to be 1 is 1."""
        words, zero = self.words, self.words.number(0)
        if self.condition is None:
            low, high = (words.chosen(below, zero, half) for half in divisor)
            after = list(words.less(rest, (low, high)))
        else:
            pairs = zip(rest, words.less(rest, divisor), strict=True)
            after = [words.chosen(below, whole, left) for whole, left in pairs]
        if len(self.had) == 4:
            power = words.wide_left((words.number(1), zero), words.bit)
            for had, more in zip(self.had[2:], power, strict=True):
                after.append(words.chosen(below, had, words.either(had, more)))
        return after

    def _number(self, bit: Word) -> Word:
        """Return the word whose next bit is looked at."""
        words = self.words
        match words.parts(words.parts(bit)[1]):
            case ("shr", word, count):
                if count == words.sum((words.bit, 1), (words.number(1), -HALF * self.half)):
                    return word
            case _:
                pass
        raise NotFollowed

    def _cell(self, word: Word) -> Cell:
        term = self._term(word)
        if isinstance(term, tuple):
            return term
        raise NotFollowed

    def _term(self, word: Word) -> Term:
        match self.words.parts(word):
            case ("number", number):
                return number
            case ("input", cell):
                return cell
            case ("low of abs" | "high of abs" as name, low, high):
                return Magnitude(int(name[0] == "h"), (self._cell(low), self._cell(high)))
            case _:
                raise NotFollowed


class _Loop:
    """A loop that may divide: what its turns make of low, of high and of the last bit."""

    def __init__(self, flow: Flow, first: Node, last: Node, bit: Place) -> None:
        self.flow, self.first, self.last, self.bit = flow, first, last, bit
        self.cell = cells_of(bit, 0)[0]
        self.low = self._turn(1, HALF - 1)
        self.high = self._turn(HALF, TOP)
        self.end = self._turn(0, 0)
        self.turns = (self.low, self.high, self.end)
        self.places = {cell: place for turn in self.turns for cell, place in turn.inputs.items()}
        self.writers: dict[Cell, set[int | None]] = {}
        for turn in (self.low, self.high):
            for cell, channels in turn.writers.items():
                self.writers.setdefault(cell, set()).update(channels)

    def _turn(self, low: int, high: int) -> Turn:
        turn = Turn(Words(low, high), self.cell)
        if turn.follow(self.flow, self.first, self.last) != (low > 0):
            raise NotFollowed
        return turn

    def matched(self) -> DivisionLoop:
        """Return the loop as a division."""
        for turn in (self.low, self.high):
            less = turn.words.sum((turn.words.bit, 1), (turn.words.number(1), -1))
            if turn.cells[self.cell] != less or self.writers[self.cell] != {None}:
                raise NotFollowed
        ones = {turn.one for turn in self.turns} - {None}
        if len(ones) > 1 or any(one in self.writers for one in ones):
            raise NotFollowed
        lanes = self._lanes()
        for turn in (self.low, self.high):  # whether all jump depends on what is divided
            every = min(len(turn.taken), len(lanes))
            if turn.taken and every < self.flow.code.kernel.simd_size:
                raise NotFollowed
        costs = tuple(Cost(turn.count, turn.more) for turn in (self.low, self.high))
        one = next(iter(ones), None)
        return DivisionLoop(
            self.bit,
            None if one is None else self._place([one]),
            tuple(self._parts(0, lanes)),
            (costs[0], costs[1]),
            self._hides({self.cell} | {cell for lane in lanes for cell in lane.cells}),
        )

    # Channels

    def _lanes(self) -> list[_Lane]:
        """Return what each channel divides."""
        read = {cell for turn in self.turns for cell in turn.inputs}
        channels: dict[int, list[Cell]] = {}
        for cell in sorted((read & self.writers.keys()) - {self.cell}):
            writer, *others = self.writers[cell] | self.end.writers.get(cell, set())
            if writer is None or others:
                raise NotFollowed
            channels.setdefault(writer, []).append(cell)
        if not channels or sorted(channels) != list(range(len(channels))):
            raise NotFollowed
        order = self._order(channels[0])
        cells = [channels[channel] for channel in range(len(channels))]
        if any(len(found) != len(order) for found in cells):
            raise NotFollowed
        return [
            self._lane(channel, [found[number] for number in order])
            for channel, found in enumerate(cells)
        ]

    def _order(self, cells: list[Cell]) -> tuple[int, ...]:
        """Return in which order a channel's dwords are rest and quotient, low halves first."""
        if len(cells) not in {2, 4}:
            raise NotFollowed
        for order in permutations(range(len(cells))):
            try:
                self._lane(0, [cells[number] for number in order])
            except NotFollowed:
                continue
            return order
        raise NotFollowed

    def _lane(self, channel: int, cells: list[Cell]) -> _Lane:
        low, high = (
            _Match(turn, channel, cells, half).terms()
            for turn, half in ((self.low, 0), (self.high, 1))
        )
        if low[1:] != high[1:]:
            raise NotFollowed
        terms = (low[0], high[0], *low[1:])
        if any(cell in self.writers for term in terms for cell in _cells(term)):
            raise NotFollowed
        return _Lane(terms, cells)

    # Rows

    def _parts(self, first: int, lanes: Sequence[_Lane]) -> Iterator[Part]:
        """Yield channels in rows as long as they go."""
        try:
            yield self._part(first, lanes)
            return
        except NotFollowed:
            half = len(lanes) // 2
            if half < _LEAST_LANES:
                raise
        yield from self._parts(first, lanes[:half])
        yield from self._parts(first + half, lanes[half:])

    def _part(self, first: int, lanes: Sequence[_Lane]) -> Part:
        """Return channels as one part."""
        terms = [[lane.terms[n] for lane in lanes] for n in range(len(lanes[0].terms))]
        own = [self._row([lane.cells[n] for lane in lanes]) for n in range(len(lanes[0].cells))]
        return Part(
            first,
            len(lanes),
            number=self._rows(terms[0], terms[1]),
            compared=self._rows(terms[2], terms[3]),
            divisor=self._rows(terms[4], terms[5]),
            rest=Rows(own[0], own[1]),
            quotient=Rows(own[2], own[3]) if len(own) == 4 else None,
        )

    def _rows(self, lows: Sequence[Term], highs: Sequence[Term]) -> Rows:
        """Return the numbers of channels that have some halves."""
        signed = [term for term in lows if isinstance(term, Magnitude)]
        if not signed:
            return Rows(self._row(lows), self._row(highs))
        both = [tuple(Magnitude(half, term.cells) for half in (0, 1)) for term in signed]
        if both != list(zip(lows, highs, strict=True)):
            raise NotFollowed
        low, high = (self._row([term.cells[half] for term in signed]) for half in (0, 1))
        return Rows(low, high, magnitude=True)

    def _row(self, terms: Sequence[Term]) -> Row:
        """Return the dwords of channels as a row of a variable, or as a number."""
        if isinstance(terms[0], int):
            if len(set(terms)) > 1:
                raise NotFollowed
            return Row(None, terms[0])
        return Row(self._place([term for term in terms if isinstance(term, tuple)], len(terms)))

    def _place(self, cells: Sequence[Cell], lanes: int = 1) -> Place:
        known, (variable, offset) = self.places[cells[0]], cells[0]
        step = cells[1][1] - offset if len(cells) > 1 else 0
        if known is None or list(cells) != [(variable, offset + i * step) for i in range(lanes)]:
            raise NotFollowed
        return Place(known.variable, offset, UD, lanes, 1, step, 0)

    # What is left

    def _hides(self, kept: set[Cell]) -> bool:
        """Whether the last turn leaves some variables otherwise than others; nobody may look."""
        stale = {
            cell[0]
            for cell, channels in self.writers.items()
            if cell not in kept and not _covers(self.end.surely.get(cell, set()), channels)
        }
        if any(number < FIRST_DECLARED_GENERAL for number, _ in stale):
            raise NotFollowed
        if stale and (self.flow.callees or any(_reads(node, stale) for node in self._others())):
            raise NotFollowed
        return bool(stale)

    def _others(self) -> Iterator[Node]:
        """Yield the nodes beside turns; none may go on in the middle of one."""
        visited = set[Key]().union(*(turn.visited for turn in self.turns))
        inside = visited - {self.first.key}
        for key, node in self.flow.nodes.items():
            if key not in visited:
                if inside & self.flow.edges.get(key, set()):
                    raise NotFollowed
                yield node


def _covers(last: set[int | None], channels: set[int | None]) -> bool:
    """Whether what is written for some channels is written again."""
    return None in last or channels <= last


def _reads(node: Node, variables: set[Variable]) -> bool:
    """Whether a block may look at some variables."""
    block = node.block
    if block.is_indirect:
        return True
    end = () if block.transfer is None else (block.transfer,)
    found = [expr for step in block.steps for expr in step.expressions] + expressions(end)
    return any(read_variable(expr) in variables for expr in found)


def _cells(term: Term) -> tuple[Cell, ...]:
    """Return where a dword is, or what it is made of."""
    if isinstance(term, Magnitude):
        return term.cells
    return (term,) if isinstance(term, tuple) else ()
