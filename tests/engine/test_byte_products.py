"""Products of bytes in native code for several processors: `dpas` of integers, `dp4a`."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.engine import harness
from tests.engine.hardware import LEVELS, use_level
from tests.engine.harness import assemble, run
from tests.engine.test_matrix_products import DEVICES, INTEGERS, integers, multiply
from tests.model import matrix
from visim.engine.jit.common import native
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.targets import AARCH64
from visim.engine.jit.writing.versions import Version

SIGNS = list(product(["s8", "u8"], repeat=2))
DTYPES = {"s8": np.int8, "u8": np.uint8}


@pytest.fixture(params=[*LEVELS, "host"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run natively, on code for a processor that this host can stand for."""
    if request.param != "host":
        use_level(request.param, monkeypatch)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])


def tiles(weights: str, activations: str, repeats: int, depth: int, device: str):
    """Return random C, A and B for a product."""
    rng = np.random.default_rng(repeats * 100 + depth)
    channels, terms = DEVICES[device][0], depth * matrix.depth_step(weights, activations)
    a = integers(rng, matrix.ELEMENTS[activations], (repeats, terms))
    b = integers(rng, matrix.ELEMENTS[weights], (terms, channels))
    c = rng.integers(-(2**31), 2**31, (repeats, channels)).astype(np.int32)
    return c, a, b


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("repeats", "depth"), [(8, 8), (3, 2), (1, 8)])
@pytest.mark.parametrize(("weights", "activations"), SIGNS)
def test_products_of_bytes(device, repeats, depth, weights, activations):
    c, a, b = tiles(weights, activations, repeats, depth, device)
    found = multiply(device, weights, activations, depth, c, a, b)
    np.testing.assert_array_equal(found, matrix.integer_product(a, b, c))


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(("weights", "activations"), SIGNS)
def test_nothing_is_saturated_between(weights, activations):
    """Two products of a word each would not fit into 16 bits, nor all of them into 32."""
    ends = [np.iinfo(DTYPES[name]) for name in (activations, weights)]
    for left, right in product(*((end.min, end.max) for end in ends)):
        a, b = np.full((8, 32), left), np.full((32, 16), right)
        c = np.full((8, 16), 2**31 - 1 if left * right > 0 else -(2**31), np.int32)
        found = multiply("pvc", weights, activations, 8, c, a, b)
        np.testing.assert_array_equal(found, matrix.integer_product(a, b, c))


@pytest.mark.parametrize("weights", INTEGERS)
def test_products_of_smaller_elements(weights, monkeypatch):
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])
    for number, activations in enumerate(INTEGERS):
        device = ("dg2", "pvc")[number % 2]
        for depth in (8, 1):
            c, a, b = tiles(weights, activations, 2, depth, device)
            found = multiply(device, weights, activations, depth, c, a, b)
            np.testing.assert_array_equal(found, matrix.integer_product(a, b, c))


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("saturated", ["", ".sat"])
@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
@pytest.mark.parametrize(("left", "right"), SIGNS)
def test_dot_products_of_four_bytes(left, right, lanes, saturated):
    """Page DP4A; of a result that saturates only the end counts."""
    rng = np.random.default_rng(lanes)
    dwords = {"s8": np.int32, "u8": np.uint32}
    a, b = (rng.integers(-(2**31), 2**31, lanes).astype(dwords[name]) for name in (left, right))
    a[:1], b[:1] = (np.array([0x80808080], np.uint32).astype(one.dtype) for one in (a, b))
    c = rng.integers(2**31 - 2**17, 2**31, lanes).astype(np.int32)
    ended = run(
        f"dp4a{saturated} (M1, {lanes}) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0> "
        "V43(0,0)<1;1,0>",
        {"V40": np.zeros(lanes, np.int32), "V41": c, "V42": a, "V43": b},
        platform="pvc",
    )
    sides = (one.view(DTYPES[name]).astype(np.int64) for one, name in ((a, left), (b, right)))
    x, y = (side.reshape(lanes, 4) for side in sides)
    total = c + (x * y).sum(axis=1)
    want = np.minimum(total, 2**31 - 1) if saturated else total
    assert ended["V40"].tolist() == want.astype(np.int32).tolist()


def test_products_of_bytes_for_aarch64_are_made():
    text = """\
.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=16 align=wordx32
.kernel_attr SimdSize=16
.function "k_0"
k_0:
    dp4a (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> V40(0,0)<1;1,0> V40(0,0)<1;1,0>
    ret (M1, 1)
"""
    kernel = assemble(text, "pvc")
    version = Version(full=True, slm_bytes=0, saving=True)
    module = ModuleWriter(kernel.linked, version, library=Library(AARCH64)).write()
    assert "mul" in native.assembly_for(module.text, "aarch64-unknown-linux-gnu")
