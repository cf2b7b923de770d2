"""Runs a command on many candidates, several at a time.

visim itself is not started anew for each: a process that has it loaded forks for each candidate,
which takes milliseconds instead of half a second. Any other command is a process of its own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from visim.errors import ArgumentError
from visim.smith.outcomes import Outcome, outcome

PLACE = "{}"
Main = Callable[[Sequence[str]], int]
"""The command line of visim, as a function."""
_SPEAKS_JSON = frozenset({"asm", "check", "dis", "info", "link", "run", "smith", "time"})
_CRASHED = 70
_LOADED = "loaded"
_PACKAGE = __name__.partition(".")[0]


class Runner(Protocol):
    """Runs a command on candidates, one at a time."""

    def run(self, lines: Sequence[str]) -> Outcome:
        """Return what the command does with a candidate."""
        ...

    def close(self) -> None:
        """End what runs."""
        ...


def words_of(command: str) -> list[str]:
    """Return the words of a command, `{}` among them; without it, the file is the last one.

    Raises:
        ArgumentError: the command cannot be read, or is empty.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError(f"--keep: {error}") from None
    if not words:
        raise ArgumentError("--keep: expected a command such as 'visim check {}', found none")
    return words if any(PLACE in word for word in words) else [*words, PLACE]


def runner(words: Sequence[str], suffix: str, seconds: float, main: Main | None) -> Runner:
    """Return what runs a command.

    Args:
        words: the command, with `{}` in the place of the file.
        suffix: of the candidate's name.
        seconds: how long it may take each time.
        main: the command line of visim; without it, visim is started like any other program.
    """
    own = _own_words(words)
    if main is not None and own is not None and hasattr(os, "fork"):
        return Forked(own, suffix, seconds, main)
    return Started(words, suffix, seconds)


def _own_words(words: Sequence[str]) -> list[str] | None:
    """Return the words behind `visim`, which this process can run; None for other programs."""
    if Path(words[0]).name == "visim":
        own = list(words[1:])
    elif list(words[1:3]) == ["-m", "visim"]:
        own = list(words[3:])
    else:
        return None
    if own and own[0] in _SPEAKS_JSON and not {"--json", "--sarif"} & set(own):
        own.append("--json")
    return own


class _Candidates:
    """A folder with the one file that a runner works on."""

    def __init__(self, words: Sequence[str], suffix: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="visim-reduce-")
        self.folder = Path(self._folder)
        self._file = self.folder / f"candidate{suffix}"
        self.words = [word.replace(PLACE, str(self._file)) for word in words]

    def write(self, lines: Sequence[str]) -> None:
        """Put a candidate into the file."""
        self._file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


class Started:
    """Starts a program for each candidate."""

    def __init__(self, words: Sequence[str], suffix: str, seconds: float) -> None:
        self._candidates = _Candidates(words, suffix)
        self._seconds = seconds

    def run(self, lines: Sequence[str]) -> Outcome:
        """Return what the command does with a candidate.

        Raises:
            ArgumentError: there is no such program.
        """
        self._candidates.write(lines)
        words = self._candidates.words
        try:
            run = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ArgumentError(f"--keep: {words[0]}: {error.strerror}") from None
        try:
            out, err = run.communicate(timeout=self._seconds)
        except subprocess.TimeoutExpired:
            _end(run.pid)
            run.communicate()
            return Outcome(None)
        return outcome(run.returncode, *_texts(out, err), lines)

    def close(self) -> None:
        """Remove the candidate."""
        self._candidates.close()


class Forked:
    """A process that has visim loaded and forks for each candidate."""

    def __init__(self, words: Sequence[str], suffix: str, seconds: float, main: Main) -> None:
        self._candidates = _Candidates(words, suffix)
        context = get_context("fork")
        self._connection, theirs = context.Pipe()
        ends = self._connection, theirs
        given = (ends, self._candidates.words, self._candidates.folder, seconds, main)
        self._process = context.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        theirs.close()

    def run(self, lines: Sequence[str]) -> Outcome:
        """Return what visim does with a candidate."""
        self._candidates.write(lines)
        self._connection.send(True)
        code = self._connection.recv()
        folder = self._candidates.folder
        out, err = ((folder / name).read_bytes() for name in ("stdout", "stderr"))
        return outcome(code, *_texts(out, err), lines)

    def close(self) -> None:
        """End the process.

        It is told to: others that were forked later hold copies of this side's end.
        """
        with suppress(OSError):
            self._connection.send(False)
        self._connection.close()
        self._process.join(timeout=5)
        self._candidates.close()


def _serve(
    ends: tuple[Connection, Connection],
    words: Sequence[str],
    folder: Path,
    seconds: float,
    main: Main,
) -> None:
    """Run visim each time the other side asks for it, until that goes away.

    The fork has brought the other side's end, too; as long as it is open nothing goes away.
    """
    other, connection = ends
    other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            if not connection.recv():
                return
        except (EOFError, OSError):
            return
        child = os.fork()
        if not child:
            _run_here(words, folder, main)
        connection.send(_awaited(child, seconds))
        _load_what_was_loaded(folder / _LOADED)


def _run_here(words: Sequence[str], folder: Path, main: Main) -> None:
    """Run visim in this process, which ends with its exit code."""
    code = _CRASHED
    before = set(sys.modules)
    try:
        os.setsid()
        for number, name, flags in (
            (0, os.devnull, os.O_RDONLY),
            (1, str(folder / "stdout"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, str(folder / "stderr"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):
            os.dup2(os.open(name, flags, 0o600), number)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        code = main(words)
        sys.stdout.flush()
        sys.stderr.flush()
        (folder / _LOADED).write_text("\n".join(one for one in sys.modules if one not in before))
    finally:
        os._exit(code)


def _load_what_was_loaded(names: Path) -> None:
    """Load the modules of visim that a candidate has loaded: the next one finds them.

    The verbs load what they need when they need it, which takes longer than most candidates.
    """
    if not names.exists():
        return
    for name in names.read_text().split():
        if name.partition(".")[0] == _PACKAGE:
            with suppress(ImportError):
                import_module(name)
    names.unlink()


def _awaited(child: int, seconds: float) -> int | None:
    """Return the exit code of a child, negative for a signal; None if it did not end in time."""
    end, pause = time.monotonic() + seconds, 0.001
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            _end(child)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)


def _end(process: int) -> None:
    """End a process and all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def _texts(out: bytes, err: bytes) -> tuple[str, str]:
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
