"""Private arrays in scratch memory: what threads keep there, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built

pytestmark = pytest.mark.usefixtures("each_engine")

COUNT, LENGTH, PLACES = 200, 9, 64
DEVICES = ["pvc", "dg2", "tgllp", "skl", "bmg", "cri"]
PROGRAM = """
kernel void counted(global int *found, global const int *x, int n, int at)
{
    int i = get_global_id(0), counts[64];
    for (int k = 0; k < 64; k++)
        counts[k] = k;
    for (int k = 0; k < n; k++)
        counts[x[i * n + k] & 63] += i;
    found[i] = counts[at];
}
"""


def launched(device: str, at: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices that work-items count, and what they find in one element."""
    indices = np.random.default_rng(1).integers(0, 1 << 20, (COUNT, LENGTH), np.int32)
    found = np.zeros(COUNT, np.int32)
    kernel = built(PROGRAM, device)["counted"]
    kernel.launch(
        [found, indices, np.int32(LENGTH), np.int32(at)], global_size=COUNT, local_size=40
    )
    return indices, found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("at", [0, 17, PLACES - 1])
def test_each_work_item_has_an_array_of_its_own(device: str, at: int) -> None:
    indices, found = launched(device, at)
    times = (indices % PLACES == at).sum(1)
    assert (found == at + np.arange(COUNT) * times).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("at", [-1 << 20, 1 << 20])
def test_an_element_outside_scratch_memory_is_a_fault(device: str, at: int) -> None:
    with pytest.raises(visim.FaultError, match="out of range"):
        launched(device, at)
