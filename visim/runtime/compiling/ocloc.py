"""The compiler processes: started when first needed, used again, replaced after a crash.

There is one for each compiler that is used, and another one if it has to leave notes on variables,
never shared across a fork, and all end at exit. They work one after the other.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from visim.runtime.compiling.worker import Answer, Worker, request

_INTERPRETER_END_S = 5.0
"""So long a daemon thread waits to be gone with the interpreter."""


_Key = tuple[str, bool]
"""A library, and whether its process leaves notes on variables."""


class _Shared:
    """The workers that all builds of this process use, by library and whether they leave notes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.workers: dict[_Key, Worker] = {}
        self.ended = False
        self.others: Invoke | None = None

    def running(self, key: _Key) -> Worker:
        """Return the worker of a library, started if there is none."""
        worker = self.workers.get(key)
        if worker is not None and not worker.is_alive:
            self.close(key)
            worker = None
        if worker is None:
            library, notes = key
            worker = self.workers[key] = Worker(library, notes=notes)
        return worker

    def close(self, key: _Key) -> None:
        """End the worker of a library if there is one."""
        worker = self.workers.pop(key, None)
        if worker is not None:
            worker.close()

    def close_all(self) -> None:
        """End all workers."""
        for key in tuple(self.workers):
            self.close(key)

    def end(self) -> None:
        """End all workers with the interpreter, when daemon threads may still wait for one."""
        self.ended = True
        if self.lock.acquire(blocking=False):
            self.close_all()
            self.lock.release()
            return
        for worker in tuple(self.workers.values()):
            worker.kill()

    def wait_for_the_end(self) -> None:
        """Do not come back in a daemon thread of an interpreter that ends: nobody wants to know.

        But a handler of its end that waits for the thread does; then it does not end meanwhile.
        """
        if self.ended and threading.current_thread().daemon:
            threading.Event().wait(_INTERPRETER_END_S)

    def forget(self) -> None:
        """Leave the workers to the parent process: this one was forked from it."""
        workers, self.workers = self.workers, {}
        self.lock = threading.Lock()
        for worker in workers.values():
            worker.abandon()


Invoke = Callable[
    [str, list[str], tuple[str, bytes] | None, float, Mapping[str, bytes]],
    Answer,
]
"""What has the arguments of `invoke`, and does the same."""
_shared = _Shared()
atexit.register(_shared.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.forget)


def invoke(
    library: str,
    arguments: list[str],
    source: tuple[str, bytes] | None,
    timeout: float,
    files: Mapping[str, bytes] = MappingProxyType({}),
    *,
    notes: bool = False,
) -> Answer:
    """Call oclocInvoke in a compiler process.

    Args:
        library: The path or name of the compiler's library.
        arguments: The words of the command line, `ocloc` first.
        source: The name and bytes of the input file, if there is one.
        timeout: How many seconds it may take.
        files: What has to be in the current directory, by the paths from there.
        notes: Whether the answer is to have the compiler's notes on where variables are
            (`visim.binary.debuginfo`). Processes that others run have none.

    Raises:
        ToolMissing: The library cannot be loaded.
        CompilerDied: The compiler crashed; the next call starts a new one.
        CompilerStuck: It took too long and was ended.
    """
    if _shared.others is not None:
        return _shared.others(library, arguments, source, timeout, files)
    head, body = request(arguments, source, files)
    key = library, notes
    _shared.wait_for_the_end()
    try:
        with _shared.lock:
            try:
                return _shared.running(key).ask(head, body, timeout)
            except BaseException:  # also Ctrl-C: an answer may still come, for nobody
                _shared.close(key)
                raise
    except BaseException:
        _shared.wait_for_the_end()
        raise


def invoke_by(others: Invoke) -> None:
    """Let `others` run the compilers that this process asks for, in processes that it has."""
    _shared.others = others


def path_of(library: str) -> Path:
    """Return the file from which a compiler's library is loaded.

    Raises:
        ToolMissing: It cannot be loaded.
        CompilerDied: The process ends.
        CompilerStuck: The process does not answer.
    """
    with _shared.lock:
        return _shared.running((library, False)).library


def close() -> None:
    """End the compiler processes; the next build starts new ones."""
    with _shared.lock:
        _shared.close_all()
