"""Accesses of which quick looks need not keep who made them: they cannot race, or others tell.

Three rules of the literature leave checks out:

- What no instruction of the kernel writes cannot race (read-only elimination).
- Loads of local memory do not race where no instruction between the same barriers writes it
  (barrier intervals). All threads of a group are between the same barriers: quick looks see to it.
- An access to the same bytes as the next one of its block need not be kept beside that, if that
  tells at least as much: a store does what a load does (redundant check elimination).

Each access has to stay in its extents, and no two arguments share memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from visim.engine.provenance import UNSURE, Owners, Provenance
from visim.isa.forms import LabelMark, SubroutineMark
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.bounds.instrument import Access, Reach, access_bytes, address_of
from visim.sem.effects import (
    Barrier,
    Call,
    CallFunction,
    Effect,
    Fence,
    Goto,
    Jump,
    Load,
    LoadBlock,
    Place,
    RegisterWrite,
    Return,
    Space,
    Switch,
    Synchronization,
    Transfer,
    WriteRegister,
)
from visim.sem.expr import Expr, below, known_integer

_Key = tuple[int, int]
"""A unit's number, and a program counter."""
_Memory = str | int
"""The name of flat memory, or a binding table index."""
_ANY: _Memory = UNSURE


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An access that the next one to the same bytes may stand for."""

    key: _Key
    where: object
    reads: frozenset[int]
    is_load: bool


def written_memory(kernel: LinkedKernel, reach: Reach) -> frozenset[str] | None:
    """Return the names of all memory that a kernel may write; None: any, or also by surfaces."""
    written = _Program(kernel, reach).written()
    names = frozenset(one for one in written if isinstance(one, str))
    if _ANY in written or len(names) < len(written):
        return None
    return names | reach.hidden


class _Program:
    """The accesses of a kernel, and what memory of arguments they may reach."""

    def __init__(self, kernel: LinkedKernel, reach: Reach) -> None:
        self._kernel, self._reach = kernel, reach
        self._flat = Provenance(kernel, reach.flat)

    def accesses(self) -> Iterator[tuple[LinkedUnit, int, Access]]:
        """Yield the accesses to memory, each with its unit and its program counter."""
        for unit in self._kernel.units:
            for pc in range(len(unit.body)):
                for effect in self._kernel.known_effects(unit, pc):
                    if isinstance(effect, Access):
                        yield unit, pc, effect

    def memory(self, unit: LinkedUnit, effect: Access) -> set[_Memory]:
        """Return what memory of arguments an access may reach."""
        match effect.space:
            case Space.SURFACE if effect.surface is not None:
                index = known_integer(effect.surface)
                return {_ANY if index is None else index}
            case Space.FLAT:
                owners: Owners = self._flat.of(unit, address_of(effect))
                if owners and owners <= self._reach.hidden:
                    return set()
                return set(owners) or {_ANY}
            case _:
                return set()

    def written(self) -> set[_Memory]:
        """Return what memory of arguments is written."""
        found = set[_Memory]()
        for unit, _, effect in self.accesses():
            if not isinstance(effect, Load | LoadBlock):
                found |= self.memory(unit, effect)
        return found


class Needless:
    """Tells which accesses of a kernel need not be kept.

    Args:
        kernel: the kernel without instruments.
        reach: what it reaches.
        is_apart: whether no two arguments share memory.
    """

    def __init__(self, kernel: LinkedKernel, reach: Reach, *, is_apart: bool) -> None:
        self._kernel, self._program = kernel, _Program(kernel, reach)
        self._found: set[tuple[_Key, Space]] = set()
        if is_apart:
            self._read_only()
        self._between_barriers()
        self._redundant()

    def __call__(self, unit: LinkedUnit, pc: int, effect: Access) -> bool:
        """Return whether an access need not be kept."""
        return ((unit.number, pc), effect.space) in self._found

    def __len__(self) -> int:
        return len(self._found)

    # What nobody writes

    def _read_only(self) -> None:
        """Note loads of memory that nothing writes."""
        written = self._program.written()
        spaces = {Space.SURFACE if isinstance(one, int) else Space.FLAT for one in written}
        if _ANY in written or len(spaces) > 1:
            return
        for unit, pc, effect in self._program.accesses():
            known = self._program.memory(unit, effect)
            other = {Space.FLAT, Space.SURFACE} - {effect.space}
            if not isinstance(effect, Load | LoadBlock) or effect.space is Space.SLM:
                continue
            if _ANY not in known and not known & written and not spaces & other:
                self._found.add(((unit.number, pc), effect.space))

    # Between barriers

    def _between_barriers(self) -> None:
        """Note loads of local memory that no store is between the same barriers with."""
        unit, *functions = self._kernel.units
        if functions:
            return
        regions = _Regions(len(unit.body) + 1)
        for pc in range(len(unit.body)):
            effects = self._kernel.known_effects(unit, pc)
            if any(isinstance(one, Call | CallFunction | Switch) for one in effects):
                return
            if not (_is_barrier(effects) and self._is_fenced(unit, pc)):
                for target in _targets(unit, pc, effects):
                    regions.join(pc, target)
        written = {
            regions.of(pc)
            for _, pc, effect in self._program.accesses()
            if effect.space is Space.SLM and not isinstance(effect, Load | LoadBlock)
        }
        for _, pc, effect in self._program.accesses():
            if effect.space is Space.SLM and regions.of(pc) not in written:
                self._found.add(((0, pc), Space.SLM))

    def _is_fenced(self, unit: LinkedUnit, pc: int) -> bool:
        """Whether local memory is fenced in front of a barrier, with no access to it between."""
        for place in range(pc - 1, -1, -1):
            if isinstance(unit.body[place], LabelMark | SubroutineMark):
                return False
            for effect in self._kernel.known_effects(unit, place):
                if isinstance(effect, Fence):
                    if effect.memory in {None, Space.SLM}:
                        return True
                elif isinstance(effect, Barrier) or getattr(effect, "space", None) is Space.SLM:
                    return False
        return False

    # The same bytes again

    def _redundant(self) -> None:
        """Note accesses for which the next one of their block to the same bytes stands."""
        for unit in self._kernel.units:
            waiting: list[_Waiting] = []
            for pc in range(len(unit.body)):
                effects = self._kernel.known_effects(unit, pc)
                ends = isinstance(unit.body[pc], LabelMark | SubroutineMark)
                if ends or any(isinstance(one, _ENDS) for one in effects):
                    waiting = []
                    continue
                accesses = [one for one in effects if isinstance(one, Access)]
                if len(accesses) == 1:
                    waiting = self._met(waiting, self._waiting(unit, pc, accesses[0]), accesses[0])
                written = self._written(unit, effects)
                waiting = [
                    one for one in waiting if written is not None and not one.reads & written
                ]

    def _met(self, waiting: list[_Waiting], new: _Waiting | None, effect: Access) -> list[_Waiting]:
        """Return what waits behind an access; what it stands for is noted."""
        if new is None:
            return waiting
        left: list[_Waiting] = []
        for one in waiting:
            if one.where == new.where and (one.is_load or not new.is_load):
                self._found.add((one.key, effect.space))
            else:
                left.append(one)
        return [*left, new]

    def _waiting(self, unit: LinkedUnit, pc: int, effect: Access) -> _Waiting | None:
        """Return an access to plain memory as one that may wait."""
        if effect.space not in {Space.FLAT, Space.SURFACE, Space.SLM} or effect.mask is None:
            return None
        if getattr(effect, "rectangle", None) or getattr(effect, "operation", None):
            return None
        parts = [address_of(effect), effect.mask]
        parts += [] if effect.surface is None else [effect.surface]
        nodes = below(parts)
        if any(node.uop.name in {"loaded", "gather", "function", "fused"} for node in nodes):
            return None
        reads = frozenset(
            grain
            for node in nodes
            if node.uop.name == "read"
            for grain in _grains(self._kernel, unit, node.attribute)
        )
        where = effect.space, access_bytes(effect), *map(_shown, parts)
        return _Waiting((unit.number, pc), where, reads, isinstance(effect, Load | LoadBlock))

    def _written(self, unit: LinkedUnit, effects: tuple[Effect, ...]) -> set[int] | None:
        """Return the grains of the image that an instruction writes; None: any, or predicates."""
        found = set[int]()
        for effect in effects:
            if isinstance(effect, WriteRegister):
                found |= _grains(self._kernel, unit, effect.place)
            elif isinstance(effect, RegisterWrite):
                return None
        return found


_ENDS = (*Synchronization.__args__, *Transfer.__args__, Fence)
"""Effects behind which others may have accessed the same bytes, or channels are others."""


class _Regions:
    """Instructions that control gets from one to the other between without a barrier between."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def of(self, pc: int) -> int:
        """Return the region of an instruction."""
        while self._parents[pc] != pc:
            self._parents[pc] = self._parents[self._parents[pc]]
            pc = self._parents[pc]
        return pc

    def join(self, one: int, other: int) -> None:
        """Put two instructions into one region."""
        self._parents[self.of(one)] = self.of(other)


