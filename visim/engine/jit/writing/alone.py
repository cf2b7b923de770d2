"""Code for loops that channels run apart: one channel alone, then the next.

What channels have of variables is copied to memory when an attempt begins, and back when each has
left the loop or has made so many turns. An attempt has no more turns than the thread can make
before it has to let others run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.lanewise import Bits
from visim.engine.jit.writing.attempts import ApartAttempt, OneChannel
from visim.engine.jit.writing.cuts import Cutter, put_row, take_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.sem.effects import Atomic, Load, WritePredicate, WriteRegister

_MOST_TURNS = 64
"""How many turns an attempt has at most: a number has a bit for each of them."""


class AloneWriter(ApartAttempt):
    """Writes one loop for channels that run apart, one at a time.

    `pause` is how many turns they make together after an attempt that failed.
    """

    def __init__(self, unit: UnitFrame, region: Region, pause: int) -> None:
        super().__init__(unit, region, "alone", _MOST_TURNS, pause)
        self._left, self._staying = unit.buffer(8), unit.buffer(8)
        self._channel, self._last, self._furthest = (unit.buffer(8) for _ in range(3))
        self._exits = {place: unit.buffer(8) for place in region.exits}
        self._lane = OneChannel(unit, region)
        self._buffers = {row: unit.buffer(row.lanes * row.size) for row in region.entering}
        self._words = {bits: unit.buffer(8) for bits in region.bits_entering}
        self._seen = {
            node.key: unit.buffer(8) for node in region.nodes if node.key not in region.steady
        }

    # The attempt

    def write(self) -> None:
        """Write the attempt; the loop's nodes are written already."""
        text = self.text
        outside, text.lines = text.lines, []
        self._next()
        begun, text.lines = text.lines, []
        self._nodes(self._lane)
        self._finish()
        turns, text.lines = text.lines, begun
        self._start()
        text.lines += turns
        body, text.lines = text.lines, outside
        self._copy()
        text.lines += [f"  br label %{self._label('next')}", *body]
        self._end()
        text.label(self._label("bail"))
        self._give_up()

    def _copy(self) -> None:
        """Copy what channels have of variables."""
        text, region = self.text, self.region
        text.label(self._name)
        self._look_ahead()
        active = text.let("load i32, ptr %active")
        text.do(f"store i64 {text.let(f'zext i32 {active} to i64')}, ptr {self._left}")
        counters = [self._staying, self._furthest, *self._exits.values(), *self._seen.values()]
        for counter in counters:
            text.do(f"store i64 0, ptr {counter}")
        for row, place in region.entering.items():
            put_row(self.storage, place, self._buffers[row], singly=True)
        for bits, word in self._words.items():
            text.do(f"store i64 {self.storage.load_bits(bits[0])}, ptr {word}")

    @abstractmethod
    def _look_ahead(self) -> None:
        """Look whether channels can run apart at all; here nothing is changed before they have."""

    def _next(self) -> None:
        """Choose the next channel, and take what it has."""
        text = self.text
        text.label(self._label("next"))
        left = text.let(f"load i64, ptr {self._left}")
        some = text.let(f"icmp ne i64 {left}, 0")
        text.branch(some, self._label("chosen"), self._label("done"))
        text.label(self._label("chosen"))
        channel = text.let(f"call i64 @llvm.cttz.i64(i64 {left}, i1 true)")
        less = text.let(f"sub i64 {left}, 1")
        text.do(f"store i64 {text.let(f'and i64 {left}, {less}')}, ptr {self._left}")
        text.do(f"store i64 {channel}, ptr {self._channel}")
        text.do(f"store i64 0, ptr {self._turn}")
        for row, buffer in self._buffers.items():
            kind = f"<1 x i{8 * row.size}>"
            place = text.let(f"getelementptr {kind}, ptr {buffer}, i64 {channel}")
            one = text.let(f"load {kind}, ptr {place}, align {row.size}")
            text.do(f"store {kind} {one}, ptr {self._lane.own_row(row)}")
        for bits, word in self._words.items():
            found = text.let(f"load i64, ptr {word}")
            moved = text.let(f"lshr i64 {found}, {self._position(bits, channel)}")
            one = text.let(f"trunc i64 {text.let(f'and i64 {moved}, 1')} to i8")
            text.do(f"store i8 {one}, ptr {self._lane.own_bit(bits)}")

    def _start(self) -> None:
        """Begin the first turn of the chosen channel."""
        self.text.do(f"store i64 {self._turns}, ptr {self._most}")
        self.text.jump(self._body(self.region.header.key[1]))

    def _position(self, bits: Bits, channel: str) -> str:
        return self.text.let(f"add i64 {channel}, {bits[1]}") if bits[1] else channel

    # Blocks

    def _begin(self, node: Node) -> None:
        if node.key in self._seen:
            turn = self.text.let(f"load i64, ptr {self._turn}")
            self._add_bit(self._seen[node.key], turn)

    def _add_bit(self, word: str, position: str) -> None:
        text = self.text
        bit = text.let(f"shl i64 1, {position}")
        before = text.let(f"load i64, ptr {word}")
        text.do(f"store i64 {text.let(f'or i64 {before}, {bit}')}, ptr {word}")

    def _leave_for(self, number: int, place: int) -> None:
        self._leave(number, self._exits[place])

    def _stay(self, most: str) -> None:
        text = self.text
        whole, made = text.fresh("whole"), text.let(f"icmp eq i64 {most}, {self._turns}")
        text.branch(made, whole, self._label("bail"))
        text.label(whole)
        self._put(self.region.staying)
        self._leave(0, self._staying)

    def _leave(self, number: int, where: str) -> None:
        """End the channel's run behind block `number` of its turn; 0: before the first."""
        text = self.text
        self._add_bit(where, text.let(f"load i64, ptr {self._channel}"))
        text.do(f"store i64 {number}, ptr {self._last}")
        text.jump(self._label("finish"))

    # Instructions

    def _step(self, node: Node, step: Step) -> None:
        values = self._values(node)
        cutter = Cutter(self._lane, values)
        for effect in step.effects:
            if isinstance(effect, Load):
                values.loaded[id(effect)] = self._load(node, cutter, effect)
            elif isinstance(effect, Atomic):
                values.loaded[id(effect)] = self._update(cutter, effect)
        writes = [e for e in step.effects if isinstance(e, WriteRegister | WritePredicate)]
        if all(write.value.lanes == 1 for write in writes):
            self._write_singles(writes, values)
            return
        found = [(w, cutter.value(w.value), cutter.mask(w.mask)) for w in writes]
        for write, value, mask in found:
            self._lane.write(write, value, mask)

    @abstractmethod
    def _load(self, node: Node, cutter: Cutter, load: Load) -> list[str]:
        """Load what the channel loads."""

    @abstractmethod
    def _update(self, cutter: Cutter, atomic: Atomic) -> list[str]:
        """Do the channel's atomic operation; return what it returns."""

    # What an attempt leaves

    def _made(self, channel: str) -> str:
        """Return how many whole turns the channel has made."""
        return self.text.let(f"load i64, ptr {self._turn}")

    def _finish(self) -> None:
        """Put what the channel has changed to that of the others."""
        text, region = self.text, self.region
        text.label(self._label("finish"))
        channel = text.let(f"load i64, ptr {self._channel}")
        blocks = text.let(f"mul i64 {self._made(channel)}, {len(region.nodes) + 1}")
        passed = text.let(f"add i64 {blocks}, {text.let(f'load i64, ptr {self._last}')}")
        furthest = text.let(f"load i64, ptr {self._furthest}")
        further = text.let(f"icmp ugt i64 {passed}, {furthest}")
        most = text.let(f"select i1 {further}, i64 {passed}, i64 {furthest}")
        text.do(f"store i64 {most}, ptr {self._furthest}")
        self._put(region.leaving)
        for bits in sorted(region.bits_leaving):
            self._finish_bit(bits, self._position(bits, channel))
        text.jump(self._label("next"))

    def _put(self, rows: Iterable[Row]) -> None:
        """Put the channel's elements of rows to those of the others."""
        text = self.text
        channel = text.let(f"load i64, ptr {self._channel}")
        for row in rows:
            kind = f"<1 x i{8 * row.size}>"
            place = text.let(f"getelementptr {kind}, ptr {self._buffers[row]}, i64 {channel}")
            text.do(f"store {kind} {self._lane.row(row)}, ptr {place}, align {row.size}")

    def _finish_bit(self, bits: Bits, position: str) -> None:
        text, word = self.text, self._words[bits]
        found = text.let(f"zext i8 {text.let(f'load i8, ptr {self._lane.own_bit(bits)}')} to i64")
        moved = text.let(f"shl i64 {found}, {position}")
        others = text.let(f"xor i64 {text.let(f'shl i64 1, {position}')}, -1")
        kept = text.let(f"and i64 {text.let(f'load i64, ptr {word}')}, {others}")
        text.do(f"store i64 {text.let(f'or i64 {kept}, {moved}')}, ptr {word}")

    def _end(self) -> None:
        """Write variables and counts; the channels that have left wait where they went."""
        text, region = self.text, self.region
        text.label(self._label("done"))
        for row, place in region.leaving.items():
            take_row(self.storage, place, self._buffers[row])
        for bits in sorted(region.bits_leaving):
            word = text.let(f"load i64, ptr {self._words[bits]}")
            text.do(f"store i64 {word}, ptr {self.storage.bits(bits[0])}")
        self._count()
        for place, word in self._exits.items():
            found = text.let(f"trunc i64 {text.let(f'load i64, ptr {word}')} to i32")
            self.unit.wait(region.header, place, found)
        staying = text.let(f"load i64, ptr {self._staying}")
        staying = text.let(f"trunc i64 {staying} to i32")
        text.do(f"store i32 {staying}, ptr %active")
        again, gone = self._label("again"), self._label("gone")
        text.branch(text.let(f"icmp ne i32 {staying}, 0"), again, gone)
        text.label(again)
        for row, place in region.staying.items():
            take_row(self.storage, place, self._buffers[row])
        text.jump(self.unit.body_label(region.header.key))
        text.label(gone)
        self.unit.wake(region.header, region.beyond)

    def _count(self) -> None:
        """Count what all channels together have executed."""
        text, region, blocks = self.text, self.region, len(self.region.nodes) + 1
        furthest = text.let(f"load i64, ptr {self._furthest}")
        turns = text.let(f"udiv i64 {furthest}, {blocks}")
        last = text.let(f"urem i64 {furthest}, {blocks}")
        total = text.let(f"load i64, ptr {self.unit.clock}")
        for number, node in enumerate(region.nodes, 1):
            if node.key in self._seen:
                ctpop = self.unit.module.library.intrinsic("llvm.ctpop.i64", "i64", "i64")
                seen = text.let(f"load i64, ptr {self._seen[node.key]}")
                times = text.let(f"call i64 {ctpop}(i64 {seen})")
            else:
                again = text.let(f"icmp uge i64 {last}, {number}")
                times = text.let(f"add i64 {turns}, {text.let(f'zext i1 {again} to i64')}")
            counted = text.let(f"mul i64 {times}, {len(node.block.forms)}")
            total = text.let(f"add i64 {total}, {counted}")
        text.do(f"store i64 {total}, ptr {self.unit.clock}")
