"""What is watched: bytes of memory that anybody writes, and variables of a thread that change.

Memory is watched by its accesses. A variable is watched by its value, channel by channel: what it
held when the channel was last on is compared with what it holds behind each instruction of its
thread, wherever the compiler has it then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from visim.binary.dwarf.scopes import SourceVariable
from visim.binary.dwarf.types import Kind, SourceType
from visim.debug.engine.memory import HOST, SLM, Access
from visim.debug.looking.expressions import Expression
from visim.debug.looking.pointed import NOWHERE
from visim.debug.looking.stopped import Focus, Looker
from visim.debug.looking.variables import typed
from visim.debug.looking.views import show_number
from visim.debug.naming.operations import Unplaced
from visim.debug.naming.values import REGISTERS, SourceValue, Spots
from visim.errors import ArgumentError
from visim.operands import General, PredicateVariable

_ELEMENT = re.compile(r"([A-Za-z_]\w*)\s*\[(.+)\]")
_SLM = re.compile(r"slm:(\d{1,9})(?:,(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of memory: a space, the first one's address, and how many."""

    space: str
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a thread, or a part of one.

    `depth` is how many functions have called that which has it. A variable of the source has the
    name of its function, and of it itself what debug data say; one of vISA has neither.
    """

    group: int
    thread: int
    depth: int
    expression: Expression
    function: str | None = None
    source: SourceVariable | None = None


class Conditional(Protocol):
    """What counts only where its condition holds, and how often it has been met."""

    condition: Expression | None
    ignore: int
    hits: int
    enabled: bool


def conditions(one: Conditional) -> str:
    """Return what a line about a breakpoint or a watchpoint says behind what it is."""
    condition = f" if {one.condition}" if one.condition is not None else ""
    hits = f", hit {one.hits} time{'s' * (one.hits != 1)}" if one.hits else ""
    more = f", ignores {one.ignore} more" if one.ignore else ""
    return f"{condition}{hits}{more}{'' if one.enabled else ', disabled'}"


@dataclass(slots=True)
class Watchpoint:
    """What is watched, which accesses count, and the condition on those who make them."""

    number: int
    name: str
    what: Memory | Variable
    kinds: frozenset[str]
    condition: Expression | None = None
    ignore: int = 0
    hits: int = 0
    enabled: bool = True

    def describe(self) -> str:
        """Return the watchpoint in one line."""
        how = "read or written" if "load" in self.kinds else "written"
        whose = ""
        if isinstance(self.what, Variable):
            whose = f" of thread {self.what.thread} in group {self.what.group}"
        return f"{self.number}: {self.name}{whose} is {how}{conditions(self)}"


# What users name


def watched(text: str, looker: Looker, focus: Focus | None) -> Memory | Variable:
    """Return what a user wants to watch.

    `out[1027]` and `out[8:16]` are elements of an argument, `out` all of it, `slm:64,4` bytes of
    local memory; everything else is a variable of the thread that is looked at, or a part of one
    of the source. What the source has in local memory is memory.

    Raises:
        ArgumentError: there is no such thing.
    """
    text = text.strip()
    element = _ELEMENT.fullmatch(text)
    array = looker.arguments.array(element[1] if element else text)
    if array is not None:
        return _elements(array, text, looker, focus)
    local = _SLM.fullmatch(text)
    if local is not None:
        return Memory(SLM, int(local[1]), int(local[2] or 4))
    if focus is None:
        raise ArgumentError(f"{text}: the launch has ended, no thread has variables now")
    return _variable(Expression(text), looker, focus)


def _variable(expression: Expression, looker: Looker, focus: Focus) -> Memory | Variable:
    root = expression.root
    if root is None:
        raise ArgumentError(
            f"watch {expression}: it is no variable, and no element of an argument; name one, or "
            "use it as a condition: watch out[7] if EXPR"
        )
    depth = len(looker.thread(focus).frames) - focus.frame
    source = looker.names(focus).variable(root)
    if source is not None and (source.is_local or _leads_on(expression, source)):
        return _memory(expression, looker, focus)
    if source is None:
        looker.place_of(root, focus)
        return Variable(focus.group, focus.thread, depth, expression)
    kind, function = source.type, looker.sourced.levels(focus)[focus.inlined].name
    expression.part_of(_value(kind, np.zeros((1, kind.size), np.uint8)), looker.names(focus).follow)
    return Variable(focus.group, focus.thread, depth, expression, function, source)


def _value(kind: SourceType, octets: NDArray[np.uint8]) -> SourceValue:
    """Return bytes as a value of a type that is nowhere."""
    known, spots = np.ones(kind.size, np.bool_), Spots.nowhere(len(octets), kind.size)
    return SourceValue(kind, octets, known, spots)


def _leads_on(expression: Expression, source: SourceVariable) -> bool:
    """Whether an expression names what a pointer points to, not the pointer."""
    is_pointer = source.type.kind is Kind.POINTER
    return expression.has_pointers or (is_pointer and expression.text != expression.root)


def _memory(expression: Expression, looker: Looker, focus: Focus) -> Memory:
    """Return the bytes in memory that a variable of the source has, or that a pointer leads to."""
    found = looker.located(expression, focus)
    lane = focus.lane if found is None or found[1] is None else found[1]
    spots = [] if found is None else found[0].spots.of(lane)
    if found is not None and found[0].is_lost(lane):
        raise ArgumentError(f"{expression}: {NOWHERE} in channel {lane}")
    if len(spots) != 1 or spots[0].space not in {HOST, SLM}:
        raise ArgumentError(f"{expression}: in channel {lane} it has no place in memory")
    return Memory(spots[0].space, spots[0].start, spots[0].size)


def _elements(array: NDArray[Any], text: str, looker: Looker, focus: Focus | None) -> Memory:
    """Return the bytes of an element of an argument, of several, or of all."""
    element = _ELEMENT.fullmatch(text)
    part = array if element is None else _part(array, element[2], text, looker, focus)
    start = int(part.ctypes.data)
    last = start + sum(
        (size - 1) * stride for size, stride in zip(part.shape, part.strides, strict=True)
    )
    return Memory(HOST, start, last - start + part.itemsize)


def _part(
    array: NDArray[Any], index: str, text: str, looker: Looker, focus: Focus | None
) -> NDArray[Any]:
    """Return an element, or several, as an array that shares their memory."""
    chosen: list[int | slice] = []
    for part in index.replace("][", ",").split(","):
        bounds = [
            None if not one.strip() else int(np.max(looker.evaluate(Expression(one), focus)))
            for one in part.split(":")
        ]
        if len(bounds) > 3:
            raise ArgumentError(f"{text}: a part of an array is begin:end")
        chosen.append(slice(*bounds) if len(bounds) > 1 else (bounds[0] or 0))
    whole = array.reshape(-1) if len(chosen) == 1 else array
    places = tuple(slice(n, n + 1) if isinstance(n, int) and n >= 0 else n for n in chosen)
    if len(places) > whole.ndim:
        raise ArgumentError(f"{text}: the array has {array.ndim} dimensions")
    found = whole[places]
    if not found.size:
        raise ArgumentError(f"{text}: there is no such element; the array has {array.shape}")
    return found


# Memory


def touching(what: Memory, kinds: frozenset[str], access: Access) -> NDArray[np.intp]:
    """Return the lanes of a message that access what is watched, in a way that counts."""
    if access.kind not in kinds or access.space != what.space:
        return access.lanes[:0]
    return access.lanes_touching(what.start, what.size)


# Variables


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a variable holds: bytes [channel, byte], which are known, and which channels count.

    `begins` says whether a value that was not known before is one that an instruction has made.
    """

    octets: NDArray[np.uint8]
    known: NDArray[np.bool_]
    on: NDArray[np.bool_]
    begins: bool
    show: Callable[[NDArray[np.uint8]], str]


