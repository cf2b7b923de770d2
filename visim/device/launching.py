"""Running kernels: from a walker's registers and memory to a launch on an engine.

Owns the payload as the driver laid it out, and what is kept of each kernel between launches. The
driver decides what arguments are; nothing of them is known here but bytes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.binary.zebin import ZeKernel
from visim.binary.zeinfo import PayloadArgument
from visim.device.address_space import AddressSpace
from visim.device.arguments import local_extents, named_fault, named_memory, pointers, sizes
from visim.device.bindless import numbered
from visim.device.finding import Found, KernelFinder
from visim.device.rebuilding import PayloadMoves, rebuilt
from visim.device.recording import Launched, Recorded, Recorder
from visim.device.reports import LaunchRecord, ProgramReport
from visim.device.streamer import Bases, QueueError
from visim.device.surface_states import bound_surfaces
from visim.device.walker import ComputeWalk, Triple
from visim.device.watching import Findings, KernelWatch, watch_kernel
from visim.engine.base import Executable, Exit, Machine, RunOptions
from visim.errors import InputError, UnsupportedError, VisimError
from visim.linker.program import LinkedKernel
from visim.machine.allocations import Allocation, aligned_zeros
from visim.machine.memory import Memory
from visim.runtime.building.loading import Contents, LoadedKernel, complete, examine_data
from visim.runtime.launching.choice import RepeatedLaunches, weight_of
from visim.runtime.launching.launch import make_engine
from visim.runtime.launching.running import ExecutablePool
from visim.runtime.launching.sources import with_source_line
from visim.runtime.payload.abi import IMPLICIT_BASE
from visim.runtime.payload.geometry import Walk
from visim.runtime.payload.layout import OfThreads, PayloadLayout, WalkDispatch
from visim.runtime.payload.threads import LaunchPlan, Part
from visim.runtime.sourcetexts import SourceTexts
from visim.sanitize.findings import Finding
from visim.target import Platform

_COMMON_ALIGNMENT = 32
"""Local ids in a walker's data begin at a multiple of this many bytes, on all devices."""
_IMPLICIT_BUFFER, _IMPLICIT_ALIGNMENT = "implicit_arg_buffer", 64
_HOW_TO_GET_LINES = (
    "\n   = help: visim exec --sanitize bounds compiles it with lines, so that its source is named"
)


@dataclass(slots=True)
class Prepared:
    """A kernel that was launched before."""

    found: Found
    kernel: LoadedKernel
    metadata: ZeKernel
    linked: LinkedKernel
    layout: PayloadLayout
    launches: RepeatedLaunches
    moves: PayloadMoves | None
    common_bytes: int
    """How much of the payload all threads share; the local ids of each follow in the data."""
    watch: KernelWatch | None = None
    code: bytes = b""
    """The binary that the kernel is from, with vISA text."""
    executables: dict[str, ExecutablePool] = field(default_factory=dict[str, ExecutablePool])


@dataclass(frozen=True, slots=True)
class Around:
    """One launch beside its threads: the walker, its groups, and what all threads share."""

    walk: ComputeWalk
    groups: Triple
    payload: bytes


