"""Where to stop: breakpoints and watchpoints, what they mean, and whether they are met.

Knows lines and expressions; how a launch gets there is the business of `control`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from visim.debug.engine.stepping import Stretch
from visim.debug.looking.expressions import Expression
from visim.debug.looking.lines import Lines, Place
from visim.debug.looking.pointed import NOWHERE
from visim.debug.looking.stopped import Focus, Looker
from visim.debug.watching import Memory, Variable, Watchpoint, conditions, watched
from visim.errors import ArgumentError
from visim.lex import nearest

_NUMBER = re.compile(r"\d{1,9}")
_FILE_LINE = re.compile(r"(.+):(\d{1,9})")
_OFFSET = re.compile(r"(?:(.+)\+|pc:|\*)(\d{1,9})")


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
        sources = [lines.source(one) for one in lines.instructions()]
        last = max(
            one.line for one in sources if one and (file is None or lines.is_file(file, one.file))
        )
        raise ArgumentError(
            f"there is no code at or behind line {line}; the last line with code is {last}"
        )
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
        count = f" ({len(self.places)} places)" if len(self.places) > 1 else ""
        return f"{self.number}: {self.name}{count}{conditions(self)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a condition holds: the first channel for which it does, None if there is none.

    `doubt` says why that cannot be told; then who asks stops, as if it held.
    """

    lane: int | None
    doubt: str = ""


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
        self,
        text: str,
        focus: Focus | None,
        kinds: frozenset[str],
        condition: str | None = None,
        *,
        ignore: int = 0,
    ) -> Watchpoint:
        """Add a watchpoint; see `watched` for what `text` may be."""
        what = watched(text, self._looker, focus)
        return self.watch(text.strip(), what, kinds, condition, ignore=ignore)

    def watch(
        self,
        name: str,
        what: Memory | Variable,
        kinds: frozenset[str],
        condition: str | None = None,
        *,
        ignore: int = 0,
    ) -> Watchpoint:
        """Add a watchpoint on what `watched` has returned.

        A variable is that of the work-item which the condition names, if it does.
        """
        expression = None if condition is None else Expression(condition)
        if isinstance(what, Variable):
            if "load" in kinds:
                raise ArgumentError(f"{name}: reads of variables are not watched, only writes")
            what = self._of_item(what, expression)
        found = Watchpoint(self._next, name, what, kinds, expression, ignore)
        self._next += 1
        self.watchpoints[found.number] = found
        return found

    def _of_item(self, what: Variable, condition: Expression | None) -> Variable:
        items = self._looker.items
        numbers = [n for name, n in condition.equalities if name == "item"] if condition else []
        if not numbers or items is None:
            return what
        found = items.numbered(numbers[0])
        index = None if found is None else self._looker.debuggee.index_of(found.group)
        if found is None or index is None:
            raise ArgumentError(f"there is no work-item {numbers[0]}")
        return replace(what, group=index, thread=found.thread)

    def delete(self, number: int) -> None:
        """Delete a breakpoint or watchpoint."""
        self.numbered(number)
        self.breakpoints.pop(number, None)
        self.watchpoints.pop(number, None)
        self._wanted.clear()

    def set_enabled(self, number: int, *, enabled: bool) -> None:
        """Enable or disable a breakpoint or watchpoint."""
        self.numbered(number).enabled = enabled
        self._wanted.clear()

    def numbered(self, number: int) -> Breakpoint | Watchpoint:
        """Return a breakpoint or watchpoint.

        Raises:
            ArgumentError: there is none of that number.
        """
        found = self.breakpoints.get(number) or self.watchpoints.get(number)
        if found is None:
            raise ArgumentError(f"there is no breakpoint {number}; 'info breakpoints' lists all")
        return found

    def condition(self, number: int, text: str | None) -> None:
        """Give a breakpoint another condition, or none."""
        self.numbered(number).condition = None if text is None else Expression(text)

    @property
    def watching(self) -> list[Watchpoint]:
        """The watchpoints that are enabled."""
        return [one for one in self.watchpoints.values() if one.enabled]

    def watches(self, group: int) -> bool:
        """Whether anything is watched that can be met in a group."""
        return any(isinstance(one.what, Memory) or one.what.group == group for one in self.watching)

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
        """Return the groups in which something may be met; None: it may be in any.

        Args:
            group_of: says in which group alone a name can have a value.
        """
        found: list[int] = []
        for one in self.watching:
            if isinstance(one.what, Memory):
                return None
            found.append(one.what.group)
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
    ) -> list[tuple[Breakpoint, Verdict]]:
        """Return the breakpoints that are met by a thread before an instruction, and for whom.

        Args:
            place: the instruction.
            focus: the thread; its lane is the first that is on.
            count: whether hits are counted and ignored as users have asked.
        """
        found: list[tuple[Breakpoint, Verdict]] = []
        for one in self.breakpoints.values():
            if not one.enabled or place not in one.places:
                continue
            verdict = self.verdict(one.condition, focus, self._looker.lanes_on(focus))
            if verdict.lane is not None and not (count and ignored(one)):
                found.append((one, verdict))
        return found

    def verdict(
        self, condition: Expression | None, focus: Focus, lanes: NDArray[np.bool_]
    ) -> Verdict:
        """Return for which of some channels of a thread a condition holds first."""
        if not lanes.any():
            return Verdict(None)
        first = int(np.argmax(lanes))
        if condition is None:
            return Verdict(first)
        try:
            value = self._looker.evaluate(condition, focus)
        except ArgumentError as error:
            return Verdict(first, f"whether {condition} holds is not known: {error}")
        unknown = np.broadcast_to(np.ma.getmaskarray(value), lanes.shape) & lanes
        holds = np.asarray(np.ma.filled(value, 0)).astype(np.bool_)
        lanes = lanes & (holds if holds.ndim and holds.size == lanes.size else holds.any())
        if not lanes.any() and unknown.any():
            doubt = f"whether {condition} holds is not known: {NOWHERE}"
            return Verdict(int(np.argmax(unknown)), doubt)
        return Verdict(int(np.argmax(lanes)) if lanes.any() else None)


def ignored(one: Breakpoint | Watchpoint) -> bool:
    """Count a hit; return whether it is one of those that users have asked to pass."""
    one.hits += 1
    if not one.ignore:
        return False
    one.ignore -= 1
    return True


__all__ = ["Breakpoint", "Places", "Verdict", "find_places", "ignored"]
