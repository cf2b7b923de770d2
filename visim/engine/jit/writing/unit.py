"""One unit as an LLVM function: its start, the code of its nodes, its end."""

from __future__ import annotations

from collections.abc import Iterable

from visim.engine.jit.analysis import cores
from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.ages import Data
from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.analysis.foreseen import Foreseen, foreseen_loops
from visim.engine.jit.analysis.slots import Slots
from visim.engine.jit.analysis.sweeps import sweep_of
from visim.engine.jit.analysis.walks import walk_of
from visim.engine.jit.analysis.worth import scattered_loops, tear
from visim.engine.jit.ir.accesses import allocated
from visim.engine.jit.ir.masks import MASKS, Masks, meets_too_many
from visim.engine.jit.ir.pieces import FRAME
from visim.engine.jit.ir.storage import FIXED_HOME
from visim.engine.jit.passes import Pass
from visim.engine.jit.writing.abreast import AbreastWriter
from visim.engine.jit.writing.certain import is_worth_it, written_twice
from visim.engine.jit.writing.foreseen import ForeseenWriter
from visim.engine.jit.writing.frame import ACTIVATION, UnitFrame
from visim.engine.jit.writing.functions import ModuleFrame, full_entries
from visim.engine.jit.writing.meeting import Meeting
from visim.engine.jit.writing.nodes import NodeWriter
from visim.engine.jit.writing.prologue import Prologue
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

    def _loop(self, region: Region) -> AbreastWriter | SweepWriter:
        walk, sweep = walk_of(region), sweep_of(region)
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
        prologue = Prologue(self, list(cores.input_cores(self.affine, self.kernel, self.unit)))
        start, body = self._start(prologue), self.text.lines
        if self.meeting is not None:
            body = self._in_step(self.meeting, prologue, start, body)
        lines = prologue.function(start, body)
        if is_worth_it(self):
            lines = written_twice(self, lines, self.first_label(self.flow.start))
        return prologue.text(lines)

    def _in_step(
        self, meeting: Meeting, prologue: Prologue, start: list[str], body: list[str]
    ) -> list[str]:
        """Return a body whose threads go in step; `start` has the variables that it finds."""
        own = set(self.buffers)
        sizes = allocated(line for line in start if line not in own)
        for name in _OF_TURNS:
            sizes.pop(name, None)
        always = [name for name in (FIXED_HOME, MASKS) if name in sizes]
        found = meeting.written(body, sizes, always)
        self.module.frame_bytes_in_step = meeting.frame_bytes
        return [*meeting.dispatch(), *found]

    # Function

    def _start(self, prologue: Prologue) -> list[str]:
        """Return the instructions with which a thread starts, or one that makes a call."""
        masks = Masks(together=self._meets_too_many())
        waiting = self._waiting(masks)
        lines = prologue.lines(masks, cores.allocations(self.affine))
        lines += ["  %active = alloca i32", "  store i32 %mask, ptr %active"]
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


def _pass_of(region: Region) -> Pass:
    """Return the pass that has a loop's channels run apart."""
    return Pass.TRANSPOSE if walk_of(region) is None else Pass.INTERLEAVE


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
