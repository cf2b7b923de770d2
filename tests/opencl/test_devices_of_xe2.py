"""What programs for Xe2 and later can do besides what all devices can, each beside NumPy.

On cri the same code finds its memory by bases of 64 bits, and its surfaces and samplers by
pointers; the values are those of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import visim
from tests.model import matrix
from tests.opencl.building import built
from visim.target import PLATFORMS, Generation

pytestmark = pytest.mark.usefixtures("each_engine")

CHANNELS, ROWS, TERMS = 16, 8, 8
DEVICES = [one.name for one in PLATFORMS if one.generation >= Generation.XE2]
PLATFORM_OF = {one.name: one for one in PLATFORMS}
on_each_device = pytest.mark.parametrize("device", DEVICES)
SUB_GROUP = f"__attribute__((intel_reqd_sub_group_size({CHANNELS}))) "
TF32_PRODUCT = (
    SUB_GROUP
    + """
kernel void product(global const float *a, global const float *b, global float *c) {
    int lane = get_sub_group_local_id();
    float4 left;
    float8 right, sum;
    for (int i = 0; i < 4; i++)
        left[i] = a[i * 16 + lane];
    for (int i = 0; i < 8; i++) {
        right[i] = b[i * 16 + lane];
        sum[i] = c[i * 16 + lane];
    }
    sum = intel_sub_group_tf32_tf32_matrix_mad_k8(left, right, sum);
    for (int i = 0; i < 8; i++)
        c[i * 16 + lane] = sum[i];
}
"""
)
CONVERSIONS = """
kernel void narrowed(global const float *x, global ushort *bf, global float *back,
                     global float *tf) {
    size_t i = get_global_id(0);
    bf[i] = intel_convert_bfloat16_as_ushort(x[i]);
    back[i] = intel_convert_as_bfloat16_float(bf[i]);
    tf[i] = intel_convert_tfloat32_as_float(x[i]);
}
"""
BLOCKS = (
    SUB_GROUP
    + """
kernel void copied(global ushort *from, global ushort *to, int width, int height, int x, int y) {
    ushort block[8];
    intel_sub_group_2d_block_read_16b_8r16x1c(from, width * 2, height, width * 2, (int2)(x, y),
                                              block);
    for (int i = 0; i < 8; i++)
        block[i] += get_sub_group_local_id();
    intel_sub_group_2d_block_write_16b_8r16x1c(to, width * 2, height, width * 2, (int2)(x, y),
                                               block);
}
"""
    + SUB_GROUP
    + """
kernel void turned(global uchar *from, global uint *packed, global uint *columns, int width,
                   int height, int x, int y) {
    uint block[8];
    int lane = get_sub_group_local_id();
    intel_sub_group_2d_block_prefetch_8b_32r16x1c(from, width, height, width, (int2)(x, y));
    intel_sub_group_2d_block_read_transform_8b_32r16x1c(from, width, height, width, (int2)(x, y),
                                                        block);
    for (int i = 0; i < 8; i++)
        packed[i * 16 + lane] = block[i];
    intel_sub_group_2d_block_read_transpose_32b_16r8x1c(from, width, height, width,
                                                        (int2)(x / 4, y), block);
    for (int i = 0; i < 8; i++)
        columns[i * 16 + lane] = block[i];
}
"""
)
NAMED_BARRIERS = (
    SUB_GROUP
    + """
kernel void exchanged(global int *out) {
    local int kept[64];
    local NamedBarrier_t *low = named_barrier_init(2), *high = named_barrier_init(2);
    int i = get_local_id(0);
    kept[i] = 3 * (i + 64 * get_group_id(0));
    if (get_sub_group_id() < 2)
        work_group_named_barrier(low, CLK_LOCAL_MEM_FENCE);
    else
        work_group_named_barrier(high, CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = kept[i ^ 31];
}
"""
)
PICTURE = """
kernel void blended(read_only image2d_t from, sampler_t chosen, write_only image2d_t to) {
    const sampler_t own =
        CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 middle = (convert_float2(at) + 0.5f) / convert_float2(get_image_dim(from));
    write_imagef(to, at, read_imagef(from, chosen, middle) + read_imagef(from, own, at - 1));
}
"""
TANGENTS = """
kernel void bent(global const float *x, global float *y) {
    size_t i = get_global_id(0);
    y[i] = tanh(x[i]);
}
"""
CALLS = """
__attribute__((noinline)) long weighted(global const long *x, int n, long weight) {
    return n < 1 ? weight : weight * x[n - 1] + weighted(x, n - 1, weight + 1);
}
kernel void called(global const long *x, global long *found) {
    int i = get_global_id(0);
    found[i] = weighted(x, i % 7, i);
    if (i % 8 == 3)
        printf("%d: %ld\\n", i, found[i]);
}
"""


def launch(source: str, device: str, name: str, arguments: list[Any], *size: int) -> visim.Report:
    return built(source, device, "-cl-std=CL2.0")[name].launch(
        arguments, global_size=size, local_size=(size[0], *(1 for _ in size[1:]))
    )


def aligned(shape: tuple[int, ...], kind: type) -> np.ndarray:
    """Return zeros at an address that is a multiple of 64, as 2D blocks need it."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    space = np.zeros(size + 64, np.uint8)
    start = -space.ctypes.data % 64
    return space[start : start + size].view(kind).reshape(shape)


@on_each_device
def test_a_product_of_tf32(device: str) -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-1024, 1024, (ROWS, TERMS)) * 2.0 ** rng.integers(-8, 2, (ROWS, TERMS))
    b = rng.integers(-1024, 1024, (TERMS, CHANNELS)).astype(np.float32)
    c = rng.integers(-99, 99, (ROWS, CHANNELS)).astype(np.float32)
    found = c.copy()
    launch(TF32_PRODUCT, device, "product", [a.astype(np.float32).reshape(-1), b, found], CHANNELS)
    assert np.array_equal(found, matrix.float_product(a, b, c))


