"""Running a program and waiting for it: what `visim exec` does where its exit code depends on more.

The program gets the signals of the terminal, as if nothing stood between; those that are sent to
visim are handed on.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from visim.device.watching import FOUND_VARIABLE, counted
from visim.exits import signal_name

_FOUND = 1
_SIGNALLED = 128
_HANDED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_WANTED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
"""Shells tell of a program that another signal ended, but here it is not theirs."""


def run_watched(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program under sanitizers; return its exit code, 1 for 0 if they found something."""
    with tempfile.TemporaryDirectory(prefix="visim-exec-") as room:
        found = Path(room) / "findings"
        code = _run(words, {**environment, FOUND_VARIABLE: str(found)})
        return _FOUND if code == 0 and counted(found) else code


def _run(words: Sequence[str], environment: Mapping[str, str]) -> int:
    with subprocess.Popen(words, env=environment) as program:

        def hand_on(number: int, frame: FrameType | None) -> None:
            del frame
            program.send_signal(number)

        before = {number: signal.signal(number, hand_on) for number in _HANDED_ON}
        before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = program.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if code < 0 and -code not in _WANTED:
        sys.stderr.write(f"visim: the program was ended by {signal_name(-code)}\n")
    return _SIGNALLED - code if code < 0 else code
