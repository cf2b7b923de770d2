"""One LLVM module: the functions of a kernel's units and the helpers they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from visim.engine.base import CALL_DEPTH
from visim.engine.jit.analysis.additions import additions, has_atomics
from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.exploring import explore
from visim.engine.jit.analysis.flow import Flow, function_name
from visim.engine.jit.analysis.inputs import input_rows
from visim.engine.jit.analysis.meetings import goes_in_step
from visim.engine.jit.analysis.quotients import with_divisions
from visim.engine.jit.common.scheduler import calls_text
from visim.engine.jit.emit.choice import optimised, takes_mir
from visim.engine.jit.emit.errors import NotEmitted
from visim.engine.jit.emit.unit import MirUnitWriter
from visim.engine.jit.ir.places import fits_variable
from visim.engine.jit.ir.text import fences
from visim.engine.jit.layout import BARRIER_COUNT
from visim.engine.jit.lift.outlines import know_shapes
from visim.engine.jit.mir.errors import NotLifted
from visim.engine.jit.passes import Pass
from visim.engine.jit.targets import MACHINES
from visim.engine.jit.writing.functions import ModuleFrame, full_entries
from visim.engine.jit.writing.unit import UnitWriter, frame_bytes
from visim.engine.jit.writing.versions import ModuleText, Traits
from visim.errors import UnsupportedError
from visim.sem.effects import (
    Atomic,
    BarrierSignal,
    BarrierWait,
    Load,
    LoadBlock,
    NamedBarrierSignal,
    NamedBarrierWait,
    Request,
    Space,
    Synchronization,
)

_TURNS = 100
"""How often a loop is assumed to turn."""
_WITH_STACKS = " and ".join(one.name for one in MACHINES if one.stacks is not None)


@dataclass
class ModuleWriter(ModuleFrame):
    """Writes the module of one version of a kernel."""

    codes: Sequence[UnitCode] = ()

    def write(self) -> ModuleText:
        """Return the module.

        Raises:
            UnsupportedError: the kernel needs what the JIT cannot do.
        """
        flows = self._looked_at()
        self.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        if self._has_tallies(flows):
            self.adding = additions(flows.values())
        # MIR does not have what instruments add.
        lifts = not self.kernel.made_by and takes_mir(self.version, _steps(flows.values()))
        functions = [self._function(flow, lifts=lifts) for flow in flows.values()]
        entry = function_name(0, self.version.cr0)
        text = "\n".join(
            [
                _HEAD,
                *(fences() if self.version.has_mask_registers else ()),
                *functions,
                self.pieces.render(),
                calls_text(self.way, self.library.machine),
                self.library.render(),
                f"attributes #0 = {{ nounwind alignstack={self._stack_alignment()} }}",
                "attributes #1 = { nounwind willreturn memory(none) }",
                '!0 = !{!"branch_weights", i32 1, i32 10000}',
                '!1 = !{!"branch_weights", i32 10000, i32 1}',
            ]
        )
        watched = self.watched_sites.sites
        blocks = self.numbers.places
        read = self.alike_once, self.firsts, self.frame_bytes_in_step
        return ModuleText(text, entry, self.sites, blocks, self.forms, watched, *read)

    def _function(self, flow: Flow, *, lifts: bool) -> str:
        """Return the text of a unit, from MIR where that `lifts` it and nothing is in its way."""
        if not self.flat and self.version.runs(Pass.DIVISION):
            flow = with_divisions(self.kernel, flow)
        if lifts:
            try:
                return MirUnitWriter(self, flow, optimised(self, flow)).write()
            except (NotLifted, NotEmitted):
                pass  # The traced graph has all that MIR does not say.
        return UnitWriter(self, flow).write()

    def _has_tallies(self, flows: dict[tuple[int, int], Flow]) -> bool:
        """Whether additions may be tallied: nobody calls, watches or has switched checks off."""
        version = self.version
        if not version.runs(Pass.PRIVATISE):
            return False
        return version.checked and not version.looks_inside and len(flows) == 1

    def _stack_alignment(self) -> int:
        """Return how many bytes a register for vectors has.

        LLVM does not align the stack by itself for what it keeps there for want of registers.
        """
        return 4 * max(4, self.version.vector_lanes)

    def survey(self) -> Traits:
        """Return what is to be known before a version is chosen.

        Raises:
            UnsupportedError: the kernel needs what the JIT cannot do.
        """
        flows = self._looked_at()
        return Traits(
            may_wait=self.may_wait,
            has_host_turns=self.has_host_turns,
            barriers=self.barriers,
            has_calls=self.has_calls,
            writes_image=self.flat or self.has_calls or self.version.saving,
            rows=() if self.flat else input_rows(self.kernel, flows[0, self.version.cr0]),
            frame_bytes=self.frame_bytes,
            weight=_weight(flows.values()),
            steps=_steps(flows.values()),
            has_atomics=has_atomics(flows.values()),
            may_go_in_step=self._may_go_in_step(flows),
        )

    def _may_go_in_step(self, flows: dict[tuple[int, int], Flow]) -> bool:
        if self.flat or self.has_calls or self.version.saving:
            return False
        if not self.version.runs(Pass.BARRIERS):
            return False
        return goes_in_step(self.kernel, flows[0, self.version.cr0])

    def _looked_at(self) -> dict[tuple[int, int], Flow]:
        version = self.version
        codes = self.codes or [
            UnitCode(
                self.kernel,
                unit,
                pairs=not version.saving,
                messages=not version.looks_inside,
                off=version.off,
            )
            for unit in self.kernel.units
        ]
        flows = explore(self.kernel, codes, version.cr0)
        self.parts = {
            (flow.code.unit.number, step.pc): step.parts
            for flow in flows.values()
            for node in flow.nodes.values()
            for step in node.block.steps
            if step.parts
        }
        self._look_at(flows)
        constants = self.version.runs(Pass.CONSTANTS)
        if constants and not self.flat and not self.version.watched:
            for flow in flows.values():
                full = flow.start[0] in full_entries(self, flow)
                know_shapes(flow, full=full, shares=self.has_calls)
        return flows

    def _look_at(self, flows: dict[tuple[int, int], Flow]) -> None:
        """Find out what the whole kernel needs.

        Raises:
            UnsupportedError: its threads need stacks of their own, which this host does not have.
        """
        transfers = [node.block.transfer for flow in flows.values() for node in flow.nodes.values()]
        waits = [each for each in transfers if isinstance(each, Synchronization)]
        self.flat = any(self._needs_image(flow) for flow in flows.values())
        self.has_calls = len(flows) > 1
        self.has_barriers = bool(waits)
        self.has_host_turns = any(is_called_out(wait) for wait in waits)
        self.barriers = 0 if self.has_host_turns else _barriers(waits)
        self.counts_depth = self.has_calls or any(flow.recursive for flow in flows.values())
        self.frame_bytes = CALL_DEPTH * max(frame_bytes(flow) for flow in flows.values())
        needs = self.has_barriers or self.has_calls
        has_stacks = self.library.machine.stacks is not None
        if needs and not has_stacks:
            raise UnsupportedError(
                "jit: barriers and function calls need stacks of their own for threads, which "
                f"visim has for {_WITH_STACKS} only; use engine='interpreter'"
            )
        self.may_wait = needs or (has_stacks and may_spin(flows.values()))
        self.stacks = self.may_wait and self.version.payload is None

    def _needs_image(self, flow: Flow) -> bool:
        """Whether variables of a unit are overrun, or several are of file scope.

        What is found out of variables tells them apart by their indices, which these share.
        """
        grf = self.kernel.platform.grf_bytes
        blocks = {id(node.block): node.block for node in flow.nodes.values()}.values()
        places = [place for block in blocks for place in block.places]
        shared = {place.variable.name for place in places if place.variable.is_file_scope}
        return len(shared) > 1 or not all(fits_variable(place, grf) for place in places)


def _barriers(waits: Iterable[Synchronization]) -> int:
    """Return how many barriers threads may signal and wait for apart."""
    waits = list(waits)
    if any(isinstance(wait, NamedBarrierSignal | NamedBarrierWait) for wait in waits):
        return BARRIER_COUNT
    return int(any(isinstance(wait, BarrierSignal | BarrierWait) for wait in waits))


def _weight(flows: Iterable[Flow]) -> int:
    """Return about how many instructions a thread executes: loops turn some times."""
    flows = list(flows)
    steps = _steps(flows)
    return steps * _TURNS if any(flow.loops for flow in flows) else steps


def _steps(flows: Iterable[Flow]) -> int:
    """Return how many instructions there are."""
    return sum(len(node.block.steps) for flow in flows for node in flow.nodes.values())


def may_spin(flows: Iterable[Flow]) -> bool:
    """Whether a thread may wait in a loop for what another one writes."""
    flows = list(flows)
    if not any(flow.loops for flow in flows):
        return False
    own = {Space.SCRATCH, Space.ARGUMENT, Space.SHADOW}
    for flow in flows:
        for node in flow.nodes.values():
            for effect in (effect for step in node.block.steps for effect in step.effects):
                if isinstance(effect, Request):
                    return True
                if isinstance(effect, Load | LoadBlock | Atomic) and effect.space not in own:
                    return True
    return False


_HEAD = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""
