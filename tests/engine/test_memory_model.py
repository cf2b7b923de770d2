"""Threads of the device, other launches and the host see each other's memory as chapter 3 says.

Atomics act one after another, whoever asks for them; a store is seen by whoever looks later;
barriers order the shared local memory of a group. Nothing here depends on how fast anything is.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import visim

BOTH = pytest.mark.parametrize("engine", ["interpreter", "jit"])

HEAD = """\
.version 4.1
.kernel "k"
.decl ADDRESS v_type=G type=uq num_elts=1 align=GRF
.decl ROUNDS v_type=G type=ud num_elts=1 align=GRF
.decl A v_type=G type=uq num_elts=8 align=GRF
.decl N v_type=G type=ud num_elts=8 align=GRF
.decl V v_type=G type=ud num_elts=8 align=GRF
.decl S v_type=G type=ud num_elts=1 align=GRF
.decl P1 v_type=P num_elts=1
.input ADDRESS offset=64 size=8
.input ROUNDS offset=72 size=4
.kernel_attr SimdSize=8
.kernel_attr SLMSize=1
.function "k_0"

k_0:
    mov (M1_NM, 8) A(0,0)<1> ADDRESS(0,0)<0;1,0>
    mov (M1_NM, 8) N(0,0)<1> 0x1:ud
    mov (M1_NM, 1) S(0,0)<1> 0x0:ud
"""
LOOP = """\
again:
{body}
    add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 0x1:ud
    cmp.lt (M1_NM, 1) P1 S(0,0)<0;1,0> ROUNDS(0,0)<0;1,0>
    (P1) jmp (M1, 1) again
    ret (M1, 1)
"""
# All channels of all threads add to one word; each message is an atomic of its own.
COUNT = HEAD + LOOP.format(body="    svm_atomic.add (M1_NM, 8) A.0 %null.0 N.0 %null.0")
# Fetch with or of 0, as compilers write an atomic load, until the host has stored a 1.
SHAKE_HANDS = (
    HEAD
    + """\
    svm_scatter.4.1 (M1_NM, 1) A.0 N.0
    add (M1_NM, 1) A(0,0)<1> A(0,0)<0;1,0> 0x4:uq
    mov (M1_NM, 1) N(0,0)<1> 0x0:ud
again:
    svm_atomic.or (M1_NM, 1) A.0 V.0 N.0 %null.0
    cmp.eq (M1_NM, 1) P1 V(0,0)<0;1,0> 0x0:ud
    (P1) jmp (M1, 1) again
    ret (M1, 1)
"""
)
# Every thread writes its number to SLM, and after a barrier reads what its neighbour wrote.
NEIGHBOURS = """\
.version 4.1
.kernel "k"
.decl ADDRESS v_type=G type=uq num_elts=1 align=GRF
.decl ID v_type=G type=ud num_elts=3 align=GRF
.decl A v_type=G type=ud num_elts=1 align=GRF
.decl B v_type=G type=uq num_elts=1 align=GRF
.decl V v_type=G type=ud num_elts=1 align=GRF
.decl S v_type=G type=ud num_elts=1 align=GRF
.decl P1 v_type=P num_elts=1
.input ADDRESS offset=64 size=8
.implicit_LOCAL_ID ID offset=96 size=12
.kernel_attr SimdSize=8
.kernel_attr SLMSize=1
.function "k_0"

k_0:
    mov (M1_NM, 1) S(0,0)<1> 0x0:ud
