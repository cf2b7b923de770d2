"""What a launch tells those who watch it: the events, and which of them an observer wants.

An observer overrides the events that it needs; an engine emits only those, so that nobody pays
for what nobody watches. What happens often comes in one piece: the way of a thread through its
program as numbers of basic blocks, its memory accesses as an array of words. Knows no engine.

`Observer` is the class to derive from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from types import FunctionType
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from visim.engine.accesses import Accesses
from visim.errors import ArgumentError, Fault
from visim.linker.program import LinkedKernel

EVENTS = ("group_begin", "thread_end", "block_counts", "accesses", "fault")

ORDERED = frozenset({"group_begin", "thread_end", "accesses"})
"""Events that come in the order of execution: an engine that reports them has one worker."""


@dataclass(frozen=True, slots=True, repr=False)
class GroupStart:
    """A thread group that begins: `group` are its coordinates, `threads` its hardware threads.

    `slm_bytes` is the size of its shared local memory. `memory` is the flat memory of the launch:
    where each stretch begins, and its bytes, in the order of the arguments.
    """

    kernel: LinkedKernel
    group: tuple[int, int, int]
    threads: int
    slm_bytes: int
    memory: Sequence[tuple[int, int]] = ()

    def __repr__(self) -> str:
        return f"<GroupStart of {self.kernel.name}: group {self.group}, {self.threads} threads>"


class BlockPlace(NamedTuple):
    """A basic block: program counters `start` to `end` (excluded) of a unit of the program.

    Blocks end before a label, after a transfer of control, a synchronization or a write to %cr0.
    """

    unit: int
    start: int
    end: int


class BlockNumbers:
    """Gives basic blocks their numbers, in the order in which they are first met."""

    def __init__(self) -> None:
        self.places: list[BlockPlace] = []
        self._numbers: dict[BlockPlace, int] = {}

    def number(self, place: BlockPlace) -> int:
        """Return the number of a block."""
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self.places)
            self.places.append(place)
        return found


@dataclass(frozen=True, slots=True, repr=False)
class ThreadPath:
    """The way that thread number `thread` of its group took; going through it gives its blocks.

    `blocks` has an entry for each basic block in the order of execution: its number in `places`,
    which may grow while a kernel runs. Paths of one run can have different tables.
    """

    group: tuple[int, int, int]
    thread: int
    blocks: NDArray[np.uint32]
    places: Sequence[BlockPlace]

    def __repr__(self) -> str:
        return (
            f"<ThreadPath of thread {self.thread} in group {self.group}: {self.blocks.size} blocks>"
        )

    def __iter__(self) -> Iterator[BlockPlace]:
        numbers: list[int] = self.blocks.tolist()
        return (self.places[number] for number in numbers)


@dataclass(frozen=True, slots=True, repr=False)
class BlockCounts:
    """How often a range of groups executed each basic block, in all threads together.

    `counts` has an entry for each of `places`.
    """

    kernel: LinkedKernel
    places: Sequence[BlockPlace]
    counts: NDArray[np.uint64]

    def __repr__(self) -> str:
        return f"<BlockCounts of {self.kernel.name}: {len(self.places)} blocks>"

    @property
    def by_place(self) -> dict[BlockPlace, int]:
        """The blocks that were executed, and how often."""
        pairs = zip(self.places, self.counts.tolist(), strict=True)
        return {place: count for place, count in pairs if count}


class Observer:
    """Watches launches; subclasses override the events that they want.

    Events of a launch come one after another, those of a group between its `group_begin` and the
    next one. The threads of a group take turns; what one of them does in a turn is reported when
    it has ended, in the order of the turns. Arrays belong to the observer.

    One with `watches_only` gets of `accesses` what `Watch` effects tell, and nothing else; if these
    say their groups, and it wants no other event, they may come in any order between threads.
    One that `sees_prefetches` gets among its accesses what prefetches ask for, as sites of kind
    "watch" (`visim.engine.prefetches`); they are no accesses of the program.
    """

    watches_only: ClassVar[bool] = False
    sees_prefetches: ClassVar[bool] = False

    def choice(self, groups: int, row: int) -> Sequence[range] | None:
        """Return which groups are watched, None for all: the others run as if nobody watched.

        A launch with no other observer asks when its first group has ended, which is watched in
        any case. Launches that print, or whose groups are shuffled or are not all alike, do not
        ask.

        Args:
            groups: how many groups there are, numbered in the order in which they run.
            row: how many of them are in a row.

        Returns:
            Ranges in order that have nothing in common.
        """
        return None

    def __init_subclass__(cls) -> None:
        """Refuse methods that look like events and are none: nothing would ever call them."""
        super().__init_subclass__()
        for name, member in vars(cls).items():
            if name not in EVENTS and _looks_like_event(name, member):
                raise ArgumentError(
                    f"{cls.__name__}.{name}: there is no such event; there are: {', '.join(EVENTS)}"
                )

    def group_begin(self, group: GroupStart) -> None:
        """A thread group begins."""

    def thread_end(self, path: ThreadPath) -> None:
        """A hardware thread has come to its end."""

    def block_counts(self, counts: BlockCounts) -> None:
        """A range of groups has ended, well or not; a launch has one range or more."""

    def accesses(self, accesses: Accesses) -> None:
        """A hardware thread has accessed memory, or met others; a turn has one event or more."""

    def fault(self, fault: Fault) -> None:
        """The run stops with a fault."""

    @property
    def wants(self) -> frozenset[str]:
        """The events that the class overrides."""
        return _overridden(type(self))


@cache
def _overridden(kind: type[Observer]) -> frozenset[str]:
    return frozenset(name for name in EVENTS if getattr(kind, name) is not getattr(Observer, name))


_ALIKE = 0.75
"""So alike is a name that is meant for an event: `group_end` is, `counts` is not."""
_BEGINNINGS = ("on_", "group_", "thread_")


def _looks_like_event(name: str, member: object) -> bool:
    """Whether a method has one parameter, and a name that is nearly that of an event."""
    if not isinstance(member, FunctionType) or name.startswith("_"):
        return False
    if member.__code__.co_argcount != 2:
        return False
    alike = any(SequenceMatcher(None, name, event).ratio() >= _ALIKE for event in EVENTS)
    return alike or name.startswith(_BEGINNINGS)


class Observers:
    """Several observers as one: for each event those that want it, in their order."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        watching = [(one, one.wants) for one in observers]
        self.wants = frozenset[str]().union(*(wants for _, wants in watching))
        self.group_begin = tuple(o.group_begin for o, wants in watching if "group_begin" in wants)
        self.thread_end = tuple(o.thread_end for o, wants in watching if "thread_end" in wants)
        self.block_counts = tuple(
            o.block_counts for o, wants in watching if "block_counts" in wants
        )
        self.accesses = tuple(o.accesses for o, wants in watching if "accesses" in wants)
        self.fault = tuple(o.fault for o, wants in watching if "fault" in wants)
        told = [o.watches_only for o, wants in watching if "accesses" in wants]
        self.watches_only = bool(told) and all(told)

    @property
    def is_ordered(self) -> bool:
        """Whether somebody wants events in the order of execution."""
        wanted = self.wants & ORDERED
        return bool(wanted) and not (
            self.watches_only and len(wanted) == 1 and "accesses" in wanted
        )


NOBODY = Observers(())
"""What stands for the observers of a launch that nobody watches."""

__all__ = [
    "EVENTS",
    "NOBODY",
    "ORDERED",
    "BlockCounts",
    "BlockNumbers",
    "BlockPlace",
    "GroupStart",
    "Observer",
    "Observers",
    "ThreadPath",
]
