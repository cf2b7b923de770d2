"""A cell in a process of its own, forked from one that has visim loaded, under limits.

Whatever it does there (crashes, never ends, takes all memory, leaves processes behind), here it is
an outcome. What it answers is JSON of limited length: its process may have written anywhere.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from select import POLLHUP, POLLIN, poll
from time import monotonic
from typing import Any

from visim import messages
from visim.campaign.outcomes import Outcome
from visim.exits import how_it_ended

_LOOK_S = 0.02
"""So often the memory of a child is looked at.

The system's own limits count what is reserved, of which sanitizers have a terabyte."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST_FILES = 1 << 16
_LAST_ERRORS = 1000
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True, slots=True)
class Limits:
    """What a cell may take: seconds, and bytes of memory beyond what visim itself has.

    Seconds in which others have the processors do not count, where the system tells them.
    """

    seconds: float
    memory: int


LONGEST = 8
"""So many times its seconds a cell goes on at most where others have the processors."""

MOST_ANSWER = 1 << 24
"""So many bytes an answer may have; what is longer is none."""


class OtherSideGoneError(Exception):
    """Who wants to know the answer has gone."""


def run_forked(work: Callable[[], Mapping[str, Any]], limits: Limits, asker: int) -> dict[str, Any]:
    """Return what some work answers in a child of this process, or what became of the child.

    Args:
        work: returns the answer.
        limits: what it may take.
        asker: a descriptor at which nothing is to be read unless who asks has gone.

    Returns:
        The answer; or an object with the keys `outcome` and `message`.

    Raises:
        OtherSideGoneError: who asks has gone; so is the child.
    """
    answers, answering = os.pipe()
    errors, complaining = os.pipe()
    before, parent = _resident(os.getpid()), os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(answers)
        os.close(errors)
        _be_child(work, limits, parent, answering, complaining)
    os.close(answering)
    os.close(complaining)
    try:
        return _Watched(child, answers, errors, asker, before, limits).answer()
    finally:
        os.close(answers)
        os.close(errors)


def _be_child(
    work: Callable[[], Mapping[str, Any]], limits: Limits, parent: int, answering: int, errors: int
) -> None:
    """Work in the child, answer, and end it."""
    code = 1
    try:
        os.setsid()
        _die_with_parent(parent)
        _write_no_core()
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.dup2(errors, 2)
        _close_others(answering)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        messages.send(answering, work())
        code = 0
    except MemoryError:
        with suppress(BaseException):
            messages.send(answering, {"outcome": str(Outcome.MEMORY), "message": _too_much(limits)})
            code = 0
    except BaseException as error:
        with suppress(BaseException):
            messages.send(answering, {"outcome": str(Outcome.BUG), "message": repr(error)})
            code = 0
    finally:
        os._exit(code)


def _close_others(kept: int) -> None:
    """Close what was inherited: only `kept` and the standard ones are for cells to write to."""
    last = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    os.closerange(3, kept)
    os.closerange(kept + 1, min(last, _MOST_FILES))


def _die_with_parent(parent: int) -> None:
    """Let the system end this process together with its parent, where it can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _write_no_core() -> None:
    """Have the system write no image of a process that crashes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _resident(process: int) -> int:
    """Return the bytes of memory that a process has, 0 where nobody says."""
    try:
        return int(Path(f"/proc/{process}/statm").read_bytes().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _waited(process: int) -> float:
    """Return for how many seconds a process could run and had no processor, if the system says."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0


def _too_much(limits: Limits) -> str:
    return f"it needs more than {limits.memory >> 20} MiB"


class _Watched:
    """A child that works, and what it has said so far."""

    def __init__(
        self, child: int, answers: int, errors: int, asker: int, before: int, limits: Limits
    ) -> None:
        self._child = child
        self._answers = answers
        self._errors = errors
        self._asker = asker
        self._before = before
        self._limits = limits
        self._said = bytearray()
        self._complaints = b""
        self._began = monotonic()

    def answer(self) -> dict[str, Any]:
        """Return what the child answers, or what became of it."""
        exits = os.pidfd_open(self._child) if hasattr(os, "pidfd_open") else None
        try:
            found = self._watch(exits)
        finally:
            if exits is not None:
                os.close(exits)
            code = self._reap()
        for descriptor in (self._answers, self._errors):
            while self._read(descriptor, is_over=True):
                pass
        return found or self._whole() or self._crash(code)

    def _watch(self, exits: int | None) -> dict[str, Any] | None:
        """Wait for the end of the child; return an outcome if it must not go on."""
        waiting = poll()
        reads = POLLIN | POLLHUP
        for descriptor in (self._answers, self._errors, self._asker):
            waiting.register(descriptor, reads)
        if exits is not None:
            waiting.register(exits, reads)
        while True:
            for descriptor, _ in waiting.poll(_LOOK_S * 1000):
                if descriptor == self._asker:
                    raise OtherSideGoneError
                if descriptor == exits or self._read(descriptor):
                    continue
                waiting.unregister(descriptor)
            if self._has_ended():
                return None
            if len(self._said) > MOST_ANSWER:
                return {"outcome": str(Outcome.CRASHED), "message": "its answer does not end"}
            if _resident(self._child) - self._before > self._limits.memory:
                return {"outcome": str(Outcome.MEMORY), "message": _too_much(self._limits)}
            if self._is_late():
                message = f"it is not done after {self._limits.seconds:g} s"
                return {"outcome": str(Outcome.HUNG), "message": message}

    def _is_late(self) -> bool:
        """Whether the child has had its seconds."""
        took, most = monotonic() - self._began, self._limits.seconds
        return took > most and (took > LONGEST * most or took - _waited(self._child) > most)

    def _read(self, descriptor: int, *, is_over: bool = False) -> bool:
        """Take in what the child says; return whether there may be more."""
        waiting = poll()
        waiting.register(descriptor, POLLIN | POLLHUP)
        if not waiting.poll(0):
            return not is_over
        data = os.read(descriptor, 1 << 16)
        if descriptor == self._answers:
            self._said += data
        else:
            self._complaints = (self._complaints + data)[-_LAST_ERRORS:]
        return bool(data)

    def _has_ended(self) -> bool:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._child, flags) is not None

    def _reap(self) -> int:
        """End the child with all that it has started; return its exit code."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])

    def _whole(self) -> dict[str, Any] | None:
        try:
            return messages.unpacked(bytes(self._said), MOST_ANSWER)[0]
        except messages.BrokenMessage:
            return None

    def _crash(self, code: int) -> dict[str, Any]:
        how = f"it ended with {how_it_ended(code)}" + (", without an answer" if code >= 0 else "")
        lines = self._complaints.decode("utf-8", "replace").strip().splitlines()
        said = f": {lines[-1][:300]}" if lines else ""
        outcome = Outcome.LOST if code == -signal.SIGKILL else Outcome.CRASHED
        return {"outcome": str(outcome), "message": how + said}
