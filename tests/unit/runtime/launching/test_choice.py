"""A launch that names no engine gets the one that is expected to be done first."""

from __future__ import annotations

import numpy as np
import pytest

import visim

TEXT = """.version 4.1
.kernel "k"
.decl OUT v_type=G type=uq num_elts=1 align=qword
.decl N v_type=G type=d num_elts=8 align=GRF
.decl P v_type=P num_elts=8
.input OUT offset=64 size=8
.kernel_attr SimdSize=8
mov (M1, 8) N(0,0)<1> 0x0:d
again:
add (M1, 8) N(0,0)<1> N(0,0)<8;8,1> 0x1:d
cmp.lt (M1, 8) P N(0,0)<8;8,1> 0x5:d
(P) goto (M1, 8) again
svm_block_st (1) OUT(0,0)<0;1,0> N.0
ret (M1, 1)
"""


@pytest.fixture
def kernel() -> visim.Kernel:
    return visim.assemble(TEXT, platform="skl")["k"]


def launched(kernel: visim.Kernel, groups: int, **more: object) -> tuple[str, int]:
    found = np.zeros(4, np.int32)
    report = kernel.launch([found], thread_groups=groups, **more)
    return report.engine, int(found[0])


def test_a_small_launch_is_interpreted(kernel):
    assert launched(kernel, 1) == ("interpreter", 5)


def test_a_large_launch_is_compiled(kernel):
    assert launched(kernel, 2000) == ("jit", 5)


def test_an_engine_that_is_named_is_taken(kernel):
    assert launched(kernel, 500, engine="interpreter")[0] == "interpreter"


IMAGE = """.version 4.1
.kernel "k"
.decl N v_type=G type=d num_elts=32 align=GRF
.decl Z v_type=G type=d num_elts=8 align=GRF
.decl T6 v_type=T num_elts=1
.kernel_attr SimdSize=8
mov (M1, 8) Z(0,0)<1> 0x0:d
movs (M1_NM, 1) T6(0) 0x0:ud
{messages}
ret (M1, 1)
"""
READ = "gather4_typed.RGBA (M1, 8) T6 Z.0 Z.0 %null.0 %null.0 N.0"


@pytest.mark.parametrize(("count", "engine"), [(0, "interpreter"), (3, "jit")])
def test_messages_to_images_take_the_interpreter_long(count, engine):
    kernel = visim.assemble(IMAGE.format(messages="\n".join([READ] * count)), platform="skl")["k"]
    image = visim.Image(np.zeros((2, 2, 4), np.float32), format="rgba:float")
    report = kernel.launch([], thread_groups=20, surfaces={0: image})
    assert report.engine == engine


@pytest.mark.parametrize("name", ["", "JIT", "gpu"])
def test_an_engine_that_there_is_not_is_none(kernel, name):
    with pytest.raises(visim.UnsupportedError, match=f"no engine '{name}'"):
        launched(kernel, 1, engine=name)
