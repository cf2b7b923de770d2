"""DWARF's location expressions, with Intel's operations, for one channel of a thread.

Knows neither registers nor memory: whoever evaluates says what they hold.

Facts: DWARF 4, 2.5 and 2.6; of Intel's operations what compilers write
(docs/spec-notes-compiler.md, Places of variables).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

_MASK = (1 << 64) - 1
_MOST_STEPS = 1000
_GRF_BASE = 16
"""DWARF's number of the first general register."""


class Machine(Protocol):
    """What an expression reads."""

    def register(self, number: int, bit: int, bits: int) -> int:
        """Return bits of a general register; raise `Unplaced` if it is not known."""
        ...

    def memory(self, address: int, size: int) -> int:
        """Return a number in memory; raise `Unplaced` if it is not known."""
        ...


class Unplaced(Exception):
    """Where a variable is cannot be said; the message says why, in words for the user."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a number was read, as it is: a `register` from bit `bit` on, or an `address`."""

    register: int | None = None
    bit: int = 0
    address: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a variable: `bits` of it.

    One of: a `value`, a `register` from bit `bit` on, an `address`, or nothing where the compiler
    has removed this part. `bits` 0: as many as the variable has. `origin` is where a value was
    read; None where it was computed.
    """

    bits: int = 0
    value: int | None = None
    register: int | None = None
    bit: int = 0
    address: int | None = None
    origin: Origin | None = None


@dataclass(slots=True)
class _State:
    """The stack; a register's number on it is told apart from a value.

    `origins` are the places on the stack of numbers that were read and not changed.
    """

    stack: list[int] = field(default_factory=list[int])
    registers: set[int] = field(default_factory=set[int])
    origins: dict[int, Origin] = field(default_factory=dict[int, Origin])
    is_value: bool = False
    pieces: list[Piece] = field(default_factory=list[Piece])

    def push(self, value: int) -> None:
        self.stack.append(value & _MASK)

    def pop(self) -> int:
        if not self.stack:
            raise Unplaced("the compiler's description of its place makes no sense")
        self.registers.discard(len(self.stack) - 1)
        self.origins.pop(len(self.stack) - 1, None)
        return self.stack.pop()

    def read_register(self, machine: Machine, number: int, bit: int, bits: int) -> None:
        """Push what a register, by DWARF's number, holds."""
        register = number - _GRF_BASE
        value = machine.register(register, bit, bits)
        self.origins[len(self.stack)] = Origin(register=register, bit=bit)
        self.push(value)

    def read_memory(self, machine: Machine, address: int, size: int) -> None:
        """Push what memory holds."""
        value = machine.memory(address, size)
        self.origins[len(self.stack)] = Origin(address=address)
        self.push(value)

    def push_register(self, number: int) -> None:
        self.registers.add(len(self.stack))
        self.stack.append(number)

    @property
    def has_register(self) -> bool:
        """Whether a register, and no value, is on top."""
        return len(self.stack) - 1 in self.registers


def pieces_of(code: bytes, lane: int, machine: Machine) -> list[Piece]:
    """Return where the parts of a variable are for a channel, the first one lowest.

    Raises:
        Unplaced: the expression has operations that are not known, or reads what is not known.
    """
    state, at = _State(), 0
    for _ in range(_MOST_STEPS):
        if at < 0:
            break
        if at >= len(code):
            return _ended(state)
        at = _step(code, at, state, lane, machine)
    raise Unplaced("the compiler's description of its place does not end")


def _ended(state: _State) -> list[Piece]:
    if state.pieces:
        return state.pieces
    if not state.stack:
        raise Unplaced("optimised away")
    return [_top(state, 0, 0)]


