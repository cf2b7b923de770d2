"""What workers have for tallies: room, offsets, the surfaces that may reach what is tallied."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numpy.typing import NDArray

from visim.engine.jit.launch.records import words
from visim.engine.jit.launch.tallies import MOST_BYTES, Tallies
from visim.engine.jit.layout import Context
from visim.machine.surfaces import Surfaces


@pytest.fixture(name="surfaces")
def surfaces_fixture() -> Surfaces:
    found = Surfaces()
    for index in (0, 1, 239):
        found.bind(index, np.zeros(4, np.uint32), f"surface {index}")
    return found


def reached(context: NDArray[np.uint64]) -> list[int]:
    """Return the numbers of the surfaces that native code looks at."""
    place = int(context[int(Context.TALLY_SURFACES)])
    count = ctypes.c_uint64.from_address(place).value
    return sorted(ctypes.c_uint64.from_address(place + 8 * n).value for n in range(1, 1 + count))


@pytest.mark.parametrize(
    ("known", "wanted"), [(0, []), (0b101, [0]), (1 << 239, [239]), (None, [0, 1, 239])]
)
def test_surfaces_that_messages_may_reach_are_looked_at(
    surfaces: Surfaces, known: int | None, wanted: list[int]
) -> None:
    context = words(int(Context.SIZE))
    tallies = Tallies(context, 3, [1], known, allowed=True)
    tallies.forget(surfaces)
    assert context[int(Context.TALLY_ROOM)] == MOST_BYTES
    assert context[int(Context.TALLY_COPY)]
    assert reached(context) == wanted
    tallies.forget(Surfaces())
    assert reached(context) == []


def test_code_finds_its_offsets_where_nothing_may_be_tallied(surfaces: Surfaces) -> None:
    """Native code reads the offset of a message that adds before it looks whether there is room."""
    context = words(int(Context.SIZE))
    context[int(Context.TALLY_BYTES)] = 64
    tallies = Tallies(context, 3, [1], None, allowed=False)
    tallies.forget(surfaces)
    assert context[int(Context.TALLY_ROOM)] == 0
    assert context[int(Context.TALLIES)]
    assert context[int(Context.TALLY_SITES)] == 3
    assert context[int(Context.TALLY_BYTES)] == 0
