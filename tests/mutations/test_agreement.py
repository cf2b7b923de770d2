"""visim and Intel's verifier on compilers' texts with one mistake each.

`python -m tools.judge_mutations` judges them anew and writes the table in docs/verifier.md.
"""

from __future__ import annotations

import pytest

from tests.mutations.mutate import mutations
from tests.mutations.peer import CRASH, PROGRAM, verdict
from tests.mutations.stored import Judged, judge, stored, texts
from tools.judge_mutations import EACH, PAGE, PEER_IS_RIGHT, SEED, page

SAMPLE = stored()[::8]


def test_the_kept_mutations_are_those_of_the_seed():
    assert [entry.mutation for entry in stored()] == mutations(SEED, EACH)


def test_there_are_at_least_three_hundred():
    assert len(stored()) >= 300


def test_visim_says_what_the_table_says():
    found = {(entry.mutation, *judge(entry.mutation)) for entry in stored()}
    assert found == {(entry.mutation, entry.found, entry.warned) for entry in stored()}


def test_what_only_the_peer_rejects_is_explained():
    unexplained = {
        entry.peer
        for entry in stored()
        if entry.peer and not entry.found and not entry.warned
        if not any(pattern.search(entry.peer) for pattern in PEER_IS_RIGHT)
    }
    assert not unexplained


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(stored())


@pytest.mark.skipif(PROGRAM is None, reason="GenX_IR is not installed")
@pytest.mark.parametrize("entry", SAMPLE, ids=lambda entry: f"{entry.mutation.kind}")
def test_the_peer_says_what_the_table_says(entry: Judged):
    device, text = texts()[entry.mutation.base]
    found = verdict(entry.mutation.apply(text), device)
    # It reads memory that it did not set: the same text crashes it now and then.
    assert CRASH in {found, entry.peer} or (found is None) == (entry.peer is None)
