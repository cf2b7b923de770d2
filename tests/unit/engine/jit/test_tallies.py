"""What workers have for tallies, where nothing may be tallied."""

from __future__ import annotations

import numpy as np

from visim.engine.jit.launch.records import words
from visim.engine.jit.launch.tallies import MOST_BYTES, Tallies
from visim.engine.jit.layout import Context


def test_there_is_room_for_a_copy_where_all_surfaces_are_known() -> None:
    context = words(int(Context.SIZE))
    tallies = Tallies(context, 3, [1], 0b101)
    assert context[int(Context.TALLY_ROOM)] == MOST_BYTES
    assert context[int(Context.TALLY_SURFACES)] == 0b101
    assert context[int(Context.TALLY_COPY)]
    del tallies


def test_code_finds_its_offsets_where_messages_may_reach_any_surface() -> None:
    """Native code reads the offset of a message that adds before it looks whether there is room."""
    context = words(int(Context.SIZE))
    context[int(Context.TALLY_BYTES)] = 64
    tallies = Tallies(context, 3, [1], None)
    assert context[int(Context.TALLY_ROOM)] == 0
    assert context[int(Context.TALLIES)]
    assert context[int(Context.TALLY_SITES)] == 3
    assert context[int(Context.TALLY_BYTES)] == 0
    before = np.array(context)
    tallies.forget()
    assert np.array_equal(before, context)
