"""How much a request may take, and what is said when it is more."""

from __future__ import annotations

from dataclasses import dataclass

from visim.errors import VisimError
from visim.serve.hosts.confinement import Limits

MEGABYTE = 1 << 20
PREPARING_S = 2.0
"""So many seconds before its end a launch is stopped, so that the answer says where it was."""

JOB = Limits(seconds=20.0, memory=1024 * MEGABYTE, output=MEGABYTE)
BUILD = Limits(seconds=15.0, memory=2048 * MEGABYTE, output=32 * MEGABYTE)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server.

    Attributes:
        request: bytes of a request.
        receiving: seconds in which a request has to be there.
        job: what the process of a request may take.
        build: what the process of a build may take, which is part of a request.
        waiting: how many requests may wait for a process.
        connections: how many connections may be open.
        cached: bytes of answers that are kept.
    """

    request: int = 8 * MEGABYTE
    receiving: float = 10.0
    job: Limits = JOB
    build: Limits = BUILD
    waiting: int = 64
    connections: int = 128
    cached: int = 64 * MEGABYTE


class LimitReached(VisimError):
    """A request takes more than it may; `what` is time, memory or output, `who` took it."""

    def __init__(self, what: str, who: str) -> None:
        super().__init__(what, who)
        self.what = what
        self.who = who
