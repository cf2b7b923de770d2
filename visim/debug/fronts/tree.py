"""The scopes and variables that a client of the Debug Adapter Protocol opens, level by level.

A number stands for each node that can be opened, until the launch moves on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from visim.debug.fronts.commands import execute
from visim.debug.looking.stopped import Focus
from visim.debug.looking.views import show_mask, show_number, show_value
from visim.debug.naming.operations import Unplaced
from visim.debug.naming.values import SourceValue
from visim.debug.session import Session
from visim.errors import ArgumentError, VisimError

_MOST = 256
Rows = list[dict[str, Any]]


class Tree:
    """What is shown of a stopped launch.

    Args:
        session: the launch.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._nodes: dict[int, tuple[Callable[[], Rows], Focus | None]] = {}
        self._focuses: dict[int, Focus] = {}

    def clear(self) -> None:
        """Forget all numbers: the launch moves on."""
        self._nodes.clear()
        self._focuses.clear()

    def _node(self, rows: Callable[[], Rows], focus: Focus | None) -> int:
        number = len(self._nodes) + 1
        self._nodes[number] = rows, focus
        return number

    def open(self, number: int) -> Rows:
        """Return what is below a node; nothing where the number is an old one."""
        rows, _ = self._nodes.get(number, (list, None))
        return rows()

    def named(self, number: int, name: str) -> tuple[str, Focus | None]:
        """Return the expression of what a name below a node stands for, and whose it is.

        Raises:
            ArgumentError: there is no such name, or it stands for no variable.
        """
        for row in self.open(number):
            if row["name"] == name and "evaluateName" in row:
                return row["evaluateName"], self._nodes[number][1] or self._session.focus
        raise ArgumentError(f"{name} is no variable that can be watched")

    # Frames and scopes

    def frame(self, focus: Focus) -> int:
        """Return a number for a function of a thread."""
        number = len(self._focuses) + 1
        self._focuses[number] = focus
        return number

    def focus(self, number: int | None) -> Focus | None:
        """Return the function of a number; without one, who is looked at."""
        return self._session.focus if number is None else self._focuses.get(number)

    def scopes(self, focus: Focus) -> Rows:
        """Return the scopes of a function: the arguments, all channels, and each that is on."""
        found = [
            self._scope("Arguments", self._arguments, "arguments", None),
            self._scope("All channels", lambda: self._all(focus), "locals", focus),
            self._scope("Thread", lambda: self._thread(focus), "registers", focus),
        ]
        on = np.flatnonzero(self._session.looker.lanes_on(focus))
        lanes = sorted(on.tolist(), key=lambda lane: (lane != focus.lane, lane))
        for lane in lanes:
            one = replace(focus, lane=lane)
            name = f"Channel {lane}"
            item, items = self._session.looker.item(one), self._session.looker.items
            if item is not None and items is not None:
                name += f": work-item {items.show(item)}"
            found.append(self._scope(name, lambda one=one: self._channel(one), "locals", one))
        return found

    def _scope(
        self, name: str, rows: Callable[[], Rows], hint: str, focus: Focus | None
    ) -> dict[str, Any]:
        return {
            "name": name,
            "variablesReference": self._node(rows, focus),
            "expensive": hint == "registers",
            "presentationHint": hint,
        }

    # Variables

    def row(
        self, name: str, value: Any, focus: Focus | None, kind: str = "", path: str = ""
    ) -> dict[str, Any]:
        """Return a variable; an array can be opened. `path` is the expression, if not the name."""
        lanes = None if focus is None else self._session.looker.lanes_on(focus)
        shown = show_value(value, lanes=lanes, most=16)
        text = " ".join(part.strip() for part in shown)
        is_array = np.ndim(value) > 0
        return {
            "name": name,
            "value": text,
            "type": kind or str(getattr(value, "dtype", type(value).__name__)),
            "variablesReference": self._opened(path or name, value, 0, focus) if is_array else 0,
            "indexedVariables": len(value) if is_array else 0,
            "evaluateName": path or name,
        }

    def _opened(self, path: str, value: Any, first: int, focus: Focus | None) -> int:
        """Return a number for the elements of an array from one on."""
        return self._node(lambda: self._elements(path, value, first, focus), focus)

    def _elements(self, path: str, value: Any, first: int, focus: Focus | None) -> Rows:
        shown, left = value[first : first + _MOST], value[first + _MOST :]
        rows = [
            self.row(f"[{n}]", one, None, path=f"{path}[{n}]") for n, one in enumerate(shown, first)
        ]
        if len(left):
            more = self.row(f"[{first + _MOST}...]", left, None)
            del more["evaluateName"]
            more["variablesReference"] = self._opened(path, value, first + _MOST, focus)
            rows.append(more)
        return rows

    def _arguments(self) -> Rows:
        kernel, known = self._session.debuggee.kernel, self._session.looker.arguments.all
        return [self.row(one.name, known[one.name], None, one.type_name) for one in kernel.args]

    def _values(self, focus: Focus) -> list[tuple[str, Any]]:
        """Return the vISA variables of a function."""
        looker = self._session.looker
        scope = looker.names(focus).scope
        if scope is None:
            return []
        return [
            (variable.name, scope.value(variable, unit))
            for variable, unit in looker.variables(focus)
            if getattr(variable, "alias", None) is None
        ]

    def _all(self, focus: Focus) -> Rows:
        rows = self._sourced(focus, None)
        return rows + [self.row(name, value, focus) for name, value in self._values(focus)]

    def _channel(self, focus: Focus) -> Rows:
        width = self._session.looker.kernel.simd_size
        rows = self._sourced(focus, focus.lane)
        for name, value in self._values(focus):
            is_row = np.shape(value) == (width,)
            one = value[focus.lane] if is_row else value[0] if np.shape(value) == (1,) else value
            path = f"{name}[{focus.lane}]" if is_row else name
            rows.append(self.row(name, one, None, path=path))
        return rows

    def _sourced(self, focus: Focus, lane: int | None) -> Rows:
        """Return the source's variables, of a channel or of all; those without a value say why."""
        sourced = self._session.looker.sourced
        rows: Rows = []
        for name, variable in sourced.variables(focus).items():
            try:
                value = sourced.value(focus, variable)
            except Unplaced as reason:
                rows.append({**_text(name, f"<{reason}>"), "type": variable.type.name})
                continue
            rows.append(self._part(name, name, value, focus, lane))
        return rows

    def _part(
        self, name: str, path: str, value: SourceValue, focus: Focus, lane: int | None
    ) -> dict[str, Any]:
        """Return a variable of the source, or a part of one, which can be opened."""
        parts = value.parts()
        if lane is None:
            lanes, row = self._session.looker.lanes_on(focus), value.row()
            shown = value if row is None else row
            text = " ".join(one.strip() for one in show_value(shown, lanes=lanes, most=16))
        else:
            text = value.text(lane)

        def rows() -> Rows:
            if value.is_pointer:
                pointee = self._session.looker.names(focus).follow(value, 0)
                return [self._part(f"*{name}", f"(*{path})", pointee, focus, lane)]
            return [
                self._part(inner.lstrip("."), f"{path}{inner}", part, focus, lane)
                for inner, part in parts[:_MOST]
            ]

        return {
            "name": name,
            "value": text,
            "type": value.type.name,
            "variablesReference": self._node(rows, focus) if parts or value.is_pointer else 0,
            "evaluateName": path if lane is None or parts else f"{path}[{lane}]",
        }

    def _thread(self, focus: Focus) -> Rows:
        looker = self._session.looker
        width = looker.kernel.simd_size
        rows: Rows = [
            _text("channels on", show_mask(looker.active(focus), width)),
            _text("group", str(looker.group_id(focus))),
            _text("moment", ":".join(map(str, self._session.timeline.moment))),
        ]
        for place, bits in self._session.waiting() if not focus.frame else ():
            where = self._session.lines.where(place)
            rows.append(_text(f"channels waiting at {where}", show_mask(bits, width)))
        return rows

    # Expressions

    def evaluate(self, text: str, focus: Focus | None, context: str) -> dict[str, Any]:
        """Return the value of an expression; at a console, the answer of a command.

        Raises:
            VisimError: it has none.
        """
        session = self._session
        if context == "repl":
            answer = self._command(text)
            if answer is not None:
                return answer
        value = session.evaluate(text) if focus is None else self._at(focus, text)
        if isinstance(value, SourceValue):
            row = self._part(text, text, value, focus or session.needed(), None)
            return {name: row[name] for name in ("type", "variablesReference")} | {
                "result": value.text((focus or session.needed()).lane)
            }
        row = self.row(text, value, focus)
        shown = row["value"]
        if np.shape(value) == (session.looker.kernel.simd_size,) and focus is not None:
            shown = f"{show_number(value[focus.lane])}  ({shown})"
        return {
            "result": shown,
            "type": row["type"],
            "variablesReference": row["variablesReference"],
        }

    def _at(self, focus: Focus, text: str) -> Any:
        before, self._session.focus = self._session.focus, focus
        try:
            return self._session.evaluate(text)
        finally:
            self._session.focus = before

    def _command(self, text: str) -> dict[str, Any] | None:
        """Return the answer of a command that moves nothing; None where it is no such command."""
        name = text.split(maxsplit=1)[0] if text.split() else ""
        if name not in _ASKING:
            return None
        try:
            lines = execute(self._session, text).lines
        except VisimError as error:
            lines = [f"error: {error}"]
        return {"result": "\n".join(lines), "variablesReference": 0}

    def moves(self, text: str) -> bool:
        """Whether a line of the console is a command that goes elsewhere, or looks elsewhere."""
        words = text.split()
        return bool(words) and (words[0] in _ALONE or (len(words) > 1 and words[0] in _ELSEWHERE))


_ALONE = {"fault", "follow", "up", "down"}
_ELSEWHERE = {"goto", "until", "item", "thread", "channel", "frame", "follow"}
"""Commands that need more words; one alone is the name of a value."""
_ASKING = {
    *("why", "who", "info", "disassemble", "list", "channels", "changes", "backtrace", "help"),
    *("picture", "print", "p"),
}


def _text(name: str, value: str) -> dict[str, Any]:
    return {"name": name, "value": value, "variablesReference": 0}


__all__ = ["Tree"]
