"""Instructions that compilers write for devices which by the specification do not have them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built
from visim.target import PLATFORMS

pytestmark = pytest.mark.usefixtures("each_engine")

COUNT = 64
ROTATED = """
kernel void rotated(global ulong4 *numbers) {
    size_t i = get_global_id(0);
    numbers[i] = (numbers[i] << 1) | (numbers[i] >> 63);
}
"""
ROUNDED = """
kernel void rounded(global REAL *out, global const REAL *a, global const REAL *b) {
    size_t i = get_global_id(0);
    out[i] = sqrt(a[i]) / b[i];
}
"""
CORRECTLY_ROUNDED = "-cl-fp32-correctly-rounded-divide-sqrt"
KINDS = {"float": np.float32, "double": np.float64}


@pytest.mark.parametrize("device", [one.name for one in PLATFORMS])
def test_the_first_component_of_a_vector_of_long_integers_is_rotated(device: str) -> None:
    """The compiler shifts qwords right also where devices have no 64-bit integers.

    It leaves out all components but the first (docs/spec-notes-compiler.md, Bugs of the compiler).
    """
    given = np.random.default_rng(3).integers(0, 1 << 64, (COUNT, 4), np.uint64)
    found = given.copy()
    built(ROTATED, device)["rotated"].launch([found], global_size=COUNT)
    assert (found == given << 1 | given >> 63)[:, 0].all()


@pytest.mark.parametrize("device", ["bdw", "skl", "pvc"])
@pytest.mark.parametrize("real", KINDS)
def test_quotients_and_roots_are_rounded_correctly(device: str, real: str) -> None:
    program = built(ROUNDED, device, f"-DREAL={real} {CORRECTLY_ROUNDED}")
    text = program.text()
    assert "sqrtm" in text
    assert "divm" in text
    a, b = np.random.default_rng(4).uniform(0.1, 9, (2, COUNT)).astype(KINDS[real])
    found = np.zeros_like(a)
    program["rounded"].launch([found, a, b], global_size=COUNT)
    assert (found == np.sqrt(a) / b).all()


MAGNITUDES = """
kernel void magnitudes(global const int *a, global uint *out, global const long *b,
                       global ulong *wide) {
    size_t i = get_global_id(0);
    out[i] = rotate(abs(a[i]), 31u) ^ rotate((uint)-a[i], 7u);
    wide[i] = rotate(abs(b[i]), 63ul) ^ rotate((ulong)-b[i], 7ul);
}
"""


@pytest.mark.parametrize("device", ["icllp", "tgllp", "dg2", "pvc"])
def test_what_is_rotated_may_be_negated_or_a_magnitude(device: str) -> None:
    """The compiler writes `rol` with modifiers, which its page does not allow."""

    def rotated(number: int, count: int, bits: int) -> int:
        number %= 1 << bits
        return (number << count | number >> (bits - count)) % (1 << bits)

    rng = np.random.default_rng(4)
    given = [
        rng.integers(-(1 << bits - 1), 1 << bits - 1, COUNT, f"i{bits // 8}") for bits in (32, 64)
    ]
    given[0][0], given[1][0] = -(1 << 31), -(1 << 63)
    found = [np.zeros(COUNT, np.uint32), np.zeros(COUNT, np.uint64)]
    arguments = [given[0], found[0], given[1], found[1]]
    built(MAGNITUDES, device)["magnitudes"].launch(arguments, global_size=COUNT)
    for numbers, results, bits in zip(given, found, (32, 64), strict=True):
        for number, result in zip(numbers.tolist(), results.tolist(), strict=True):
            assert result == rotated(abs(number), bits - 1, bits) ^ rotated(-number, 7, bits)
