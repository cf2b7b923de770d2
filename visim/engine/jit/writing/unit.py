"""One unit as an LLVM function: its start, the code of its nodes, its end."""

from __future__ import annotations

from collections.abc import Iterable

from visim.engine.base import TURN
from visim.engine.jit.analysis import cores
from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.ages import Data
from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.cores import InputCore
from visim.engine.jit.analysis.flow import Flow, function_name
from visim.engine.jit.analysis.foreseen import Foreseen, foreseen_loops
from visim.engine.jit.analysis.payload import (
    ALONE,
    OUT,
    PARAMETERS,
    TAIL,
    Loop,
    Payload,
    overlaps,
)
from visim.engine.jit.analysis.retries import retry_of
from visim.engine.jit.analysis.slots import Slots
from visim.engine.jit.analysis.sweeps import sweep_of
from visim.engine.jit.analysis.walks import walk_of
from visim.engine.jit.analysis.worth import scattered_loops, tear
from visim.engine.jit.ir.accesses import allocated
from visim.engine.jit.ir.masks import MASKS, Masks, meets_too_many
from visim.engine.jit.ir.pieces import FRAME
from visim.engine.jit.ir.storage import FIXED_HOME, copying
from visim.engine.jit.layout import Thread
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.abreast import AbreastWriter
from visim.engine.jit.writing.certain import is_worth_it, written_twice
from visim.engine.jit.writing.foreseen import ForeseenWriter
from visim.engine.jit.writing.frame import ACTIVATION, ModuleFrame, UnitFrame, full_entries
from visim.engine.jit.writing.jamming import Threads
from visim.engine.jit.writing.meeting import Meeting
from visim.engine.jit.writing.nodes import NodeWriter
from visim.engine.jit.writing.retrying import RetryWriter
from visim.engine.jit.writing.sweeping import SweepWriter
from visim.engine.stops import go_on
from visim.errors import InternalError


def frame_bytes(flow: Flow) -> int:
    """Return the most memory that the open call of a subroutine needs which calls itself."""
    slots = [entry for entry, _ in flow.slots]
    counts = [len(ACTIVATION) + slots.count(entry) for entry in flow.recursive]
    return 4 * max(counts, default=0)


_OF_TURNS = ("%clock", "%turn.ends", "%self", FRAME)
"""Variables that are new whenever a thread goes on."""


