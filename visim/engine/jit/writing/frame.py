"""What the writers of one unit share: text, memory, fields of context and thread, faults, turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from visim.engine.accesses import SiteTable
from visim.engine.base import TURN
from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.ages import Data
from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.blocks import MemoryMessage, StaticBlock, Step, places
from visim.engine.jit.analysis.flow import Flow, Key, Node
from visim.engine.jit.analysis.lasting import LastingValues
from visim.engine.jit.analysis.meetings import between
from visim.engine.jit.analysis.payload import overlaps
from visim.engine.jit.analysis.slots import Slots
from visim.engine.jit.common.native import IS_X86
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
    Place,
    Space,
    Store,
    WriteIndirect,
    WritePredicate,
    expressions,
)

ACTIVATION = ("entered", "called", "resumed", "site")
"""What is remembered of the open call of a subroutine, beside the channels that wait."""
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
    `adding` are the messages that may be tallied. `alike_once`, `firsts` and, as
    `frame_bytes_in_step`, `frame_bytes` are what `ModuleText` says.
    """

    kernel: LinkedKernel
    version: Version
    library: Library = field(default_factory=lambda: Library(is_x86=IS_X86))
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


class SecondWay(Protocol):
    """A loop that is being written for the second time."""

    def body_label(self, key: Key) -> str | None:
        """Return the label at which a node starts there; None if it is not in the loop."""
        ...

    def foresees(self, effect: MemoryMessage) -> bool:
        """Whether a message is known to be in range there."""
        ...

    def turn_ends(self) -> None:
        """Go on with the next turn there, or where turns begin."""
        ...

    def part(self) -> None:
        """Note that channels part within a turn, who go on in the first way."""
        ...


