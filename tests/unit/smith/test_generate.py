"""Random programs are valid, repeatable, end, and mean the same on every engine."""

from __future__ import annotations

import pytest

from visim.check import verify_module
from visim.diag import Severity, Source
from visim.smith import Shape, smith
from visim.smith.compare import Comparison, compare
from visim.target import PLATFORMS, platform
from visim.text import read_text, show_module

DEVICES = [device.name for device in PLATFORMS if device.name != "bdw"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(4))
def test_a_program_has_no_findings(seed: int, device: str):
    module = read_text(Source("smith", smith(seed, device)))
    found = verify_module(module, platform(device))
    assert not [one for one in found if one.severity is not Severity.NOTE]


def test_a_seed_is_a_program():
    assert smith(3, "skl") == smith(3, "skl")
    assert smith(3, "skl") != smith(4, "skl")


def test_a_printed_program_prints_the_same():
    printed = show_module(read_text(Source("smith", smith(5, "dg2"))))
    assert show_module(read_text(Source("printed", printed))) == printed


def test_more_statements_make_a_longer_program():
    short, long = (smith(1, "pvc", Shape(statements)) for statements in (4, 80))
    assert len(long) > len(short)


@pytest.mark.parametrize("device", ["skl", "pvc"])
@pytest.mark.parametrize("seed", range(6))
def test_the_interpreter_ends_without_a_fault(seed: int, device: str):
    found = compare(seed, device, Shape(12), engines=("interpreter", "interpreter"))
    assert found == Comparison(seed)
