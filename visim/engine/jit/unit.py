"""One unit as an LLVM function: its control flow, masks, calls and faults.

Channels that are not active wait at places; each place has a mask of them. Control goes to the
lowest place, as in the reference interpreter: a place's merge adds those that wait to the active
channels, a place's wake starts again with them alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from visim.engine.interp import CALL_DEPTH, TURN
from visim.engine.jit import affine
from visim.engine.jit.affine import Affine, ShapeReader
from visim.engine.jit.blocks import ANY_MODE, MemoryMessage, Step, expressions
from visim.engine.jit.callouts import CallOutWriter, is_called_out, operands
from visim.engine.jit.flow import Flow, Node, is_uniform, passed
from visim.engine.jit.layout import Context, FaultKind, Status, Thread
from visim.engine.jit.messages import MessageWriter
from visim.engine.jit.registers import RegisterAccess
from visim.engine.jit.shapes import Shape
from visim.engine.jit.slots import Slot, Slots, channel_of, channel_within, looks_across
from visim.engine.jit.storage import Storage, bits_vector
from visim.engine.jit.text import Text, vector_type
from visim.engine.jit.values import Values
from visim.engine.modes import CR0_USED, float_mode
from visim.linker.program import FUNCTION_HANDLE
from visim.sem.effects import (
    Barrier,
    Call,
    CallFunction,
    Fence,
    FunctionReturn,
    FusedExchange,
    Goto,
    Jump,
    Message,
    Place,
    RegisterWrite,
    Return,
    Switch,
    Synchronization,
    WriteAddress,
    WriteIndirect,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr
from visim.sem.uops import UOPS

if TYPE_CHECKING:
    from visim.engine.jit.module import ModuleWriter

Registers = RegisterAccess
ACTIVATION = ("entered", "called", "resumed", "site")
"""What is remembered of the open call of a subroutine, beside the channels that wait."""


def frame_bytes(flow: Flow) -> int:
    """Return the most memory that the open call of a subroutine needs which calls itself."""
    slots = [entry for entry, _ in flow.slots]
    counts = [len(ACTIVATION) + slots.count(entry) for entry in flow.recursive]
    return 4 * max(counts, default=0)


def function_name(number: int, cr0: int) -> str:
    """Return the name of the function of unit `number` from a value of CR0 on."""
    return f"unit.{number}.{cr0:x}"


class UnitWriter:
    """Writes the function of one unit."""

    def __init__(self, module: ModuleWriter, flow: Flow) -> None:
        self.module = module
        self.flow = flow
        self.kernel = module.kernel
        self.unit = flow.code.unit
        self.text = Text(tests_bits=not module.version.has_mask_registers)
        self.is_kernel = self.unit.number == 0
        image = "%image" if module.flat else None
        shared = "%image" if module.has_calls else None
        self.storage = Storage(self.kernel, self.unit, self.text, image, shared)
        self.registers = RegisterAccess(self)
        self.callouts = CallOutWriter(self)
        self.full = flow.full_entries()
        if not (self.is_kernel and module.version.full):
            self.full = set[int]()
        self.all_on = _signed((1 << self.kernel.simd_size) - 1)
        self.slm_bytes = module.version.slm_bytes
        self.slots, self.affine = self._analysis()
        self.names = {key: number for number, key in enumerate(flow.nodes)}
        self.clock = "%clock"

    def write(self) -> str:
        """Return the function's text."""
        order = sorted(self.flow.nodes.values(), key=lambda node: node.key)
        self.text.jump(f"b{self.names[self.flow.start]}")
        for node in order:
            self._entrances(node)
            NodeWriter(self, node).write()
        body = self.text.lines
        name = function_name(self.unit.number, self.flow.start[2])
        head = [
            f"define {'' if self.is_kernel else 'internal '}i32 @{name}"
            "(ptr %ctx, ptr %thread, i32 %mask) #0 {",
            "entry:",
            *self._prologue(),
        ]
        return "\n".join([*head, *body, *self._epilogue(), "}", ""])

    def _analysis(self) -> tuple[Slots, Affine]:
        module, version = self.module, self.module.version
        slots = Slots(self.kernel, self.flow, self.full, has_calls=module.has_calls)
        if module.flat:
            slots.forget()
        inputs = version.inputs if self.is_kernel else ()
        return slots, Affine(slots, inputs, inputs_whole=version.full)

    def keeps_others(self, place: Place) -> bool:
        """Whether a write has to keep what lanes hold that it is not for."""
        slot = self.slots.at(place)
        return slot is None or not slot.quiet or self.module.version.saving

    # Function

    def _prologue(self) -> list[str]:
        lines = ["  %image = load ptr, ptr %thread"]
        lines.append(
            f"  %clock = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}"
            if self.module.has_calls
            else "  %clock = alloca i64\n  store i64 0, ptr %clock"
        )
        lines += self._saved_storage()
        filled = "%image" if self.is_kernel else None
        shapes = affine.start(self.affine, self.storage, self.unit)
        lines += self.storage.allocations(filled=filled)
        lines += [*affine.allocations(self.affine), *shapes]
        lines += ["  %active = alloca i32", "  store i32 %mask, ptr %active"]
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
            lines += [
                "  %count = load i64, ptr %clock",
                f"  %counted = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}",
                "  store i64 %count, ptr %counted",
            ]
        if self.is_kernel and self.module.version.saving:
            lines += self.storage.saving("%image")
        return [*lines, "  ret i32 %faulted"]

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

    # Turns

    def suspend(self) -> None:
        """Let other threads run, and begin a turn when they have."""
        self.text.do(f"call void @suspend(ptr %ctx, ptr %thread, i64 {int(Status.PAUSED)})")
        self.begin_turn()

    def begin_turn(self) -> None:
        """Note until when the thread may run before others have a turn."""
        now = self.text.let(f"load i64, ptr {self.clock}")
        self.set_thread(Thread.TURN_ENDS, self.text.let(f"add i64 {now}, {TURN}"))

    def pause(self, pc: int) -> None:
        """Let others run where the thread's turn is over; a place in each loop has to."""
        text = self.text
        now = text.let(f"load i64, ptr {self.clock}")
        over = text.let(f"icmp uge i64 {now}, {self.thread(Thread.TURN_ENDS)}")
        late, on = text.fresh("late"), text.fresh("on")
        text.unlikely(over, late, on)
        text.label(late)
        stop = text.let(
            f"call i32 @pause(ptr %ctx, ptr %thread, i64 {now}, i64 {pc}, i64 {self.unit.number})"
        )
        self.fault_if(text.let(f"icmp ne i32 {stop}, 0"), FaultKind.HOST, pc)
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

    def body_label(self, key: tuple[int, int, int]) -> str:
        """Return the label at which a node starts with the channels that are active."""
        return f"b{self.names[key]}"

    def merge_label(self, key: tuple[int, int, int]) -> str:
        """Return the label at which a node starts with them and those that wait there."""
        prefix = "m" if (key[0], key[1]) in self.flow.slots else "b"
        return f"{prefix}{self.names[key]}"


