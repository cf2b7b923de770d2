"""Synchronization instructions in objects (docs/formats.md: WAIT, YIELD, NBARRIER, SBARRIER)."""

from __future__ import annotations

import pytest

from tests.unit.binary.objects import PVC, module_of, object_of
from visim.binary.isafile import read_isa, write_isa
from visim.errors import InputError
from visim.text import show_module

LINES = (
    "barrier",
    "sbarrier.signal",
    "sbarrier.wait",
    "nbarrier.signal 0x1:ub 0x4:ub",
    "nbarrier.signal V40(0,0)<0;1,0> V41(0,0)<0;1,0>",
    "nbarrier.wait 0x1:ub",
    "wait 0x3:ub",
    "wait V40(0,0)<0;1,0>",
    "yield",
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_comes_back_from_its_object(line):
    found = read_isa(object_of(line), "k.isa", platform=PVC)
    assert [instruction.show() for instruction in found.units[0].body] == [line]
    assert line in show_module(module_of(line))


def test_phases_have_their_numbers():
    for line, code in (
        ("sbarrier.signal", b"\x7c\x01"),
        ("sbarrier.wait", b"\x7c\x00"),
        ("yield", b"\x5f"),
    ):
        assert object_of(line).endswith(code)


def test_an_object_has_no_place_for_producers_and_consumers():
    module = module_of("nbarrier.signal 0x1:ub 0x0:uw 0x2:ub 0x3:ub")
    (instruction,) = module.units[0].body
    assert instruction.show() == "nbarrier.signal 0x1:ub 0x0:uw 0x2:ub 0x3:ub"
    with pytest.raises(InputError, match="producers and consumers"):
        write_isa(module, platform=PVC)
