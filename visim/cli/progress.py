"""Signs of life while something long runs, and where a run is that does not seem to end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import click

from visim.diag import visible
from visim.engine.base import Lookout
from visim.errors import Fault
from visim.runtime.launching.lookouts import watched_by

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

QUIET_S = 5.0
"""So long no group has to end before somebody says where threads are."""
_LISTENING_S = 0.2
_MOST_PLACES = 4


@contextmanager
def working(what: str) -> Generator[None]:
    """Show `what` and the time it takes on the standard error, where that is a terminal."""
    with _bar(what, total=None):
        yield


@contextmanager
def watching(kernel: str) -> Generator[None]:
    """Watch the launches of a kernel that begin within.

    On a terminal they show how many groups have ended and how long the rest will take. Wherever
    no group ends for some seconds, a note says where the threads are.
    """
    with _bar(f"running {kernel}", total=0) as bar, watched_by(Watch(kernel, bar)):
        yield


class _Bar:
    """A line that shows how far something is."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def show(self, what: str, done: int, total: int) -> None:
        """Show that so much of something is done."""
        self._progress.update(self._task, description=what, completed=done, total=total)


@contextmanager
def _bar(what: str, *, total: int | None) -> Generator[_Bar | None]:
    """Show a line on the standard error, where that is a terminal.

    Args:
        what: what is going on.
        total: None: nobody knows how much there is; 0: it will be said.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich
    from rich.console import Console

    words = rich.TextColumn("{task.description}", markup=False)
    columns: list[rich.ProgressColumn] = [rich.SpinnerColumn(), words, rich.TimeElapsedColumn()]
    if total is not None:
        columns += [rich.BarColumn(), rich.TextColumn("{task.completed}/{task.total}")]
        columns += [rich.TextColumn("left"), rich.TimeRemainingColumn(compact=True)]
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield _Bar(progress, progress.add_task(what, total=total))


class Watch(Lookout):
    """Hears how far a launch is; says once where its threads are if no group ends for a while.

    Args:
        kernel: the kernel's name.
        bar: what shows how far it is, if anything.
        tell: what the note goes to.
    """

    def __init__(
        self,
        kernel: str,
        bar: _Bar | None = None,
        tell: Callable[[str], None] = lambda text: click.echo(visible(text), err=True),
    ) -> None:
        self._kernel = kernel
        self._bar = bar
        self._tell = tell
        self._last = monotonic()
        self._done: tuple[int, int] | None = None
        self._listens_until: float | None = None
        self._places: dict[str, set[int]] = {}
        self._has_told = False

    def ran(self, groups: int, total: int) -> None:
        """Hear how many groups have ended."""
        self._last, self._done = monotonic(), (groups, total)
        self._listens_until, self._places = None, {}
        if self._bar is not None:
            self._bar.show(f"running {self._kernel}", groups, total)

    def prepared(self, what: str, done: int, total: int) -> None:
        """Hear how far compiling is; that is no group, but something goes on."""
        self._last = monotonic()
        if self._bar is not None:
            self._bar.show(f"compiling {self._kernel}: {what}", done, total)

    def is_looking(self) -> bool:
        """Whether so much time has passed that it wants to know where threads are."""
        return not self._has_told and monotonic() - self._last >= QUIET_S

    def found(self, place: Fault) -> None:
        """Hear where a thread is; when it has heard of some, tell."""
        now = monotonic()
        where = f"line {place.line}" if place.file is None else f"{place.file}:{place.line}"
        text = f"{where}: {' '.join((place.instruction or '').split())}"
        self._places.setdefault(text, set()).add(place.thread or 0)
        if self._listens_until is None:
            self._listens_until = now + _LISTENING_S
        elif now >= self._listens_until and not self._has_told:
            self._has_told = True
            self._tell(self._note())

    def _note(self) -> str:
        done = f"after {self._done[0]} of {self._done[1]} groups, " if self._done else ""
        head = f"note: {done}{self._kernel} has run for {QUIET_S:g} s without ending a group"
        places = [
            f"  {text}  (thread {', '.join(map(str, sorted(threads)[:_MOST_PLACES]))})"
            for text, threads in list(self._places.items())[:_MOST_PLACES]
        ]
        cure = "--budget INSTRUCTIONS or --timeout SECONDS makes that a fault; Ctrl-C stops it"
        return "\n".join([f"{head}; its threads are at", *places, f"  {cure}"])
