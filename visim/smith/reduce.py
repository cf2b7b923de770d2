"""Shrinks a program while a command still finds the same bug in it: delta debugging over lines.

Lines are left out in ever smaller runs as long as the bug stays. Several candidates are tried at a
time; the first of them in the order of the file that keeps the bug is taken, so that the result
does not depend on how many are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

from visim.errors import ArgumentError
from visim.smith.commands import Main, Runner, runner, words_of
from visim.smith.outcomes import Outcome

Unit = TypeVar("Unit")
"""What a program consists of where it is shrunk."""
_DAY = 86400
_MOST_JOBS = 64
_AHEAD = 2
"""So many candidates for each job are tried before the first answer is used."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: lines that are left of how many, and the candidates that were tried."""

    lines: int
    of: int
    candidates: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left of a program: its text, the bug that is still in it, and what it took."""

    text: str
    bug: Outcome
    progress: Progress


def reduce(
    text: str,
    command: str,
    *,
    seconds: float = 30,
    suffix: str = ".visaasm",
    jobs: int | None = None,
    main: Main | None = None,
    told: Callable[[Progress], None] = lambda _: None,
) -> Reduction:
    """Return the shortest text found in which the command still finds the same bug.

    Args:
        text: the program.
        command: what fails; `{}` stands for the file, which else is its last word.
        seconds: how long it may take each time.
        suffix: of the candidate's name.
        jobs: how many candidates are tried at a time; None: one for each core.
        main: the command line of visim, which then is not started anew for each candidate.
        told: is called after each step.

    Raises:
        ArgumentError: the command cannot be run, or does not fail on the program, or fails in the
            same way on an empty one; or it has no time, or more than a day; or `jobs` is no such
            number.
    """
    if not 0 < seconds <= _DAY:
        raise ArgumentError(f"--seconds: expected a number above 0, up to {_DAY}, found {seconds}")
    count = (os.cpu_count() or 1) if jobs is None else jobs
    if not 0 < count <= _MOST_JOBS:
        raise ArgumentError(f"--jobs: expected 1 to {_MOST_JOBS}, found {count}")
    words = words_of(command)
    runners = [runner(words, suffix, seconds, main) for _ in range(count)]
    try:
        return _Reducer(runners, text.splitlines(), told).reduction()
    finally:
        for one in runners:
            one.close()


class _Reducer:
    def __init__(
        self, runners: Sequence[Runner], lines: list[str], told: Callable[[Progress], None]
    ) -> None:
        self._lines = lines
        self._count = len(lines)
        self._told = told
        self._began = time.monotonic()
        self._tried = 0
        self._runners: SimpleQueue[Runner] = SimpleQueue()
        for one in runners:
            self._runners.put(one)
        self._jobs = len(runners)

    def reduction(self) -> Reduction:
        wanted = self._outcome(self._lines)
        if not wanted.has_failed:
            raise ArgumentError("--keep: the command does not fail on the whole program")
        if self._outcome([]).is_same_bug(wanted):
            raise ArgumentError(
                f"--keep: the command finds {wanted} in an empty file, too; look at the command"
            )
        with ThreadPoolExecutor(self._jobs) as pool:

            def is_same(lines: Sequence[str]) -> bool:
                return self._outcome(lines).is_same_bug(wanted)

            def first(candidates: Sequence[Sequence[str]]) -> int | None:
                answers = list(pool.map(is_same, candidates))
                found = answers.index(True) if True in answers else None
                self._told(self._progress(candidates[0] if found is None else candidates[found]))
                return found

            left = shrink(self._lines, first, ahead=_AHEAD * self._jobs)
        text = "".join(f"{line}\n" for line in left)
        return Reduction(text, wanted, self._progress(left))

    def _outcome(self, lines: Sequence[str]) -> Outcome:
        one = self._runners.get()
        try:
            self._tried += 1
            return one.run(lines)
        finally:
            self._runners.put(one)

    def _progress(self, lines: Sequence[str]) -> Progress:
        return Progress(len(lines), self._count, self._tried, time.monotonic() - self._began)


def shrink(
    lines: list[Unit],
    first: Callable[[Sequence[Sequence[Unit]]], int | None],
    *,
    ahead: int = 1,
) -> list[Unit]:
    """Return the shortest lines found that still have the bug, as `lines` have.

    Args:
        lines: the program, in lines or other units that can be left out.
        first: returns the place of the first of some candidates that has the bug, or None.
        ahead: how many candidates it gets at a time.
    """
    size = max(1, len(lines) // 2)
    while True:
        start, has_shrunk = 0, False
        while start < len(lines):
            starts = range(start, len(lines), size)[:ahead]
            candidates = [lines[:place] + lines[place + size :] for place in starts]
            found = first(candidates)
            if found is None:
                start = starts[-1] + size
            else:
                lines, has_shrunk, start = candidates[found], True, starts[found]
        if size > 1:
            size //= 2
        elif not has_shrunk:
            return lines
