"""Atomic operations: what each does to a value in memory, and how colliding channels follow.

Knows nothing of address spaces: it is handed a view of memory and an index per channel. Follows
the pages DWORD_ATOMIC, SVM_ATOMIC and LSC_UNTYPED of the vISA specification.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import InternalError
from visim.forks import RenewedLock
from visim.sem.atomics import AtomicOperation as AtomicOp

Vector = NDArray[Any]


_ONE_AT_A_TIME = RenewedLock()
_SIGNED = frozenset({AtomicOp.SMIN, AtomicOp.SMAX})
_FLOAT = frozenset({AtomicOp.FADD, AtomicOp.FSUB, AtomicOp.FMIN, AtomicOp.FMAX, AtomicOp.FCAS})


@cache
def arithmetic_type(op: AtomicOp, size: int) -> np.dtype[Any]:
    """Return the NumPy type in which `op` on values of `size` bytes is computed.

    Raises:
        InternalError: `size` is not 2, 4 or 8; the specification has no other atomics.
    """
    if size not in {2, 4, 8}:
        raise InternalError(f"atomic {op} of {size} bytes; atomics act on 2, 4 or 8 bytes")
    kind = "f" if op in _FLOAT else "i" if op in _SIGNED else "u"
    return np.dtype(f"{kind}{size}")


def check_operands(op: AtomicOp, size: int, operands: tuple[Vector | None, ...]) -> None:
    """Raise `InternalError` unless the first operands of `op` are there and `size` bytes wide."""
    for number, operand in enumerate(operands[: op.operand_count]):
        if operand is None:
            raise InternalError(f"atomic {op} takes {op.operand_count} operands; {number} is None")
        if operand.dtype.itemsize != size:
            raise InternalError(
                f"atomic {op} of {size} bytes was given operand {number} of type {operand.dtype}"
            )


def perform(
    op: AtomicOp,
    elements: Vector,
    index: NDArray[np.intp],
    operand0: Vector | None,
    operand1: Vector | None,
) -> Vector:
    """Do `op` on `elements[index]`, one channel after the other where indices repeat.

    Of all threads of this process that call this one after another acts. Elements that keep their
    value are not written, so that an atomic read undoes no store of somebody else.

    Args:
        op: The operation.
        elements: Memory, of type `arithmetic_type(op, size)`; changed in place.
        index: One index into `elements` per channel.
        operand0: The operand or comparand per channel, of any type of the same size.
        operand1: The new value per channel of `CMPXCHG` and `FCAS`.

    Returns:
        What each channel gets back: the old value, for `PREDEC` the new one.
    """
    a = None if operand0 is None else operand0.view(elements.dtype)
    b = None if operand1 is None else operand1.view(elements.dtype)
    returned = np.empty(index.size, elements.dtype)
    bits = elements.view(f"u{elements.itemsize}")
    # NaN, overflow and the like are results, not warnings.
    with _ONE_AT_A_TIME.lock, np.errstate(all="ignore"):
        for turn in _turns(index):
            place = index[turn]
            old = elements[place]
            new = _combine(op, old, _of(a, turn), _of(b, turn))
            changed = (new.view(bits.dtype) != old.view(bits.dtype)).nonzero()[0]
            if changed.size:
                elements[place[changed]] = new[changed]
            returned[turn] = new if op is AtomicOp.PREDEC else old
    return returned


def _of(operand: Vector | None, turn: Any) -> Vector | None:
    return None if operand is None else operand[turn]


def _turns(index: NDArray[np.intp]) -> list[Any]:
    """Split the channels into turns of distinct indices; turn k has each index's k-th channel.

    Channels of different indices do not see each other, so this gives what doing them one by one
    in channel order gives.
    """
    places = index.tolist()
    if len(set(places)) == len(places):
        return [slice(None)]
    counts: dict[int, int] = {}
    turns: list[list[int]] = []
    for channel, place in enumerate(places):
        turn = counts.get(place, 0)
        counts[place] = turn + 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(channel)
    return turns


def _combine(op: AtomicOp, old: Vector, a: Any, b: Any) -> Vector:
    """Return the value that `op` leaves in memory.

    Floating point rounds to nearest even and keeps denormals. Chosen where the pages are silent:
    minimum and maximum follow MIN_MAX (the one that is not NaN; the operand when both are), and
    memory keeps its value when the two compare equal, so -0 and +0 do not replace each other;
    FCAS compares as numbers, so -0 equals +0 and NaN equals nothing.
    """
    match op:
        case AtomicOp.ADD | AtomicOp.FADD:
            return old + a
        case AtomicOp.SUB | AtomicOp.FSUB:
            return old - a
        case AtomicOp.INC:
            return old + old.dtype.type(1)
        case AtomicOp.DEC | AtomicOp.PREDEC:
            return old - old.dtype.type(1)
        case AtomicOp.UMIN | AtomicOp.SMIN:
            return np.minimum(old, a)
        case AtomicOp.UMAX | AtomicOp.SMAX:
            return np.maximum(old, a)
        case AtomicOp.XCHG:
            return a
        case AtomicOp.CMPXCHG | AtomicOp.FCAS:
            return np.where(old == a, b, old)
        case AtomicOp.AND:
            return old & a
        case AtomicOp.OR:
            return old | a
        case AtomicOp.XOR:
            return old ^ a
        case AtomicOp.LOAD:
            return old
        case AtomicOp.FMIN:
            return np.where((a < old) | np.isnan(old), a, old)
        case AtomicOp.FMAX:
            return np.where((a > old) | np.isnan(old), a, old)
