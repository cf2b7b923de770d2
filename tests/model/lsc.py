"""What the pseudo-code of LSC_UNTYPED does, written out with loops over bytes.

It shares no code with visim. Memory and registers are arrays of bytes; addresses are indices into
memory. Registers are `grf` bytes, and what the page calls `DstData[v].elems[n]` is element n of
the registers that component v begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

# name: (bytes in memory, bytes of a register slot, byte of the slot where the element begins)
SIZES = {
    "d8": (1, 1, 0),
    "d16": (2, 2, 0),
    "d32": (4, 4, 0),
    "d64": (8, 8, 0),
    "d8u32": (1, 4, 0),
    "d16u32": (2, 4, 0),
    "d16u32h": (2, 4, 2),
}


@dataclass(frozen=True)
class Shape:
    """A data size, the components (0, 1, 2, ... or those of a quad), and the order."""

    data: str
    components: tuple[int, ...]
    transposed: bool = False

    def slot(self, channel: int, position: int, channels: int, grf: int) -> int:
        """Return the byte in registers where a component of a channel has its slot."""
        size = SIZES[self.data][1]
        if self.transposed:
            return position * size
        registers = -(-channels * size // grf)
        return position * registers * grf + channel * size


def load(
    memory: Bytes, registers: Bytes, addresses: Sequence[int], enabled: int, shape: Shape, grf: int
) -> None:
    """LOAD, LOAD_QUAD and LOAD_STRIDED; slots are cleared where the element is narrower."""
    size, slot, begin = SIZES[shape.data]
    for n, address in enumerate(addresses):
        if not enabled >> n & 1:
            continue
        for position, v in enumerate(shape.components):
            place = shape.slot(n, position, len(addresses), grf)
            registers[place : place + slot] = 0
            for byte in range(size):
                registers[place + begin + byte] = memory[address + v * size + byte]


def store(
    memory: Bytes, registers: Bytes, addresses: Sequence[int], enabled: int, shape: Shape, grf: int
) -> None:
    """STORE, STORE_UNCOMPRESSED, STORE_QUAD and STORE_STRIDED."""
    size, _, begin = SIZES[shape.data]
    for n, address in enumerate(addresses):
        if not enabled >> n & 1:
            continue
        for position, v in enumerate(shape.components):
            place = shape.slot(n, position, len(addresses), grf) + begin
            for byte in range(size):
                memory[address + v * size + byte] = registers[place + byte]


@dataclass(frozen=True)
class Rectangle:
    """A 2D block message; sizes of the surface in bytes and rows, without anything subtracted."""

    size: int
    blocks: int
    width: int
    height: int
    transpose: bool
    transform: bool
    surface_width: int
    surface_height: int
    pitch: int
    x: int
    y: int


def load_block2d(memory: Bytes, rectangle: Rectangle, grf: int) -> Bytes:
    """LOAD_BLOCK2D; returns the registers that it writes."""
    m = rectangle
    per_dword, per_register = 4 // m.size, grf // m.size
    row_size = m.height if m.transpose else m.width
    row_pitch = 1
    while row_pitch < row_size:
        row_pitch *= 2
    block_size = row_pitch * (m.width if m.transpose else m.height)
    block_pitch = (block_size + per_register - 1) // per_register * per_register
    registers = np.full((m.blocks * block_pitch, m.size), 0xEE, np.uint8)

    def element(offset: int, b: int, y: int, x: int) -> None:
        row, column = m.y + y, m.x + b * m.width + x
        start = row * m.pitch + column * m.size
        outside = not 0 <= row < m.surface_height or column < 0
        if outside or (column + 1) * m.size > m.surface_width:
            registers[offset] = 0
        else:
            registers[offset] = memory[start : start + m.size]

    def column_span(offset: int, b: int, y: int, x: int, n: int) -> None:
        for i in range(n):
            element(offset + i, b, y + i, x)

    def row_span(offset: int, b: int, y: int, x: int, n: int) -> None:
        for i in range(n):
            element(offset + i, b, y, x + i)

    for b in range(m.blocks):
        start = b * block_pitch
        if not m.transpose and not m.transform:
            for y in range(m.height):
                row_span(start + y * row_pitch, b, y, 0, m.width)
                registers[start + y * row_pitch + m.width : start + (y + 1) * row_pitch] = 0
        elif not m.transpose:
            for y in range(0, m.height, per_dword):
                row = start + y * row_pitch
                for x in range(m.width):
                    column_span(row + x * per_dword, b, y, x, per_dword)
                registers[row + m.width * per_dword : row + row_pitch * per_dword] = 0
        elif not m.transform:
            for x in range(m.width):
                row = start + x * row_pitch
                column_span(row, b, 0, x, m.height)
                registers[row + m.height : row + row_pitch] = 0
        else:
            for x in range(0, m.width, per_dword):
                row = start + x * row_pitch
                for y in range(m.height):
                    row_span(row + y * per_dword, b, y, x, per_dword)
                registers[row + m.height * per_dword : row + row_pitch * per_dword] = 0
        registers[start + block_size : start + block_pitch] = 0
    return registers.reshape(-1)


def atomic(
    memory: NDArray[np.generic],
    indices: Sequence[int],
    enabled: int,
    operation: Callable[..., object],
    operands: Sequence[NDArray[np.generic]],
) -> NDArray[np.generic]:
    """Do an atomic channel by channel; returns what the channels found, 0 where they are off."""
    found = np.zeros(len(indices), memory.dtype)
    for n, index in enumerate(indices):
        if enabled >> n & 1:
            found[n] = memory[index]
            with np.errstate(over="ignore"):
                memory[index] = operation(memory[index], *(operand[n] for operand in operands))
    return found
