"""The processes of a server: one host of requests, and one for each compiler.

Starts them with little of the server's environment, hands them requests, and starts them again when
they have ended.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from visim import messages
from visim.errors import InternalError, ToolMissing
from visim.exits import how_it_ended
from visim.runtime.compiling import ocloc, worker
from visim.runtime.compiling.compilers import Compiler, compilers
from visim.serve.hosts import compiler as compiler_host
from visim.serve.hosts.forkserver import MOST_REQUEST, READY
from visim.serve.limits import LimitReached, ServerLimits
from visim.serve.shapes import RequestError
from visim.target import PLATFORMS

_HANDED_ON = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH")
_OWN = {
    "VISIM_CACHE_DIR": "",  # code that strangers had compiled is kept nowhere
    "OPENBLAS_NUM_THREADS": "1",  # a process with threads cannot be forked well
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_GRACE_S = 5.0
_START_S = 300.0
"""So long processes have to be warm: they need 3 s of a CPU, which others may want, too."""


class HostDied(InternalError):
    """The process that answers has ended in the middle of a request."""


class _HostGone(HostDied):
    """It was the host that has ended, not the process of the request."""


class SlowStart(ToolMissing):
    """The processes of a server take too long to start."""


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    popen: subprocess.Popen[bytes]
    control: socket.socket

    def wait(self) -> None:
        """Wait until it is warm.

        Raises:
            SlowStart: it takes too long.
            HostDied: it has ended.
        """
        self.control.settimeout(_START_S)
        try:
            said = self.control.recv(1)
        except TimeoutError:
            raise SlowStart(
                f"{self.name} is not ready after {_START_S:g} seconds; start again when this "
                "machine has less to do"
            ) from None
        except OSError:
            said = b""
        self.control.settimeout(None)
        if said != READY:
            how = how_it_ended(self.popen.wait())
            raise HostDied(f"{self.name} ended with {how} when it started")

    def end(self) -> None:
        """Let it end by itself, or end it."""
        self.control.close()
        try:
            self.popen.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


class Hosts:
    """The processes that answer requests."""

    def __init__(self, limits: ServerLimits) -> None:
        """Find the compilers, and start all processes."""
        self._limits = limits
        self._lock = threading.Lock()
        self._running: list[_Process] = []
        self._ended = False
        self.compilers: tuple[Compiler, ...] = compilers()
        self._knows = [
            (one.library, name, one.knows(name))
            for one in self.compilers
            for name in dict.fromkeys(n.names[0] for p in PLATFORMS for n in p.products)
        ]
        ocloc.close()
        try:
            self._jobs = self._start()
        except BaseException:
            self._end_all()
            raise

    def ask(self, tool: str, body: bytes) -> bytes:
        """Answer a request that has been read; return the answer as JSON.

        Raises:
            RequestError: the request is wrong, which only its process could see.
            LimitReached: it took more than it may.
            HostDied: the process broke down.
        """
        for is_last in (False, True):
            own, others = socket.socketpair()
            with own:
                self._hand_over(others)
                try:
                    return self._answer(own, tool, body)
                except _HostGone:  # somebody has ended the host: a new one answers
                    if is_last:
                        raise
        raise HostDied("the process that answers does not stay")

    def end(self) -> None:
        """End all processes."""
        with self._lock:
            self._ended = True
            self._end_all()

    def _answer(self, channel: socket.socket, tool: str, body: bytes) -> bytes:
        until = time.monotonic() + self._limits.job.seconds + _GRACE_S
        try:
            messages.send(channel.fileno(), {"tool": tool}, body)
            received = messages.receive(channel.fileno(), MOST_REQUEST, until)
        except TimeoutError:
            raise LimitReached("time", "the request") from None
        except OSError:
            received = None
        if received is None:
            raise _HostGone("the process that answers has ended")
        about, reply = received
        if about["cause"] in {"time", "memory", "output"}:
            raise LimitReached(about["cause"], "the request")
        if about["cause"] != "answered":
            raise HostDied(_death(about))
        return _unpacked(reply)

    def _hand_over(self, channel: socket.socket) -> None:
        """Give the host of requests a channel; start it again if it has ended."""
        with channel, self._lock:
            if self._ended:
                raise HostDied("the server is ending")
            for _ in range(2):
                try:
                    socket.send_fds(self._jobs.control, [b"c"], [channel.fileno()])
                except OSError:
                    self._end_all()
                    self._jobs = self._start()
                else:
                    return
        raise HostDied("the process that answers does not start")

    def _start(self) -> _Process:
        """Start the hosts of the compilers and that of requests."""
        own: dict[str, socket.socket] = {}
        for one in self.compilers:
            if one.library not in own:
                process, given = self._compiler(one.library)
                own[one.library] = given
                self._running.append(process)
        control, theirs = socket.socketpair()
        settings: Mapping[str, Any] = {
            "limits": asdict(self._limits.job),
            "compilers": [(one.library, one.version, one.origin) for one in self.compilers],
            "knows": self._knows,
            "hosts": {library: given.fileno() for library, given in own.items()},
        }
        command = [sys.executable, "-P", "-m", "visim.serve.hosts.jobs"]
        words = [*command, str(theirs.fileno()), json.dumps(settings)]
        descriptors = [theirs.fileno(), *(given.fileno() for given in own.values())]
        process = _Process(
            "the host of requests", _run(words, _environment(), descriptors), control
        )
        for given in (theirs, *own.values()):
            given.close()
        self._running.append(process)
        for one in self._running:
            one.wait()
        return process

    def _compiler(self, library: str) -> tuple[_Process, socket.socket]:
        """Start the host of a compiler; return it, and the control socket for who uses it."""
        control, theirs = socket.socketpair()
        script = str(Path(compiler_host.__file__))
        limits = json.dumps(asdict(self._limits.build))
        words = worker.python_command(library, "-B", script, str(theirs.fileno()), library, limits)
        special = worker.environment(library) or {}
        environment = _environment()
        if "LD_LIBRARY_PATH" in special:
            environment["LD_LIBRARY_PATH"] = special["LD_LIBRARY_PATH"]
        process = _run(words, environment, [theirs.fileno()])
        theirs.close()
        return _Process(f"the host of {library}", process, control.dup()), control

    def _end_all(self) -> None:
        for process in reversed(self._running):
            process.end()
        self._running.clear()


def _environment() -> dict[str, str]:
    """Return the little of the server's environment that its processes get."""
    handed_on = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    return {**handed_on, **_OWN}


def _run(
    words: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None,
        pass_fds=descriptors,
        start_new_session=True,  # Ctrl-C in the terminal is for the server
    )


def _death(about: Mapping[str, Any]) -> str:
    how, words = how_it_ended(int(about["code"])), str(about["words"]).splitlines()
    return f"its process ended with {how}" + (f": {words[-1]}" if words else "")


def _unpacked(reply: bytes) -> bytes:
    """Return the answer in what a process has written."""
    try:
        wrong, body = messages.unpacked(reply, MOST_REQUEST)
    except messages.BrokenMessage as broken:
        raise HostDied(f"its answer is broken: {broken}") from None
    if wrong is not None:
        raise RequestError(str(wrong["path"]), str(wrong["message"]))
    return body
