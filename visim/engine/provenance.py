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

from visim.isa import Unexecutable
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

_NOBODY: Owners = frozenset()
_GRAIN = 4
"""Bytes of the image that are told apart."""
_THROUGH = {
    *("add", "and", "or", "xor", "shl", "shr", "min", "max"),
    *("convert", "clamp", "bitcast", "broadcast", "take", "concat"),
}
"""Micro-operations whose results are of what their operands are of."""


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
    """

    def __init__(self, kernel: LinkedKernel, pointers: Iterable[PointerPlace]) -> None:
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

    def owners(self, unit: LinkedUnit, pc: int) -> Owners:
        """Return what the flat addresses of an instruction may be of."""
        found = _NOBODY
        for effect in _effects_of(self._kernel, unit, pc):
            address = flat_address(effect)
            if address is not None:
                found |= self.of(unit, address)
        return found

    def of(self, unit: LinkedUnit, expr: Expr) -> Owners:
        """Return what a value may be a pointer to."""
        return self._of(unit, expr, {})

    def _of(self, unit: LinkedUnit, expr: Expr, known: dict[Expr, Owners]) -> Owners:
        found = known.get(expr)
        if found is None:
            found = known[expr] = self._computed(unit, expr, known)
        return found

    def _computed(self, unit: LinkedUnit, expr: Expr, known: dict[Expr, Owners]) -> Owners:
        name, args = expr.uop.name, expr.args
        if name == "read":
            grains = self._grains(unit, expr.attribute)
            return _NOBODY.union(*(self._bytes.get(grain, _NOBODY) for grain in grains))
        if name == "sub":  # The distance of two pointers is none.
            taken = self._of(unit, args[1], known)
            return self._of(unit, args[0], known) if not taken else _NOBODY
        if name == "select":
            args = args[1:]
        elif name not in _THROUGH:
            return _NOBODY
        return _NOBODY.union(*(self._of(unit, arg, known) for arg in args))

    def _write_all(self, writes: Iterable[tuple[LinkedUnit, WriteRegister]]) -> bool:
        """Note what writes leave in registers; return whether anything is new."""
        changed = False
        for unit, effect in writes:
            changed |= self._write(unit, effect)
        return changed

    def _write(self, unit: LinkedUnit, effect: WriteRegister) -> bool:
        """Note what a write leaves in registers; return whether anything is new."""
        found = self.of(unit, effect.value)
        return bool(found) and self._add(self._grains(unit, effect.place), found)

    def _add(self, grains: Iterable[int], owners: Owners) -> bool:
        changed = False
        for place in grains:
            grain = place // _GRAIN * _GRAIN
            before = self._bytes.get(grain, _NOBODY)
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
    return [effect for pc in range(len(unit.body)) for effect in _effects_of(kernel, unit, pc)]


def _effects_of(kernel: LinkedKernel, unit: LinkedUnit, pc: int) -> Sequence[Effect]:
    try:
        return kernel.effects(unit, pc)
    except Unexecutable:
        return ()


__all__ = ["Owners", "PointerPlace", "Provenance", "attributed", "flat_address"]
