"""A model of systolic products on whole matrices: how tiles are packed, and what comes of them.

A is M x K, B is K x N, C is M x N. Knows nothing of visim; the layout is that of the
specification's page DPAS, the order of accumulation that of docs/numerics.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Elements:
    """Elements of `bits` bits; `is_signed` for integers, `is_float` for the others."""

    bits: int
    is_signed: bool = False
    is_float: bool = False


ELEMENTS = {
    **{f"{s}{bits}": Elements(bits, s == "s") for bits in (1, 2, 4, 8) for s in "us"},
    "bf": Elements(16, is_float=True),
    "hf": Elements(16, is_float=True),
    "bf8": Elements(8, is_float=True),
    "tf32": Elements(32, is_float=True),
}


def depth_step(weights: str, activations: str) -> int:
    """Return how many elements of K a stage takes."""
    widest = max(ELEMENTS[weights].bits, ELEMENTS[activations].bits)
    return {1: 8, 2: 8, 4: 8, 8: 4, 16: 2, 32: 1}[widest]


def patterns(values: Array, name: str) -> Array:
    """Return the bits of each value, as unsigned 64-bit integers."""
    match name:
        case "hf":
            return values.astype(np.float16).view(np.uint16).astype(np.uint64)
        case "bf8":
            return (values.astype(np.float16).view(np.uint16) >> 8).astype(np.uint64)
        case "bf":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
        case "tf32":
            return values.astype(np.float32).view(np.uint32).astype(np.uint64)
        case _:
            mask = np.uint64((1 << ELEMENTS[name].bits) - 1)
            return values.astype(np.int64).view(np.uint64) & mask


def packed_rows(a: Array, name: str) -> Array:
    """Return the bytes of A: its rows one after another."""
    return _packed(patterns(a, name).reshape(-1), ELEMENTS[name].bits)


def packed_columns(b: Array, name: str) -> Array:
    """Return the bytes of B: a register holds a dword of each column."""
    bits = ELEMENTS[name].bits
    per_dword = 32 // bits
    depth = -(-b.shape[0] // per_dword) * per_dword
    full = np.zeros((depth, b.shape[1]), np.uint64)
    full[: b.shape[0]] = patterns(b, name)
    columns = full.reshape(-1, per_dword, b.shape[1]).transpose(0, 2, 1)
    return _packed(columns.reshape(-1), bits)


def _packed(values: Array, bits: int) -> Array:
    places = np.arange(bits, dtype=np.uint64)
    flat = (values[:, None] >> places & np.uint64(1)).astype(np.uint8).reshape(-1)
    return np.packbits(flat, bitorder="little")


def integer_product(a: Array, b: Array, c: Array) -> Array:
    """Return C + A x B modulo 2**32."""
    total = a.astype(np.int64) @ b.astype(np.int64) + c
    return total.astype(np.uint64).astype(np.uint32).view(np.int32)


def float_product(a: Array, b: Array, c: Array) -> Array:
    """Return C + A x B in float32: one element of K after the other, each rounded once.

    A long double holds the product exactly, and the sum for magnitudes that are not far apart.
    """
    total = c.astype(np.float32)
    for k in range(a.shape[1]):
        product = np.outer(a[:, k].astype(np.longdouble), b[k].astype(np.longdouble))
        total = (total.astype(np.longdouble) + product).astype(np.float32)
    return total
