"""Basic blocks of a unit as data: what each instruction does, and how the block ends.

The same blocks as those of the reference interpreter, so that both count the same instructions
and look at budgets in the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

from visim.engine.blocks import BLOCK_STARTS, CR0, MARKS, form_name, reads_clock
from visim.engine.faults import runs_off
from visim.engine.jit.analysis.dwordfacts import DwordFacts
from visim.engine.jit.analysis.dwords import Dwords
from visim.engine.jit.analysis.halves import with_halves_joined
from visim.engine.jit.analysis.pairs import Pairs, has_halves
from visim.engine.jit.analysis.uniform import Branching, decided_by_one, of_all
from visim.engine.jit.ir.places import check_place, fits_variable
from visim.engine.jit.passes import Off, Pass
from visim.engine.lanes import RegisterRange
from visim.errors import UnsupportedError
from visim.isa import Unexecutable
from visim.isa.flow import SwitchJump
from visim.isa.forms import Branch, FileMark, LabelMark, LineMark, SubroutineMark
from visim.isa.registry import Instruction
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import General
from visim.sem.effects import (
    Atomic,
    Effect,
    FusedExchange,
    Goto,
    Jump,
    Load,
    LoadBlock,
    Place,
    Store,
    StoreBlock,
    Synchronization,
    Transfer,
    WriteIndirect,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr, known_integer
from visim.types import UD

MemoryMessage = Load | LoadBlock | Store | StoreBlock | Atomic

ANY_MODE = -1
"""In place of a value of %cr0: known only when the program runs."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an instruction cannot be executed; a fault when control reaches it."""

    pc: int
    reason: str
    undefined: bool


@dataclass(frozen=True)
class Step:
    """The effects of one instruction that are no transfer.

    `parts` are the program counters of the instructions that move the lanes of its message, each as
    many as the others; none: the instruction moves all.
    """

    pc: int
    effects: tuple[Effect, ...]
    refusal: Refusal | None = None
    parts: tuple[int, ...] = ()

    @cached_property
    def expressions(self) -> list[Expr]:
        """All nodes below the effects, each once."""
        return expressions(self.effects)

    @cached_property
    def places(self) -> list[Place]:
        """All places in registers that the effects read or write."""
        return places(self.effects, self.expressions)

    @cached_property
    def is_indirect(self) -> bool:
        """Whether registers are reached by address."""
        return _is_indirect(self.effects, self.expressions)


@dataclass(frozen=True)
class StaticBlock:
    """Instructions `[start, next)`; `forms` are the mnemonics of all of them."""

    start: int
    next: int
    steps: tuple[Step, ...]
    transfer: Transfer | Synchronization | None
    changes_mode: bool
    forms: tuple[str, ...]

    @cached_property
    def is_indirect(self) -> bool:
        """Whether registers are reached by address."""
        if any(step.is_indirect for step in self.steps):
            return True
        end = () if self.transfer is None else (self.transfer,)
        return _is_indirect(end, expressions(end))

    @cached_property
    def places(self) -> list[Place]:
        """All places in registers that the block reads or writes."""
        found = [place for step in self.steps for place in step.places]
        return found if self.transfer is None else found + places((self.transfer,))

    @property
    def before(self) -> tuple[Step, ...]:
        """The steps in front of the transfer: a fused pair of threads meets before the last."""
        return self.steps[:-1] if isinstance(self.transfer, FusedExchange) else self.steps


