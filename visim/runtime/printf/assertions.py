"""What a kernel's assertions leave: a flag and records of text in a buffer of their own.

The compiler's library sets the flag when an assertion does not hold, writes a record as printf
does, and goes on: a driver looks when the launch is done, and aborts the program. Code that checks
the bounds of buffers sets the flag as well, and prints what it found by printf.

Facts: the library of IGC 2.x (assertions), the AssertBufferHeader of Intel's compute runtime.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visim.errors import Fault
from visim.machine.allocations import aligned_zeros
from visim.machine.memory import Space
from visim.runtime.printf.records import BadRecord, PrintfBuffer

_BYTES = 1 << 16
_NEXT = 8
"""Where the buffer says where its next record begins."""
_KINDS = {
    1: "an assertion does not hold",
    2: "the stack overflowed",
    3: "a buffer's offset is out of bounds",
}


@dataclass(frozen=True, slots=True)
class AssertBuffer:
    """The assert buffer of a launch, and the memory in which its strings are."""

    data: NDArray[np.uint8]
    memory: Space

    @classmethod
    def in_memory(cls, memory: Space) -> AssertBuffer:
        """Return a new buffer; `memory` does not have it yet."""
        return cls(aligned_zeros(_BYTES), memory)

    def reset(self) -> None:
        """Make the buffer as a launch has to find it."""
        self._words[:] = self.data.size, 0
        self._records.reset()

    @property
    def _words(self) -> NDArray[np.uint32]:
        """The buffer's size in bytes, and the flag."""
        return self.data[:_NEXT].view(np.uint32)

    @property
    def _records(self) -> PrintfBuffer:
        return PrintfBuffer(self.data, self.memory, _NEXT)

    def fault(self) -> Fault | None:
        """Return what failed in a launch, or None."""
        kind = int(self._words[1])
        if not kind:
            return None
        said = _KINDS.get(kind, f"the kernel set the assert buffer's flag to {kind}")
        try:
            text = self._records.read().text.decode("utf-8", "replace").strip()
        except BadRecord as record:
            text = f"({record})"
        return Fault("assertion", "assertion-failed", f"{said}: {text}" if text else said)
