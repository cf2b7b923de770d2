"""2D blocks under sanitizers: a thread moves more elements than masks have bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built_by_current

SOURCE = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void k(global ushort *x, global ushort *y, int overlap) {
  int g = get_group_id(0);
  ushort r[8];
  intel_sub_group_2d_block_read_16b_8r16x1c(x, 128, 64, 128, (int2)(0, g * 8), r);
  for (int i = 0; i < 8; i++) r[i] += g;
  int2 at = (int2)(16, g * (8 - overlap));
  intel_sub_group_2d_block_write_16b_8r16x1c(y, 128, 64, 128, at, r);
}
"""


@pytest.mark.parametrize("device", ["pvc", "bmg"])
@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_rows_that_two_blocks_write_race(device: str, engine: str) -> None:
    kernel = built_by_current(SOURCE, device, "")["k"]
    x, found = np.arange(64 * 64, dtype=np.uint16), list[set[str]]()
    for overlap in (0, 3):
        y = np.zeros_like(x)
        report = kernel.launch(
            [x, y, np.int32(overlap)],
            global_size=128,
            local_size=16,
            engine=engine,
            sanitize="races,bounds",
        )
        found.append({one.kind for one in report.findings})
        assert all(line == 9 for one in report.findings for _, line in one.locations)
        last = y.reshape(64, 64)[(8 - overlap) * 7 :][:8, 16:32]
        assert np.array_equal(last, x.reshape(64, 64)[56:, :16] + 7)
    assert found == [set(), {"race-global"}]
