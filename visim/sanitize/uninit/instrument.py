"""The instrument of uninitialised values: shadows move with values, and tell where they matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.predefined import BY_NAME, GENERALS
from visim.sanitize.bounds.instrument import group_of_thread
from visim.sanitize.uninit.dirty import DirtyVariables, Name
from visim.sanitize.uninit.layout import has_shadow, shadow_of, shadow_of_predicate
from visim.sanitize.uninit.memory import FLAT_BITS, SCRATCH_BITS, SLM_BITS, ShadowSpace
from visim.sanitize.uninit.rules import Shadow, Shadows, any_of, as_bits, whole
from visim.sanitize.words import loaded, word_at
from visim.sem.atomics import AtomicOperation
from visim.sem.effects import (
    FIRST_COUNTER,
    Atomic,
    CallFunction,
    Effect,
    Jump,
    Load,
    LoadBlock,
    Message,
    Place,
    RegisterWrite,
    Request,
    Space,
    Store,
    StoreBlock,
    Switch,
    Transfer,
    Watch,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
    operands,
)
from visim.sem.expr import (
    UOPS,
    Expr,
    below,
    bits_constant,
    broadcast,
    constant,
    known_integer,
    lane_numbers,
    take,
    unsigned,
    vector_constant,
)
from visim.sem.tracer import Tracer
from visim.types import BOOL, UD, UQ, DataType

PREFIX = "uninit "
STORE, BRANCH, ADDRESS, READ, KEEP = (
    PREFIX + what for what in ("store", "branch", "address", "read", "keep")
)

_CLEAN = frozenset(
    {"constant", "vector", "execution", "address", "addresses", "state", "function", "clock"}
    | {"fused"}
)
_OUTPUTS = frozenset({Space.FLAT, Space.SURFACE})
_PADDED = 4
"""Elements of a vector of three as it is stored."""
_THREAD_FIELD = 8
"""Where r0 has the number of the thread in its group, in bytes."""


@dataclass(frozen=True, slots=True)
class Tracking:
    """Which memories have shadows, and whether registers count that were never written.

    `distance` is that of the shadows of what indirect operands reach. `has_groups` says that r0 has
    the coordinates of groups. `origins` says that it is also told where undefined values are kept
    in memory that is no output, and read from arrays in registers, which says where they come from.
    """

    memories: frozenset[Space]
    strict: bool
    distance: int | None
    has_groups: bool = False
    origins: bool = False


class UninitInstrument:
    """Moves shadows along with values, and tells where undefined ones matter.

    Args:
        kernel: the kernel without instruments; its image has room for shadows.
        tracking: what is looked at.
        space: where shadows of memory are.
    """

    def __init__(self, kernel: LinkedKernel, tracking: Tracking, space: ShadowSpace) -> None:
        self.tracking = tracking
        self.space = space
        spaces = ", ".join(sorted(tracking.memories))
        told = f"strict={tracking.strict} origins={tracking.origins}"
        self.name = f"uninit of {spaces} {told} at {space.base:x}"
        self.group = group_of_thread() if tracking.has_groups else None
        self.grf_bytes = kernel.platform.grf_bytes
        self._dirty = DirtyVariables(kernel, self.is_tracked, strict=tracking.strict)

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction with those on shadows."""
        del kernel, pc
        return _Instruction(self, unit, self._dirty.of(unit)).instrumented(effects)

    def is_tracked(self, effect: Effect) -> bool:
        """Whether a message reaches memory that has a shadow."""
        if not isinstance(effect, Load | LoadBlock | Store | StoreBlock | Atomic):
            return False
        if effect.space not in self.tracking.memories:
            return False
        index = None if effect.surface is None else known_integer(effect.surface)
        return index is None or index < FIRST_COUNTER


