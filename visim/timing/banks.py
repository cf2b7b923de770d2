"""Bank conflicts between the sources of one instruction, by the rule of each generation.

Pure functions of register numbers. The rules:

- "ports" (Gen5, Gen6): two banks, odd and even registers, each with one read port; the two cycles
  of an instruction of 8 channels read two registers of a bank, a third one costs a cycle.
- "halves" (Gen7 to Gen11): four banks, by parity and by register 64; the second and third source of
  an instruction with three sources conflict in the same bank.
- "bundles-8" (Xe-LP) and "bundles-16" (Xe-HPG, Xe-HPC): two banks of bundles; second and third
  source conflict in the same bundle of a bank, and three sources in one bank do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_READS_FREE = 2


def conflicts(sources: Sequence[tuple[int, ...]], rows: int, rule: str) -> int:
    """Return how many registers' worth of an instruction are in conflict.

    Args:
        sources: the general registers of each source operand.
        rows: registers that the instruction writes; row i uses register i of each source.
        rule: one of the rules above.
    """
    operands = [source for source in sources if source]
    if len(operands) < 3:
        return 0
    return sum(
        _in_conflict([source[min(row, len(source) - 1)] for source in operands], rule)
        for row in range(rows)
    )


def _in_conflict(registers: Sequence[int], rule: str) -> int:
    if rule == "ports":
        banks = Counter(register % 2 for register in set(registers))
        return max(banks.values()) > _READS_FREE
    second, third = registers[1], registers[2]
    if rule == "halves":
        return second != third and _half(second) == _half(third)
    place = _place_8 if rule == "bundles-8" else _place_16
    if second != third and place(second) == place(third):
        return 1
    distinct = set(registers)
    return len(distinct) > 2 and len({place(register)[0] for register in distinct}) == 1


def bank_name(register: int, rule: str) -> str:
    """Return the name of a register's bank: parity, half, and bundle where there are any."""
    if rule == "ports":
        return "EO"[register % 2]
    if rule == "halves":
        parity, half = _half(register)
        return "EO"[parity] + "LH"[half]
    bank, bundle = (_place_8 if rule == "bundles-8" else _place_16)(register)
    return f"{'EO'[bank]}{bundle}"


def _half(register: int) -> tuple[int, int]:
    return register % 2, int(register >= 64)


def _place_8(register: int) -> tuple[int, int]:
    return register % 2, register % 16 // 2


def _place_16(register: int) -> tuple[int, int]:
    return register % 4 // 2, register % 64 // 4


__all__ = ["bank_name", "conflicts"]
