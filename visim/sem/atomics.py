"""The atomic operations that all messages choose from."""

from __future__ import annotations

from enum import StrEnum


class AtomicOperation(StrEnum):
    """An atomic read-modify-write operation; every one returns the old value but `PREDEC`.

    Operands are normalised: `operand0` is the only operand, or the *comparand* of `CMPXCHG` and
    `FCAS`, whose `operand1` is the *new* value. The instructions differ: `lsc_atomic_icas`,
    `lsc_atomic_fcas` and `fcmpwr` of SVM and DWORD_ATOMIC give (comparand, new), but `cmpxchg` of
    SVM, DWORD_ATOMIC and TYPED_ATOMIC gives src0 = new, src1 = comparand and has to be swapped.

    The operation decides how bits are read: F* as floating point, SMIN and SMAX as signed, all
    others as unsigned integers that wrap around.
    """

    ADD = "add"
    SUB = "sub"
    INC = "inc"
    DEC = "dec"
    PREDEC = "predec"
    UMIN = "umin"
    UMAX = "umax"
    SMIN = "smin"
    SMAX = "smax"
    XCHG = "xchg"
    CMPXCHG = "cmpxchg"
    AND = "and"
    OR = "or"
    XOR = "xor"
    LOAD = "load"
    FADD = "fadd"
    FSUB = "fsub"
    FMIN = "fmin"
    FMAX = "fmax"
    FCAS = "fcas"

    @property
    def operand_count(self) -> int:
        """How many operands the operation takes: 0, 1 or 2."""
        if self in _WITHOUT_OPERAND:
            return 0
        return 2 if self in _COMPARING else 1


_WITHOUT_OPERAND = frozenset(
    {AtomicOperation.INC, AtomicOperation.DEC, AtomicOperation.PREDEC, AtomicOperation.LOAD}
)
_COMPARING = frozenset({AtomicOperation.CMPXCHG, AtomicOperation.FCAS})
