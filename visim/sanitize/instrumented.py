"""A kernel whose instructions have more effects than they mean: those that detectors need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.detecting import Instrument
from visim.sem.effects import Effect, Watch


@dataclass(frozen=True)
class InstrumentedKernel(LinkedKernel):
    """A linked kernel with instruments, which add to its effects one after another.

    Engines run it as any other. Its units may have more variables than the program.
    """

    instruments: tuple[Instrument, ...] = ()

    @property
    def made_by(self) -> tuple[str, ...]:
        """The instruments' names, which say what their effects are made of."""
        return tuple(one.name for one in self.instruments)

    @property
    def tells(self) -> frozenset[str]:
        """The names of what `Watch` effects tell anywhere in the program."""
        return self._tells

    @cached_property
    def _tells(self) -> frozenset[str]:
        return frozenset(
            effect.name
            for unit in self.units
            for pc in range(len(unit.body))
            for effect in self.known_effects(unit, pc)
            if isinstance(effect, Watch)
        )

    def effects(
        self, unit: LinkedUnit, pc: int, block_shape: int | None = None
    ) -> tuple[Effect, ...]:
        """Return what an instruction of a unit does, and what instruments add to it."""
        found = super().effects(unit, pc, block_shape)
        for instrument in self.instruments:
            found = instrument.effects(self, unit, pc, found)
        return found


def instrumented(kernel: LinkedKernel, instruments: Sequence[Instrument]) -> LinkedKernel:
    """Return a kernel with instruments; without any it is the kernel itself."""
    if not instruments:
        return kernel
    parts = {field.name: getattr(kernel, field.name) for field in fields(LinkedKernel)}
    return InstrumentedKernel(**parts, instruments=tuple(instruments))


__all__ = ["InstrumentedKernel", "instrumented"]
