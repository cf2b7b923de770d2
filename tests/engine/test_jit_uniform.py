"""Jumps by predicates that are written in halves go where each channel's bit says.

Code for SIMD16 compares for channels 0 to 15 and 16 to 31 one after another. On the JIT one bit
decides where both halves are shown to be the same.
"""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.analysis.flow import is_uniform
from visim.sem.effects import Goto

from . import harness

LOOP = """
.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=2 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=1 align=wordx32
.decl P1 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
again:
    add (M1, 16) V41(0,0)<1> V41(0,0)<1;1,0> 0x1:d
    add (M5, 16) V41(2,0)<1> V41(2,0)<1;1,0> 0x1:d
    add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:d
{}
    ({}P1) goto (M1, 32) again
    add (M1, 16) V41(0,0)<1> V41(0,0)<1;1,0> 0x64:d
    add (M5, 16) V41(2,0)<1> V41(2,0)<1;1,0> 0x64:d
    ret (M1, 1)
"""

FIRST = "    cmp.lt (M1_NM, 16) P1 V42(0,0)<0;1,0> V40(0,0)<0;1,0>"
SECOND = "    cmp.lt (M5_NM, 16) P1 V42(0,0)<0;1,0> V40(0,0)<0;1,0>"
OVERRUN = "    mov (M1_NM, 1) V41(4,0)<1> 0x64:d"
"""Writes V42, which stands behind V41."""
CHANGE = "    add (M1_NM, 1) V42(0,0)<1> V42(0,0)<0;1,0> 0x1:d"

UNIFORM = {
    "both halves": ([FIRST, SECOND], ""),
    "the other way round": ([SECOND, FIRST], ""),
    "the opposite": ([line.replace("cmp.lt", "cmp.ge") for line in (FIRST, SECOND)], "!"),
    "written before": ([FIRST.replace("V40(0,0)", "V40(0,1)"), SECOND, FIRST], ""),
}
APART = {
    "one half": ([FIRST], ""),
    "other numbers": ([FIRST, SECOND.replace("V40(0,0)", "V40(0,1)")], ""),
    "other relations": ([FIRST, SECOND.replace("cmp.lt", "cmp.le")], ""),
    "changed between": ([FIRST, CHANGE, SECOND], ""),
    "changed through another variable": ([FIRST, OVERRUN, SECOND], ""),
    "channels that are on": ([FIRST.replace("_NM", ""), SECOND], ""),
    "each channel": ([FIRST.replace("V42(0,0)<0", "V41(0,0)<1"), SECOND], ""),
}


def assembled(lines: list[str], sign: str) -> harness.Kernel:
    return harness.assemble(LOOP.format("\n".join(lines), sign), "dg2")


@pytest.mark.parametrize("lines", [*UNIFORM.values(), *APART.values()], ids=[*UNIFORM, *APART])
@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0xFFFF0000, 0x00010002])
def test_channels_leave_a_loop_as_their_bits_say(
    lines: tuple[list[str], str], mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, given = assembled(*lines), {"V40": np.array([5, 8], np.int32)}
    given["V41"] = np.arange(32, dtype=np.int32) % 3
    wanted = kernel.run(given, mask=mask)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])
    assert np.array_equal(kernel.run(given, mask=mask)["V41"], wanted["V41"])


def uniform_jump(kernel: harness.Kernel) -> bool:
    """Return whether the JIT takes the jump of a kernel for one of all channels."""
    code = UnitCode(kernel.linked, kernel.linked.units[0])
    transfers = [code.block(start).transfer for start in (0, code.unit.labels["again"])]
    return any(isinstance(one, Goto) and is_uniform(one.mask) for one in transfers)


@pytest.mark.parametrize("lines", UNIFORM.values(), ids=UNIFORM)
def test_one_bit_decides_where_halves_are_the_same(lines: tuple[list[str], str]) -> None:
    assert uniform_jump(assembled(*lines))


@pytest.mark.parametrize("lines", APART.values(), ids=APART)
def test_all_bits_decide_where_halves_may_differ(lines: tuple[list[str], str]) -> None:
    assert not uniform_jump(assembled(*lines))
