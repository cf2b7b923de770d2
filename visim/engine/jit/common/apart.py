"""LLVM in a process of its own, for modules that take seconds: it can be ended at any time.

LLVM itself cannot be told to stop, and does one thing at a time in a process. The child gets the
processor, the tier and the text, and answers with the object file.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from time import monotonic
from weakref import WeakSet

from visim.engine.jit.common.native import Processor, object_code
from visim.engine.jit.common.tiers import Tier
from visim.engine.stops import go_on

_PATIENCE_S = 0.05
LONG = 20_000
"""Modules of more lines are made in a process of its own, which can be ended at any time."""
_KEPT_FROM_CHILD = ("LD_PRELOAD", "PYTHONSTARTUP", "PYTHONINSPECT")
"""What a program that runs under visim may have set for itself, and the compiler does not want."""


def compiled(text: str, made_for: Processor, tier: Tier) -> bytes:
    """Return the object file of a module, made in a process of its own if that takes long.

    Raises:
        Stopped: who waits for it has to stop.
        KeyboardInterrupt: likewise.
    """
    lines = text.count("\n")
    child = _Child.started(text, made_for, tier) if lines > LONG else None
    if child is None:
        return object_code(text, made_for, tier)
    began = monotonic()
    try:
        while not child.is_done(_PATIENCE_S):
            go_on(f"LLVM, {monotonic() - began:.0f} s of about {lines // _LINES_PER_S + 1}")
        found = child.result()
    finally:
        child.end()
    # Where the child could not, such as for want of memory, this process may, or says why not.
    return object_code(text, made_for, tier) if found is None else found


_LINES_PER_S = 60_000
"""So many lines LLVM makes at the least in a second (measured on a Zen 4)."""


class _Child:
    """A process that makes one object file."""

    def __init__(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        self._process = process
        self._found: Future[bytes] = Future()
        self._thread = Thread(target=self._talk, args=(data,), name="visim LLVM", daemon=True)
        self._thread.start()
        ALIVE.add(self)

    @classmethod
    def started(cls, text: str, made_for: Processor, tier: Tier) -> _Child | None:
        """Return a process that has begun; None where no other one is to be had."""
        if not sys.executable:
            return None
        order = {"name": made_for.name, "features": made_for.features, "tier": tier.name}
        env = {name: value for name, value in os.environ.items() if name not in _KEPT_FROM_CHILD}
        env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=pipe,
                stdout=pipe,
                stderr=subprocess.DEVNULL,
                env=env,
                start_new_session=True,  # Ctrl-C is for who waits; it ends the child
            )
        except OSError:
            return None
        try:
            return cls(process, json.dumps(order).encode() + b"\n" + text.encode())
        except RuntimeError:
            process.kill()
            return None

    def _talk(self, data: bytes) -> None:
        found = b""
        with suppress(OSError, ValueError):
            found, _ = self._process.communicate(data)
        self._found.set_result(found)

    def is_done(self, seconds: float) -> bool:
        """Wait for so long at most; return whether the child has answered."""
        self._thread.join(seconds)
        return self._found.done()

    def result(self) -> bytes | None:
        """Return the object file, or None if the child ended without one."""
        return self._found.result() if self._process.returncode == 0 else None

    @property
    def has_ended(self) -> bool:
        """Whether the process is not there any more."""
        return self._process.poll() is not None

    def end(self) -> None:
        """End the process if it still works."""
        if not self.has_ended:
            self._process.kill()


ALIVE = WeakSet[_Child]()
"""What this process has started; it ends them with itself."""


@atexit.register
def _end_all() -> None:
    for child in list(ALIVE):
        child.end()


def _main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    text = sys.stdin.buffer.read().decode()
    made_for = Processor(order["name"], order["features"])
    sys.stdout.buffer.write(object_code(text, made_for, Tier[order["tier"]]))


__all__ = ["ALIVE", "compiled"]

if __name__ == "__main__":
    _main()
