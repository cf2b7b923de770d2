"""What the writers of one unit's traced graph share: analyses, entrances, channels that wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.ages import Data
from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.blocks import MemoryMessage, Step, places
from visim.engine.jit.analysis.flow import Flow, Key, Node
from visim.engine.jit.analysis.lasting import LastingValues
from visim.engine.jit.analysis.slots import Slots
from visim.engine.jit.layout import Thread
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.functions import FunctionFrame, ModuleFrame
from visim.sem.effects import (
    Place,
    WritePredicate,
    expressions,
)
from visim.sem.expr import Expr

ACTIVATION = ("entered", "called", "resumed", "site")


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


class UnitFrame(FunctionFrame):
    """What the writers of one unit share.

    `second` is the loop that is written once more, if one is; `scattered` are the nodes of loops in
    which data say where channels load.
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
        super().__init__(module, flow)
        self.slots = slots
        self.affine = affine
        self.data = data
        self.scattered = {node.key for region in regions for node in region.nodes}
        self.names = {key: number for number, key in enumerate(flow.nodes)}
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

    def keeps_others(self, place: Place) -> bool:
        """Whether a write has to keep what lanes hold that it is not for."""
        slot = self.slots.at(place)
        version = self.module.version
        if slot is None or not slot.quiet or version.saving:
            return True
        return not version.runs(Pass.LIVENESS)

    def site(self, effect: MemoryMessage, pc: int) -> int:
        """Return the number of a message; in a loop's second way it has that of the first."""
        if self.second is None:
            return super().site(effect, pc)
        return self.module.sites.number(effect, self.unit.number)

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

    def decides(self, addresses: Expr) -> bool:
        """Whether what the kernel has loaded says where a message goes, for all that is known."""
        return self.data.decide(addresses)

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


__all__ = ["ACTIVATION", "UnitFrame"]
