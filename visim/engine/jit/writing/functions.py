"""What the writers of one function share: its text, memory, fields of the thread, faults, turns.

`FunctionFrame` knows the function's control flow, but for how channels wait in it, and asks no
analysis: `frame` has what writers of the traced graphs share besides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from visim.engine.accesses import SiteTable
from visim.engine.base import TURN
from visim.engine.jit.analysis.blocks import MemoryMessage, StaticBlock, Step
from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.analysis.meetings import between
from visim.engine.jit.analysis.payload import overlaps
from visim.engine.jit.common.scheduler import CARRIERS, DIRECT, STACKS
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.gathers import Gatherer
from visim.engine.jit.ir.permuting import Permuter
from visim.engine.jit.ir.pieces import FRAME, Pieces
from visim.engine.jit.ir.spacing import Spacer
from visim.engine.jit.ir.storage import Storage
from visim.engine.jit.ir.text import Text, signed
from visim.engine.jit.layout import ANYTIME, LOOP_NOTES, Context, FaultKind, Status, Thread
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.bounds import SurfaceWriter
from visim.engine.jit.writing.meeting import COUNTS, Meeting
from visim.engine.jit.writing.sites import Sites
from visim.engine.jit.writing.versions import Version
from visim.engine.observers import BlockNumbers, BlockPlace
from visim.linker.program import LinkedKernel
from visim.sem.effects import (
    Load,
    Space,
    Store,
    WriteIndirect,
)
from visim.sem.expr import Expr

MOST_APART = 512
"""How many messages of a unit have all of their code where they stand."""
MOST_REACHING = 512
"""How many lanes that reach registers by address have their code where they stand."""


@dataclass
class ModuleFrame:
    """What the writers of one module share.

    `flat` says that all variables are in an image; `has_calls` that there are functions beside the
    kernel; `counts_depth` that open calls are counted; `stacks` that threads have stacks of their
    own, which those do not need that `may_wait` but are alone in their groups, or go in step.
    `barriers` is how many barriers a group has if threads signal and wait for any apart, else 0.
    `adding` are the messages that may be tallied, `parts` the program counters of `Step.parts`, by
    the unit and program counter of the first. `alike_once`, `firsts` and, as `frame_bytes_in_step`,
    `frame_bytes` are what `ModuleText` says.
    """

    kernel: LinkedKernel
    version: Version
    library: Library = field(default_factory=Library)
    pieces: Pieces = field(default_factory=Pieces)
    sites: Sites = field(default_factory=Sites)
    numbers: BlockNumbers = field(default_factory=BlockNumbers)
    forms: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    watched_sites: SiteTable = field(default_factory=SiteTable)
    flat: bool = False
    has_calls: bool = False
    has_barriers: bool = False
    has_host_turns: bool = False
    counts_depth: bool = False
    may_wait: bool = False
    stacks: bool = False
    barriers: int = 0
    frame_bytes: int = 0
    adding: frozenset[int] = frozenset()
    parts: dict[tuple[int, int], tuple[int, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[int, ...]]
    )
    alike_once: bool = False
    firsts: tuple[tuple[int, int], ...] = ()
    frame_bytes_in_step: int = 0

    @property
    def way(self) -> str:
        """How threads run: the end of the names of what the scheduler has for kernels."""
        if self.stacks:
            return STACKS
        return CARRIERS if self.version.in_step else DIRECT

    @cached_property
    def goes_along_rows(self) -> bool:
        """Whether each thread of the kernel's loop has the work-items behind the one before.

        In groups of several rows of work-items, threads differ in a number that all of one share.
        """
        payload, first = self.version.payload, self.kernel.units[0]
        if payload is None:
            return False
        for one in self.version.inputs:
            start = first.offsets[one.row.variable] + one.row.offset
            size = one.row.end - one.row.offset
            if not one.step and overlaps(payload.own, start, size):
                return False
        return True

    def gatherer(self, text: Text) -> Gatherer | None:
        """Return what writes gathers of the host's into a function; None where they are slow."""
        version = self.version
        if not version.has_gathers:
            return None
        return Gatherer(text, self.library, scatters=version.has_scatters)

    def permuter(self, text: Text) -> Permuter | None:
        """Return what takes lanes from small tables in a function; None without AVX-512."""
        version = self.version
        if not version.has_mask_registers or not version.runs(Pass.REGISTERS):
            return None
        return Permuter(text, self.library, permuted_bytes=version.permuted_bytes)

    def spacer(self, text: Text) -> Spacer:
        """Return what loads and stores rows with gaps in a function."""
        version = self.version
        return Spacer(
            text,
            self.library,
            register_bytes=4 * version.vector_lanes,
            permuted_bytes=version.permuted_bytes,
            gathers=version.has_gathers,
        )

    def number(self, unit: int, block: StaticBlock) -> int:
        """Return the number of a unit's block, under which its executions are counted."""
        number = self.numbers.number(BlockPlace(unit, block.start, block.next))
        if number == len(self.forms):
            self.forms.append(block.forms)
        return number