class Kernels:
    """All kernels of a VM.

    Args:
        space: the VM's memory.
        finder: finds kernels.
        platform: the device family whose vISA they are.
        engine: the name of the engine to use, None for the one that is expected to be faster.
        report: is told of each launch.
        sanitizers: the names of those that watch all kernels.
        findings: is told what they find.
        recorder: writes launches down, None if nobody wants it.
        texts: has the sources of kernels, None for no source.
    """

    def __init__(
        self,
        space: AddressSpace,
        finder: KernelFinder,
        platform: Platform,
        engine: str | None,
        report: ProgramReport,
        sanitizers: tuple[str, ...],
        findings: Findings,
        recorder: Recorder | None = None,
        texts: SourceTexts | None = None,
    ) -> None:
        self._space = space
        self._finder = finder
        self._platform = platform
        self._engine = engine
        self._report = report
        self._sanitizers = sanitizers
        self._findings = findings
        self._recorder = recorder
        self._texts = texts or SourceTexts()
        self._prepared: dict[int, Prepared] = {}
        self._contents: dict[int, Contents] = {}

    def run(self, walk: ComputeWalk, groups: Triple, bases: Bases) -> None:
        """Run all threads of a walk.

        Raises:
            QueueError: the kernel cannot be run, or has faulted.
        """
        found = self._finder.find(bases.instruction + walk.kernel)
        if found is None:
            raise QueueError(
                f"the kernel at 0x{bases.instruction + walk.kernel:x} is machine code without a "
                "binary in the program's memory, so there is no vISA to run. Libraries that write "
                "machine code of their own, without Intel's compiler, do so: oneMKL's matrix "
                "products and oneDNN among them"
            )
        try:
            prepared = self._prepare(found)
            self._launch(prepared, walk, groups, bases)
        except VisimError as error:
            raise QueueError(f"kernel {found.section.name!r}: {error}") from error

    def _prepare(self, found: Found) -> Prepared:
        known = self._prepared.get(id(found.section))
        if known is not None:
            return known
        name, moves = found.section.name, None
        contents = self._contents_of(found)
        kernel = next((one for one in contents.kernels if one.unit.name == name), None)
        if kernel is None or kernel.metadata is None:
            raise QueueError(f"kernel {name!r} is not in its binary with vISA")
        if not found.binary.has_visa:
            moves = PayloadMoves(found.info, kernel.metadata.payload, name)
        linked = contents.link(kernel, self._platform)
        symbols = {**linked.symbols, **found.symbols(self._space)}
        if symbols != linked.symbols:
            linked = replace(linked, symbols=symbols)
        layout, watch = PayloadLayout(kernel.metadata, linked), None
        if self._sanitizers:
            watch = watch_kernel(
                self._sanitizers, kernel.metadata, linked, layout, contents.raw, self._texts
            )
            layout = watch.layout
        made = Prepared(
            found,
            kernel,
            kernel.metadata,
            linked,
            layout,
            RepeatedLaunches(weight_of(linked)),
            moves,
            common_bytes(found.info.payload_arguments),
            watch,
            contents.raw or b"",
        )
        self._prepared[id(found.section)] = made
        return made

    def _contents_of(self, found: Found) -> Contents:
        """Return the binary with vISA text, compiled again if it has none."""
        key = id(found.binary)
        if key not in self._contents:
            data = found.binary.data
            if not found.binary.has_visa:
                data = rebuilt(data, found.section.name, self._platform)
            contents, findings = examine_data(data, "<program>", self._platform)
            if contents is None or findings.errors:
                raise InputError(findings)
            self._contents[key] = complete(contents, lambda: contents)
        return self._contents[key]

    def _launch(self, prepared: Prepared, walk: ComputeWalk, groups: Triple, bases: Bases) -> None:
        place = bases.indirect + walk.indirect
        implicit = implicit_arguments(self._space, prepared.metadata, walk, place)
        place += 0 if implicit is None else _aligned(implicit.size)
        given = walk.inline + self._space.read(place, walk.indirect_bytes)
        payload, ids = self._payload(prepared, walk, given)
        payload, states = numbered(prepared.metadata, payload)
        private = self._private(prepared, walk)
        strings = [
            Allocation("texts of the program", text, False, place)
            for place, text in self._finder.strings(prepared.found)
        ]
        dispatch = WalkDispatch(
            prepared.layout,
            Walk(walk.first_group, groups, walk.local_size),
            payload,
            slm_bytes=walk.slm_bytes,
            implicit=0 if implicit is None else IMPLICIT_BASE,
            private=private,
            of_threads=ids,
        )
        around = Around(walk, groups, payload)
        with self._space.for_kernels() as memory:
            own = memory
            if prepared.watch is not None:
                own = named_memory(memory, pointers(self._space, prepared.metadata, payload))
            if private is not None:
                own = own if own is not memory else Memory(memory.allocations)
                own.add(private, "private memory")
            if strings:
                own = Memory([*own.allocations, *strings])
            with bound_surfaces(self._space, prepared.metadata, walk, bases, states) as surfaces:
                scratch = prepared.layout.scratch_bytes
                machine = Machine(own, surfaces, scratch, implicit, IMPLICIT_BASE)
                recorded = self._record(prepared, around)
                self._execute(prepared, dispatch, machine, around)
        if self._recorder is not None and recorded is not None:
            self._recorder.after(recorded)

    def _record(self, prepared: Prepared, around: Around) -> Recorded | None:
        """Write down what is about to run, if that is wanted and possible."""
        if self._recorder is None:
            return None
        kernel, walk, payload = prepared.metadata, around.walk, around.payload
        geometry = sizes(kernel, payload, walk, around.groups)
        launched = Launched(
            *(kernel, prepared.code, payload, walk.slm_bytes, geometry, self._platform.name)
        )
        return self._recorder.before(launched)

    def _payload(
        self, prepared: Prepared, walk: ComputeWalk, payload: bytes
    ) -> tuple[bytes, OfThreads | None]:
        """Return what all threads share, and their local ids if the driver has chosen them."""
        layout = prepared.layout
        if layout.simd_size != walk.simd_size and walk.ids is None and layout.local_id_bytes:
            raise QueueError(
                f"kernel {prepared.metadata.name!r}: compiled again it has {layout.simd_size} "
                f"channels, and local ids are given for {walk.simd_size}"
            )
        own = None
        if walk.ids is None and layout.local_id_bytes:
            size, start = layout.local_id_bytes, prepared.common_bytes
            if start + size * walk.threads > len(payload):
                raise QueueError(
                    f"kernel {prepared.metadata.name!r}: local ids of {walk.threads} threads end "
                    f"behind the {len(payload)} bytes of the walker's data"
                )
            rows = [payload[start + size * t : start + size * (t + 1)] for t in range(walk.threads)]
            own = layout.of_given(rows, _masks(walk))
            payload = payload[:start]
        elif walk.ids is None:
            own = layout.of_given([b""] * walk.threads, _masks(walk))
        if prepared.moves is not None:
            payload = prepared.moves.apply(payload)
        return payload, own

    def _private(self, prepared: Prepared, walk: ComputeWalk) -> np.ndarray | None:
        size = prepared.layout.private_bytes
        if not size:
            return None
        return aligned_zeros(size * walk.threads).reshape(walk.threads, size)

    def _execute(
        self, prepared: Prepared, dispatch: WalkDispatch, machine: Machine, around: Around
    ) -> None:
        plan = LaunchPlan({}, (Part(dispatch, machine),), machine.surfaces)
        began = time.perf_counter()
        name, pool = self._pool(prepared, plan)
        compiled = time.perf_counter() - began
        executable = pool.borrow()
        try:
            if prepared.watch is None:
                groups = range(dispatch.group_count)
                done = executable.run(groups, dispatch, machine, RunOptions())
                found = ()
            else:
                done, found = self._watched(
                    prepared.watch, prepared.metadata, executable, dispatch, machine, around
                )
        finally:
            pool.give_back(executable)
        wall = time.perf_counter() - began - compiled - done.compile_s
        told = self._findings.tell(prepared.metadata.name, found) if found else []
        self._note(prepared, name, done, (wall, compiled + done.compile_s), told, around)

    def _watched(
        self,
        watch: KernelWatch,
        kernel: ZeKernel,
        executable: Executable,
        dispatch: WalkDispatch,
        machine: Machine,
        around: Around,
    ) -> tuple[Exit, tuple[Finding, ...]]:
        walk, payload = around.walk, around.payload
        geometry = sizes(kernel, payload, walk, around.groups)
        extents = tuple(one.extent for one in pointers(self._space, kernel, payload))
        extents += local_extents(kernel, payload, walk.slm_bytes)
        named = {} if geometry is None else geometry.to_dict()
        return watch.run(executable, dispatch, machine, named, extents)

    def _pool(self, prepared: Prepared, plan: LaunchPlan) -> tuple[str, ExecutablePool]:
        """Return the engine of a launch, and the kernel as it has prepared it.

        Where no engine is named, the interpreter runs what the JIT refuses.
        """
        name = self._engine or prepared.launches.engine(plan)
        pool = prepared.executables.get(name)
        if pool is None:
            code = prepared.linked if prepared.watch is None else prepared.watch.code
            try:
                pool = ExecutablePool(make_engine(name).prepare(code))
            except UnsupportedError:
                if self._engine is not None or name == "interpreter":
                    raise
                prepared.launches.refuse_compiling()
                return self._pool(prepared, plan)
            prepared.executables[name] = pool
        return name, pool

    def _note(
        self,
        prepared: Prepared,
        engine: str,
        done: Exit,
        seconds: tuple[float, float],
        findings: list[dict[str, Any]],
        around: Around,
    ) -> None:
        fault = None
        if done.fault is not None:
            units = [one.unit for one in prepared.linked.units]
            given = pointers(self._space, prepared.metadata, around.payload)
            placed = with_source_line(done.fault, units, self._texts)
            fault = named_fault(placed, given).render()
            if placed.source_line is None and prepared.watch is None:
                fault += _HOW_TO_GET_LINES
        name = prepared.metadata.name
        record = LaunchRecord(name, engine, done.groups, done.threads, *seconds, fault, findings)
        self._report.add(record)
        if fault is not None:
            raise QueueError(fault)


