"""Nodes of a unit's graph as LLVM IR: their instructions, then where control goes.

Channels that are not active wait at places; each place has a mask of them. Control goes to the
lowest place, as in the reference interpreter: a place's merge adds those that wait to the active
channels, a place's wake starts again with them alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.engine.jit.analysis.bitwise import division_loop
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.flow import is_dynamic, is_uniform, passed
from visim.engine.jit.analysis.lanes import Row
from visim.engine.jit.analysis.runs import Run, RunFinder
from visim.engine.jit.analysis.truths import Truths
from visim.engine.jit.ir.text import signed
from visim.engine.jit.layout import FaultKind
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.bits import BitwiseWriter
from visim.engine.jit.writing.frame import SecondWay
from visim.engine.jit.writing.functioncalls import FunctionCaller
from visim.engine.jit.writing.outlined import strip_writer
from visim.engine.jit.writing.strips import local_rows, may_have_strips, strip_of
from visim.engine.jit.writing.synchronizing import SynchronizationWriter
from visim.engine.jit.writing.values import Values
from visim.sem.effects import (
    Call,
    CallFunction,
    FunctionReturn,
    Goto,
    Jump,
    Place,
    Return,
    Switch,
    WriteRegister,
)
from visim.sem.expr import Expr


class NodeWriter(SynchronizationWriter):
    """Writes one chain of nodes of the graph."""

    def write(self) -> None:
        """Write the blocks of the chain."""
        self._begin()
        self._leave_out()
        for run in self._runs():
            local = self._local(run)
            lanes = self.unit.module.version.vector_lanes
            strip = strip_of(run, local, lanes, repeats=self.repeats)
            if strip is not None:
                self.joint.flush()
                strip_writer(self, run, strip, local).write()
                self._forget(run)
                self._count_until(run.end)
            elif not all(self._write_one(*each) for each in run.numbered()):
                return
        self._count_until(len(self.located))
        self._ending()

    def _leave_out(self) -> None:
        """Leave out turns of a loop that divides, where nobody looks at each of them."""
        module = self.unit.module
        version = module.version
        if module.flat or version.budgeted or version.counting or version.is_followed:
            return
        if not self.runs(Pass.DIVISION_LOOPS):
            return
        found = division_loop(self.unit.flow, self.node) if len(self.chain) == 1 else None
        if found is None or (found.hides and version.saving):
            return
        slots = self.unit.affine.slots
        known = (slot for number in found.variables() for slot in slots.of(number))
        if all(slot.dead or slot.form is None for slot in known):
            BitwiseWriter(self, found).write()

    def _write_one(self, step: Step, place: int) -> bool:
        """Write an instruction, and the end of its block; return whether control can go on."""
        if place < self.written:
            return True
        self._count_until(place)
        self.written = self.write_elements(place)
        return self.written > place or self.write_step(step, place)

    def _count_until(self, place: int) -> None:
        """Count the blocks that end in front of an instruction of the chain, or at its end."""
        while self.uncounted and self.uncounted[0][1] <= place:
            node, _ = self.uncounted.pop(0)
            self.joint.flush()
            self.stand_in(node)
            self._count()

    def _runs(self) -> Iterator[Run]:
        steps = [step for _, _, step in self.located]
        cuts = may_have_strips(len(steps), self.unit.module.version) and self.runs(Pass.STRIPS)
        if self.unit.module.flat or not cuts:
            return iter([Run(0, steps=steps)])
        dynamic = any(is_dynamic(node) for node in self.chain)
        finder = RunFinder(self._keeps_others, self._is_ragged, self._may_load, dynamic=dynamic)
        return finder.runs(steps)

    def _keeps_others(self, write: WriteRegister) -> bool:
        """Whether a write has to keep what its place has in channels that it is not for."""
        mask = write.mask
        if mask is None or not self.unit.keeps_others(write.place):
            return False
        all_on = self.full and mask.uop.name == "execution"
        return not all_on or mask.attribute + mask.lanes > self.unit.kernel.simd_size

    def _may_load(self, position: int, first: int) -> bool:
        """Whether a load may come before instructions from `first` on: nobody sees the order.

        Between blocks instructions are counted, which a fault would show.
        """
        version = self.unit.module.version
        if version.saving or version.is_followed:
            return False
        return self.located[position][0] is self.located[first][0]

    def _is_ragged(self, position: int, place: Place) -> bool:
        """Whether an instruction writes a place with a shape that is a vector itself."""
        node, number, _ = self.located[position]
        slot = self.unit.affine.write_at(node.key, number, place)
        return slot is not None and slot.form is not None and slot.form.ragged

    def _local(self, run: Run) -> set[Row]:
        """Return the rows of a run of which nothing else in the unit knows."""
        if self.unit.module.version.saving:
            return set()
        return local_rows(run, self.unit.users)

    def _forget(self, run: Run) -> None:
        """Forget what a loop may have written: vectors of predicates, conditions."""
        self.truths = Truths()
        self.suppositions.forget(row.variable for row in run.outputs)
        written = {name for name, _ in run.written_bits}
        self.fresh = {key: known for key, known in self.fresh.items() if key[0] not in written}
        self.kept = {name: known for name, known in self.kept.items() if name not in written}
        self.never = {name: bits for name, bits in self.never.items() if name not in written}

    # Endings

    def _ending(self) -> None:
        """Write where control goes from the node."""
        match self.node.block.transfer:
            case None:
                self._fall()
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
                self.synchronize(effect)
                self._fall()

    def _key(self, pc: int) -> tuple[int, int, int]:
        return (self.node.entry, pc, self.node.after)

    def _fall(self) -> None:
        self.text.jump(self.unit.merge_label(self._key(self.node.block.next)))

    def _set_active(self, value: str) -> None:
        self.text.do(f"store i32 {value}, ptr %active")

    def _chosen(self, mask: Expr, offset: int, values: Values) -> str:
        """Return the active channels that a transfer takes, as i32."""
        text = self.text
        known = values.mask(mask)
        if known is None:
            bits = ((1 << mask.lanes) - 1 << offset) & 0xFFFFFFFF
            return text.let(f"and i32 {self.active}, {signed(bits, 32)}")
        wide = values.bits(mask)
        if offset:
            wide = text.let(f"shl i64 {wide}, {offset}")
        return text.let(f"and i32 {self.active}, {text.let(f'trunc i64 {wide} to i32')}")

    def _uniform(self, mask: Expr | None, yes: str, no: str) -> None:
        """Branch on a mask that is the same for all channels."""
        if mask is None:
            self.text.jump(yes)
            return
        self.unit.pc = self.node.block.next - 1
        bit = self.new_values().scalar(mask.args[0])
        self.text.branch(bit, yes, no)

    def _goto(self, goto: Goto) -> None:
        target, following = self.unit.flow.label(goto.label), self.node.block.next
        if target == following:
            self._fall()
            return
        self.unit.pc = following - 1
        taken = self.text.fresh("taken")
        onwards = self.unit.merge_label(self._key(following)) if goto.mask is not None else ""
        if target < following:
            self._backward(goto, target, following, taken, onwards)
            return
        second = self.unit.second
        if second is not None and second.body_label(self._key(target)) is not None:
            self._within(second, goto, target, onwards)
            return
        between = passed(self.node.waiting, following, target)
        if is_uniform(goto.mask):
            self._uniform(goto.mask, taken, onwards)
            self.text.label(taken)
            if not between:
                self.text.jump(self.unit.merge_label(self._key(target)))
                return
            self.unit.wait(self.node, target, self.active)
            self.unit.wake(self.node, [*between, target])
            return
        self._forward(goto, between, target, taken, onwards)

    def _backward(self, goto: Goto, target: int, following: int, taken: str, onwards: str) -> None:
        text, body = self.text, self.unit.body_label(self._key(target))
        if is_uniform(goto.mask) or goto.mask is None:
            self._uniform(goto.mask, taken, onwards)
            text.label(taken)
            if self.unit.second is not None:
                self.unit.second.turn_ends()
                return
            self.unit.pause(following - 1)
            text.jump(body)
            return
        chosen = self._chosen(goto.mask, goto.offset, self.new_values())
        if self.unit.second is not None:
            together, parted = text.labels("together", "parted")
            every = text.let(f"icmp eq i32 {chosen}, {self.active}")
            text.branch(every, together, parted)
            text.label(together)
            self.unit.second.turn_ends()
            text.label(parted)
            body = self.unit.first_label(self._key(target))
        some = text.let(f"icmp ne i32 {chosen}, 0")
        text.branch(some, taken, onwards)
        text.label(taken)
        self.unit.wait(self.node, following, self._rest(chosen))
        self._set_active(chosen)
        self.unit.pause(following - 1)
        text.jump(body)

    def _rest(self, chosen: str) -> str:
        flipped = self.text.let(f"xor i32 {chosen}, -1")
        return self.text.let(f"and i32 {self.active}, {flipped}")

    def _within(self, second: SecondWay, goto: Goto, target: int, onwards: str) -> None:
        """Go on, within a turn of a loop's second way, where all channels go, if they all do."""
        text, label = self.text, self.unit.body_label(self._key(target))
        if goto.mask is None or is_uniform(goto.mask):
            self._uniform(goto.mask, label, onwards)
            return
        chosen = self._chosen(goto.mask, goto.offset, self.new_values())
        some, parted = text.labels("some", "parted")
        text.branch(text.let(f"icmp eq i32 {chosen}, 0"), onwards, some)
        text.label(some)
        text.branch(text.let(f"icmp eq i32 {chosen}, {self.active}"), label, parted)
        text.label(parted)
        second.part()
        self.unit.wait(self.node, target, chosen)
        self._set_active(self._rest(chosen))
        text.jump(self.unit.first_label(self._key(self.node.block.next)))

    def _forward(
        self, goto: Goto, between: list[int], target: int, taken: str, onwards: str
    ) -> None:
        text = self.text
        if goto.mask is None:
            return
        chosen = self._chosen(goto.mask, goto.offset, self.new_values())
        if self.unit.second is not None:
            parted = text.fresh("parted")
            text.branch(text.let(f"icmp eq i32 {chosen}, 0"), onwards, parted)
            text.label(parted)
            onwards = self.unit.first_label(self._key(self.node.block.next))
        rest = self._rest(chosen)
        self.unit.wait(self.node, target, chosen)
        self._set_active(rest)
        some = text.let(f"icmp ne i32 {rest}, 0")
        text.branch(some, onwards, taken)
        text.label(taken)
        self.unit.wake(self.node, [*between, target])

    def _jump(self, jump: Jump) -> None:
        text, unit, following = self.text, self.unit, self.node.block.next
        target = unit.flow.label(jump.label)
        taken = text.fresh("taken")
        if jump.condition is None:
            text.jump(taken)
        else:
            self.unit.pc = following - 1
            bit = self.new_values().scalar(jump.condition)
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
        self.unit.pc = self.node.block.next - 1
        index = self.new_values().scalar(switch.index)
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
        self.unit.pc = self.node.block.next - 1
        chosen = self._chosen(mask, offset, self.new_values())
        some, enter = text.let(f"icmp ne i32 {chosen}, 0"), text.fresh("enter")
        text.branch(some, enter, self.unit.merge_label(self._key(self.node.block.next)))
        text.label(enter)
        return chosen

    def _caller(self) -> FunctionCaller:
        return FunctionCaller(self.unit, self.node.block.next - 1, self.node.after)

    def _call(self, call: Call) -> None:
        text, unit = self.text, self.unit
        target = unit.flow.label(call.label)
        chosen = self._some_chosen(call.mask, call.offset)
        self._caller().change_depth(1)
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
        unit = self.unit
        chosen = self._some_chosen(call.mask, call.offset)
        unit.pause(self.node.block.next - 1)
        handle = None
        if call.target is not None:
            unit.pc = self.node.block.next - 1
            handle = self.new_values().scalar(call.target)
        self._caller().call(call.name, handle, chosen)
        back = (self.node.entry, self.node.block.next, self.node.returned)
        self.text.jump(unit.merge_label(back))

    def _return(self, back: Return | FunctionReturn) -> None:
        text, entry = self.text, self.node.entry
        chosen = self.active
        if back.mask is not None:
            self.unit.pc = self.node.block.next - 1
            chosen = self._chosen(back.mask, back.offset, self.new_values())
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
            self.unit.wake(self.node, places)
            return
        rest = self._rest(chosen)
        self._set_active(rest)
        some, others = text.let(f"icmp ne i32 {rest}, 0"), text.fresh("others")
        text.branch(some, self.unit.merge_label(self._key(self.node.block.next)), others)
        text.label(others)
        self.unit.wake(self.node, places)

    def _home(self) -> None:
        """Leave the subroutine: go on behind the call that is open, or end the function."""
        text, unit, entry = self.text, self.unit, self.node.entry
        sites = unit.flow.returns(entry)
        if entry == unit.flow.start[0]:
            text.jump("finish")
            return
        self._caller().change_depth(-1)
        text.do(f"store i32 {text.let(f'load i32, ptr %resumed.{entry}')}, ptr %active")
        number = text.let(f"load i32, ptr %site.{entry}")
        if entry in unit.flow.recursive:
            unit.pop_activation(entry)
        backward = [site.next <= self.node.block.start for site in sites]
        if all(backward):
            unit.pause(self.node.block.next - 1)
        nowhere = text.fresh("nowhere")
        labels = [text.fresh("caller") for _ in sites]
        cases = " ".join(
            f"i32 {site.number}, label %{label}" for site, label in zip(sites, labels, strict=True)
        )
        text.do(f"switch i32 {number}, label %{nowhere} [ {cases} ]")
        for site, label, goes_back in zip(sites, labels, backward, strict=True):
            text.label(label)
            if goes_back and not all(backward):
                unit.pause(self.node.block.next - 1)
            text.jump(unit.merge_label((site.caller, site.next, self.node.after)))
        text.label(nowhere)
        text.do("unreachable")
