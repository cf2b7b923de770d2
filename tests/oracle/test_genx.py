"""GenX_IR makes the same Gen code of a text and of the object that visim assembles from it."""

from __future__ import annotations

from functools import cache

import pytest

import visim
from tests.corpus.pairs import Dump, dumps
from tools.genx import (
    PROGRAM,
    Outcome,
    compare,
    compile_file,
    expected,
    is_installed,
    whole_texts,
)
from visim.target import COMMON_OBJECT

pytestmark = pytest.mark.skipif(not is_installed(), reason=f"{PROGRAM} is not installed")


@cache
def pairs() -> tuple[tuple[Dump, str], ...]:
    return tuple(whole_texts())


EVERY_PAIR = pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair[0].name)
#: Short kernels with many kinds of messages, and one that calls a function.
SOURCES = ("k05_image", "k06_slm", "k07_atomics", "k08_subgroup", "k09b_rec", "k20_fences")
OLDER_PAIRS = [pair for pair in pairs() if pair[0].name.split("/")[1] in SOURCES]


@EVERY_PAIR
def test_the_object_compiles_to_the_code_of_its_text(pair: tuple[Dump, str]):
    assert compare(*pair, COMMON_OBJECT) is expected(pair[0])


@pytest.mark.parametrize("version", [(3, 0), (3, 3), (3, 8)], ids=lambda v: f"{v[0]}.{v[1]}")
@pytest.mark.parametrize("pair", OLDER_PAIRS[::3], ids=lambda pair: pair[0].name)
def test_an_older_object_compiles_to_the_code_of_its_text(
    pair: tuple[Dump, str], version: tuple[int, int]
):
    outcome = compare(*pair, version)
    if version == (3, 0) and outcome is Outcome.NO_PLACE:
        return
    assert outcome is expected(pair[0])


def test_a_linked_program_compiles_to_the_code_of_its_texts():
    kernel, function = (
        next(dump for dump in dumps() if dump.name == f"skl/k09b_rec/{name}")
        for name in ("simd8_entry_0001", "simd8_entry_0001_f0")
    )
    parts = [
        visim.load(dump.text.encode(), platform="skl").to_object() for dump in (function, kernel)
    ]
    linked = visim.link(parts, platform="skl").to_object()
    whole = kernel.text + function.text.split("\n", 1)[1]
    wanted = compile_file(whole.encode(), ".visaasm", "skl").code
    assert wanted is not None
    assert compile_file(linked, ".isa", "skl").code == wanted


def test_all_but_five_of_179_kernels_are_equal_outright():
    outcomes = [expected(dump) for dump, _text in pairs()]
    assert len(outcomes) == 179
    assert outcomes.count(Outcome.SAME) == 174
    assert outcomes.count(Outcome.TURNED) == 2
    assert outcomes.count(Outcome.REFUSED) == 3
