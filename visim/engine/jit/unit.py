"""One unit as an LLVM function: its start and end, the state it shares, turns, open calls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from visim.engine.base import TURN
from visim.engine.jit import affine
from visim.engine.jit.affine import Affine, InputCore
from visim.engine.jit.alone import AloneWriter
from visim.engine.jit.apart import Region
from visim.engine.jit.blocks import places
from visim.engine.jit.bounds import SurfaceWriter
from visim.engine.jit.callouts import CallOutWriter
from visim.engine.jit.flow import Flow, Node, function_name
from visim.engine.jit.layout import ANYTIME, Context, FaultKind, Status, Thread
from visim.engine.jit.nodes import NodeWriter
from visim.engine.jit.payload import PARAMETERS, TAIL, Loop, overlaps
from visim.engine.jit.registers import RegisterAccess
from visim.engine.jit.slots import Slots
from visim.engine.jit.storage import Storage
from visim.engine.jit.text import Text, signed
from visim.engine.jit.tracing import TraceWriter
from visim.engine.jit.values import Values
from visim.engine.jit.worth import scattered_loops, tear
from visim.engine.modes import FloatMode
from visim.sem.effects import Load, Place, Store

if TYPE_CHECKING:
    from visim.engine.jit.module import ModuleWriter

ACTIVATION = ("entered", "called", "resumed", "site")
"""What is remembered of the open call of a subroutine, beside the channels that wait."""
MOST_APART = 64
"""How many messages of a unit have all of their code where they stand."""


def frame_bytes(flow: Flow) -> int:
    """Return the most memory that the open call of a subroutine needs which calls itself."""
    slots = [entry for entry, _ in flow.slots]
    counts = [len(ACTIVATION) + slots.count(entry) for entry in flow.recursive]
    return 4 * max(counts, default=0)


class UnitWriter:
    """Writes the function of one unit."""

    def __init__(self, module: ModuleWriter, flow: Flow) -> None:
        self.module = module
        self.flow = flow
        self.kernel = module.kernel
        self.unit = flow.code.unit
        self.text = Text(tests_bits=not module.version.has_mask_registers)
        self.is_kernel = self.unit.number == 0
        self.payload = module.version.payload if self.is_kernel else None
        image = "%image" if module.flat else None
        shared = "%image" if module.has_calls else None
        self.storage = Storage(self.kernel, self.unit, self.text, image, shared)
        self.registers = RegisterAccess(self)
        self.callouts = CallOutWriter(self)
        self.tracing = TraceWriter(self)
        self.full = flow.full_entries()
        if not (self.is_kernel and module.version.full):
            self.full = set[int]()
        self.all_on = signed((1 << self.kernel.simd_size) - 1, 32)
        self.slm_bytes = module.version.slm_bytes
        self.slots, self.affine, regions = self._analysis()
        self.names = {key: number for number, key in enumerate(flow.nodes)}
        self.clock = "%clock"
        self.surfaces = SurfaceWriter()
        self._buffers: list[str] = []
        self.loops = {region.header.key: AloneWriter(self, region) for region in regions}

    def write(self) -> str:
        """Return the function's text."""
        self.text.jump(f"b{self.names[self.flow.start]}")
        for number, chain in enumerate(self.flow.chains(), start=1):
            if not self.module.version.saving:
                self.storage.chain = number
            self._entrances(chain[0])
            NodeWriter(self, chain).write()
        self.storage.chain = 0
        for loop in self.loops.values():
            loop.write()
        body = self.text.lines
        name = function_name(self.unit.number, self.flow.start[2])
        linkage = "" if self.is_kernel else "internal "
        kind, parameters, prologue = "i32", "ptr %ctx, ptr %thread, i32 %mask", self._prologue()
        if self.payload is not None:
            kind, parameters, prologue = "i64", PARAMETERS, self._in_loop(prologue)
        head = [f"define {linkage}{kind} @{name}({parameters}) #0 {{", "entry:", *prologue]
        return "\n".join([*head, *body, *self._epilogue(), "}", ""])

    def _analysis(self) -> tuple[Slots, Affine, list[Region]]:
        module, version = self.module, self.module.version
        slots = Slots(self.kernel, self.flow, self.full, has_calls=module.has_calls)
        if module.flat:
            slots.forget()
        inputs = version.inputs if self.is_kernel else ()
        affine = Affine(slots, inputs, inputs_whole=version.full)
        regions: list[Region] = []
        if not module.flat and not version.looks_inside:
            regions = scattered_loops(affine, checked=version.checked)
        if tear(slots, regions):
            affine = Affine(slots, inputs, inputs_whole=version.full)
        return slots, affine, regions

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
        return found

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

    def buffer(self, size: int) -> str:
        """Return the pointer to memory of the function, of so many bytes."""
        name = f"%buffer{len(self._buffers)}"
        self._buffers.append(f"  {name} = alloca [{size} x i8], align 64")
        return name

    def counter(self) -> str:
        """Return the pointer to a number of 64 bits that is zero when a thread starts."""
        name = self.buffer(8)
        self._buffers.append(f"  store i64 0, ptr {name}")
        return name

    def keeps_others(self, place: Place) -> bool:
        """Whether a write has to keep what lanes hold that it is not for."""
        slot = self.slots.at(place)
        return slot is None or not slot.quiet or self.module.version.saving

    # Function

    def _prologue(self) -> list[str]:
        lines = [*self._buffers, "  %image = load ptr, ptr %thread"]
        if self.payload is None:
            lines += self.surfaces.text.lines
        lines.append(
            f"  %clock = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}"
            if self.module.has_calls
            else "  %clock = alloca i64"
        )
        if not self.module.has_calls:
            lines.append("  store i64 0, ptr %clock")
        lines += self._first_turn()
        lines += self._fresh_fields()
        lines += self._saved_storage()
        lines += self.storage.allocations(self._source)
        lines += [*affine.allocations(self.affine), *self._inputs()]
        lines += ["  %active = alloca i32", "  store i32 %mask, ptr %active"]
        lines += ["  %self = alloca ptr", "  store ptr %thread, ptr %self"]
        for entry in sorted({0, *self.flow.sites}):
            start = "%mask" if entry == self.flow.start[0] else "0"
            for what in ACTIVATION:
                lines.append(f"  %{what}.{entry} = alloca i32")
            lines.append(f"  store i32 {start}, ptr %entered.{entry}")
            lines.append(f"  store i32 {start}, ptr %called.{entry}")
        for entry, place in sorted(self.flow.slots):
            lines.append(f"  %wait.{entry}.{place} = alloca i32")
            lines.append(f"  store i32 0, ptr %wait.{entry}.{place}")
        return lines

    def _first_turn(self) -> list[str]:
        """Note until when a thread that starts may run; functions that are called share that."""
        place = "alloca i64"
        if self.module.has_calls:
            place = f"getelementptr i64, ptr %thread, i64 {int(Thread.TURN_ENDS)}"
        lines = [f"  %turn.ends = {place}"]
        if self.is_kernel:
            lines.append(f"  store i64 {TURN}, ptr %turn.ends")
        return lines

    def _fresh_fields(self) -> list[str]:
        """Set the fields of the thread that the function looks at, where nobody else has."""
        if self.payload is None or not self.module.counts_depth:
            return []
        lines: list[str] = []
        for field in (Thread.DEPTH, Thread.FRAME):
            name = f"%fresh.{field.name.lower()}"
            lines.append(f"  {name} = getelementptr i64, ptr %thread, i64 {int(field)}")
            lines.append(f"  store i64 0, ptr {name}")
        return lines

    def _source(self, place: int, size: int) -> str | None:
        """Return the pointer to the image from which a variable is filled; None for zeros."""
        if not self.is_kernel:
            return None
        if self.payload is not None and not self.module.version.saving:
            return self.payload.source(place, size)
        filled = self.module.version.filled
        return "%image" if filled is None or overlaps(filled, place, size) else None

    def _inputs(self) -> list[str]:
        """Return the instructions that read the shapes of inputs, and the group's coordinates."""
        lines: list[str] = []
        for core in self._input_cores():
            if not self._is_alike(core):
                lines.append(f"  {core.name}.at = getelementptr i8, ptr %image, i64 {core.place}")
                lines.append(f"  {core.name}.v = load {core.kind}, ptr {core.name}.at, align 1")
            lines.append(f"  store {core.kind} {core.name}.v, ptr {core.name}")
        if self.payload is not None:
            lines += self.storage.coordinates(self.payload.places)
        return lines

    def _input_cores(self) -> list[InputCore]:
        return list(affine.input_cores(self.affine, self.kernel, self.unit))

    def _is_alike(self, core: InputCore) -> bool:
        return self._source(core.place, 1) == "%payload"

    def _in_loop(self, prologue: list[str]) -> list[str]:
        """Return a thread's prologue in a loop over threads, which makes room for all of them."""
        loop = Loop(
            self.kernel.register_bytes,
            tuple(span for span in self.storage.spans() if self._source(*span) == "%payload"),
            tuple(core for core in self._input_cores() if self._is_alike(core)),
            self.all_on if self.module.version.full else None,
        )
        room = [line for line in prologue if " = alloca " in line]
        rest = [line for line in prologue if " = alloca " not in line]
        return [*room, *self.surfaces.text.lines, *loop.head(), *rest]

    def _saved_storage(self) -> list[str]:
        """Begin a function's activation when its variables are in the shared image."""
        if self.is_kernel or not self.module.flat:
            return []
        size = self.unit.end - self.unit.start
        return [
            f"  %own = getelementptr i8, ptr %image, i64 {self.unit.start}",
            f"  %saved = alloca [{max(size, 1)} x i8], align 64",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr %saved, ptr %own, i64 {size}, i1 false)",
            f"  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 {size}, i1 false)",
        ]

    def _epilogue(self) -> list[str]:
        lines = ["finish:"]
        if not self.is_kernel and self.module.flat:
            size = self.unit.end - self.unit.start
            lines.append(
                f"  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %saved, i64 {size}, i1 false)"
            )
        lines += ["  br label %leave", "failed:", "  br label %leave", "leave:"]
        lines.append("  %faulted = phi i32 [ 0, %finish ], [ 1, %failed ]")
        if not self.module.has_calls:
            lines.append("  %count = load i64, ptr %clock")
        if self.is_kernel and self.module.version.saving:
            lines += self.storage.saving("%image")
        if self.payload is not None:
            return [*lines, TAIL]
        if not self.module.has_calls:
            lines += [
                f"  %counted = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}",
                "  store i64 %count, ptr %counted",
            ]
        return [*lines, "  ret i32 %faulted"]

    def values(
        self, mode: FloatMode, active: str, channels: str, *, dynamic: bool, full: bool
    ) -> Values:
        """Return the writer of an instruction's values, which computes with floats in `mode`.

        Args:
            mode: how floats are rounded.
            active: the channels that are active, as i32.
            channels: the same as a vector of i1.
            dynamic: whether only the running program knows the mode.
            full: whether all channels of the kernel are active.
        """
        return Values(
            self.text,
            self.storage,
            self.module.library,
            mode,
            dynamic,
            active,
            channels,
            full,
            self.kernel.simd_size,
            self.clock,
            self.registers,
            self.callouts,
        )

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
        self, kind: FaultKind, pc: int, address: str | int = 0, channel: str | int = 0
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

    def suspend(self) -> None:
        """Let other threads run, and begin a turn when they have."""
        paused = f"i64 {int(Status.PAUSED)}, i64 {ANYTIME}"
        self.text.let(f"call ptr @suspend(ptr %ctx, ptr %thread, {paused})")
        self.begin_turn()

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
        text = self.text
        now = text.let(f"load i64, ptr {self.clock}")
        ends = text.let("load i64, ptr %turn.ends")
        over = text.let(f"icmp uge i64 {now}, {ends}")
        late, on = text.fresh("late"), text.fresh("on")
        text.unlikely(over, late, on)
        text.label(late)
        stop = text.let(f"call i32 @pause(ptr %ctx, ptr %thread, i64 {pc}, i64 {self.unit.number})")
        self.failed_unless(text.let(f"icmp eq i32 {stop}, 0"))
        self.begin_turn()
        text.jump(on)
        text.label(on)

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

    def _entrances(self, node: Node) -> None:
        number = self.names[node.key]
        if (node.entry, node.key[1]) not in self.flow.slots:
            return
        text, slot = self.text, f"%wait.{node.entry}.{node.key[1]}"
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

    def wake(self, node: Node, places: Sequence[int]) -> None:
        """Go on at the first of some places where channels wait; at the last they surely do."""
        text = self.text
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
        return f"b{self.names[key]}"

    def merge_label(self, key: tuple[int, int, int]) -> str:
        """Return the label at which a node starts with them and those that wait there."""
        prefix = "m" if (key[0], key[1]) in self.flow.slots else "b"
        return f"{prefix}{self.names[key]}"


__all__ = ["UnitWriter", "frame_bytes"]
