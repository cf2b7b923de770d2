"""From native code to vISA: which native address an instruction has, which variable a register is.

DWARF speaks of native addresses and registers. The compiler's notes say for each vISA instruction
where its native ones are, and for each vISA variable in which registers it is, and when.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from visim.binary.debuginfo import DebugObject, Interval, RegisterFile
from visim.engine.blocks import BLOCK_STARTS
from visim.linker.program import LinkedKernel
from visim.operands import General


class Held(NamedTuple):
    """A byte of a vISA variable that a register holds, and the native address behind its last use.

    Compilers end a variable's range at that address, though not all native code before it belongs
    to instructions before it.
    """

    general: General
    byte: int
    end: int | None


class Natives:
    """What a compiler's notes say of a kernel and its functions.

    Args:
        kernel: the kernel.
        objects: the notes, one object for each unit.
    """

    def __init__(self, kernel: LinkedKernel, objects: Sequence[DebugObject]) -> None:
        self._kernel = kernel
        named = {one.name: one for one in objects}
        self._objects = {
            unit.number: named[unit.unit.name] for unit in kernel.units if unit.unit.name in named
        }
        self._generals = {
            number: {f"V{one.index}": one for one in kernel.units[number].unit.generals}
            for number in self._objects
        }
        self._held: dict[tuple[int, int, int, int], Held | None] = {}
        self._addresses = {number: _addresses(one) for number, one in self._objects.items()}

    def knows(self, unit: int) -> bool:
        """Whether there are notes on a unit."""
        return unit in self._objects

    def address(self, unit: int, pc: int) -> int | None:
        """Return the native address of an instruction, or of the next in its block that has one.

        Of several it is the first. None: no native code comes of it, or there are no notes.
        """
        known = self._addresses.get(unit, {})
        body = self._kernel.units[unit].body
        for index in range(pc, len(body)):
            if index in known:
                return known[index]
            if index > pc and isinstance(body[index], BLOCK_STARTS):
                return None
        return None

    def variable(self, unit: int, pc: int, register: int, byte: int) -> Held | None:
        """Return which vISA variable has a byte of a register before an instruction.

        None where the notes name none. Of several it is the one that was written last.
        """
        key = unit, pc, register, byte
        if key not in self._held:
            self._held[key] = self._find(*key)
        return self._held[key]

    def _find(self, unit: int, pc: int, register: int, byte: int) -> Held | None:
        known = self._objects.get(unit)
        if known is None:
            return None
        generals, grf = self._generals[unit], self._kernel.platform.grf_bytes
        best: tuple[Interval, General, int] | None = None
        for one in known.variables:
            general = generals.get(one.name)
            if general is None:
                continue
            for interval in one.intervals:
                place = interval.place
                is_alive = interval.start <= pc <= interval.end
                if place.file is not RegisterFile.GENERAL or not is_alive:
                    continue
                inside = (register - place.register) * grf + byte - place.sub
                is_later = best is None or interval.start > best[0].start
                if 0 <= inside < general.bytes and is_later:
                    best = interval, general, inside
        if best is None:
            return None
        interval, general, inside = best
        return Held(general, inside, self.address(unit, interval.end + 1))


def _addresses(known: DebugObject) -> dict[int, int]:
    """Return the native address of each vISA instruction that has one.

    What stands before the first instruction fetches arguments; compilers give it any number.
    """
    pairs = [(one.visa, one.gen_offset) for one in known.by_index]
    if not pairs:
        return {}
    begin = min(address for index, address in pairs if index == min(pairs)[0])
    found: dict[int, int] = {}
    for index, address in pairs:
        if address >= begin:
            found.setdefault(index, known.code_offset + address)
    return found


__all__ = ["Held", "Natives"]
