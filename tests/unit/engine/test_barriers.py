"""Barriers of a thread group (specification 6: BARRIER, SBARRIER, NBARRIER)."""

from __future__ import annotations

import pytest

from visim.engine.barriers import BarrierMisuse, Barriers
from visim.sem.effects import Barrier

BOTH, PRODUCER, CONSUMER = 0, 1, 2


class TestGroup:
    def test_it_opens_when_all_threads_have_signalled(self):
        barriers = Barriers(3)
        for thread in (2, 0):
            barriers.signal(thread)
        ticket = barriers.wait(2)
        assert not barriers.is_over(ticket)
        assert barriers.missing(ticket, [0, 1, 2]) == "threads [1]"
        assert barriers.missing(ticket, [0, 2]) == "threads that ended"
        barriers.signal(1)
        assert barriers.is_over(ticket)
        assert barriers.is_over(barriers.wait(0))

    def test_a_slow_thread_still_waits_for_the_phase_in_which_it_signalled(self):
        barriers = Barriers(2)
        barriers.signal(0)
        barriers.signal(1)
        barriers.wait(1)
        barriers.signal(1)
        assert barriers.is_over(barriers.wait(0))
        assert not barriers.is_over(barriers.wait(1))

    def test_signals_and_waits_alternate(self):
        barriers = Barriers(2)
        with pytest.raises(BarrierMisuse, match="has not signalled"):
            barriers.wait(0)
        barriers.signal(0)
        with pytest.raises(BarrierMisuse, match="a second time"):
            barriers.signal(0)
        barriers.signal(1)
        with pytest.raises(BarrierMisuse, match="a second time"):
            barriers.signal(0)


class TestCounted:
    """Gateways without named barriers count signals, and wake all threads of a group."""

    def test_two_signals_are_for_two_waits(self):
        barriers = Barriers(2, has_named=False)
        barriers.signal(0)
        barriers.signal(0)
        first = barriers.wait(0)
        assert barriers.is_over(first)
        second = barriers.wait(0)
        assert not barriers.is_over(second)
        assert barriers.missing(second, [0, 1]) == "threads [1]"
        assert barriers.missing(second, [0]) == "threads that ended"
        barriers.signal(1)
        assert not barriers.is_over(second)
        barriers.signal(1)
        assert barriers.is_over(second)
        assert barriers.is_over(barriers.wait(1))
        assert barriers.is_over(barriers.wait(1))

    def test_a_thread_is_no_more_than_two_signals_ahead(self):
        barriers = Barriers(3, has_named=False)
        with pytest.raises(BarrierMisuse, match="has not signalled"):
            barriers.wait(0)
        barriers.signal(0)
        with pytest.raises(BarrierMisuse, match="already signalled"):
            barriers.perform(0, Barrier(), ())
        barriers.signal(0)
        with pytest.raises(BarrierMisuse, match="twice signalled"):
            barriers.signal(0)


class TestNamed:
    def test_the_barrier_of_the_group_is_number_0(self):
        barriers = Barriers(2)
        barriers.signal(0)
        with pytest.raises(BarrierMisuse, match="whole group are named barrier 0"):
            barriers.signal_named(1, 0, BOTH, (1, 1))
        barriers.signal_named(1, 0, BOTH, (2, 2))
        assert barriers.is_over(barriers.wait(0))
        assert barriers.is_over(barriers.wait(1, 0))

    def test_producers_go_on_and_consumers_wait_for_all(self):
        barriers = Barriers(4)
        counts = (2, 2)
        barriers.signal_named(0, 5, PRODUCER, counts)
        barriers.signal_named(3, 5, CONSUMER, counts)
        ticket = barriers.wait(3, 5)
        assert ticket.barrier == "named barrier 5"
        assert barriers.missing(ticket, range(4)) == "1 more producers and 1 more consumers"
        barriers.signal_named(1, 5, BOTH, counts)
        assert barriers.is_over(ticket)
        assert barriers.is_over(barriers.wait(1, 5))

    def test_a_barrier_is_free_again_with_other_counts(self):
        barriers = Barriers(4)
        for thread in (0, 1):
            barriers.signal_named(thread, 0, BOTH, (2, 2))
        barriers.signal_named(2, 0, BOTH, (1, 1))
        assert barriers.is_over(barriers.wait(2, 0))

    def test_barriers_are_separate(self):
        barriers = Barriers(2)
        barriers.signal(0)
        barriers.signal_named(0, 1, BOTH, (1, 1))
        assert barriers.is_over(barriers.wait(0, 1))
        assert not barriers.is_over(barriers.wait(0))

    @pytest.mark.parametrize(
        ("key", "role", "counts", "match"),
        [
            (32, BOTH, (1, 1), "does not exist"),
            (0, 3, (1, 1), "role"),
            (0, BOTH, (0, 1), "0 producers"),
            (0, BOTH, (1, 5), "5 consumers"),
        ],
    )
    def test_numbers_out_of_range_are_refused(self, key, role, counts, match):
        with pytest.raises(BarrierMisuse, match=match):
            Barriers(4).signal_named(0, key, role, counts)

    def test_threads_have_to_agree(self):
        barriers = Barriers(4)
        barriers.signal_named(0, 1, PRODUCER, (1, 2))
        with pytest.raises(BarrierMisuse, match="others said"):
            barriers.signal_named(1, 1, CONSUMER, (2, 1))
        with pytest.raises(BarrierMisuse, match="more threads signal"):
            barriers.signal_named(1, 1, PRODUCER, (1, 2))
        with pytest.raises(BarrierMisuse, match="has not signalled as a consumer"):
            barriers.wait(0, 1)
