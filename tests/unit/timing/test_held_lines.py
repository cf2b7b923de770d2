"""What an L3 holds of lines that come again, against one that is played through (Che et al.)."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

from visim.timing.warming import Footprint, held

_SHARED, _COMMON, _STRETCHES = 2000, 100, 300


def _found(room: int, own: int) -> float:
    """Return the part of the shared lines that a cache of so many lines finds, once it is warm."""
    rng = np.random.default_rng(11)
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for stretch in range(_STRETCHES):
        shared = rng.choice(_SHARED, _COMMON, replace=False)
        alone = _SHARED + own * stretch + np.arange(own)
        for line in rng.permutation(np.concatenate([shared, alone])).tolist():
            if line in cache:
                hits += stretch >= _STRETCHES // 2
                cache.move_to_end(line)
                continue
            cache[line] = None
            if len(cache) > room:
                cache.popitem(last=False)
    return hits / (_COMMON * (_STRETCHES - _STRETCHES // 2))


@pytest.mark.parametrize("own", [0, 20, 100])
@pytest.mark.parametrize("room", [500, 1000, 1900, 2500])
def test_lines_that_come_again_are_found_as_often_as_in_a_cache(room: int, own: int) -> None:
    footprint = Footprint(_COMMON + own, _COMMON, _SHARED)
    assert held(footprint, room, _STRETCHES) == pytest.approx(_found(room, own), abs=0.03)
