"""What is known of the surfaces that messages name by state variables."""

from __future__ import annotations

from dataclasses import dataclass, field

from visim.sem.effects import Effect, WriteState
from visim.sem.expr import Expr


@dataclass
class Bindings:
    """The numbers that state variables hold in code that runs one after another, where known.

    Older messages name their surface by such a variable, which is set right before each of them.
    """

    known: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])

    def note(self, effect: Effect) -> None:
        """Note what an instruction writes."""
        if not isinstance(effect, WriteState):
            return
        value, lanes = effect.value, effect.value.lanes
        whole = effect.mask is None and value.uop.name == "constant"
        for element in range(effect.element, effect.element + lanes):
            self.known.pop((effect.variable.name, element), None)
            if whole:
                self.known[effect.variable.name, element] = int(value.attribute)

    def number(self, surface: Expr) -> int | None:
        """Return the number that an index of the binding table is."""
        match surface.uop.name:
            case "constant":
                return int(surface.attribute)
            case "state":
                variable, element = surface.attribute
                return self.known.get((variable.name, element))
            case _:
                return None
