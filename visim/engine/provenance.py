"""Which memory an address is of: the inputs of a kernel from which its instructions compute it.

Nothing is followed while a kernel runs. Where an access has been refused, the values of the whole
program are followed from its pointers on: an address belongs to the memory whose pointer it was
computed from, wherever it has got to, and not to that which happens to be near. Knows no engine.

The analysis is insensitive to the order of instructions (a may-analysis over the bytes of the
register image). Through memory nothing is followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.machine.allocations import OUT_OF_RANGE, Allocation, MemoryViolation
from visim.sem.effects import (
    Atomic,
    Effect,
    Load,
    LoadBlock,
    Place,
    Space,
    Store,
    StoreBlock,
    WriteRegister,
)
from visim.sem.expr import Expr

Owners = frozenset[str]
"""Names of memory."""

NOBODY: Owners = frozenset()
UNSURE = "?"
"""Stands among owners for memory that nothing is known of: its pointer was loaded, or computed
from the distance of others."""
_LOADED: Owners = frozenset({"?loaded"})
_DISTANCE: Owners = frozenset({"?distance"})
_MIXED: Owners = frozenset({"?mixed"})
_POINTER_BITS = 32
"""Loaded values of so many bits may be a pointer, or a half of one."""
_GRAIN = 4
"""Bytes of the image that are told apart."""
_SUMS = {"add", "and", "or", "xor"}
"""Micro-operations of a pointer and a number; what was loaded is a number beside a pointer."""
_THROUGH = {
    *("shl", "shr", "min", "max"),
    *("convert", "clamp", "bitcast", "broadcast", "take", "concat"),
}
"""Other micro-operations whose results are of what their operands are of."""


@dataclass(frozen=True, slots=True)
class PointerPlace:
    """Where the register image has a pointer at the start, and the name of what it points to."""

    register: int
    size: int
    name: str


class Provenance:
    """What the registers of a kernel may point to.

    Args:
        kernel: the kernel.
        pointers: the pointers that threads start with.
        constants: whether numbers of the program can be pointers, too: then what registers hold is
            `UNSURE` that have a pointer at one time and a number at another.
    """

    def __init__(
        self, kernel: LinkedKernel, pointers: Iterable[PointerPlace], *, constants: bool = False
    ) -> None:
        self._kernel = kernel
        self._bytes: dict[int, Owners] = {}
        for one in pointers:
            self._add(range(one.register, one.register + one.size, _GRAIN), frozenset({one.name}))
        writes = [
            (unit, effect)
            for unit in kernel.units
            for effect in _effects(kernel, unit)
            if isinstance(effect, WriteRegister)
        ]
        while self._write_all(writes):
            pass
        if constants and self._mix(writes):
            while self._write_all(writes):
                pass

    def _mix(self, writes: Iterable[tuple[LinkedUnit, WriteRegister]]) -> bool:
        """Mark registers that hold a pointer at one time and a number at another."""
        numbers = {
            grain // _GRAIN * _GRAIN
            for unit, effect in writes
            if not self._of(unit, effect.value, {})
            for grain in self._grains(unit, effect.place)
        }
        return self._add(numbers & self._bytes.keys(), _MIXED)

    def owners(self, unit: LinkedUnit, pc: int) -> Owners:
        """Return what the flat addresses of an instruction may be of."""
        found = NOBODY
        for effect in self._kernel.known_effects(unit, pc):
            address = flat_address(effect)
            if address is not None:
                found |= self.of(unit, address)
        return found

    def of(self, unit: LinkedUnit, expr: Expr) -> Owners:
        """Return what a value may be a pointer to; `UNSURE` is there if it may be anything."""
        found = self._of(unit, expr, {})
        marks = found & (_LOADED | _DISTANCE | _MIXED)
        return found - marks | {UNSURE} if marks else found

    def _of(self, unit: LinkedUnit, expr: Expr, known: dict[Expr, Owners]) -> Owners:
        found = known.get(expr)
        if found is None:
            found = known[expr] = self._computed(unit, expr, known)
        return found

    def _computed(self, unit: LinkedUnit, expr: Expr, known: dict[Expr, Owners]) -> Owners:
        name, args = expr.uop.name, expr.args
        if name == "read":
            grains = self._grains(unit, expr.attribute)
            return NOBODY.union(*(self._bytes.get(grain, NOBODY) for grain in grains))
        if name in {"loaded", "gather", "function"}:
            return _LOADED if expr.type.bits >= _POINTER_BITS else NOBODY
        if name == "select":
            args = args[1:]
        elif name not in _THROUGH and name not in _SUMS and name not in {"sub", "neg"}:
            return NOBODY
        found = [self._of(unit, arg, known) for arg in args]
        if name in {"sub", "neg"}:  # The distance of two pointers is none.
            return _DISTANCE if found[-1] - _LOADED else found[0] if name == "sub" else NOBODY
        if name in _SUMS and any(one - _LOADED for one in found):
            found = [one - _LOADED for one in found if one != _LOADED]
        return NOBODY.union(*found)

    def _write_all(self, writes: Iterable[tuple[LinkedUnit, WriteRegister]]) -> bool:
        """Note what writes leave in registers; return whether anything is new."""
        changed = False
        for unit, effect in writes:
            changed |= self._write(unit, effect)
        return changed

    def _write(self, unit: LinkedUnit, effect: WriteRegister) -> bool:
        """Note what a write leaves in registers; return whether anything is new."""
        found = self._of(unit, effect.value, {})
        return bool(found) and self._add(self._grains(unit, effect.place), found)

    def _add(self, grains: Iterable[int], owners: Owners) -> bool:
        changed = False
        for place in grains:
            grain = place // _GRAIN * _GRAIN
            before = self._bytes.get(grain, NOBODY)
            if not owners <= before:
                self._bytes[grain] = before | owners
                changed = True
        return changed

    def _grains(self, unit: LinkedUnit, place: Place) -> set[int]:
        """Return the grains of the image that a place touches."""
        base = self._kernel.offset(unit, place.variable) + place.offset
        size = max(1, place.type.bytes)
        starts = (
            base + lane // place.width * place.row_stride + lane % place.width * place.stride
            for lane in range(place.lanes)
        )
        return {
            grain
            for start in starts
            for grain in range(start // _GRAIN * _GRAIN, start + size, _GRAIN)
        }


def attributed(
    kernel: LinkedKernel,
    unit: LinkedUnit,
    pc: int,
    violation: MemoryViolation,
    memory: tuple[Sequence[Allocation], Sequence[PointerPlace]],
) -> MemoryViolation:
    """Return a refused access with the memory that its address was computed from.

    Args:
        kernel: the program.
        unit: the unit that the instruction is in.
        pc: its program counter.
        violation: the refused access.
        memory: what kernels reach by address, and the pointers that threads start with.
    """
    allocations, pointers = memory
    if violation.space != "flat" or violation.reason != OUT_OF_RANGE or not pointers:
        return violation
    owners = Provenance(kernel, pointers).owners(unit, pc)
    candidates = [one for one in allocations if one.name in owners]
    if not candidates:
        return violation
    nearest = min(candidates, key=lambda one: abs(one.distance(violation.address)))
    return violation.beside(nearest)


def flat_address(effect: Effect) -> Expr | None:
    """Return the addresses of a message to flat memory; None: it is none."""
    match effect:
        case Load(space=Space.FLAT) | Store(space=Space.FLAT) | Atomic(space=Space.FLAT):
            return effect.addresses
        case LoadBlock(space=Space.FLAT) | StoreBlock(space=Space.FLAT):
            return effect.address
        case _:
            return None


def _effects(kernel: LinkedKernel, unit: LinkedUnit) -> list[Effect]:
    return [effect for pc in range(len(unit.body)) for effect in kernel.known_effects(unit, pc)]


__all__ = ["NOBODY", "UNSURE", "Owners", "PointerPlace", "Provenance", "attributed", "flat_address"]
