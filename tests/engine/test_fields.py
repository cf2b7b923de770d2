"""Elements at a distance, which the JIT takes as fields of wider lanes, are what they are."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.jit.launch import code
from visim.engine.jit.writing import strips

from . import harness
from .both import compare

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=q num_elts=32 align=wordx32
.decl V41 v_type=G type=d num_elts=64 align=wordx32 alias=<V40,0>
.decl V42 v_type=G type=uw num_elts=128 align=wordx32 alias=<V40,0>
.decl V43 v_type=G type=ub num_elts=256 align=wordx32 alias=<V40,0>
.decl V44 v_type=G type=hf num_elts=128 align=wordx32 alias=<V40,0>
.decl V45 v_type=G type=d num_elts=32 align=wordx32
.decl V46 v_type=G type=f num_elts=32 align=wordx32
.decl V47 v_type=G type=ub num_elts=61 align=word
.decl V48 v_type=G type=f num_elts=64 align=wordx32 alias=<V40,0>
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
    cmp.lt (M1, 32) P1 V45(0,0)<1;1,0> 0x0:d
"""
CASES = {
    "halves of numbers of 64 bits": """
    add (M1, 32) V41(0,0)<2> V41(0,1)<2;1,0> V45(0,0)<1;1,0>
    (P1) mov (M1, 32) V41(0,1)<2> V45(0,0)<1;1,0>
    mov (M1, 16) V45(0,0)<1> V41(2,1)<2;1,0>
    add (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0> V45(0,0)<1;1,0>""",
    "bytes and words of dwords": """
    mov (M1, 32) V43(0,1)<4> V45(0,0)<1;1,0>
    (P1) mov (M1, 32) V43(2,3)<4> V43(0,2)<4;1,0>
    mov (M1, 32) V42(0,1)<2> V43(0,1)<4;1,0>
    (!P1) add (M1, 32) V45(0,0)<1> V42(2,0)<2;1,0> V43(0,3)<8;1,0>""",
    "floats": """
    mov (M1, 32) V44(0,1)<2> V46(0,0)<1;1,0>
    (P1) mov (M1, 16) V44(2,0)<4> V44(0,3)<2;1,0>
    (!P1) mov (M1, 32) V48(0,1)<2> V46(0,0)<1;1,0>
    add (M1, 32) V46(0,0)<1> V46(0,0)<1;1,0> V44(0,1)<2;1,0>""",
    "lanes that would end behind the variable": """
    mov (M1, 16) V47(0,0)<4> V45(0,0)<1;1,0>
    mov (M1, 8) V47(0,1)<8> V47(0,0)<4;1,0>
    mov (M1, 16) V45(0,0)<1> V47(0,0)<4;1,0>""",
    "channels that are off": """
    (P1) goto (M1, 32) L1
    mov (M1, 32) V41(0,0)<2> V45(0,0)<1;1,0>
    mov (M5, 16) V43(2,0)<8> V45(1,0)<1;1,0>
    mov (M1_NM, 32) V42(0,3)<4> V41(0,1)<2;1,0>
L1:
    mov (M1, 32) V45(0,0)<1> V41(0,1)<2;1,0>""",
    "what is read and written at once": """
    mov (M1, 32) V41(0,1)<2> V41(0,0)<2;1,0>
    mov (M1, 16) V42(1,1)<2> V42(0,1)<2;1,0>
    mov (M1, 16) V42(0,1)<2> V42(1,0)<2;1,0>
    mov (M1, 16) V43(0,1)<2> V43(0,0)<1;1,0>""",
}


def values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "V40": rng.integers(0, 1 << 62, 32, dtype=np.int64),
        "V45": rng.integers(0, 1 << 32, 32, dtype=np.uint32),
        "V46": (rng.random(32, np.float32) - 0.5) * 1000,
        "V47": rng.integers(0, 256, 61, dtype=np.uint8),
    }


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x80F1F00F])
@pytest.mark.parametrize("case", CASES)
def test_fields_are_those_of_the_interpreter(case: str, mask: int) -> None:
    kernel = harness.assemble(f"{HEAD}{CASES[case]}\n    ret (M1, 1)\n", "pvc")
    assert compare(kernel, values(len(case)), mask) is None


@pytest.mark.parametrize("lanes", [4, 8])
def test_fields_in_strips_are_those_of_the_interpreter(
    monkeypatch: pytest.MonkeyPatch, lanes: int
) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(code, "has_mask_registers", lambda: False)
    monkeypatch.setattr(code, "vector_lanes", lambda: lanes)
    for name, value in (("LEAST_STEPS", 1), ("LONG", 1), ("STEPS_A_ROW", 0)):
        monkeypatch.setattr(strips, name, value)
    for text in CASES.values():
        kernel = harness.assemble(f"{HEAD}{text}\n    ret (M1, 1)\n", "pvc")
        assert compare(kernel, values(lanes), 0xFFFF00FF) is None
