"""Random OpenCL programs: the same for a seed, and valid whatever is left out of them."""

from __future__ import annotations

import random
import re

import pytest

from visim.smith.opencl import (
    GROUP,
    INPUT_WORDS,
    ITEMS,
    OUTPUT_WORDS,
    opencl_parts,
    place_of,
    source_of,
)

SEEDS = range(20)


def test_a_seed_gives_one_text_and_another_one_gives_another():
    texts = [source_of(opencl_parts(seed, 24)) for seed in SEEDS]
    assert texts == [source_of(opencl_parts(seed, 24)) for seed in SEEDS]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("seed", SEEDS)
def test_there_are_as_many_statements_as_asked_for(seed):
    assert sum(part.foot is None for part in opencl_parts(seed, 24)) == 24


def kept(seed):
    choose = random.Random(seed)
    return [part for part in opencl_parts(seed, 40) if choose.random() < 0.5]


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_left_out_leave_a_whole_program(seed):
    left = kept(seed)
    text = source_of(left)
    assert text.count("{") == text.count("}")
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line in {part.text for part in left}] == [
        part.text for part in left
    ]
    body = " ".join(part.text + (part.foot or "") for part in left)
    declared = set(re.findall(r"(?:uint|ulong|uchar4) (\w\d)\b", text))
    assert declared == set(re.findall(r"\b[uwvk]\d\b", body))


@pytest.mark.parametrize("seed", range(100))
def test_all_items_of_a_group_reach_every_barrier(seed):
    parts = opencl_parts(seed, 40)
    blocks = {part.number: part for part in parts}
    around = [blocks[one] for part in parts if "barrier" in part.text for one in part.within]
    assert all(re.fullmatch(r"for \((k\d) = 0u; \1 < \du; \+\+\1\) \{", one.text) for one in around)


def test_a_jump_does_not_leave_its_loop():
    parts = [part for seed in range(100) for part in opencl_parts(seed, 40)]
    jumping = [part for part in parts if re.search(r"continue|if .* break", part.text)]
    assert jumping
    assert all(part.text.startswith("for") for part in jumping)


def test_a_program_of_nothing_names_nothing():
    assert source_of([]).splitlines()[3:] == ["}"]


def test_words_of_the_output_have_names():
    names = [place_of(word) for word in range(OUTPUT_WORDS)]
    assert names[0] == "u0 of work-item 0"
    assert names[2 * ITEMS + 5] == "u1 of work-item 5"
    assert names[-1] == "word 15 of atomic_max"
    assert names.count("own word 7 of work-item 63") == 1
    assert ITEMS % GROUP == 0
    assert INPUT_WORDS & (INPUT_WORDS - 1) == 0
