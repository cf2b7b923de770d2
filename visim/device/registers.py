"""The registers of a command streamer, and its little calculator (MI_MATH).

Registers are offsets from the start of an engine's block, so that all engines are alike. What is
not a register that commands use is memory without meaning: it keeps what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

GENERAL = 0x600
"""The first of sixteen 64-bit registers of the calculator."""
PREDICATE_RESULT, PREDICATE_RESULT_2 = 0x418, 0x3BC
DISPATCH_SIZE = (0x500, 0x504, 0x508)
"""The group counts of an indirect walker."""
_CONTEXT_TIME, _TIMESTAMP = 0x3A8, 0x358
_BLOCK, _BLOCK_BYTES = 0x2000, 0x1000
_ENGINE_BLOCKS = (0x2000, 0x18000, 0x1A000, 0x1C000, 0x1E000, 0x20000, 0x22000, 0x24000, 0x26000)
_MASK_32, _MASK_64 = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF

_SOURCE_A, _SOURCE_B, _ACCUMULATOR, _ZERO, _CARRY = 0x20, 0x21, 0x31, 0x32, 0x33
_LOAD, _LOAD_INVERTED, _LOAD_0, _LOAD_1 = 0x080, 0x480, 0x081, 0x481
_STORE, _STORE_INVERTED = 0x180, 0x580
_NOOP, _FENCES = 0x000, (0x001, 0x002)


class UnknownOperation(Exception):
    """The calculator does not know an operation or an operand; the message names it."""


class Registers:
    """The registers of one engine.

    Args:
        clock: gives the GPU's timestamp.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._values: dict[int, int] = {}

    @staticmethod
    def place(offset: int) -> int:
        """Return the offset within the engine's block, whichever engine's block is meant."""
        for block in _ENGINE_BLOCKS:
            if block <= offset < block + _BLOCK_BYTES:
                return offset - block
        return offset

    def read(self, offset: int) -> int:
        """Return the 32 bits of a register."""
        place = self.place(offset)
        if place in {_TIMESTAMP, _CONTEXT_TIME}:
            return self._clock() & _MASK_32
        if place in {_TIMESTAMP + 4, _CONTEXT_TIME + 4}:
            return self._clock() >> 32
        return self._values.get(place, 0)

    def write(self, offset: int, value: int) -> None:
        """Set the 32 bits of a register."""
        self._values[self.place(offset)] = value & _MASK_32

    def is_skipped(self, mode: int) -> bool:
        """Return whether commands are skipped after MI_SET_PREDICATE with this mode."""
        result = self.read(PREDICATE_RESULT) & 1
        second = self.read(PREDICATE_RESULT_2) & 1
        return {1: not second, 2: bool(second), 3: not result, 4: bool(result), 15: True}.get(
            mode, False
        )

    def calculate(self, instructions: Sequence[int]) -> None:
        """Do the instructions of an MI_MATH.

        Raises:
            UnknownOperation: one of them is not known.
        """
        unit = _Calculator(self)
        for one in instructions:
            unit.do(one >> 20, one >> 10 & 0x3FF, one & 0x3FF)


class _Calculator:
    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        self._state = {_SOURCE_A: 0, _SOURCE_B: 0, _ACCUMULATOR: 0, _ZERO: 0, _CARRY: 0}

    def do(self, operation: int, first: int, second: int) -> None:
        if operation == _NOOP or operation in _FENCES:
            return
        if operation in {_LOAD, _LOAD_INVERTED}:
            value = self._general(second)
            self._state[self._known(first)] = value ^ _MASK_64 * (operation == _LOAD_INVERTED)
        elif operation in {_LOAD_0, _LOAD_1}:
            self._state[self._known(first)] = _MASK_64 * (operation == _LOAD_1)
        elif operation in {_STORE, _STORE_INVERTED}:
            value = self._state[self._known(second)]
            self._set_general(first, value ^ _MASK_64 * (operation == _STORE_INVERTED))
        else:
            self._arithmetic(operation)

    def _known(self, operand: int) -> int:
        if operand not in self._state:
            raise UnknownOperation(f"operand 0x{operand:x} of MI_MATH")
        return operand

    def _general(self, number: int) -> int:
        if number > 15:
            raise UnknownOperation(f"register {number} of MI_MATH")
        at = GENERAL + 8 * number
        return self._registers.read(at) | self._registers.read(at + 4) << 32

    def _set_general(self, number: int, value: int) -> None:
        if number > 15:
            raise UnknownOperation(f"register {number} of MI_MATH")
        at = GENERAL + 8 * number
        self._registers.write(at, value)
        self._registers.write(at + 4, value >> 32)

    def _arithmetic(self, operation: int) -> None:
        a, b = self._state[_SOURCE_A], self._state[_SOURCE_B]
        shift = b & 63
        signed = a - (1 << 64 if a >> 63 else 0)
        results = {
            0x100: a + b,
            0x101: a - b,
            0x102: a & b,
            0x103: a | b,
            0x104: a ^ b,
            0x105: a << shift,
            0x106: a >> shift,
            0x107: signed >> shift,
        }
        if operation not in results:
            raise UnknownOperation(f"operation 0x{operation:x} of MI_MATH")
        whole = results[operation]
        result = whole & _MASK_64
        carries = operation in {0x100, 0x101} and whole != result
        self._state[_ACCUMULATOR] = result
        self._state[_ZERO] = 0 if result else _MASK_64
        self._state[_CARRY] = _MASK_64 if carries else 0
