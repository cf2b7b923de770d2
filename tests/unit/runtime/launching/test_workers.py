"""Several workers: the same results, and of several faults that of the lowest group."""

from __future__ import annotations

import numpy as np
import pytest

import visim

pytestmark = pytest.mark.usefixtures("each_engine")

HEAD = """\
.version 4.1
.kernel "k"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl number v_type=G type=ud num_elts=1 align=dword
.decl P1 v_type=P num_elts=1
.input out offset=64 size=8
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    shl (M1_NM, 1) at(0,0)<1> %group_id_x(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) at(0,0)<1> at(0,0)<0;1,0> out(0,0)<0;1,0>
    add (M1_NM, 1) number(0,0)<1> %group_id_x(0,0)<0;1,0> 0x1:ud
"""
STORE = "    lsc_store.ugm (M1_NM, 1) flat[at]:a64 number:d32\n    ret (M1, 1)\n"
MEETING = """\
    nbarrier.signal 0x3:ub 0x2:ub
    nbarrier.wait 0x3:ub
"""
GROUPS = 400


@pytest.fixture(params=["", MEETING], ids=["alone", "named barriers"])
def kernel(request):
    return visim.assemble(HEAD + request.param + STORE, platform="pvc")["k"]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_group_runs_once(kernel, workers):
    out = np.zeros(GROUPS, np.uint32)
    report = kernel.launch([out], thread_groups=GROUPS, group_size=2, workers=workers)
    assert report.groups == GROUPS
    assert np.array_equal(out, np.arange(GROUPS) + 1)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_fault_of_the_lowest_group_is_reported(kernel, workers):
    out = np.zeros(GROUPS, np.uint32)
    with pytest.raises(visim.FaultError) as error:
        kernel.launch([out[:123]], thread_groups=GROUPS, group_size=2, workers=workers)
    assert (error.value.fault.group, error.value.fault.thread) == ((123, 0, 0), 0)
    assert error.value.report.groups == 123
    assert not out[123:].any()