@on_each_device
def test_numbers_are_rounded_to_bf16_and_tf32(device: str) -> None:
    x = np.random.default_rng(2).normal(0, 1e3, 64).astype(np.float32)
    x[:4] = 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11  # halfway
    bf, back, tf = np.zeros(64, np.uint16), np.zeros(64, np.float32), np.zeros(64, np.float32)
    launch(CONVERSIONS, device, "narrowed", [x, bf, back, tf], 64)

    def rounded(lost: int) -> np.ndarray:
        bits = x.view(np.uint32).astype(np.uint64)
        half = (1 << lost - 1) - 1 + (bits >> lost & 1)
        return ((bits + half >> lost) << lost).astype(np.uint32)

    assert np.array_equal(bf, rounded(16) >> 16)
    assert np.array_equal(back.view(np.uint32), rounded(16))
    assert np.array_equal(tf.view(np.uint32), rounded(13))


@on_each_device
@pytest.mark.parametrize(("x", "y"), [(16, 4), (40, 13), (-8, -3)])
def test_blocks_of_a_plane_are_read_and_written(device: str, x: int, y: int) -> None:
    width, height = 48, 16
    given, found = aligned((height, width), np.uint16), aligned((height, width), np.uint16)
    given[:] = np.random.default_rng(3).integers(0, 1 << 16, given.shape)
    launch(
        BLOCKS,
        device,
        "copied",
        [given, found, np.int32(width), np.int32(height), np.int32(x), np.int32(y)],
        CHANNELS,
    )
    rows, columns = slice(max(y, 0), max(y + 8, 0)), slice(max(x, 0), max(x + 16, 0))
    want = np.zeros_like(given)
    want[rows, columns] = (given + np.arange(width, dtype=np.uint16) - np.uint16(x % (1 << 16)))[
        rows, columns
    ]
    assert np.array_equal(found, want)


@on_each_device
def test_blocks_of_a_plane_are_packed_and_turned(device: str) -> None:
    width, height, x, y = 128, 40, 32, 5
    given = aligned((height, width), np.uint8)
    given[:] = np.random.default_rng(4).integers(0, 256, given.shape)
    packed, columns = np.zeros((8, 16), np.uint32), np.zeros((8, 16), np.uint32)
    sizes = [np.int32(n) for n in (width, height, x, y)]
    launch(BLOCKS, device, "turned", [given, packed, columns, *sizes], CHANNELS)
    bytes_of = given[y : y + 32, x : x + 16].reshape(8, 4, 16).astype(np.uint32)
    shifts = np.arange(0, 32, 8, dtype=np.uint32)[:, None]
    assert np.array_equal(packed, (bytes_of << shifts).sum(1, dtype=np.uint32))
    words = np.ascontiguousarray(given[y : y + 16]).view(np.uint32)[:, x // 4 : x // 4 + 8]
    assert np.array_equal(columns, words.T)


@on_each_device
def test_parts_of_a_group_wait_at_barriers_of_their_own(device: str) -> None:
    found = np.zeros(128, np.int32)
    program = built(NAMED_BARRIERS, device, "-cl-std=CL2.0")
    assert "nbarrier.wait" in program.text()
    program["exchanged"].launch([found], global_size=128, local_size=64)
    assert np.array_equal(found, 3 * (np.arange(128) ^ 31))


@on_each_device
@pytest.mark.parametrize("chosen", ["nearest", "linear"])
def test_a_picture_is_sampled_and_written(device: str, chosen: str) -> None:
    texels = np.random.default_rng(5).integers(-64, 64, (4, 16, 4)).astype(np.float32)
    found = np.zeros_like(texels)
    sampler = visim.Sampler(filter=chosen, address="clamp_to_edge", normalized=True)
    arguments = [visim.Image(texels), sampler, visim.Image(found)]
    launch(PICTURE, device, "blended", arguments, 16, 4)
    before = texels[np.maximum(np.arange(4) - 1, 0)][:, np.maximum(np.arange(16) - 1, 0)]
    assert np.array_equal(found, texels + before)


@on_each_device
def test_functions_call_themselves_and_print(
    device: str, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.random.default_rng(6).integers(-9, 9, 8, np.int64)
    found = np.zeros(48, np.int64)
    launch(CALLS, device, "called", [x, found], 48)

    def weighted(n: int, weight: int) -> int:
        return weight if n < 1 else weight * int(x[n - 1]) + weighted(n - 1, weight + 1)

    assert found.tolist() == [weighted(i % 7, i) for i in range(48)]
    printed = capfd.readouterr().out.splitlines()
    assert sorted(printed) == sorted(f"{i}: {found[i]}" for i in range(3, 48, 8))


@on_each_device
def test_hyperbolic_tangents(device: str) -> None:
    """From nvl-p on they are an instruction, before that a function of the compiler's."""
    x = np.concatenate([np.linspace(-12, 12, 57), [0, 1e-30, -1e-9, 1e-3, 50, -1e30, 0.5]])
    x = x.astype(np.float32)
    found = np.zeros(64, np.float32)
    program = built(TANGENTS, device)
    assert ("tanh (M1" in program.text()) is (PLATFORM_OF[device].generation >= Generation.XE3P)
    program["bent"].launch([x, found], global_size=64)
    want = np.tanh(x.astype(np.float64))
    assert (np.abs(found - want) <= 5 * np.spacing(np.abs(want).astype(np.float32))).all()
