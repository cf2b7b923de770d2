"""Where threads of a group meet: barriers, what fused pairs exchange, turns given away."""

from __future__ import annotations

from visim.engine.barriers import AHEAD, BOTH, GROUP
from visim.engine.jit.layout import REFUSED, Context, Status, Thread
from visim.engine.jit.writing.calling import CallOutWriter
from visim.engine.jit.writing.functions import FunctionFrame
from visim.engine.jit.writing.steps import StepWriter
from visim.engine.jit.writing.values import Values
from visim.sem.effects import (
    Barrier,
    BarrierSignal,
    BarrierWait,
    FusedExchange,
    NamedBarrierSignal,
    NamedBarrierWait,
    Synchronization,
    Yield,
    expressions,
    operands,
)
from visim.sem.expr import Expr
from visim.sem.uops import UOPS


class Synchronizer:
    """Writes synchronizations into a function."""

    def __init__(self, unit: FunctionFrame) -> None:
        self.unit = unit
        self.text = unit.text
        self.callouts = CallOutWriter(unit)

    def note_place(self, following: int) -> None:
        """Leave in the thread's record where it goes on, for those who look at waiting threads."""
        if self.unit.meeting is None:
            self.unit.set_thread(Thread.PC, following)
            self.unit.set_thread(Thread.UNIT, self.unit.unit.number)

    def perform(self, values: Values, effect: Synchronization, following: int) -> None:
        """Write what a synchronization does, until the thread goes on at `following`."""
        unit = self.unit
        if unit.module.has_host_turns:
            self.callouts.call(values, effect, operands(effect), ())
        elif isinstance(effect, Barrier) and not unit.module.barriers:
            self._barrier(following)
        else:
            self._meet(values, effect)

    def _barrier(self, following: int) -> None:
        """Wait for all others, where threads signal and wait in one."""
        unit = self.unit
        if unit.meeting is not None:
            label = unit.meeting.label(following)
            self.text.jump(label)
            self.text.label(label)
            return
        if not unit.module.stacks:  # Nobody else is in the group.
            return
        unit.note_executed()
        before = self.text.let("load ptr, ptr %self")
        after = self.text.let(f"call ptr @barrier(ptr %ctx, ptr {before})")
        self.text.do(f"store ptr {after}, ptr %self")
        unit.begin_turn()

    def _meet(self, values: Values, effect: Synchronization) -> None:
        """Signal, wait, or give way; what is undefined goes to the host, which says why."""
        match effect:
            case Barrier():
                self._signal(values, effect, GROUP)
                self._await(values, effect, GROUP)
            case BarrierSignal():
                self._signal(values, effect, GROUP)
            case BarrierWait():
                self._await(values, effect, GROUP)
            case NamedBarrierSignal():
                self._signal(values, effect, self._wide(values, effect.id))
            case NamedBarrierWait():
                self._await(values, effect, self._wide(values, effect.id))
            case Yield() if self.unit.module.stacks:
                self.unit.suspend()
            case _:
                pass  # Nobody else is in the group; turns end where others look whether to stop.

    def _wide(self, values: Values, expr: Expr) -> str:
        return self.text.let(f"zext i32 {values.scalar(expr)} to i64")

    def _signal(self, values: Values, effect: Synchronization, number: str | int) -> None:
        if not self.unit.module.kernel.platform.has_named_barriers:
            most = AHEAD if isinstance(effect, BarrierSignal) else 1
            well = self.text.let(f"call i1 @count(ptr %ctx, ptr %thread, i64 {most})")
            self._explain_unless(well, values, effect)
            return
        if isinstance(effect, NamedBarrierSignal):
            counts = (effect.role, effect.producers, effect.consumers)
            shown = [self._wide(values, expr) for expr in counts]
        else:
            threads = self.unit.context(Context.THREADS)
            shown = [str(BOTH), threads, threads]
        given = ", ".join(f"i64 {name}" for name in (number, *shown))
        well = self.text.let(f"call i1 @signal(ptr %ctx, ptr %thread, {given})")
        self._explain_unless(well, values, effect)

    def _await(self, values: Values, effect: Synchronization, number: str | int) -> None:
        named = self.unit.module.kernel.platform.has_named_barriers
        called = f"@await(ptr %ctx, ptr %thread, i64 {number})"
        called = called if named else "@await_counted(ptr %ctx, ptr %thread)"
        phase = self.text.let(f"call i64 {called}")
        well = self.text.let(f"icmp ne i64 {phase}, {REFUSED}")
        self._explain_unless(well, values, effect)
        self.unit.suspend(Status.WAITING, phase)

    def _explain_unless(self, well: str, values: Values, effect: Synchronization) -> None:
        """Have the host say what is wrong, unless all is well."""
        right, wrong = self.text.fresh("right"), self.text.fresh("wrong")
        self.text.likely(well, right, wrong)
        self.text.label(wrong)
        self.callouts.call(values, effect, operands(effect), ())
        self.text.jump(right)
        self.text.label(right)


class SynchronizationWriter(StepWriter):
    """Writes the synchronization at the end of a block of the traced graph."""

    def synchronize(self, effect: Synchronization) -> None:
        """Write what a synchronization does, until the thread goes on."""
        unit, following = self.unit, self.node.block.next
        unit.pc = following - 1
        synchronizer = Synchronizer(unit)
        synchronizer.note_place(following)
        values = self.new_values()
        self.tracing.effect(values, effect, unit.pc)
        if isinstance(effect, FusedExchange):
            self._exchange(values, effect)
        else:
            synchronizer.perform(values, effect, following)

    def _exchange(self, values: Values, effect: FusedExchange) -> None:
        """Give the host what the other thread of a fused pair reads, meet it, and go on."""
        after = self.node.block.steps[-1]
        leaves = tuple(e for e in expressions(after.effects) if e.uop.name == "fused")
        places = dict.fromkeys(leaf.attribute[1] for leaf in leaves)
        reads = tuple(Expr(UOPS["read"], p.type, p.lanes, (), p) for p in places)
        self.callouts.call(values, effect, reads, ())
        values = self.new_values()
        found = self.callouts.call(values, effect, (), leaves)
        for leaf, name in zip(leaves, found, strict=True):
            values.know(leaf, name)
        self._effects(after, values, len(self.node.block.steps) - 1)
        self.joint.flush()
