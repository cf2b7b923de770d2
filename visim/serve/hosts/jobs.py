"""The host of requests: visim loaded and warm, forked for each request.

Run as `python -m visim.serve.hosts.jobs CONTROL SETTINGS`. Compilers run in hosts of their own,
which the process of a request reaches over a channel that is only its own.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import visim
from visim import messages
from visim.exits import how_it_ended
from visim.runtime.compiling import ocloc
from visim.runtime.compiling.compilers import Compiler, take_as_found
from visim.runtime.compiling.worker import Answer, CompilerDied, request
from visim.serve.answering.answers import CRASH, failed
from visim.serve.answering.answers import answer as make_answer
from visim.serve.answering.launching import Clock
from visim.serve.hosts.confinement import Limits
from visim.serve.hosts.forkserver import MOST_REQUEST, ForkServer, Reply, Work
from visim.serve.limits import PREPARING_S, LimitReached
from visim.serve.shapes import RequestError
from visim.serve.tools import TOOLS

_SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo")
_DEVICES = (
    "/dev/urandom",
    "/dev/zero",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)
_EXAMPLE = Path(visim.__file__).parent / "examples" / "saxpy" / "saxpy.zebin"
_BUILD_S = 600.0
"""Builds end by the limits of their own host, or with the request."""


@dataclass(frozen=True)
class Settings:
    """What the server tells this process.

    Attributes:
        limits: what the process of a request may take.
        compilers: all compilers: library, version and origin of each.
        knows: library, device, and whether the compiler builds for it.
        hosts: the control sockets of the compilers' hosts, by library.
    """

    limits: Limits
    compilers: Sequence[tuple[str, str, str]]
    knows: Sequence[tuple[str, str, bool]]
    hosts: Mapping[str, int]


def main(control: str, settings: str) -> None:
    """Serve requests until the control socket is closed."""
    read = json.loads(settings)
    given = Settings(Limits(**read.pop("limits")), **read)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    known = [Compiler(*one) for one in given.compilers]
    take_as_found(known, {(library, device): knows for library, device, knows in given.knows})
    _warm_up()
    hosts = {
        library: socket.socket(fileno=descriptor) for library, descriptor in given.hosts.items()
    }
    jobs = _Jobs(hosts, given.limits)
    readable = (*_SYSTEM, *_DEVICES, *_own_folders())
    work = Work(jobs.answer, readable, jobs.handles)
    gc.collect()
    gc.freeze()
    ForkServer(socket.socket(fileno=int(control)), work, given.limits).serve()


def _own_folders() -> tuple[str, ...]:
    """Return where the code of visim and of what it needs lies."""
    found = [str(Path(visim.__file__).parent)]
    found += [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    return tuple(dict.fromkeys(path for path in found if path))


def _warm_up() -> None:
    """Load and use all that requests need, so that a forked process has nothing to load."""
    for tool in TOOLS.values():
        tool.load()
    kernel = visim.load(_EXAMPLE)["saxpy"]
    arrays = [np.ones(64, np.float32), np.ones(64, np.float32)]
    timing = visim.timing.Timing("dg2")
    for options in ({"engine": "jit"}, {"sanitize": "all"}, {"observers": [timing]}):
        launch: Any = kernel.launch
        launch([*arrays, np.float32(2), 64], global_size=64, workers=1, **options)
    str(timing.result)
    kernel.info()
    visim.verify(_EXAMPLE)
    others = threading.active_count() - 1
    if others:
        raise RuntimeError(f"{others} threads run, which a forked process would not have")


class _Jobs:
    """Answers requests; each forked process has a channel to each compiler's host."""

    def __init__(self, hosts: Mapping[str, socket.socket], limits: Limits) -> None:
        self._hosts = hosts
        self._limits = limits

    def handles(self) -> list[int]:
        """Make a channel to each compiler's host."""
        made: list[int] = []
        for host in self._hosts.values():
            own, others = socket.socketpair()
            socket.send_fds(host, [b"c"], [others.fileno()])
            others.close()
            made.append(own.detach())
        return made

    def answer(self, head: Any, body: bytes, handles: Sequence[int]) -> Reply:
        """Answer one request, in its process."""
        begin = time.monotonic()
        builds = _Builds(dict(zip(self._hosts, handles, strict=True)))
        ocloc.invoke_by(builds.invoke)
        sys.addaudithook(_Guard(_own_folders()).hear)
        tool = TOOLS[head["tool"]]
        clock = Clock(begin + max(0.5, self._limits.seconds - PREPARING_S))
        try:
            answer = tool.load()(tool.read(json.loads(body)), clock)
        except RequestError as error:
            return {"path": error.path, "message": error.message}, b""
        except CompilerDied as death:
            text = f"the compiler crashed ({death.how}); it said: {death.words}"
            answer = make_answer(CRASH, text, "make the program smaller, or report it")
        except Exception as error:
            answer = failed(error)
        return None, json.dumps(answer, allow_nan=False).encode()


class _Builds:
    """Runs compilers in their hosts, over the channels of this process."""

    def __init__(self, channels: Mapping[str, int]) -> None:
        self._channels = channels

    def invoke(
        self,
        library: str,
        arguments: list[str],
        source: tuple[str, bytes] | None,
        timeout: float,
        files: Mapping[str, bytes],
    ) -> Answer:
        """Do what `ocloc.invoke` does."""
        channel = self._channels[library]
        messages.send(channel, *request(arguments, source, files))
        received = messages.receive(
            channel, MOST_REQUEST, time.monotonic() + min(timeout, _BUILD_S)
        )
        if received is None:
            raise CompilerDied("its host has ended", "")
        about, body = received
        match about["cause"]:
            case "answered":
                try:
                    return Answer.of(*messages.unpacked(body, MOST_REQUEST))
                except messages.BrokenMessage as broken:
                    raise CompilerDied(f"its answer is broken: {broken}", about["words"]) from None
            case "crash":
                ended = int(about["code"])
                raise CompilerDied(how_it_ended(ended), about["words"], by_signal=ended < 0)
            case cause:
                raise LimitReached(cause, "the compiler")


class _Guard:
    """Refuses to open files that texts of strangers name, whatever the kernel can confine."""

    def __init__(self, folders: Sequence[str]) -> None:
        own = (*folders, *_SYSTEM, *_DEVICES, "/dev/null")
        self._allowed = tuple(f"{path}/" for path in own) + own
        self._work = f"{Path.cwd()}/"

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at a file that Python is about to open."""
        if event != "open" or not isinstance(arguments[0], (str, bytes)):
            return
        path = os.path.realpath(os.fsdecode(arguments[0]))
        if not path.startswith((self._work, *self._allowed)):
            raise PermissionError(13, "not a file of this request", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
