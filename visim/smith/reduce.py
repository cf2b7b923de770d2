"""Shrinks a program while a command still fails on it: delta debugging over lines.

The command is run with a candidate's path in the place of `{}`, or behind it. Lines are left out
in ever smaller runs as long as the command ends as it did for the whole program.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from visim.errors import ArgumentError

PLACE = "{}"
_DAY = 86400
_TIMED_OUT = -1000


def reduce(text: str, command: str, *, seconds: float = 30, suffix: str = ".visaasm") -> str:
    """Return the shortest text found on which the command still fails.

    Args:
        text: the program.
        command: what fails; `{}` stands for the file.
        seconds: how long it may take each time.
        suffix: of the candidate's name.

    Raises:
        ArgumentError: the command cannot be run, or does not fail on the program; or it has no
            time, or more than a day.
    """
    if not 0 < seconds <= _DAY:
        raise ArgumentError(f"--seconds: expected a number above 0, up to {_DAY}, found {seconds}")
    with tempfile.TemporaryDirectory() as folder:
        candidate = Path(folder) / f"candidate{suffix}"

        def outcome(lines: Sequence[str]) -> int:
            candidate.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            return _run(command, candidate, seconds)

        lines = text.splitlines()
        wanted = outcome(lines)
        if wanted == 0:
            raise ArgumentError("--keep: the command does not fail on the whole program")
        return "".join(f"{line}\n" for line in shrink(lines, lambda one: outcome(one) == wanted))


def _run(command: str, candidate: Path, seconds: float) -> int:
    """Return the exit code of the command, one of its own kind if it does not end in time."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"--keep: {error}") from None
    if not words:
        raise ArgumentError("--keep: expected a command such as 'visim check {}', found none")
    if any(PLACE in word for word in words):
        words = [word.replace(PLACE, str(candidate)) for word in words]
    else:
        words.append(str(candidate))
    try:
        run = subprocess.run(words, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return _TIMED_OUT
    except OSError as error:
        raise ArgumentError(f"--keep: {words[0]}: {error.strerror}") from None
    return run.returncode


def shrink(lines: list[str], still_fails: Callable[[Sequence[str]], bool]) -> list[str]:
    """Return the shortest lines found for which `still_fails` holds, as it does for `lines`."""
    size = max(1, len(lines) // 2)
    while True:
        start, has_shrunk = 0, False
        while start < len(lines):
            shorter = lines[:start] + lines[start + size :]
            if still_fails(shorter):
                lines, has_shrunk = shorter, True
            else:
                start += size
        if size > 1:
            size //= 2
        elif not has_shrunk:
            return lines
