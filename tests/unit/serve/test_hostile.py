"""A share of hostile requests: the server stays well. `python -m tools.hostile` sends thousands."""

from __future__ import annotations

from tests.shares import choose_seed
from tools.hostile.judging import Judge

COUNT = 40


def test_hostile_requests_do_the_server_nothing():
    judge = Judge(seconds=8.0)
    with judge:
        judge.attack(choose_seed(), COUNT, 3)
    assert not judge.complaints
    assert sum(sum(one.values()) for one in judge.outcomes.values()) == COUNT
