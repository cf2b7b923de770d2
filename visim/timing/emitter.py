"""Emits the native instructions of one unit: chunks, register numbers, bank conflicts.

Knows how operands lie in registers and how many registers a native operand may touch, not which
instructions there are; that is the legaliser's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from visim.operands import (
    AddressOperand,
    ExecSize,
    General,
    GeneralDestination,
    GeneralSource,
    IndirectDestination,
    IndirectSource,
    PredicateOperand,
    PredicateVariable,
    Predication,
    StateOperand,
    VectorDestination,
    VectorSource,
)
from visim.sem.tracer import destination_type, source_type
from visim.target import Platform
from visim.timing.banks import conflicts
from visim.timing.machine import NativeRules
from visim.timing.native import ACCUMULATOR_0, ADDRESS, FLAG_0, MRF_0, Native
from visim.timing.registers import Assignment
from visim.types import DataType

_MOST_REGISTERS = 2
"""Registers that one operand of a native instruction may touch."""
_TEMPORARIES = 8


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of an expansion: it reads the sources or what the step before has written.

    `target` is "d" for the destination, "t" for a temporary, "acc" for the accumulator.
    """

    opcode: str
    kind: str
    target: str = "t"


@dataclass(frozen=True, slots=True)
class Elements:
    """Where the channels' elements of an operand stand: byte offsets in a root variable."""

    variable: General
    bytes: tuple[int, ...]
    size: int


