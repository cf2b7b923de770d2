"""Where a unit's variables are in its MIR: in webs, which become values, or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from visim import predefined
from visim.engine.blocks import CR0
from visim.engine.jit.analysis.flow import Flow, is_dynamic
from visim.engine.jit.ir.places import fits_variable
from visim.engine.jit.lift.drafts import Draft, Drafts, Name
from visim.engine.jit.lift.webs import Variable, Web, Webs, variable_of, whole
from visim.engine.jit.mir.attributes import Bank
from visim.engine.jit.mir.values import Value
from visim.linker.program import LinkedKernel
from visim.operands import General
from visim.sem.effects import (
    Effect,
    Place,
    WriteAddress,
    WritePredicate,
    WriteRegister,
    WriteState,
    expressions,
)
from visim.types import BOOL, UD, DataType

CONTROL = Place(predefined.GENERALS[CR0], 0, UD, 1, 1, 0, 0)
"""The bits of %cr0."""
_BANKS = {"predicate": Bank.PREDICATE, "addresses": Bank.ADDRESS, "state": Bank.STATE}
"""The banks that leaves of expressions read."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask of channels, or the number of a call, that the control flow keeps.

    `what` is "active", "entered", "called", "resumed", "wait" or "site".
    """

    what: str
    entry: int = 0
    place: int = 0


class State:
    """The variables of a unit.

    Args:
        kernel: the program.
        flow: the unit's control flow.
        shares: whether functions of the program share the predefined variables.
        full: whether threads start with all channels.
        asked: places that somebody asks for besides those that instructions have.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        flow: Flow,
        *,
        shares: bool,
        full: bool = False,
        asked: Iterable[Place] = (),
    ) -> None:
        self.kernel = kernel
        self.unit = flow.code.unit
        self._shares = shares
        self._full = full
        blocks = {id(node.block): node.block for node in flow.nodes.values()}.values()
        effects = [effect for block in blocks for step in block.steps for effect in step.effects]
        effects += [block.transfer for block in blocks if block.transfer is not None]
        places = [*asked, *(place for block in blocks for place in block.places)]
        self.homes: dict[Variable, int] = {}
        self._fused = {
            node.attribute[1].variable.index
            for node in expressions(effects)
            if node.uop.name == "fused"
        }
        self._reached = kernel.reached(self.unit)
        grf = kernel.platform.grf_bytes
        self._flat = not all(fits_variable(place, grf) for place in places)
        if any(map(is_dynamic, flow.nodes.values())):
            places.append(CONTROL)
        for place in places:
            self.homes[variable_of(place)] = kernel.offset(self.unit, place.variable)
        self._in_memory = {variable_of(place) for place in places if self._stays(place.variable)}
        self.webs = Webs(place for place in places if variable_of(place) not in self._in_memory)
        self._others = self._find_others(effects)

    def _stays(self, variable: General) -> bool:
        """Whether a variable stays in memory."""
        if self._flat or variable.index in self._fused or variable.index in self._reached:
            return True
        return self._shares and variable.is_shared

    def _find_others(self, effects: Iterable[Effect]) -> dict[tuple[Bank, str], Web]:
        """Return the webs of variables of the other banks, and note where they are."""
        ends: dict[tuple[Bank, str], int] = {}

        def note(bank: Bank, name: str, count: int, end: int) -> None:
            ends[bank, name] = max(ends.get((bank, name), count), end)

        for effect in effects:
            match effect:
                case WritePredicate(variable, first, value):
                    note(Bank.PREDICATE, variable.name, variable.count, first + value.lanes)
                case WriteAddress(variable, first, value):
                    note(Bank.ADDRESS, variable.name, variable.count, first + value.lanes)
                case WriteState(variable, first, value):
                    note(Bank.STATE, variable.name, variable.count, first + value.lanes)
                case _:
                    pass
        for node in expressions(effects):
            bank = _BANKS.get(node.uop.name)
            if bank is not None:
                variable, first = node.attribute
                note(bank, variable.name, variable.count, first + node.lanes)
        found: dict[tuple[Bank, str], Web] = {}
        for (bank, name), end in ends.items():
            found[bank, name] = web = whole(bank, name, end)
            self.homes[web.variable] = self.unit.others[name]
        return found

    def is_in_memory(self, place: Place) -> bool:
        """Whether a place is of a variable that stays in memory."""
        return variable_of(place) in self._in_memory

    def other(self, bank: Bank, name: str) -> Web:
        """Return the web of a predicate, an address variable, a surface or a sampler."""
        return self._others[bank, name]

    def every(self) -> list[Web]:
        """Return all webs."""
        return [*self.webs.every(), *self._others.values()]

    def written(self, effects: Iterable[Effect]) -> Iterator[Web]:
        """Yield the webs that some effects write."""
        for effect in effects:
            match effect:
                case WriteRegister(place) if not self.is_in_memory(place):
                    yield self.webs.of(place)
                case WritePredicate(variable):
                    yield self._others[Bank.PREDICATE, variable.name]
                case WriteAddress(variable):
                    yield self._others[Bank.ADDRESS, variable.name]
                case WriteState(variable):
                    yield self._others[Bank.STATE, variable.name]
                case _:
                    pass

    # As variables of drafts

    def kind(self, name: Name) -> tuple[DataType, int]:
        """Return the type and the lanes of what is a variable while MIR is made."""
        match name:
            case Web():
                return name.kind, name.lanes
            case Mask("site"):
                return UD, 1
            case _:
                return BOOL, self.kernel.simd_size

    def initial(self, draft: Draft, name: Name, on: Value) -> Value:
        """Return what such a variable is at the start."""
        kind, lanes = self.kind(name)
        match name:
            case Web(variable=(_, _, index)):
                if (self.unit.number and not 0 <= index < 32) or index == -1:
                    return draft.make("constant", kind, lanes, attribute=0)
                return draft.make("start", kind, lanes, attribute=name.home)
            case Mask("active" | "entered" | "called", entry=0):
                return draft.make("constant", kind, lanes, attribute=1) if self._full else on
            case _:
                return draft.make("constant", kind, lanes, attribute=0)


def saved(state: State, drafts: Drafts, draft: Draft) -> None:
    """Write the variables of a thread that ends to memory, where somebody looks at them."""
    for web in state.every():
        value = drafts.read(draft, web)
        draft.make("poke", None, 0, (value,), web.home)


__all__ = ["CONTROL", "Mask", "State", "saved"]
