"""Bank conflicts against those that Intel's finalizer counts, instruction by instruction."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import visim
from tests.unit.timing.finalizer.tool import compiled
from tests.unit.timing.programs import kernel, multiply_add
from visim.timing import find_machine
from visim.timing.banks import conflicts
from visim.timing.genx import PLATFORMS, native_program
from visim.timing.native import Native
from visim.timing.suppression import counted

ROOT = Path(__file__).parents[4]
PROGRAMS = {
    "skl": "tests/corpus/scale_skl.zebin",
    "tgl": "examples/swirl/swirl.zebin",
    "pvc": "examples/mandelbrot/mandelbrot.zebin",
}
RULES = {"bdw": "halves", "skl": "halves", "icl": "halves-three"}

pytestmark = pytest.mark.skipif(
    shutil.which("GenX_IR") is None, reason="GenX_IR is not installed (libigc-tools)"
)


def independent(arch):
    """Return multiply-adds that share no register but for those that they read."""
    platform = "pvc" if arch == "pvc" else "skl"
    body = [multiply_add(40 + i, 32 + i % 4, 33 + i % 3, 34 + i % 5, simd=16) for i in range(12)]
    return kernel(body, simd=16, platform=platform)


def expected(listing):
    """Return how many conflicts the end of a listing counts."""
    return int(re.search(r"//(?:\.BankConflicts:| --  BAD:) (\d+)", listing)[1])


def natives(program, arch):
    listing = compiled(program._linked.kernel, PLATFORMS[arch], "-dumpAllBCInfo").listing
    machine = find_machine(arch, "igc")
    return native_program(program._linked, machine, listing).instructions, listing


@pytest.mark.parametrize("arch", ["tgl", "dg2", "pvc"])
def test_each_instruction_of_xe_has_the_conflicts_that_the_tool_counts(arch):
    programs = [independent(arch)]
    if arch in PROGRAMS:
        programs += visim.load(ROOT / PROGRAMS[arch]).kernels
    for program in programs:
        found, listing = natives(program, arch)
        again = counted(found, find_machine(arch).native.banks)
        assert [item.sc for item in again] == [item.sc for item in found]
        assert sum(item.sc for item in again) == expected(listing)


@pytest.mark.parametrize("arch", RULES)
def test_instructions_up_to_gen11_are_as_bad_as_the_tool_says(arch):
    programs = [independent(arch)]
    if arch in PROGRAMS:
        programs += visim.load(ROOT / PROGRAMS[arch]).kernels
    for program in programs:
        found, listing = natives(program, arch)
        bad = [conflicts([s[:1] for s in item.sources], 1, RULES[arch]) for item in found]
        assert [item.sc > 0 for item in found] == [count > 0 for count in bad]
        assert sum(bad) == expected(listing)


def test_a_register_that_an_operand_holds_is_not_read_again():
    """r2 and r66 are in one bundle of a bank of Xe-LP; the second instruction has both at hand."""
    sources = ((4,), (2,), (66,))
    pair = [Native("mad", 8, 0, "mad.float", 0, sources, (4, 2, 66), (80 + i,)) for i in (0, 1)]
    assert [item.sc for item in counted(pair, "bundles-8")] == [1, 0]
