"""What tests of the engines share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from time import sleep

import pytest

from visim.engine.jit.common.ahead import AHEAD


@pytest.fixture
def interrupted_by_default() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where tests are started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def nothing_to_compile() -> None:
    """Nobody compiles what tests before have bound."""
    while AHEAD.is_busy:
        sleep(0.001)
