"""Halves of an operation that round in a mode of their own, which is set and reset for each."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.jit.analysis.blocks import UnitCode
from visim.sem.effects import WriteRegister

from . import harness

TEXT = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=f num_elts=16 align=wordx32
.decl V41 v_type=G type=f num_elts=16 align=wordx32
.kernel_attr SimdSize=16
.function "k"
k:
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
    mul (M1, 8) V41(0,0)<1> V40(0,0)<1;1,0> V40(0,0)<1;1,0>
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x30:ud
{between}    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {again}:ud
    mul (M3, 8) V41(1,0)<1> V40(1,0)<1;1,0> V40(1,0)<1;1,0>
    xor (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> {again}:ud
    mul (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>
    ret (M1, 1)
"""
CASES = {
    "taken back": ("0x30", "", True),
    "another mode": ("0x20", "", False),
    "something between": ("0x30", "    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 1.5:f\n", False),
}


@pytest.mark.parametrize(("again", "between", "joined"), CASES.values(), ids=CASES)
def test_halves_in_a_mode_are_one(
    again: str, between: str, monkeypatch: pytest.MonkeyPatch, *, joined: bool
) -> None:
    kernel = harness.assemble(TEXT.format(again=again, between=between), "dg2")
    values = np.linspace(0.1, 3.3, 16, dtype=np.float32) ** 5
    given = {"V40": values, "V41": values[::-1].copy()}
    wanted = kernel.run(given, mask=0xFFFF)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])
    found = kernel.run(given, mask=0xFFFF)
    for name in ("V40", "V41"):
        assert found[name].tobytes() == wanted[name].tobytes()
    assert found.exit.executed == wanted.exit.executed

    code, lanes, start = UnitCode(kernel.linked, kernel.linked.units[0]), list[int](), 0
    while start < len(code.unit.body):
        block = code.block(start)
        writes = [e for step in block.steps for e in step.effects if isinstance(e, WriteRegister)]
        lanes += [one.place.lanes for one in writes if one.value.uop.name == "fmul"]
        start = block.next
    assert lanes == ([16, 16] if joined else [8, 8, 16])
