"""What tests of the engines share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def interrupted_by_default() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where tests are started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
