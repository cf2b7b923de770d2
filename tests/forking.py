"""Whether a worker of the tests can still fork.

A process with one private mapping larger than the machine's memory cannot (Linux, overcommit by
heuristics). Some earlier test of a long run leaves such a mapping behind; which one is not known.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

FORKING = {
    "test_background.py",
    "test_children.py",
    "test_conformance.py",
    "test_forks.py",
    "test_presets.py",
    "test_reduce.py",
}
"""Modules whose tests fork this process."""


def need_fork(item: pytest.Item) -> None:
    """Let go of what nobody has any more, and skip a test that forks where that does not help."""
    if item.path.name not in FORKING or _can_fork():
        return
    gc.collect()
    if not _can_fork():
        pytest.skip(f"this worker cannot fork any more; its largest mapping: {_largest_mapping()}")


def _can_fork() -> bool:
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def _largest_mapping() -> str:
    """Return the line of /proc/self/maps with the most bytes that are private and written."""
    with Path("/proc/self/maps").open(encoding="utf-8") as maps:
        lines = [line.strip() for line in maps if line.split()[1] in ("rw-p", "rwxp")]
    return max(lines, key=_bytes_of, default="none")


def _bytes_of(line: str) -> int:
    start, end = (int(text, 16) for text in line.split()[0].split("-"))
    return end - start
