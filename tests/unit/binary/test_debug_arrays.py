"""Arrays in local memory as debug data has them."""

import pytest

from tests.opencl.building import built_by_current
from visim.binary.debugarrays import LocalArray, debug_variables

SOURCE = """
struct pair { int first; float4 rest[3]; };
kernel void other(global int *x) { local int a[8]; a[x[0] & 7] = 1; x[1] = a[x[2] & 7]; }
kernel void k(global int *x, local int *q) {
  local struct pair pairs[5];
  local int one;
  local float tile[16][17];
  local int *p = q + 1;
  int l = get_local_id(0);
  pairs[l].first = x[l]; one = x[0]; tile[l][l] = one; p[l] = 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  x[l] = pairs[1].first + one + (int)tile[2][l + 3] + p[4];
}
"""


@pytest.mark.parametrize("device", ["pvc", "tgllp", "bmg"])
def test_each_kernel_has_its_arrays(device: str):
    program = built_by_current(SOURCE, device, "-g")
    raw = program["k"].debug_facts().zebin
    found = debug_variables(raw, "k")
    assert found.arrays == (
        LocalArray("pairs", 0, 320, 64),
        LocalArray("one", 320, 4, 4),
        LocalArray("tile", 324, 1088, 4),
    )
    assert {"x", "p", "q"} <= found.pointers
    assert debug_variables(raw, "other").arrays == (LocalArray("a", 0, 32, 4),)
    assert debug_variables(raw, "third").arrays == ()


def test_what_is_no_debug_data_says_nothing():
    assert debug_variables(b"", "k").arrays == ()
    assert debug_variables(b"\x7fELF" + bytes(200), "k").arrays == ()