again:
    shl (M1_NM, 1) A(0,0)<1> ID(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) V(0,0)<1> ID(0,0)<0;1,0> S(0,0)<0;1,0>
    scatter_scaled.4 (M1_NM, 1) %slm 0x0:ud A.0 V.0
    barrier
    xor (M1_NM, 1) A(0,0)<1> A(0,0)<0;1,0> 0x4:ud
    gather_scaled.4 (M1_NM, 1) %slm 0x0:ud A.0 V.0
    barrier
    add (M1_NM, 1) S(0,0)<1> S(0,0)<0;1,0> 0x1:ud
    cmp.lt (M1_NM, 1) P1 S(0,0)<0;1,0> 0x10:ud
    (P1) jmp (M1, 1) again
    shl (M1_NM, 1) A(0,0)<1> ID(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) B(0,0)<1> ADDRESS(0,0)<0;1,0> A(0,0)<0;1,0>
    svm_scatter.4.1 (M1_NM, 1) B.0 V.0
    ret (M1, 1)
"""


def kernel(text: str) -> visim.Kernel:
    return visim.assemble(text, platform="skl")["k"]


@BOTH
def test_atomics_of_groups_that_run_at_the_same_time_all_count(engine):
    word = np.zeros(1, np.uint32)
    count = kernel(COUNT)
    count.launch([word, np.uint32(10)], thread_groups=64, group_size=2, engine=engine, workers=4)
    assert word[0] == 64 * 2 * 8 * 10


@BOTH
def test_atomics_of_launches_that_run_at_the_same_time_all_count(engine):
    word = np.zeros(1, np.uint32)
    count = kernel(COUNT)
    handles = [
        count.launch([word, np.uint32(50)], thread_groups=4, engine=engine, workers=2, wait=False)
        for _ in range(4)
    ]
    for handle in handles:
        handle.result()
    assert word[0] == 4 * 4 * 8 * 50


@BOTH
def test_the_host_sees_atomics_only_grow(engine):
    word = np.zeros(1, np.uint32)
    handle = kernel(COUNT).launch(
        [word, np.uint32(80)], thread_groups=8, engine=engine, workers=2, wait=False
    )
    seen = [0]
    while not handle.done():
        seen.append(int(word[0]))
    handle.result()
    assert seen == sorted(seen)
    assert word[0] == 8 * 8 * 80


@BOTH
def test_device_and_host_answer_each_other_while_a_kernel_runs(engine):
    words = np.zeros(2, np.uint32)
    patience = threading.Event()
    handle = kernel(SHAKE_HANDS).launch(
        [words, np.uint32(0)], engine=engine, budget=None, wait=False
    )
    while not words[0]:
        assert not handle.done()
        patience.wait(0.001)
    words[1] = 1
    handle.result()
    assert words.tolist() == [1, 1]


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_barriers_order_shared_local_memory(engine, seed):
    found = np.zeros(8, np.uint32)
    kernel(NEIGHBOURS).launch([found], group_size=8, thread_groups=4, engine=engine, seed=seed)
    assert found.tolist() == [(n ^ 1) + 15 for n in range(8)]


class TestFences:
    """FENCE, LSC_FENCE: memory has one order here, so that they change nothing."""

    @pytest.mark.parametrize(
        ("device", "line"),
        [
            ("skl", "fence_global.E"),
            ("skl", "fence_local.E"),
            ("skl", "fence_sw"),
            ("pvc", "lsc_fence.ugm.evict.gpu"),
            ("pvc", "lsc_fence.slm.none.group"),
            ("pvc", "lsc_fence.tgm.invalidate.tile"),
        ],
    )
    @BOTH
    def test_a_store_before_one_is_seen_after_it(self, engine, device, line):
        body = f"""\
    svm_scatter.4.1 (M1_NM, 1) A.0 N.0
    {line}
    svm_gather.4.1 (M1_NM, 1) A.0 V.0
    add (M1_NM, 1) A(0,0)<1> A(0,0)<0;1,0> 0x4:uq
    svm_scatter.4.1 (M1_NM, 1) A.0 V.0
    ret (M1, 1)
"""
        text = HEAD.replace("offset=72", "offset=96") if device == "skl" else HEAD
        words = np.zeros(2, np.uint32)
        visim.assemble(text + body, platform=device)["k"].launch(
            [words, np.uint32(0)], engine=engine
        )
        assert words.tolist() == [1, 1]