@dataclass
class UnitCode:
    """The blocks of one unit, made when first asked for.

    Products that were computed by their dwords become whole only with `products`. Variables that
    hold halves become whole only with `pairs`, messages on halves only with `messages`: others see
    registers as they are in the interpreter, and each message. `off` are the passes that are left
    out.
    """

    kernel: LinkedKernel
    unit: LinkedUnit
    blocks: dict[int, StaticBlock] = field(default_factory=dict[int, StaticBlock])
    products: bool = True
    pairs: bool = True
    messages: bool = True
    off: Off = ()
    _dwords: dict[int, Dwords] = field(default_factory=dict[int, Dwords], init=False)

    def block(self, start: int) -> StaticBlock:
        """Return the block that starts at `start`."""
        found = self.blocks.get(start)
        if found is None:
            found = self.blocks[start] = self._read(start)
        return found

    def _read(self, start: int) -> StaticBlock:
        """Return the block that begins at `start`, as `visim.engine.blocks` cuts them."""
        body, pc = self.unit.body, start
        steps: list[Step] = []
        forms: list[str] = []
        while pc < len(body):
            instruction = body[pc]
            starts_block = isinstance(instruction, BLOCK_STARTS) or reads_clock(instruction)
            if starts_block and pc > start:
                joined = self._joined(start, steps)
                self._goes_on(start, pc)
                return StaticBlock(start, pc, joined, None, False, tuple(forms))
            if isinstance(instruction, MARKS):
                pc += 1
                continue
            step, transfer = self._instruction(pc)
            uniform = Pass.UNIFORM.runs(self.off)
            if uniform and isinstance(transfer, Goto) and self._is_apart(steps):
                before = [one.effects for one in steps]
                transfer = decided_by_one(transfer, before, self.kernel.simd_size)
            if uniform and isinstance(transfer, Branching):
                transfer = of_all(transfer, self.kernel.simd_size)
            forms.append(form_name(instruction))
            back = self._flipped_back(step)
            if back is not None:
                forms.append(form_name(body[back]))
                steps += [Step(pc, ()), Step(back, ())]
                pc = back + 1
                continue
            steps.append(step)
            pc += 1
            changes = any(writes_cr0(effect) for effect in step.effects)
            if transfer is not None or changes:
                joined = self._joined(start, steps)
                if isinstance(transfer, Goto | Jump):
                    self._goes_on(start, pc)
                return StaticBlock(start, pc, joined, transfer, changes, tuple(forms))
        if start == pc:
            reason = runs_off(self.unit.unit, self.kernel.simd_size)
            steps.append(Step(pc, (), Refusal(pc, reason, undefined=True)))
        return StaticBlock(start, pc, self._joined(start, steps), None, False, tuple(forms))

    def _flipped_back(self, step: Step) -> int | None:
        """Return the next instruction if it flips the bits of %cr0 back that this one flips.

        Compilers change the mode for each half of an operation. Without the changes between them
        the halves are in one block.
        """
        flipped, body = _flipped(step.effects), self.unit.body
        if flipped is None or not self.pairs or not Pass.HALVES.runs(self.off):
            return None
        lines = takewhile(lambda one: isinstance(one, FileMark | LineMark), body[step.pc + 1 :])
        after = step.pc + 1 + len(list(lines))
        if after == len(body) or isinstance(body[after], MARKS) or reads_clock(body[after]):
            return None
        return after if _flipped(self._instruction(after)[0].effects) == flipped else None

    def _joined(self, start: int, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Return a block's instructions with those that compilers have split into halves as one.

        Those of a block stay as they are where one of them reaches a variable through another one.
        """
        grf, found = self.kernel.platform.grf_bytes, list(steps)
        if not self._is_apart(found):
            return tuple(found)
        if Pass.HALVES.runs(self.off):
            found = self._halves_joined(found, grf)
        if Pass.WIDE.runs(self.off):
            dwords = self._dwords.pop(start, None) or Dwords(DwordFacts(grf, self.products))
            effects = [one.effects for one in found]
            whole = dwords.with_numbers_whole(effects)
            found = [
                one if effects is one.effects else replace(one, effects=effects)
                for one, effects in zip(found, whole, strict=True)
            ]
            self._dwords[start] = dwords
        return tuple(found)

    def _goes_on(self, start: int, after: int) -> None:
        """Let a block that only the one in front of it enters know what that one has computed."""
        dwords = self._dwords.pop(start, None)
        marks = takewhile(lambda one: isinstance(one, MARKS), self.unit.body[after:])
        if dwords is not None and not any(self._is_entered(one) for one in marks):
            self._dwords[after] = dwords

    def _is_entered(self, mark: Instruction) -> bool:
        """Whether control comes to a place from elsewhere than from the instruction before it."""
        named = isinstance(mark, LabelMark) and mark.name in self._labels
        return named or isinstance(mark, SubroutineMark)

    @cached_property
    def _labels(self) -> frozenset[str]:
        """The labels to which the unit's instructions transfer control."""
        found = {one.label for one in self.unit.body if isinstance(one, Branch)}
        for one in self.unit.body:
            if isinstance(one, SwitchJump):
                found.update(one.table.labels)
        return frozenset(found)

    def _halves_joined(self, steps: Sequence[Step], grf: int) -> list[Step]:
        """Return instructions with halves as one, which say what messages are parts of theirs."""
        effects, channels = [one.effects for one in steps], self.kernel.simd_size
        joined = with_halves_joined(effects, channels, grf, messages=self.messages)
        found: list[Step] = []
        for step, one in zip(steps, joined, strict=True):
            if one.effects is step.effects:
                found.append(step)
                continue
            has_message = any(isinstance(effect, MemoryMessage) for effect in one.effects)
            parts = tuple(steps[number].pc for number in one.parts) if has_message else ()
            found.append(Step(step.pc, one.effects, step.refusal, parts))
        return found

    @cached_property
    def _pairs(self) -> Pairs | None:
        """The variables that hold halves; None where there are none."""
        wanted = self.pairs and Pass.HALVES.runs(self.off) and not self.kernel.made_by
        if not wanted or not has_halves(self.unit):
            return None
        known = [
            () if isinstance(instruction, MARKS) else self.kernel.known_effects(self.unit, pc)
            for pc, instruction in enumerate(self.unit.body)
        ]
        return Pairs(self.kernel, self.unit, known)

    def _is_apart(self, steps: Sequence[Step]) -> bool:
        """Whether instructions reach no variable through another one."""
        grf = self.kernel.platform.grf_bytes
        return all(fits_variable(place, grf) for step in steps for place in step.places)

    def _instruction(self, pc: int) -> tuple[Step, Transfer | Synchronization | None]:
        try:
            effects = self.kernel.effects(self.unit, pc)
            nodes = expressions(effects)
            for place in places(effects, nodes):
                check_place(self.kernel, self.unit, place)
        except (Unexecutable, RegisterRange) as reason:
            undefined = isinstance(reason, RegisterRange)
            return Step(pc, (), Refusal(pc, str(reason), undefined)), None
        refuse_addresses_of_state(nodes)
        if self._pairs is not None:
            effects = self._pairs.moved(pc, effects)
        transfer = next((e for e in effects if isinstance(e, Transfer | Synchronization)), None)
        return Step(pc, tuple(e for e in effects if e is not transfer)), transfer


def refuse_addresses_of_state(nodes: Sequence[Expr]) -> None:
    """Raise UnsupportedError where the address of a surface or sampler variable is taken."""
    for expr in nodes:
        if expr.uop.name == "address" and not isinstance(expr.attribute[0], General):
            raise UnsupportedError("jit: addresses of surface and sampler variables")


def writes_cr0(effect: Effect) -> bool:
    """Whether an effect writes the control register."""
    return isinstance(effect, WriteRegister) and effect.place.variable.index == CR0


def readers(message: Effect, nodes: Sequence[Expr]) -> list[Expr]:
    """Return those of an instruction's nodes that read what a message returns."""
    return [expr for expr in nodes if expr.uop.name == "loaded" and expr.attribute[0] is message]


def places(effects: Sequence[Effect], nodes: Sequence[Expr] | None = None) -> list[Place]:
    """Return all places in registers that some effects, made of `nodes`, read or write."""
    if nodes is None:
        nodes = expressions(effects)
    found = [node.attribute for node in nodes if node.uop.name == "read"]
    found += [node.attribute[1] for node in nodes if node.uop.name == "fused"]
    return found + [effect.place for effect in effects if isinstance(effect, WriteRegister)]


def _is_indirect(effects: Sequence[Effect], nodes: Sequence[Expr]) -> bool:
    """Whether some effects, made of `nodes`, reach registers by address."""
    if any(isinstance(effect, WriteIndirect) for effect in effects):
        return True
    return any(node.uop.name == "gather" for node in nodes)


def _flipped(effects: Sequence[Effect]) -> int | None:
    """Return the bits of %cr0 that an instruction flips, if it does nothing else."""
    match effects:
        case [WriteRegister(place, Expr(uop=uop, args=(before, bits)), mask=None)]:
            pass
        case _:
            return None
    number = known_integer(bits)
    if uop.name != "xor" or before.uop.name != "read" or place.lanes > 1 or number is None:
        return None
    same = place.variable.index == CR0 == before.attribute.variable.index
    return number if same and place.offset == before.attribute.offset == 0 else None


class UnknownControl(Exception):
    """The control register gets a value that is not known before the run."""


def control_value(effects: Sequence[Effect], cr0: int) -> int:
    """Return the control register after an instruction's effects.

    Raises:
        UnknownControl: the new value is not known before the run.
    """
    for effect in effects:
        if isinstance(effect, WriteRegister) and writes_cr0(effect):
            place = effect.place
            if place.offset >= UD.bytes:
                continue
            if effect.mask is not None or place.lanes > 1 or place.type.bytes != UD.bytes:
                raise UnknownControl
            cr0 = _evaluate(effect.value, cr0) & 0xFFFFFFFF
    return cr0


def _evaluate(expr: Expr, cr0: int) -> int:
    """Return what is computed of constants and the known value of %cr0."""
    match expr.uop.name:
        case "constant":
            return int(expr.attribute)
        case "read" if cr0 != ANY_MODE and expr.attribute.variable.index == CR0:
            if expr.attribute.offset or expr.attribute.type.bytes != UD.bytes:
                raise UnknownControl
            return cr0
        case "convert" | "bitcast" | "broadcast":
            return _evaluate(expr.args[0], cr0)
        case "and":
            return _evaluate(expr.args[0], cr0) & _evaluate(expr.args[1], cr0)
        case "or":
            return _evaluate(expr.args[0], cr0) | _evaluate(expr.args[1], cr0)
        case "xor":
            return _evaluate(expr.args[0], cr0) ^ _evaluate(expr.args[1], cr0)
        case "add":
            return _evaluate(expr.args[0], cr0) + _evaluate(expr.args[1], cr0)
        case "not":
            return ~_evaluate(expr.args[0], cr0)
        case _:
            raise UnknownControl