class Emitter:
    """Collects the native instructions of a unit."""

    def __init__(self, platform: Platform, native: NativeRules, assignment: Assignment) -> None:
        self.platform = platform
        self.native = native
        self.assignment = assignment
        self.instructions: list[Native] = []
        self.pc = -1
        self._temporary = 0

    # Registers

    def temporary(self, count: int = 1) -> tuple[int, ...]:
        """Return registers at the end of the file for a value that lives for a moment."""
        top = self.native.grfs - 1
        found = tuple(top - (self._temporary + i) % _TEMPORARIES for i in range(count))
        self._temporary = (self._temporary + count) % _TEMPORARIES
        return found

    def message_registers(self, count: int, start: int = 1) -> tuple[int, ...]:
        """Return message registers from m1 on."""
        last = self.native.mrfs - 1
        return tuple(MRF_0 + min(start + i, last) for i in range(count))

    def flags(self, variable: PredicateVariable, start: int, end: int) -> tuple[int, ...]:
        """Return the flag bytes of some bits of a predicate; variables take turns."""
        available = 4 if self.native.version <= 60 else 8
        width = 4 if variable.count > 16 else 2
        base = (variable.index * width) % available
        return tuple(FLAG_0 + (base + bit // 8) % available for bit in range(start, end, 8))

    def predicate(self, predication: Predication | None, start: int, size: int) -> tuple[int, ...]:
        """Return the flag bytes that a predicated instruction reads."""
        if predication is None:
            return ()
        return self.flags(predication.variable, start, start + size)

    def elements(self, operand: VectorSource | VectorDestination, channels: int) -> Elements | None:
        """Return where an operand's elements stand, None where that is no general register."""
        match operand:
            case GeneralSource(variable, row, col, region):
                width = min(region.w, channels)
                steps = [
                    (i // width) * (region.v or 0) + (i % width) * region.h for i in range(channels)
                ]
            case GeneralDestination(variable, row, col, stride):
                steps = [i * stride for i in range(channels)]
            case _:
                return None
        root, base = variable.root()
        start = base + row * self.platform.grf_bytes + col * variable.type.bytes
        size = variable.type.bytes
        return Elements(root, tuple(start + step * size for step in steps), size)

    def is_packed(self, operand: VectorSource, channels: int) -> bool:
        """Whether an operand is one element for all channels, or elements side by side."""
        found = self.elements(operand, channels)
        if found is None:
            return False
        distances = {b - a for a, b in itertools.pairwise(found.bytes)}
        return distances <= {0} or distances == {found.size}

    def registers(self, elements: Elements | None, first: int, size: int) -> tuple[int, ...]:
        """Return the registers of channels `first` to `first + size`."""
        if elements is None:
            return ()
        found: set[int] = set()
        for byte in set(elements.bytes[first : first + size]):
            found.update(self.assignment.registers(elements.variable, byte, byte + elements.size))
        return tuple(sorted(found))

    def chunk(self, operands: Sequence[Elements | None], channels: int, cap: int) -> int:
        """Return the largest execution size whose operands touch at most two registers each."""
        size = min(channels, cap)
        while size > 1 and any(
            _span(self.registers(operand, first, size)) > _MOST_REGISTERS
            for operand in operands
            for first in range(0, channels, size)
        ):
            size //= 2
        return size

    # Instructions

    def emit(self, instruction: Native) -> None:
        """Add an instruction, with its bank conflicts."""
        self.instructions.append(instruction)

    def simple(
        self,
        opcode: str,
        kind: str,
        sources: Sequence[tuple[int, ...]],
        writes: tuple[int, ...],
        *,
        size: int = 1,
        group: int = 0,
        registers: int = 1,
        reads: tuple[int, ...] = (),
        origin: str = "derived",
    ) -> None:
        """Add an instruction whose registers are known; `registers` are written and executed."""
        read = tuple(item for source in sources for item in source)
        self.emit(
            Native(
                opcode,
                size,
                group,
                kind,
                self.pc,
                tuple(sources),
                tuple(dict.fromkeys((*read, *reads))),
                writes,
                sd=registers,
                sx=registers,
                ss=max((len(source) for source in sources), default=0),
                sc=conflicts(sources, registers, self.native.banks),
                origin=origin,
            )
        )

    def lanes(
        self,
        steps: Sequence[Step],
        execution: ExecSize,
        predication: Predication | None,
        destination: VectorDestination,
        sources: Sequence[VectorSource],
        cap: int,
    ) -> None:
        """Add the instructions of a lane operation, split as registers and regions demand."""
        target = self.elements(destination, execution.size)
        operands = [self.elements(source, execution.size) for source in sources]
        kinds = [source_type(source) for source in sources]
        widest = max([kind.bytes for kind in kinds], default=4)
        unit = max(widest, destination_type(destination).bytes if target else 0)
        cap = min(cap, max(1, _MOST_REGISTERS * self.native.grf_bytes // unit))
        size = self.chunk([target, *operands], execution.size, cap)
        for first in range(0, execution.size, size):
            self._chunk_steps(
                steps,
                ExecSize(size, execution.offset + first, execution.no_mask),
                predication,
                self._written(destination, target, execution.offset, first, size),
                [self.registers(operand, first, size) for operand in operands],
                (self._indirect_reads(sources), widest, _is_null(destination, target)),
            )

    def _chunk_steps(
        self,
        steps: Sequence[Step],
        execution: ExecSize,
        predication: Predication | None,
        writes: tuple[int, ...],
        sources: list[tuple[int, ...]],
        facts: tuple[tuple[int, ...], int, bool],
    ) -> None:
        """Emit a chain of native instructions, each of which reads what the one before wrote.

        `facts` are the registers read besides, the bytes of the widest operand, and whether the
        result goes nowhere.
        """
        implicit, widest, has_no_register = facts
        executed = -(-execution.size * widest // self.native.grf_bytes)
        flags = self.predicate(predication, execution.offset, execution.size)
        previous: tuple[int, ...] = ()
        for number, step in enumerate(steps):
            last = number == len(steps) - 1
            read = [*sources, previous] if previous else sources
            target = writes if step.target == "d" else self._target(step, executed)
            written = executed if has_no_register or not last else _grfs(target)
            self.emit(
                Native(
                    step.opcode,
                    execution.size,
                    execution.offset,
                    step.kind,
                    self.pc,
                    tuple(read),
                    tuple(
                        dict.fromkeys((*(r for source in read for r in source), *flags, *implicit))
                    ),
                    target,
                    sd=max(1, written),
                    sx=max(1, executed),
                    ss=max((len(source) for source in read), default=0),
                    sc=conflicts(read, max(1, written), self.native.banks),
                    origin="derived" if len(steps) == 1 else "assumed",
                )
            )
            previous = target

    def _target(self, step: Step, registers: int) -> tuple[int, ...]:
        if step.target == "acc":
            return (ACCUMULATOR_0,)
        return self.temporary(max(1, registers))

    def _written(
        self,
        destination: VectorDestination,
        target: Elements | None,
        offset: int,
        first: int,
        size: int,
    ) -> tuple[int, ...]:
        match destination:
            case PredicateOperand(variable):
                return self.flags(variable, offset + first, offset + first + size)
            case AddressOperand() | StateOperand():
                return (ADDRESS,)
            case IndirectDestination():
                return ()
            case _:
                return self.registers(target, first, size)

    def _indirect_reads(self, sources: Sequence[VectorSource]) -> tuple[int, ...]:
        indirect = any(isinstance(item, IndirectSource | AddressOperand) for item in sources)
        return (ADDRESS,) if indirect else ()


def _grfs(resources: Sequence[int]) -> int:
    return sum(item < ADDRESS for item in resources)


def _is_null(destination: VectorDestination, target: Elements | None) -> bool:
    return target is None or not isinstance(destination, GeneralDestination)


def _span(registers: Sequence[int]) -> int:
    return registers[-1] - registers[0] + 1 if registers else 0


def execution_type(sources: Sequence[VectorSource], fallback: DataType) -> DataType:
    """Return the type in which an instruction computes: floats first, then the widest."""
    kinds = [source_type(source) for source in sources] or [fallback]
    return max(kinds, key=lambda kind: (kind.is_float, kind.bytes))


__all__ = ["Elements", "Emitter", "Step", "execution_type"]
