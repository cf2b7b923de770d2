"""Bank conflicts between the sources of one instruction, by the rule of each generation.

Pure functions of register numbers. The rules:

- "ports" (Gen5, Gen6): two banks, odd and even registers, each with one read port; the two cycles
  of an instruction of 8 channels read two registers of a bank, a third one costs a cycle.
- "halves" (Gen7 to Gen11): four banks, by parity and by register 64; the second and third source of
  an instruction with three sources conflict in the same bank.
- "halves-three" (Gen11, as Intel's finalizer believes): the same banks, three sources in one.
- "bundles-8" (Xe-LP) and "bundles-16" (Xe-HPG, Xe-HPC): two banks of bundles; what conflicts
  depends on what was read before, see `suppression`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_READS_FREE = 2
BUNDLES = frozenset({"bundles-8", "bundles-16"})
"""Rules of Xe, by which conflicts depend on the instructions before."""


def conflicts(sources: Sequence[tuple[int, ...]], rows: int, rule: str) -> int:
    """Return how many registers' worth of an instruction are in conflict.

    Args:
        sources: the general registers of each source operand.
        rows: registers that the instruction writes; row i uses register i of each source.
        rule: one of the rules above.
    """
    operands = [source for source in sources if source]
    if len(operands) < 3 or rule in BUNDLES:
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
    if second == third:
        return 0
    banks = [_half(register) for register in registers]
    compared = banks if rule == "halves-three" else banks[1:]
    return len(set(compared)) == 1


def bank_name(register: int, rule: str) -> str:
    """Return the name of a register's bank: parity, half, and bundle where there are any."""
    if rule == "ports":
        return "EO"[register % 2]
    if rule.startswith("halves"):
        parity, half = _half(register)
        return "EO"[parity] + "LH"[half]
    bank, bundle = place_of(register, rule)
    return f"{'EO'[bank]}{bundle}"


def _half(register: int) -> tuple[int, int]:
    return register % 2, int(register >= 64)


def place_of(register: int, rule: str) -> tuple[int, int]:
    """Return the bank and the bundle of a register of Xe."""
    if rule == "bundles-8":
        return register % 2, register % 16 // 2
    return register % 4 // 2, register % 64 // 4


__all__ = ["BUNDLES", "bank_name", "conflicts", "place_of"]
