"""Where the model has flat memory: on pages of its own, as drivers do, whatever NumPy does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import visim
from visim.timing import Timing
from visim.timing.traces import placement

_SCALE = Path(__file__).parents[2] / "corpus" / "scale_pvc.zebin"
_ITEMS = 4096


def _floats(offset: int) -> NDArray[np.float32]:
    """Return an array that begins so many bytes behind a multiple of 64."""
    room = np.zeros(4 * _ITEMS + 128, np.uint8)
    first = -room.ctypes.data % 64 + offset
    return room[first : first + 4 * _ITEMS].view(np.float32)


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
@pytest.mark.parametrize("offset", [0, 16, 36])
def test_rows_of_work_items_touch_the_lines_that_their_bytes_need(engine: str, offset: int) -> None:
    kernel = visim.load(_SCALE).kernels[0]
    timing = Timing("bmg")
    kernel.launch(
        [_floats(offset), 2.0, _ITEMS], global_size=_ITEMS, observers=[timing], engine=engine
    )
    touched = [line.data.site.lines * 64 for line in timing.result.lines if line.data]
    assert touched == [4 * _ITEMS] * 2


def test_stretches_begin_on_pages_in_the_order_of_the_arguments() -> None:
    placed = placement(((0x9010, 100), (0x1234, 7_000)))
    found = placed.begins + placed.moves
    assert placed.begins.tolist() == [0x1234, 0x9010]
    assert (found % 65536).tolist() == [0, 0]
    assert found[0] - found[1] == 65536


def test_what_overlaps_stays_together() -> None:
    placed = placement(((0x1000, 64), (0x1020, 256), (0x1120, 8), (0x3000, 0)))
    assert placed.begins.tolist() == [0x1000]
    assert placed.ends.tolist() == [0x1128]