class UnitWriter(UnitFrame):
    """Writes the function of one unit."""

    def __init__(self, module: ModuleFrame, flow: Flow) -> None:
        data = Data(flow)
        slots, affine, regions = _analysis(module, flow)
        super().__init__(module, flow, slots, affine, regions, data)
        self.loops = {region.header.key: self._loop(region) for region in regions}
        self.foreseen = {
            loop.region.header.key: ForeseenWriter(self, loop) for loop in self._foreseen()
        }

    def _loop(self, region: Region) -> RetryWriter | AbreastWriter | SweepWriter:
        retry, walk, sweep = retry_of(region), walk_of(region), sweep_of(region)
        if retry is not None:
            return RetryWriter(self, region, retry)
        if walk is not None:
            return AbreastWriter(self, region, walk)
        if sweep is not None:
            return SweepWriter(self, region, sweep)
        raise InternalError("a loop that channels run apart, of no known kind")

    def _foreseen(self) -> Iterable[Foreseen]:
        """Return the loops that are written twice."""
        version = self.module.version
        if self.module.flat or version.looks_inside or not version.checked:
            return ()
        if not version.runs(Pass.VERSION_LOOPS):
            return ()
        return foreseen_loops(self.affine, self.data, self.loops)

    def _write_again(self, loop: ForeseenWriter) -> None:
        """Write a foreseen loop for the second time."""
        self.storage.chain = 0
        loop.begin()
        self.second = loop
        for number, chain in enumerate(self.chains, start=1):
            if loop.body_label(chain[0].key) is not None:
                self.storage.chain = number
                NodeWriter(self, chain, None).write()
        self.second = None

    def write(self) -> str:
        """Return the function's text."""
        self.text.jump(f"b{self.names[self.flow.start]}")
        for number, chain in enumerate(self.chains, start=1):
            if not self.module.version.saving:
                self.storage.chain = number
            self._entrances(chain[0])
            go_on("writing code", number, len(self.chains))
            key = chain[0].key
            NodeWriter(self, chain, self.loops.get(key) or self.foreseen.get(key)).write()
        for loop in self.foreseen.values():
            self._write_again(loop)
        self.storage.chain = 0
        for loop in self.loops.values():
            loop.write()
        body, prologue = self.text.lines, self._prologue()
        name = function_name(self.unit.number, self.flow.start[2])
        linkage = "" if self.is_kernel else "internal "
        kind, parameters = "i32", "ptr %ctx, ptr %thread, i32 %mask"
        if self.meeting is not None:
            body = self._in_step(self.meeting, prologue, body)
        if self.payload is not None:
            self.module.alike_once = not self._mixes(self.payload)
            self.module.firsts = tuple((core.place, core.size) for core in self._own_cores())
            kind, parameters, prologue = "i64", PARAMETERS, self._in_loop(prologue)
        lines = [*prologue, *body, *self._epilogue()]
        if is_worth_it(self):
            lines = written_twice(self, lines, self.first_label(self.flow.start))
        head = f"define {linkage}{kind} @{name}({parameters}) #0 {{"
        return "\n".join([head, "entry:", *lines, "}", ""])

    def _in_step(self, meeting: Meeting, prologue: list[str], body: list[str]) -> list[str]:
        """Return a body whose threads go in step; `prologue` makes room for more variables."""
        own = set(self.buffers)
        sizes = allocated(line for line in prologue if line not in own)
        for name in _OF_TURNS:
            sizes.pop(name, None)
        always = [name for name in (FIXED_HOME, MASKS) if name in sizes]
        found = meeting.written(body, sizes, always)
        if not always and self.module.version.runs(Pass.JAM):
            threads = self._threads(prologue, found, meeting.frame_bytes)
            room, jams = meeting.jammed(threads, self._register_bytes())
            prologue += room
            found += jams
        self.module.frame_bytes_in_step = meeting.frame_bytes
        return [*meeting.dispatch(), *found]

    # Function

    def _prologue(self) -> list[str]:
        lines = [*self.buffers, "  %image = load ptr, ptr %thread"]
        if self.piece_bytes:
            lines.append(f"  {FRAME} = alloca [{self.piece_bytes} x i8], align 64")
        if self.payload is None:
            lines += [*self.surfaces.text.lines, *self.surfaces.thread.lines]
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
        masks = Masks(together=self._meets_too_many())
        variables = self.storage.allocations(self._source, masks)
        waiting = self._waiting(masks)
        lines += [*masks.array(), *variables]
        lines += [*cores.allocations(self.affine), *self._inputs()]
        lines += ["  %active = alloca i32", "  store i32 %mask, ptr %active"]
        lines += ["  %self = alloca ptr", "  store ptr %thread, ptr %self"]
        for entry in sorted({0, *self.flow.sites}):
            start = "%mask" if entry == self.flow.start[0] else "0"
            for what in ACTIVATION:
                lines.append(f"  %{what}.{entry} = alloca i32")
            lines.append(f"  store i32 {start}, ptr %entered.{entry}")
            lines.append(f"  store i32 {start}, ptr %called.{entry}")
        return lines + waiting

    def _waiting(self, masks: Masks) -> list[str]:
        """Return the instructions that make the masks of channels that wait, nobody at first."""
        lines: list[str] = []
        for entry, place in sorted(self.flow.slots):
            name = f"%wait.{entry}.{place}"
            lines.append(masks.variable(name, 32))
            if not masks.together:
                lines.append(f"  store i32 0, ptr {name}")
        return lines

    def _meets_too_many(self) -> bool:
        masks = len(self.flow.slots) + len(self.storage.predicates)
        return meets_too_many([len(node.waiting) for node in self.flow.nodes.values()], masks)

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
            if self.payload is None:
                lines.append(f"  {core.name}.at = getelementptr i8, ptr %image, i64 {core.place}")
                lines.append(f"  {core.name}.v = load {core.kind}, ptr {core.name}.at, align 1")
            lines.append(f"  store {core.kind} {core.name}.v, ptr {core.name}")
        if self.payload is not None:
            lines += self.storage.coordinates(self.payload.places)
        return lines

    def _input_cores(self) -> list[InputCore]:
        return list(cores.input_cores(self.affine, self.kernel, self.unit))

    def _own_cores(self) -> tuple[InputCore, ...]:
        """Return those scalars of inputs in which the threads of a group differ."""
        return tuple(core for core in self._input_cores() if not self._is_alike(core))

    def _is_alike(self, core: InputCore) -> bool:
        return self._source(core.place, 1) == "%payload"

    def _mixes(self, payload: Payload) -> bool:
        """Whether threads find something that all have alike in registers of their own."""
        return any(
            overlaps(payload.alike, *span) and self._source(*span) == "%image"
            for span in self.storage.spans()
        )

    def _in_loop(self, prologue: list[str]) -> list[str]:
        """Return a thread's prologue in a loop over threads, which makes room for all of them."""
        room, rest, ends = *_parted(prologue), self.surfaces
        head = self._thread_loop().head()
        return [*room, *ends.text.lines, *head, *ends.thread.lines, *rest]

    def _threads(self, prologue: list[str], body: list[str], frame_bytes: int) -> Threads:
        """Return what jams have to know of threads that go in step."""
        room, rest = _parted(prologue)
        first = [line for text in self._thread_loop().begin() for line in text.split("\n")]
        kinds = dict(line.strip().split(" = ", 1) for line in room)
        common = [line.split()[0] for line in self.surfaces.text.lines if " = load ptr, " in line]
        start = [*first, *self.surfaces.thread.lines, *rest]
        return Threads(body, start, kinds, common, frame_bytes)

    def _register_bytes(self) -> int:
        """Return how many bytes the processor's registers for vectors have."""
        version = self.module.version
        return 4 * version.vector_lanes * (32 if version.has_mask_registers else 16)

    def _thread_loop(self) -> Loop:
        """Return what the loop over threads has to prepare."""
        return Loop(
            self.kernel.register_bytes,
            tuple(span for span in self.storage.spans() if self._source(*span) == "%payload"),
            tuple(core for core in self._input_cores() if self._is_alike(core)),
            self._own_cores(),
            self._start_mask(),
            self.slm_bytes,
            *(ALONE if self.meeting is None else self.meeting.loop()),
        )

    def _start_mask(self) -> int | None:
        """Return the channels that every thread starts with, if that is known."""
        version = self.module.version
        if version.full:
            return self.all_on
        return (1 << version.low) - 1 if version.low else None

    def _own_spans(self) -> list[tuple[int, int, int]]:
        """Return the parts of the image that each activation of a function has for itself.

        They are numbered, with their first bytes and sizes.
        """
        if self.is_kernel:
            return []
        spans = self.unit.spans if self.module.flat else self.unit.spans[:1]
        return [(n, first, end - first) for n, (first, end) in enumerate(spans) if first < end]

    def _saved_storage(self) -> list[str]:
        """Begin a function's activation where its variables are in the shared image."""
        lines: list[str] = []
        for n, first, size in self._own_spans():
            lines += [
                f"  %own.{n} = getelementptr i8, ptr %image, i64 {first}",
                f"  %saved.{n} = alloca [{size} x i8], align 64",
                copying(f"%saved.{n}", f"%own.{n}", size),
                f"  call void @llvm.memset.p0.i64(ptr %own.{n}, i8 0, i64 {size}, i1 false)",
            ]
        return lines

    def _epilogue(self) -> list[str]:
        lines = ["finish:"]
        for n, _, size in self._own_spans():
            lines.append(copying(f"%own.{n}", f"%saved.{n}", size))
        saves = self.is_kernel and self.module.version.saving
        if self.payload is not None and not saves:
            # Threads that end well go on at once: nothing asks again whether they have.
            tail = TAIL if self.meeting is None else self.meeting.tail()
            return [*lines, "  br label %right", "failed:", "  br label %wrong", tail, OUT]
        lines += ["  br label %leave", "failed:", "  br label %leave", "leave:"]
        lines.append("  %faulted = phi i32 [ 0, %finish ], [ 1, %failed ]")
        if saves:
            lines += self.storage.saving("%image")
        if self.payload is not None:
            lines.append("  %is.wrong = icmp ne i32 %faulted, 0")
            return [*lines, "  br i1 %is.wrong, label %wrong, label %right", TAIL, OUT]
        if not self.module.has_calls:
            lines += [
                "  %count = load i64, ptr %clock",
                f"  %counted = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}",
                "  store i64 %count, ptr %counted",
            ]
        return [*lines, "  ret i32 %faulted"]


