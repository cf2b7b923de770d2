"""The variables of a program: the data segments of a zebin, at addresses, with pointers filled in.

They live as long as the program, so that what a launch stores the next one finds.

Facts: docs/kernel-abi.md (The file; Functions on the stack).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from visim.binary.zebin import DataRelocation, RelocationKind, SegmentKind, Zebin
from visim.errors import LinkError
from visim.linker import function_handle
from visim.machine.allocations import Allocation, aligned_zeros
from visim.machine.memory import Memory

_NAMES = {
    SegmentKind.CONST: "program constants",
    SegmentKind.GLOBAL: "program variables",
    SegmentKind.STRING: "program strings",
}


class Segments:
    """A program's data in host memory.

    Args:
        zebin: what the file holds.
        functions: names of the program's functions in the order of their handles.

    Raises:
        LinkError: a pointer in the data names something that the program does not have.
    """

    def __init__(self, zebin: Zebin, functions: Sequence[str]) -> None:
        self._arrays = {
            SegmentKind.CONST: _aligned(zebin.constant_data),
            SegmentKind.GLOBAL: _aligned(zebin.global_data),
            SegmentKind.STRING: _aligned(zebin.string_data),
        }
        self.symbols = {
            symbol.name: int(self._arrays[symbol.segment].ctypes.data) + symbol.value
            for symbol in zebin.symbols
            if symbol.segment in self._arrays
        }
        """Address of each variable, by name."""
        handles = {name: function_handle(i) for i, name in enumerate(functions, start=1)}
        addresses = handles | self.symbols
        for relocation in zebin.data_relocations:
            self._relocate(relocation, addresses)
        for kind in (SegmentKind.CONST, SegmentKind.STRING):
            self._arrays[kind].flags.writeable = False
        self._filled = [(kind, a) for kind, a in self._arrays.items() if a.size]

    @property
    def has_variables(self) -> bool:
        """Whether there is data that kernels can change."""
        return bool(self._arrays[SegmentKind.GLOBAL].size)

    def add_to(self, memory: Memory) -> Mapping[SegmentKind, Allocation]:
        """Let a launch's kernels reach the segments that are not empty; return where they are."""
        return {kind: memory.allocate(array, _NAMES[kind]) for kind, array in self._filled}

    def _relocate(self, relocation: DataRelocation, addresses: dict[str, int]) -> None:
        address = addresses.get(relocation.symbol)
        if address is None:
            raise LinkError(
                f"a pointer in the {_NAMES[relocation.target]} names {relocation.symbol!r}, "
                "which is not part of the program"
            )
        if relocation.kind is RelocationKind.ADDRESS32_HIGH:
            address >>= 32
        size = relocation.kind.size
        value = (relocation.addend + address) % (1 << 8 * size)
        slot = self._arrays[relocation.target][relocation.offset : relocation.offset + size]
        slot[:] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)


def _aligned(data: bytes) -> NDArray[np.uint8]:
    """Return a copy of `data` at an address that suits every type."""
    array = aligned_zeros(len(data))
    array[:] = np.frombuffer(data, np.uint8)
    return array
