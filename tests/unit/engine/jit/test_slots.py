"""Which writes keep what channels hold that are off: those at whose lanes somebody may look."""

from __future__ import annotations

import pytest

from tests.engine import harness
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version

DECLARATIONS = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=32 align=wordx32
.decl V41 v_type=G type=d num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=ub num_elts=128 alias=<V41, 0>
.decl V44 v_type=G type=uw num_elts=64 alias=<V41, 0>
.decl V45 v_type=G type=q num_elts=16 alias=<V41, 0>
.decl V46 v_type=G type=q num_elts=16 align=wordx32
.decl P1 v_type=P num_elts=16
.kernel_attr SimdSize=16
.function "k"
k:
"""
WHOLE = ("add (M1, 16) V41(0,0)<1> V40(0,0)<1;1,0> 0x3:d",)
WORDS = tuple(f"add (M1, 16) V41(0,{n})<2> V40(0,0)<1;1,0> 0x3:d" for n in range(2))
SOME = ("add (M1, 16) V41(0,8)<1> V40(0,0)<1;1,0> 0x3:d",)
ROWS = {
    "the element": (WHOLE, "mov (M1, 16) V42(0,0)<1> V41(0,0)<1;1,0>"),
    "its lowest byte": (WHOLE, "mov (M1, 16) V42(0,0)<1> V43(0,0)<4;1,0>"),
    "its highest byte": (WHOLE, "mov (M1, 16) V42(0,0)<1> V43(0,3)<4;1,0>"),
    "its upper word": (WHOLE, "mov (M1, 16) V42(0,0)<1> V44(0,1)<2;1,0>"),
    "what it is a part of": (WORDS, "mov (M1, 16) V46(0,0)<1> V45(0,0)<1;1,0>"),
}
OTHERS = {
    "elements of other channels": (WHOLE, "mov (M1, 16) V42(0,0)<1> V41(0,1)<1;1,0>"),
    "bytes of other channels": (WHOLE, "mov (M1, 16) V42(0,0)<1> V43(0,4)<4;1,0>"),
    "bytes one after another": (WHOLE, "mov (M1, 16) V42(0,0)<1> V43(0,0)<1;1,0>"),
    "channels in front of it": (SOME, "mov (M1, 16) V42(0,0)<1> V43(0,0)<4;1,0>"),
}


def kept(writes: tuple[str, ...], *, inside: str = "", behind: str = "") -> int:
    """Return how many writes choose between new and old lanes, if one comes behind a jump."""
    lines = (
        *("cmp.gt (M1, 16) P1 V40(0,0)<1;1,0> 0x5:d", "(!P1) goto (M1, 16) over"),
        *(*writes, inside, "over:", behind, "ret (M1, 1)"),
    )
    body = "".join(f"{'' if line == 'over:' else '    '}{line}\n" for line in lines if line)
    made = harness.assemble(DECLARATIONS + body, "pvc")
    text = ModuleWriter(made.linked, Version(full=True, slm_bytes=0)).write().text
    return text.count("= select <16 x i1>")


@pytest.mark.parametrize("name", ROWS)
def test_nobody_looks_at_other_channels(name: str) -> None:
    writes, read = ROWS[name]
    assert kept(writes, inside=read) == 0
    assert kept(writes, behind=read) == len(writes)


@pytest.mark.parametrize("name", OTHERS)
def test_somebody_may_look_at_other_channels(name: str) -> None:
    writes, read = OTHERS[name]
    assert kept(writes, inside=read) == 1
