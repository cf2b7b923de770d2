"""Registers of command streamers, and MI_MATH; values worked by hand from the manuals' tables."""

import pytest

from visim.device.registers import (
    PREDICATE_RESULT,
    PREDICATE_RESULT_2,
    Registers,
    UnknownOperation,
)

LOAD, LOAD_0, STORE, STORE_INVERTED = 0x080, 0x081, 0x180, 0x580
ADD, SUB, AND, OR, XOR = 0x100, 0x101, 0x102, 0x103, 0x104
SOURCE_A, SOURCE_B, ACCUMULATOR, ZERO, CARRY = 0x20, 0x21, 0x31, 0x32, 0x33


def op(operation: int, first: int = 0, second: int = 0) -> int:
    return operation << 20 | first << 10 | second


def registers_with(**values: int) -> Registers:
    registers = Registers(lambda: 0x12_3456_789A)
    for name, value in values.items():
        number = int(name.removeprefix("r"))
        registers.write(0x2600 + 8 * number, value)
        registers.write(0x2604 + 8 * number, value >> 32)
    return registers


def general(registers: Registers, number: int) -> int:
    at = 0x600 + 8 * number
    return registers.read(at) | registers.read(at + 4) << 32


def compute(registers: Registers, operation: int, result: int = ACCUMULATOR) -> int:
    registers.calculate(
        [op(LOAD, SOURCE_A, 0), op(LOAD, SOURCE_B, 1), op(operation), op(STORE, 2, result)]
    )
    return general(registers, 2)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (ADD, 0x1_0000_0001),
        (SUB, 0xFFFF_FFFD),
        (AND, 2),
        (OR, 0xFFFF_FFFF),
        (XOR, 0xFFFF_FFFD),
    ],
)
def test_arithmetic_has_sixty_four_bits(operation: int, expected: int) -> None:
    assert compute(registers_with(r0=0xFFFF_FFFF, r1=2), operation) == expected


def test_a_difference_below_zero_wraps_and_sets_the_carry() -> None:
    registers = registers_with(r0=1, r1=2)
    assert compute(registers, SUB) == 0xFFFF_FFFF_FFFF_FFFF
    assert compute(registers, SUB, CARRY) == 0xFFFF_FFFF_FFFF_FFFF
    assert compute(registers_with(r0=2, r1=1), SUB, CARRY) == 0


def test_the_zero_flag_is_all_ones_where_the_result_is_zero() -> None:
    assert compute(registers_with(r0=5, r1=5), SUB, ZERO) == 0xFFFF_FFFF_FFFF_FFFF
    assert compute(registers_with(r0=5, r1=4), SUB, ZERO) == 0


def test_stores_may_invert() -> None:
    registers = registers_with(r0=1)
    registers.calculate([op(LOAD, SOURCE_A, 0), op(LOAD_0, SOURCE_B), op(ADD)])
    registers.calculate(
        [
            op(LOAD, SOURCE_A, 0),
            op(LOAD_0, SOURCE_B),
            op(ADD),
            op(STORE_INVERTED, 3, ACCUMULATOR),
        ]
    )
    assert general(registers, 3) == 0xFFFF_FFFF_FFFF_FFFE


@pytest.mark.parametrize("bad", [op(0x7FF), op(LOAD, 0x3F, 0), op(LOAD, SOURCE_A, 16)])
def test_what_the_calculator_does_not_know_is_refused(bad: int) -> None:
    with pytest.raises(UnknownOperation):
        registers_with().calculate([bad])


@pytest.mark.parametrize("block", [0x2000, 0x1A000, 0x22000, 0])
def test_engines_are_alike(block: int) -> None:
    registers = registers_with()
    registers.write(block + 0x600, 7)
    assert registers.read(0x600) == 7


def test_the_timestamp_is_the_clock() -> None:
    registers = registers_with()
    assert registers.read(0x2358) == 0x3456_789A
    assert registers.read(0x235C) == 0x12


@pytest.mark.parametrize(
    ("mode", "result", "second", "skips"),
    [
        (0, 0, 0, False),
        (1, 0, 0, True),
        (1, 0, 1, False),
        (2, 0, 1, True),
        (3, 0, 0, True),
        (3, 1, 0, False),
        (4, 1, 0, True),
        (15, 0, 0, True),
    ],
)
def test_predication(mode: int, result: int, second: int, skips: bool) -> None:
    registers = registers_with()
    registers.write(PREDICATE_RESULT, result)
    registers.write(PREDICATE_RESULT_2, second)
    assert registers.is_skipped(mode) is skips
