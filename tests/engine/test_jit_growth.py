"""What the JIT does before LLVM grows with the length of the code, whatever the code repeats.

Work is counted in calls of functions: code four times as long may need four times as many, and
some more; what grows with the square would need sixteen times as many.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.robustness.test_growth import MOST_GROWTH, calls_of, each
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version

from . import harness

SHORT, LONG = 60, 240
HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=16 align=wordx32
.decl V41 v_type=G type=d num_elts=16 align=wordx32
.decl P1 v_type=P num_elts=16
.kernel_attr SimdSize=16
.function "k"
k:
"""
ADD = "add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x{n:x}:d\n"
MOVE = "mov (M1, 16) V41(0,0)<1> V40(0,0)<1;1,0>\n"
COMPARE = "cmp.lt (M1, 16) P1 V40(0,0)<1;1,0> 0x{n:x}:d\n"
RET = "ret (M1, 1)\n"

GROWING: dict[str, Callable[[int], str]] = {
    "a register that is written in place": lambda n: each(n, ADD) + RET,
    "a register that is written in place and copied": lambda n: each(n, ADD + MOVE) + RET,
    "a register that branches write": lambda n: (
        each(n, f"{COMPARE}(P1) goto (M1, 16) L{{n}}\n{ADD}{MOVE}L{{n}}:\n{MOVE}") + RET
    ),
    "loops that channels can run apart": lambda n: (
        each(n, f"L{{n}}:\n{ADD}{COMPARE}(P1) goto (M1, 16) L{{n}}\n{MOVE}") + RET
    ),
    "subroutines": lambda n: (
        each(n, "call (M1, 16) S{n}\n")
        + RET
        + each(n, f'.function "S{{n}}"\nS{{n}}:\n{ADD}ret (M1, 16)\n')
    ),
}


@pytest.mark.parametrize("what", GROWING)
def test_writing_code_takes_work_in_proportion(what: str) -> None:
    def calls(count: int) -> int:
        linked = harness.assemble(HEAD + GROWING[what](count), "pvc").linked
        return calls_of(ModuleWriter(linked, Version(full=True, slm_bytes=0)).write)

    calls(SHORT)
    assert calls(LONG) < MOST_GROWTH * calls(SHORT)
