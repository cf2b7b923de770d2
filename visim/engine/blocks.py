"""Basic blocks of a linked kernel, bound to one register image and prepared when first reached.

A block is a stretch of instructions that the same channels execute: it ends before a label and
after a transfer of control, a synchronization, or a write to CR0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from visim.engine import lanes
from visim.engine.accesses import SiteTable
from visim.engine.context import Context
from visim.engine.faults import runs_off
from visim.engine.lanes import RegisterRange
from visim.engine.modes import FloatMode
from visim.engine.observers import BlockNumbers, BlockPlace
from visim.engine.plan import Step, StepBuilder
from visim.engine.taint import Tracker
from visim.engine.taint_steps import TaintWriter
from visim.isa import Instruction, Unexecutable
from visim.isa.forms import FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.matrix import Dpas
from visim.isa.table import SOURCES
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import GeneralSource
from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    CallFunction,
    Effect,
    FusedExchange,
    Jump,
    NamedBarrierSignal,
    NamedBarrierWait,
    RegisterWrite,
    Switch,
    Synchronization,
    Transfer,
    WriteRegister,
    Yield,
)
from visim.sem.expr import Expr

TSC, CR0 = 6, 14
MARKS = (LabelMark, SubroutineMark, FileMark, LineMark)
BLOCK_STARTS = (LabelMark, SubroutineMark)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a block ends.

    `select` returns which channels a transfer asks for (bit i is channel i), or is None when it
    asks for all. `operands` returns the handle of an indirect call, or what a named barrier is
    given, in the order of the effect's fields. `after` is what a fused pair does when it has met.
    """

    transfer: Transfer | Synchronization | None
    changes_mode: bool
    select: Callable[[], int] | None
    operands: Callable[[], tuple[int, ...]]
    after: Step | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Steps from program counter `start` on; `next` is the counter after the block.

    `steps` pairs each step with its program counter. `forms` are the mnemonics of all
    instructions of the block, the ending included; their number is what the block counts. Blocks
    at the same place have the same `number`, whatever their mode.
    """

    number: int
    start: int
    next: int
    steps: tuple[tuple[int, Step], ...]
    ending: Ending
    forms: tuple[str, ...]


class Unready(Exception):
    """An instruction of the block cannot be executed; raised when it is reached."""

    def __init__(self, pc: int, reason: str, *, undefined: bool = False) -> None:
        self.pc = pc
        self.reason = reason
        self.undefined = undefined
        super().__init__(reason)


class BlockTable:
    """The blocks of one unit, by program counter, mode and whether all channels are on.

    `numbers` has the numbers of the blocks of all units. With `sites`, steps note their accesses.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        unit: LinkedUnit,
        context: Context,
        numbers: BlockNumbers,
        tracker: Tracker | None = None,
        sites: SiteTable | None = None,
    ) -> None:
        self.kernel = kernel
        self.unit = unit
        self.numbers = numbers
        self.sites = sites
        self.context = context
        self.tracker = tracker
        self.blocks: dict[tuple[int, int, bool], Block] = {}
        self._effects: dict[int, tuple[Effect, ...]] = {}

    def block(self, pc: int, mode: FloatMode, *, full: bool) -> Block:
        """Return the block that starts at `pc`."""
        key = (pc, mode.bits, full)
        found = self.blocks.get(key)
        if found is None:
            found = self.blocks[key] = self._prepare(pc, mode, full=full)
        return found

    def _prepare(self, start: int, mode: FloatMode, *, full: bool) -> Block:
        """Return the block that begins at `start`.

        It ends in front of a label, or with what may transfer control or change the mode. What
        cannot be executed becomes a step that refuses.
        """
        body = self.unit.body
        steps: list[tuple[int, Step]] = []
        forms: list[str] = []
        pc = start
        while pc < len(body):
            instruction = body[pc]
            starts_block = isinstance(instruction, BLOCK_STARTS) or reads_clock(instruction)
            if starts_block and pc > start:
                return self._made(start, pc, steps, _FALL_THROUGH, forms)
            if isinstance(instruction, MARKS):
                pc += 1
                continue
            try:
                step, ending = self._instruction(pc, instruction, mode, full=full)
            except (Unexecutable, RegisterRange) as reason:
                undefined = isinstance(reason, RegisterRange)
                step = _refusal(pc, str(reason), undefined=undefined)
                ending = _FALL_THROUGH
            forms.append(form_name(instruction))
            if step is not None:
                steps.append((pc, step))
            pc += 1
            if ending is not _FALL_THROUGH:
                return self._made(start, pc, steps, ending, forms)
        if start == pc:
            reason = runs_off(self.unit.unit, self.kernel.simd_size)
            steps.append((pc, _refusal(pc, reason, undefined=True)))
        return self._made(start, pc, steps, _FALL_THROUGH, forms)

    def _made(
        self, start: int, end: int, steps: list[tuple[int, Step]], ending: Ending, forms: list[str]
    ) -> Block:
        number = self.numbers.number(BlockPlace(self.unit.number, start, end))
        return Block(number, start, end, tuple(steps), ending, tuple(forms))

    def effects(self, pc: int) -> tuple[Effect, ...]:
        """Return the traced effects of the instruction at `pc`."""
        found = self._effects.get(pc)
        if found is None:
            found = self._effects[pc] = self.kernel.effects(self.unit, pc)
        return found

    def _builder(self, mode: FloatMode, *, full: bool) -> StepBuilder:
        return StepBuilder(self.kernel, self.unit, self.context, mode, full=full)

    def _instruction(
        self, pc: int, instruction: Instruction, mode: FloatMode, *, full: bool
    ) -> tuple[Step | None, Ending]:
        """Return the step of an instruction, None if it has none, and how it ends a block."""
        effects = self.effects(pc)
        transfer = next((e for e in effects if isinstance(e, Transfer | Synchronization)), None)
        ordinary = [e for e in effects if e is not transfer]
        step = None
        if ordinary:
            builder = self._builder(mode, full=full)
            builder.effects(ordinary, self._noted(pc, ordinary))
            step = builder.build()
        if self.tracker is not None:
            writer = TaintWriter(
                self.kernel, self.unit, self.context, mode, self.tracker, instruction, full=full
            )
            writer.move(effects)
            step = _in_turn(writer.build(), step)
        changes = any(_writes_cr0(effect) for effect in ordinary)
        if transfer is None and not changes:
            return step, _FALL_THROUGH
        if isinstance(transfer, FusedExchange):
            return None, Ending(transfer, changes, None, _nothing, step)
        return step, self._ending(transfer, changes, mode, full=full)

    def _noted(self, pc: int, effects: Sequence[Effect]) -> dict[int, int]:
        """Return the numbers of sites by the identity of their effects, where they are noted."""
        if self.sites is None:
            return {}
        found = {id(effect): self.sites.number(self.unit.number, pc, effect) for effect in effects}
        return {key: number for key, number in found.items() if number is not None}

    def _ending(
        self,
        transfer: Transfer | Synchronization | None,
        changes: bool,
        mode: FloatMode,
        *,
        full: bool,
    ) -> Ending:
        """Return how a block ends.

        That is its transfer, and functions that compute which channels take it and what else it
        needs.
        """
        select, operands = None, _nothing
        match transfer:
            case NamedBarrierWait(number):
                operands = self._integers((number,), mode, full=full)
            case NamedBarrierSignal(number, role, producers, consumers):
                operands = self._integers((number, role, producers, consumers), mode, full=full)
            case None | Barrier() | BarrierSignal() | BarrierWait() | Yield() | FusedExchange():
                pass
            case Jump(_, condition):
                if condition is not None:
                    select = self._integer(condition, 0, mode, full=full)
            case Switch(_, index):
                operands = self._integers((index,), mode, full=full)
            case CallFunction(_, handle, offset, mask):
                if mask is not None:
                    select = self._integer(mask, offset, mode, full=full)
                if handle is not None:
                    operands = self._integers((handle,), mode, full=full)
            case _:
                if transfer.mask is not None:
                    select = self._integer(transfer.mask, transfer.offset, mode, full=full)
        return Ending(transfer, changes, select, operands)

    def _integers(
        self, values: Sequence[Expr], mode: FloatMode, *, full: bool
    ) -> Callable[[], tuple[int, ...]]:
        builder = self._builder(mode, full=full)
        items = "".join(f"int({builder.value(value)}[0]), " for value in values)
        return builder.build(f"({items})")

    def _integer(
        self, mask: Any, offset: int, mode: FloatMode, *, full: bool
    ) -> Callable[[], int] | None:
        builder = self._builder(mode, full=full)
        name = builder.mask(mask)
        if name is None:
            bits = ((1 << mask.lanes) - 1) << offset
            return lambda: bits
        integer = builder.bind(lanes.mask_integer)
        return builder.build(f"{integer}({name}) << {offset}")


