"""Groups of several rows: native code runs those of a row together, with their coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.engine.observers import GroupStart

pytestmark = pytest.mark.usefixtures("each_engine")

WIDTH, HEIGHT, DEPTH = GRID = (7, 5, 3)
KERNEL = f"""\
.version 4.1
.kernel "k"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl number v_type=G type=ud num_elts=1 align=dword
.decl place v_type=G type=ud num_elts=1 align=dword
.decl before v_type=G type=ud num_elts=1 align=dword
.input out offset=64 size=8
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    mul (M1_NM, 1) place(0,0)<1> %group_id_z(0,0)<0;1,0> {HEIGHT:#x}:ud
    add (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> %group_id_y(0,0)<0;1,0>
    mul (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> {WIDTH:#x}:ud
    add (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> %group_id_x(0,0)<0;1,0>
    add (M1_NM, 1) before(0,0)<1> before(0,0)<0;1,0> 0x1:ud
    add (M1_NM, 1) number(0,0)<1> place(0,0)<0;1,0> before(0,0)<0;1,0>
    shl (M1_NM, 1) at(0,0)<1> place(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) at(0,0)<1> at(0,0)<0;1,0> out(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[at]:a64 number:d32
    ret (M1, 1)
"""
INSTRUCTIONS = 10
COUNT = WIDTH * HEIGHT * DEPTH


@pytest.fixture
def kernel():
    return visim.assemble(KERNEL, platform="pvc")["k"]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_thread_finds_its_group_and_zeros_elsewhere(kernel, workers, threads):
    out = np.zeros(COUNT, np.uint32)
    report = kernel.launch(
        [out], thread_groups=GRID, group_size=threads, workers=workers, collect="instructions"
    )
    assert (report.groups, report.threads) == (COUNT, COUNT * threads)
    assert report.instructions == COUNT * threads * INSTRUCTIONS
    assert np.array_equal(out, np.arange(COUNT) + 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fault_in_the_middle_of_a_row_ends_the_launch_there(kernel, workers):
    out, last = np.zeros(COUNT, np.uint32), 2 * WIDTH * HEIGHT + 3 * WIDTH + 4
    with pytest.raises(visim.FaultError) as error:
        kernel.launch([out[:last]], thread_groups=GRID, group_size=2, workers=workers)
    assert (error.value.fault.group, error.value.fault.thread) == ((4, 3, 2), 0)
    assert error.value.report.groups == last
    assert np.array_equal(out[:last], np.arange(last) + 1)


def test_observers_hear_of_each_group_of_a_row(kernel):
    seen: list[tuple[int, int, int]] = []

    class Groups(visim.Observer):
        def group_begin(self, group: GroupStart) -> None:
            seen.append(group.group)

    out = np.zeros(COUNT, np.uint32)
    kernel.launch([out], thread_groups=GRID, group_size=1, observers=[Groups()])
    wanted = [(x, y, z) for z in range(DEPTH) for y in range(HEIGHT) for x in range(WIDTH)]
    assert seen == wanted
