"""How a child process ended, in words."""

from __future__ import annotations

import signal


def how_it_ended(code: int) -> str:
    """Return an exit code as Python gives it: "exit code 3", or for -9 "SIGKILL"."""
    return signal_name(-code) if code < 0 else f"exit code {code}"


def signal_name(number: int) -> str:
    """Return a signal's name, or "signal N" for one that has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
