"""2D block reads as ocloc emits them on pvc: several channels, and the pitch less 1."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built

pytestmark = pytest.mark.usefixtures("each_engine")

PROGRAM = """
#define READ(result, name) \
    result name(global void *base, int width, int height, int pitch, int2 place)
READ(ushort2, intel_subgroup_block_read_u8_m1k32v2);
READ(ushort8, intel_subgroup_block_read_u16_m4k16v2);
READ(uint8, intel_subgroup_block_read_transform_u16_k16);

__attribute__((intel_reqd_sub_group_size(16)))
kernel void read_blocks(global uchar *p, int2 place, global ushort2 *bytes, global ushort8 *words,
                        global uint8 *pairs)
{
    size_t i = get_global_id(0);
    bytes[i] = intel_subgroup_block_read_u8_m1k32v2(p, 64, 40, 64, place);
    words[i] = intel_subgroup_block_read_u16_m4k16v2(p, 64, 40, 64, place);
    pairs[i] = intel_subgroup_block_read_transform_u16_k16(p, 64, 40, 64, place);
}
"""


@pytest.mark.parametrize("place", [(0, 0), (3, 5), (20, 30)])
def test_block_reads_fill_the_work_items_of_a_sub_group(place: tuple[int, int]) -> None:
    kernel = built(PROGRAM, "pvc")["read_blocks"]
    assert kernel.source.count("lsc_load_block2d.ugm (M1, 16)") == 3
    rows = np.random.default_rng(0).integers(0, 256, (40, 64), np.uint8)
    found = (np.zeros((16, 2), np.uint16), np.zeros((16, 8), np.uint16), np.zeros((16, 8), "u4"))
    kernel.launch(
        [rows, np.array(place, np.int32).tobytes(), *found], global_size=16, local_size=16
    )
    x, y = place
    bytes_, words, pairs = found
    row = np.pad(rows[y], (0, 64))[x : x + 64].view(np.uint16)
    assert np.array_equal(bytes_, row.reshape(2, 16).T)
    wide = np.pad(rows.view(np.uint16), ((0, 16), (0, 32)))[y:, x:]
    columns = [wide[m, 16 * b : 16 * b + 16] for b in range(2) for m in range(4)]
    assert np.array_equal(words, np.stack(columns, 1))
    low, high = (wide[half:16:2, :16].astype(np.uint32) for half in (0, 1))
    assert np.array_equal(pairs, (low | high << 16).T)


PRODUCT = """
ushort16 __builtin_IB_subgroup_block_read_flat_u16_m8k16v2(long base, int width, int height,
                                                           int pitch, int2 place);
int8 __builtin_IB_subgroup_block_read_flat_transform_u16_k16(long base, int width, int height,
                                                             int pitch, int2 place);
float8 __attribute__((overloadable))
intel_sub_group_f16_f16_matrix_mad_k16(short8 a, int8 b, float8 total);
#define A(x, y) __builtin_IB_subgroup_block_read_flat_u16_m8k16v2( \
    (long)a, 2 * k - 1, m - 1, 2 * k - 1, (int2)(x, y))
#define B(x, y) __builtin_IB_subgroup_block_read_flat_transform_u16_k16( \
    (long)b, 2 * n - 1, k - 1, 2 * n - 1, (int2)(x, y))

__attribute__((intel_reqd_sub_group_size(16)))
kernel void multiply(global const ushort *a, global const ushort *b, global float *c,
                     int m, int n, int k)
{
    int row = 8 * get_group_id(1), column = 16 * get_group_id(0);
    float8 total = 0;
    for (int i = 0; i < k; i += 32) {
        ushort16 rows = A(i, row);
        total = intel_sub_group_f16_f16_matrix_mad_k16(as_short8(rows.lo), B(column, i), total);
        total = intel_sub_group_f16_f16_matrix_mad_k16(as_short8(rows.hi), B(column, i + 16),
                                                       total);
    }
    for (int i = 0; i < 8; ++i)
        if (row + i < m && column + get_local_id(0) < n)
            c[(row + i) * n + column + get_local_id(0)] = total[i];
}
"""


@pytest.mark.parametrize(("m", "n", "k"), [(16, 32, 64), (13, 40, 56)])
def test_a_matrix_product_by_blocks_reads_zeros_beyond_the_edges(m: int, n: int, k: int) -> None:
    kernel = built(PRODUCT, "pvc")["multiply"]
    for word in ("lsc_load_block2d.ugm (M1, 16)", "dpas.hf.hf.8.8 (M1, 16)"):
        assert word in kernel.source
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-64, 64, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float32)
    kernel.launch(
        [a, b, c, np.int32(m), np.int32(n), np.int32(k)],
        global_size=(-(-n // 16) * 16, -(-m // 8)),
        local_size=(16, 1),
    )
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
