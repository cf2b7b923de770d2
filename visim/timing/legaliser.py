"""From a linked kernel to native-shaped instructions of one generation, block by block.

The order of the vISA program is kept and nothing is optimised: each vISA instruction becomes the
native ones that it needs, with registers from `registers`. Lane operations, messages and their
payloads have modules of their own; control flow and synchronization stand here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from visim.errors import UnsupportedError
from visim.isa import Instruction, Unexecutable
from visim.isa.flow import FunctionAddress, IndirectFunctionCall
from visim.isa.forms import (
    Branch,
    Carry,
    FileMark,
    LabelMark,
    LineMark,
    Returning,
    SubroutineMark,
)
from visim.isa.matrix import Dpas
from visim.isa.registry import named_labels
from visim.isa.sync import LscFence
from visim.isa.table import SOURCES
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import (
    ExecSize,
    GeneralDestination,
    Immediate,
    StateOperand,
    VectorSource,
)
from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    Fence,
    NamedBarrierSignal,
    NamedBarrierWait,
)
from visim.sem.expr import Expr
from visim.sem.tracer import destination_type
from visim.timing.banks import BUNDLES
from visim.timing.emitter import Emitter, Step, execution_type
from visim.timing.expansions import steps
from visim.timing.footprint import Footprint, footprint, immediate
from visim.timing.machine import Machine
from visim.timing.messages import emit_messages
from visim.timing.native import SIGNAL, SPILL, WAIT, Native
from visim.timing.registers import Assignment, assign
from visim.timing.suppression import counted

MARKS = (LabelMark, SubroutineMark, FileMark, LineMark)
_SILENT = frozenset({"lifetime", "fence_sw"})
_THREE_SOURCES = frozenset({"mad", "lrp", "bfe", "bfi2"})
_CR0 = 14


@dataclass(frozen=True, slots=True)
class NativeUnit:
    """The native instructions of a unit; those of program counter p start at `starts[p]`.

    `starts` has one entry more than the body. `file_lines` are the source file and line of each
    program counter, where the program says.
    """

    unit: LinkedUnit
    instructions: tuple[Native, ...]
    starts: tuple[int, ...]
    assignment: Assignment
    file_lines: tuple[tuple[str, int] | None, ...]


@dataclass(frozen=True, slots=True)
class NativeProgram:
    """All units of a kernel for one machine, `first[u]` being the address of unit u in the code."""

    kernel: LinkedKernel
    machine: Machine
    units: tuple[NativeUnit, ...]
    first: tuple[int, ...]

    @property
    def instructions(self) -> tuple[Native, ...]:
        """All native instructions in the order of the code."""
        return tuple(item for unit in self.units for item in unit.instructions)


def legalise(kernel: LinkedKernel, machine: Machine) -> NativeProgram:
    """Return a kernel's native instructions.

    Raises:
        UnsupportedError: the generation has no instruction or message that the kernel needs.
    """
    units = tuple(_Legaliser(kernel, unit, machine).run() for unit in kernel.units)
    first: list[int] = []
    position = 0
    for unit in units:
        first.append(position)
        position += len(unit.instructions)
    return NativeProgram(kernel, machine, units, tuple(first))


class _Legaliser:
    """Legalises one unit."""

    def __init__(self, kernel: LinkedKernel, unit: LinkedUnit, machine: Machine) -> None:
        self._kernel = kernel
        self._unit = unit
        self._machine = machine
        self._native = machine.native
        self._footprints = [self._footprint(item) for item in unit.body]
        assignment = assign(unit, self._footprints, machine.native)
        self._emitter = Emitter(kernel.platform, machine.native, assignment)
        self._joins = frozenset(_targets(unit.body, _is_divergent))
        self._called = sorted(
            unit.labels[name] for name in _targets(unit.body, _is_call) if name in unit.labels
        )

    def run(self) -> NativeUnit:
        """Return the unit's native instructions."""
        starts: list[int] = []
        lines: list[tuple[str, int] | None] = []
        file, line = "", 0
        for pc, instruction in enumerate(self._unit.body):
            starts.append(len(self._emitter.instructions))
            self._emitter.pc = pc
            if isinstance(instruction, FileMark):
                file = instruction.name
            elif isinstance(instruction, LineMark):
                line = instruction.number
            lines.append((file, line) if line else None)
            found_here = self._footprints[pc]
            self._spill(found_here, "load")
            self._one(instruction, found_here)
            self._spill(found_here, "store")
        starts.append(len(self._emitter.instructions))
        found = tuple(self._emitter.instructions)
        rule = self._native.banks
        return NativeUnit(
            self._unit,
            counted(found, rule) if rule in BUNDLES else found,
            tuple(starts),
            self._emitter.assignment,
            tuple(lines),
        )

    def _spill(self, found: Footprint | None, way: str) -> None:
        """Load what an instruction reads of spilled variables, or store what it writes of them."""
        assignment = self._emitter.assignment
        if found is None or not assignment.spilled:
            return
        spans = found.reads if way == "load" else found.writes
        for span in spans:
            if span.variable.index not in assignment.spilled:
                continue
            registers = assignment.registers(span.variable, span.start, span.end)
            loads = way == "load"
            self._emitter.emit(
                Native(
                    f"{way}.ca{SPILL}",
                    16,
                    0,
                    f"message.scratch.block_{way}",
                    self._emitter.pc,
                    () if loads else (registers,),
                    () if loads else registers,
                    registers if loads else (),
                    payload=() if loads else registers,
                    sd=len(registers) if loads else 0,
                    sx=max(1, len(registers)),
                    ss=0 if loads else len(registers),
                )
            )

    def _footprint(self, instruction: Instruction) -> Footprint | None:
        if isinstance(instruction, MARKS):
            return None
        try:
            return footprint(instruction, self._kernel.platform)
        except Unexecutable as reason:
            raise UnsupportedError(f"timing: {instruction.show()}: {reason}") from None

    def _one(self, instruction: Instruction, found: Footprint | None) -> None:
        name = instruction.op.mnemonic
        if found is None:
            if isinstance(instruction, LabelMark) and instruction.name in self._joins:
                self._flow("join" if "join" in self._native.features else "endif")
        elif name in _SILENT:
            return
        elif found.messages:
            emit_messages(self._emitter, instruction, found)
        elif isinstance(instruction, Dpas):
            self._dpas(instruction, found)
        elif isinstance(instruction, Carry):
            self._carry(instruction)
        elif hasattr(instruction, "dst"):
            self._lanes(instruction, found)
        elif any(isinstance(effect, Fence) for effect in found.effects):
            self._fence(instruction)
        elif not self._synchronized(found):
            self._transfer(instruction)

    # Lane operations

    def _lanes(self, instruction: Any, found: Footprint) -> None:
        """Emit what a generation has for an instruction that computes lane by lane."""
        emitter, native = self._emitter, self._native
        execution: ExecSize = getattr(instruction, "exec", ExecSize(1, 0, no_mask=True))
        sources = [getattr(instruction, name) for name in SOURCES if hasattr(instruction, name)]
        destination = instruction.dst
        if isinstance(destination, StateOperand) and _is_immediate(sources):
            return  # a constant index is part of the message's descriptor
        if found.is_indirect:
            self._indirect(instruction, execution)
            return
        if isinstance(destination, GeneralDestination) and _root(destination) == _CR0:
            emitter.simple(instruction.op.mnemonic, "control", (), ())
            return
        kind = execution_type(sources, destination_type(destination))
        others = [execution_type([source], kind) for source in sources]
        name = instruction.op.mnemonic
        chain = steps(name, kind, others, native, self._machine.name)
        if name in {"mad", "madw"}:
            sources = [sources[2], *sources[:2]]
        if chain[-1].opcode in _THREE_SOURCES and native.three_source != "align1":
            self._packed_sources(sources, execution, kind.bytes)
        if self._needs_repacking(destination, execution, kind.bytes):
            chain = (*chain[:-1], Step(chain[-1].opcode, chain[-1].kind), Step("mov", "alu", "d"))
        pred = getattr(instruction, "pred", None)
        emitter.lanes(chain, execution, pred, destination, sources, self._cap(chain))

    def _cap(self, chain: Iterable[Step]) -> int:
        """Return how many channels an instruction may have at most."""
        cap = 16 if self._native.version < 80 else 32
        for step in chain:
            is_math = step.kind.startswith("math.")
            if is_math and not self._native.simd16_math:
                cap = min(cap, 8)
            if step.opcode in _THREE_SOURCES and self._native.three_source == "simd8":
                cap = min(cap, 8)
            if is_math or self._native.version < 90:
                cap = min(cap, 16)
        return cap

    def _packed_sources(self, sources: list[VectorSource], execution: ExecSize, size: int) -> None:
        """Move what Align16 cannot read: immediates, and regions neither packed nor scalar."""
        for source in sources:
            if self._emitter.is_packed(source, execution.size):
                continue
            scalar = isinstance(source, Immediate)
            registers = 1 if scalar else -(-execution.size * size // self._native.grf_bytes)
            width = 1 if scalar else execution.size
            target = self._emitter.temporary(registers)
            self._emitter.simple("mov", "alu", (), target, size=width, registers=registers)

    def _needs_repacking(self, destination: object, execution: ExecSize, computed: int) -> bool:
        """Whether results are narrower than what is computed, and must be packed afterwards."""
        if not isinstance(destination, GeneralDestination) or execution.size == 1:
            return False
        return destination.stride * destination.variable.type.bytes < computed

    def _indirect(self, instruction: Any, execution: ExecSize) -> None:
        sources = [getattr(instruction, name) for name in SOURCES if hasattr(instruction, name)]
        step = Step(instruction.op.mnemonic, "indirect", "d")
        self._emitter.lanes(
            (step,), execution, getattr(instruction, "pred", None), instruction.dst, sources, 16
        )

    def _carry(self, instruction: Carry) -> None:
        sources = [instruction.src0, instruction.src1]
        for destination, step in (
            (instruction.dst, Step(instruction.op.mnemonic, "logic", "d")),
            (instruction.carry, Step("mov", "alu", "d")),
        ):
            self._emitter.lanes(
                (step,), instruction.exec, instruction.pred, destination, sources, 16
            )

    def _dpas(self, instruction: Dpas, found: Footprint) -> None:
        if "dpas" not in self._native.features:
            raise UnsupportedError(f"timing: {self._machine.name} has no matrix instructions")
        assignment = self._emitter.assignment
        reads = [assignment.registers(s.variable, s.start, s.end) for s in found.reads]
        (written,) = [assignment.registers(s.variable, s.start, s.end) for s in found.writes]
        self._emitter.simple(
            f"dpas.{instruction.depth}x{instruction.repeats}",
            f"dpas.{instruction.repeats}",
            reads,
            written,
            size=instruction.exec.size,
            registers=len(written),
        )

    # Control flow and synchronization

    def _flow(
        self, opcode: str, reads: tuple[int, ...] = (), execution: ExecSize | None = None
    ) -> None:
        size = execution or ExecSize(1, 0)
        self._emitter.emit(
            Native(opcode, size.size, size.offset, "branch", self._emitter.pc, reads=reads)
        )

    def _transfer(self, instruction: Instruction) -> None:
        execution: ExecSize = getattr(instruction, "exec", ExecSize(1, 0))
        reads = self._emitter.predicate(
            getattr(instruction, "pred", None), execution.offset, execution.size
        )
        match instruction:
            case Returning() if self._ends_thread(instruction):
                target = self._emitter.temporary()
                self._emitter.simple("mov", "alu", [(0,)], target, size=8)
                self._emitter.emit(
                    Native("send.eot", 8, 0, "message.eot", self._emitter.pc, (target,), target)
                )
            case Branch() if instruction.op.mnemonic == "goto" and execution.size > 1:
                forward = "goto" if "join" in self._native.features else "if"
                self._flow(forward, reads, execution)
            case Branch() if instruction.op.mnemonic in {"goto", "jmp"}:
                self._flow("jmpi", reads)
            case FunctionAddress() | IndirectFunctionCall() | Branch() | Returning():
                self._flow(instruction.op.mnemonic, reads, execution)
            case _ if instruction.op.mnemonic in {"fcall", "switchjmp"}:
                self._flow(instruction.op.mnemonic, reads, execution)
            case _:
                raise UnsupportedError(f"timing: nothing is known about {instruction.show()}")

    def _ends_thread(self, instruction: Returning) -> bool:
        """Whether a return is that of the kernel, not of one of its subroutines."""
        in_subroutine = any(start <= self._emitter.pc for start in self._called)
        return instruction.op.mnemonic == "ret" and not self._unit.number and not in_subroutine

    def _fence(self, instruction: Instruction) -> None:
        if instruction.op.mnemonic == "wait":
            self._emitter.simple("wait", "nop", (), ())
            return
        target = self._emitter.temporary()
        is_local = isinstance(instruction, LscFence) and instruction.sfid == "slm"
        self._send("fence", target, opcode="send.slm" if is_local else "send.fence")
        self._emitter.simple("mov", "alu", [target], self._emitter.temporary(), size=8)

    def _send(
        self,
        kind: str,
        response: tuple[int, ...] = (),
        effect: int = 0,
        named: tuple[int, int] = (0, 0),
        opcode: str = "",
    ) -> None:
        header = self._emitter.temporary()
        self._emitter.simple("mov", "alu", [(0,)], header, size=8)
        self._emitter.emit(
            Native(
                opcode or f"send.{kind}",
                8,
                0,
                f"message.{kind}",
                self._emitter.pc,
                (header,),
                header,
                response,
                payload=header,
                sd=len(response),
                sx=1,
                ss=1,
                effect=effect,
                barrier=named[0],
                members=named[1],
            )
        )

    def _synchronized(self, found: Footprint) -> bool:
        """Add a barrier's instructions; return whether there was one."""
        for effect in found.effects:
            match effect:
                case Barrier():
                    self._send("barrier", effect=SIGNAL)
                    self._wait(0)
                case BarrierSignal():
                    self._send("barrier", effect=SIGNAL)
                case BarrierWait():
                    self._wait(0)
                case NamedBarrierSignal():
                    self._send("barrier", effect=SIGNAL, named=self._signalled(effect))
                case NamedBarrierWait():
                    self._wait(1 + self._known(effect.id, "number"))
                case _:
                    continue
            return True
        return False

    def _wait(self, barrier: int) -> None:
        pc = self._emitter.pc
        self._emitter.emit(Native("wait", 1, 0, "sync", pc, effect=WAIT, barrier=barrier))

    def _signalled(self, effect: NamedBarrierSignal) -> tuple[int, int]:
        """Return the number of a named barrier, from 1, and the signals that end a phase of it."""
        role = self._known(effect.role, "role")
        producers = self._known(effect.producers, "producers")
        consumers = self._known(effect.consumers, "consumers")
        members = producers + consumers if role else max(producers, consumers)
        return 1 + self._known(effect.id, "number"), members

    def _known(self, value: Expr, what: str) -> int:
        """Return a constant that a named barrier names."""
        if "named-barriers" not in self._native.features:
            raise UnsupportedError(f"timing: {self._machine.name} has no named barriers")
        found = immediate(value)
        if found is None:
            text = self._unit.body[self._emitter.pc].show()
            raise UnsupportedError(
                f"timing: {text}: the {what} of a named barrier is known only when it runs; make "
                "it an immediate"
            )
        return found


def _is_immediate(sources: list[Any]) -> bool:
    return all(isinstance(source, Immediate) for source in sources)


def _root(destination: GeneralDestination) -> int:
    return destination.variable.root()[0].index


def _is_divergent(instruction: Instruction) -> bool:
    execution = getattr(instruction, "exec", None)
    return (
        instruction.op.mnemonic == "goto" and isinstance(execution, ExecSize) and execution.size > 1
    )


def _is_call(instruction: Instruction) -> bool:
    return instruction.op.mnemonic == "call"


def _targets(body: Iterable[Instruction], chosen: Any) -> Iterable[str]:
    for instruction in body:
        if not isinstance(instruction, MARKS) and chosen(instruction):
            yield from named_labels(instruction)


__all__ = ["NativeProgram", "NativeUnit", "legalise"]
