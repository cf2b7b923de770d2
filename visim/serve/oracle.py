"""The oracle: reads requests, answers them from what is kept or in a process, and keeps answers.

Fronts (HTTP, MCP) hand it the name of a tool and a JSON value; they get an answer, or an error that
says which field is wrong. It looks at nothing that strangers have sent but JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

from visim.errors import VisimError
from visim.serve.answering.answers import CRASH, LIMIT, SCHEMA_VERSION, limited
from visim.serve.answering.answers import answer as make_answer
from visim.serve.hosting import HostDied, Hosts, SlowStart
from visim.serve.keeping import KeptBytes
from visim.serve.limits import LimitReached, ServerLimits
from visim.serve.shapes import RequestError
from visim.serve.tools import find_tool

_NOT_KEPT = frozenset({LIMIT, CRASH})
"""Verdicts that may be others on a machine that has less to do."""

_PATIENCE = 4
"""So many times as long as a request may take another one waits."""


class Busy(VisimError):
    """More requests wait than may."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer as JSON, and whether it was kept from before."""

    data: bytes
    is_cached: bool
    seconds: float


class Oracle:
    """Answers requests; several threads may ask at the same time."""

    def __init__(self, *, workers: int | None = None, limits: ServerLimits | None = None) -> None:
        """Start the processes.

        Args:
            workers: how many requests are worked on at the same time; as many as there are CPUs.
            limits: what a request may take.
        """
        self.limits = limits or ServerLimits()
        self.workers = workers or len(os.sched_getaffinity(0))
        self._cache = KeptBytes(self.limits.cached)
        self._slots = threading.BoundedSemaphore(self.workers)
        self._waiting = threading.BoundedSemaphore(self.workers + self.limits.waiting)
        self._hosts = Hosts(self.limits)
        self._counts = {"answered": 0, "cached": 0, "refused": 0, "broken_down": 0}
        self._salt = self._identity()

    def call(self, name: str, arguments: object) -> Answered:
        """Answer a request.

        Args:
            name: the tool.
            arguments: the request, a JSON value.

        Raises:
            RequestError: the request is wrong.
            Busy: too many requests wait.
        """
        begin = time.monotonic()
        try:
            tool = find_tool(name)
            tool.read(arguments)
            body = _canonical(arguments)
            key = hashlib.sha256(self._salt + name.encode() + b"\0" + body).digest()
            kept = self._cache.get(key)
            if kept is not None:
                self._counts["cached"] += 1
                return Answered(kept, is_cached=True, seconds=time.monotonic() - begin)
            answer = self._answered(name, body)
        except RequestError:
            self._counts["refused"] += 1
            raise
        data = _canonical({"schema_version": SCHEMA_VERSION, "tool": name, **answer})
        if answer["verdict"] not in _NOT_KEPT:
            self._cache.put(key, data)
        self._counts["answered"] += 1
        return Answered(data, is_cached=False, seconds=time.monotonic() - begin)

    def facts(self) -> dict[str, Any]:
        """Return how the server is."""
        return {
            "version": version("visim"),
            "workers": self.workers,
            "compilers": [str(one) for one in self._hosts.compilers],
            "kept": len(self._cache),
            **self._counts,
        }

    def close(self) -> None:
        """End the processes."""
        self._hosts.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answered(self, name: str, body: bytes) -> dict[str, Any]:
        """Have a process answer; at most so many work at the same time, and wait."""
        if not self._waiting.acquire(blocking=False):
            raise Busy("too many requests wait; ask again in a second")
        try:
            if not self._slots.acquire(timeout=_PATIENCE * self.limits.job.seconds):
                raise Busy("the requests before take too long; ask again in a minute")
            try:
                return json.loads(self._hosts.ask(name, body))
            finally:
                self._slots.release()
        except LimitReached as error:
            return limited(error.what, error.who)
        except SlowStart as error:
            raise Busy(str(error)) from None
        except HostDied as error:
            self._counts["broken_down"] += 1
            text = f"visim broke down: {error}"
            return make_answer(CRASH, text, "this is a bug of visim; report it with the request")
        finally:
            self._waiting.release()

    def _identity(self) -> bytes:
        """Return what answers depend on beside requests: visim and its compilers."""
        known = [version("visim"), *(str(one) for one in self._hosts.compilers)]
        known.append(repr(self.limits))
        return hashlib.sha256("\n".join(known).encode()).digest()


def _canonical(value: object) -> bytes:
    """Return a JSON value as bytes that are the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
