"""Why a value is what it is: the instructions and loads that made it, back to arguments.

Goes back from a byte to the instruction that wrote it, from that to what it was computed from, and
so on, lane by lane, through registers, local memory and what earlier groups have written.
"""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from visim.debug.engine.memory import HOST, SCRATCH, SLM, Access
from visim.debug.engine.timeline import Moment
from visim.debug.looking.sourced import scratch_of
from visim.debug.looking.variables import typed
from visim.debug.session import Session
from visim.debug.slicing.flow import Branches
from visim.debug.slicing.matching import (
    accessed,
    conditions,
    loaded_from,
    message_of,
    written,
)
from visim.debug.slicing.nodes import REGISTERS, Chain, Node, Where
from visim.debug.slicing.recording import Record, Recorder, Recording
from visim.debug.slicing.sources import (
    ADDRESS,
    BRANCH,
    MASK,
    MEMORY,
    VALUE,
    Bytes,
    Facts,
    Gathered,
    Loaded,
    Source,
    Sources,
    Write,
    address_of,
    values_of,
)
from visim.debug.slicing.writers import RegisterWriters
from visim.sem.effects import (
    Atomic,
    Message,
    StoreBlock,
    WriteRegister,
)
from visim.sem.expr import Expr
from visim.types import DataType

MOST_NODES = 3000
_MOST_GROUPS = 8


@dataclass(slots=True)
class _Question:
    """Who wrote some bytes before a record, and for which node."""

    where: Where
    group: int
    before: int
    role: str
    asked_by: Node | None


