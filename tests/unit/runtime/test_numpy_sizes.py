"""Integers of NumPy, and arrays of them, are sizes as Python's are."""

from __future__ import annotations

import json

import numpy as np
import pytest

import visim
from tests.unit.runtime.texts import SCALE
from visim.runtime.payload.geometry import triple


@pytest.fixture(name="kernel")
def kernel_fixture() -> visim.Kernel:
    return visim.assemble(SCALE, platform="pvc")["scale"]


@pytest.mark.parametrize("groups", [np.int64(4), (np.int32(4),), np.array([2, 2]), [np.uint8(4)]])
def test_groups(kernel, groups):
    data = np.ones(64, np.float32)
    options = {"seed": np.int64(3), "budget": np.int64(99), "workers": np.int64(1)}
    report = kernel.launch([data, np.float32(2)], thread_groups=groups, **options)
    assert report.groups == 4
    json.dumps(report.to_dict())


def test_addresses_of_bare_kernels(kernel):
    data = np.ones(64, np.float32)
    for address in (np.int64(data.ctypes.data), np.uint64(data.ctypes.data)):
        kernel.launch([address, np.float32(2)], surfaces={0: data})
    assert data[:17].tolist() == [4] * 16 + [1]


@pytest.mark.parametrize("wrong", [np.zeros((2, 2), int), np.array([1.5]), np.array([True])])
def test_what_is_no_size_is_refused(wrong):
    with pytest.raises(visim.ArgumentError, match="expected an integer or 1 to 3 of them"):
        triple(wrong, "global_size")
