"""Threads whose stacks the system has no room for are refused in words."""

from __future__ import annotations

import mmap

import pytest

from visim.engine.jit.launch.records import Stacks
from visim.errors import UnsupportedError


def test_a_stack_that_the_system_refuses_is_named_with_its_size(monkeypatch):
    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    stacks = Stacks(1 << 20)
    with pytest.raises(UnsupportedError, match=r"refuses 1048576 bytes .* engine='interpreter'"):
        stacks.top(0)
    assert not stacks.tops
