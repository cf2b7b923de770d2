"""Registers and banks."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import kernel, multiply, multiply_add
from visim.timing import find_machine
from visim.timing.banks import bank_name, conflicts
from visim.timing.legaliser import legalise
from visim.timing.native import Native
from visim.timing.suppression import counted


def assignment(body, *, arch="snb", variables=24):
    program = kernel(body, variables=variables)
    return legalise(program._linked, find_machine(arch)).units[0].assignment


def test_variables_that_live_together_share_no_register():
    found = assignment([multiply_add(40 + i, 32 + i, 33 + i, 34) for i in range(8)])
    assert not found.spilled
    places = list(found.offsets.values())
    assert len(set(places)) == len(places)
    assert 0 not in places, "the first register holds r0"


def test_a_variable_that_lives_across_a_loop_keeps_its_register():
    body = [
        multiply(40, 32),
        "top:",
        multiply(41, 40),
        *[multiply(42 + i % 8, 41) for i in range(200)],
        "jmp (M1_NM, 1) top",
    ]
    offsets = assignment(body).offsets
    kept = {offsets[index] for index in offsets if index == 40}
    assert all(offsets[index] not in kept for index in offsets if index != 40)


def test_more_variables_than_registers_are_counted():
    body = [multiply(32 + i, 32 + i) for i in range(140)] * 2
    assert assignment(body, variables=140).spilled


@pytest.mark.parametrize(
    ("rule", "sources", "expected"),
    [
        ("ports", [(2,), (4,), (6,)], 1),
        ("ports", [(2,), (4,), (5,)], 0),
        ("ports", [(2,), (4,), (4,)], 0),
        ("halves", [(1,), (2,), (4,)], 1),
        ("halves", [(1,), (2,), (66,)], 0),
        ("halves", [(2,), (4,), (4,)], 0),
        ("halves-three", [(1,), (2,), (4,)], 0),
        ("halves-three", [(6,), (2,), (4,)], 1),
        ("ports", [(2,), (4,)], 0),
    ],
)
def test_bank_conflicts_follow_the_rule(rule, sources, expected):
    assert conflicts(sources, 1, rule) == expected


@pytest.mark.parametrize(
    ("rule", "sources", "expected"),
    [
        ("bundles-8", [(1,), (2,), (18,)], 1),
        ("bundles-8", [(1,), (2,), (4,)], 0),
        ("bundles-8", [(0,), (2,), (4,)], 1),
        ("bundles-8", [(2,), (), (18,)], 1),
        ("bundles-16", [(3,), (2,), (1,)], 1),
        ("bundles-16", [(4,), (64,), (0,)], 1),
        ("bundles-16", [(4,), (4,), (4,)], 0),
    ],
)
def test_bank_conflicts_of_xe_are_those_of_registers_that_must_be_read(rule, sources, expected):
    reads = tuple(register for source in sources for register in source)
    item = Native("mad", 8, 0, "mad.float", 0, tuple(sources), reads, (90,))
    assert counted([item], rule)[0].sc == expected


def test_conflicts_count_registers():
    assert conflicts([(2, 3), (4, 5), (6, 7)], 2, "ports") == 2


def test_banks_have_names():
    assert [bank_name(3, rule) for rule in ("ports", "halves", "bundles-8")] == ["O", "OL", "O1"]
    assert [bank_name(r, "bundles-16") for r in (3, 2, 1)] == ["O0", "O0", "E0"]
