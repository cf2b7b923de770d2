"""Scopes of fences: which reach other groups, and what clocks make of them."""

from __future__ import annotations

import pytest

from tests.engine.harness import assemble
from visim.sanitize.races.clocks import GLOBAL, thread_number
from visim.sanitize.races.scopes import ScopedClocks, Scopes, scopes_of

WRITER, MATE, READER = thread_number(0, 0), thread_number(0, 1), thread_number(1, 0)
RAW = "raw_send (M1_NM, 1) 0xf 1 1"


@pytest.mark.parametrize(
    ("line", "needed", "named"),
    [
        (f"{RAW} 0x210011f:ud V.0 V.0", True, False),
        (f"{RAW} 0x210211f:ud V.0 V.0", True, True),
        (f"{RAW} 0x210251f:ud V.0 V.0", False, True),
        (f"{RAW} 0x210071f:ud V.0 V.0", False, True),
        ("lsc_fence.ugm.none.group", True, False),
        ("lsc_fence.ugm.none.local", True, False),
        ("lsc_fence.ugm.invalidate.tile", False, True),
        ("lsc_fence.ugm.evict.gpu", False, True),
        ("lsc_fence.slm.none.group", False, False),
    ],
)
def test_fences_say_their_scopes(line: str, needed: bool, named: bool) -> None:
    """GenX_IR writes 0x210011f for ugm.none.group, 0x210251f for ugm.invalidate.tile.

    So bits 9 to 11 of a descriptor are the scope, and 12 to 14 what happens to caches.
    """
    head = '.version 4.1\n.kernel "k"\n.decl V v_type=G type=d num_elts=16\n.function "k"\nk:\n'
    linked = assemble(f"{head}{line}\nret (M1, 1)\n", "pvc").linked
    assert scopes_of(linked) == Scopes(needed, named)


def meet(clocks: ScopedClocks, writer: int, *, released: bool, acquired: bool) -> int:
    """Return how many accesses of a thread the reader knows behind a flag; the thread has done 5.

    `released` and `acquired` say whether the fences on both sides reach other groups.
    """
    clocks.fence(writer, GLOBAL, 5, of_group=not released)
    clocks.atomic(writer, [64])
    clocks.atomic(READER, [64])
    clocks.fence(READER, GLOBAL, 1, of_group=not acquired)
    return clocks.known(READER).get(WRITER, 0)


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("acquired", [False, True])
def test_groups_know_of_each_other_if_both_fences_reach(released: bool, acquired: bool) -> None:
    found = meet(ScopedClocks(), WRITER, released=released, acquired=acquired)
    assert found == (5 if released and acquired else 0)


@pytest.mark.parametrize("released", [False, True])
def test_what_a_barrier_brings_is_passed_on_by_a_release(released: bool) -> None:
    clocks, barrier = ScopedClocks(), (0, 0, 0)
    clocks.fence(WRITER, GLOBAL, 5, of_group=True)
    for thread in (WRITER, MATE):
        clocks.signal(thread, barrier)
        clocks.wait(thread, barrier)
    assert meet(clocks, MATE, released=released, acquired=True) == (5 if released else 0)


def test_threads_of_a_group_know_of_each_other_by_fences_of_the_group() -> None:
    clocks = ScopedClocks()
    clocks.fence(WRITER, GLOBAL, 5, of_group=True)
    clocks.atomic(WRITER, [64])
    clocks.atomic(MATE, [64])
    assert clocks.known(MATE) == {}
    clocks.fence(MATE, GLOBAL, 0, of_group=True)
    assert clocks.known(MATE) == {WRITER: 5}
