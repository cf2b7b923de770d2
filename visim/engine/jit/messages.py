"""Memory messages as LLVM IR: checked, in one access where the channels' addresses are adjacent.

What is out of the ordinary (an access that is not entirely inside one allocation, and is not flat)
goes to the reference memory in Python, through the callback of the context.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from visim.engine.jit.atomics import atomic_function
from visim.engine.jit.blocks import MemoryMessage
from visim.engine.jit.layout import (
    CACHE_ENTRY,
    EXCHANGE_DATA,
    SURFACE_ENTRY,
    Context,
    FaultKind,
    Thread,
)
from visim.engine.jit.scattered import gather_function, scatter_function
from visim.engine.jit.storage import vector_bits
from visim.engine.jit.text import numbers, scalar_type, splat, vector_type
from visim.engine.jit.values import Values
from visim.sem.effects import Atomic, Load, LoadBlock, Space, Store, StoreBlock
from visim.sem.expr import Expr
from visim.types import DataType

if TYPE_CHECKING:
    from visim.engine.jit.unit import UnitWriter


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """A message of the program: its effect and place."""

    effect: MemoryMessage
    unit: int
    pc: int


@dataclass
class Sites:
    """All messages of a module, by number."""

    known: list[SiteInfo] = field(default_factory=list[SiteInfo])

    def add(self, effect: MemoryMessage, unit: int, pc: int) -> int:
        """Give a message its number."""
        self.known.append(SiteInfo(effect, unit, pc))
        return len(self.known) - 1


@dataclass(frozen=True, slots=True)
class Target:
    """Checked addresses: offsets of integer type `type` from the host address `base`."""

    type: str
    offsets: str
    base: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a message goes: `offsets` below `limit` are in range.

    `cache` is the pointer to what a flat message remembers of its last access, else empty.
    """

    target: Target
    offsets: str
    limit: str
    cache: str


