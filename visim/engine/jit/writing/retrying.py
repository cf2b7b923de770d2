"""Code for retries: channels compare and exchange one after the other, each until it has won.

What they reach is found to be in range before the first of them begins, since nothing can be taken
back. Each notes in which turn the next one that reaches the same element would have won.
"""

from __future__ import annotations

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.retries import Retry
from visim.engine.jit.ir.storage import bits_vector, vector_bits
from visim.engine.jit.ir.text import splat
from visim.engine.jit.writing.alone import AloneWriter
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.cuts import Cutter, place_row, put_row
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.windows import none_of
from visim.sem.effects import Atomic, Load, Place, Space

_PAUSE = 1
"""How many turns channels make together after an attempt that failed."""

_FOREVER = 1 << 62
"""How many turns a channel can make: it ends none before it has won."""

_FAR = 1 << 31
"""Elements of larger arrays are not told apart by 32 bits of their offsets."""


class RetryWriter(AloneWriter):
    """Writes one retry for channels that win one after the other."""

    def __init__(self, unit: UnitFrame, region: Region, retry: Retry) -> None:
        super().__init__(unit, region, _PAUSE)
        self._retry = retry
        self._size = retry.atomic.type.bytes
        self._effects = [one for one in (retry.load, retry.atomic) if one is not None]
        self._changed = unit.buffer(8)
        self._then = unit.buffer(8 * unit.kernel.simd_size)
        self._ran = unit.buffer(8)
        self._next_turn = unit.counter()
        self._bounds: dict[int, Bounds] = {}
        self._each = unit.buffer(4 * unit.kernel.simd_size)
        self._offsets = ""
        self._checks: list[str] = []

    # Where it begins

    def _ready(self, begins: str) -> str:
        """Return whether an attempt can be made: behind a turn in which channels have lost.

        Together they are as fast where all win at once. A turn is behind another one if nothing
        else has been executed in between.
        """
        text = self.text
        now = text.let(f"load i64, ptr {self.unit.clock}")
        again = text.let(f"icmp eq i64 {now}, {text.let(f'load i64, ptr {self._next_turn}')}")
        following = text.let(f"add i64 {now}, {self.region.instructions}")
        text.do(f"store i64 {following}, ptr {self._next_turn}")
        return text.let(f"and i1 {again}, {super()._ready(begins)}")

    def _find_room(self) -> None:
        """Write whether the thread's turn is long enough for as many turns as there are channels.

        Others may change an element in between: such turns are not counted before.
        """
        text = self.text
        turns = text.let(f"udiv i64 {self.unit.room()}, {self.region.instructions}")
        enough = text.let(f"icmp uge i64 {turns}, {self.unit.kernel.simd_size}")
        self._turns = text.let(f"select i1 {enough}, i64 {_FOREVER}, i64 0")

    def write(self) -> None:
        """Write the attempt; the loop's nodes are written already."""
        text, begin = self.text, self._label("begin")
        outside, text.lines = text.lines, []
        text.likely(self._fits(), begin, self._label("bail"))
        text.label(begin)
        text.do(f"store i64 0, ptr {self._ran}")
        text.hand_over("i32", self.unit.kernel.simd_size, self._offsets, self._each)
        if self._retry.carried is not None:
            self._compare(self._retry.carried)
        self._checks, text.lines = text.lines, outside
        super().write()

    def _look_ahead(self) -> None:
        self.text.lines += self._checks

    def _fits(self) -> str:
        """Return whether all elements are in range, and where multiples of their size are."""
        text, lanes, fits = self.text, self.unit.kernel.simd_size, "true"
        values, kind = self._values(self.region.header), f"<{lanes} x i64>"
        addresses, bits = self._retry.atomic.addresses, self._retry.atomic.addresses.type.bits
        places = values.value(addresses)
        if bits < 64:
            places = text.let(f"zext <{lanes} x i{bits}> {places} to {kind}")
        active = text.let(f"zext i32 {text.let('load i32, ptr %active')} to i64")
        low = text.let(f"and {kind} {places}, {splat('i64', lanes, self._size - 1)}")
        wrong = text.let(f"icmp ne {kind} {low}, zeroinitializer")
        for effect in self._effects:
            bounds = self._bounds[id(effect)] = self._bounds_of_one(effect)
            start = text.spread("i64", lanes, bounds.start)
            offsets = text.let(f"sub {kind} {places}, {start}")
            limit = text.spread("i64", lanes, bounds.limit)
            beyond = text.let(f"icmp uge {kind} {offsets}, {limit}")
            wrong = text.let(f"or <{lanes} x i1> {wrong}, {beyond}")
            near = text.let(f"icmp ult i64 {bounds.limit}, {_FAR}")
            fits = text.let(f"and i1 {fits}, {near}")
        self._offsets = text.let(f"trunc {kind} {places} to <{lanes} x i32>")
        out = text.let(f"and <{lanes} x i1> {wrong}, {bits_vector(text, active, 0, lanes)}")
        return text.let(f"and i1 {fits}, {none_of(text, out, lanes)}")

    def _compare(self, carried: Place) -> None:
        """Give up unless all elements are what channels compare them with: one has to win first.

        Those that reach the same element then compare it with the same.
        """
        text, kind = self.text, f"i{8 * self._size}"
        bounds = self._bounds[id(self._retry.atomic)]
        start = text.let(f"trunc i64 {bounds.start} to i32")
        host = text.let(f"inttoptr i64 {bounds.host} to ptr")
        expected = self.unit.buffer(carried.lanes * self._size)
        put_row(self.storage, carried, expected, singly=True)
        active = text.let("load i32, ptr %active")
        text.do(f"store i64 {text.let(f'zext i32 {active} to i64')}, ptr {self._left}")
        look, one, same = (self._label(what) for what in ("look", "one", "same"))
        text.jump(look)
        text.label(look)
        left = text.let(f"load i64, ptr {self._left}")
        text.branch(text.let(f"icmp ne i64 {left}, 0"), one, same)
        text.label(one)
        channel = text.let(f"call i64 @llvm.cttz.i64(i64 {left}, i1 true)")
        rest = text.let(f"and i64 {left}, {text.let(f'sub i64 {left}, 1')}")
        text.do(f"store i64 {rest}, ptr {self._left}")
        place = text.let(f"getelementptr i32, ptr {self._each}, i64 {channel}")
        low = text.let(f"load i32, ptr {place}, align 4")
        offset = text.let(f"zext i32 {text.let(f'sub i32 {low}, {start}')} to i64")
        element = text.let(f"getelementptr i8, ptr {host}, i64 {offset}")
        found = text.let(f"load {kind}, ptr {element}, align {self._size}")
        place = text.let(f"getelementptr {kind}, ptr {expected}, i64 {channel}")
        wanted = text.let(f"load {kind}, ptr {place}, align {self._size}")
        text.likely(text.let(f"icmp eq {kind} {found}, {wanted}"), look, self._label("bail"))
        text.label(same)

    def _bounds_of_one(self, effect: Load | Atomic) -> Bounds:
        writer = self._bounds_writer(self.region.header, effect)
        return writer.of(effect, self._site(effect), self._size)

    # A turn

    def _start(self) -> None:
        """Let the channel compare with what is there now: others have lost a turn to find it."""
        if self._retry.carried is not None:
            cutter = Cutter(self._lane, self._values(self.region.header))
            kind, pointer = f"i{8 * self._size}", self._pointer(cutter, self._retry.atomic)
            now = self.text.let(f"load {kind}, ptr {pointer}, align {self._size}")
            own = self._lane.own_row(place_row(self._retry.carried))
            self.text.do(f"store {kind} {now}, ptr {own}")
        super()._start()

    def _pointer(self, cutter: Cutter, effect: Load | Atomic) -> str:
        """Return where the channel's element is."""
        text, bounds, bits = self.text, self._bounds[id(effect)], effect.addresses.type.bits
        found = cutter.value(effect.addresses)
        place = text.let(f"extractelement <1 x i{bits}> {found}, i64 0")
        if bits < 64:
            place = text.let(f"zext i{bits} {place} to i64")
        offset = text.let(f"sub i64 {place}, {bounds.start}")
        return text.let(f"inttoptr i64 {text.let(f'add i64 {offset}, {bounds.host}')} to ptr")

    def _load(self, node: Node, cutter: Cutter, load: Load) -> list[str]:
        size, pointer = self._size, self._pointer(cutter, load)
        kind = f"<1 x i{8 * size}>"
        return [self.text.let(f"load {kind}, ptr {pointer}, align {size}")]

    def _update(self, cutter: Cutter, atomic: Atomic) -> list[str]:
        """Exchange the element if it is still the same; note whether that changes it."""
        text, kind = self.text, f"i{8 * self._size}"
        pointer = self._pointer(cutter, atomic)
        old, new = (
            text.let(f"extractelement <1 x {kind}> {cutter.value(one)}, i64 0")
            for one in atomic.operands
        )
        changed = text.let(f"icmp ne {kind} {old}, {new}")
        text.do(f"store i64 {text.let(f'zext i1 {changed} to i64')}, ptr {self._changed}")
        if atomic.space in {Space.FLAT, Space.SHADOW}:
            pair = text.let(
                f"cmpxchg ptr {pointer}, {kind} {old}, {kind} {new} seq_cst seq_cst, "
                f"align {self._size}"
            )
            seen = text.let(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
        else:  # Only this worker reaches it.
            seen = text.let(f"load {kind}, ptr {pointer}, align {self._size}")
            same = text.let(f"icmp eq {kind} {seen}, {old}")
            left = text.let(f"select i1 {same}, {kind} {new}, {kind} {seen}")
            text.do(f"store {kind} {left}, ptr {pointer}, align {self._size}")
        return [text.let(f"insertelement <1 x {kind}> poison, {kind} {seen}, i64 0")]

    # In which turn a channel would have won

    def _made(self, channel: str) -> str:
        text, lanes = self.text, self.unit.kernel.simd_size
        kind, vector = f"<{lanes} x i32>", self._offsets
        place = text.let(f"getelementptr i32, ptr {self._each}, i64 {channel}")
        own = text.let(f"load i32, ptr {place}, align 4")
        same = text.let(f"icmp eq {kind} {vector}, {text.spread('i32', lanes, own)}")
        ran = text.let(f"load i64, ptr {self._ran}")
        before = text.let(f"and i64 {vector_bits(text, same, lanes)}, {ran}")
        self._add_bit(self._ran, channel)
        ctlz = self.unit.module.library.intrinsic("llvm.ctlz.i64", "i64", "i64", "i1")
        last = text.let(f"sub i64 63, {text.let(f'call i64 {ctlz}(i64 {before}, i1 false)')}")
        some = text.let(f"icmp ne i64 {before}, 0")
        last = text.let(f"select i1 {some}, i64 {last}, i64 {channel}")
        told = text.let(f"load i64, ptr {self._place(last)}")
        least = text.let(f"select i1 {some}, i64 {told}, i64 0")
        turn = text.let(f"add i64 {least}, {super()._made(channel)}")
        changed = text.let(f"load i64, ptr {self._changed}")
        after = text.let(f"add i64 {turn}, {changed}")
        text.do(f"store i64 {after}, ptr {self._place(channel)}")
        return turn

    def _place(self, channel: str) -> str:
        """Return where it stands when the next channel wins that reaches the same element."""
        return self.text.let(f"getelementptr i64, ptr {self._then}, i64 {channel}")
