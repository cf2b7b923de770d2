"""The prompt and scripts: lines in, lines or JSON out.

With prompt_toolkit (`pip install visim[debug]`) the prompt completes names and keeps a history;
without it plain lines are read. Where the input is no terminal nothing but answers is printed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from visim.debug.fronts import asking, commands
from visim.debug.fronts.replies import Reply, stop_reply
from visim.debug.session import Session
from visim.diag import visible
from visim.errors import VisimError

PROMPT = "(visim) "
_MOVING = {
    *("continue", "step", "next", "stepi", "nexti", "finish", "until", "back", "backi"),
    *("reverse-continue", "reverse-finish", "restart", "fault", "goto"),
}
_REPEATED = {"step", "next", "stepi", "nexti", "back", "backi", "continue", "reverse-continue"}


class Talk:
    """Executes lines and answers.

    Args:
        session: the session.
        write: takes a line of an answer.
    """

    def __init__(self, session: Session, write: Callable[[str], None]) -> None:
        self._session = session
        self._write = write
        self.failed = False
        self.log: list[dict[str, Any]] = []

    def line(self, line: str) -> bool:
        """Execute a line and answer; return whether to go on."""
        try:
            reply = commands.execute(self._session, line)
        except VisimError as error:
            self.failed = True
            self._write(visible(f"error: {error}"))
            self.log.append({"command": line, "error": str(error)})
            return True
        self._answer(line, reply)
        return not reply.ends

    def _answer(self, line: str, reply: Reply) -> None:
        lines = list(reply.lines)
        name = _name_of(line)
        entry: dict[str, Any] = {"command": line, "text": lines, "data": reply.data}
        if name in _MOVING and self._session.displayed:
            shown = asking.displayed(self._session)
            lines += shown.lines
            entry["display"] = shown.data
        for one in lines:
            self._write(one if name == "picture" else visible(one))
        if line.strip():
            self.log.append(entry)

    def greet(self) -> None:
        """Say where the launch stands."""
        for one in stop_reply(self._session).lines:
            self._write(visible(one))


def run_lines(talk: Talk, lines: Iterable[str]) -> bool:
    """Execute lines; return whether none has asked to end."""
    return all(talk.line(line) for line in lines)


def interactive(talk: Talk, session: Session) -> None:
    """Read lines from the terminal until the user ends."""
    talk.greet()
    before = ""
    for line in _read(session):
        text = line.strip() or before
        if text and not talk.line(text):
            return
        before = text if _name_of(text) in _REPEATED else ""


def _name_of(line: str) -> str:
    """Return the name of the command that a line begins with, empty if it is none."""
    words = line.split()
    try:
        return commands.find_command(words[0].partition("/")[0]).names[0] if words else ""
    except VisimError:
        return ""


def _read(session: Session) -> Iterator[str]:
    """Yield the lines that the user types."""
    reader = _toolkit(session)
    if reader is None:
        print("note: pip install 'visim[debug]' for completion and history", file=sys.stderr)  # noqa: T201
        reader = _plain
    while True:
        try:
            yield reader()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _plain() -> str:
    return input(PROMPT)


def _toolkit(session: Session) -> Callable[[], str] | None:
    """Return what reads a line with prompt_toolkit, None where it is not installed."""
    try:
        main: Any = import_module("prompt_toolkit")
        completion: Any = import_module("prompt_toolkit.completion")
        histories: Any = import_module("prompt_toolkit.history")
    except ImportError:
        return None
    history = Path.home() / ".local" / "share" / "visim" / "debug_history"
    keeps: Any = None
    with suppress(OSError):
        history.parent.mkdir(parents=True, exist_ok=True)
        keeps = histories.FileHistory(str(history))
    toolkit: Any = main.PromptSession(history=keeps)

    def words() -> list[str]:
        found = commands.names() + list(session.lines.labels)
        return found + session.looker.names(session.focus).known()

    completer: Any = completion.FuzzyWordCompleter(words)
    return lambda: toolkit.prompt(PROMPT, completer=completer, complete_while_typing=False)


__all__ = ["Talk", "interactive", "run_lines"]