class MessageWriter:
    """Writes the messages of one instruction."""

    def __init__(self, unit: UnitWriter, values: Values, pc: int) -> None:
        self.unit = unit
        self.text = unit.text
        self.values = values
        self.pc = pc

    def message(self, effect: MemoryMessage) -> None:
        """Write one message; what it returns becomes known to the values."""
        site = self.unit.module.sites.add(effect, self.unit.unit.number, self.pc)
        match effect:
            case Load():
                self._load(effect, site)
            case Store():
                self._store(effect, site)
            case LoadBlock():
                self._load_block(effect, site)
            case StoreBlock():
                self._store_block(effect, site)
            case Atomic():
                self._atomic(effect, site)

    # Vectors of channels

    def _load(self, effect: Load, site: int) -> None:
        lanes, kind, parts = effect.addresses.lanes, effect.type, effect.components
        mask = self.values.mask(effect.mask)
        slow, fast, join = self._labels("slow", "fast", "join")
        scalar = scalar_type(kind)
        size = kind.bytes * parts
        whole = parts > 1 or kind.bits < 32
        adjacent, pointer, target = self._vector(
            effect, site, mask, lanes, size, slow, fast, whole=whole
        )
        found, end = self._load_fast(target, mask, lanes, kind, parts, (adjacent, pointer, fast))
        self.text.jump(join)
        self._callout_block(effect, site, mask, lanes, slow, join, ())
        answers, after = self._answers(effect.space, scalar, lanes, parts)
        self.text.label(join)
        vector = f"<{lanes} x {scalar}>"
        self.values.loaded[id(effect)] = [
            self.text.let(f"phi {vector} [ {a}, %{end} ], [ {b}, %{after} ]") if after else a
            for a, b in zip(found, answers, strict=True)
        ]

    def _load_fast(
        self,
        target: Target,
        mask: str | None,
        lanes: int,
        kind: DataType,
        parts: int,
        ways: tuple[str, str, str],
    ) -> tuple[list[str], str]:
        """Load from adjacent addresses at once, else lane by lane."""
        text, scalar = self.text, scalar_type(kind)
        (adjacent, pointer, apart), done = ways, text.fresh("loaded")
        text.label(adjacent)
        whole = parts > 1 or kind.bits < 32
        together = self._load_adjacent(pointer, None if whole else mask, lanes, scalar, parts)
        text.jump(done)
        text.label(apart)
        function = gather_function(self.unit.module.library, lanes, scalar, parts)
        result = f"<{lanes} x {scalar}>"
        returned = f"{{ {', '.join([result] * parts)} }}" if parts > 1 else result
        where = self._hosts(target, lanes)
        on = mask or splat("i1", lanes, "true")
        nothing = self.unit.context(Context.NOTHING)
        answer = text.let(
            f"call {returned} @{function}(<{lanes} x i64> {where}, <{lanes} x i1> {on}, "
            f"i64 {nothing})"
        )
        singly = [answer]
        if parts > 1:
            singly = [text.let(f"extractvalue {returned} {answer}, {i}") for i in range(parts)]
        text.jump(done)
        text.label(done)
        found = [
            text.let(f"phi {result} [ {a}, %{adjacent} ], [ {b}, %{apart} ]")
            for a, b in zip(together, singly, strict=True)
        ]
        return found, done

    def _load_adjacent(
        self, pointer: str, mask: str | None, lanes: int, scalar: str, parts: int
    ) -> list[str]:
        text, count = self.text, lanes * parts
        vector = f"<{count} x {scalar}>"
        if mask is None:
            whole = text.let(f"load {vector}, ptr {pointer}, align 1")
        else:
            on = text.shuffle("i1", lanes, mask, [i // parts for i in range(count)])
            function = self.unit.module.library.intrinsic(
                f"llvm.masked.load.v{count}{scalar}.p0", vector, "ptr", f"<{count} x i1>", vector
            )
            whole = text.let(
                f"call {vector} {function}(ptr align 1 {pointer}, <{count} x i1> {on}, "
                f"{vector} zeroinitializer)"
            )
        return [
            text.shuffle(scalar, count, whole, [lane * parts + part for lane in range(lanes)])
            for part in range(parts)
        ]

    def _store(self, effect: Store, site: int) -> None:
        text, lanes, parts = self.text, effect.addresses.lanes, len(effect.values)
        kind = effect.values[0].type
        values = [self.values.value(value) for value in effect.values]
        mask = self.values.mask(effect.mask)
        slow, apart, join = self._labels("slow", "apart", "join")
        size = kind.bytes * parts
        whole = parts > 1 or kind.bits < 32
        adjacent, pointer, target = self._vector(
            effect, site, mask, lanes, size, slow, apart, whole=whole
        )
        text.label(adjacent)
        given = None if whole else mask
        self._store_adjacent(pointer, given, lanes, scalar_type(kind), values)
        text.jump(join)
        text.label(apart)
        function = scatter_function(self.unit.module.library, lanes, scalar_type(kind), parts)
        vector = vector_type(kind, lanes)
        joined = "".join(f", {vector} {value}" for value in values)
        on = mask or splat("i1", lanes, "true")
        where = self._hosts(target, lanes)
        text.do(f"call void @{function}(<{lanes} x i64> {where}, <{lanes} x i1> {on}{joined})")
        text.jump(join)
        self._callout_block(effect, site, mask, lanes, slow, join, [(v, vector) for v in values])
        text.label(join)

    def _store_adjacent(
        self, pointer: str, mask: str | None, lanes: int, scalar: str, values: list[str]
    ) -> None:
        text, parts = self.text, len(values)
        count = lanes * parts
        whole = self._interleaved(values, lanes, scalar)
        vector = f"<{count} x {scalar}>"
        if mask is None:
            text.do(f"store {vector} {whole}, ptr {pointer}, align 1")
            return
        on = text.shuffle("i1", lanes, mask, [i // parts for i in range(count)])
        function = self.unit.module.library.intrinsic(
            f"llvm.masked.store.v{count}{scalar}.p0", "void", vector, "ptr", f"<{count} x i1>"
        )
        text.do(
            f"call void {function}({vector} {whole}, ptr align 1 {pointer}, <{count} x i1> {on})"
        )

    def _interleaved(self, values: list[str], lanes: int, scalar: str) -> str:
        """Return the lanes of several vectors, all components of a lane together."""
        whole, have = values[0], lanes
        for value in values[1:]:
            wide = value
            if have != lanes:
                picks = [i if i < lanes else "poison" for i in range(have)]
                wide = self.text.let(
                    f"shufflevector <{lanes} x {scalar}> {value}, <{lanes} x {scalar}> poison, "
                    f"<{have} x i32> {numbers('i32', picks)}"
                )
            count = have + lanes
            vector = f"<{have} x {scalar}>"
            order = list(range(count))
            whole = self.text.let(
                f"shufflevector {vector} {whole}, {vector} {wide}, "
                f"<{count} x i32> {numbers('i32', order)}"
            )
            have = count
        parts = len(values)
        order = [part * lanes + lane for lane in range(lanes) for part in range(parts)]
        return self.text.shuffle(scalar, have, whole, order)

    # One block

    def _load_block(self, effect: LoadBlock, site: int) -> None:
        text, vector = self.text, f"<{effect.count} x {scalar_type(effect.type)}>"
        begin, skipped, end = self._enter(effect.mask)
        slow, fast, join = self._labels("slow", "fast", "join")
        target = self._check(effect, site, None, 1, effect.count * effect.type.bytes, slow, fast)
        text.label(fast)
        pointer = self._pointer(target)
        found = text.let(f"load {vector}, ptr {pointer}, align 1")
        text.jump(join)
        self._callout_block(effect, site, None, 1, slow, join, ())
        answers, after = self._answers(effect.space, scalar_type(effect.type), effect.count, 1)
        text.label(join)
        if after:
            found = text.let(f"phi {vector} [ {found}, %{fast} ], [ {answers[0]}, %{after} ]")
        if skipped:
            text.jump(end)
            text.label(end)
            found = text.let(f"phi {vector} [ {found}, %{join} ], [ zeroinitializer, %{begin} ]")
        self.values.loaded[id(effect)] = [found]

    def _store_block(self, effect: StoreBlock, site: int) -> None:
        text, value = self.text, effect.value
        vector, stored = vector_type(value.type, value.lanes), self.values.value(value)
        _, skipped, end = self._enter(effect.mask)
        slow, fast, join = self._labels("slow", "fast", "join")
        target = self._check(effect, site, None, 1, value.lanes * value.type.bytes, slow, fast)
        text.label(fast)
        text.do(f"store {vector} {stored}, ptr {self._pointer(target)}, align 1")
        text.jump(join)
        self._callout_block(effect, site, None, 1, slow, join, [(stored, vector)])
        text.label(join)
        if skipped:
            text.jump(end)
            text.label(end)

    def _enter(self, mask: Expr | None) -> tuple[str, bool, str]:
        """Begin code that runs only where the one lane of a mask is on."""
        begin, end = self.text.block, self.text.fresh("end")
        known = self.values.mask(mask)
        if known is None:
            return begin, False, end
        bit = self.text.let(f"extractelement <1 x i1> {known}, i64 0")
        begin, run = self.text.block, self.text.fresh("run")
        self.text.branch(bit, run, end)
        self.text.label(run)
        return begin, True, end

    # Atomics

    def _atomic(self, effect: Atomic, site: int) -> None:
        text, lanes, kind = self.text, effect.addresses.lanes, effect.type
        operands = [self.values.value(o) for o in effect.operands]
        mask = self.values.mask(effect.mask)
        slow, fast, join = self._labels("slow", "fast", "join")
        target = self._check(effect, site, mask, lanes, kind.bytes, slow, fast)
        text.label(fast)
        vector = vector_type(kind, lanes)
        own = effect.space in {Space.SLM, Space.SCRATCH}
        function = atomic_function(
            self.unit.module.library, effect.operation, lanes, kind.bits, own_memory=own
        )
        padded = [*operands, "zeroinitializer", "zeroinitializer"][:2]
        on = mask or splat("i1", lanes, "true")
        where = self._hosts(target, lanes)
        found = text.let(
            f"call {vector} @{function}(<{lanes} x i64> {where}, <{lanes} x i1> {on}, "
            f"{vector} {padded[0]}, {vector} {padded[1]})"
        )
        text.jump(join)
        given = [(operand, vector) for operand in operands]
        self._callout_block(effect, site, mask, lanes, slow, join, given)
        answers, after = self._answers(None, scalar_type(kind), lanes, 1)
        text.label(join)
        found = text.let(f"phi {vector} [ {found}, %{fast} ], [ {answers[0]}, %{after} ]")
        self.values.loaded[id(effect)] = [found]

    # Checks

    def _labels(self, *hints: str) -> list[str]:
        return [self.text.fresh(hint) for hint in hints]

    def _check(
        self,
        effect: MemoryMessage,
        site: int,
        mask: str | None,
        lanes: int,
        size: int,
        slow: str,
        fast: str,
    ) -> Target:
        """Go to `fast` if all enabled lanes are in range, else to `slow`."""
        bounds = self._bounds(effect, site, size)
        self._check_lanes(effect, bounds, mask, lanes, size, slow, fast)
        return bounds.target

    def _vector(
        self,
        effect: MemoryMessage,
        site: int,
        mask: str | None,
        lanes: int,
        size: int,
        slow: str,
        apart: str,
        *,
        whole: bool,
    ) -> tuple[str, str, Target]:
        """Check a vector of channels; return the label and pointer for adjacent addresses.

        Otherwise control goes to `apart`, or to `slow` when some are out of range. `whole` asks
        that all channels are on, where the host has no masked access of this shape.
        """
        text, bounds = self.text, self._bounds(effect, site, size)
        span, adjacent, single = self._labels("span", "adjacent", "single")
        target = bounds.target
        pointer = self._adjacent(target, mask, lanes, size, span, single, whole=whole)
        text.label(span)
        first = text.let(f"extractelement <{lanes} x {target.type}> {bounds.offsets}, i64 0")
        if target.type != "i64":
            first = text.let(f"zext {target.type} {first} to i64")
        limit = bounds.limit
        if target.type != "i64" and not limit.isdigit():
            limit = text.let(f"zext {target.type} {limit} to i64")
        last = text.let(f"add i64 {first}, {(lanes - 1) * size}")
        starts = text.let(f"icmp ult i64 {first}, {limit}")
        ends = text.let(f"icmp ult i64 {last}, {limit}")
        text.branch(text.let(f"and i1 {starts}, {ends}"), adjacent, single)
        text.label(single)
        self._check_lanes(effect, bounds, mask, lanes, size, slow, apart)
        return adjacent, pointer, target

    def _check_lanes(
        self,
        effect: MemoryMessage,
        bounds: Bounds,
        mask: str | None,
        lanes: int,
        size: int,
        slow: str,
        fast: str,
    ) -> None:
        """Check every lane by itself."""
        kind = bounds.target.type
        bad = self._refused(kind, lanes, bounds.offsets, bounds.limit, mask)
        wrong = None
        if isinstance(effect, Atomic):
            wrong = self._misaligned(kind, lanes, self._addresses[0], size, mask)
        if bounds.cache:
            self._look(effect, bounds, (bad, wrong), mask, lanes, size, slow, fast)
            return
        self.text.unlikely(bad if wrong is None else self._or(bad, wrong), slow, fast)

    def _or(self, a: str, b: str) -> str:
        return self.text.let(f"or i1 {a}, {b}")

    def _misaligned(
        self, kind: str, lanes: int, addresses: str, size: int, mask: str | None
    ) -> str:
        text, vector = self.text, f"<{lanes} x {kind}>"
        low = text.let(f"and {vector} {addresses}, {splat(kind, lanes, size - 1)}")
        odd = text.let(f"icmp ne {vector} {low}, zeroinitializer")
        return self._any(odd, lanes, mask)

    def _any(self, vector: str, lanes: int, mask: str | None) -> str:
        text = self.text
        if mask is not None:
            vector = text.let(f"and <{lanes} x i1> {vector}, {mask}")
        bits = text.let(f"bitcast <{lanes} x i1> {vector} to i{lanes}")
        return text.let(f"icmp ne i{lanes} {bits}, 0")

    def _refused(self, kind: str, lanes: int, offsets: str, limit: str, mask: str | None) -> str:
        """Return whether any enabled lane's offset is not below the limit."""
        text = self.text
        bound = splat(kind, lanes, limit) if limit.isdigit() else text.spread(kind, lanes, limit)
        over = text.let(f"icmp uge <{lanes} x {kind}> {offsets}, {bound}")
        return self._any(over, lanes, mask)

    def _look(
        self,
        effect: MemoryMessage,
        bounds: Bounds,
        verdicts: tuple[str, str | None],
        mask: str | None,
        lanes: int,
        size: int,
        slow: str,
        fast: str,
    ) -> None:
        """Look flat addresses up that are not in the allocation of the message's last access."""
        text, (bad, wrong) = self.text, verdicts
        look = text.fresh("look")
        if wrong is not None:
            aligned = text.fresh("aligned")
            text.unlikely(wrong, slow, aligned)
            text.label(aligned)
        text.unlikely(bad, look, fast)
        text.label(look)
        area = self.unit.context_pointer(Context.EXCHANGE)
        text.do(f"store <{lanes} x i64> {self._addresses[0]}, ptr {area}, align 8")
        write = int(not isinstance(effect, Load | LoadBlock) and not _only_reads(effect))
        ok = text.let(
            f"call i1 @flat_check(ptr %ctx, ptr {bounds.cache}, ptr {area}, "
            f"i64 {self._mask_bits(mask, lanes)}, i64 {size}, i64 {write})"
        )
        text.unlikely(text.let(f"xor i1 {ok}, true"), slow, fast)

    def _flat_bounds(self, site: int, lanes: int) -> Bounds:
        """Return the bounds of the allocation in which the message's last access was."""
        text, addresses = self.text, self._addresses[0]
        cache = text.let(
            f"getelementptr i8, ptr {self.unit.context_pointer(Context.CACHE)}, "
            f"i64 {site * CACHE_ENTRY}"
        )
        base = text.let(f"load i64, ptr {cache}, align 8")
        second = text.let(f"getelementptr i8, ptr {cache}, i64 8")
        limit = text.let(f"load i64, ptr {second}, align 8")
        vector = f"<{lanes} x i64>"
        offsets = text.let(f"sub {vector} {addresses}, {text.spread('i64', lanes, base)}")
        return Bounds(Target("i64", addresses, "0"), offsets, limit, cache)

    def _mask_bits(self, mask: str | None, lanes: int) -> str:
        if mask is None:
            return str((1 << lanes) - 1) if lanes < 64 else "-1"
        return vector_bits(self.text, mask, lanes)

    def _bounds(self, effect: MemoryMessage, site: int, size: int) -> Bounds:
        """Compute a message's addresses and where its space ends."""
        unit = self.unit
        where = effect.address if isinstance(effect, LoadBlock | StoreBlock) else effect.addresses
        kind, addresses, lanes = scalar_type(where.type), self.values.value(where), where.lanes
        self._addresses = (addresses, kind)
        match effect.space:
            case Space.FLAT:
                return self._flat_bounds(site, lanes)
            case Space.SLM:
                room, offsets = str(max(0, unit.slm_bytes - size + 1)), addresses
                base = unit.context(Context.SLM)
            case Space.SCRATCH:
                narrow = self.text.let(f"trunc i64 {unit.thread(Thread.SCRATCH_BASE)} to i32")
                start = self.text.spread(kind, lanes, narrow)
                offsets = self.text.let(f"sub <{lanes} x {kind}> {addresses}, {start}")
                room = self._room(unit.context(Context.SCRATCH_BYTES), size)
                base = unit.thread(Thread.SCRATCH)
            case Space.ARGUMENT:
                room = self._room(unit.context(Context.ARGUMENT_BYTES), size)
                base, offsets = unit.context(Context.ARGUMENTS), addresses
            case _:
                (base, room), offsets = self._surface(effect, size), addresses
        return Bounds(Target(kind, offsets, base), offsets, room, "")

    def _room(self, size: str, wanted: int) -> str:
        """Return as i32 how many offsets hold `wanted` bytes in memory of `size` bytes."""
        text = self.text
        rest = text.let(f"sub i64 {size}, {wanted - 1}")
        some = text.let(f"icmp sgt i64 {rest}, 0")
        room = text.let(f"select i1 {some}, i64 {rest}, i64 0")
        top = text.let(f"icmp ugt i64 {room}, 4294967295")
        bound = text.let(f"select i1 {top}, i64 4294967295, i64 {room}")
        return text.let(f"trunc i64 {bound} to i32")

    def _surface(self, effect: MemoryMessage, size: int) -> tuple[str, str]:
        text, surface = self.text, effect.surface
        if surface is None:
            raise TypeError("a surface message without a surface")
        index = text.let(f"zext i32 {self.values.scalar(surface)} to i64")
        known = text.let(f"icmp ult i64 {index}, 256")
        safe = text.let(f"select i1 {known}, i64 {index}, i64 256")
        byte = text.let(f"mul i64 {safe}, {SURFACE_ENTRY}")
        table = self.unit.context_pointer(Context.SURFACES)
        entry = text.let(f"getelementptr i8, ptr {table}, i64 {byte}")
        base = text.let(f"load i64, ptr {entry}, align 8")
        reads = isinstance(effect, Load | LoadBlock) or _only_reads(effect)
        place = text.let(f"getelementptr i8, ptr {entry}, i64 {8 if reads else 16}")
        room = self._room(text.let(f"load i64, ptr {place}, align 8"), size)
        return base, room

    # Addresses

    def _adjacent(
        self,
        target: Target,
        mask: str | None,
        lanes: int,
        size: int,
        yes: str,
        no: str,
        *,
        whole: bool,
    ) -> str:
        """Branch on whether each enabled lane's address is lane * size above lane 0's."""
        text, kind = self.text, target.type
        vector = f"<{lanes} x {kind}>"
        first = text.let(f"extractelement {vector} {target.offsets}, i64 0")
        pointer = self._host(first, target)
        if lanes == 1:
            if whole and mask is not None:
                text.branch(text.let(f"extractelement <1 x i1> {mask}, i64 0"), yes, no)
            else:
                text.jump(yes)
            return pointer
        steps = numbers(kind, [lane * size for lane in range(lanes)])
        start = text.spread(kind, lanes, first)
        wanted = text.let(f"add {vector} {start}, {steps}")
        other = text.let(f"icmp ne {vector} {target.offsets}, {wanted}")
        if whole and mask is not None:
            off = text.let(f"xor <{lanes} x i1> {mask}, {splat('i1', lanes, 'true')}")
            other, mask = text.let(f"or <{lanes} x i1> {other}, {off}"), None
        text.branch(self._any(other, lanes, mask), no, yes)
        return pointer

    def _host(self, offset: str, target: Target) -> str:
        text = self.text
        if target.type != "i64":
            offset = text.let(f"zext {target.type} {offset} to i64")
        address = offset if target.base == "0" else text.let(f"add i64 {offset}, {target.base}")
        return text.let(f"inttoptr i64 {address} to ptr")

    def _pointer(self, target: Target) -> str:
        first = self.text.let(f"extractelement <1 x {target.type}> {target.offsets}, i64 0")
        return self._host(first, target)

    def _hosts(self, target: Target, lanes: int) -> str:
        """Return the host address of every lane."""
        text, vector = self.text, f"<{lanes} x i64>"
        if target.type == "i64" and target.base == "0":
            return target.offsets
        wide = target.offsets
        if target.type != "i64":
            wide = text.let(f"zext <{lanes} x {target.type}> {wide} to {vector}")
        return text.let(f"add {vector} {wide}, {text.spread('i64', lanes, target.base)}")

    # Callout

    def _callout_block(
        self,
        effect: MemoryMessage,
        site: int,
        mask: str | None,
        lanes: int,
        slow: str,
        join: str,
        given: list[tuple[str, str]] | tuple[()],
    ) -> None:
        """Write the block `slow`: hand the whole message to the reference memory."""
        text = self.text
        text.label(slow)
        addresses, kind = self._addresses
        wide = addresses
        if kind != "i64":
            wide = text.let(f"zext <{lanes} x {kind}> {addresses} to <{lanes} x i64>")
        area = self.unit.context_pointer(Context.EXCHANGE)
        text.do(f"store <{lanes} x i64> {wide}, ptr {area}, align 8")
        position = EXCHANGE_DATA
        for value, vector in given:
            place = text.let(f"getelementptr i8, ptr {area}, i64 {position}")
            text.do(f"store {vector} {value}, ptr {place}, align 1")
            position += _vector_bytes(vector)
        surface = "0"
        if effect.surface is not None:
            surface = text.let(f"zext i32 {self.values.scalar(effect.surface)} to i64")
        bits = self._mask_bits(mask, lanes)
        callback = self.unit.context_pointer(Context.CALLBACK)
        failed = text.let(
            f"call i32 {callback}(i64 {site}, i64 {bits}, i64 {surface}, ptr %thread) cold"
        )
        wrong = text.let(f"icmp ne i32 {failed}, 0")
        refused, done = self._labels("refused", "answered")
        text.branch(wrong, refused, done)
        text.label(refused)
        self.unit.fault(FaultKind.MEMORY, self.pc)
        text.label(done)
        if isinstance(effect, Store | StoreBlock):
            text.jump(join)
        else:
            self._join = join

    def _answers(
        self, space: Space | None, scalar: str, lanes: int, parts: int
    ) -> tuple[list[str], str]:
        """Read what the callback has left, and go on."""
        del space
        text, vector = self.text, f"<{lanes} x {scalar}>"
        area = self.unit.context_pointer(Context.EXCHANGE)
        found: list[str] = []
        for part in range(parts):
            place = EXCHANGE_DATA + part * _vector_bytes(vector)
            pointer = text.let(f"getelementptr i8, ptr {area}, i64 {place}")
            found.append(text.let(f"load {vector}, ptr {pointer}, align 1"))
        after = text.block
        text.jump(self._join)
        return found, after


def _only_reads(effect: MemoryMessage) -> bool:
    return isinstance(effect, Atomic) and effect.operation.value == "load"


def _vector_bytes(vector: str) -> int:
    lanes, _, scalar = vector.strip("<>").partition(" x ")
    bits = {"half": 16, "float": 32, "double": 64}.get(scalar) or int(scalar[1:])
    return int(lanes) * bits // 8
