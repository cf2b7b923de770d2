"""Where to stop: breakpoints and watchpoints, what they mean, and whether they are met.

Knows lines and expressions; how a launch gets there is the business of `control`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.debug.engine.memory import HOST, SCRATCH, SLM, Access
from visim.debug.engine.stepping import Stepper, Stretch
from visim.debug.looking.expressions import Expression
from visim.debug.looking.lines import Lines, Place
from visim.debug.looking.stopped import Focus, Looker
from visim.errors import ArgumentError
from visim.lex import nearest

_NUMBER = re.compile(r"\d{1,9}")
_FILE_LINE = re.compile(r"(.+):(\d{1,9})")
_OFFSET = re.compile(r"(?:(.+)\+|pc:|\*)(\d{1,9})")
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\s*\[(.+)\]")


def find_places(text: str, lines: Lines) -> tuple[frozenset[Place], str]:
    """Return the instructions that a user names, and how to call the place.

    `12` and `file.cl:12` are lines of the source, or of the vISA text where there is no source;
    `visa:30` is a line of the vISA text; `pc:14` or `function+14` an instruction by its number;
    `barrier` all barriers; anything else a label, or a kernel's or function's name: its start.

    Raises:
        ArgumentError: there is no such place.
    """
    text = text.strip()
    if text == "barrier":
        if not lines.barriers:
            raise ArgumentError("the kernel has no barriers")
        return lines.barriers, "barrier"
    if text in {"kernel", "start"}:
        return frozenset({lines.labels[lines.unit_name(0)]}), lines.unit_name(0)
    if _NUMBER.fullmatch(text):
        return _line(None, int(text), lines)
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        return _offset(offset[1], int(offset[2]), lines)
    file_line = _FILE_LINE.fullmatch(text)
    if file_line is not None:
        return _line(file_line[1], int(file_line[2]), lines)
    if text in lines.labels:
        return frozenset({lines.labels[text]}), text
    near = nearest(text, lines.labels)
    hint = f"did you mean {near!r}?" if near else "a line, file:line, visa:line, pc:number, a label"
    raise ArgumentError(f"there is no place {text!r}; {hint}")


def _line(file: str | None, line: int, lines: Lines) -> tuple[frozenset[Place], str]:
    if file == "visa" or (not lines.has_sources and file in {None, lines.visa((0, 0)).file}):
        found = lines.at_visa(line)
        if not found:
            raise ArgumentError(f"the vISA text has no instruction at or behind line {line}")
        return found, lines.where(min(found))
    if not lines.has_sources:
        raise ArgumentError(
            f"the kernel has no source lines, so there is no {file}:{line}; lines of its vISA text "
            "are numbers, and what is compiled with its lines (visim cl does so) has those"
        )
    if file is not None and not any(lines.is_file(file, one) for one in lines.files):
        known = ", ".join(lines.files)
        raise ArgumentError(f"no code comes of {file!r}; the files are {known}")
    actual = lines.next_line(line, file)
    if actual is None:
        raise ArgumentError(f"there is no code at or behind line {line}")
    found = lines.at_source(actual, file)
    return found, lines.where(min(found))


def _offset(unit: str | None, pc: int, lines: Lines) -> tuple[frozenset[Place], str]:
    units = {one.unit.name: one.number for one in lines.kernel.units}
    if unit is not None and unit not in units:
        raise ArgumentError(f"there is no function {unit!r}; there are: {', '.join(units)}")
    place = (0 if unit is None else units[unit], pc)
    if not lines.is_instruction(place):
        raise ArgumentError(f"there is no instruction {pc} in {lines.unit_name(place[0])}")
    return frozenset({place}), lines.where(place)


@dataclass(slots=True)
class Breakpoint:
    """A place at which to stop, where its condition holds; `ignore` more hits do not count."""

    number: int
    places: frozenset[Place]
    name: str
    condition: Expression | None = None
    ignore: int = 0
    hits: int = 0
    enabled: bool = True
    temporary: bool = False

    def describe(self) -> str:
        """Return the breakpoint in one line."""
        condition = f" if {self.condition}" if self.condition is not None else ""
        state = "" if self.enabled else ", disabled"
        hits = f", hit {self.hits} time{'s' * (self.hits != 1)}" if self.hits else ""
        more = f", ignores {self.ignore} more" if self.ignore else ""
        count = f" ({len(self.places)} places)" if len(self.places) > 1 else ""
        return f"{self.number}: {self.name}{count}{condition}{hits}{more}{state}"


@dataclass(slots=True)
class Watchpoint:
    """Bytes that are watched: of memory, or a variable of a thread.

    `kinds` are the accesses that count. A variable has `thread` and `group`, and its bytes in the
    register image begin at `start`.
    """

    number: int
    name: str
    space: str
    start: int
    size: int
    kinds: frozenset[str]
    thread: int = 0
    group: int = 0
    condition: Expression | None = None
    hits: int = 0
    enabled: bool = True
    before: bytes | None = field(default=None, repr=False)

    @property
    def is_variable(self) -> bool:
        """Whether a variable is watched, and not memory."""
        return self.space == REGISTER

    def describe(self) -> str:
        """Return the watchpoint in one line."""
        how = "read or written" if "load" in self.kinds else "written"
        hits = f", hit {self.hits} time{'s' * (self.hits != 1)}" if self.hits else ""
        condition = f" if {self.condition}" if self.condition is not None else ""
        state = "" if self.enabled else ", disabled"
        return f"{self.number}: {self.name} is {how}{condition}{hits}{state}"

    def met_by(self, access: Access) -> bool:
        """Whether an access touches what is watched, in a way that counts."""
        if access.kind not in self.kinds or access.space != self.space:
            return False
        if self.space == SCRATCH and access.owner != self.thread:
            return False
        return access.touches(self.start, self.size)

    def lane_of(self, access: Access) -> int | None:
        """Return the lane that touches what is watched."""
        for address in range(self.start, self.start + min(self.size, 64)):
            lane = access.lane_at(address)
            if lane is not None:
                return lane
        return None


REGISTER = "register"


def watched(text: str, looker: Looker, focus: Focus | None) -> tuple[str, str, int, int, int, int]:
    """Return what a user wants to watch: name, space, first byte, bytes, thread and group.

    `out[1027]` and `out[8:16]` are elements of an argument, `out` all of it, `slm:64,4` bytes of
    local memory; everything else is a variable of the thread that is looked at.

    Raises:
        ArgumentError: there is no such thing.
    """
    text = text.strip()
    element = _ELEMENT.fullmatch(text)
    array = looker.arguments.array(element[1] if element else text)
    if array is not None:
        part = array if element is None else _elements(array, element[2], text, looker, focus)
        start = int(part.ctypes.data)
        last = start + sum(
            (size - 1) * stride for size, stride in zip(part.shape, part.strides, strict=True)
        )
        return text, HOST, start, last - start + part.itemsize, 0, 0
    local = re.fullmatch(r"slm:(\d+)(?:,(\d+))?", text)
    if local is not None:
        return text, SLM, int(local[1]), int(local[2] or 4), 0, 0
    if focus is None:
        raise ArgumentError(f"{text}: the launch has ended, no thread has variables now")
    start, size = looker.place_of(text, focus)
    return text, REGISTER, start, size, focus.thread, focus.group


def _elements(
    array: NDArray[Any], index: str, text: str, looker: Looker, focus: Focus | None
) -> NDArray[Any]:
    """Return an element, or several, as an array that shares their memory."""
    chosen: list[int | slice] = []
    for part in index.split(","):
        bounds = [
            None if not one.strip() else int(np.max(looker.evaluate(Expression(one), focus)))
            for one in part.split(":")
        ]
        if len(bounds) > 3:
            raise ArgumentError(f"{text}: a part of an array is begin:end")
        chosen.append(slice(*bounds) if len(bounds) > 1 else (bounds[0] or 0))
    whole = array if len(chosen) == array.ndim else array.reshape(-1)
    places = tuple(slice(n, n + 1) if isinstance(n, int) and n >= 0 else n for n in chosen)
    if len(places) > whole.ndim:
        raise ArgumentError(f"{text}: the array has {array.ndim} dimensions")
    found = whole[places]
    if not found.size:
        raise ArgumentError(f"{text}: there is no such element; the array has {array.shape}")
    return found


class Places:
    """All breakpoints and watchpoints of a session.

    Args:
        lines: the kernel's lines.
        looker: what conditions are evaluated with.
    """

    def __init__(self, lines: Lines, looker: Looker) -> None:
        self._lines = lines
        self._looker = looker
        self._next = 1
        self.breakpoints: dict[int, Breakpoint] = {}
        self.watchpoints: dict[int, Watchpoint] = {}
        self._wanted: dict[int, tuple[Stretch, frozenset[int]]] = {}

    def add_breakpoint(
        self,
        text: str,
        condition: str | None = None,
        *,
        ignore: int = 0,
        temporary: bool = False,
    ) -> Breakpoint:
        """Add a breakpoint; see `find_places` for what `text` may be."""
        places, name = find_places(text, self._lines)
        expression = None if condition is None else Expression(condition)
        found = Breakpoint(self._next, places, name, expression, ignore, temporary=temporary)
        self._next += 1
        self.breakpoints[found.number] = found
        self._wanted.clear()
        return found

    def add_watchpoint(
        self, text: str, focus: Focus | None, kinds: frozenset[str], condition: str | None = None
    ) -> Watchpoint:
        """Add a watchpoint; see `watched` for what `text` may be."""
        name, space, start, size, thread, group = watched(text, self._looker, focus)
        if space == REGISTER and "load" in kinds:
            raise ArgumentError(f"{text}: reads of variables are not watched, only writes (watch)")
        expression = None if condition is None else Expression(condition)
        found = Watchpoint(self._next, name, space, start, size, kinds, thread, group, expression)
        self._next += 1
        self.watchpoints[found.number] = found
        return found

    def delete(self, number: int) -> None:
        """Delete a breakpoint or watchpoint."""
        self._checked(number)
        self.breakpoints.pop(number, None)
        self.watchpoints.pop(number, None)
        self._wanted.clear()

    def set_enabled(self, number: int, *, enabled: bool) -> None:
        """Enable or disable a breakpoint or watchpoint."""
        self._checked(number).enabled = enabled
        self._wanted.clear()

    def _checked(self, number: int) -> Breakpoint | Watchpoint:
        found = self.breakpoints.get(number) or self.watchpoints.get(number)
        if found is None:
            raise ArgumentError(f"there is no breakpoint {number}; 'info breakpoints' lists all")
        return found

    def condition(self, number: int, text: str | None) -> None:
        """Give a breakpoint another condition, or none."""
        self._checked(number).condition = None if text is None else Expression(text)

    @property
    def watches(self) -> bool:
        """Whether anything is watched."""
        return any(one.enabled for one in self.watchpoints.values())

    def wanted(self, stretch: Stretch) -> frozenset[int]:
        """Return the instructions of a stretch at which a breakpoint is."""
        found = self._wanted.get(id(stretch))
        if found is None:
            places = {
                place for one in self.breakpoints.values() if one.enabled for place in one.places
            }
            pcs = frozenset(pc for pc in stretch.pcs if (stretch.unit, pc) in places)
            found = self._wanted[id(stretch)] = (stretch, pcs)
        return found[1]

    def groups(self, group_of: Callable[[str, int], int | None]) -> list[int] | None:
        """Return the groups in which a breakpoint may be met; None: it may be in any.

        Args:
            group_of: says in which group alone a name can have a value.
        """
        found: list[int] = []
        for one in self.breakpoints.values():
            if not one.enabled:
                continue
            asked = [] if one.condition is None else one.condition.equalities
            groups = [group_of(name, value) for name, value in asked if name in {"item", "group"}]
            known = [group for group in groups if group is not None]
            if not known:
                return None
            found.append(known[0])
        return found

    def met(
        self, place: Place, focus: Focus, *, count: bool = True
    ) -> list[tuple[Breakpoint, int]]:
        """Return the breakpoints that are met by a thread before an instruction, with a lane each.

        Args:
            place: the instruction.
            focus: the thread; its lane is the first that is on.
            count: whether hits are counted and ignored as users have asked.
        """
        found: list[tuple[Breakpoint, int]] = []
        for one in self.breakpoints.values():
            if not one.enabled or place not in one.places:
                continue
            lane = self._lane(one.condition, focus)
            if lane is None:
                continue
            if count:
                one.hits += 1
                if one.ignore:
                    one.ignore -= 1
                    continue
            found.append((one, lane))
        return found

    def _lane(self, condition: Expression | None, focus: Focus) -> int | None:
        """Return the first lane that is on for which a condition holds, None if there is none."""
        lanes = self._looker.lanes_on(focus)
        if not lanes.any():
            return None
        if condition is not None:
            holds = np.asarray(self._looker.evaluate(condition, focus)).astype(np.bool_)
            lanes = lanes & (holds if holds.ndim and holds.size == lanes.size else holds.any())
        return int(np.argmax(lanes)) if lanes.any() else None

    def holds(self, one: Watchpoint, focus: Focus) -> bool:
        """Whether a watchpoint's condition holds."""
        return one.condition is None or self._lane(one.condition, focus) is not None

    def changed(self, one: Watchpoint, stepper: Stepper, group: int) -> bool:
        """Whether a watched variable holds something else than when this was last asked."""
        if one.group != group or one.thread not in stepper.group.threads:
            one.before = None
            return False
        data = stepper.image(one.thread)[one.start : one.start + one.size].tobytes()
        before, one.before = one.before, data
        return before is not None and before != data


Look = Callable[[], bool]

__all__ = ["REGISTER", "Breakpoint", "Places", "Watchpoint", "find_places", "watched"]
