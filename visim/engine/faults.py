"""How a stop becomes a fault: the one place that says what a fault tells, for every engine.

Knows instructions and refused accesses; the launch adds kernel and group.
"""

from __future__ import annotations

from dataclasses import replace

from visim.diag import ByteSpan, Span
from visim.errors import Fault
from visim.isa import Instruction
from visim.machine.allocations import MemoryViolation


def fault_at(
    instruction: Instruction, thread: int, category: str, code: str, message: str
) -> Fault:
    """Return a fault of a thread at an instruction."""
    file, line, offset = place_of(instruction)
    return Fault(
        category,
        code,
        message,
        thread=thread,
        instruction=instruction.show(),
        file=file,
        line=line,
        offset=offset,
    )


def place_of(instruction: Instruction) -> tuple[str | None, int | None, int | None]:
    """Return the file of an instruction, its line in a text, and its byte in an object."""
    match instruction.origin:
        case Span(source=source, line=line):
            return source.name, line, None
        case ByteSpan(file=file, offset=offset):
            return file, None, offset
        case _:
            return None, None, None


def memory_fault(instruction: Instruction, thread: int, violation: MemoryViolation) -> Fault:
    """Return the fault of an access that memory refused; its channel counts from the thread's."""
    exec_size = getattr(instruction, "exec", None)
    found = fault_at(instruction, thread, "undefined", "memory-access", str(violation))
    return replace(
        found,
        channel=violation.channel + (exec_size.offset if exec_size else 0),
        address=violation.address,
        size=violation.size,
        buffer=violation.nearest,
        distance=violation.distance,
    )


def place_name(unit: str, instruction: Instruction) -> str:
    """Return how messages name an instruction of a unit."""
    line = getattr(instruction.origin, "line", None)
    return unit + (f" line {line}" if line else "")
