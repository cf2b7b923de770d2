"""The seam between a launch and an engine: what is to run, on what memory, and how it ended.

The unit of execution is a range of thread groups. A launch describes its groups by a `Dispatch`;
an engine prepares a kernel once and runs ranges of it. Knows no engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from visim.engine.observers import Observer
from visim.engine.provenance import PointerPlace, attributed
from visim.engine.taint import Reached, ShadowMemory
from visim.errors import Fault
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.machine.allocations import MemoryViolation
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces
from visim.records import record

CALL_DEPTH = 10_000
"""Calls that a thread may have open."""
TURN = 10_000
"""Instructions that a thread executes before others of its group have a turn."""


@dataclass(frozen=True, slots=True)
class ThreadStart:
    """How a hardware thread starts: register contents and the channels that are on.

    `registers` are (byte offset in the register image, bytes); all other bytes are zero.
    `mask` has bit i set when channel i is on. `scratch_base` is the address in scratch memory
    at which the thread's own part starts: what r0.5 says where programs add it, else 0.
    """

    registers: tuple[tuple[int, bytes], ...]
    mask: int
    scratch_base: int = 0


class Coordinate(NamedTuple):
    """Where a coordinate of a thread's group stands in the register image, little endian.

    `axis` says which one (0 for x). To it is added the one in y, times `y_scale`: fields of both
    are one register where threads make a space. `size` are the bytes: 4, or 2 for the low ones.
    """

    offset: int
    axis: int
    y_scale: int = 0
    size: int = 4


@record
class SharedStarts:
    """What the threads of all groups of a dispatch have in common.

    `starts` says how each thread of a group starts, but for the registers `common` that are the
    same in all of them, and for the group's coordinates, which stand at `places`. Dispatches of a
    kernel with the same `starts` have their `common` registers at the same places. Group number n
    has the coordinates `first` plus n split by `groups`, x fastest. `private` has a row of memory
    for each thread, which is zero when a thread starts. Its address stands as UQ in the registers
    at `private_places` and nowhere else, so that engines can put another one there for groups that
    run at the same time (None: they cannot).
    """

    starts: tuple[ThreadStart, ...]
    common: tuple[tuple[int, bytes], ...]
    places: tuple[Coordinate, ...]
    first: tuple[int, int, int]
    groups: tuple[int, int, int]
    private: NDArray[np.uint8] | None = None
    private_places: tuple[int, ...] | None = None


class Dispatch(Protocol):
    """The groups of a launch. Groups are numbered in dispatch order.

    `kept` is for an engine: what it wants to find when it runs the dispatch again, at first None.
    """

    kept: object

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        ...

    @property
    def slm_bytes(self) -> int:
        """Size of each group's shared local memory."""
        ...

    def threads(self, group: int) -> int:
        """Return how many hardware threads group `group` has."""
        ...

    def group_id(self, group: int) -> tuple[int, int, int]:
        """Return the coordinates of group `group`."""
        ...

    def start(self, group: int, thread: int) -> ThreadStart:
        """Return how thread `thread` of group `group` starts."""
        ...


# Calling `list[int]` takes ten times as long as a list, which small launches notice.


def _no_memory() -> list[NDArray[np.uint8]]:
    return []


def _no_forms() -> dict[str, int]:
    return {}


@dataclass(slots=True)
class Machine:
    """The memory that a launch's threads share.

    Each thread has `scratch_bytes` of scratch memory of its own. `implicit_arguments` is the
    ImplicitArgs structure of stack functions (None: nobody reads it); it is its own space, and
    also stands at `implicit_base` in scratch memory for programs that find it through r0.0.
    `private` is what an engine has added to `memory` as private memory of threads. `pointers` are
    those to flat memory that threads start with.
    """

    memory: Memory
    surfaces: Surfaces
    scratch_bytes: int = 0
    implicit_arguments: NDArray[np.uint8] | None = None
    implicit_base: int = 0x4000_0000
    private: list[NDArray[np.uint8]] = field(default_factory=_no_memory)
    pointers: Sequence[PointerPlace] = ()

    def attributed(
        self, kernel: LinkedKernel, unit: LinkedUnit, pc: int, violation: MemoryViolation
    ) -> MemoryViolation:
        """Return a refused access of an instruction with the memory that its address is of."""
        memory = self.memory.allocations, self.pointers
        return attributed(kernel, unit, pc, violation, memory)