def common_bytes(entries: Sequence[PayloadArgument]) -> int:
    """Return how much of a walker's data all threads share, inline data included."""
    end = max((entry.offset + entry.size for entry in entries), default=0)
    return -(-end // _COMMON_ALIGNMENT) * _COMMON_ALIGNMENT


def implicit_arguments(
    space: AddressSpace, kernel: ZeKernel, walk: ComputeWalk, place: int
) -> NDArray[np.uint8] | None:
    """Return the ImplicitArgs structure that stands before a walker's data, None without one.

    Drivers put it there for kernels that call functions by a stack and have no entry for it in
    their payload. Its first bytes are its size and its version, its fourth the channels.

    Raises:
        QueueError: what is there is no such structure.
    """
    is_told = any(entry.arg_type == _IMPLICIT_BUFFER for entry in kernel.payload)
    if not kernel.execution_env.has_stack_calls or is_told:
        return None
    size, _, _, channels = head = space.read(place, 4)
    if not size or channels != walk.simd_size:
        raise QueueError(
            f"kernel {kernel.name!r}: it calls functions by a stack, but no structure of implicit "
            f"arguments stands before its data ({head.hex()})"
        )
    return np.frombuffer(bytearray(space.read(place, size)), np.uint8)


def _aligned(size: int) -> int:
    return -(-size // _IMPLICIT_ALIGNMENT) * _IMPLICIT_ALIGNMENT


def _masks(walk: ComputeWalk) -> Sequence[int]:
    """Return the channels that are on in each thread of a group."""
    full = (1 << walk.simd_size) - 1
    return [full] * (walk.threads - 1) + [walk.last_mask & full]
