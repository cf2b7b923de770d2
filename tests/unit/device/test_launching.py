"""Payloads as the driver lays them out in a walker's data."""

from __future__ import annotations

import pytest

from visim.binary.zeinfo import PayloadArgument
from visim.device.launching import common_bytes


@pytest.mark.parametrize(("end", "wanted"), [(0, 0), (12, 32), (32, 32), (56, 64), (100, 128)])
def test_local_ids_begin_behind_what_all_threads_share(end: int, wanted: int) -> None:
    """Not from the end: the driver pads the data, as a group of 37 work-items showed."""
    given = (PayloadArgument("global_size", end - 12, 12),) if end else ()
    assert common_bytes(given) == wanted
