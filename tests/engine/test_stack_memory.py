"""Stacks of threads: refused in words where there is no room, not counted before they are used."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from visim.engine.jit.launch.records import DEEP_STACK_BYTES, Stacks
from visim.errors import UnsupportedError


def test_a_stack_that_the_system_refuses_is_named_with_its_size(monkeypatch):
    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    stacks = Stacks(1 << 20)
    with pytest.raises(UnsupportedError, match=r"refuses 1048576 bytes .* engine='interpreter'"):
        stacks.top(0)
    assert not stacks.tops


def flags_at(address):
    """Return the flags of the mapping that holds an address (proc_pid_smaps(5), VmFlags)."""
    is_here = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            start, end = (int(text, 16) for text in words[0].split("-"))
            is_here = start <= address < end
        elif is_here and words[0] == "VmFlags:":
            return words[1:]
    raise AssertionError(f"no mapping holds {address:#x}")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/smaps")
def test_stacks_are_not_accounted():
    """Linux refuses to fork a process with more accounted memory than the machine has."""
    stacks = Stacks(DEEP_STACK_BYTES)
    for address in (stacks.top(0) - 1, stacks.frames(0, DEEP_STACK_BYTES)):
        assert "ac" not in flags_at(address)
