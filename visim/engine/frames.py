"""The control state of a hardware thread in the interpreter: where it is, and its open calls."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from visim.engine.barriers import Ticket
from visim.engine.blocks import BlockTable
from visim.engine.plan import Step
from visim.linker.program import LinkedUnit
from visim.machine.memory import Space


@dataclass(slots=True)
class Frame:
    """What a call leaves behind: where to go on, with which channels, and the call mask inside.

    `called` are the channels that have not returned yet. `saved` are the bytes of the called
    function's variables as they were in its previous activation (none for a subroutine); the new
    activation starts with zeros, like every register that was never written.
    """

    table: BlockTable
    pc: int
    active: int
    waiting: dict[int, int]
    called: int
    callee: LinkedUnit | None = None
    saved: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """An instruction that reads the registers of a fused pair: where, when, and its writes."""

    pc: int
    ticket: Ticket
    step: Step


@dataclass(slots=True)
class Thread:
    """The control state of one hardware thread; its registers are in the image while it runs.

    `image` are its registers while it does not run. `waits` is what it waits for, `turn_ends` the
    number of executed instructions at which it lets others run. `exchange` is what it does when it
    has met the other thread of its fused pair. `path` are the blocks that it has executed,
    where somebody wants them.
    """

    number: int
    table: BlockTable
    active: int
    scratch: Space
    waiting: dict[int, int] = field(default_factory=dict[int, int])
    frames: list[Frame] = field(default_factory=list[Frame])
    pc: int = 0
    executed: int = 0
    turn_ends: int = 0
    image: NDArray[np.uint8] | None = None
    waits: Ticket | None = None
    exchange: Exchange | None = None
    path: array[int] = field(default_factory=lambda: array("I"))
    done: bool = False


__all__ = ["Exchange", "Frame", "Thread"]
