"""Code for foreseen loops: many turns whose messages are known to be in range before the first.

The loop is written twice, and both ways work on the same variables. The second one has no checks,
so LLVM makes code for a turn as a whole, and does not look whether the thread's turn is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial, reduce

from visim.engine.jit.analysis.affine import ShapeReader
from visim.engine.jit.analysis.flow import Key
from visim.engine.jit.analysis.foreseen import Foreseen, Test, advances, lanes_of, shape_of
from visim.engine.jit.analysis.lanes import channel_of
from visim.engine.jit.analysis.walks import Access, Ramp, Walk, access_bytes
from visim.engine.jit.ir.shapes import ShapeWriter
from visim.engine.jit.layout import Context
from visim.engine.jit.writing.attempts import Attempt
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.ramps import WORD, RampWriter
from visim.engine.jit.writing.reach import extent_of
from visim.sem.effects import Space, Store

_MOST_TURNS = 1 << 20
"""How many turns an attempt has at most: more than a thread makes before others run."""

_LEAST_TURNS = 12
"""So many turns pay for what is done in front of them."""

_PAUSE = 64
"""How many turns are made as they stand after an attempt that failed, or was not worth it."""


_MISSES = 16
"""Arrays of messages that turns do not always pass are looked up after one in so many attempts."""


class CornerWriter(RampWriter):
    """Writes ramps for the ends of all pieces of rows, instead of for each channel.

    Args:
        unit: the unit.
        walk: how much a turn adds to what ramps begin with.
        reader: reads shapes where a turn begins.
        lanes: how many lanes rows have.
        channel: the channel of the first one.
        piece: in pieces of how many lanes rows are linear.
    """

    def __init__(
        self,
        unit: UnitFrame,
        walk: Walk,
        reader: ShapeReader,
        lanes: int,
        channel: int | None,
        piece: int,
    ) -> None:
        super().__init__(unit, walk)
        self._ends = [
            lane for first in range(0, lanes, piece) for lane in (first, first + piece - 1)
        ]
        self._lanes = len(self._ends)
        self.vector = f"<{self._lanes} x {WORD}>"
        self._reader = reader
        self._channel = channel

    def least(self, numbers: str, word: str = "smin") -> str:
        """Return the smallest number, or with "smax" the largest one."""
        name = f"llvm.vector.reduce.{word}.v{self._lanes}i64"
        function = self.unit.module.library.intrinsic(name, WORD, self.vector)
        return self.text.let(f"call {WORD} {function}({self.vector} {numbers})")

    def first(self, numbers: str) -> str:
        """Return the number of the first lane."""
        return self.text.let(f"extractelement {self.vector} {numbers}, i64 0")

    def _own(self, ramp: Ramp) -> str:
        """Return what the channels at the ends have; note that what is between them is linear."""
        shape = shape_of(self._reader, ramp, self._channel)
        if shape is None:
            raise TypeError("a row without a shape")
        text, form, kind, firsts = self.text, shape.form, ramp.type, list[str]()
        shapes, reach = ShapeWriter(text), form.stride * (form.piece - 1)
        for piece, core in enumerate(shape.cores):
            self.all_fit += shapes.straight(form, core)
            bits = shapes.first(shape, piece)
            firsts.append(self._extended(bits, kind, f"i{kind.bits}", WORD))
            if reach:
                self._sum("add", WORD, [firsts[-1], str(reach)], kind)
        found = "poison"
        for number, lane in enumerate(self._ends):
            piece, rest = divmod(lane, form.piece)
            one = (
                text.let(f"add {WORD} {firsts[piece]}, {form.stride * rest}")
                if rest
                else firsts[piece]
            )
            found = text.let(f"insertelement {self.vector} {found}, {WORD} {one}, i64 {number}")
        return found


@dataclass
class _Corners:
    """Writers of corners: one for each number of lanes, and first channel."""

    loop: ForeseenWriter
    made: dict[tuple[int, int | None], CornerWriter] = field(
        default_factory=dict["tuple[int, int | None]", "CornerWriter"]
    )

    def of(self, lanes: int, channel: int | None) -> CornerWriter:
        """Return the writer for rows of so many lanes."""
        key = lanes, channel
        if key not in self.made:
            loop, unit = self.loop.loop, self.loop.unit
            reader, piece = self.loop.reader(), loop.pieces[key]
            self.made[key] = CornerWriter(unit, loop.walk, reader, *key, piece)
        return self.made[key]


class ForeseenWriter(Attempt):
    """Writes one foreseen loop for the second time."""

    def __init__(self, unit: UnitFrame, loop: Foreseen) -> None:
        super().__init__(unit, loop.region, "foreseen", _MOST_TURNS, _PAUSE)
        self.loop = loop
        self._bindings = loop.bindings
        self._keys = loop.region.keys()
        self._firsts: list[tuple[Access, str]] = []

    def _ready(self, begins: str) -> str:
        """Return whether an attempt can be made: what it takes is looked at in it."""
        return begins

    def _wanted(self, ready: str) -> str:
        """Return whether all channels are on, besides."""
        active = self.text.let("load i32, ptr %active")
        every = self.text.let(f"icmp eq i32 {active}, {self.unit.all_on}")
        return self.text.let(f"and i1 {ready}, {every}")

    # How many turns

    def begin(self) -> None:
        """Write how many turns are foreseen, and go to the first of them if there are enough."""
        text = self.text
        text.label(self._name)
        self._find_room()
        ramps, corners = RampWriter(self.unit, self.loop.walk), _Corners(self)
        left = reduce(partial(self._combined, "umin"), self._ends(ramps, corners))
        turns = self._combined("umin", left, self._turns)
        enough = text.let(f"icmp uge i64 {turns}, {_LEAST_TURNS}")
        if self.loop.tests:
            text.branch(enough, self._label("look"), self._label("bail"))
            text.label(self._label("look"))
        fits = self._fits(ramps, corners, text.let(f"sub i64 {turns}, 1"))
        text.do(f"store i64 0, ptr {self._turn}")
        text.do(f"store i64 {turns}, ptr {self._most}")
        well = text.let(f"and i1 {enough}, {fits}")
        text.likely(well, self._body(self.region.header.key[1]), self._label("missed"))
        text.label(self._label("missed"))
        if self.region.forks:
            self._look_up_seldom()
        self._look_up()
        text.jump(self._label("bail"))
        text.label(self._label("bail"))
        self._give_up()

    def _ends(self, ramps: RampWriter, corners: _Corners) -> list[str]:
        """Return after about how many turns the loop ends, as several things have it."""
        walk = self.loop.walk
        if self.loop.tests:
            return [self._left(test, ramps, corners) for test in self.loop.tests]
        moving = [one for one in walk.accesses if advances(one.address, walk)]
        return [self._stays(access, ramps, corners) for access in moving]

    def _stays(self, access: Access, ramps: RampWriter, corners: _Corners) -> str:
        """Return about how many turns a message stays in its array.

        Nobody knows how often channels go on; but arrays mostly end where loops do.
        """
        text, bounds, address = self.text, self._bounds_of(access), access.address
        if address.is_own:
            writer = corners.of(lanes_of(access.effect), channel_of(access.effect.mask))
            now, then = (writer.value_of_all(address, turn) for turn in ("", "1"))
            least, most = writer.least(now), writer.least(now, "smax")
            now, then = writer.first(now), writer.first(then)
        else:
            now, then = (ramps.number(address, turn) for turn in ("", "1"))
            least = most = now
        rate = text.let(f"sub i64 {then}, {now}")
        end = text.let(f"add i64 {bounds.start}, {bounds.limit}")
        above = text.let(f"sub i64 {text.let(f'sub i64 {end}, {most}')}, 1")
        below = text.let(f"sub i64 {least}, {bounds.start}")
        grows = text.let(f"icmp sgt i64 {rate}, 0")
        room = text.let(f"select i1 {grows}, i64 {above}, i64 {below}")
        pace = self._combined("smax", rate, text.let(f"sub i64 0, {rate}"))
        more = text.let(f"sdiv i64 {room}, {self._combined('smax', pace, '1')}")
        return self._combined("smax", text.let(f"add i64 {more}, 1"), "0")

    def _look_up_seldom(self) -> None:
        """Look arrays up after one in so many attempts that failed, of all threads.

        Where channels do not pass a message in all turns, it is mostly not in range in all of them.
        """
        text, misses = self.text, self.unit.lasting_counter()
        before = text.let(f"load i64, ptr {misses}")
        text.do(f"store i64 {text.let(f'add i64 {before}, 1')}, ptr {misses}")
        turn = text.let(f"urem i64 {before}, {_MISSES}")
        text.branch(text.let(f"icmp eq i64 {turn}, 0"), self._label("search"), self._label("bail"))
        text.label(self._label("search"))

    def _look_up(self) -> None:
        """Look up the arrays of messages in flat memory, for the next attempt.

        A message that is checked together with another one may never have been looked up itself.
        """
        text = self.text
        area = self.unit.context_pointer(Context.EXCHANGE)
        for access, first in self._firsts:
            effect = access.effect
            cache = self._bounds_writer(access.node, effect).cache(self._site(effect))
            text.do(f"store i64 {first}, ptr {area}, align 8")
            writes = int(isinstance(effect, Store))
            what = f"{access_bytes(effect)}, i64 {writes}, i64 {extent_of(effect)}"
            text.let(f"call i1 @flat_check(ptr %ctx, ptr {cache}, ptr {area}, i64 1, i64 {what})")

    def _left(self, test: Test, ramps: RampWriter, corners: _Corners) -> str:
        """Return about how many turns all channels make before the first one leaves.

        Nothing depends on it but for how many turns messages are looked at: the second way makes
        the comparison in each turn.
        """
        text, (one, other) = self.text, test.sides
        sides = (one, other) if test.nearer >= 0 else (other, one)
        writer = ramps
        if any(side.is_own for side in sides):
            writer = corners.of(test.lanes, test.channel)
        away = _away(writer, sides, "")
        nearer = str(abs(test.nearer))
        if not test.nearer:
            nearer = self._nearer(ramps, writer, away, _away(writer, sides, "1"))
        if isinstance(writer, CornerWriter):
            away = writer.least(away)
        if not test.nearer:
            self._unless_few(away, nearer)
        if test.word == "le":
            away = text.let(f"add i64 {away}, 1")
        if nearer != "1":
            more = text.let(f"sub i64 {nearer}, 1")
            away = text.let(f"sdiv i64 {text.let(f'add i64 {away}, {more}')}, {nearer}")
        turns = self._combined("smax", away, "0")
        return text.let(f"add i64 {turns}, 1") if self.loop.at_end else turns

    def _unless_few(self, away: str, nearer: str) -> None:
        """Give up before anything is divided if far too few turns are left."""
        text, many = self.text, self.text.fresh("many")
        least = text.let(f"mul i64 {nearer}, {_LEAST_TURNS - 2}")
        text.branch(text.let(f"icmp sge i64 {away}, {least}"), many, self._label("bail"))
        text.label(many)

    def _nearer(self, ramps: RampWriter, writer: RampWriter, away: str, then: str) -> str:
        """Return by how much a turn brings the sides of a comparison nearer, if it does.

        They are so far apart in the first turn, and in the next one, in all channels alike.
        """
        text = self.text
        if isinstance(writer, CornerWriter):
            away, then = map(writer.first, (away, then))
        nearer = ramps.difference(away, then)
        ramps.all_fit.append(text.let(f"icmp sge i64 {nearer}, 1"))
        return self._combined("smax", nearer, "1")

    def _fits(self, ramps: RampWriter, corners: _Corners, last: str) -> str:
        """Return whether all messages are in range in the turns up to number `last`."""
        text, walk = self.text, self.loop.walk
        ramps.agree(walk.copies.values(), last)
        for access in walk.accesses:
            bounds = self._bounds_of(access)
            if not access.address.is_own:
                self._note(access, ramps.number(access.address, ""))
                for at in ("", last):
                    offset = text.let(f"sub i64 {ramps.number(access.address, at)}, {bounds.start}")
                    ramps.all_fit.append(text.let(f"icmp ult i64 {offset}, {bounds.limit}"))
                continue
            writer = corners.of(lanes_of(access.effect), channel_of(access.effect.mask))
            self._within(writer, access, bounds, last)
        return text.all_of([one.well() for one in (ramps, *corners.made.values())])

    def _note(self, access: Access, first: str) -> None:
        """Note the first address of a message in flat memory."""
        if access.effect.space in {Space.FLAT, Space.SHADOW}:
            self._firsts.append((access, first))

    def _within(self, corners: CornerWriter, access: Access, bounds: Bounds, last: str) -> None:
        """Note whether the corners of a message's rows are in range."""
        text, start, limit = self.text, *map(corners.spread, (bounds.start, bounds.limit))
        every = corners.value_of_all(access.address, "")
        self._note(access, corners.first(every))
        for at in ("", last):
            place = corners.value_of_all(access.address, at)
            offset = text.let(f"sub {corners.vector} {place}, {start}")
            corners.fits.append(text.let(f"icmp ult {corners.vector} {offset}, {limit}"))

    def reader(self) -> ShapeReader:
        """Return what reads shapes where a turn begins."""
        unit, header = self.unit, self.region.header
        values = self._values(header)
        return ShapeReader(self.text, unit.storage, unit.affine, header.key, 0, values.value)

    # The second way

    def body_label(self, key: Key) -> str | None:
        """Return the label at which a node starts there; None if it is not in the loop."""
        return self._body(key[1]) if key in self._keys else None

    def foresees(self, effect: object) -> bool:
        """Whether a message is known to be in range there."""
        return id(effect) in self.loop.bindings

    def part(self) -> None:
        """Note that channels part within a turn: they may do so in the next turns, too."""
        self._pause_now()

    def turn_ends(self) -> None:
        """Go on with the next turn of the second way, or with one of the first way."""
        text, header = self.text, self.region.header
        turn = text.let(f"add i64 {text.let(f'load i64, ptr {self._turn}')}, 1")
        text.do(f"store i64 {turn}, ptr {self._turn}")
        most = text.let(f"load i64, ptr {self._most}")
        more = text.let(f"icmp ult i64 {turn}, {most}")
        text.branch(more, self._body(header.key[1]), self._label("together"))


def _away(writer: RampWriter, sides: tuple[Ramp, Ramp], turn: str) -> str:
    """Return by how much one side of a comparison is less than the other in a turn."""
    if not any(side.is_own for side in sides):
        one, other = (writer.number(side, turn) for side in sides)
        return writer.difference(other, one)
    one, other = (writer.value_of_all(side, turn) for side in sides)
    return writer.difference(other, one, writer.vector)
