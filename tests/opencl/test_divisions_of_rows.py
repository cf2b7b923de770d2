"""Quotients and remainders of numbers that all lanes of a thread share, and of those that some do.

Rows of 64 give every thread one number of a row, rows of 8 give several.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built, built_by_current

SOURCE = """
kernel void divide(global const TYPE *x, global TYPE *out, TYPE n) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    TYPE row = (TYPE)get_global_id(1) - (TYPE)3;
    TYPE q = row / n, r = row % n;
    out[3 * i] = q;
    out[3 * i + 1] = r;
    out[3 * i + 2] = x[(r < 0 ? -r : r) % 64];
}
kernel void wrapped(global const TYPE *x, global TYPE *out, TYPE n) {
    size_t i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[3 * i] = x[(TYPE)(i + 5) % 509];
    out[3 * i + 1] = (TYPE)i % n;
    out[3 * i + 2] = n ? (TYPE)i / n : 7;
}
"""
ROWS = 40


@pytest.mark.parametrize("device", ["pvc", "bmg", "dg2"])
@pytest.mark.parametrize("kind", ["int", "uint"])
@pytest.mark.parametrize("width", [64, 8])
def test_engines_agree(device: str, kind: str, width: int):
    build = built_by_current if device == "bmg" else built
    program = build(SOURCE, device, f"-DTYPE={kind}")
    number = np.dtype(kind.replace("uint", "u4").replace("int", "i4")).type
    x = np.arange(1000, 1512).astype(number)
    for name in ("divide", "wrapped"):
        for n in (1, 7, 64, 1 << 30, -3, 0):
            results = []
            for engine in ("interpreter", "jit"):
                out = np.zeros(3 * width * ROWS, number)
                program[name].launch(
                    [x, out, np.array(n).astype(number)[()]],
                    global_size=(width, ROWS),
                    local_size=(width, 4),
                    engine=engine,
                )
                results.append(out)
            assert results[0].tobytes() == results[1].tobytes(), (name, n)
            if name == "divide" and n > 0:
                rows = np.repeat(np.arange(ROWS).astype(number) - number(3), width)
                quotients = (rows.astype(np.float64) / float(n)).astype(np.int64).astype(number)
                assert np.array_equal(results[1][::3], quotients), n
