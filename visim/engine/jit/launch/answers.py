"""What native code asks its host for: accesses out of the ordinary, call-outs, whether to go on.

Accesses go to the reference memory, whose refusals become the same faults as the interpreter's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import SURFACE_SHIFT, WATCH, AccessSite
from visim.engine.barriers import BarrierMisuse, Barriers
from visim.engine.base import Dispatch, Lookout, Machine, SharedStarts
from visim.engine.context import Context
from visim.engine.faults import Stop, fault_at, memory_fault
from visim.engine.jit.analysis.blocks import MemoryMessage
from visim.engine.jit.analysis.callouts import WAIT, CallOut
from visim.engine.jit.launch.endings import Endings
from visim.engine.jit.launch.hosting import FusedApart, Host, Meetings
from visim.engine.jit.launch.kept import Compiled
from visim.engine.jit.launch.records import ThreadRecord
from visim.engine.jit.launch.tables import Contents
from visim.engine.jit.launch.watching import Watcher
from visim.engine.jit.layout import DRAIN, EXCHANGE_DATA, GROUP_BEGINS, POLL
from visim.engine.jit.writing.sites import SiteInfo
from visim.errors import Fault, InternalError
from visim.linker.program import LinkedKernel
from visim.machine.allocations import Allocation, MemoryViolation
from visim.machine.memory import Space
from visim.machine.surfaces import SharedLocalMemory, Window
from visim.sem.effects import Atomic, Load, LoadBlock, Message, Store, StoreBlock, Within, Yield
from visim.sem.effects import Space as SpaceKind

_IMPLICIT = "implicit arguments"
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p
)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Target:
    """What a worker is aimed at: a launch's groups and memory, and private memory of its own.

    The launch keeps it, and workers refer to it weakly: it goes with the launch, and with it all
    that they have of the launch's memory. `shared` is None where Python starts the threads, else
    `common` are the registers that all threads start with alike: their places in the image, and
    their bytes. `shown` is what tables have of that memory; `is_plain` says that there is nothing
    beside them to be shown, neither images nor implicit arguments. `host` does call-outs on that
    memory, once there has been one, through an exchange area.
    """

    dispatch: Dispatch
    shared: SharedStarts | None
    machine: Machine
    private: NDArray[np.uint8] | None
    shown: Contents
    common: Sequence[tuple[slice, bytes]] = ()
    host: tuple[NDArray[np.uint8], Host] | None = None
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        machine = self.machine
        self.is_plain = not machine.surfaces.images and machine.implicit_arguments is None

    @property
    def arguments(self) -> Space | None:
        """The implicit arguments as a space of their own."""
        data = self.machine.implicit_arguments
        return None if data is None else Window("flat", [Allocation(_IMPLICIT, data, False, 0)])


def alive(target: ref[Target]) -> Target:
    """Return what a worker is aimed at while its launch runs."""
    found = target()
    if found is None:
        raise InternalError("a worker runs for a launch that is gone")
    return found


@dataclass(slots=True)
class Aim:
    """What the workers of a team are aimed at: a target for each of them, which a launch keeps."""

    targets: Sequence[ref[Target]]


@dataclass
class Halt:
    """Whether the workers of a run have to stop soon, whatever the launch's options say."""

    wanted: bool = False


class Stoppable(Protocol):
    """A run that can be told to stop, and says whether it has to, and how its barriers stand."""

    halt: Halt

    @property
    def target(self) -> Target:
        """What the worker is aimed at."""
        ...

    @property
    def is_stopped(self) -> bool:
        """Whether the run has to stop."""
        ...

    @property
    def lookout(self) -> Lookout | None:
        """Who may ask where threads are."""
        ...

    def kept_barriers(self) -> Barriers | None:
        """Return the barriers of the group at hand, if native code keeps them."""
        ...


