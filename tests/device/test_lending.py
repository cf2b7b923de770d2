"""Memory of a program that kernels have: what either writes reaches the other, and nothing else."""

import mmap
import os

import numpy as np
import pytest

from visim.device.hostmemory import PAGE, Bytes, ProgramMemory
from visim.device.lending import Loan


@pytest.fixture
def own() -> Bytes:
    """This process' memory, which stands for the program's."""
    return np.zeros(64, np.uint8)


def _loan(own: Bytes) -> tuple[Loan, Bytes]:
    copy = np.full(64, 9, np.uint8)
    return Loan(ProgramMemory(os.getpid()), int(own.ctypes.data), copy), copy


def test_a_kernel_sees_what_was_written_and_gives_back_what_it_has_changed(own: Bytes) -> None:
    loan, copy = _loan(own)
    own[3] = 5
    loan.take()
    assert copy[3] == 5
    assert copy[4] == 0
    copy[10:12] = 7
    own[20] = 8  # The program goes on meanwhile.
    loan.give_back()
    assert (own[3], own[10], own[11], own[20]) == (5, 7, 7, 8)


def test_a_second_kernel_does_not_take_back_what_the_first_has_written(own: Bytes) -> None:
    loan, copy = _loan(own)
    loan.take()
    copy[1] = 1
    own[2] = 2
    loan.take()
    assert (copy[1], copy[2]) == (1, 2)
    copy[3] = 3
    loan.give_back()
    own[1] = 11  # Nobody has changed it since it was handed over.
    loan.give_back()
    assert (own[1], own[2], own[3]) == (11, 2, 3)


def test_what_is_unmapped_under_a_kernel_is_handed_over_once(own: Bytes) -> None:
    loan, copy = _loan(own)
    loan.take()
    copy[1] = 1
    loan.end()
    copy[2] = 2
    loan.give_back()
    assert (own[1], own[2]) == (1, 0)


class _Counting(ProgramMemory):
    """This process' memory, which counts what is read of it."""

    def __init__(self) -> None:
        super().__init__(os.getpid())
        self.bytes_read = 0

    def read(self, address: int, into: Bytes) -> None:
        self.bytes_read += into.size
        super().read(address, into)


def test_pages_that_nobody_has_used_are_left_alone() -> None:
    own, copy = (np.frombuffer(mmap.mmap(-1, 1024 * PAGE), np.uint8) for _ in range(2))
    program = _Counting()
    loan = Loan(program, int(own.ctypes.data), copy)
    own[5 * PAGE] = 1
    loan.take()
    assert copy[5 * PAGE] == 1
    copy[700 * PAGE + 3] = 2  # A page that the program has never used.
    copy[5 * PAGE] = 0
    loan.give_back()
    assert (own[5 * PAGE], own[700 * PAGE + 3]) == (0, 2)
    own[700 * PAGE + 3] = 0
    loan.take()
    assert (copy[5 * PAGE], copy[700 * PAGE + 3]) == (0, 0)
    loan.take()
    loan.give_back()
    loan.give_back()
    assert program.bytes_read < 200 * PAGE
