"""Bank conflicts of Xe, where each source operand keeps the register that it read last.

A register that an operand still holds from the instruction before is not read again, unless it has
been written since; a register that several operands want is read once. What is left to be read
conflicts in the same bundle of a bank, or where a bank has more than two of them. A compressed
instruction is two, one after the other. That is how Intel's finalizer counts
(docs/timing-accuracy.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from visim.timing.banks import place_of
from visim.timing.native import ADDRESS, Native

_OPERANDS = 3
_MOST_OF_A_BANK = 2
_FLUSHES = frozenset({"nop", "sync"})


@dataclass(slots=True)
class SourceCache:
    """The register that each source operand holds, in the order of the code."""

    rule: str
    _held: list[int | None] = field(default_factory=lambda: [None] * _OPERANDS)
    _was_compressed: bool = False

    def conflicts(self, item: Native) -> int:
        """Return the conflicts of the next instruction."""
        if item.is_send or item.kind.startswith("math.") or _is_flush(item):
            self._held = [None] * _OPERANDS
            return 0
        missing: list[tuple[int, ...]] = [()] * (_OPERANDS - len(item.sources))
        sources = [*item.sources[:_OPERANDS], *missing]
        written = [register for register in item.writes if register < ADDRESS]
        is_compressed = max(map(len, [*sources, written])) > 1
        keeps_pairs = is_compressed and self._was_compressed and _multiplies_floats(item)
        self._was_compressed = is_compressed
        first = [source[0] if source else None for source in sources]
        has_pair = keeps_pairs and first[1] == self._held[1] and first[1] not in written[:1]
        found = self._half(first, written[:1])
        if not is_compressed:
            return found
        second = [source[min(1, len(source) - 1)] if source else None for source in sources]
        if has_pair and first[1] is not None:
            return found + self._collisions([second[0], None, second[2]])
        return found + self._half(second, written[-1:] if len(written) > 1 else [])

    def _half(self, wanted: Sequence[int | None], written: Sequence[int]) -> int:
        """Return the conflicts of one instruction of a register's width; keep what it reads."""
        pairs = zip(wanted, self._held, strict=True)
        read = [None if want == held and want not in written else want for want, held in pairs]
        self._held = list(wanted)
        return self._collisions(read)

    def _collisions(self, read: Sequence[int | None]) -> int:
        registers = list(dict.fromkeys(register for register in read if register is not None))
        places = [place_of(register, self.rule) for register in registers]
        same = len(places) - len(set(places))
        banks = [bank for bank, _ in places]
        crowded = any(banks.count(bank) > _MOST_OF_A_BANK for bank in banks)
        return same or int(crowded)


def counted(instructions: Iterable[Native], rule: str) -> tuple[Native, ...]:
    """Return instructions, in the order of the code, with their bank conflicts by a rule of Xe."""
    cache = SourceCache(rule)
    return tuple(replace(item, sc=cache.conflicts(item)) for item in instructions)


def _is_flush(item: Native) -> bool:
    return item.kind in _FLUSHES or item.opcode.partition(".")[0] in {"ret", "call", "calla"}


def _multiplies_floats(item: Native) -> bool:
    return item.kind.endswith((".float", ".wide"))


__all__ = ["SourceCache", "counted"]
