"""How a stop becomes a fault: the one place that says what a fault tells, for every engine.

Knows instructions and refused accesses; the launch adds kernel and group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from visim.diag import ByteSpan, Span
from visim.engine.base import CALL_DEPTH
from visim.errors import Fault
from visim.isa import Instruction
from visim.machine.allocations import MemoryViolation
from visim.module import Unit


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a thread cannot go on: a fault without its place."""

    category: str
    code: str
    message: str

    @classmethod
    def undefined(cls, code: str, message: str) -> Stop:
        """Return a stop at what the specification does not define."""
        return cls("undefined", code, message)

    def unplaced(self) -> Fault:
        """Return the fault without a thread and an instruction."""
        return Fault(self.category, self.code, self.message)


CANCELLED = Stop("cancelled", "cancelled", "the launch was cancelled")
TOO_DEEP = Stop("out-of-contract", "call-depth", f"more than {CALL_DEPTH} calls are open")


def over_budget(budget: int | None) -> Stop:
    """Return the stop of a thread that has executed too many instructions."""
    message = f"the thread executed more than {budget} instructions"
    return Stop("out-of-contract", "instruction-budget", message)


def jump_over_waiting(label: str) -> Stop:
    """Return the stop at a scalar jump to a label behind waiting channels."""
    message = f"the jump to {label} passes a label where channels wait"
    return Stop.undefined("jump-over-waiting", message)


def switch_index(index: int, count: int) -> Stop:
    """Return the stop at a switchjmp whose index has no label."""
    return Stop.undefined("switch-index", f"the index is {index}, there are {count} labels")


def bad_handle(handle: int) -> Stop:
    """Return the stop at an indirect call of what is no function."""
    return Stop.undefined("bad-function-handle", f"0x{handle:x} is not the handle of a function")


def register_reach(address: int) -> Stop:
    """Return the stop at an indirect operand that leaves its variable."""
    message = f"an indirect operand reaches register byte {address}, outside its variable"
    return Stop.undefined("register-access", message)


def not_executable(reason: str, *, undefined: bool) -> Stop:
    """Return the stop at an instruction that visim does not execute."""
    return Stop("undefined" if undefined else "unsupported", "not-executable", reason)


def runs_off(unit: Unit, simd_size: int) -> str:
    """Return what to say of channels that go on behind a unit's last instruction.

    `simd_size` is the kernel's. IGC 1.0.12504 compiles functions for 8 channels that kernels of 16
    call, where it does not optimise.
    """
    made_for = unit.simd_size
    if made_for is None or made_for >= simd_size:
        return "control runs off the end"
    return (
        f"control runs off the end: {unit.name!r} is made for {made_for} channels (SimdSize), the "
        f"kernel has {simd_size}, and channels {made_for} to {simd_size - 1} do not return"
    )


def fault_at(instruction: Instruction, thread: int, stop: Stop) -> Fault:
    """Return a fault of a thread at an instruction."""
    file, line, offset = place_of(instruction)
    return Fault(
        stop.category,
        stop.code,
        stop.message,
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
    found = fault_at(instruction, thread, Stop.undefined("memory-access", str(violation)))
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
