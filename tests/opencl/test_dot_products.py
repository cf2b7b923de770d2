"""Dot products of packed integers by the built-ins of cl_khr_integer_dot_product."""

from __future__ import annotations

import numpy as np
import pytest

import visim
import visim.opencl
from tests.shares import share
from tests.toolchains import installed_compiler

DEVICES = ("tgllp", "dg2", "pvc", "mtl", "arl", "lnl", "bmg", "ptl", "nvl", "nvl-p", "cri")
"""Those of the current compiler."""
SIGNS = ("ss", "uu", "su", "us")
ITEMS = 64


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take two of the devices."""
    if metafunc.function is test_products_are_exact_and_sums_saturate:
        every = metafunc.config.getoption("thorough")
        metafunc.parametrize("device", DEVICES if every else share("dot products", DEVICES, 2))


def _parts(words: np.ndarray, sign: str) -> np.ndarray:
    return words.view(np.int8 if sign == "s" else np.uint8).reshape(-1, 4).astype(np.int64)


def _source() -> str:
    """Return a kernel that computes each product with and without an addend, of both forms."""
    lines: list[str] = []
    for place, signs in enumerate(SIGNS):
        result = "uint" if signs == "uu" else "int"
        names = [("char4" if sign == "s" else "uchar4") for sign in signs]
        vectors = f"as_{names[0]}(a[i]), as_{names[1]}(b[i])"
        packed = f"4x8packed_{signs}_{result}(a[i], b[i]"
        addend = f"as_{result}(c[i])"
        calls = (
            f"dot({vectors})",
            f"dot_{packed})",
            f"dot_acc_sat({vectors}, {addend})",
            f"dot_acc_sat_{packed}, {addend})",
        )
        for number, call in enumerate(calls):
            at = place * len(calls) + number
            lines.append(f"out[{at} * {ITEMS} + i] = as_uint({call});")
    body = "\n    ".join(lines)
    arguments = "global const uint *a, global const uint *b, global const uint *c, global uint *out"
    return f"kernel void dots({arguments})\n{{\n    size_t i = get_global_id(0);\n    {body}\n}}\n"


def _expected(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    rows: list[np.ndarray] = []
    for signs in SIGNS:
        product = (_parts(a, signs[0]) * _parts(b, signs[1])).sum(axis=1)
        limits = np.iinfo(np.uint32 if signs == "uu" else np.int32)
        addend = c.view(limits.dtype).astype(np.int64)
        sums = np.clip(product + addend, limits.min, limits.max)
        rows += [product, product, sums, sums]
    return (np.stack(rows) & 0xFFFFFFFF).astype(np.uint32)


def test_products_are_exact_and_sums_saturate(device: str) -> None:
    draw = np.random.default_rng(28)
    a, b, c = (draw.integers(0, 1 << 32, ITEMS, dtype=np.uint32) for _ in range(3))
    c[:8], c[8:16], c[16:24] = 0x7FFFFFF0, 0x80000010, 0xFFFFFFF0
    program = visim.opencl.build(
        _source(), device=device, compiler=installed_compiler(), options="-cl-std=CL3.0"
    )
    for engine in ("interpreter", "jit"):
        out = np.zeros((16, ITEMS), np.uint32)
        program["dots"].launch(
            {"a": a, "b": b, "c": c, "out": out}, global_size=ITEMS, engine=engine
        )
        np.testing.assert_array_equal(out, _expected(a, b, c))


@pytest.mark.parametrize("device", ["dg2", "skl"])
@pytest.mark.parametrize(
    ("call", "extension"),
    [
        ("a[0] = dot_4x8packed_ss_int(a[1], a[2])", "cl_khr_integer_dot_product"),
        ("a[0] = dot(as_char4(a[1]), as_char4(a[2]))", "cl_khr_integer_dot_product"),
        (
            "intel_work_group_barrier_arrive(CLK_LOCAL_MEM_FENCE)",
            "cl_intel_split_work_group_barrier",
        ),
    ],
)
def test_a_compiler_without_a_built_in_names_its_extension(
    call: str, extension: str, device: str
) -> None:
    source = f"kernel void f(global uint *a) {{ {call}; }}"
    with pytest.raises(visim.VisimError) as caught:
        visim.opencl.build(source, device=device, compiler="system", options="-cl-std=CL3.0")
    if isinstance(caught.value, visim.ToolMissing):
        pytest.skip(str(caught.value))
    assert f"of the extension {extension}, which this" in str(caught.value)
