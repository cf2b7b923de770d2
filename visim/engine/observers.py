"""What a launch tells those who watch it: the events, and which of them an observer wants.

An observer overrides the events that it needs; an engine emits only those, so that nobody pays
for what nobody watches. The way of a thread through its program comes as one compact list of basic
blocks, not as an event for each instruction. Knows no engine.

Follows DESIGN section 8 (observers).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from visim.errors import Fault
from visim.linker.program import LinkedKernel

EVENTS = ("group_begin", "thread_end", "fault")

_PC_BITS = 24


@dataclass(frozen=True, slots=True)
class GroupStart:
    """A thread group that begins: `group` are its coordinates, `threads` its hardware threads.

    `slm_bytes` is the size of its shared local memory.
    """

    kernel: LinkedKernel
    group: tuple[int, int, int]
    threads: int
    slm_bytes: int


@dataclass(frozen=True, slots=True)
class ThreadPath:
    """The way that thread number `thread` of its group took.

    `blocks` has an entry for each basic block in the order of execution; `block_place` tells what
    an entry stands for. Blocks end as those of the engine do: before a label, after a transfer of
    control or a synchronization.
    """

    group: tuple[int, int, int]
    thread: int
    blocks: array[int]


def block_entry(unit: int, start: int, end: int) -> int:
    """Return the entry of a path for a block: program counters `start` to `end` of a unit."""
    return unit << 2 * _PC_BITS | start << _PC_BITS | end


def block_place(entry: int) -> tuple[int, int, int]:
    """Return the unit's number and the program counters that an entry of a path stands for."""
    mask = (1 << _PC_BITS) - 1
    return entry >> 2 * _PC_BITS, entry >> _PC_BITS & mask, entry & mask


class Observer:
    """Watches launches; subclasses override the events that they want.

    Events of a launch come one after another, those of a group between its `group_begin` and the
    next one.
    """

    def group_begin(self, group: GroupStart) -> None:
        """A thread group begins."""

    def thread_end(self, path: ThreadPath) -> None:
        """A hardware thread has come to its end."""

    def fault(self, fault: Fault) -> None:
        """The run stops with a fault."""

    @property
    def wants(self) -> frozenset[str]:
        """The events that the class overrides."""
        return frozenset(
            name for name in EVENTS if getattr(type(self), name) is not getattr(Observer, name)
        )


class Observers:
    """Several observers as one: for each event those that want it, in their order."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        watching = tuple(observers)
        self.group_begin = tuple(o.group_begin for o in watching if "group_begin" in o.wants)
        self.thread_end = tuple(o.thread_end for o in watching if "thread_end" in o.wants)
        self.fault = tuple(o.fault for o in watching if "fault" in o.wants)


__all__ = [
    "EVENTS",
    "GroupStart",
    "Observer",
    "Observers",
    "ThreadPath",
    "block_entry",
    "block_place",
]
