"""The instrument of bounds: accesses outside of their memory are told, and do not take place.

Which memory an address is of, `visim.engine.provenance` says from the program: what the address
was computed from. Where that is not known, the access stays as it is, and faults as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

from visim.engine.accesses import SURFACE_SHIFT
from visim.engine.provenance import UNSURE, Owners, PointerPlace, Provenance
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.predefined import BY_NAME, GENERALS
from visim.sanitize.bounds.arrays import OwnArrays
from visim.sanitize.bounds.needed import NeededBytes
from visim.sanitize.bounds.table import ENTRY_SHIFT, MOST_NAMES, ExtentTable
from visim.sanitize.words import loaded, word_at
from visim.sem.effects import (
    FIRST_COUNTER,
    Atomic,
    Effect,
    Load,
    LoadBlock,
    Place,
    Space,
    Store,
    StoreBlock,
    Watch,
    Within,
    operands,
)
from visim.sem.expr import (
    UOPS,
    Expr,
    bits_constant,
    broadcast,
    constant,
    known_integer,
    select,
)
from visim.types import UD, UQ

PREFIX = "bounds "
OWN_LOCAL = "the kernel's own local memory"
Access = Load | LoadBlock | Store | StoreBlock | Atomic
_GROUP_FIELDS = (4, 24, 28)
"""Where r0 has the coordinates of the group, in bytes."""
_MOST_LANES = 64
"""So many addresses of a message native code looks at by itself."""
_PADDED = 4
"""Elements of a vector of three as a block that all channels share is loaded."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What kernels reach by pointers that they start with: `flat` memory, and `local` memory.

    `own_local` are the bytes of local memory that are no argument: addresses in them are of no
    pointer, and neither are those in arguments that are `silent`, of which the compiler knows where
    they are. `hidden` are names of memory whose bounds are none of the program's business. `own`
    are arrays that the kernel declares in local memory. `printf` is what the pointer to the buffer
    of printf is called, which has `printf_bytes`. `has_groups` says that r0 has the coordinates of
    groups.
    """

    flat: tuple[PointerPlace, ...] = ()
    local: tuple[PointerPlace, ...] = ()
    own_local: int = 0
    silent: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    has_groups: bool = False
    own: OwnArrays = field(default_factory=OwnArrays)
    printf: str = ""
    printf_bytes: int = 0

    @property
    def constant_owners(self) -> Owners:
        """What local memory is of whose addresses no pointer goes into."""
        own = (OWN_LOCAL,) if self.own_local else ()
        return frozenset((*self.silent, *own))

    def owners_at(self, unit: LinkedUnit, pc: int) -> Owners:
        """Return what local memory an access is of whose address no pointer goes into."""
        name = self.own.names.get((unit.number, pc))
        return self.constant_owners if name is None else frozenset({name})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the memory, in the order of the table."""
        named = sorted({one.name for one in (*self.flat, *self.local)} | {*self.silent})
        own = [one.name for one in self.own.arrays]
        return (OWN_LOCAL, *own, *named)[:MOST_NAMES]


