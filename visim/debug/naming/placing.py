"""Reads a source variable of a thread that stands: evaluates its place for all channels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from visim.binary.dwarf.scopes import SourceVariable
from visim.binary.dwarf.types import Kind
from visim.debug.engine.memory import HOST, SCRATCH, SLM
from visim.debug.naming.natives import Natives
from visim.debug.naming.operations import Piece, Unplaced, pieces_of
from visim.debug.naming.values import REGISTERS, SourceValue, Spot, Spots
from visim.linker.program import LinkedKernel
from visim.operands import General

FRAME_POINTER = "%fp"
_FRAME_POINTER_BITS = (128, 64)
"""Where the frame pointer is in the last register, by the convention of stack calls."""
_LAST_REGISTER = 31
"""The lower bits of the last register's number: there are 32, 64, 96, 128 ... registers."""
LOCAL_BITS = 28
_HALF = 16
_TOO_LARGE = "the compiler's description of its place is larger than its register"
_ADDRESS, _IMPLICIT = 0x03, 0x9E
_STACK_VALUE, _BIT_PIECE, _REGS = b"\x9f", 0x9D, range(0x50, 0x70)
_OF_ONE_CHANNEL = bytes.fromhex("0e000000000000000a")
"""With what ocloc 22.43 marks addresses of local memory, which it describes for channel 0 alone."""
_POINTER_BITS, _OFFSET_BYTES = 64, 4
ENDED = "it has no value at this instruction"
NO_NOTES = (
    "where it is, only the compiler's notes say, which the file lacks: make it with visim cl "
    "--options -g, or give --notes (docs/debug.md)"
)
Load = Callable[[int, int], NDArray[np.uint8]]
"""Returns bytes of a memory from an address on; raises Unplaced if it does not hold them."""


class _Whole(Unplaced):
    """The place is a vector in registers.

    Compilers write that as pieces without a size, or with that of the vector for each element.
    """

    def __init__(self, register: int, bit: int) -> None:
        super().__init__("the compiler does not say how large the parts of its place are")
        self.register = register
        self.bit = bit