class _Instruction:
    """The instrumentation of one instruction."""

    def __init__(
        self, instrument: UninitInstrument, unit: LinkedUnit, dirty: frozenset[Name]
    ) -> None:
        self._instrument = instrument
        self._unit = unit
        self._dirty = dirty
        self._shadows = Shadows(self._leaf)
        self._loads: dict[int, Load | LoadBlock] = {}
        self._added: list[Effect] = []

    def instrumented(self, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        """Return the effects with what is added to them."""
        for effect in effects:
            if isinstance(effect, Transfer):
                self._transfer(effect)
            if isinstance(effect, Message):
                self._before(effect)
            if not isinstance(effect, RegisterWrite):
                self._added.append(effect)
            if isinstance(effect, Message):
                self._behind(effect)
        writes = [effect for effect in effects if isinstance(effect, RegisterWrite)]
        shadows = [shadow for write in writes for shadow in self._written(write)]
        return (*self._added, *writes, *shadows)

    # Leaves

    def _leaf(self, expr: Expr) -> Shadow:
        match expr.uop.name:
            case "read":
                return self._read(expr.attribute, expr.lanes)
            case "predicate":
                variable, offset = expr.attribute
                if variable.name not in self._dirty:
                    return None
                shadow = shadow_of_predicate(variable)
                return ~Expr(UOPS["predicate"], BOOL, expr.lanes, (), (shadow, offset))
            case "gather":
                return self._gathered(expr)
            case "loaded":
                effect, component = expr.attribute
                load = self._loads.get(id(effect))
                if load is None:
                    return None
                kind = unsigned(expr.type.bits)
                return Expr(UOPS["loaded"], kind, expr.lanes, (), (load, component))
            case name if name in _CLEAN:
                return None
            case name:
                raise TypeError(f"leaf {name} has no rule for shadows")

    def _read(self, place: Place, lanes: int) -> Shadow:
        variable = place.variable
        if not has_shadow(variable) or variable.index not in self._dirty:
            return None
        shadow = self._place(place)
        return ~Expr(UOPS["read"], shadow.type, lanes, (), shadow)

    def _place(self, place: Place) -> Place:
        """Return the place of the shadow of a place."""
        return Place(
            shadow_of(place.variable, self._instrument.grf_bytes),
            place.offset,
            unsigned(place.type.bits),
            place.lanes,
            place.width,
            place.row_stride,
            place.stride,
        )

    def _gathered(self, expr: Expr) -> Shadow:
        distance = self._instrument.tracking.distance
        where = self._shadows.of(expr.args[0])
        if distance is None:
            return where
        addresses = _further(expr.args[0], distance)
        kind = unsigned(expr.type.bits)
        found = ~Expr(UOPS["gather"], kind, expr.lanes, (addresses,))
        return found if where is None else any_of([found, where])

    # Registers

    def _written(self, write: RegisterWrite) -> Iterable[Effect]:
        shadow, mask = self._shadows.of(write.value), write.mask
        chosen = None if mask is None else self._shadows.of(mask)
        shadow = shadow if chosen is None else any_of([shadow, chosen])
        kind, lanes = write.value.type, write.value.lanes
        self._array_read(write)
        match write:
            case WriteRegister(place):
                if not has_shadow(place.variable) or place.variable.index not in self._dirty:
                    return
                yield WriteRegister(self._place(place), _defined(shadow, kind, lanes), mask)
            case WritePredicate(variable, offset):
                if variable.name not in self._dirty:
                    return
                known = constant(True, BOOL, lanes) if shadow is None else ~whole(shadow)
                yield WritePredicate(shadow_of_predicate(variable), offset, known, mask)
            case WriteIndirect(addresses):
                distance = self._instrument.tracking.distance
                self._tell(ADDRESS, self._shadows.of(addresses), mask, lane_numbers(lanes).to(UQ))
                if distance is not None:
                    there = _further(addresses, distance)
                    yield WriteIndirect(there, _defined(shadow, kind, lanes), mask)
            case WriteAddress() | WriteState():
                self._tell(ADDRESS, shadow, mask, lane_numbers(lanes).to(UQ))

    def _array_read(self, write: RegisterWrite) -> None:
        """Tell where elements that nothing has written are read from arrays in registers."""
        if not self._instrument.tracking.origins:
            return
        for leaf in below(operands(write)):
            if leaf.uop.name == "gather":
                found, lanes = self._shadows.of(leaf), leaf.lanes
                self._tell(READ, found, write.mask, constant(0, UQ, lanes))

    # Where undefined values matter

    def _tell(self, name: str, shadow: Shadow, mask: Expr | None, values: Expr) -> None:
        if shadow is None:
            return
        lanes = whole(shadow)
        if lanes.lanes != values.lanes:
            every = Expr(UOPS["any"], BOOL, lanes.lanes, (lanes,))
            lanes = take(every, (0,) * values.lanes)
        if mask is not None and mask.lanes == lanes.lanes:
            lanes = mask & lanes
        self._added.append(Watch(name, values, lanes, self._instrument.group))

    def _transfer(self, effect: Transfer) -> None:
        match effect:
            case Jump(_, condition):
                self._branch(condition, 0, on=False)
            case Switch(_, index):
                self._branch(index, 0, on=False)
            case CallFunction(_, target, offset, mask):
                self._branch(target, 0, on=False)
                self._branch(mask, offset)
            case _:
                self._branch(effect.mask, effect.offset)

    def _branch(self, condition: Expr | None, offset: int, *, on: bool = True) -> None:
        if condition is None:
            return
        lanes = condition.lanes
        numbers = lane_numbers(lanes, offset).to(UQ)
        mask = Tracer.execution(offset, lanes) if on else None
        self._tell(BRANCH, self._shadows.of(condition), mask, numbers)

    # Messages

    def _before(self, effect: Message) -> None:
        """Tell of undefined addresses and masks, and of undefined values that are stored."""
        mask = effect.mask
        where = _addresses(effect)
        shadows = [self._shadows.of(one) for one in where if one.lanes == where[0].lanes]
        found = any_of(shadows)
        chosen = None if mask is None else self._shadows.of(mask)
        numbers = lane_numbers(where[0].lanes).to(UQ)
        self._tell(ADDRESS, found, mask, numbers)
        if chosen is not None and mask is not None:
            self._tell(BRANCH, chosen, None, lane_numbers(mask.lanes).to(UQ))
        values = _stored(effect)
        space = Space.SURFACE if isinstance(effect, Request) else effect.space
        if values and space in _OUTPUTS:
            self._output(effect, values, STORE)
        elif values and self._instrument.tracking.origins:
            self._output(effect, values, KEEP)

    def _output(self, effect: Message, values: tuple[Expr, ...], name: str) -> None:
        shadow = any_of([self._shadows.of(value) for value in _without_padding(values)])
        lanes = values[0].lanes
        if isinstance(effect, Store | Atomic) and effect.surface is None:
            told = effect.addresses.to(UQ)
        elif isinstance(effect, StoreBlock) and effect.surface is None:
            told = broadcast(effect.address.to(UQ), lanes)
        else:
            told = constant(0, UQ, lanes)
        self._tell(name, shadow, effect.mask, told)

    def _behind(self, effect: Message) -> None:
        """Move shadows between registers and memory."""
        if isinstance(effect, Request) or not self._instrument.is_tracked(effect):
            return
        match effect:
            case Load() if effect.rectangle is None:
                where = self._where(effect, effect.addresses)
                kind = unsigned(effect.type.bits)
                load = Load(Space.SHADOW, None, where, kind, effect.components, effect.mask)
                self._load(effect, load, effect.components, where.lanes, effect.addresses)
            case LoadBlock():
                where = self._where(effect, effect.address)
                kind = unsigned(effect.type.bits)
                load = LoadBlock(Space.SHADOW, None, where, kind, effect.count, effect.mask)
                self._load(effect, load, 1, effect.count, effect.address)
            case Store():
                where = self._where(effect, effect.addresses)
                values = tuple(self._bits(value) for value in effect.values)
                self._added.append(Store(Space.SHADOW, None, where, values, effect.mask))
            case StoreBlock():
                where = self._where(effect, effect.address)
                value = self._bits(effect.value)
                self._added.append(StoreBlock(Space.SHADOW, None, where, value, effect.mask))
            case Atomic():
                self._atomic(effect)
            case _:
                pass

    def _load(
        self,
        effect: Load | LoadBlock | Atomic,
        load: Load | LoadBlock,
        components: int,
        lanes: int,
        addresses: Expr,
    ) -> None:
        """Load shadows, and tell where anything is undefined that is read."""
        self._added.append(load)
        self._loads[id(effect)] = load
        kind = load.type
        found = [
            Expr(UOPS["loaded"], kind, lanes, (), (load, component)).ne(0)
            for component in range(components)
        ]
        any_lane = any_of(found)
        told = addresses.to(UQ)
        if effect.space is Space.SURFACE and effect.surface is not None:
            told = told | broadcast(effect.surface.to(UQ) << 48, told.lanes)
        mask = effect.mask
        self._tell(READ, any_lane, mask, told)

    def _atomic(self, effect: Atomic) -> None:
        where = self._where(effect, effect.addresses)
        kind = unsigned(effect.type.bits)
        load = Load(Space.SHADOW, None, where, kind, 1, effect.mask)
        self._load(effect, load, 1, where.lanes, effect.addresses)
        if effect.operation is AtomicOperation.XCHG:
            value = self._bits(effect.operands[0])
            self._added.append(Store(Space.SHADOW, None, where, (value,), effect.mask))

    def _bits(self, value: Expr) -> Expr:
        """Return the shadow of a value as it is stored: bits that are undefined."""
        kind, shadow = unsigned(value.type.bits), self._shadows.of(value)
        if shadow is None:
            return bits_constant(0, kind, value.lanes)
        return as_bits(shadow, value.type)

    def _where(self, effect: Load | LoadBlock | Store | StoreBlock | Atomic, place: Expr) -> Expr:
        """Return where the shadows of some bytes are."""
        wide, lanes, space = place.to(UQ), place.lanes, self._instrument.space
        match effect.space:
            case Space.FLAT:
                return _low(place, FLAT_BITS) + space.base
            case Space.SLM:
                return _low(place, SLM_BITS) + space.slm
            case Space.SCRATCH:
                own = (self._thread() << SCRATCH_BITS) + space.scratch
                return _low(place, SCRATCH_BITS) + broadcast(own, lanes)
            case _:
                index = effect.surface
                if index is None:
                    raise TypeError("a surface message without a surface")
                entry = ((index.to(UQ) & 0xFF) << 3) + space.table
                start = word_at(entry)
                self._added.append(start)
                return wide + broadcast(loaded(start), lanes)

    @staticmethod
    def _thread() -> Expr:
        r0 = GENERALS[BY_NAME["%r0"].index]
        place = Place(r0, _THREAD_FIELD, UD, 1, 1, 0, UD.bytes)
        return (Expr(UOPS["read"], UD, 1, (), place) & 0xFF).to(UQ)


def _low(place: Expr, bits: int) -> Expr:
    """Return the low bits of an address; rows of those that have no others stay rows."""
    wide = place.to(UQ)
    return wide if place.type.bits <= bits else wide & (1 << bits) - 1


def _defined(shadow: Shadow, kind: DataType, lanes: int) -> Expr:
    """Return a shadow as registers hold it: set bits are defined."""
    bits = unsigned(kind.bits)
    if shadow is None:
        return bits_constant((1 << kind.bits) - 1, bits, lanes)
    return ~as_bits(shadow, kind)


def _further(addresses: Expr, distance: int) -> Expr:
    """Return register addresses that are so much higher, in the form that rows have."""
    if addresses.uop.name == "add" and addresses.args[1].uop.name == "vector":
        start, steps = addresses.args
        moved = tuple((step + distance) % 2**32 for step in steps.attribute)
        return start + vector_constant(moved, UD)
    return addresses + constant(distance, UD, addresses.lanes)


def _addresses(effect: Message) -> tuple[Expr, ...]:
    """Return what says where a message goes."""
    match effect:
        case Load() | Store() | Atomic():
            return (effect.addresses,)
        case LoadBlock() | StoreBlock():
            return (effect.address,)
        case Request():
            return effect.places or (effect.surface,)


def _without_padding(values: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the values of a store that matter: compilers store vectors of three as four."""
    return values[:3] if len(values) == _PADDED else values


def _stored(effect: Message) -> tuple[Expr, ...]:
    """Return the values that a message leaves in memory."""
    match effect:
        case Store():
            return effect.values
        case StoreBlock():
            return (effect.value,)
        case Atomic():
            return effect.operands
        case Request():
            return effect.content
        case _:
            return ()


__all__ = ["ADDRESS", "BRANCH", "KEEP", "PREFIX", "READ", "STORE", "Tracking", "UninitInstrument"]