def _targets(unit: LinkedUnit, pc: int, effects: tuple[Effect, ...]) -> Iterator[int]:
    """Yield where control may go behind an instruction; channels that do not leave go on."""
    for effect in effects:
        if isinstance(effect, Goto | Jump):
            yield unit.labels[effect.label]
    always = any(isinstance(one, Jump) and one.condition is None for one in effects)
    leaves = any(isinstance(one, Return) and one.mask is None for one in effects)
    if not always and not leaves:
        yield pc + 1


def _is_barrier(effects: tuple[Effect, ...]) -> bool:
    return any(isinstance(one, Barrier) for one in effects)


def _grains(kernel: LinkedKernel, unit: LinkedUnit, place: Place) -> set[int]:
    """Return the bytes of the register image that a place touches."""
    base = kernel.offset(unit, place.variable) + place.offset
    size = max(1, place.type.bytes)
    lanes = (divmod(lane, place.width) for lane in range(place.lanes))
    starts = (base + row * place.row_stride + column * place.stride for row, column in lanes)
    return {byte for start in starts for byte in range(start, start + size)}


def _shown(expr: Expr) -> object:
    """Return what is equal for expressions that compute the same of the same registers."""
    kind = expr.uop.name, expr.type, expr.lanes
    return (*kind, expr.attribute, *map(_shown, expr.args))


__all__ = ["Needless"]
