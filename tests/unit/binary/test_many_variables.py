"""Kernels with more variables than the specification allows, as Intel's compiler writes them."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.errors import InputError

COUNT = 65536 + 100
NAMES = [f"V{number}" for number in range(32, 32 + COUNT)]
LAST = NAMES[-1]
TEXT = "\n".join(
    [
        ".version 4.1",
        '.kernel "many"',
        *(f".decl {name} v_type=G type=ud num_elts=8 align=hword" for name in NAMES),
        ".decl out v_type=G type=uq num_elts=1 align=qword",
        ".input out offset=64 size=8",
        ".kernel_attr SimdSize=8",
        '.function "many_0"',
        "many_0:",
        f"    mov (M1, 8) {LAST}(0,0)<1> 0x7:ud",
        f"    svm_block_st (2) out(0,0)<0;1,0> {LAST}.0",
        "    ret (M1, 1)",
        "",
    ]
)


@pytest.fixture(scope="module", name="program")
def assembled() -> visim.Program:
    return visim.assemble(TEXT, platform="skl")


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_their_object_is_read_and_run(program: visim.Program, engine: str):
    again = visim.load(program.to_object(), platform="skl")
    assert again.text() == program.text()
    found = np.zeros(8, np.uint32)
    again["many"].launch([found], thread_groups=1, engine=engine)
    assert (found == 7).all()


def test_objects_whose_numbers_have_two_bytes_have_no_place_for_them(program: visim.Program):
    with pytest.raises(InputError, match="an object stores it in 2 bytes"):
        program.to_object(isa_version="3.0")
