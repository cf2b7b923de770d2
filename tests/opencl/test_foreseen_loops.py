"""Loops whose messages are looked at before their turns: products of matrices, and filters."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built

pytestmark = pytest.mark.usefixtures("each_engine")

DEVICES = ["pvc", "dg2", "tgllp", "skl"]
PROGRAM = """
kernel void product(global const int *a, global const int *b, global int *c, int n)
{
    int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0), sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] * b[k * width + x];
    c[y * width + x] = sum;
}

kernel void columns(global const short *a, global int *sums, long first, long count, long step)
{
    size_t x = get_global_id(0), width = get_global_size(0);
    int sum = 0;
    for (long row = first; row != first + count * step; row += step)
        sum = sum * 3 + a[row * width + x];
    sums[x] = sum;
}

kernel void sums(global int *a, uint rows)
{
    uint x = get_global_id(0), width = get_global_size(0);
    for (uint row = 1; row < rows; row++)
        a[row * width + x] += a[(row - 1) * width + x];
}
"""


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(32, 8, 64), (48, 3, 31), (20, 5, 7), (1, 2, 300)])
def test_products_of_matrices(device: str, shape: tuple[int, int, int]) -> None:
    width, height, depth = shape
    random = np.random.default_rng(0)
    a = random.integers(-1000, 1000, (height, depth), np.int32)
    b = random.integers(-1000, 1000, (depth, width), np.int32)
    c = np.zeros((height, width), np.int32)
    built(PROGRAM, device)["product"].launch(
        [a, b, c, np.int32(depth)], global_size=(width, height)
    )
    assert (c == a @ b).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("first", "step"), [(0, 1), (39, -1), (1, 3)])
def test_rows_are_passed_up_and_down(device: str, first: int, step: int) -> None:
    width, count = 100, 40 if step < 2 else 13
    a = np.random.default_rng(1).integers(-99, 99, (40, width), np.int16)
    found, expected = np.zeros(width, np.int32), np.zeros(width, np.int32)
    numbers = [np.int64(number) for number in (first, count, step)]
    built(PROGRAM, device)["columns"].launch([a, found, *numbers], global_size=width)
    with np.errstate(over="ignore"):
        for row in range(count):
            expected = expected * np.int32(3) + a[first + row * step]
    assert (found == expected).all()


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_turn_stores_the_next_one_loads(device: str) -> None:
    a = np.random.default_rng(2).integers(-1000, 1000, (50, 64), np.int32)
    expected = a.cumsum(0, np.int32)
    built(PROGRAM, device)["sums"].launch([a, np.uint32(50)], global_size=64)
    assert (a == expected).all()


def test_the_turn_that_leaves_an_array_is_a_fault() -> None:
    a = np.ones((50, 64), np.int32)
    with pytest.raises(visim.FaultError, match="out of range"):
        built(PROGRAM, "pvc")["sums"].launch([a, np.uint32(51)], global_size=64)
    assert (a[:, :32] == np.arange(1, 51)[:, None]).all()
