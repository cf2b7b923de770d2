"""Code that Intel's compiler loses: visim says which variables nothing writes any more."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built

SOURCE = """\
kernel void power(global float *out, global const float *base, global const int *exponent)
{
    int i = get_global_id(0);
    out[i] = pown(base[i], exponent[i]);
}
"""


@pytest.mark.parametrize("device", ["pvc", "dg2"])
@pytest.mark.parametrize("options", ["", "-cl-fast-relaxed-math"])
def test_a_power_that_the_compiler_leaves_out_is_noted(device: str, options: str):
    """docs/spec-notes-compiler.md, Bugs of the compiler: `pown` with -cl-fast-relaxed-math."""
    base, exponent = np.full(32, 2, np.float32), np.full(32, 3, np.int32)
    out = np.ones(32, np.float32)
    kernel = built(SOURCE, device, options)["power"]
    report = kernel.launch([out, base, exponent], global_size=32)
    is_lost = bool(out[0] == 0)
    assert is_lost or np.allclose(out, 8)
    assert is_lost == bool(options), "the compiler has changed: see docs/spec-notes-compiler.md"
    assert [("which nothing writes" in note) for note in report.notes] == [True] * is_lost
