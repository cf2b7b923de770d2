"""Variables of file scope have one index, and are told apart all the same, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.jit.launch import code
from visim.engine.jit.writing import strips
from visim.machine.memory import Memory

from . import harness
from .both import compare, on_interpreter, on_jit

HEAD = """.version 4.1
.static_variable one type=ud num_elts=32 align=GRF
.static_variable two type=ud num_elts=32 align=GRF
.kernel "k"
.decl V32 v_type=G type=ud num_elts=32 alias=<one, 0>
.decl V33 v_type=G type=ud num_elts=32 alias=<two, 0>
.decl V34 v_type=G type=ud num_elts=32 align=GRF
.decl V35 v_type=G type=uq num_elts=32 align=GRF
.decl V36 v_type=G type=uq num_elts=1 align=GRF
.decl V37 v_type=G type=ud num_elts=1 align=GRF
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
MASKS = pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])


@MASKS
def test_addresses_are_made_of_the_variable_that_is_read(mask: int) -> None:
    text = """    mov (M1, 32) V32(0,0)<1> 0x10:ud
    mov (M1, 32) V33(0,0)<1> 0x44:ud
    mov (M1, 32) V35(0,0)<1> V32(0,0)<1;1,0>
    add (M1, 32) V35(0,0)<1> V36(0,0)<0;1,0> V35(0,0)<1;1,0>
    lsc_load.ugm (M1, 32) V34:d32 flat[V35]:a64
    ret (M1, 1)
"""
    kernel, memory = harness.assemble(HEAD + text, "pvc"), Memory()
    base = memory.add(np.arange(32, dtype=np.uint32), "a")
    start = ((kernel.place("V36"), np.array([base], np.uint64).tobytes()),)
    place = kernel.place("V34")
    images = [run(kernel, start, mask, memory=memory)[1] for run in (on_interpreter, on_jit)]
    want, found = (image[place : place + 128].view(np.uint32) for image in images)
    assert want.max() == 4
    assert found.tolist() == want.tolist()


@MASKS
def test_strips_read_both(monkeypatch: pytest.MonkeyPatch, mask: int) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(code, "has_mask_registers", lambda: False)
    for name in ("LEAST_STEPS", "LONG", "STEPS_A_ROW", "STEPS_A_ROW_IN_PLACE"):
        monkeypatch.setattr(strips, name, 0)
    text = """    add (M1, 32) V34(0,0)<1> V32(0,0)<1;1,0> V33(0,0)<1;1,0>
    mul (M1, 32) V32(0,0)<1> V34(0,0)<1;1,0> V33(0,0)<1;1,0>
    add (M1, 32) V34(0,0)<1> V34(0,0)<1;1,0> V32(0,0)<1;1,0>
    ret (M1, 1)
"""
    rows = {f"V{n}": np.arange(n, n + 32, dtype=np.uint32) for n in (32, 33, 34)}
    assert compare(harness.assemble(HEAD + text, "pvc"), rows, mask) is None


@MASKS
def test_jumps_look_at_both(mask: int) -> None:
    """The halves of a condition look at the same element of different variables."""
    text = """    cmp.lt (M1_NM, 16) P1 V32(0,0)<0;1,0> V37(0,0)<0;1,0>
    cmp.lt (M5_NM, 16) P1 V33(0,0)<0;1,0> V37(0,0)<0;1,0>
    (P1) goto (M1, 32) on
    mov (M1, 32) V34(0,0)<1> 0x9:ud
on:
    ret (M1, 1)
"""
    kernel = harness.assemble(HEAD + text, "pvc")
    for a, b in ((1, 9), (9, 1), (1, 1), (9, 9)):
        rows = {"V32": np.full(32, a, np.uint32), "V33": np.full(32, b, np.uint32)}
        rows |= {"V34": np.zeros(32, np.uint32), "V37": np.full(1, 5, np.uint32)}
        assert compare(kernel, rows, mask) is None
