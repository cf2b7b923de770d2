"""A launch that goes on in the background: what `Kernel.launch(..., wait=False)` returns."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Event, Thread
from typing import Any

from visim.errors import UnsupportedError
from visim.runtime.launching.report import Report

__all__ = ["CancelledError", "LaunchHandle"]


class LaunchHandle:
    """A running launch.

    Args:
        run: does the launch; it asks the event now and then and raises CancelledError once it
            is set.
    """

    def __init__(self, run: Callable[[Event], Report]) -> None:
        self._run = run
        self._stop = Event()
        self._report: Report | None = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._work, name="visim launch", daemon=True)
        self._thread.start()

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "a launch that runs in this process can be neither copied nor pickled; "
            "its result() can, once it has ended"
        )

    def __repr__(self) -> str:
        return f"<LaunchHandle: {'done' if self.done() else 'running'}>"

    def done(self) -> bool:
        """Return whether the launch has ended, in whatever way."""
        return not self._thread.is_alive()

    def cancel(self) -> bool:
        """Ask the launch to stop where it is; return whether it still ran."""
        running = not self.done()
        self._stop.set()
        return running

    def result(self, timeout: float | None = None) -> Report:
        """Wait for the end and return the report.

        Args:
            timeout: seconds to wait at most; None waits as long as it takes.

        Raises:
            TimeoutError: the launch still runs after `timeout` seconds.
            CancelledError: it was cancelled before its end; the message says where it was.
            FaultError: it stopped with a fault.
            UnsupportedError: this process was forked from the one in which the launch runs.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"the launch still runs after {timeout} s")
        if self._error is not None:
            raise self._error
        if self._report is None:
            raise UnsupportedError(
                "the launch goes on in the process that began it, from which this one was forked "
                "while it ran; ask there for its result, or launch here"
            )
        return self._report

    def _work(self) -> None:
        try:
            self._report = self._run(self._stop)
        except BaseException as error:
            self._error = error
