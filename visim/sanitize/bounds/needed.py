"""How much of a block that all channels share a kernel needs of what it loads.

Compilers load blocks of one, two, four or eight times 16 bytes where fewer are wanted, also behind
the end of a constant. What nobody reads in the register does not have to be in memory.
"""

from __future__ import annotations

from functools import cache

from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import FIRST_DECLARED_GENERAL
from visim.sem.effects import Effect, LoadBlock, Place, WriteRegister, expressions


class NeededBytes:
    """Tells of blocks how many of their bytes are read.

    Args:
        kernel: the kernel without instruments.
    """

    def __init__(self, kernel: LinkedKernel) -> None:
        self._kernel = kernel
        self._read_ends = cache(self._reads)

    def of(self, unit: LinkedUnit, effects: tuple[Effect, ...], load: LoadBlock) -> int:
        """Return how many bytes of a block have to be there, from the first one on."""
        size, each = load.type.bytes * load.count, load.type.bytes
        writes = [one for one in effects if isinstance(one, WriteRegister)]
        if len(writes) != 1 or writes[0].value.uop.name != "loaded":
            return size
        place = writes[0].place
        variable = place.variable
        is_own = variable.index >= FIRST_DECLARED_GENERAL and not variable.is_file_scope
        is_whole = place.stride == each and (place.width == place.lanes or place.row_stride == 0)
        if not is_own or not is_whole or self._kernel.is_reached(unit, variable):
            return size
        end = self._read_ends(unit.number).get(variable.index, 0) - place.offset
        return max(each, min(size, -(-end // each) * each))

    def _reads(self, number: int) -> dict[int, int]:
        """Return behind which byte nobody reads a variable of a unit, by its index."""
        unit, found = self._kernel.units[number], dict[int, int]()
        for pc in range(len(unit.body)):
            for node in expressions(self._kernel.known_effects(unit, pc)):
                if node.uop.name == "read":
                    place: Place = node.attribute
                    index = place.variable.index
                    found[index] = max(found.get(index, 0), _end(place))
        return found


def _end(place: Place) -> int:
    """Return behind which byte a place ends."""
    rows = (place.lanes - 1) // place.width
    columns = min(place.width, place.lanes) - 1
    return place.offset + rows * place.row_stride + columns * place.stride + place.type.bytes


__all__ = ["NeededBytes"]