class Registers:
    """The registers of a thread at an instruction, as a location expression reads them.

    Args:
        kernel: the kernel.
        natives: the compiler's notes.
        place: the unit and the instruction that comes next in it.
        image: the thread's register image, as the function that is looked at has it.
        frame_pointer: returns the function's frame pointer, or raises Unplaced.
        flat, scratch, local: memories.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        natives: Natives,
        place: tuple[int, int],
        image: NDArray[np.uint8],
        frame_pointer: Callable[[], int],
        flat: Load,
        scratch: Load,
        local: Load,
    ) -> None:
        self.kernel = kernel
        self._natives = natives
        self.place = place
        self._image = image
        self._frame_pointer = frame_pointer
        self._flat, self._scratch, self._local = flat, scratch, local
        self._lane = 0
        self._short: General | None = None
        self._vector_bits = 0
        self._end: int | None = None
        self._asked = 0
        self._owners: dict[int, list[General]] = {}

    def variable(self, register: int, byte: int) -> tuple[General, int]:
        """Return which vISA variable has a byte of a register here, and where in it that is."""
        unit, pc = self.place
        if not self._natives.knows(unit):
            raise Unplaced(NO_NOTES)
        found = self._natives.variable(unit, pc, register, byte)
        if found is None and self._end is not None:
            raise Unplaced(ENDED)
        if found is None:
            raise Unplaced("what its register holds here is not known")
        if self._end is not None and found.end != self._end:
            raise Unplaced(ENDED)
        return found.general, found.byte

    def bytes_of(self, general: General) -> NDArray[np.uint8]:
        """Return what a vISA variable holds."""
        start = self._offset(general)
        return self._image[start : start + general.bytes]

    def register(self, number: int, bit: int, bits: int) -> int:
        """Return bits of a register; see `operations.Machine`."""
        if not bits or bits == self._vector_bits:
            raise _Whole(number, bit)
        if self._short is not None:
            data = self.bytes_of(self._short)[_OFFSET_BYTES * self._lane :][:_OFFSET_BYTES]
            return int.from_bytes(data.tobytes(), "little")
        if (bit, bits) == _FRAME_POINTER_BITS and number & _LAST_REGISTER == _LAST_REGISTER:
            return self._frame_pointer()
        return int.from_bytes(self.register_bytes(number, bit, bits), "little")

    def register_bytes(self, number: int, bit: int, bits: int) -> bytes:
        """Return bytes from a bit of a register on, which may go on in the next registers."""
        general, inside = self.variable(number, bit // 8)
        self._owners.setdefault(self._asked, []).append(general)
        self._asked += 1
        if not self._lane and self._is_short(general, bits):
            self._short = general
            return self.bytes_of(general)[:_OFFSET_BYTES].tobytes()
        data = self.bytes_of(general)[inside : inside + bits // 8]
        if 8 * len(data) < bits:
            raise Unplaced(_TOO_LARGE)
        return data.tobytes()

    def _is_short(self, general: General, bits: int) -> bool:
        """Whether a pointer is an offset in scratch memory.

        Compilers say that it has 64 bits, as pointers of their programs have; in the register it
        has 32 for each channel.
        """
        is_offset = general.type.bytes == _OFFSET_BYTES and bits == _POINTER_BITS
        return is_offset and general.count == self.kernel.simd_size

    def memory(self, address: int, size: int) -> int:
        """Return a number in memory; see `operations.Machine`."""
        return int.from_bytes(self._load(address, size, is_local=False).tobytes(), "little")

    def _load(self, address: int, size: int, *, is_local: bool) -> NDArray[np.uint8]:
        if is_local:
            return self._local(address & (1 << LOCAL_BITS) - 1, size)
        return (self._flat if self._short is None else self._scratch)(address, size)

    def read(self, variable: SourceVariable, code: bytes, end: int | None = None) -> SourceValue:
        """Return what a variable holds in all channels.

        Args:
            variable: the variable.
            code: the expression that describes its place here.
            end: where its range has ended in native code; then it still holds what it held while
                the vISA variables are used for which the range was that long.

        Raises:
            Unplaced: that cannot be said.
        """
        size, width = variable.type.size, self.kernel.simd_size
        if not size:
            raise Unplaced(f"its type, {variable.type.name}, has no size")
        octets = np.zeros((width, size), np.uint8)
        known, spots = np.zeros(size, np.bool_), Spots.nowhere(width, size)
        self._short, self._end, self._owners = None, end, {}
        is_vector = variable.type.kind is Kind.ARRAY and variable.type.count > 1
        self._vector_bits = 8 * size if is_vector else 0
        if variable.type.kind is Kind.POINTER and _OF_ONE_CHANNEL in code:
            raise Unplaced("the compiler describes where it points to for one channel only")
        if end is not None and not _reads_registers(code):
            raise Unplaced(ENDED)
        for lane in range(width):
            self._lane, self._asked = lane, 0
            try:
                pieces = pieces_of(code, lane, self)
            except _Whole as whole:
                return self._vector(variable, whole)
            self._fill(octets[lane], known, spots, pieces, variable)
        if not known.any():
            raise Unplaced("optimised away")
        if any(_is_cut(one, width) for one in self._owners.values()):
            raise Unplaced(_TOO_LARGE)
        target = variable.type.target
        if target is not None and target.is_local and self._owners and octets[:, 4:].any():
            raise Unplaced(_TOO_LARGE)  # such pointers have 32 bits in registers
        return SourceValue(variable.type, octets, known, spots)

    def _fill(
        self,
        octets: NDArray[np.uint8],
        known: NDArray[np.bool_],
        spots: Spots,
        pieces: list[Piece],
        variable: SourceVariable,
    ) -> None:
        """Put pieces into the bytes of the channel."""
        at = 0
        for piece in pieces:
            size = piece.bits // 8 if piece.bits else len(octets) - at
            size = min(size, len(octets) - at)
            data = self._piece(piece, size, variable)
            if data is not None:
                octets[at : at + size] = np.frombuffer(data, np.uint8)
                known[at : at + size] = True
                spot = self._spot(piece, size, is_local=variable.is_local)
                if spot is not None:
                    spots.put(self._lane, at, spot)
            at += size

    def _piece(self, piece: Piece, size: int, variable: SourceVariable) -> bytes | None:
        if piece.value is not None:
            return piece.value.to_bytes(8, "little")[:size] if size <= 8 else None
        if piece.register is not None:
            return self.register_bytes(piece.register, piece.bit, 8 * size)
        if piece.address is not None:
            return self._load(piece.address, size, is_local=variable.is_local).tobytes()
        return None

    def _spot(self, piece: Piece, size: int, *, is_local: bool) -> Spot | None:
        """Return where a piece is; None for what is computed or a constant."""
        origin = piece if piece.value is None else piece.origin
        if origin is None:
            return None
        if origin.register is not None:
            general, inside = self.variable(origin.register, origin.bit // 8)
            return Spot(REGISTERS, self._offset(general) + inside, size)
        if origin.address is None:
            return None
        if is_local and piece.value is None:
            return Spot(SLM, origin.address & (1 << LOCAL_BITS) - 1, size)
        return Spot(HOST if self._short is None else SCRATCH, origin.address, size)

    def _offset(self, general: General) -> int:
        """Return where a vISA variable begins in the register image."""
        return self.kernel.offset(self.kernel.units[self.place[0]], general)

    def _vector(self, variable: SourceVariable, whole: _Whole) -> SourceValue:
        """Return a variable that has all of a vISA variable: for each element a row of channels.

        Raises:
            Unplaced: the vISA variable has other bytes than all channels' variables have.
        """
        general, inside = self.variable(whole.register, whole.bit // 8)
        width, size = self.kernel.simd_size, variable.type.size
        element = general.type.bytes
        if inside or general.bytes != width * size or size % element:
            raise whole
        parts = self.bytes_of(general).reshape(size // element, width, element)
        octets = np.ascontiguousarray(parts.transpose(1, 0, 2)).reshape(width, size)
        spots, start = Spots.nowhere(width, size), self._offset(general)
        for lane in range(width):
            for number in range(size // element):
                place = start + (number * width + lane) * element
                spots.put(lane, number * element, Spot(REGISTERS, place, element))
        return SourceValue(variable.type, octets, np.ones(size, np.bool_), spots)


def _is_cut(owners: list[General], width: int) -> bool:
    """Whether channels that are side by side have their values in different vISA variables.

    Compilers make at most two of the variables of 32 channels. Shorter ones come of descriptions
    with more bytes for a channel than the variable has (ocloc 22.43: 16-bit ids, local pointers).
    """
    runs = [len(list(run)) for _, run in groupby(owners, key=id)]
    return len(owners) == width and min(runs) < min(_HALF, width)


def _reads_registers(code: bytes) -> bool:
    """Whether an expression begins with a register or a channel's number: it is no constant."""
    return not (code and code[0] in {_ADDRESS, _IMPLICIT})


def in_memory(code: bytes) -> bool:
    """Whether an expression is the place of a variable in memory, not in registers."""
    return not code.endswith(_STACK_VALUE) and _BIT_PIECE not in code[-4:] and code[0] not in _REGS


__all__ = ["ENDED", "FRAME_POINTER", "LOCAL_BITS", "NO_NOTES", "Load", "Registers", "in_memory"]
