"""Breakpoints as clients of the Debug Adapter Protocol set them: all of a kind at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from visim.debug.fronts.sourcing import place_at
from visim.debug.fronts.tree import Tree
from visim.debug.places import Breakpoint
from visim.debug.session import Session
from visim.debug.watching import Memory, Variable, Watchpoint, watched
from visim.errors import VisimError

Given = dict[str, Any]
_Set = Callable[[], Breakpoint | Watchpoint]


class Breaking:
    """The breakpoints of a session, by the kinds that clients set anew.

    Args:
        session: the session.
        tree: what numbers of frames stand for.
    """

    def __init__(self, session: Session, tree: Tree) -> None:
        self.session = session
        self.tree = tree
        self._breakpoints: dict[str, list[int]] = {}
        self._watchable: dict[str, tuple[str, Memory | Variable]] = {}

    def _replace(self, kind: str, add: list[_Set]) -> dict[str, Any]:
        """Set the breakpoints of a kind anew; what is wrong with one is told with it."""
        places = self.session.places
        for number in self._breakpoints.pop(kind, []):
            if number in places.breakpoints or number in places.watchpoints:
                places.delete(number)
        numbers: list[int] = []
        answers: list[dict[str, Any]] = []
        for one in add:
            try:
                found = one()
            except VisimError as error:
                answers.append({"verified": False, "message": str(error)})
                continue
            numbers.append(found.number)
            answers.append({"verified": True, "id": found.number, **self._line_of(found)})
        self._breakpoints[kind] = numbers
        return {"breakpoints": answers}

    def _line_of(self, found: Any) -> dict[str, Any]:
        places = sorted(getattr(found, "places", ()))
        if not places:
            return {}
        source, visa = self.session.lines.source(places[0]), self.session.lines.visa(places[0])
        line = visa.line if source is None else source.line
        return {} if line is None else {"line": line}

    def _adding(self, place: str, given: Given) -> _Set:
        return lambda: self._breakpoint(place, given)

    def _breakpoint(self, place: str, given: Given) -> Breakpoint:
        return self.session.places.add_breakpoint(
            place, given.get("condition") or None, ignore=_ignored(given)
        )

    def set_breakpoints(self, given: Given) -> dict[str, Any]:
        """Set those of a file."""
        source = given["source"]
        name = str(source.get("path") or source.get("name"))
        asked: list[dict[str, Any]] = given.get("breakpoints") or []
        add = [self._adding(f"{name}:{int(one['line'])}", one) for one in asked]
        return self._replace(f"file {name}", add)

    def set_function_breakpoints(self, given: Given) -> dict[str, Any]:
        """Set those of functions, labels and barriers."""
        asked: list[dict[str, Any]] = given.get("breakpoints") or []
        add = [self._adding(str(one["name"]), one) for one in asked]
        return self._replace("functions", add)

    def set_instruction_breakpoints(self, given: Given) -> dict[str, Any]:
        """Set those of instructions."""
        asked: list[dict[str, Any]] = given.get("breakpoints") or []

        add: list[_Set] = []
        for one in asked:
            unit, pc = place_at(str(one["instructionReference"]), int(one.get("offset") or 0))
            add.append(self._adding(f"{self.session.lines.unit_name(unit)}+{pc}", one))
        return self._replace("instructions", add)

    def data_breakpoint_info(self, given: Given) -> dict[str, Any]:
        """Say whether something can be watched: an expression, or what stands below a node."""
        name, focus = str(given["name"]), self.tree.focus(given.get("frameId"))
        try:
            if given.get("variablesReference"):
                name, focus = self.tree.named(int(given["variablesReference"]), name)
            what = watched(name, self.session.looker, focus)
        except VisimError as error:
            return {"dataId": None, "description": str(error)}
        if isinstance(what, Memory):
            self._watchable[name] = name, what
            text = f"{name}, {what.size} bytes of {what.space}"
            types = ["write", "readWrite"]
            return {"dataId": name, "description": text, "accessTypes": types, "canPersist": True}
        text = f"{name} of thread {what.thread} in group {what.group}"
        number = f"{text}, depth {what.depth}"
        self._watchable[number] = name, what
        return {"dataId": number, "description": text, "accessTypes": ["write"]}

    def set_data_breakpoints(self, given: Given) -> dict[str, Any]:
        """Set what is watched."""
        asked: list[dict[str, Any]] = given.get("breakpoints") or []

        return self._replace("data", [self._watching(one) for one in asked])

    def _watching(self, given: Given) -> _Set:
        kinds = frozenset({"store", "atomic"})
        if given.get("accessType") in {"readWrite", "read"}:
            kinds |= {"load"}
        number, places = str(given["dataId"]), self.session.places
        condition, ignore = given.get("condition") or None, _ignored(given)
        if number not in self._watchable:
            focus = self.session.focus
            return lambda: places.add_watchpoint(number, focus, kinds, condition, ignore=ignore)
        name, what = self._watchable[number]
        return lambda: places.watch(name, what, kinds, condition, ignore=ignore)

    def set_exception_breakpoints(self, given: Given) -> dict[str, Any]:
        """Accept the filters: a fault always stops the launch."""
        return {"breakpoints": [{"verified": True} for _ in given.get("filters") or ()]}


def _ignored(given: Given) -> int:
    """Return how many hits do not count before the one that a client has asked for."""
    hits = str(given.get("hitCondition") or "1").strip(" =>")
    return max(0, int(hits) - 1) if hits.isdigit() else 0


__all__ = ["Breaking"]