class NodeWriter:
    """Writes one node of the graph."""

    def __init__(self, unit: UnitWriter, node: Node) -> None:
        self.unit = unit
        self.node = node
        self.text = unit.text
        self.dynamic = node.key[2] == ANY_MODE
        self.mode = float_mode(0 if self.dynamic else node.key[2] & CR0_USED)
        self.full = node.entry in unit.full and not node.waiting
        self.active = self.channels = ""
        self.fresh: dict[tuple[str, int, int], tuple[str, int | None]] = {}

    def write(self) -> None:
        """Write the node's block."""
        text, node, block = self.text, self.node, self.node.block
        text.label(self.unit.body_label(node.key))
        if self.full:
            text.do(f"store i32 {self.unit.all_on}, ptr %active")
            self.active = str(self.unit.all_on)
        else:
            if not node.waiting:
                whole = text.let(f"load i32, ptr %entered.{node.entry}")
                text.do(f"store i32 {whole}, ptr %active")
            self.active = text.let("load i32, ptr %active")
        wide = text.let(f"zext i32 {self.active} to i64")
        self.channels = bits_vector(text, wide, 0, 32)
        for number, step in enumerate(block.before):
            if not self._step(step, number):
                return
        self._count(len(block.forms))
        self._ending()

    def _values(self) -> Values:
        unit = self.unit
        return Values(
            self.text,
            unit.storage,
            unit.module.library,
            self.mode,
            self.dynamic,
            self.active,
            self.channels,
            self.full,
            unit.kernel.simd_size,
            unit.clock,
            unit.registers,
            unit.callouts,
        )

    # Steps

    def _step(self, step: Step, number: int) -> bool:
        """Write one instruction; return whether control can go on behind it."""
        if step.refusal is not None:
            self.unit.fault(FaultKind.REFUSED, step.refusal.pc, int(step.refusal.undefined))
            return False
        self._at(step.pc)
        self._effects(step, self._values(), number)
        return True

    def _at(self, pc: int) -> None:
        """Note the instruction whose faults the following code may have."""
        self.unit.registers.pc = self.unit.callouts.pc = pc

    def _effects(self, step: Step, values: Values, number: int) -> None:
        """Write the messages of an instruction in order, then its register writes."""
        unit, key = self.unit, self.node.key
        reader = ShapeReader(self.text, unit.storage, unit.affine, key, number)
        values.shapes, values.fresh = reader, self._still_vectors(step)
        messages = MessageWriter(unit, values, step.pc)
        for effect in step.effects:
            if isinstance(effect, Message) and is_called_out(effect):
                self.unit.callouts.message(values, effect, step.effects)
            elif isinstance(effect, MemoryMessage):
                messages.message(effect)
            elif isinstance(effect, Fence):
                self.text.do('fence syncscope("singlethread") seq_cst')
        writes = [effect for effect in step.effects if isinstance(effect, RegisterWrite)]
        found = [(w, *self._found(w, values)) for w in writes]
        kept = self._shapes(step, number, values)
        for write, value, mask in found:
            if isinstance(write, WriteRegister) and not unit.keeps_others(write.place):
                self._write(write, value, None, values)
            else:
                self._write(write, value, mask, values)
        for slot, shape in kept:
            reader.keep(slot, shape)
        for write in writes:
            if isinstance(write, WritePredicate):
                self._remember(write, values)

    def _still_vectors(self, step: Step) -> dict[tuple[str, int, int], str]:
        """Return the predicates that an instruction can have as vectors, as they were computed.

        Where channels are off, such a vector is not what the predicate holds.
        """
        if not self.fresh or looks_across(step.effects):
            return {}
        channels = {channel_within(getattr(effect, "mask", None)) for effect in step.effects}
        return {
            key: vector
            for key, (vector, channel) in self.fresh.items()
            if channel is None or channels == {channel}
        }

    def _remember(self, write: WritePredicate, values: Values) -> None:
        name, lanes = write.variable.name, write.value.lanes
        self.fresh = {key: known for key, known in self.fresh.items() if key[0] != name}
        channel = channel_of(write.mask)
        if write.mask is None or channel is not None:
            key = (name, write.offset, lanes)
            self.fresh[key] = (values.value(write.value), channel)

    @staticmethod
    def _found(write: RegisterWrite, values: Values) -> tuple[str, str | None]:
        """Return the value and mask of a write, those of predicates as numbers."""
        mask = values.mask(write.mask)
        if not isinstance(write, WritePredicate):
            return values.value(write.value), mask
        if mask is not None and write.mask is not None:
            mask = values.bits(write.mask)
        return values.bits(write.value), mask

    def _shapes(self, step: Step, number: int, values: Values) -> list[tuple[Slot, Shape]]:
        """Return the shapes that an instruction writes to slots."""
        found: list[tuple[Slot, Shape]] = []
        for write in step.effects:
            if not isinstance(write, WriteRegister):
                continue
            slot = self.unit.affine.write_at(self.node.key, number, write.place)
            shape = None if slot is None else values.shape(write.value, write.mask)
            if slot is not None and shape is not None:
                found.append((slot, shape))
        return found

    def _write(self, write: RegisterWrite, value: str, mask: str | None, values: Values) -> None:
        storage, lanes = self.unit.storage, write.value.lanes
        match write:
            case WriteRegister(place):
                storage.write(place, value, mask)
            case WritePredicate(variable, offset):
                storage.write_bits(variable.name, offset, lanes, value, mask)
            case WriteAddress(variable, element) | WriteState(variable, element):
                self._write_element(variable.name, element, lanes, value, mask)
            case WriteIndirect():
                self.unit.registers.scatter(values, write, value, mask)

    def _write_element(
        self, name: str, element: int, lanes: int, value: str, mask: str | None
    ) -> None:
        text, vector = self.text, f"<{lanes} x i32>"
        pointer = self.unit.storage.element(name, element, lanes)
        if mask is not None:
            old = text.let(f"load {vector}, ptr {pointer}, align 4")
            value = text.let(f"select <{lanes} x i1> {mask}, {vector} {value}, {vector} {old}")
        text.do(f"store {vector} {value}, ptr {pointer}, align 4")

    def _count(self, instructions: int) -> None:
        text, unit, version = self.text, self.unit, self.unit.module.version
        total = text.let(f"load i64, ptr {unit.clock}")
        total = text.let(f"add i64 {total}, {instructions}")
        text.do(f"store i64 {total}, ptr {unit.clock}")
        if version.counting:
            number = unit.module.counter(self.node.block.forms)
            table = unit.context_pointer(Context.COUNTS)
            place = text.let(f"getelementptr i64, ptr {table}, i64 {number}")
            seen = text.let(f"load i64, ptr {place}, align 8")
            text.do(f"store i64 {text.let(f'add i64 {seen}, 1')}, ptr {place}, align 8")
        if version.budgeted:
            budget = unit.context(Context.BUDGET)
            over = text.let(f"icmp ugt i64 {total}, {budget}")
            unit.fault_if(over, FaultKind.BUDGET, self.node.block.start)

    # Endings

    def _ending(self) -> None:
        match self.node.block.transfer:
            case None:
                self._fall()
            case Barrier() if not self.unit.module.has_host_turns:
                self._barrier()
            case FusedExchange() as exchange:
                self._exchange(exchange)
            case Goto() as goto:
                self._goto(goto)
            case Jump() as jump:
                self._jump(jump)
            case Switch() as switch:
                self._switch(switch)
            case Call() as call:
                self._call(call)
            case CallFunction() as call:
                self._call_function(call)
            case Return() | FunctionReturn() as back:
                self._return(back)
            case effect:
                self._synchronize(effect)

    def _key(self, pc: int) -> tuple[int, int, int]:
        return (self.node.entry, pc, self.node.after)

    def _fall(self) -> None:
        self.text.jump(self.unit.merge_label(self._key(self.node.block.next)))

    def _barrier(self) -> None:
        unit = self.unit
        unit.set_thread(Thread.PC, self.node.block.next)
        unit.set_thread(Thread.UNIT, unit.unit.number)
        self.text.do("call void @barrier(ptr %ctx, ptr %thread)")
        unit.begin_turn()
        self._fall()

    def _synchronize(self, effect: Synchronization) -> None:
        """Leave a synchronization to the host, which says whether the thread has to wait."""
        self._meet(effect, operands(effect))
        self._fall()

    def _meet(self, effect: Synchronization, inputs: tuple[Expr, ...]) -> None:
        unit = self.unit
        self._at(self.node.block.next - 1)
        unit.set_thread(Thread.PC, self.node.block.next)
        unit.set_thread(Thread.UNIT, unit.unit.number)
        unit.callouts.call(self._values(), effect, inputs, ())

    def _exchange(self, effect: FusedExchange) -> None:
        """Give the host what the other thread of a fused pair reads, meet it, and go on."""
        after = self.node.block.steps[-1]
        leaves = tuple(e for e in expressions(after.effects) if e.uop.name == "fused")
        places = dict.fromkeys(leaf.attribute[1] for leaf in leaves)
        reads = tuple(Expr(UOPS["read"], p.type, p.lanes, (), p) for p in places)
        self._meet(effect, reads)
        values = self._values()
        found = self.unit.callouts.call(values, effect, (), leaves)
        for leaf, name in zip(leaves, found, strict=True):
            values.know(leaf, name)
        self._effects(after, values, len(self.node.block.steps) - 1)
        self._fall()

    def _set_active(self, value: str) -> None:
        self.text.do(f"store i32 {value}, ptr %active")

    def _wait(self, pc: int, channels: str) -> None:
        slot, text = f"%wait.{self.node.entry}.{pc}", self.text
        before = text.let(f"load i32, ptr {slot}")
        text.do(f"store i32 {text.let(f'or i32 {before}, {channels}')}, ptr {slot}")

    def _wake(self, places: Sequence[int]) -> None:
        """Go on at the first of some places where channels wait; at the last they surely do."""
        text = self.text
        for place in places[:-1]:
            waiting = text.let(f"load i32, ptr %wait.{self.node.entry}.{place}")
            some = text.let(f"icmp ne i32 {waiting}, 0")
            other = text.fresh("later")
            text.branch(some, f"w{self.unit.names[self._key(place)]}", other)
            text.label(other)
        if not places:
            text.do("unreachable")
            return
        text.jump(f"w{self.unit.names[self._key(places[-1])]}")

    def _chosen(self, mask: Expr, offset: int, values: Values) -> str:
        """Return the active channels that a transfer takes, as i32."""
        text = self.text
        known = values.mask(mask)
        if known is None:
            bits = ((1 << mask.lanes) - 1 << offset) & 0xFFFFFFFF
            return text.let(f"and i32 {self.active}, {_signed(bits)}")
        wide = values.bits(mask)
        if offset:
            wide = text.let(f"shl i64 {wide}, {offset}")
        return text.let(f"and i32 {self.active}, {text.let(f'trunc i64 {wide} to i32')}")

    def _uniform(self, mask: Expr | None, yes: str, no: str) -> None:
        """Branch on a mask that is the same for all channels."""
        if mask is None:
            self.text.jump(yes)
            return
        self._at(self.node.block.next - 1)
        bit = self._values().scalar(mask.args[0])
        self.text.branch(bit, yes, no)

    def _goto(self, goto: Goto) -> None:
        target, following = self.unit.flow.label(goto.label), self.node.block.next
        if target == following:
            self._fall()
            return
        self._at(following - 1)
        taken = self.text.fresh("taken")
        onwards = self.unit.merge_label(self._key(following)) if goto.mask is not None else ""
        if target < following:
            self._backward(goto, target, following, taken, onwards)
            return
        between = passed(self.node.waiting, following, target)
        if is_uniform(goto.mask):
            self._uniform(goto.mask, taken, onwards)
            self.text.label(taken)
            if not between:
                self.text.jump(self.unit.merge_label(self._key(target)))
                return
            self._wait(target, self.active)
            self._wake([*between, target])
            return
        self._forward(goto, between, target, taken, onwards)

    def _backward(self, goto: Goto, target: int, following: int, taken: str, onwards: str) -> None:
        text, body = self.text, self.unit.body_label(self._key(target))
        if is_uniform(goto.mask) or goto.mask is None:
            self._uniform(goto.mask, taken, onwards)
            text.label(taken)
            self.unit.pause(following - 1)
            text.jump(body)
            return
        chosen = self._chosen(goto.mask, goto.offset, self._values())
        some = text.let(f"icmp ne i32 {chosen}, 0")
        text.branch(some, taken, onwards)
        text.label(taken)
        self._wait(following, self._rest(chosen))
        self._set_active(chosen)
        self.unit.pause(following - 1)
        text.jump(body)

    def _rest(self, chosen: str) -> str:
        flipped = self.text.let(f"xor i32 {chosen}, -1")
        return self.text.let(f"and i32 {self.active}, {flipped}")

    def _forward(
        self, goto: Goto, between: list[int], target: int, taken: str, onwards: str
    ) -> None:
        text = self.text
        if goto.mask is None:
            return
        chosen = self._chosen(goto.mask, goto.offset, self._values())
        rest = self._rest(chosen)
        self._wait(target, chosen)
        self._set_active(rest)
        some = text.let(f"icmp ne i32 {rest}, 0")
        text.branch(some, onwards, taken)
        text.label(taken)
        self._wake([*between, target])

    def _jump(self, jump: Jump) -> None:
        text, unit, following = self.text, self.unit, self.node.block.next
        target = unit.flow.label(jump.label)
        taken = text.fresh("taken")
        if jump.condition is None:
            text.jump(taken)
        else:
            self._at(following - 1)
            bit = self._values().scalar(jump.condition)
            text.branch(bit, taken, unit.merge_label(self._key(following)))
        text.label(taken)
        self._leap(target)

    def _leap(self, target: int) -> None:
        """Go to a program counter with the whole thread; a fault if it passes waiting channels."""
        text, unit, following = self.text, self.unit, self.node.block.next
        for place in passed(self.node.waiting, following, target):
            waiting = text.let(f"load i32, ptr %wait.{self.node.entry}.{place}")
            some = text.let(f"icmp ne i32 {waiting}, 0")
            unit.fault_if(some, FaultKind.PASSED_WAITING, following - 1)
        forward = target >= following
        if not forward:
            unit.pause(following - 1)
        label = unit.merge_label if forward else unit.body_label
        text.jump(label(self._key(target)))

    def _switch(self, switch: Switch) -> None:
        text, unit = self.text, self.unit
        self._at(self.node.block.next - 1)
        index = self._values().scalar(switch.index)
        labels = [text.fresh("case") for _ in switch.labels]
        wrong = text.fresh("nowhere")
        cases = " ".join(f"i32 {i}, label %{label}" for i, label in enumerate(labels))
        text.do(f"switch i32 {index}, label %{wrong} [ {cases} ]")
        text.label(wrong)
        wide = text.let(f"zext i32 {index} to i64")
        unit.fault(FaultKind.SWITCH_INDEX, self.node.block.next - 1, wide)
        for name, label in zip(switch.labels, labels, strict=True):
            text.label(label)
            self._leap(unit.flow.label(name))

    # Calls

    def _some_chosen(self, mask: Expr | None, offset: int) -> str:
        """Return the channels of a call; go on behind it when there are none."""
        text = self.text
        if mask is None:
            return self.active
        self._at(self.node.block.next - 1)
        chosen = self._chosen(mask, offset, self._values())
        some, enter = text.let(f"icmp ne i32 {chosen}, 0"), text.fresh("enter")
        text.branch(some, enter, self.unit.merge_label(self._key(self.node.block.next)))
        text.label(enter)
        return chosen

    def _deeper(self, change: int) -> None:
        unit = self.unit
        if not unit.module.counts_depth:
            return
        depth = unit.thread(Thread.DEPTH)
        if change > 0:
            over = self.text.let(f"icmp uge i64 {depth}, {CALL_DEPTH}")
            unit.fault_if(over, FaultKind.CALL_DEPTH, self.node.block.next - 1)
        unit.set_thread(Thread.DEPTH, self.text.let(f"add i64 {depth}, {change}"))

    def _call(self, call: Call) -> None:
        text, unit = self.text, self.unit
        target = unit.flow.label(call.label)
        chosen = self._some_chosen(call.mask, call.offset)
        self._deeper(1)
        if target in unit.flow.recursive:
            unit.push_activation(target)
        site = unit.flow.sites[target][self.node.entry, self.node.block.next]
        text.do(f"store i32 {chosen}, ptr %entered.{target}")
        text.do(f"store i32 {chosen}, ptr %called.{target}")
        text.do(f"store i32 {self.active}, ptr %resumed.{target}")
        text.do(f"store i32 {site.number}, ptr %site.{target}")
        self._set_active(chosen)
        if target <= self.node.block.start:
            unit.pause(self.node.block.next - 1)
        text.jump(unit.body_label((target, target, self.node.after)))

    def _call_function(self, call: CallFunction) -> None:
        unit, text = self.unit, self.text
        chosen = self._some_chosen(call.mask, call.offset)
        done = text.fresh("called")
        unit.pause(self.node.block.next - 1)
        if call.target is None:
            self._deeper(1)
            self._invoke(unit.module.callees(call.name)[0].number, chosen, done)
        else:
            self._dispatch(call.target, chosen, done)
        text.label(done)
        self._deeper(-1)
        back = (self.node.entry, self.node.block.next, self.node.returned)
        text.jump(unit.merge_label(back))

    def _invoke(self, number: int, chosen: str, done: str) -> None:
        name = function_name(number, self.node.after)
        failed = self.text.let(f"call i32 @{name}(ptr %ctx, ptr %thread, i32 {chosen})")
        wrong = self.text.let(f"icmp ne i32 {failed}, 0")
        self.text.unlikely(wrong, "failed", done)

    def _dispatch(self, target: Expr, chosen: str, done: str) -> None:
        """Call the function whose handle is given."""
        text, unit = self.text, self.unit
        self._at(self.node.block.next - 1)
        handle = self._values().scalar(target)
        functions = unit.module.callees(None)
        labels = [text.fresh("callee") for _ in functions]
        wrong = text.fresh("nobody")
        cases = " ".join(
            f"i32 {FUNCTION_HANDLE + 16 * (function.number - 1)}, label %{label}"
            for function, label in zip(functions, labels, strict=True)
        )
        text.do(f"switch i32 {handle}, label %{wrong} [ {cases} ]")
        text.label(wrong)
        wide = text.let(f"zext i32 {handle} to i64")
        unit.fault(FaultKind.BAD_HANDLE, self.node.block.next - 1, wide)
        for function, label in zip(functions, labels, strict=True):
            text.label(label)
            self._deeper(1)
            self._invoke(function.number, chosen, done)

    def _return(self, back: Return | FunctionReturn) -> None:
        text, entry = self.text, self.node.entry
        chosen = self.active
        if back.mask is not None:
            self._at(self.node.block.next - 1)
            chosen = self._chosen(back.mask, back.offset, self._values())
        flipped = text.let(f"xor i32 {chosen}, -1")
        called = text.let(f"load i32, ptr %called.{entry}")
        left = text.let(f"and i32 {called}, {flipped}")
        text.do(f"store i32 {left}, ptr %called.{entry}")
        none = text.let(f"icmp eq i32 {left}, 0")
        home, stay = text.fresh("home"), text.fresh("stay")
        text.branch(none, home, stay)
        text.label(home)
        self._home()
        text.label(stay)
        self._stay(back, chosen)

    def _stay(self, back: Return | FunctionReturn, chosen: str) -> None:
        """Go on with the channels that have not returned yet."""
        text, places = self.text, sorted(p for p in self.node.waiting if p >= 0)
        if back.mask is None:
            self._wake(places)
            return
        rest = self._rest(chosen)
        self._set_active(rest)
        some, others = text.let(f"icmp ne i32 {rest}, 0"), text.fresh("others")
        text.branch(some, self.unit.merge_label(self._key(self.node.block.next)), others)
        text.label(others)
        self._wake(places)

    def _home(self) -> None:
        """Leave the subroutine: go on behind the call that is open, or end the function."""
        text, unit, entry = self.text, self.unit, self.node.entry
        sites = unit.flow.returns(entry)
        if entry == unit.flow.start[0]:
            text.jump("finish")
            return
        self._deeper(-1)
        text.do(f"store i32 {text.let(f'load i32, ptr %resumed.{entry}')}, ptr %active")
        number = text.let(f"load i32, ptr %site.{entry}")
        if entry in unit.flow.recursive:
            unit.pop_activation(entry)
        nowhere = text.fresh("nowhere")
        labels = [text.fresh("site") for _ in sites]
        cases = " ".join(
            f"i32 {site.number}, label %{label}" for site, label in zip(sites, labels, strict=True)
        )
        text.do(f"switch i32 {number}, label %{nowhere} [ {cases} ]")
        for site, label in zip(sites, labels, strict=True):
            text.label(label)
            if site.next <= self.node.block.start:
                unit.pause(self.node.block.next - 1)
            text.jump(unit.merge_label((site.caller, site.next, self.node.after)))
        text.label(nowhere)
        text.do("unreachable")


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits


__all__ = ["Registers", "UnitWriter", "function_name", "vector_type"]