class Answers:
    """The host's side of one worker.

    `refusal` is the fault that was answered last, `failure` an exception that has to be raised
    again when native code has returned.

    Args:
        kernel: the program.
        slm: the shared local memory of the worker's groups.
        exchange: the exchange area.
        run: tells whether the run has to stop; made to when an exception has to be raised.
        watcher: reports to observers.
    """

    def __init__(
        self,
        kernel: LinkedKernel,
        slm: SharedLocalMemory,
        exchange: NDArray[np.uint8],
        run: Stoppable,
        watcher: Watcher,
    ) -> None:
        self._kernel = kernel
        self._slm = slm
        self._run = run
        self._watcher = watcher
        self._endings = Endings(kernel)
        self.by_address: dict[int, ThreadRecord] = {}
        self.code: Compiled | None = None
        self.refusal: Fault | None = None
        self.failure: BaseException | None = None
        self.callback = _CALLBACK(self.answer)
        self._exchange = exchange
        self.meet(1)

    @property
    def address(self) -> int:
        """Where native code finds the host."""
        return ctypes.cast(self.callback, ctypes.c_void_p).value or 0

    def use(self, exchange: NDArray[np.uint8]) -> None:
        """Take an area through which values are exchanged."""
        self._exchange = exchange

    @property
    def _host(self) -> Host:
        """What does call-outs on the memory of the launch."""
        target = self._run.target
        # What did its call-outs before may have the exchange area of another worker.
        if target.host is None or target.host[0] is not self._exchange:
            context = Context(np.zeros(0, np.uint8), np.zeros(0, np.bool_))
            context.flat, context.surfaces = target.machine.memory, target.machine.surfaces
            context.slm, context.arguments = self._slm, target.arguments
            target.host = self._exchange, Host(self._kernel, self._exchange, context)
        return target.host[1]

    def meet(self, threads: int) -> None:
        """Begin a group of so many threads."""
        self.group_threads = threads
        named = self._kernel.platform.has_named_barriers
        self.meetings = Meetings(threads, has_named=named)

    def is_ready(self, thread: ThreadRecord) -> bool:
        """Whether what a thread waits for is over."""
        return thread.waits is None or self.meetings.barriers.is_over(thread.waits)

    def answer(self, site: int, mask: int, surface: int, thread: int) -> int:
        """Do what native code asks for; return 1 when it is refused, `WAIT` to let others run."""
        record = self.by_address[thread]
        if self.failure is not None:
            return 1
        try:
            if site >> 63:
                return self._serve(site - 2**64, mask, record)
            found = self._site(site)
            if isinstance(found, CallOut):
                return self._host_call(found, surface, record)
            return self._perform(found, mask, surface, record)
        except BaseException as error:
            self.failure = error
            self._run.halt.wanted = True
            self.refusal = self._endings.cancelled(record)
            return 1
        return 0

    def _site(self, number: int) -> SiteInfo | CallOut:
        if self.code is None:
            raise InternalError("native code asks before it is known")
        return self.code.site(number)

    def _serve(self, what: int, group: int, record: ThreadRecord) -> int:
        if what == POLL:
            return self._poll(record)
        if what == DRAIN:
            self._watcher.drain(record)
        elif what == GROUP_BEGINS:
            self._watcher.next_group(group)
        else:
            self._watcher.next_turn()
        return 0

    def _poll(self, record: ThreadRecord) -> int:
        """Look whether the run has to stop; the host's signals are noticed here, too."""
        if not self._run.is_stopped:
            lookout = self._run.lookout
            if lookout is not None and lookout.is_looking():
                lookout.found(self._endings.cancelled(record))
            return 0
        self.refusal = self._endings.cancelled(record)
        return 1

    def _host_call(self, site: CallOut, control: int, record: ThreadRecord) -> int:
        """Do a call-out.

        Return 0 if all is well, `WAIT` if the thread has to wait, 1 for a fault.
        """
        effect = site.effect
        if effect is None or isinstance(effect, Message):
            if getattr(effect, "space", None) is SpaceKind.SCRATCH:
                self._host.context.scratch = self._scratch(record)
            try:
                self._host.run(site, control)
            except MemoryViolation as violation:
                return self._refuse(site.unit, site.pc, record, violation)
            return 0
        try:
            views = self._host.views(site)
            kept = self._run.kept_barriers()
            if kept is not None:
                # Native code asks why a synchronization is undefined.
                kept.perform(record.number, effect, [int(view[0]) for view in views])
                raise InternalError("native code refuses a synchronization that is well")
            record.waits = self.meetings.perform(record.number, effect, site, views)
        except (BarrierMisuse, FusedApart) as misuse:
            code = "fused-apart" if isinstance(misuse, FusedApart) else "barrier-misuse"
            instruction = self._kernel.units[site.unit].body[site.pc]
            stop = Stop.undefined(code, str(misuse))
            self.refusal = fault_at(instruction, record.number, stop)
            return 1
        if isinstance(effect, Yield):
            return WAIT
        alone = self.group_threads == 1 and self.is_ready(record)
        return 0 if record.waits is None or alone else WAIT

    def _perform(self, site: SiteInfo, mask: int, surface: int, thread: ThreadRecord) -> int:
        """Do a message to memory, part by part; return 1 for a fault, or 0."""
        lanes = _lanes_of(site.effect) // len(site.parts)
        for number, pc in enumerate(site.parts):
            part = slice(number * lanes, (number + 1) * lanes)
            try:
                self._move(site, part, mask, surface, thread)
            except MemoryViolation as violation:
                return self._refuse(site.unit, pc, thread, violation)
        return 0

    def _refuse(self, unit: int, pc: int, thread: ThreadRecord, violation: MemoryViolation) -> int:
        """Note the fault of a message of a unit; return 1."""
        found, machine = self._kernel.units[unit], self._run.target.machine
        refused = machine.attributed(self._kernel, found, pc, violation)
        self.refusal = memory_fault(found.body[pc], thread.number, refused)
        return 1

    def _move(
        self, site: SiteInfo, part: slice, mask: int, surface: int, thread: ThreadRecord
    ) -> None:
        """Do some lanes of a message; its operands and answers are in the exchange area."""
        effect, data = site.effect, self._exchange[EXCHANGE_DATA:]
        if effect.within is not None:
            mask = self._inside(site, effect.within, mask, surface, thread)
        space = self._space(effect.space, thread)
        index = (surface,) if effect.space is SpaceKind.SURFACE else ()
        if isinstance(effect, LoadBlock | StoreBlock):
            address = int(self._exchange[:8].view(np.uint64)[0])
            if isinstance(effect, LoadBlock):
                size = effect.count * effect.type.bytes
                data[:size] = space.load_block(*index, address, size) if mask else 0
            elif mask:
                size = effect.value.lanes * effect.value.type.bytes
                space.store_block(*index, address, data[:size].copy())
            return
        lanes = effect.addresses.lanes
        given = self._exchange[: 8 * lanes].view(np.uint64)
        addresses = given.astype(effect.addresses.type.numpy)[part]
        on = np.array([mask >> lane & 1 for lane in range(lanes)], np.bool_)[part]
        match effect:
            case Load():
                dtype = np.dtype(effect.type.numpy)
                found = space.load(*index, addresses, on, dtype, effect.components)
                size = lanes * effect.components * dtype.itemsize
                columns = data[:size].view(dtype).reshape(effect.components, lanes)
                columns[:, part] = found.reshape(-1, effect.components).T
            case Store():
                columns = [
                    _vector(data, position, value.type.numpy, lanes)[part]
                    for position, value in enumerate(effect.values)
                ]
                values = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
                space.store(*index, addresses, on, values, len(columns))
            case Atomic():
                dtype = np.dtype(effect.type.numpy)
                operands = [
                    _vector(data, position, operand.type.numpy, lanes)[part]
                    for position, operand in enumerate(effect.operands)
                ]
                found = self._atomic(space, index, effect, addresses, on, dtype, operands)
                _put(data, found)

    def _inside(
        self, site: SiteInfo, within: Within, mask: int, surface: int, thread: ThreadRecord
    ) -> int:
        """Return the lanes that stay where they have to; observers are told of the others."""
        lanes, effect = _lanes_of(site.effect), site.effect
        places = self._exchange[: 8 * lanes].view(np.uint64)
        start, size = self._reached(within, surface)
        offsets = [(int(place) - start) % (1 << 64) for place in places]
        inside = sum(
            1 << lane for lane, offset in enumerate(offsets) if offset + within.needed <= size
        )
        outside = mask & ~inside
        if outside:
            values = places
            if effect.surface is not None:
                values = places | np.uint64(surface << SURFACE_SHIFT)
            watch = AccessSite(site.unit, site.pc, WATCH, lanes=lanes, operation=within.name)
            group = None if within.group is None else thread.group
            self._watcher.tell(thread, watch, outside, values, group)
        return mask & inside

    def _reached(self, within: Within, surface: int) -> tuple[int, int]:
        """Return where the memory starts in which an access has to stay, and its bytes."""
        machine = self._run.target.machine
        if within.extent is None:
            known = surface in machine.surfaces
            return 0, machine.surfaces[surface].size if known else 1 << 64
        entry = machine.memory.load_block(within.extent, 24).view(np.uint64)
        return int(entry[0]), int(entry[1])

    @staticmethod
    def _atomic(
        space: Any,
        index: tuple[int, ...],
        effect: Atomic,
        addresses: NDArray[Any],
        on: NDArray[np.bool_],
        dtype: np.dtype[Any],
        operands: list[NDArray[Any]],
    ) -> NDArray[Any]:
        if index:
            return space.atomic(*index, effect.operation, addresses, on, dtype, *operands)
        return space.atomic(effect.operation, addresses, on, dtype, *operands)

    def _space(self, kind: SpaceKind, thread: ThreadRecord) -> Any:
        match kind:
            case SpaceKind.FLAT | SpaceKind.SHADOW:
                return self._run.target.machine.memory
            case SpaceKind.SURFACE:
                return self._run.target.machine.surfaces
            case SpaceKind.SLM:
                return self._slm
            case SpaceKind.SCRATCH:
                return self._scratch(thread)
            case SpaceKind.ARGUMENT:
                arguments = self._run.target.arguments
                if arguments is None:
                    raise InternalError("implicit arguments are read, but the launch has none")
                return arguments

    def _scratch(self, thread: ThreadRecord) -> Space:
        machine = self._run.target.machine
        parts = [Allocation("scratch", thread.scratch, True, thread.scratch_base)]
        if machine.implicit_arguments is not None:
            data = machine.implicit_arguments
            parts.append(Allocation(_IMPLICIT, data, False, machine.implicit_base))
        return Window("scratch", parts)


def _lanes_of(effect: MemoryMessage) -> int:
    """Return how many addresses a message has."""
    return 1 if isinstance(effect, LoadBlock | StoreBlock) else effect.addresses.lanes


def _vector(data: NDArray[np.uint8], position: int, dtype: str, lanes: int) -> NDArray[Any]:
    size = np.dtype(dtype).itemsize * lanes
    return data[position * size : (position + 1) * size].copy().view(dtype)


def _put(data: NDArray[np.uint8], values: NDArray[Any]) -> None:
    octets = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    data[: octets.size] = octets
