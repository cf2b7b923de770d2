"""Memory is asked once ahead for rows that are loaded and stored."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine import jit
from visim.engine.base import Machine, RunOptions
from visim.engine.jit.launch import kept
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

HEAD = """\
.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=1 align=wordx32
.decl V41 v_type=G type=uw num_elts=16 align=wordx32
.decl V42 v_type=G type=q num_elts=16 align=wordx32
.decl V43 v_type=G type=uq num_elts=16 align=wordx32
.decl V44 v_type=G type=ud num_elts=16 align=wordx32
.input V41 offset=64 size=32
.kernel_attr SimdSize=16
.function "k"
k:
    mov (M1, 16) V42(0,0)<1> V41(0,0)<1;1,0>
    shl (M1, 16) V42(0,0)<1> V42(0,0)<1;1,0> 0x2:q
    add (M1, 16) V43(0,0)<1> V42(0,0)<1;1,0> V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 16) V44:d32 flat[V43]:a64
    add (M1, 16) V44(0,0)<1> V44(0,0)<1;1,0> 0x5:ud
"""
MOVED = "    add (M1, 16) V43(0,0)<1> V43(0,0)<1;1,0> 0x40:ud\n"
STORE = """\
    lsc_store.ugm (M1, 16) flat[V43]:a64 V44:d32
    ret (M1, 1)
"""


@pytest.mark.parametrize(("between", "asked", "first"), [("", 1, 0), (MOVED, 2, 16)])
def test_rows_that_are_stored_where_they_were_loaded_are_asked_for_once(
    monkeypatch: pytest.MonkeyPatch, between: str, asked: int, first: int
) -> None:
    texts, compiled = list[str](), kept.object_code

    def noted(text: str, made_for: object) -> bytes:
        texts.append(text)
        return compiled(text, made_for)  # pyright: ignore[reportArgumentType]

    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(kept, "object_code", noted)
    kernel = harness.assemble(HEAD + between + STORE, "pvc")
    memory, data = Memory(), np.arange(32, dtype=np.uint32)
    base = np.array([memory.add(data, "data")], np.uint64)
    ids = np.arange(16, dtype=np.uint16)
    registers = (kernel.place("V40"), base.tobytes()), (kernel.place("V41"), ids.tobytes())
    group = harness.GroupsAlike((harness.ThreadStart(registers, 0xFFFF),))
    engine = jit.Prepared(kernel.linked)
    assert engine.run([0], group, Machine(memory, Surfaces()), RunOptions()).fault is None
    assert texts[-1].count("call void @llvm.prefetch") == asked
    expected = np.arange(32, dtype=np.uint32)
    expected[first : first + 16] = np.arange(5, 21)
    assert np.array_equal(data, expected)
