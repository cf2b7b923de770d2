"""Inexact mathematics stays within its stated bound of the exact value."""

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from tests.engine.harness import run
from visim.isa import ISA

SAMPLES = 32
KEEP_DENORMALS = "or (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x4c0:ud"
Exact = Callable[..., mpmath.mpf]


def evaluate(mnemonic: str, *sources: np.ndarray) -> np.ndarray:
    operands = " ".join(f"V{41 + i}(0,0)<1;1,0>" for i in range(len(sources)))
    values = {f"V{41 + i}": source for i, source in enumerate(sources)}
    return run(
        f"{KEEP_DENORMALS}\n{mnemonic} (M1, 32) V40(0,0)<1> {operands}",
        {"V40": np.zeros(SAMPLES, sources[0].dtype), **values},
        simd=32,
        platform="pvc",
    )["V40"]


def error_in_ulp(found: np.floating, exact: mpmath.mpf) -> float:
    unit = mpmath.mpf(float(np.spacing(np.abs(found.dtype.type(exact)))))
    return float(abs(mpmath.mpf(float(found)) - exact) / unit)


def powers_of_two(low: float, high: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: np.exp2(rng.uniform(low, high, SAMPLES))


def uniform(low: float, high: float) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.uniform(low, high, SAMPLES)


FUNCTIONS = [
    ("exp", uniform(-150, 127.9), lambda x: mpmath.power(2, x)),
    ("exp", uniform(-1, 1), lambda x: mpmath.power(2, x)),
    ("log", powers_of_two(-149, 128), lambda x: mpmath.log(x, 2)),
    ("log", uniform(0.9, 1.1), lambda x: mpmath.log(x, 2)),
    ("sin", uniform(-1e6, 1e6), mpmath.sin),
    ("sin", uniform(-4, 4), mpmath.sin),
    ("cos", uniform(-1e6, 1e6), mpmath.cos),
    ("cos", uniform(-4, 4), mpmath.cos),
    ("tanh", uniform(-12, 12), mpmath.tanh),
    ("tanh", uniform(-0.51, 0.51), mpmath.tanh),
    ("tanh", powers_of_two(-149, 4), mpmath.tanh),
    ("sigm", uniform(-105, 20), lambda x: 1 / (1 + mpmath.exp(-x))),
    ("sigm", uniform(-1, 1), lambda x: 1 / (1 + mpmath.exp(-x))),
    ("rsqrt", powers_of_two(-149, 128), lambda x: 1 / mpmath.sqrt(x)),
    ("sqrt", powers_of_two(-149, 128), mpmath.sqrt),
    ("inv", powers_of_two(-126, 126), lambda x: 1 / x),
]


@pytest.mark.parametrize(("mnemonic", "draw", "exact"), FUNCTIONS)
def test_a_function_of_one_source_keeps_its_bound(mnemonic: str, draw, exact: Exact):
    op = ISA.by_mnemonic(mnemonic)
    assert op is not None
    bound = 0.5 if op.exactness.ulp is None else op.exactness.ulp
    rng = np.random.default_rng(7)
    with mpmath.workprec(120):
        for _ in range(6):
            source = draw(rng).astype(np.float32)
            found = evaluate(mnemonic, source)
            for x, y in zip(source, found, strict=True):
                assert error_in_ulp(y, exact(mpmath.mpf(float(x)))) <= bound + 1e-9, (x, y)


def test_powers_of_two_are_exact_and_end_where_f_does():
    whole = np.arange(-160, 160, dtype=np.float32).reshape(-1, SAMPLES)
    with np.errstate(over="ignore"):
        for row in whole:
            expected = np.exp2(row.astype(np.float64)).astype(np.float32)
            np.testing.assert_array_equal(evaluate("exp", row), expected)
    ends = np.resize(np.array([-np.inf, -3e38, -0.0, 0.0, 3e38, np.inf, np.nan], "f4"), SAMPLES)
    expected = np.resize(np.array([0, 0, 1, 1, np.inf, np.inf, np.nan], "f4"), SAMPLES)
    np.testing.assert_array_equal(evaluate("exp", ends), expected)


def test_a_power_keeps_its_bound():
    rng = np.random.default_rng(8)
    with mpmath.workprec(120):
        for _ in range(6):
            a = np.exp2(rng.uniform(-20, 20, SAMPLES)).astype(np.float32)
            b = rng.uniform(-6, 6, SAMPLES).astype(np.float32)
            for x, y, z in zip(a, b, evaluate("pow", a, b), strict=True):
                exact = mpmath.power(mpmath.mpf(float(x)), mpmath.mpf(float(y)))
                assert error_in_ulp(z, exact) <= 0.51, (x, y, z)


@pytest.mark.parametrize("mnemonic", ["exp", "log", "sin", "cos", "inv", "sqrt", "rsqrt", "tanh"])
def test_a_half_float_result_is_within_a_unit(mnemonic: str):
    exact = {
        "exp": lambda x: mpmath.power(2, x),
        "log": lambda x: mpmath.log(x, 2),
        "sin": mpmath.sin,
        "cos": mpmath.cos,
        "inv": lambda x: 1 / x,
        "sqrt": mpmath.sqrt,
        "rsqrt": lambda x: 1 / mpmath.sqrt(x),
        "tanh": mpmath.tanh,
    }[mnemonic]
    source = np.random.default_rng(9).uniform(0.1, 8, SAMPLES).astype(np.float16)
    found = evaluate(mnemonic, source)
    with mpmath.workprec(120):
        for x, y in zip(source, found, strict=True):
            assert error_in_ulp(y, exact(mpmath.mpf(float(x)))) <= 0.51, (x, y)