@dataclass(slots=True)
class Exit:
    """How running a range of groups ended: `fault` is None when all of it finished.

    `executed` counts SIMD instructions, `forms` how often each instruction form ran (only when
    counting was asked for). `stopped` says where the run was when it had to stop
    (`RunOptions.stop`); its category is "cancelled". `reached` counts where inexact values decided
    something, by instruction (only with engines that track taint). `compile_s` are the seconds
    for which the run waited for its code; two exits are equal whatever that took.
    """

    groups: int = 0
    threads: int = 0
    executed: int = 0
    forms: dict[str, int] = field(default_factory=_no_forms)
    fault: Fault | None = None
    stopped: Fault | None = None
    reached: Counter[Reached] | None = None
    compile_s: float = field(default=0.0, compare=False)

    def add_work(self, found: Exit) -> None:
        """Add what the threads of other groups did; how many groups ended, and how, stays."""
        self.threads += found.threads
        self.executed += found.executed
        if found.reached is not None:
            self.reached = (self.reached or Counter()) + found.reached
        for form, count in found.forms.items():
            self.forms[form] = self.forms.get(form, 0) + count


class StopFlag(Protocol):
    """Tells a run to stop, from another thread (`threading.Event` is one)."""

    def is_set(self) -> bool:
        """Return whether the run has to stop."""
        ...


class Lookout(StopFlag):
    """A stop flag of somebody who may ask, while a run goes on, how far it is."""

    def is_set(self) -> bool:
        """Return whether the run has to stop."""
        return False

    def is_looking(self) -> bool:
        """Return whether it is to be told where threads are; engines ask where they look."""
        return False

    def found(self, place: Fault) -> None:
        """Hear where a thread is: the cancellation that it would end with."""

    def ran(self, groups: int, total: int) -> None:
        """Hear how many groups of a launch have ended."""

    def prepared(self, what: str, done: int, total: int) -> None:
        """Hear how far work before a launch is; 0 in total: nobody knows how much there is."""


@record
class RunOptions:
    """What a run may cost and in which order it goes.

    `budget` is the most instructions that a hardware thread may execute (None: no limit);
    `seed` 0 is dispatch order, any other one permutes the threads of each group. `stop` makes the
    run end soon after it is set, within threads too: at the latest at the next backward branch.
    `workers` is how many groups may run at once (None: one for each core); engines may use fewer.
    `checked` False lets an engine leave out the checks whether accesses are in range.
    `shadow` has the bytes of flat memory that hold inexact values, for engines that track taint.
    `observers` get the events that they want, from engines that report any.
    """

    budget: int | None = None
    seed: int = 0
    count_forms: bool = False
    stop: StopFlag | None = None
    workers: int | None = None
    checked: bool = True
    shadow: ShadowMemory | None = None
    observers: tuple[Observer, ...] = ()


class Executable(Protocol):
    """A kernel that an engine has prepared."""

    def again(self) -> Executable:
        """Return what runs the kernel while this does."""
        ...

    def run(
        self, groups: Sequence[int], dispatch: Dispatch, machine: Machine, options: RunOptions
    ) -> Exit:
        """Run the given groups in their order; a fault stops the run and is returned."""
        ...

    def expect(self, dispatch: Dispatch, machine: Machine, options: RunOptions) -> None:
        """Be told what will probably be run; engines with nothing to prepare do nothing.

        Nothing depends on it: what is wrong is raised when it is run.
        """
        ...


class Engine(Protocol):
    """A way to execute kernels."""

    name: str

    def prepare(self, kernel: LinkedKernel) -> Executable:
        """Return `kernel` ready to run; the result may be kept and used again."""
        ...
