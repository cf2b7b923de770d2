"""The low 128 bits of a vector of three lanes of 64 bits, or five to seven, all over 512.

LLVM 22 ends the process where it repeats them, with AVX-512; the JIT keeps it from that.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.hosts import IS_X86
from tests.opencl.fences import run_apart
from visim.engine.jit.common import native
from visim.engine.jit.common.repeating import kept_apart
from visim.engine.jit.ir.text import fences
from visim.runtime.program import assemble

TEXT = """.version 4.1
.kernel "k"
.decl B0 v_type=G type=b num_elts=128 align=GRF
.decl D0 v_type=G type=d num_elts=32 align=GRF
.decl UB0 v_type=G type=ub num_elts=128 align=GRF
.decl UQ0 v_type=G type=uq num_elts=16 align=GRF
.decl UQ1 v_type=G type=uq num_elts=16 align=GRF
.decl P1 v_type=P num_elts=32
.decl BUFFER v_type=G type=uq num_elts=1 align=qword
.input BUFFER offset=64 size=8
.function "k"
k:
    svm_block_ld (8) BUFFER(0,0)<0;1,0> D0.0
    svm_block_ld (8) BUFFER(0,0)<0;1,0> UQ0.0
    svm_block_ld (8) BUFFER(0,0)<0;1,0> UB0.0
    svm_block_ld (8) BUFFER(0,0)<0;1,0> UQ1.0
    cmp.ge (M1, 8) P1 UB0(0,0)<2;2,1> UB0(0,0)<0;2,2>
    shr (M1_NM, 2) UQ0(0,0)<2> UQ1(0,0)<2;2,1> 0x3:ub
    (P1) asr (M1_NM, 8) B0(0,0)<2> D0(0,0)<1;1,0> UQ0(0,0)<0;2,1>
    svm_block_st (8) BUFFER(0,0)<0;1,0> B0.0
    ret (M1, 1)
"""
MADE = {
    "shuffled": "shufflevector <{n} x i64> %g, <{n} x i64> %h, <{n} x i32> <i32 1, i32 0{rest}>",
    "added": "add <{n} x i64> %g, %h",
}
LOW = """%l = shufflevector <{n} x i64> %b, <{n} x i64> poison, <2 x i32> <i32 0, i32 1>
  %s = shufflevector <2 x i64> %l, <2 x i64> poison, <8 x i32> <{eight}>
  %r = trunc <8 x i64> %s to <8 x i32>"""
AS_INTS = """%c = bitcast <{n} x i64> %b to <{twice} x i32>
  %l = shufflevector <{twice} x i32> %c, <{twice} x i32> poison, <4 x i32> <{four}>
  %d = bitcast <4 x i32> %l to <2 x i64>
  %s = shufflevector <2 x i64> %d, <2 x i64> poison, <8 x i32> <{eight}>
  %r = trunc <8 x i64> %s to <8 x i32>"""
BY_LANES = """%x = extractelement <{n} x i64> %b, i32 0
  %y = extractelement <{n} x i64> %b, i32 1
  %k = insertelement <2 x i64> poison, i64 %x, i32 0
  %l = insertelement <2 x i64> %k, i64 %y, i32 1
  %s = shufflevector <2 x i64> %l, <2 x i64> poison, <8 x i32> <{eight}>
  %r = trunc <8 x i64> %s to <8 x i32>"""
IN_STEPS = """%l = shufflevector <{n} x i64> %b, <{n} x i64> poison, <2 x i32> <i32 0, i32 1>
  %k = shufflevector <2 x i64> %l, <2 x i64> poison, <4 x i32> <i32 0, i32 1, i32 0, i32 1>
  %s = shufflevector <4 x i64> %k, <4 x i64> poison, <8 x i32> <{eight_of_four}>
  %r = trunc <8 x i64> %s to <8 x i32>"""
MODULE = """
define void @f(<{n} x i64> %g, <{n} x i64> %h, ptr %p) {{
  %b = {made}
  {taken}
  store <8 x i32> %r, ptr %p
  ret void
}}
"""


def check() -> None:
    """Compare the engines; the process may end."""
    kernel = assemble(TEXT, platform="skl").kernels[0]
    found = list[bytes]()
    for engine in ("interpreter", "jit"):
        numbers = np.arange(256, dtype=np.uint8)[::-1].copy()
        kernel.launch([numbers], engine=engine)
        found.append(numbers.tobytes())
    assert found[0] == found[1] != np.arange(256, dtype=np.uint8)[::-1].tobytes()


def module(lanes: int, made: str, taken: str) -> str:
    def numbered(count: int, of: int) -> str:
        return ", ".join(f"i32 {lane % of}" for lane in range(count))

    words = {
        "n": lanes,
        "twice": 2 * lanes,
        "rest": "".join(f", i32 {lane}" for lane in range(2, lanes)),
        "four": numbered(4, 4),
        "eight": numbered(8, 2),
        "eight_of_four": numbered(8, 4),
    }
    body = MODULE.format(n=lanes, made=made.format(**words), taken=taken.format(**words))
    return "\n".join(fences()) + body


def make(lanes: int, made: str, taken: str) -> None:
    """Compile a module for AVX-512, which this host need not have; the process may end."""
    assert native.object_code(module(lanes, made, taken), native.processor())


def test_two_shifts_that_eight_channels_repeat() -> None:
    run_apart(__name__, "check()", VISIM_CACHE_DIR="")


@pytest.mark.skipif(not IS_X86, reason="makes code for x86-64")
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
@pytest.mark.parametrize("lanes", [3, 5, 6, 7])
def test_repeated_parts_compile_for_mask_registers(lanes: int, made: str) -> None:
    run_apart(__name__, f"make({lanes}, {made!r}, {AS_INTS!r})", VISIM_CPU="x86-64-v4")


@pytest.mark.parametrize("taken", [LOW, AS_INTS, BY_LANES, IN_STEPS])
def test_a_part_is_fenced_once(taken: str) -> None:
    text = module(5, MADE["added"], taken)
    fenced = kept_apart(text)
    assert fenced.count("call <2 x double>") == 1
    assert kept_apart(fenced) is fenced


def test_names_of_fences_are_not_those_of_writers() -> None:
    text = module(3, MADE["shuffled"], AS_INTS)
    name = next(line for line in kept_apart(text).split("\n") if ".a = bitcast" in line).split()[0]
    base = name.removesuffix(".a")
    assert base not in text
    assert re.fullmatch(r"%[a-z]+\.\d+", base) is None


def test_lengths_of_registers_have_no_fence() -> None:
    text = module(4, MADE["added"], LOW)
    assert kept_apart(text) is text


def test_lanes_in_another_order_have_no_fence() -> None:
    text = module(3, MADE["added"], LOW).replace(
        "<8 x i32> <i32 0, i32 1,", "<8 x i32> <i32 1, i32 0,"
    )
    assert kept_apart(text) is text


def test_hosts_without_mask_registers_have_no_fence() -> None:
    text = module(3, MADE["shuffled"], AS_INTS)
    assert kept_apart(text) is not text
    plain = "\n".join(line for line in text.split("\n") if not line.startswith("declare"))
    assert kept_apart(plain) is plain