class BoundsInstrument:
    """Masks what is out of range, and tells of it.

    Where the engine is `native`, accesses have only to say in which one extent they stay: native
    code compares every address with where it may be in any case, and all that its passes do with
    that comparison (leave it out, hoist it, merge it) is done with the extent's.

    Args:
        kernel: the kernel without instruments.
        reach: what it reaches.
        table: where the extents are.
        native: whether native code runs the kernel, and every pointer of it has an extent.
    """

    def __init__(
        self, kernel: LinkedKernel, reach: Reach, table: ExtentTable, *, native: bool
    ) -> None:
        way = "native bounds" if native else "bounds"
        self.name = f"{way} at {table.address:x} {reach.own.key}"
        self.native = native
        self._kernel = kernel
        self._table = table
        self._numbers = {name: number for number, name in enumerate(reach.names)}
        self._hidden = reach.hidden
        self.group = group_of_thread() if reach.has_groups else None
        self._reach = reach
        self._flat = Provenance(kernel, reach.flat)
        self._local = Provenance(kernel, reach.local, constants=True)
        self.needed = NeededBytes(kernel)

    def effects(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]
    ) -> tuple[Effect, ...]:
        """Return the effects of an instruction, with accesses that stay in range."""
        del kernel
        if not any(isinstance(effect, Access) for effect in effects):
            return effects
        return _Instruction(self, self._kernel.units[unit.number], pc).bounded(effects)

    def extents(self, unit: LinkedUnit, pc: int, effect: Access) -> tuple[int, ...] | Expr:
        """Return where the table has the extents that an access may be in; none: not known."""
        table = self._table
        match effect.space:
            case Space.FLAT:
                return self._named(self._flat.of(unit, address_of(effect)))
            case Space.SLM:
                owners = self._local.of(unit, address_of(effect)) or self._reach.owners_at(unit, pc)
                return self._named(owners) or (table.local,)
            case Space.SURFACE if effect.surface is not None:
                index = known_integer(effect.surface)
                if index is None:
                    return ((effect.surface.to(UQ) & 0xFF) << ENTRY_SHIFT) + table.surfaces
                return () if index >= FIRST_COUNTER else (table.surface(index & 0xFF),)
            case _:
                return ()

    def _named(self, owners: Owners) -> tuple[int, ...]:
        if UNSURE in owners or owners & self._hidden or not owners <= self._numbers.keys():
            return ()
        return tuple(self._table.named(self._numbers[name]) for name in sorted(owners))


