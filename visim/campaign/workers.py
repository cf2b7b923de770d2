"""Workers as who asks them has them: started when needed, and again when they have gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import Any

from visim import messages
from visim.campaign.children import LONGEST, MOST_ANSWER, Limits
from visim.campaign.outcomes import Outcome, Result

MOST_ATTEMPTS = 3
_PATIENCE_S = 60.0
"""So much longer than a cell may take a worker may be silent."""


class Worker:
    """A process that runs cells, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    @property
    def pid(self) -> int | None:
        """The number of its process, None before the first cell."""
        return None if self._process is None else self._process.pid

    def run(self, cell: Mapping[str, Any], limits: Limits) -> Result:
        """Return what comes of a cell; one that ends its worker is begun anew, a few times."""
        result = Result(Outcome.LOST)
        for attempt in range(1, MOST_ATTEMPTS + 1):
            result = self._once(cell, limits)
            result = replace(result, took=replace(result.took, attempts=attempt))
            if result.outcome is not Outcome.LOST or self._is_over:
                break
        return result

    def end(self) -> None:
        """End the process for good, whatever it does and whichever thread waits for it."""
        self._is_over = True
        process = self._process
        if process is not None:
            process.kill()

    def _once(self, cell: Mapping[str, Any], limits: Limits) -> Result:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"cell": cell, "limits": {"seconds": limits.seconds, "memory": limits.memory}}
        try:
            messages.send(process.stdin.fileno(), asked)
            until = monotonic() + LONGEST * limits.seconds + _PATIENCE_S
            received = messages.receive(process.stdout.fileno(), MOST_ANSWER, until)
        except TimeoutError:
            self.close()
            return Result(Outcome.LOST, "its worker did not answer")
        except (OSError, messages.BrokenMessage):
            received = None
        if received is None:
            self.close()
            return Result(Outcome.LOST, "its worker went away")
        try:
            return Result.of(received[0])
        except (KeyError, TypeError, ValueError) as error:
            return Result(Outcome.CRASHED, f"its answer is no result: {error!r}")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "visim.campaign.server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        return self._process

    def close(self) -> None:
        """End the process, and with it the cell that it may have."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Idle:
    """Workers of this process that nobody uses at the moment; as many as are used at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[Worker] = []
        self._all: list[Worker] = []

    def run(self, cell: Mapping[str, Any], limits: Limits) -> Result:
        """Run a cell on one of them."""
        with self._lock:
            if self._idle:
                worker = self._idle.pop()
            else:
                worker = Worker()
                self._all.append(worker)
        try:
            return worker.run(cell, limits)
        finally:
            with self._lock:
                self._idle.append(worker)

    def pids(self) -> list[int]:
        """Return the numbers of the processes."""
        with self._lock:
            return [worker.pid for worker in self._all if worker.pid is not None]

    def end(self) -> None:
        """End all of them, also those that work; who waits for one hears that it is lost."""
        with self._lock:
            for worker in self._all:
                worker.end()

    def close(self) -> None:
        """End all of them, when nobody waits for one any more."""
        self.end()
        for worker in self._all:
            worker.close()