@dataclass(frozen=True, slots=True)
class Change:
    """The channels in which a variable has changed, and what it held in them: text.

    `before` is None in a channel in which nothing was known of it.
    """

    channels: NDArray[np.intp]
    before: tuple[str | None, ...]
    now: tuple[str, ...]

    def text(self, channel: int) -> str:
        """Return the change in a channel."""
        place = int(np.argmax(self.channels == channel))
        before, now = self.before[place], self.now[place]
        change = now if before is None else f"{before} -> {now}"
        return f" ({change} in channel {self.channels[place]})"


_Held = tuple[NDArray[np.uint8], NDArray[np.bool_]]
"""What a variable held, as bytes [channel, byte], and which of them are known."""


@dataclass(slots=True)
class Follower:
    """Says when a variable of a thread changes.

    Args:
        what: the variable.
        looker: the launch.
    """

    what: Variable
    looker: Looker
    _held: _Held | None = field(default=None, repr=False)
    _quiet: NDArray[np.bool_] | None = field(default=None, repr=False)

    def begin(self) -> bool:
        """Take what the variable holds now.

        Returns:
            Whether that is known in all channels, so that nothing before matters.
        """
        self._held = self._quiet = None
        focus = self._focus()
        if focus is None:
            return False
        on = self.looker.lanes_on(focus)
        found = self._read(focus)
        self._quiet = ~on
        if found is None:
            return False
        self._held = found.octets.copy(), found.known & found.on[:, None]
        self._quiet = ~found.on
        return bool(found.on.all())

    def change(self) -> Change | None:
        """Return what has changed since this was last asked; None: nothing."""
        focus = self._focus()
        if focus is None:
            self._held = self._quiet = None
            return None
        found = self._read(focus)
        if found is None:
            return None
        held = self._held
        if held is None or held[0].shape != found.octets.shape:
            held = np.zeros_like(found.octets), np.zeros(found.octets.shape, np.bool_)
            self._held = held
        octets, known = held
        both = known & found.known
        differs = ((octets != found.octets) & both).any(axis=1)
        begins = ~known.any(axis=1) & found.begins
        if self._quiet is not None and self._quiet.size == begins.size:
            begins &= ~self._quiet
            self._quiet &= ~found.on
        channels = np.flatnonzero((differs | begins) & found.on)
        change = None
        if channels.size:
            before = [found.show(octets[n]) if known[n].any() else None for n in channels]
            now = [found.show(found.octets[n]) for n in channels]
            change = Change(channels, tuple(before), tuple(now))
        octets[found.on] = found.octets[found.on]
        known[found.on] = found.known
        return change

    def _focus(self) -> Focus | None:
        """Return the function that has the variable; None where it is not active."""
        what, group = self.what, self.looker.stepper.group
        if self.looker.timeline.is_finished or self.looker.timeline.group != what.group:
            return None
        thread = group.threads.get(what.thread)
        if thread is None or len(thread.frames) < what.depth:
            return None
        return Focus(what.group, what.thread, 0, len(thread.frames) - what.depth)

    def _read(self, focus: Focus) -> _Reading | None:
        if self.what.source is None:
            return self._registers(focus)
        levels = self.looker.sourced.levels(focus)
        for number, level in enumerate(levels):
            if level.name == self.what.function:
                return self._sourced(replace(focus, inlined=number))
        return None

    def _sourced(self, focus: Focus) -> _Reading | None:
        """Return what a variable of the source holds; None where that is not known."""
        source, root = self.what.source, self.what.expression.root
        if root is None or source is None:
            return None
        if self.looker.sourced.variables(focus).get(root) is not source:
            return None
        try:
            whole = self.looker.sourced.value(focus, source)
        except Unplaced:
            return None
        follow = self.looker.names(focus).follow
        value, lane = self.what.expression.part_of(whole, follow)
        on = self.looker.lanes_on(focus) & _only(value.width, lane)
        begins = REGISTERS in value.spots.spaces
        return _Reading(
            value.octets, value.known, on, begins, lambda row: _value(value.type, row[None]).text(0)
        )

    def _registers(self, focus: Focus) -> _Reading | None:
        """Return what a vISA variable holds: all of it counts, whichever channels are on."""
        scope = self.looker.names(focus).scope
        name, element = self.what.expression.root, self.what.expression.element
        found = None if scope is None or name is None else scope.find(name)
        if scope is None or found is None:
            return None
        variable, unit = found
        start, size = scope.place(variable, unit)
        data = self.looker.stepper.image(focus.thread)[start : start + size]
        width = 1 if isinstance(variable, PredicateVariable) else 4
        if isinstance(variable, General):
            width = variable.type.bytes
        rows = data.reshape(-1, width)
        kind = variable.type if isinstance(variable, General) else None

        def show(octets: NDArray[np.uint8]) -> str:
            return octets.tobytes().hex() if kind is None else show_number(typed(octets, kind)[0])

        known = np.ones(width, np.bool_)
        return _Reading(rows, known, _only(len(rows), element), False, show)


def _only(count: int, chosen: int | None) -> NDArray[np.bool_]:
    """Return for each of some channels whether it is the chosen one; None: all are."""
    return np.ones(count, np.bool_) if chosen is None else np.arange(count) == chosen


__all__ = [
    "Change",
    "Follower",
    "Memory",
    "Variable",
    "Watchpoint",
    "conditions",
    "touching",
    "watched",
]
