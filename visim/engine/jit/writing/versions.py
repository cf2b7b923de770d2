"""What is asked of a kernel's module, and what is known of it, apart from the code that writes it.

Where a kernel comes from the cache of object code nobody loads that code, half of this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from visim.engine.accesses import AccessSite
from visim.engine.jit.analysis.affine import InputShape
from visim.engine.jit.analysis.inputs import InputRow
from visim.engine.jit.analysis.payload import Payload, Span
from visim.engine.jit.passes import Off, Pass
from visim.engine.jit.writing.sites import Sites
from visim.engine.observers import BlockPlace, Observers
from visim.linker.program import LinkedKernel

_MOST_IN_LOOP = 1000
"""So many instructions of a kernel that may wait stand in a loop over threads at most."""


PATHS, ACCESSES, WATCHES, GROUPS = "thread_end", "accesses", "watches", "groups"
"""What native code takes notes for: paths, and accesses, or those that `Watch` effects tell only;
with `GROUPS` two words with the coordinates of the group are in front of each."""


def noted(observers: Observers, kernel: LinkedKernel) -> tuple[str, ...]:
    """Return what observers want that native code of a kernel takes notes for."""
    found = sorted(observers.wants & {PATHS, ACCESSES})
    if not observers.watches_only:
        return tuple(found)
    if not observers.is_ordered:
        return (GROUPS, WATCHES) if kernel.tells else ()
    return tuple(sorted({*found, WATCHES} - {ACCESSES}))


class Way(Enum):
    """How the threads of a group run.

    One after another, each to its end; from barrier to barrier, one after another (`meeting`); each
    on a stack of its own.
    """

    ALONE = auto()
    IN_STEP = auto()
    STACKED = auto()


@dataclass(frozen=True, slots=True)
class Version:
    """What a compiled kernel is made for.

    `full` says that threads start with all channels, `low` that they start with so many, the lowest
    (0: with any), `budgeted` that they may execute only so many instructions, `counting` that
    executions of blocks are counted; `saving` that registers are written back to the image at the
    end; `inputs` are shapes that inputs have; `checked` says that messages look whether they are in
    range, `has_mask_registers` that the host's processor has registers for masks, `has_gathers`
    that it gathers lanes faster than it loads them one by one, `has_scatters` that it scatters them
    so, too, `finds_rows` that it finds by itself what follows a row, `vector_lanes` how many
    channels of 32 bits its registers hold (0: nobody asks), `permuted_bytes` how many bytes it
    permutes at once, `has_byte_products` that it adds products of four bytes each at once.
    `watched` are the events that observers want of native code. `payload` says what threads start
    with that a loop of the module runs (None: others start them), `filled` which registers others
    fill before threads start (None: any). `in_step` says that this loop runs threads from barrier
    to barrier. `scratch_bytes` is the size of each thread's scratch memory, where that begins with
    address 0 (None: the thread says where). `off` are the passes that are left out.
    """

    full: bool
    slm_bytes: int
    budgeted: bool = False
    counting: bool = False
    saving: bool = False
    cr0: int = 0
    inputs: tuple[InputShape, ...] = ()
    checked: bool = True
    has_mask_registers: bool = False
    has_gathers: bool = False
    has_scatters: bool = False
    finds_rows: bool = False
    vector_lanes: int = 0
    permuted_bytes: int = 0
    has_byte_products: bool = False
    watched: tuple[str, ...] = ()
    payload: Payload | None = None
    filled: tuple[Span, ...] | None = None
    low: int = 0
    in_step: bool = False
    scratch_bytes: int | None = None
    off: Off = ()

    def runs(self, one: Pass) -> bool:
        """Whether code is made with a pass."""
        return one.runs(self.off)

    @property
    def looks_inside(self) -> bool:
        """Whether somebody wants to know more of a thread than its memory and its count."""
        return self.budgeted or self.counting or self.saving or self.is_followed

    @property
    def is_followed(self) -> bool:
        """Whether observers want more than what watches tell in any order."""
        return bool(self.watched) and GROUPS not in self.watched


@dataclass(frozen=True, slots=True)
class Traits:
    """What all versions of a kernel have in common.

    `may_wait` says that threads may have to wait for others of their group, `has_host_turns` that
    Python decides which threads have a turn, `barriers` how many barriers a group has if threads
    signal and wait for any apart. `frame_bytes` is the memory that the open calls of subroutines
    need which call themselves. `rows` are what threads may find in inputs that has a shape,
    `weight` is about how many instructions a thread executes, `steps` how many there are;
    `has_atomics` says that some of them update memory that groups share, `may_go_in_step` that
    threads only wait where they meet all others of their group.
    """

    may_wait: bool
    has_host_turns: bool
    barriers: int
    has_calls: bool
    writes_image: bool
    rows: tuple[InputRow, ...]
    frame_bytes: int
    weight: int
    steps: int
    has_atomics: bool
    may_go_in_step: bool

    @property
    def has_loops(self) -> bool:
        """Whether how many instructions a thread executes is a guess."""
        return self.weight > self.steps

    def way(self, threads: int | None, *, looks_inside: bool) -> Way:
        """Return how the threads of groups of so many run; None: it is open how many they are.

        A thread that is alone waits for nobody, but its calls may nest deeply, and long code takes
        LLVM half as long again in a loop over threads, whose start is little of their time.
        """
        alone = threads == 1 and self.steps <= _MOST_IN_LOOP and not self.barriers
        if not self.has_calls and (alone or not self.may_wait):
            return Way.ALONE
        in_step = self.may_go_in_step and threads is not None and not looks_inside
        return Way.IN_STEP if in_step else Way.STACKED


@dataclass
class ModuleText:
    """The text of a module and what Python needs to run it.

    `entry` is the name of the function that runs the kernel, for one thread or for groups of them;
    `places` are the blocks by number, `forms` what one execution of each counts, `watched` the
    sites by their numbers in logs. `alike_once` says that what all threads start with alike is read
    from the registers of the first one only; `firsts` are the places and sizes of first elements of
    rows in which the threads of a group differ. Threads that go in step have `frame_bytes` each.
    """

    text: str
    entry: str
    sites: Sites
    places: list[BlockPlace]
    forms: list[tuple[str, ...]]
    watched: list[AccessSite]
    alike_once: bool
    firsts: tuple[tuple[int, int], ...]
    frame_bytes: int
