"""The last groups may be smaller than the local size that a kernel requires, since OpenCL C 2.0."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES
from visim.errors import ArgumentError

SOURCE = """
__attribute__((reqd_work_group_size(4, 2, 1)))
kernel void k(global int *sizes, global int *sums) {
    local int sum;
    if (get_local_id(0) == 0 && get_local_id(1) == 0)
        sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int item = get_global_id(0) + get_global_id(1) * get_global_size(0);
    atomic_add(&sum, item);
    barrier(CLK_LOCAL_MEM_FENCE);
    sizes[item] = get_local_size(0) * 10 + get_local_size(1);
    sums[item] = sum;
}
"""
WIDTH, HEIGHT = 10, 5


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("standard", ["CL2.0", "CL3.0"])
@pytest.mark.parametrize("device", ALL_DEVICES)
def test_the_last_groups_are_smaller(device, standard):
    kernel = built(SOURCE, device, f"-cl-std={standard}")["k"]
    sizes, sums = np.zeros((2, HEIGHT, WIDTH), np.int32)
    kernel.launch([sizes, sums], global_size=(WIDTH, HEIGHT))
    items = np.arange(WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
    for x in range(0, WIDTH, 4):
        for y in range(0, HEIGHT, 2):
            group = np.s_[y : y + 2, x : x + 4]
            height, width = items[group].shape
            assert (sizes[group] == width * 10 + height).all()
            assert (sums[group] == items[group].sum()).all()


@pytest.mark.parametrize(
    "options", ["", "-cl-std=CL1.2", "-cl-std=CL2.0 -cl-uniform-work-group-size"]
)
def test_code_for_whole_groups_gets_no_others(options):
    kernel = built(SOURCE, "pvc", options)["k"]
    sizes, sums = np.zeros((2, HEIGHT, WIDTH), np.int32)
    with pytest.raises(ArgumentError, match=r"not a multiple of 4.*CL2\.0 or later"):
        kernel.launch([sizes, sums], global_size=(WIDTH, HEIGHT))
    kernel.launch([sizes, sums], global_size=(4, 2))
    assert (sizes.ravel()[:8] == 42).all()
