"""Inexact functions are the same whether their products and sums are rounded once or twice.

`fmuladd` rests on this. A run tries a share of all numbers of F, `--thorough` every one.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import visim
from tests.shares import choose_seed
from visim.engine.jit.common.native import fuses_products
from visim.engine.jit.passes import VARIABLE

FUNCTIONS = ("exp", "log", "sin", "cos", "tanh", "sigm")
STRETCH = 1 << 22
_WHOLE = range(0, 1 << 32, STRETCH)
_SHARE = 2
_SPECIAL = (0x3F000000, 0xBF000000)
"""Stretches that begin at 0.5 and -0.5, where every function has much to do."""

TEXT = """.version 4.1
.kernel "k"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl first v_type=G type=ud num_elts=1 align=dword
.decl place v_type=G type=uq num_elts=1 align=qword
.decl base v_type=G type=ud num_elts=1 align=dword
.decl bits v_type=G type=ud num_elts=16 align=wordx32
.decl x v_type=G type=f num_elts=16 align=wordx32 alias=<bits, 0>
.decl y v_type=G type=f num_elts=16 align=wordx32
.input out offset=64 size=8
.input first offset=72 size=4
.kernel_attr SimdSize=16
k:
    shl (M1_NM, 1) base(0,0)<1> %group_id_x(0,0)<0;1,0> 0x4:ud
    add (M1_NM, 1) bits(0,0)<1> base(0,0)<0;1,0> first(0,0)<0;1,0>
    mov (M1_NM, 1) place(0,0)<1> base(0,0)<0;1,0>
    shl (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> 0x2:uq
    add (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> out(0,0)<0;1,0>
    add (M1_NM, 1) bits(0,1)<1> bits(0,0)<0;1,0> 0x1:ud
    add (M1_NM, 2) bits(0,2)<1> bits(0,0)<2;2,1> 0x2:ud
    add (M1_NM, 4) bits(0,4)<1> bits(0,0)<4;4,1> 0x4:ud
    add (M1_NM, 8) bits(0,8)<1> bits(0,0)<8;8,1> 0x8:ud
    {function} (M1, 16) y(0,0)<1> x(0,0)<1;1,0>
    lsc_store.ugm (M1_NM, 1)  flat[place]:a64  y:d32x16t
    ret (M1, 1)
"""


def pytest_generate_tests(metafunc: Any) -> None:
    thorough = metafunc.config.getoption("--thorough")
    drawn = random.Random(choose_seed()).sample(_WHOLE, _SHARE)
    metafunc.parametrize("starts", [tuple(_WHOLE if thorough else (*_SPECIAL, *drawn))], ids=["x"])


@pytest.mark.skipif(not fuses_products(), reason="this processor has no fused products and sums")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_stay_the_same(monkeypatch, function: str, starts: tuple[int, ...]) -> None:
    results = []
    for words in ("", "-contract"):
        monkeypatch.setenv(VARIABLE, words)
        kernel = visim.assemble(TEXT.format(function=function), platform="cri")["k"]
        found = np.empty(STRETCH, np.uint32)

        def of(start: int, kernel: Any = kernel, found: Any = found) -> np.ndarray:
            kernel.launch([found, np.uint32(start)], thread_groups=STRETCH // 16, group_size=1)
            return found

        results.append(of)
    for start in starts:
        fused, separate = (of(start) for of in results)
        assert np.array_equal(fused, separate), f"from {start:#x} on"