class Slicer:
    """Makes chains.

    Args:
        session: the launch; where it stands is left as it is.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._timeline = session.timeline
        self._sources = Sources(session.debuggee.linked)
        self._recorder = Recorder(session.timeline, self._sources)
        self._branches = Branches(session.lines)
        self._recordings: dict[int, Recording] = {}
        self._writers: dict[int, RegisterWriters] = {}
        self._nodes: dict[Any, Node] = {}
        self._chain = Chain([])
        self._questions: deque[_Question] = deque()
        self._lesser: deque[_Question] = deque()

    def why(self, where: Where, kind: DataType | None = None) -> Chain:
        """Return what made some bytes what they are now; `kind` is their type, if it is known."""
        now = self._timeline.moment
        self._nodes, self._chain = {}, Chain([])
        self._recordings, self._writers = {}, {}
        try:
            self._ask_first(where, now)
            while self._questions or self._lesser:
                self._answer((self._questions or self._lesser).popleft())
            self._number()
            if kind is not None and self._chain.nodes:
                self._chain.nodes[0].kind = kind
            self._read_values()
        finally:
            self._questions.clear()
            self._lesser.clear()
            self._timeline.go_to(now)
        return self._chain

    def _later(self, question: _Question) -> None:
        """Keep a question.

        What a value was computed from comes before what says where and whether: where there are
        too many steps, those that matter most are told.
        """
        is_lesser = question.role in {ADDRESS, BRANCH}
        (self._lesser if is_lesser else self._questions).append(question)

    def _ask_first(self, where: Where, now: Moment) -> None:
        group = now.group
        if not self._timeline.is_finished and group < len(self._session.debuggee.order):
            recording = self._recording(now)
            self._later(_Question(where, group, len(recording.records), VALUE, None))
            return
        self._later(_Question(where, len(self._session.debuggee.order), 0, VALUE, None))

    def _recording(self, end: Moment) -> Recording:
        found = self._recordings.get(end.group)
        if found is None:
            found = self._recordings[end.group] = self._recorder.record(end)
        return found

    # Answers

    def _answer(self, question: _Question) -> None:
        if len(self._chain.nodes) >= MOST_NODES:
            self._chain.is_cut = True
            return
        recording = self._recordings.get(question.group)
        left = set(range(question.where.start, question.where.start + question.where.size))
        if recording is not None:
            is_register = question.where.space == REGISTERS
            find = self._register_writers if is_register else self._memory_writers
            for key, covered in find(recording, question, left):
                left -= covered
                self._join(question, key, recording)
                if not left:
                    return
        if left:
            self._beginning(question, left)

    def _join(self, question: _Question, key: tuple[int, Any, int], recording: Recording) -> None:
        """Let a node be a cause of what asked; a new one asks for its own causes."""
        number, what, lane = key
        start = 0 if isinstance(what, Write) else question.where.start
        name = (question.group, number, id(what), lane, start)
        node = self._nodes.get(name)
        if node is None:
            record = recording.records[number]
            channel = self._session.lines.channel((record.unit, record.pc), lane)
            node = Node(0, question.group, record, channel, question.where)
            node.kind = self._kind_of(record, what)
            self._nodes[name] = node
            self._chain.nodes.append(node)
            self._ask(node, number, what, lane, recording)
        if question.asked_by is not None and all(
            one is not node for _, one in question.asked_by.causes
        ):
            question.asked_by.causes.append((question.role, node))

    def _register_writers(
        self, recording: Recording, question: _Question, left: set[int]
    ) -> Iterator[tuple[tuple[int, Write, int], set[int]]]:
        """Yield the writes of a thread that made some bytes, the last first, and their bytes."""
        where = question.where
        low, high = where.start, where.start + where.size
        writers = self._writers_of(recording)
        for number in writers.before(where.owner, where.start, where.size, question.before):
            record = recording.records[number]
            for write in self._sources.facts(record.unit, record.pc).writes:
                first, end = write.span
                if first >= high or low >= end:
                    continue
                for lane, covered in written(write, record, left):
                    yield (number, write, lane), covered
                    left = left - covered
            if not left:
                return

    def _writers_of(self, recording: Recording) -> RegisterWriters:
        found = self._writers.get(recording.group)
        if found is None:
            found = self._writers[recording.group] = RegisterWriters(recording, self._sources)
        return found

    def _memory_writers(
        self, recording: Recording, question: _Question, left: set[int]
    ) -> Iterator[tuple[tuple[int, Any, int], set[int]]]:
        """Yield the messages that made some bytes of memory, the last first, and their bytes."""
        where = question.where
        place = bisect.bisect_left(recording.stores, question.before)
        for number in reversed(recording.stores[:place]):
            record = recording.records[number]
            for access in reversed(record.accesses):
                if access.kind == "load" or access.space != where.space:
                    continue
                if where.space == SCRATCH and access.owner != where.owner:
                    continue
                if not access.touches(where.start, where.size):
                    continue
                for lane, covered in accessed(access, left):
                    yield (number, access, lane), covered
                    left = left - covered
            if not left:
                return

    def _kind_of(self, record: Record, what: Any) -> DataType | None:
        """Return the type of what was written, as far as the instruction tells it."""
        if isinstance(what, Write):
            effect = what.effect
            if not isinstance(effect, WriteRegister):
                return effect.value.type
            # Messages write bits; what they mean is the variable's type.
            own, written = effect.place.variable.type, effect.place.type
            return own if own.bits == written.bits else written
        message = message_of(record, self._sources.facts(record.unit, record.pc), what)
        values = values_of(message) if message is not None else ()
        return values[0].type if values else None

    # Causes

    def _ask(self, node: Node, number: int, what: Any, lane: int, recording: Recording) -> None:
        record = recording.records[number]
        facts = self._sources.facts(record.unit, record.pc)
        if isinstance(what, Write):
            self._ask_of(node, number, record, what.effect.value, lane, VALUE)
            if what.effect.mask is not None:
                self._ask_of(node, number, record, what.effect.mask, lane, MASK)
        else:
            self._ask_message(node, number, record, facts, what, lane)
        self._ask_branches(node, number, record, recording)

    def _ask_message(
        self, node: Node, number: int, record: Record, facts: Facts, access: Access, lane: int
    ) -> None:
        """Ask for what a message stored, and for where."""
        message = message_of(record, facts, access)
        if message is None:
            return
        address = address_of(message)
        if isinstance(message, StoreBlock):
            offset = node.wrote.start - int(access.addresses[0])
            size = max(1, message.value.type.bytes)
            for one in range(offset // size, (offset + node.wrote.size - 1) // size + 1):
                if 0 <= one < message.value.lanes:
                    self._ask_of(node, number, record, message.value, one, VALUE)
            lane = 0
        elif access.is_picture:
            for value in values_of(message):
                for one in range(value.lanes):
                    self._ask_of(node, number, record, value, one, VALUE)
        else:
            for value in self._stored(message, access, node, lane):
                self._ask_of(node, number, record, value, lane, VALUE)
        if isinstance(message, Atomic):
            where = node.wrote._replace(owner=access.owner)
            self._later(_Question(where, node.group, number, MEMORY, node))
        if address is not None:
            self._ask_of(node, number, record, address, min(lane, address.lanes - 1), ADDRESS)
        if message.mask is not None and not access.is_picture:
            mask = message.mask
            self._ask_of(node, number, record, mask, min(lane, mask.lanes - 1), MASK)

    def _stored(self, message: Message, access: Access, node: Node, lane: int) -> list[Expr]:
        """Return the values of a message that a node's bytes are of: one component, or several."""
        values = list(values_of(message))
        if isinstance(message, Atomic) or len(values) < 2:
            return values
        place = int(np.flatnonzero(access.lanes == lane)[-1])
        offset = node.wrote.start - int(access.addresses[place])
        size = max(1, access.size // len(values))
        first, last = offset // size, (offset + node.wrote.size - 1) // size
        return values[max(0, first) : last + 1]

    def _ask_branches(self, node: Node, number: int, record: Record, recording: Recording) -> None:
        """Ask for the conditions of the branches that let the instruction be executed."""
        deciding = self._branches.deciding(record.unit, record.pc)
        if not deciding:
            return
        mine = recording.by_thread[record.thread]
        place = bisect.bisect_left(mine, number)
        left = set(deciding)
        for earlier in reversed(mine[:place]):
            one = recording.records[earlier]
            if one.depth < record.depth:
                return
            if one.unit != record.unit or one.depth != record.depth or one.pc not in left:
                continue
            left.discard(one.pc)
            branch = self._sources.facts(one.unit, one.pc).branch
            for expr, at in conditions(branch, node.lane):
                self._ask_of(node, earlier, one, expr, at, BRANCH)
            if not left:
                return

    def _ask_of(
        self, node: Node, number: int, record: Record, expr: Expr, lane: int, role: str
    ) -> None:
        """Ask who made what a lane of an expression of a record is computed from."""
        if lane >= expr.lanes:
            return
        for source in self._sources.of(record.unit, expr, lane, record.known):
            self._ask_source(node, number, record, source, role)

    def _ask_source(
        self, node: Node, number: int, record: Record, source: Source, role: str
    ) -> None:
        match source:
            case Bytes(start, size):
                where = Where(REGISTERS, record.thread, start, size)
                self._later(_Question(where, node.group, number, role, node))
            case Gathered(expr, lane):
                addresses = record.known.get(expr.args[0])
                self._ask_of(node, number, record, expr.args[0], lane, ADDRESS)
                if addresses is not None and lane < addresses.size:
                    size = max(1, expr.type.bytes)
                    where = Where(REGISTERS, record.thread, int(addresses[lane]), size)
                    self._later(_Question(where, node.group, number, role, node))
            case Loaded():
                self._ask_loaded(node, number, record, source, role)

    def _ask_loaded(
        self, node: Node, number: int, record: Record, source: Loaded, role: str
    ) -> None:
        """Ask who made what a message has loaded for a lane, and where it was."""
        facts = self._sources.facts(record.unit, record.pc)
        effect = source.effect
        where = loaded_from(record, facts, source)
        if where is not None:
            self._later(_Question(where, node.group, number, role, node))
        address = address_of(effect) if isinstance(effect, Message) else None
        if address is not None:
            at = min(source.lane, address.lanes - 1)
            self._ask_of(node, number, record, address, at, ADDRESS)
        elif isinstance(effect, Message):
            for value in values_of(effect):
                self._ask_of(
                    node, number, record, value, min(source.lane, value.lanes - 1), ADDRESS
                )

    # Where values begin

    def _beginning(self, question: _Question, left: set[int]) -> None:
        """Answer with the argument, id or memory that bytes began as."""
        where = question.where
        part = where._replace(start=min(left), size=max(left) - min(left) + 1)
        is_host = where.space == HOST and question.group > 0
        if is_host and self._earlier_group(question, part):
            return
        origin, text = self._origin(part, question.group)
        name = ("origin", origin, part if part.space != REGISTERS else part[2:])
        node = self._nodes.get(name)
        if node is None:
            node = Node(0, question.group, None, 0, part, text, origin)
            self._nodes[name] = node
            self._chain.nodes.append(node)
        if question.asked_by is not None and all(
            one is not node for _, one in question.asked_by.causes
        ):
            question.asked_by.causes.append((question.role, node))

    def _earlier_group(self, question: _Question, part: Where) -> bool:
        """Ask the group before that has written some bytes; return whether there is one."""
        before = self._timeline.initial(part.start, part.size)
        if before is not None and question.group < len(self._session.debuggee.order):
            at_start = self._at_start(question.group, part)
            if at_start == before:
                return False
        if len(self._recordings) >= _MOST_GROUPS:
            return False
        group = self._timeline.last_writer(part.start, part.size, question.group)
        if group is None:
            return False
        recording = self._whole(group)
        again = _Question(part, group, len(recording.records), question.role, question.asked_by)
        self._later(again)
        return True

    def _whole(self, group: int) -> Recording:
        """Return all that a group did."""
        found = self._recordings.get(group)
        if found is None:
            found = self._recordings[group] = self._recorder.record_all(group)
        return found

    def _at_start(self, group: int, part: Where) -> bytes | None:
        """Return what memory held when a group began."""
        self._timeline.go_to(Moment(group, 0))
        return self._session.host_bytes(part.start, part.size)

    def _origin(self, part: Where, group: int) -> tuple[str, str]:
        """Return what bytes are that nobody wrote, and their value."""
        if part.space == REGISTERS:
            return self._start_register(part)
        if part.space == HOST:
            found = self._session.element(part.start)
            name = f"memory at 0x{part.start:x}" if found is None else found[0]
            data = self._timeline.initial(part.start, part.size)
            is_first = not 0 < group < len(self._session.debuggee.order)
            as_it_was = "as it was" if is_first else "the same as"
            return f"{name}, {as_it_was} before the launch", self._shown(part.start, data)
        if part.space == SLM:
            return f"byte {part.start} of local memory, which nobody has written", "0"
        return f"byte {part.start} of {part.space} memory, which nobody has written", "0"

    def _start_register(self, part: Where) -> tuple[str, str]:
        for one in self._session.looker.facts.registers:
            if one.register <= part.start < one.register + one.size:
                value = self._session.looker.arguments.all.get(one.name)
                is_number = value is not None and np.ndim(value) == 0
                what = "argument " if one.name in self._session.looker.arguments.all else ""
                return f"{what}{one.name}", str(value) if is_number else ""
        name = self._session.register_name(part.start)
        if name is not None and name.startswith("%"):
            return f"{name}, which the launch sets", ""
        return f"{name or 'a register'}, which nobody has written", "0"

    # Finishing

    def _number(self) -> None:
        """Put the nodes in order, the newest first, and number them."""

        def order(node: Node) -> tuple[int, int, int]:
            if node.record is None:
                return (1, 0, 0)
            return (0, -node.group, -node.record.tick)

        first, *rest = self._chain.nodes or [None]
        if first is None:
            return
        rest = [one for one in rest if one is not None]
        rest.sort(key=order)
        self._chain.nodes = [first, *rest]
        for number, node in enumerate(self._chain.nodes, 1):
            node.number = number

    def _read_values(self) -> None:
        """Execute the groups again and note what the nodes wrote."""
        nodes = [one for one in self._chain.nodes if one.record is not None]
        nodes.sort(key=lambda one: (one.group, one.record.tick if one.record else 0))
        for node in nodes:
            if node.record is None:
                continue
            self._timeline.go_to(Moment(node.group, node.record.tick))
            self._timeline.step()
            node.text = self._text(node, node.record)

    def _text(self, node: Node, record: Record) -> str:
        """Return what a node has written, which has just been executed."""
        where, stepper = node.wrote, self._timeline.stepper
        if where.space == HOST:
            data = self._session.host_bytes(where.start, where.size)
            shown = self._shown(where.start, data)
            if shown or node.kind is None:
                return shown
            data = np.frombuffer(data, np.uint8)
        elif self._timeline.group != node.group or self._timeline.is_finished:
            return ""
        elif where.space == SLM:
            data = stepper.slm[where.start : where.start + where.size]
        elif record.thread not in stepper.group.threads:
            return ""
        elif where.space == REGISTERS:
            data = stepper.image(record.thread)[where.start : where.start + where.size]
        else:
            scratch = scratch_of(stepper.group.threads[record.thread])
            data = scratch[where.start : where.start + where.size]
        if node.kind is None:
            return ""
        if node.kind.bits < 8:
            return str(bool(data[0])).lower()
        values = typed(np.array(data), node.kind)
        return str(values[0]) if values.size == 1 else ""

    def _shown(self, address: int, data: bytes | None) -> str:
        """Return bytes of an argument as an element of it."""
        found = self._session.element(address)
        is_element = found is not None and found[0].endswith("]")
        if data is None or found is None or not is_element or len(data) != found[1].itemsize:
            return ""
        return str(np.frombuffer(data, found[1])[0])


__all__ = ["MOST_NODES", "REGISTERS", "Chain", "Node", "Slicer", "Where"]
