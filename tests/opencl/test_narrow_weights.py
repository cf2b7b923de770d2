"""Products of matrices of bytes and of integers of 4 or 2 bits: one dword lasts several stages."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built

pytestmark = pytest.mark.usefixtures("each_engine")

ROWS, DEPTH = 8, 32
PROGRAM = """
#if LANES == 16
typedef short8 rows;
#else
typedef int8 rows;
#endif
__attribute__((overloadable)) int8 intel_sub_group_i8_i4_matrix_mad_k32(rows a, int4 b, int8 c);
__attribute__((overloadable)) int8 intel_sub_group_i8_i2_matrix_mad_k32(rows a, int2 b, int8 c);

__attribute__((intel_reqd_sub_group_size(LANES)))
kernel void multiply(global rows *a, global const int4 *of4, global const int2 *of2,
                     global int8 *by4, global int8 *by2)
{
    size_t i = get_global_id(0);
    by4[i] = intel_sub_group_i8_i4_matrix_mad_k32(a[i], of4[i], by4[i]);
    by2[i] = intel_sub_group_i8_i2_matrix_mad_k32(a[i], of2[i], by2[i]);
}
"""


@pytest.mark.parametrize(("device", "lanes"), [("pvc", 16), ("dg2", 8)])
def test_narrow_weights_are_multiplied_with_bytes(device: str, lanes: int) -> None:
    kernel = built(PROGRAM, device, f"-DLANES={lanes}")["multiply"]
    assert "dpas.s4.s8.8.8" in kernel.source
    assert "dpas.s2.s8.8.8" in kernel.source
    random = np.random.default_rng(0)
    activations = random.integers(-128, 128, (ROWS, DEPTH), np.int8)
    weights = {
        bits: random.integers(-1 << bits - 1, 1 << bits - 1, (lanes, DEPTH)) for bits in (4, 2)
    }
    sums = random.integers(-1000, 1000, (lanes, ROWS), np.int32)
    of_lanes = np.ascontiguousarray(activations.reshape(ROWS, lanes, -1).transpose(1, 0, 2))
    found = {bits: sums.copy() for bits in weights}
    kernel.launch(
        [of_lanes, packed(weights[4], 4), packed(weights[2], 2), found[4], found[2]],
        global_size=lanes,
        local_size=lanes,
    )
    for bits, columns in weights.items():
        expected = sums + columns @ activations.astype(np.int32).T
        assert (found[bits] == expected).all()


def packed(columns: np.ndarray, bits: int) -> np.ndarray:
    """Return rows of integers as rows of dwords, the first integer in the lowest bits."""
    each = 32 // bits
    fields = (columns & (1 << bits) - 1).reshape(len(columns), -1, each)
    return (fields << np.arange(each) * bits).sum(-1).astype(np.uint32)
