"""Where a kernel asks for room in the buffer of printf: an atomic on the pointer to it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from visim.engine.provenance import PointerPlace, Provenance
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sem.effects import Atomic, Space


class Prints:
    """The buffer of printf of a kernel.

    Args:
        kernel: the kernel without instruments.
        pointers: the pointers that threads start with.
        name: what those to the buffer are called.
        size: the bytes of the buffer.
    """

    def __init__(
        self, kernel: LinkedKernel, pointers: Iterable[PointerPlace], name: str, size: int
    ) -> None:
        self.name, self.size = name, size
        self._kernel = kernel
        self._pointers = tuple(one for one in pointers if one.name == name)

    def reserves(self, unit: LinkedUnit, effect: Atomic) -> bool:
        """Whether an atomic asks for room in the buffer."""
        if not self._pointers or effect.space is not Space.FLAT or not effect.operands:
            return False
        return self.name in self._provenance.of(unit, effect.addresses)

    @cached_property
    def _provenance(self) -> Provenance:
        return Provenance(self._kernel, self._pointers)


__all__ = ["Prints"]
