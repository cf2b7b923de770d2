"""Bare programs: functions, shared memory, sub-buffers and implicit inputs, with results."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.errors import FaultError

pytestmark = pytest.mark.usefixtures("each_engine")

# Each thread calls f0 or f1, by its id in the group, through a function pointer. Arguments: one
# register and one quadword in memory at %sp, as more arguments than %arg holds are passed.
POINTERS = """\
.version 4.1
.kernel "dispatch"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl stack v_type=G type=uq num_elts=1 align=qword
.decl id v_type=G type=ud num_elts=3 align=GRF
.decl group v_type=G type=ud num_elts=3 align=GRF
.decl first v_type=G type=uq num_elts=1 align=qword
.decl second v_type=G type=uq num_elts=1 align=qword
.decl handle v_type=G type=ud num_elts=1 align=dword
.decl low v_type=G type=ud num_elts=2 align=qword alias=<first, 0>
.decl low2 v_type=G type=ud num_elts=2 align=qword alias=<second, 0>
.decl at v_type=G type=uq num_elts=1 align=qword
.decl number v_type=G type=ud num_elts=1 align=dword
.decl arg v_type=G type=ud num_elts=8 align=GRF alias=<%arg, 0>
.decl result v_type=G type=ud num_elts=8 align=GRF alias=<%retval, 0>
.decl P1 v_type=P num_elts=1
.input out offset=64 size=8
.input stack offset=72 size=8
.implicit_LOCAL_ID id offset=96 size=12
.implicit_GROUP_COUNT group offset=128 size=12
.kernel_attr SimdSize=8
.function "dispatch_0"

dispatch_0:
    faddr f0 first(0,0)<1>
    faddr f1 second(0,0)<1>
    mad (M1_NM, 1) number(0,0)<1> %group_id_x(0,0)<0;1,0> 0x4:ud id(0,0)<0;1,0>
    shl (M1_NM, 1) handle(0,0)<1> number(0,0)<0;1,0> 0x6:ud
    add (M1_NM, 1) %sp(0,0)<1> stack(0,0)<0;1,0> handle(0,0)<0;1,0>
    mul (M1_NM, 1) at(0,0)<1> number(0,0)<0;1,0> 0x64:ud
    svm_block_st (1) %sp(0,0)<0;1,0> at.0
    mov (M1_NM, 1) arg(0,0)<1> number(0,0)<0;1,0>
    and (M1_NM, 1) handle(0,0)<1> number(0,0)<0;1,0> 0x1:ud
    cmp.eq (M1_NM, 1) P1 handle(0,0)<0;1,0> 0x0:ud
    mov (M1_NM, 1) handle(0,0)<1> low2(0,0)<0;1,0>
    (P1) mov (M1_NM, 1) handle(0,0)<1> low(0,0)<0;1,0>
    ifcall (M1, 8) handle(0,0)<0;1,0> 1 1
    shl (M1_NM, 1) number(0,0)<1> number(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) at(0,0)<1> out(0,0)<0;1,0> number(0,0)<0;1,0>
    svm_scatter.4.1 (M1_NM, 1) at.0 result.0
    ret (M1, 1)
"""


def function(name, instruction):
    return f"""
.global_function "{name}"
.decl arg v_type=G type=ud num_elts=8 align=GRF alias=<%arg, 0>
.decl result v_type=G type=ud num_elts=8 align=GRF alias=<%retval, 0>
.decl wide v_type=G type=uq num_elts=2 align=oword
.decl word v_type=G type=ud num_elts=4 align=oword alias=<wide, 0>
.kernel_attr SimdSize=8
.function "{name}_0"

{name}_0:
    svm_block_ld (1) %sp(0,0)<0;1,0> wide.0
    {instruction}
    fret (M1, 8)
"""


ADD = "add (M1_NM, 1) result(0,0)<1> arg(0,0)<0;1,0> word(0,0)<0;1,0>"
MULTIPLY = "mul (M1_NM, 1) result(0,0)<1> arg(0,0)<0;1,0> word(0,0)<0;1,0>"

# Adds to a counter in memory and stores what it was.
COUNT = """\
.version 4.1
.kernel "count"
.decl at v_type=G type=uq num_elts=1 align=qword
.decl out v_type=G type=uq num_elts=1 align=qword
.decl old v_type=G type=ud num_elts=1 align=dword
.input at offset=64 size=8
.input out offset=72 size=8
.kernel_attr SimdSize=8
.function "count_0"

count_0:
    svm_atomic.inc (M1_NM, 1) at.0 old.0 %null.0 %null.0
    svm_scatter.4.1 (M1_NM, 1) out.0 old.0
    ret (M1, 1)
"""


def test_threads_call_through_pointers_with_arguments_in_registers_and_memory():
    text = POINTERS + function("f0", ADD) + function("f1", MULTIPLY)
    kernel = visim.assemble(text, platform="skl")["dispatch"]
    out, stack = np.zeros(8, np.uint32), np.zeros(8 * 64, np.uint8)
    report = kernel.launch([out, stack], thread_groups=2, group_size=4)
    assert report.threads == 8
    assert out.tolist() == [i * (100 * i) if i & 1 else i + 100 * i for i in range(8)]


def test_a_number_that_is_no_function_is_a_fault():
    text = POINTERS.replace("low2(0,0)<0;1,0>", "0x7:ud") + function("f0", ADD)
    text += function("f1", MULTIPLY)
    kernel = visim.assemble(text, platform="skl")["dispatch"]
    out, stack = np.zeros(8, np.uint32), np.zeros(8 * 64, np.uint8)
    with pytest.raises(FaultError, match="0x7 is not the handle of a function") as caught:
        kernel.launch([out, stack], thread_groups=2, group_size=4)
    assert caught.value.fault.thread == 1


def test_kernels_of_several_programs_share_memory():
    first, second = (visim.assemble(COUNT, platform=device)["count"] for device in ("skl", "pvc"))
    shared, out = visim.Buffer(16), np.zeros(1, np.uint32)
    first.launch([shared, out], thread_groups=5)
    second.launch([shared, out], thread_groups=3)
    assert shared.array(np.uint32)[0] == 8
    assert out[0] == 7


def test_a_sub_buffer_is_the_part_of_its_buffer_and_no_more():
    kernel = visim.assemble(COUNT, platform="skl")["count"]
    whole, out = visim.Buffer(32), np.zeros(1, np.uint32)
    for part in (whole[8:16], whole[8:16][4:8]):
        kernel.launch([part, out])
    assert whole.array(np.uint32).tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    with pytest.raises(FaultError) as caught:
        kernel.launch([whole[8:10], out])
    assert caught.value.fault.buffer == "at"