class FunctionFrame:
    """What the writers of one function share.

    `pc` is the instruction that is being written.
    """

    def __init__(self, module: ModuleFrame, flow: Flow) -> None:
        self.module = module
        self.flow = flow
        self.kernel = module.kernel
        self.unit = flow.code.unit
        self.text = Text(tests_bits=not module.version.has_mask_registers)
        self.is_kernel = self.unit.number == 0
        self.payload = module.version.payload if self.is_kernel else None
        in_step = module.version.in_step and self.is_kernel
        self.meeting = Meeting() if in_step else None
        image = "%image" if module.flat else None
        shared = "%image" if module.has_calls else None
        self.storage = Storage(self.kernel, self.unit, self.text, image, shared)
        self.full = full_entries(module, flow)
        self.all_on = signed((1 << self.kernel.simd_size) - 1, 32)
        self.slm_bytes = module.version.slm_bytes
        self.clock = "%clock"
        self.pc = 0
        self.surfaces = SurfaceWriter(module.version.scratch_bytes)
        self.buffers: list[str] = []
        self._common_buffers: dict[int, str] = {}
        self._lasting = 0
        self.piece_bytes = 0

    @cached_property
    def is_long(self) -> bool:
        """Whether so many messages are in the unit that they have to share code."""
        effects = (
            effect
            for node in self.flow.nodes.values()
            for step in node.block.steps
            for effect in step.effects
        )
        messages = sum(isinstance(effect, Load | Store) for effect in effects)
        return messages > MOST_APART

    @cached_property
    def reaches_often(self) -> bool:
        """Whether so many lanes reach registers by address that they have to share code."""
        steps = {id(step): step for node in self.flow.nodes.values() for step in node.block.steps}
        return sum(map(_reaching_lanes, steps.values())) > MOST_REACHING

    def buffer(self, size: int) -> str:
        """Return the pointer to memory of the function, of so many bytes."""
        name = f"%buffer{len(self.buffers)}"
        self.buffers.append(f"  {name} = alloca [{size} x i8], align 64")
        return name

    def common_buffer(self, size: int) -> str:
        """Return the pointer to so many bytes that instructions use one after the other."""
        if size not in self._common_buffers:
            self._common_buffers[size] = self.buffer(size)
        return self._common_buffers[size]

    def frame(self, size: int) -> str:
        """Return the pointer to memory for pieces of code, which all use it: so many bytes."""
        self.piece_bytes = max(self.piece_bytes, size)
        return FRAME

    def counter(self) -> str:
        """Return the pointer to a number of 64 bits that is zero when a thread starts."""
        name = self.buffer(8)
        self.buffers.append(f"  store i64 0, ptr {name}")
        return name

    def lasting_counter(self) -> str:
        """Return the pointer to a number of 64 bits that the threads of a worker share.

        It is zero when the first of them starts. Kernels with many of them share some.
        """
        self._lasting += 1
        return self.surfaces.note(self._lasting % LOOP_NOTES)

    # Messages

    def foresees(self, effect: MemoryMessage) -> bool:
        """Whether it is known, where code is written, that all lanes of a message are in range."""
        return False

    def decides(self, addresses: Expr) -> bool:
        """Whether what the kernel has loaded says where a message goes, for all that is known."""
        return False

    def is_checked(self, effect: MemoryMessage) -> bool:
        """Whether code has to look whether a message is in range."""
        if self.foresees(effect):
            return False
        if effect.space is Space.SHADOW:
            return False
        if effect.within is not None or effect.space is Space.SURFACE:
            return True
        return self.module.version.checked

    def site(self, effect: MemoryMessage, pc: int) -> int:
        """Return the number of a message of the instruction at `pc`."""
        number = self.unit.number
        return self.module.sites.add(effect, number, pc, self.module.parts.get((number, pc), ()))

    # Shared memory

    def context_pointer(self, field: Context) -> str:
        """Return a pointer that a field of the context holds."""
        place = self.text.let(f"getelementptr i64, ptr %ctx, i64 {int(field)}")
        return self.text.let(f"load ptr, ptr {place}, align 8")

    def context(self, field: Context) -> str:
        """Return a field of the context as i64."""
        place = self.text.let(f"getelementptr i64, ptr %ctx, i64 {int(field)}")
        return self.text.let(f"load i64, ptr {place}, align 8")

    def thread(self, field: Thread) -> str:
        """Return a field of the thread as i64."""
        place = self.text.let(f"getelementptr i64, ptr %thread, i64 {int(field)}")
        return self.text.let(f"load i64, ptr {place}, align 8")

    def set_thread(self, field: Thread, value: str | int) -> None:
        """Set a field of the thread."""
        place = self.text.let(f"getelementptr i64, ptr %thread, i64 {int(field)}")
        self.text.do(f"store i64 {value}, ptr {place}, align 8")

    def fault(
        self, kind: FaultKind, pc: str | int, address: str | int = 0, channel: str | int = 0
    ) -> None:
        """Leave the function with a fault."""
        self.set_thread(Thread.FAULT, int(kind))
        self.set_thread(Thread.PC, pc)
        self.set_thread(Thread.UNIT, self.unit.number)
        self.set_thread(Thread.ADDRESS, address)
        self.set_thread(Thread.CHANNEL, channel)
        self.text.jump("failed")

    def fault_if(
        self,
        condition: str,
        kind: FaultKind,
        pc: int,
        address: str | int = 0,
        channel: str | int = 0,
    ) -> None:
        """Leave the function with a fault if a condition holds."""
        wrong, right = self.text.fresh("wrong"), self.text.fresh("right")
        self.text.unlikely(condition, wrong, right)
        self.text.label(wrong)
        self.fault(kind, pc, address, channel)
        self.text.label(right)

    def failed_unless(self, well: str) -> None:
        """Leave the function, with the fault that has been noted, if something went wrong."""
        right = self.text.fresh("right")
        self.text.likely(well, right, "failed")
        self.text.label(right)

    # Turns

    def count(self, block: StaticBlock) -> None:
        """Count the instructions of a block, at its end; a fault where the budget is spent."""
        text, version = self.text, self.module.version
        total = text.let(f"load i64, ptr {self.clock}")
        total = text.let(f"add i64 {total}, {len(block.forms)}")
        text.do(f"store i64 {total}, ptr {self.clock}")
        number = self.module.number(self.unit.number, block)
        if version.counting:
            table = self.context_pointer(Context.COUNTS)
            place = text.let(f"getelementptr i64, ptr {table}, i64 {number}")
            seen = text.let(f"load i64, ptr {place}, align 8")
            text.do(f"store i64 {text.let(f'add i64 {seen}, 1')}, ptr {place}, align 8")
        if version.budgeted:
            budget = self.context(Context.BUDGET)
            over = text.let(f"icmp ugt i64 {total}, {budget}")
            self.fault_if(over, FaultKind.BUDGET, block.start)

    def suspend(self, status: Status = Status.PAUSED, phase: str | int = ANYTIME) -> None:
        """Let other threads run, and begin a turn when they have and `phase` is over."""
        self.note_executed()
        how = f"i64 {int(status)}, i64 {phase}"
        self.text.let(f"call ptr @suspend(ptr %ctx, ptr %thread, {how})")
        self.begin_turn()

    def note_executed(self) -> None:
        """Leave in the record what the thread has executed: it may never have another turn."""
        if not self.module.has_calls:
            now = self.text.let(f"load i64, ptr {self.clock}")
            self.set_thread(Thread.EXECUTED, now)

    def begin_turn(self) -> None:
        """Note until when the thread may run before others have a turn."""
        now = self.text.let(f"load i64, ptr {self.clock}")
        ends = self.text.let(f"add i64 {now}, {TURN}")
        self.text.do(f"store i64 {ends}, ptr %turn.ends")

    def room(self) -> str:
        """Return how many instructions the thread may execute before its turn is over."""
        text = self.text
        now = text.let(f"load i64, ptr {self.clock}")
        ends = text.let("load i64, ptr %turn.ends")
        least = self.module.library.intrinsic("llvm.usub.sat.i64", "i64", "i64", "i64")
        left = text.let(f"call i64 {least}(i64 {ends}, i64 {now})")
        return text.let(f"call i64 {least}(i64 {left}, i64 1)")

    def pause(self, pc: int) -> None:
        """Let others run where the thread's turn is over; a place in each loop has to."""
        if self._ends_at_barriers:
            return
        text = self.text
        now = text.let(f"load i64, ptr {self.clock}")
        ends = text.let("load i64, ptr %turn.ends")
        over = text.let(f"icmp uge i64 {now}, {ends}")
        late, on = text.fresh("late"), text.fresh("on")
        text.unlikely(over, late, on)
        text.label(late)
        self.note_executed()
        name, what = "pause", f"ptr %ctx, ptr %thread, i64 {pc}, i64 {self.unit.number}"
        if self.meeting is not None:
            name, what = "pause_carried", f"{what}, {COUNTS}"
        stop = text.let(f"call i32 @{name}({what})")
        self.failed_unless(text.let(f"icmp eq i32 {stop}, 0"))
        self.begin_turn()
        text.jump(on)
        text.label(on)

    @cached_property
    def _ends_at_barriers(self) -> bool:
        """Whether threads go in step and come to the next barrier before their turns are over."""
        if self.meeting is None or between(self.flow):
            return False
        return sum(len(node.block.steps) + 1 for node in self.flow.nodes.values()) < TURN


def _reaching_lanes(step: Step) -> int:
    """Return how many lanes of an instruction reach registers by address."""
    if not step.is_indirect:
        return 0
    writes = sum(isinstance(effect, WriteIndirect) for effect in step.effects)
    return writes + sum(expr.lanes for expr in step.expressions if expr.uop.name == "gather")


def full_entries(module: ModuleFrame, flow: Flow) -> set[int]:
    """Return the entries of a unit at which all channels are known to be on."""
    is_kernel = flow.code.unit.number == 0
    return flow.full_entries() if is_kernel and module.version.full else set()


__all__ = ["MOST_APART", "FunctionFrame", "ModuleFrame", "full_entries"]