class UnitFrame:
    """What the writers of one unit share.

    `pc` is the instruction that is being written, `second` the loop that is written once more, if
    one is; `scattered` are the nodes of loops in which data say where channels load.
    """

    def __init__(
        self,
        module: ModuleFrame,
        flow: Flow,
        slots: Slots,
        affine: Affine,
        regions: Sequence[Region],
        data: Data,
    ) -> None:
        self.module = module
        self.flow = flow
        self.slots = slots
        self.affine = affine
        self.data = data
        self.scattered = {node.key for region in regions for node in region.nodes}
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
        self.names = {key: number for number, key in enumerate(flow.nodes)}
        self.clock = "%clock"
        self.pc = 0
        self.surfaces = SurfaceWriter(module.version.scratch_bytes)
        self.buffers: list[str] = []
        self._common_buffers: dict[int, str] = {}
        self._lasting = 0
        self.piece_bytes = 0
        self.second: SecondWay | None = None

    @cached_property
    def chains(self) -> list[list[Node]]:
        """The unit's nodes, in chains that are written as one."""
        return self.flow.chains()

    @cached_property
    def lasting(self) -> LastingValues:
        """What its variables hold from one chain on, for others."""
        return LastingValues(self.kernel, self.flow, self.chains, self.slots.paths)

    @cached_property
    def users(self) -> dict[int, set[int]]:
        """The identities of the steps, or of blocks for their ends, that use each variable."""
        found: dict[int, set[int]] = {}
        for node in self.flow.nodes.values():
            block = node.block
            users = [(id(step), step.places) for step in block.steps]
            users += [(id(block), places((block.transfer,)))] if block.transfer else []
            for user, used in users:
                for place in used:
                    found.setdefault(place.variable.index, set()).add(user)
            for index in self.kernel.reached(self.unit) if block.is_indirect else ():
                found.setdefault(index, set()).add(id(block))
        return found

    @cached_property
    def has_indices(self) -> bool:
        """Whether addresses are made of indices that are not in rows, for all that is known."""
        return any(form.ragged for _, form in self.affine.shaped())

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
    def _readers(self) -> dict[str, set[int]]:
        """The identities of the steps, or of blocks for their ends, that read each predicate."""
        found: dict[str, set[int]] = {}
        for node in self.flow.nodes.values():
            block = node.block
            readers = [(id(step), step.expressions) for step in block.steps]
            readers += [(id(block), expressions((block.transfer,)))] if block.transfer else []
            for reader, exprs in readers:
                for expr in exprs:
                    if expr.uop.name == "predicate":
                        found.setdefault(expr.attribute[0].name, set()).add(reader)
        return found

    def is_read_beside(self, setting: Step, reader: Step) -> bool:
        """Whether others than one instruction look at the predicate that another one writes."""
        names = (one.variable.name for one in setting.effects if isinstance(one, WritePredicate))
        readers = (self._readers.get(name, set[int]()) for name in names)
        return self.module.version.saving or any(one - {id(reader)} for one in readers)

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

    def keeps_others(self, place: Place) -> bool:
        """Whether a write has to keep what lanes hold that it is not for."""
        slot = self.slots.at(place)
        version = self.module.version
        if slot is None or not slot.quiet or version.saving:
            return True
        return not version.runs(Pass.LIVENESS)

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

    # Open calls of subroutines that call themselves

    def _saved(self, entry: int) -> list[str]:
        names = [f"%{what}.{entry}" for what in ACTIVATION]
        places = sorted(place for owner, place in self.flow.slots if owner == entry)
        return names + [f"%wait.{entry}.{place}" for place in places]

    def push_activation(self, entry: int) -> None:
        """Save the state of a subroutine's open call and clear its waiting channels."""
        text, saved = self.text, self._saved(entry)
        at = self.thread(Thread.FRAME)
        frames = self._frames(at)
        for number, name in enumerate(saved):
            value = text.let(f"load i32, ptr {name}")
            place = text.let(f"getelementptr i32, ptr {frames}, i64 {number}")
            text.do(f"store i32 {value}, ptr {place}")
        for name in saved[len(ACTIVATION) :]:
            text.do(f"store i32 0, ptr {name}")
        self.set_thread(Thread.FRAME, text.let(f"add i64 {at}, {4 * len(saved)}"))

    def pop_activation(self, entry: int) -> None:
        """Bring back what `push_activation` has saved last."""
        text, saved = self.text, self._saved(entry)
        at = text.let(f"sub i64 {self.thread(Thread.FRAME)}, {4 * len(saved)}")
        self.set_thread(Thread.FRAME, at)
        frames = self._frames(at)
        for number, name in enumerate(saved):
            place = text.let(f"getelementptr i32, ptr {frames}, i64 {number}")
            text.do(f"store i32 {text.let(f'load i32, ptr {place}')}, ptr {name}")

    def _frames(self, at: str) -> str:
        place = self.text.let(f"getelementptr i64, ptr %thread, i64 {int(Thread.FRAMES)}")
        frames = self.text.let(f"load ptr, ptr {place}, align 8")
        return self.text.let(f"getelementptr i8, ptr {frames}, i64 {at}")

    # Entrances of nodes

    def foresees(self, effect: MemoryMessage) -> bool:
        """Whether it is known, where code is written, that all lanes of a message are in range."""
        return self.second is not None and self.second.foresees(effect)

    def is_checked(self, effect: MemoryMessage) -> bool:
        """Whether code has to look whether a message is in range."""
        if self.foresees(effect):
            return False
        if effect.space is Space.SHADOW:
            return False
        return self.module.version.checked or effect.space is Space.SURFACE

    def _entrances(self, node: Node) -> None:
        number = self.names[node.key]
        if (node.entry, node.key[1]) not in self.flow.slots:
            return
        text, slot = self.text, f"%wait.{node.entry}.{node.key[1]}"
        if self.flow.later:
            text.label(f"k{number}")
            later = self.flow.later[node.key]
            some = text.let(f"icmp ne i32 {text.let(f'load i32, ptr {slot}')}, 0")
            other = f"w{number}" if later == node.key else f"k{self.names[later]}"
            text.branch(some, f"w{number}", other)
        text.label(f"m{number}")
        waiting = text.let(f"load i32, ptr {slot}")
        text.do(f"store i32 0, ptr {slot}")
        active = text.let("load i32, ptr %active")
        text.do(f"store i32 {text.let(f'or i32 {active}, {waiting}')}, ptr %active")
        text.jump(f"b{number}")
        text.label(f"w{number}")
        waiting = text.let(f"load i32, ptr {slot}")
        text.do(f"store i32 0, ptr {slot}")
        text.do(f"store i32 {waiting}, ptr %active")
        text.jump(f"b{number}")

    def wait(self, node: Node, place: int, channels: str) -> None:
        """Let channels wait at a place, besides those that do already."""
        text, slot = self.text, f"%wait.{node.entry}.{place}"
        before = text.let(f"load i32, ptr {slot}")
        text.do(f"store i32 {text.let(f'or i32 {before}, {channels}')}, ptr {slot}")

    def wake(self, node: Node, places: Sequence[int]) -> None:
        """Go on at the first of some places where channels wait; at the last they surely do."""
        text = self.text
        if self.flow.later and len(places) > 1:
            text.jump(f"k{self.names[node.entry, places[0], node.after]}")
            return
        for place in places[:-1]:
            waiting = text.let(f"load i32, ptr %wait.{node.entry}.{place}")
            some = text.let(f"icmp ne i32 {waiting}, 0")
            other = text.fresh("later")
            text.branch(some, f"w{self.names[node.entry, place, node.after]}", other)
            text.label(other)
        if not places:
            text.do("unreachable")
            return
        text.jump(f"w{self.names[node.entry, places[-1], node.after]}")

    def body_label(self, key: tuple[int, int, int]) -> str:
        """Return the label at which a node starts with the channels that are active."""
        again = None if self.second is None else self.second.body_label(key)
        return again or self.first_label(key)

    def first_label(self, key: Key) -> str:
        """Return the label at which a node starts where its loop is not written once more."""
        return f"b{self.names[key]}"

    def merge_label(self, key: tuple[int, int, int]) -> str:
        """Return the label at which a node starts with them and those that wait there."""
        again = None if self.second is None else self.second.body_label(key)
        if again is not None:
            return again
        prefix = "m" if (key[0], key[1]) in self.flow.slots else "b"
        return f"{prefix}{self.names[key]}"


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


__all__ = ["ACTIVATION", "MOST_APART", "ModuleFrame", "UnitFrame", "full_entries"]
