"""Each work-item goes along a row of its own, and all along others: products of rows with rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from visim.errors import FaultError

SOURCE = """
kernel void products(global const TYPE *a, global const TYPE *b, global SUM *c, int n, int length) {
    int i = get_global_id(0), j = get_global_id(1);
    SUM s = 0;
    for (int k = 0; k < length; k++) s += a[j * length + k] * b[i * length + k];
    c[j * n + i] = s;
}
kernel void pairs(global const TYPE *a, global const TYPE *b, global SUM *c, int n, int length) {
    int i = get_global_id(0), j = get_global_id(1);
    SUM s = 0;
    for (int k = 0; k < length; k++)
        s += (a[j * length + k] - b[(n - 1 - j) * length + k]) * b[i * length + k];
    c[j * n + i] = s;
}
kernel void window(global const TYPE *a, global const TYPE *b, global SUM *c, int n, int length) {
    int i = get_global_id(0), j = get_global_id(1);
    SUM s = 0;
    for (int k = 0; k < length; k++) s += a[j + i + k] * b[i * length + k];
    c[j * n + i] = s;
}
"""
N = 64
ENGINES = ("interpreter", "jit")
NUMBERS = {"uchar": "int", "short": "int", "int": "int", "float": "float"}


def program(device: str, kind: str) -> visim.Program:
    return built(f"#define TYPE {kind}\n#define SUM {NUMBERS[kind]}\n{SOURCE}", device)


def arguments(kind: str, length: int, rows: int = N) -> list[Any]:
    rng = np.random.default_rng(length)
    names = {"uchar": np.uint8, "short": np.int16, "int": np.int32, "float": np.float32}
    a = rng.integers(0, 100, max(N * length, 2 * N + length)).astype(names[kind])
    b = rng.integers(0, 100, rows * length).astype(names[kind])
    c = np.zeros((N, N), names[NUMBERS[kind]])
    return [a, b, c, np.int32(N), np.int32(length)]


def launched(device: str, kernel: str, kind: str, given: list[Any], engine: str) -> tuple[str, Any]:
    """Return how many instructions a launch took, or its fault, and what it has found."""
    sizes: dict[str, Any] = {"global_size": (N, N), "local_size": (32, 8)}
    sizes |= {"collect": "instructions", "engine": engine, "workers": 1}
    try:
        report = program(device, kind)[kernel].launch(given, **sizes)
    except FaultError as fault:
        return fault.fault.render(), given[2].tolist()
    return str(report and report.instructions), given[2].tolist()


@pytest.mark.parametrize("kernel", ["products", "pairs", "window"])
@pytest.mark.parametrize("kind", list(NUMBERS))
@pytest.mark.parametrize("device", ["pvc", "dg2"])
def test_rows_of_all_lengths_give_the_same_on_both_engines(
    device: str, kind: str, kernel: str
) -> None:
    for length in (3, 17, 64):
        found = [
            launched(device, kernel, kind, arguments(kind, length), engine) for engine in ENGINES
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize("length", [4, 33])
def test_products_are_those_of_a_matrix_with_a_transposed_one(length: int) -> None:
    given = arguments("int", length)
    launched("pvc", "products", "int", given, "jit")
    a = given[0][: N * length].reshape(N, length)
    assert np.array_equal(given[2], a @ given[1].reshape(N, length).T)


@pytest.mark.parametrize("device", ["pvc", "dg2"])
def test_a_row_that_is_too_short_has_the_same_end_on_both_engines(device: str) -> None:
    given = arguments("int", 40, rows=N - 5)  # The same arrays, as a fault says an address.
    found: list[tuple[str, Any]] = []
    for engine in ENGINES:
        given[2][:] = 0
        found.append(launched(device, "products", "int", given, engine))
    assert found[0] == found[1]