def _in_turn(first: Step, second: Step | None) -> Step:
    if second is None:
        return first

    def both() -> None:
        first()
        second()

    return both


def _nothing() -> tuple[int, ...]:
    return ()


_FALL_THROUGH = Ending(None, False, None, _nothing)


def _refusal(pc: int, reason: str, *, undefined: bool) -> Step:
    def refuse() -> None:
        raise Unready(pc, reason, undefined=undefined)

    return refuse


def reads_clock(instruction: Instruction) -> bool:
    """Whether an instruction reads %tsc, whose value is exact at the start of a block only."""
    operands = (getattr(instruction, name, None) for name in SOURCES)
    return any(
        isinstance(operand, GeneralSource) and operand.variable.root()[0].index == TSC
        for operand in operands
    )


def _writes_cr0(effect: Effect) -> bool:
    if not isinstance(effect, RegisterWrite):
        return False
    return isinstance(effect, WriteRegister) and effect.place.variable.index == CR0


def form_name(instruction: Instruction) -> str:
    """Return the name under which executions of an instruction are counted."""
    variant = getattr(instruction, "relation", "")
    if isinstance(instruction, Dpas):
        variant = f"{instruction.weights}.{instruction.activations}"
    kind = getattr(getattr(instruction, "dst", None), "variable", None)
    types = getattr(getattr(kind, "type", None), "name", "")
    name = instruction.op.mnemonic + (f".{variant}" if variant else "")
    return f"{name}:{types}" if types else name


__all__ = ["Block", "BlockTable", "Ending", "Unready", "form_name", "reads_clock"]
