"""Bytes that messages move, and the roofs that they are held against."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import kernel, multiply, timed
from visim.isa import Instruction
from visim.timing import find_machine
from visim.timing.footprint import footprint
from visim.timing.page import roofs
from visim.timing.traffic import moved

ADDRESSES = [
    ".decl V80 v_type=G type=ud num_elts=16 align=GRF",
    ".decl V81 v_type=G type=ud num_elts=64 align=GRF",
]
BYTES = [
    ("lsc_load.slm (M1, 16) V34:d32 flat[V80]:a32", {"slm": 64}),
    ("lsc_load.slm (M1, 16) V34:d8u32 flat[V80]:a32", {"slm": 16}),
    ("lsc_store.slm (M1, 16) flat[V80]:a32 V81:d32x2", {"slm": 128}),
    ("lsc_load.ugm (M1, 16) V81:d32x4 bti(0x2)[V80]:a32", {"caches": 256}),
    ("lsc_atomic_iadd.ugm (M1, 16) V34:d32 bti(0x2)[V80]:a32 V35 %null", {"caches": 128}),
    ("lsc_atomic_iinc.slm (M1, 16) V34:d32 flat[V80]:a32 %null %null", {"slm": 64}),
    ("lsc_fence.ugm.none.group", {}),
    ("barrier", {}),
    (multiply(33, 34, simd=16), {}),
]


@pytest.mark.parametrize(("line", "expected"), BYTES)
def test_bytes_are_those_of_data_by_level(line, expected):
    program = kernel([line], simd=16, platform="dg2", declarations=ADDRESSES)
    (instruction, *_) = [i for i in program._linked.kernel.body if isinstance(i, Instruction)]
    assert moved(footprint(instruction, program._linked.platform)) == expected


def test_a_result_counts_all_executions():
    store = "lsc_store.slm (M1, 16) flat[V80]:a32 V34:d32"
    program = kernel(
        ["mov (M1, 16) V80(0,0)<1> 0x0:ud", store, store],
        simd=16,
        platform="dg2",
        declarations=ADDRESSES,
        attributes=[".kernel_attr SLMSize=1"],
    )
    result = timed(program, "dg2", threads=3)
    assert result.moved == {"slm": 3 * 2 * 64, "caches": 0}
    assert [roof.name for roof in roofs(result)] == ["SLM"]


def test_a_kernel_without_messages_has_no_roof_but_the_peak():
    assert roofs(timed(kernel([multiply(33, 34)]), "skl")) == []


@pytest.mark.parametrize("arch", ["ilk", "snb"])
def test_generations_without_local_memory_have_no_rate_for_it(arch):
    assert find_machine(arch).number("slm_rate") == 0