def _top(state: _State, bits: int, bit: int) -> Piece:
    """Return what is on the stack as a piece."""
    if state.is_value:
        state.is_value = False
        origin = state.origins.get(len(state.stack) - 1)
        return Piece(bits, value=state.pop(), origin=origin)
    if state.has_register:
        return Piece(bits, register=state.pop() - _GRF_BASE, bit=bit)
    return Piece(bits, address=state.pop() + bit // 8)


_operators: Any = operator  # its functions are of any types
_BINARY: Mapping[int, Callable[[int, int], int]] = {
    0x1A: _operators.and_,
    0x1C: _operators.sub,
    0x1E: _operators.mul,
    0x21: _operators.or_,
    0x22: _operators.add,
    0x24: lambda a, b: a << min(b, 64),
    0x25: lambda a, b: a >> min(b, 64),
    0x26: lambda a, b: _signed(a) >> min(b, 63),
    0x27: _operators.xor,
    0x29: lambda a, b: int(_signed(a) == _signed(b)),
    0x2A: lambda a, b: int(_signed(a) >= _signed(b)),
    0x2B: lambda a, b: int(_signed(a) > _signed(b)),
    0x2C: lambda a, b: int(_signed(a) <= _signed(b)),
    0x2D: lambda a, b: int(_signed(a) < _signed(b)),
    0x2E: lambda a, b: int(_signed(a) != _signed(b)),
}
_CONSTANTS: Mapping[int, tuple[int, bool]] = {
    0x08: (1, False), 0x09: (1, True), 0x0A: (2, False), 0x0B: (2, True), 0x0C: (4, False),
    0x0D: (4, True), 0x0E: (8, False), 0x0F: (8, True), 0x03: (8, False),
}  # fmt: skip
_ADDR, _DEREF, _CONSTU, _CONSTS, _DUP, _DROP, _SWAP = 0x03, 0x06, 0x10, 0x11, 0x12, 0x13, 0x16
_NOT, _NEG, _PLUS_UCONST, _SKIP, _BRA = 0x20, 0x1F, 0x23, 0x2F, 0x28
_LIT0, _REG0, _BREG0, _REGX, _FBREG = 0x30, 0x50, 0x70, 0x90, 0x91
_BREGX, _PIECE, _DEREF_SIZE, _BIT_PIECE, _IMPLICIT, _STACK_VALUE = (
    0x92, 0x93, 0x94, 0x9D, 0x9E, 0x9F,
)  # fmt: skip
_REGS, _PUSH_BIT_PIECE, _LANE, _PUSH_PIECE = 0xEB, 0xEC, 0xED, 0xFE
"""DW_OP_INTEL_regs, _push_bit_piece_stack, _push_simd_lane; the last is written since 2024 where
the second was: its size is an operand, a byte of which 256 bits make 0."""


def _step(code: bytes, at: int, state: _State, lane: int, machine: Machine) -> int:
    """Do the operation at a place of the code; return the place of the next."""
    op, at = code[at], at + 1
    if op in _BINARY:
        b, a = state.pop(), state.pop()
        state.push(_BINARY[op](a, b))
    elif op in _CONSTANTS:
        size, signed = _CONSTANTS[op]
        state.push(int.from_bytes(_take(code, at, size), "little", signed=signed))
        return at + size
    elif _LIT0 <= op < _REG0:
        state.push(op - _LIT0)
    elif _REG0 <= op < _BREG0:
        state.push_register(op - _REG0)
    elif op in _WITH_NUMBER:
        number, at = _leb(code, at, signed=op == _CONSTS)
        _with_number(op, number, state, machine)
    elif op == _PUSH_PIECE:
        _with_number(op, _take(code, at, 1)[0], state, machine)
        return at + 1
    elif op in {_BRA, _SKIP}:
        offset = int.from_bytes(_take(code, at, 2), "little", signed=True)
        return at + 2 + (offset if op == _SKIP or state.pop() else 0)
    elif op in {_BIT_PIECE, _IMPLICIT, _DEREF_SIZE}:
        return _with_more(op, code, at, state, machine)
    else:
        _plain(op, state, lane, machine)
    return at


_WITH_NUMBER = frozenset({_CONSTU, _CONSTS, _PLUS_UCONST, _REGX, _PIECE})


def _with_number(op: int, number: int, state: _State, machine: Machine) -> None:
    """Do an operation whose operand is a number."""
    match op:
        case 0x10 | 0x11:
            state.push(number)
        case 0x23:
            is_register = state.has_register
            value = state.pop() + number
            (state.push_register if is_register else state.push)(value)
        case 0x90:
            state.push_register(number)
        case 0x93:
            state.pieces.append(_top(state, 8 * number, 0) if state.stack else Piece(8 * number))
        case _:
            bit, register = state.pop(), state.pop()
            state.read_register(machine, register, bit, number)


def _with_more(op: int, code: bytes, at: int, state: _State, machine: Machine) -> int:
    """Do an operation with other operands; return the place of the next operation."""
    if op == _DEREF_SIZE:
        size = _take(code, at, 1)[0]
        if state.has_register:
            state.read_register(machine, state.pop(), 0, 8 * size)
        else:
            state.read_memory(machine, state.pop(), size)
        return at + 1
    number, at = _leb(code, at)
    if op == _IMPLICIT:
        state.push(int.from_bytes(_take(code, at, number), "little"))
        state.is_value = True
        return at + number
    bit, at = _leb(code, at)
    state.pieces.append(_top(state, number, bit) if state.stack else Piece(number))
    return at


def _plain(op: int, state: _State, lane: int, machine: Machine) -> None:
    """Do an operation without operands."""
    match op:
        case 0xED:
            state.push(lane)
        case 0xEB:
            state.push_register(state.pop())
        case 0xEC:
            bits, bit, register = state.pop(), state.pop(), state.pop()
            state.read_register(machine, register, bit, bits)
        case 0x9F:
            state.is_value = True
        case 0x06:
            state.read_memory(machine, state.pop(), 8)
        case 0x12:
            state.push(state.stack[-1] if state.stack else state.pop())
        case 0x13:
            state.pop()
        case 0x16:
            b, a = state.pop(), state.pop()
            state.push(b)
            state.push(a)
        case 0x1F:
            state.push(-state.pop())
        case 0x20:
            state.push(~state.pop())
        case 0x96:
            pass
        case _:
            raise Unplaced(f"its place is described by operation 0x{op:02x}, which is not known")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _take(code: bytes, at: int, size: int) -> bytes:
    if at + size > len(code):
        raise Unplaced("the compiler's description of its place is cut")
    return code[at : at + size]


def _leb(code: bytes, at: int, *, signed: bool = False) -> tuple[int, int]:
    """Return a number of variable length, and the place behind it."""
    value, shift = 0, 0
    while True:
        octet = _take(code, at, 1)[0]
        at += 1
        value |= (octet & 0x7F) << shift
        shift += 7
        if not octet & 0x80:
            break
    if signed and octet & 0x40:
        value -= 1 << shift
    return value, at


__all__ = ["Machine", "Origin", "Piece", "Unplaced", "pieces_of"]