class _Instruction:
    """The instrumentation of one instruction."""

    def __init__(self, instrument: BoundsInstrument, unit: LinkedUnit, pc: int) -> None:
        self._instrument = instrument
        self._unit, self._pc = unit, pc
        self._found: list[Effect] = []
        self._loaded: dict[int, tuple[Access, Expr | None]] = {}
        self._known: dict[Expr, Expr] = {}
        self._given: tuple[Effect, ...] = ()

    def bounded(self, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        """Return the effects with accesses that stay in range."""
        self._given = effects
        for number, effect in enumerate(effects):
            renewed = self._renewed(effect)
            if isinstance(renewed, Access) and _is_plain(renewed):
                renewed = self._masked(effect, renewed, number)
            self._found.append(renewed)
        return tuple(self._found)

    def _masked(self, old: Effect, effect: Access, number: int) -> Access:
        """Return an access without the lanes that are out of range, of which is told."""
        extents = self._instrument.extents(self._unit, self._pc, effect)
        if extents == ():
            return effect
        within = self._within(old, effect, extents, number)
        if within is not None:
            kept = replace(effect, within=within)
            self._loaded[id(old)] = kept, None
            return kept
        where = address_of(effect)
        wide = where.to(UQ)
        each = extents if isinstance(extents, tuple) else (extents,)
        needed, inside = self._needed(old, effect), None
        for extent in each:
            fits = self._fits(needed, wide, extent)
            inside = fits if inside is None else inside | fits
        if inside is None:
            return effect
        outside = ~inside if effect.mask is None else effect.mask & ~inside
        if effect.space is Space.SURFACE and effect.surface is not None:
            wide = wide | broadcast(effect.surface.to(UQ) << SURFACE_SHIFT, wide.lanes)
        group = self._instrument.group
        self._found.append(Watch(f"{PREFIX}{number}", wide, outside, group))
        mask = inside if effect.mask is None else effect.mask & inside
        if isinstance(effect, Load | Store):
            found: Access = replace(effect, mask=mask, rectangle=None)
        else:
            found = replace(effect, mask=mask)
        self._loaded[id(old)] = found, inside
        return found

    def _within(
        self, old: Effect, effect: Access, extents: tuple[int, ...] | Expr, number: int
    ) -> Within | None:
        """Return where native code keeps an access by itself; None: it has to be masked."""
        instrument = self._instrument
        if not instrument.native or not isinstance(extents, tuple) or len(extents) != 1:
            return None
        if address_of(effect).lanes > _MOST_LANES or getattr(effect, "rectangle", None):
            return None
        extent = None if effect.space is Space.SURFACE else extents[0]
        name, needed = f"{PREFIX}{number}", self._needed(old, effect)
        return Within(extent, needed, name, instrument.group)

    def _needed(self, old: Effect, effect: Access) -> int:
        """Return the bytes of an access that have to be there.

        Compilers load vectors of three as four, and more of a block than anybody reads.
        """
        if not isinstance(effect, LoadBlock) or not isinstance(old, LoadBlock):
            return access_bytes(effect)
        if effect.count == _PADDED:
            return access_bytes(effect) - effect.type.bytes
        return self._instrument.needed.of(self._unit, self._given, old)

    def _fits(self, needed: int, wide: Expr, extent: Expr | int) -> Expr:
        """Return per lane whether so many bytes are in an extent."""
        at = bits_constant(extent, UQ, 1) if isinstance(extent, int) else extent
        start, size = (self._number(at + 8 * place) for place in (0, 1))
        offset = wide - broadcast(start, wide.lanes)
        size = broadcast(size, wide.lanes)
        first = offset.lt(size)
        return first if needed == 1 else first & (size - offset).ge(needed)

    def _number(self, at: Expr) -> Expr:
        """Return a number of the table."""
        word = word_at(at)
        self._found.append(word)
        return loaded(word)

    # What was loaded

    def _renewed(self, effect: Effect) -> Effect:
        """Return an effect whose expressions have what masked accesses loaded."""
        if not self._loaded or not any(map(self._is_stale, operands(effect))):
            return effect
        changed: dict[str, Any] = {}
        for name in effect.__slots__:
            value: Any = getattr(effect, name)
            if isinstance(value, Expr):
                changed[name] = self._new(value)
            elif isinstance(value, tuple):
                parts = cast("tuple[object, ...]", value)
                changed[name] = tuple(self._new(p) if isinstance(p, Expr) else p for p in parts)
        return replace(effect, **changed)

    def _is_stale(self, expr: Expr) -> bool:
        return self._new(expr) is not expr

    def _new(self, expr: Expr) -> Expr:
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._computed(expr)
        return found

    def _computed(self, expr: Expr) -> Expr:
        if expr.uop.name == "loaded":
            effect, component = expr.attribute
            masked = self._loaded.get(id(effect))
            if masked is None:
                return expr
            load, inside = masked
            fresh = replace(expr, attribute=(load, component))
            if inside is None:
                return fresh
            zero = constant(0, expr.type, expr.lanes)
            return select(broadcast(inside, expr.lanes), fresh, zero)
        args = tuple(self._new(arg) for arg in expr.args)
        same = all(new is old for new, old in zip(args, expr.args, strict=True))
        return expr if same else replace(expr, args=args)


def group_of_thread() -> tuple[Expr, Expr, Expr]:
    """Return the coordinates of a thread's group, which r0 has."""
    r0 = GENERALS[BY_NAME["%r0"].index]
    x, y, z = (
        Expr(UOPS["read"], UD, 1, (), Place(r0, offset, UD, 1, 1, 0, UD.bytes))
        for offset in _GROUP_FIELDS
    )
    return x, y, z


def _is_plain(effect: Access) -> bool:
    """Whether the bytes of an access are known before the kernel runs."""
    if not isinstance(effect, Load | Store):
        return True
    rectangle = effect.rectangle
    return effect.shape is None and (rectangle is None or not rectangle.parts)


def address_of(effect: Access) -> Expr:
    """Return where an access goes, or each of its lanes."""
    return effect.address if isinstance(effect, LoadBlock | StoreBlock) else effect.addresses


def element_bytes(effect: Access) -> int:
    """Return the bytes of an element of an access."""
    match effect:
        case Load() | LoadBlock() | Atomic():
            return effect.type.bytes
        case Store():
            return effect.values[0].type.bytes
        case StoreBlock():
            return effect.value.type.bytes


def access_bytes(effect: Access) -> int:
    """Return the bytes that one lane of an access reaches."""
    match effect:
        case Load():
            return effect.type.bytes * effect.components
        case LoadBlock():
            return effect.type.bytes * effect.count
        case Atomic():
            return effect.type.bytes
        case Store():
            return sum(value.type.bytes for value in effect.values)
        case StoreBlock():
            return effect.value.type.bytes * effect.value.lanes


__all__ = [
    "OWN_LOCAL",
    "PREFIX",
    "Access",
    "BoundsInstrument",
    "Reach",
    "access_bytes",
    "address_of",
    "element_bytes",
]
