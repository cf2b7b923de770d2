"""Gives the variables of a unit their general registers, so that banks and dependencies are real.

A linear scan over the body: a variable holds its registers from its first to its last use, for the
whole of a loop that it lives across. Inputs stand where the program says; large variables go round
the file, so that a register rests before it is written again; small ones share registers. Where
the file is too small, variables share registers although both live: these are spilled, and the
legaliser moves them to memory and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from visim import predefined
from visim.isa.forms import LabelMark, SubroutineMark
from visim.isa.registry import named_labels
from visim.linker.program import LinkedUnit
from visim.operands import General
from visim.timing.footprint import Footprint
from visim.timing.machine import NativeRules

_DWORD = 4
_IN_R0 = frozenset(
    predefined.BY_NAME[name].index
    for name in ("%r0", "%group_id_x", "%group_id_y", "%group_id_z", "%hw_id", "%thread_x")
) | {predefined.BY_NAME["%thread_y"].index, predefined.BY_NAME["%color"].index}
_ARCHITECTURAL = frozenset(
    predefined.BY_NAME[name].index
    for name in ("%null", "%tsc", "%sr0", "%cr0", "%ce0", "%dbg0", "%msg0")
)
"""Predefined variables that are no general registers."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where the variables of a unit stand: byte offsets in the register file by index.

    `spilled` are the variables for which no register was free.
    """

    offsets: Mapping[int, int]
    spilled: frozenset[int]
    grf_bytes: int

    def registers(self, variable: General, start: int, end: int) -> tuple[int, ...]:
        """Return the registers of bytes `start` to `end` of a root variable."""
        if variable.index in _ARCHITECTURAL:
            return ()
        base = self.offsets.get(variable.index, 0)
        first, last = (base + start) // self.grf_bytes, (base + end - 1) // self.grf_bytes
        return tuple(range(first, last + 1))


@dataclass(slots=True)
class _Range:
    variable: General
    first: int
    last: int
    starts_with_read: bool


def assign(
    unit: LinkedUnit, footprints: Sequence[Footprint | None], native: NativeRules
) -> Assignment:
    """Return the registers of a unit's variables.

    Args:
        unit: the unit.
        footprints: of each instruction of its body, None for marks.
        native: the generation's register file.
    """
    ranges = _live_ranges(unit, footprints)
    pinned = {
        item.variable.root()[0].index: item.offset
        for item in unit.unit.inputs
        if isinstance(item.variable, General)
    }
    scan = _Scan(native, pinned)
    for item in sorted(ranges.values(), key=lambda r: (r.variable.index not in pinned, r.first)):
        scan.place(item)
    return Assignment(scan.offsets, frozenset(scan.spilled), native.grf_bytes)


def _live_ranges(unit: LinkedUnit, footprints: Sequence[Footprint | None]) -> dict[int, _Range]:
    ranges: dict[int, _Range] = {}
    for pc, found in enumerate(footprints):
        if found is None:
            continue
        for spans, reads in ((found.reads, True), (found.writes, False)):
            for span in spans:
                index = span.variable.index
                item = ranges.setdefault(index, _Range(span.variable, pc, pc, reads))
                item.last = pc
    for item in unit.unit.inputs:
        if isinstance(item.variable, General) and item.variable.root()[0].index in ranges:
            ranges[item.variable.root()[0].index].first = 0
    loops = list(_loops(unit))
    changed = bool(loops)
    while changed:
        changed = sum(_extend(item, loops) for item in ranges.values()) > 0
    return ranges


def _loops(unit: LinkedUnit) -> Iterator[tuple[int, int]]:
    """Yield the first and last program counter of every loop; a subroutine counts as one."""
    for pc, instruction in enumerate(unit.body):
        if isinstance(instruction, LabelMark | SubroutineMark):
            continue
        for label in named_labels(instruction):
            target = unit.labels.get(label)
            if target is None:
                continue
            if target <= pc:
                yield target, pc
            elif instruction.op.mnemonic == "call":
                yield pc, len(unit.body) - 1


def _extend(item: _Range, loops: Sequence[tuple[int, int]]) -> bool:
    """Make a range cover the loops that its value lives across; return whether that is news."""
    first, last = item.first, item.last
    for start, end in loops:
        inside = start <= item.first <= end
        if item.first < start <= item.last <= end or (inside and item.starts_with_read):
            item.last = max(item.last, end)
        if inside and item.starts_with_read:
            item.first = min(item.first, start)
    return (first, last) != (item.first, item.last)


class _Scan:
    """The register file while variables get their places; a bit stands for a dword."""

    def __init__(self, native: NativeRules, pinned: Mapping[int, int]) -> None:
        self._grf = native.grf_bytes // _DWORD
        self._size = native.grfs * self._grf
        self._pinned = pinned
        self._next = self._grf
        self._placed: list[tuple[_Range, int]] = []
        self.offsets: dict[int, int] = {}
        self.spilled = set[int]()

    def place(self, item: _Range) -> None:
        """Give a variable its place."""
        variable = item.variable
        index = variable.index
        if index in _ARCHITECTURAL:
            return
        if index in _IN_R0:
            self.offsets[index] = 0
            return
        count = max(1, -(-variable.bytes // _DWORD))
        if index in self._pinned:
            offset = self._pinned[index]
            mask = ((1 << count) - 1) << (offset // _DWORD)
        else:
            position = self._find(count, self._busy(item))
            if position < 0:
                self.spilled.add(index)
                position = self._next if self._next + count <= self._size else self._grf
            offset, mask = position * _DWORD, ((1 << count) - 1) << position
        self.offsets[index] = offset
        self._placed.append((item, mask))

    def _busy(self, item: _Range) -> int:
        """Return what is held while `item` lives; items come in the order of their first uses."""
        self._placed = [placed for placed in self._placed if placed[0].last >= item.first]
        busy = (1 << self._grf) - 1
        for other, mask in self._placed:
            if other.first <= item.last:
                busy |= mask
        return busy

    def _find(self, count: int, busy: int) -> int:
        """Return a free position, or -1."""
        if count < self._grf:
            step = 1 << (count - 1).bit_length()
            places = range(0, self._size, step)
        else:
            places = [*range(self._next, self._size, self._grf), *range(0, self._next, self._grf)]
        mask = (1 << count) - 1
        for position in places:
            if position + count <= self._size and not busy >> position & mask:
                break
        else:
            return -1
        if count >= self._grf:
            end = position + -(-count // self._grf) * self._grf
            self._next = end if end < self._size else self._grf
        return position


__all__ = ["Assignment", "assign"]
