"""Eight numbers of 32 bits in lanes of 64, of which only the low halves of the first four are read.

LLVM 22 ends the process where it holds them as floats, with AVX-512; the JIT keeps it from that.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.hosts import IS_X86
from tests.opencl.fences import run_apart
from visim.engine.jit.common import native
from visim.engine.jit.common.narrowing import kept_whole
from visim.engine.jit.ir.text import fences
from visim.runtime.program import assemble

TEXT = """.version 4.1
.kernel "k"
.decl F0 v_type=G type=f num_elts=32 align=GRF
.decl F1 v_type=G type=f num_elts=32 align=GRF
.decl W0 v_type=G type=w num_elts=64 align=GRF
.decl BUFFER v_type=G type=uq num_elts=1 align=qword
.input BUFFER offset=64 size=8
.function "k"
k:
    svm_block_ld (8) BUFFER(0,0)<0;1,0> F0.0
    svm_block_ld (8) BUFFER(0,0)<0;1,0> F1.0
    rndu.sat (M1_NM, 8) F1(0,0)<2> F1(0,0)<2;2,1>
    mov (M1, 8) F0(1,0)<2> (-)W0(3,5)<1;1,0>
    dp2 (M1, 8) F1(0,0)<2> F1(0,0)<2;2,1> 0x3f000000:f
    svm_block_st (8) BUFFER(0,0)<0;1,0> F0.0
    svm_block_st (8) BUFFER(0,0)<0;1,0> F1.0
    ret (M1, 1)
"""
FLOATS = "%x = fadd <8 x float> %f, %f\n  %s = bitcast <8 x float> %x to <8 x i32>"
SHUFFLED = (
    "%s = shufflevector <8 x i32> %i, <8 x i32> %j, "
    "<8 x i32> <i32 0, i32 1, i32 9, i32 9, i32 0, i32 8, i32 8, i32 0>"
)
VIEWED = (
    "%h = bitcast <8 x i64> %w to <16 x i32>\n"
    "  %r = shufflevector <16 x i32> %h, <16 x i32> poison, <4 x i32> <i32 0, i32 4, i32 0, i32 4>"
)
CUT = (
    "%h = shufflevector <8 x i64> %w, <8 x i64> poison, <4 x i32> <i32 3, i32 0, i32 0, i32 1>\n"
    "  %r = trunc <4 x i64> %h to <4 x i32>"
)
BLENDED = (
    "%h = shufflevector <8 x i64> {}, <8 x i64> {}, "
    "<8 x i32> <i32 {}, i32 {}, i32 {}, i32 {}, i32 {}, i32 {}, i32 {}, i32 {}>\n"
    "  store <8 x i64> %h, ptr %p\n"
    "  %r = shufflevector <8 x i32> %j, <8 x i32> poison, <4 x i32> zeroinitializer"
)
FIRST = BLENDED.format("%w", "%o", 0, 1, 10, 3, 12, 13, 14, 15)
SECOND = BLENDED.format("%o", "%w", 8, 9, 2, 11, 4, 5, 6, 7)
MODULE = """
define void @f(<8 x float> %f, ptr %p, ptr %q, <8 x i16> %n, <8 x i64> %o) {{
  %j = load <8 x i32>, ptr %p
  %i = zext <8 x i16> %n to <8 x i32>
  {held}
  %e = {word} <8 x i32> %s to <8 x i64>
  %w = {joined}
  {wanted}
  store <4 x i32> %r, ptr %q
  ret void
}}
"""


def check() -> None:
    """Compare the engines; the process may end."""
    kernel = assemble(TEXT, platform="tgllp").kernels[0]
    found = list[bytes]()
    for engine in ("interpreter", "jit"):
        numbers = np.linspace(-1.0, 2.0, 32, dtype=np.float32)
        kernel.launch([numbers], engine=engine)
        found.append(numbers.tobytes())
    assert found[0] == found[1] != np.linspace(-1.0, 2.0, 32, dtype=np.float32).tobytes()


def module(held: str, word: str, joined: str, wanted: str) -> str:
    body = MODULE.format(held=held, word=word, joined=joined, wanted=wanted)
    return "\n".join(fences()) + body


def make(held: str, word: str, joined: str, wanted: str) -> None:
    """Compile a module for AVX-512, which this host need not have; the process may end."""
    assert native.object_code(module(held, word, joined, wanted), native.processor())


def test_floats_at_a_stride_of_which_few_are_read() -> None:
    run_apart(__name__, "check()", VISIM_CACHE_DIR="")


@pytest.mark.skipif(not IS_X86, reason="makes code for x86-64")
@pytest.mark.parametrize("joined", ["or <8 x i64> %e, %o", "mul <8 x i64> %e, %o"])
@pytest.mark.parametrize("word", ["zext", "sext"])
@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (FLOATS, VIEWED),
        (FLOATS, CUT),
        (SHUFFLED, VIEWED),
        (FLOATS, FIRST),
        (FLOATS, SECOND),
    ],
    ids=["floats viewed", "floats cut", "shuffled viewed", "floats first", "floats second"],
)
def test_low_halves_compile_for_mask_registers(
    held: str, word: str, wanted: str, joined: str
) -> None:
    call = f"make({held!r}, {word!r}, {joined!r}, {wanted!r})"
    run_apart(__name__, call, VISIM_CPU="x86-64-v4")


def test_lanes_that_are_wanted_whole_have_no_fence() -> None:
    stored = "store <8 x i64> %w, ptr %p\n  %r = shufflevector <8 x i32> %j, <8 x i32> %s, "
    text = module(FLOATS, "zext", "or <8 x i64> %e, %o", stored + "<4 x i32> zeroinitializer")
    assert kept_whole(text) is text


def test_hosts_without_mask_registers_have_no_fence() -> None:
    text = module(FLOATS, "zext", "or <8 x i64> %e, %o", VIEWED)
    assert kept_whole(text).count("call <8 x double>") == 1
    taken = module(FLOATS, "zext", "or <8 x i64> %e, %o", BLENDED.format("%w", "%e", *range(8)))
    assert kept_whole(taken).count("call <8 x double>") == 2
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("declare"))
    assert kept_whole(plain) is plain