def _parted(prologue: list[str]) -> tuple[list[str], list[str]]:
    """Return what makes room for variables, and the rest."""
    room = [line for line in prologue if " = alloca " in line]
    return room, [line for line in prologue if " = alloca " not in line]


def _pass_of(region: Region) -> Pass:
    """Return the pass that has a loop's channels run apart."""
    if retry_of(region) is not None:
        return Pass.CAS_LOOPS
    if walk_of(region) is not None:
        return Pass.INTERLEAVE
    return Pass.TRANSPOSE


def _analysis(module: ModuleFrame, flow: Flow) -> tuple[Slots, Affine, list[Region]]:
    """Return what is known of a unit before it is written."""
    version = module.version
    slots = Slots(module.kernel, flow, full_entries(module, flow), has_calls=module.has_calls)
    if module.flat:
        slots.forget()
    inputs = version.inputs if flow.code.unit.number == 0 else ()
    affine = Affine(slots, inputs, inputs_whole=version.full)
    regions: list[Region] = []
    if not module.flat and not version.looks_inside:
        found = scattered_loops(affine, checked=version.checked)
        regions = [one for one in found if version.runs(_pass_of(one))]
    if tear(slots, regions):
        affine = Affine(slots, inputs, inputs_whole=version.full)
    return slots, affine, regions


__all__ = ["UnitWriter", "frame_bytes"]
