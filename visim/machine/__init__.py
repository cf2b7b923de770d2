"""What kernels run on, independent of how they are run: memory spaces and their operations."""

from __future__ import annotations

from visim.machine.allocations import Allocation, MemoryViolation
from visim.machine.atomics import AtomicOp
from visim.machine.memory import Memory, Space
from visim.machine.surfaces import Scratch, SharedLocalMemory, Surface, Surfaces

__all__ = [
    "Allocation",
    "AtomicOp",
    "Memory",
    "MemoryViolation",
    "Scratch",
    "SharedLocalMemory",
    "Space",
    "Surface",
    "Surfaces",
]
