"""Matrix products of sub-groups (DPAS) and dot products of bytes (DP4A)."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from tests.model import matrix
from tests.opencl.case import Case, Launch, Values
from tests.opencl.cases.inputs import integers

NO_MATRIX = "tgllp and skl have no matrix instructions"
CHANNELS = {"dg2": 8, "pvc": 16}
PRECISIONS = {
    "f16_f16": ("hf", "hf", 16),
    "bf16_bf16": ("bf", "bf", 16),
    "i8_i8": ("s8", "s8", 32),
    "u8_i8": ("u8", "s8", 32),
    "i8_u8": ("s8", "u8", 32),
    "u8_u8": ("u8", "u8", 32),
    "i4_i4": ("s4", "s4", 64),
    "u4_u4": ("u4", "u4", 64),
}
"""Names of the built-ins with the elements of A and of B, and K."""


def _elements(rng: Generator, name: str, shape: tuple[int, int]) -> np.ndarray:
    kind = matrix.ELEMENTS[name]
    if kind.is_float:
        size = {"hf": 1024, "bf": 128}[name]
        return rng.integers(-size, size, shape) * np.exp2(rng.integers(-8, -2, shape))
    low = -(1 << kind.bits - 1) if kind.is_signed else 0
    return rng.integers(low, low + (1 << kind.bits), shape)


def _product(device: str, name: str, rows: int) -> Case:
    left, right, terms = PRECISIONS[name]
    channels = CHANNELS[device]
    is_float = matrix.ELEMENTS[left].is_float

    def tiles(rng: Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        a, b = _elements(rng, left, (rows, terms)), _elements(rng, right, (terms, channels))
        if is_float:
            return a, b, rng.normal(0, 50, (rows, channels)).astype(np.float32)
        return a, b, rng.integers(-(2**31), 2**31, (rows, channels)).astype(np.int32)

    def make(rng: Generator) -> Values:
        a, b, c = tiles(rng)
        return {
            "a": matrix.packed_rows(a, left),
            "b": matrix.packed_columns(b, right),
            "c": c.reshape(-1),
            "matrices": (a, b),
        }

    def expected(v: Values) -> dict[str, np.ndarray]:
        a, b = v["matrices"]
        c = v["c"].reshape(rows, channels)
        multiply = matrix.float_product if is_float else matrix.integer_product
        return {"c": multiply(a, b, c).reshape(-1)}

    unsigned = ["u" if element[0] == "u" else "" for element in (left, right)]
    types = (
        f"-DA={unsigned[0]}{'short' if channels == 16 else 'int'} -DB={unsigned[1]}int "
        f"-DACC={'float' if is_float else 'int'}"
    )
    return Case(
        f"dpas_{name}_{rows}_{device}",
        "dpas.cl",
        make,
        (Launch("multiply", "a b c", (channels,), (channels,)),),
        expected,
        options=f"{types} -DSG={channels} -DROWS={rows} "
        f"-DMAD=intel_sub_group_{name}_matrix_mad_k{terms}",
        devices=(device,),
        devices_why=f"a program for {device}" if device in CHANNELS else NO_MATRIX,
        pocl=False,
        pocl_why="PoCL has no matrix products of sub-groups",
        features={device: (rf"dpas\.\w+\.\w+\.8\.{rows} \(M1, {channels}\)",)},
    )


def _bytes(values: np.ndarray, dtype: type[np.integer]) -> np.ndarray:
    return values.view(dtype).reshape(-1, 4).astype(np.int64)


def _dot4(rng: Generator) -> Values:
    count = 64
    values: Values = {name: integers(rng, np.int32, count) for name in ("a", "b", "c")}
    for name in ("ss", "su", "us"):
        values[name] = np.zeros(count, np.int32)
    values["uu"] = np.zeros(count, np.uint32)
    return values


def _dot4_expected(v: Values) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    kinds = {"s": np.int8, "u": np.uint8}
    for name in ("ss", "uu", "su", "us"):
        a, b = _bytes(v["a"], kinds[name[0]]), _bytes(v["b"], kinds[name[1]])
        total = (a * b).sum(axis=1) + v["c"]
        found[name] = total.astype(np.uint64).astype(np.uint32).view(v[name].dtype)
    return found


DP4A = Case(
    "dp4a",
    "dp4a.cl",
    _dot4,
    (Launch("dot4", "a b c ss uu su us", (64,), (32,)),),
    _dot4_expected,
    devices=("tgllp", "dg2", "pvc"),
    devices_why="skl has no dot product of bytes",
    pocl=False,
    pocl_why="the built-ins are Intel's",
    features={"*": (r"\bdp4a \(",)},
)

CASES = (
    DP4A,
    *(
        _product(device, name, rows)
        for device in CHANNELS
        for name in PRECISIONS
        for rows in ((8, 1) if name in {"f16_f16", "i8_i8"} else (8,))
    ),
)
