"""Private arrays in scratch memory, whose addresses programs compute on devices before Xe-HPC."""

from __future__ import annotations

import pytest

from tests.opencl.sanitizers.pairs import ITEM, Pair
from tests.opencl.sanitizers.test_pairs import launched

SUMS = Pair(
    "sums that nothing has set to zero",
    "uninit-private",
    ITEM
    + """\
  struct { int sum[17]; int count; } s;
  s.count = n;
  for (int i = 0; i < 17; i++) s.sum[i] = 0; //+
  for (int i = 0; i < 5; i++) s.sum[(x[g] + i * l) % 17] += x[g + i]; /*2*/
  y[g] = s.sum[x[g] % 17] * s.count; /*1*/
""",
    current=True,
)


@pytest.mark.parametrize("device", ["tgllp", "dg2"])
@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_an_array_in_scratch_memory_is_not_initialised(device: str, engine: str) -> None:
    found = launched(SUMS, device, engine, mended=False)
    assert {(one.kind, line) for one in found for _, line in one.locations} == {
        ("uninit-private", line) for line in SUMS.lines
    }
    assert launched(SUMS, device, engine, mended=True) == ()
