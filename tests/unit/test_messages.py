"""Messages between processes: pieces, ends and nonsense."""

from __future__ import annotations

import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim import messages
from visim.messages import BrokenMessage

MOST = 1 << 12
HEADS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(st.lists(st.tuples(HEADS, st.binary(max_size=40)), max_size=4), st.integers(1, 30))
def test_messages_come_whole_whatever_their_pieces(sent, size):
    data = b"".join(messages.packed(*one) for one in sent)
    incoming, found = messages.Incoming(MOST), []
    for place in range(0, len(data), size):
        incoming.add(data[place : place + size])
        while (message := incoming.take()) is not None:
            found.append(message)
    assert found == sent


@given(st.binary(max_size=60))
def test_bytes_of_strangers_are_a_message_or_refused(data):
    try:
        head, body = messages.unpacked(data, MOST)
    except BrokenMessage:
        return
    assert len(body) <= len(data)
    assert head is None or isinstance(head, dict | list | str | int | float)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "only a part"),
        (messages.packed({"a": 1}, b"xyz")[:-1], "only a part"),
        ((1 << 40).to_bytes(8, "little"), "1099511627776 bytes, at most 4096"),
        (bytes(MOST + 1), "4097 bytes, at most 4096"),
        ((2).to_bytes(8, "little") + b"{]" + bytes(8), "no JSON"),
    ],
)
def test_what_is_wrong_is_said(data, words):
    with pytest.raises(BrokenMessage, match=words):
        messages.unpacked(data, MOST)


def test_who_waits_learns_that_the_sender_has_gone_or_is_late():
    reading, writing = os.pipe()
    try:
        messages.send(writing, {"n": 1}, b"body")
        assert messages.receive(reading, MOST, math.inf) == ({"n": 1}, b"body")
        with pytest.raises(TimeoutError):
            messages.receive(reading, MOST, 0.0)
        os.close(writing)
        assert messages.receive(reading, MOST, math.inf) is None
    finally:
        os.close(reading)
