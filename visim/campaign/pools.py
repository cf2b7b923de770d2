"""Where cells run: a number of workers that take one each. This one has them on this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from visim.campaign.cells import Cell
from visim.campaign.children import Limits
from visim.campaign.outcomes import Result
from visim.campaign.workers import Idle
from visim.errors import ToolMissing

MOST_JOBS = 1024


class PoolGoneError(ToolMissing):
    """Whoever runs cells has gone as a whole."""


Done = Callable[[Cell, Result | PoolGoneError], None]


class Pool(Protocol):
    """Runs cells, several at a time, in processes of their own."""

    @property
    def size(self) -> int:
        """How many cells run at a time; it may change."""
        ...

    def submit(self, cell: Cell, limits: Limits, done: Done) -> None:
        """Have a cell run; `done` is called from any thread when it has."""
        ...

    def close(self) -> None:
        """End the workers, whatever they do."""
        ...


class LocalPool:
    """Worker processes of this machine.

    Args:
        jobs: how many.
    """

    def __init__(self, jobs: int) -> None:
        self.size = jobs
        self.workers = Idle()
        self._threads = ThreadPoolExecutor(jobs, "campaign")

    def submit(self, cell: Cell, limits: Limits, done: Done) -> None:
        """Have a cell run."""
        future = self._threads.submit(self.workers.run, cell.to_dict(), limits)

        def tell(ended: Future[Result]) -> None:
            if not ended.cancelled():
                done(cell, ended.result())

        future.add_done_callback(tell)

    def close(self) -> None:
        """End the workers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.workers.end()
        self._threads.shutdown()
        self.workers.close()
