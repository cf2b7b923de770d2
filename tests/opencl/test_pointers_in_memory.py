"""Pointers that stand in memory reach arrays that no argument names, but the launch does."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES
from visim.errors import FaultError

pytestmark = pytest.mark.usefixtures("each_engine")

SOURCE = """
kernel void count(global const ulong *rows, uint n) {
    global int *row = (global int *)rows[get_global_id(0)];
    for (uint i = 0; i < n; i++)
        row[i] += i;
}
"""
COUNT = 8


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_arrays_of_the_launch_are_reached_by_pointers(device):
    kernel = built(SOURCE, device)["count"]
    rows = [np.full(COUNT, 100 * i, np.int32) for i in range(3)]
    buffer = visim.Buffer(4 * COUNT)
    pointers = np.array([*(row.ctypes.data for row in rows), buffer.address], np.uint64)
    surfaces = dict(enumerate([*rows, buffer], start=100))
    for _ in range(2):
        kernel.launch([pointers, np.uint32(COUNT)], global_size=4, surfaces=surfaces)
    steps = 2 * np.arange(COUNT)
    for i, row in enumerate(rows):
        assert row.tolist() == (100 * i + steps).tolist()
    assert buffer.array(np.int32).tolist() == steps.tolist()


def test_other_arrays_are_not_reached():
    kernel = built(SOURCE, "pvc")["count"]
    row = np.zeros(COUNT, np.int32)
    pointers = np.array([row.ctypes.data], np.uint64)
    with pytest.raises(FaultError, match="out of range"):
        kernel.launch([pointers, np.uint32(COUNT)], global_size=1)


def test_what_may_not_be_written_is_not_written():
    kernel = built(SOURCE, "pvc")["count"]
    row = np.zeros(COUNT, np.int32)
    row.flags.writeable = False
    pointers = np.array([row.ctypes.data], np.uint64)
    with pytest.raises(FaultError):
        kernel.launch([pointers, np.uint32(COUNT)], global_size=1, surfaces={5: row})
    assert not row.any()
