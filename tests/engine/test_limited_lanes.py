"""Two lanes that are limited to the range of words, cut to words and chosen by a mask.

LLVM 22 ends the process where it knows, for AVX-512, that they are in the range anyway; the JIT
keeps it from that.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.fences import run_apart

from . import both, harness

BODIES = {
    "by instructions": """
    asr (M1, 2) D(0,0)<1> W(0,0)<1;1,0> D(0,0)<1;1,0>
    max (M1, 2) D(0,0)<1> D(0,0)<1;1,0> 0xffff8000:d
    min (M1, 2) D(0,0)<1> D(0,0)<1;1,0> 0x7fff:d
    (P1) mov (M1, 2) R(0,0)<1> D(0,0)<1;1,0>
    """,
    "by saturation": """
    again:
    (P1) asr.sat (M1, 2) R(0,0)<1> B(0,0)<1;1,0> D(0,0)<1;1,0>
    cmp.lt (M1, 2) P2 D(0,0)<1;1,0> 0x0:d
    (P2) goto (M1, 2) again
    """,
}
TEXT = """.version 4.1
.kernel "k"
.decl B v_type=G type=b num_elts=64 align=GRF
.decl W v_type=G type=w num_elts=32 align=GRF
.decl D v_type=G type=d num_elts=16 align=GRF
.decl R v_type=G type=w num_elts=32 align=GRF
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.kernel_attr SimdSize=16
.function "k"
k:
    cmp.gt (M1, 2) P1 D(0,0)<1;1,0> 0x1:d
{body}
    ret (M1, 1)
"""


def check(name: str) -> None:
    """Compare the engines; the process may end."""
    kernel = harness.assemble(TEXT.format(body="\n".join(harness.body_lines(BODIES[name]))), "pvc")
    values = {
        "B": np.arange(-90, -26).astype(np.int8),
        "W": np.arange(-0x8000, 0x8000, 0x800).astype(np.int16),
        "D": np.arange(1, 17).astype(np.int32),
        "R": np.full(32, 7, np.int16),
    }
    assert both.compare(kernel, values, 0xFFFF) is None


@pytest.mark.parametrize("name", BODIES)
def test_words_that_are_in_the_range_anyway(name: str) -> None:
    run_apart(__name__, f"check({name!r})", VISIM_CACHE_DIR="")
