"""The scalars of shapes as variables of native code: those of slots, and what inputs start with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from visim.engine.jit.analysis.affine import Affine
from visim.linker.program import LinkedKernel, LinkedUnit


def allocations(affine: Affine) -> list[str]:
    """Return the instructions that make room for the scalars of all slots."""
    lines: list[str] = []
    for slot, form in affine.shaped():
        for piece in slot.firsts():
            lines.append(f"  %core.{slot.number}.{piece} = alloca {form.core_type}")
            if form.signed is not None:
                lines.append(f"  %base.{slot.number}.{piece} = alloca i{form.bits}")
    return lines


@dataclass(frozen=True, slots=True)
class InputCore:
    """A scalar of an input's shape: its variable `name`, its type, its place in the registers."""

    name: str
    kind: str
    place: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return int(self.kind[1:]) // 8


def input_cores(affine: Affine, kernel: LinkedKernel, unit: LinkedUnit) -> Iterator[InputCore]:
    """Return the scalars that a thread reads of its inputs when it starts."""
    variables = {one.index: one for one in unit.unit.generals}
    for slot, form in affine.shaped():
        if slot.definitions[0].key is not None:
            continue
        first = kernel.offset(unit, variables[slot.row.variable]) + slot.row.offset
        for piece in slot.firsts():
            place = first + piece * form.piece * slot.row.stride
            yield InputCore(f"%core.{slot.number}.{piece}", f"i{form.bits}", place)
