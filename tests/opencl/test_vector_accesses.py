"""Vectors of every width, blocks of sub-groups and 64-bit atomics reach memory on every device."""

from __future__ import annotations

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES

VECTORS = [(name, n) for name in ("char", "short", "int", "long") for n in (3, 16)]
HALVES = (3, 8)
BLOCKS = [(name, n) for name in ("uchar", "uint", "ulong") for n in (1, 8)]
SUFFIXES = {"uchar": "_uc", "uint": "", "ulong": "_ul"}
ITEMS = 40
ATOMICS = """
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void atomics(global long *c)
{
    long v = (long)get_global_id(0) * 0x100000001L;
    atom_add(c, v);
    atom_max(c + 1, v);
    atom_min(c + 2, -v);
    atom_xor(c + 3, v);
    atom_inc(c + 4);
    atom_cmpxchg(c + 5, v, v + 7);
    atom_sub(c + 6, v);
    atom_or(c + 7, v);
}
"""


def source() -> str:
    parts = [ATOMICS]
    for name, n in VECTORS:
        parts.append(
            f"kernel void move_{name}{n}(global const {name} *a, global {name} *b)"
            f"{{ size_t i = get_global_id(0); vstore{n}(vload{n}(i, a + 1), i, b + 3); }}"
        )
    parts.extend(
        f"kernel void move_half{n}(global const half *a, global half *b)"
        f"{{ size_t i = get_global_id(0); vstore_half{n}(vload_half{n}(i, a + 1), i, b + 3); }}"
        for n in HALVES
    )
    for name, n in BLOCKS:
        verb = f"{SUFFIXES[name]}{n if n > 1 else ''}"
        read = f"intel_sub_group_block_read{verb}(a + at)"
        parts.append(
            "__attribute__((intel_reqd_sub_group_size(16))) "
            f"kernel void block_{name}{n}(global const {name} *a, global {name} *b)"
            f"{{ size_t at = get_group_id(0) * 16 * {n};"
            f" intel_sub_group_block_write{verb}(b + at, {read}); }}"
        )
    return "\n".join(parts)


def program(device: str) -> visim.Program:
    return built(source(), device, "-cl-std=CL2.0")


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_vectors_are_moved_whole_and_nothing_else_is(device: str) -> None:
    sizes = {"char": 1, "short": 2, "int": 4, "long": 8, "half": 2}
    for name, n in [*VECTORS, *(("half", n) for n in HALVES)]:
        count = ITEMS * n + 8
        # Halves of such bytes are neither NaN nor denormal: they come back from a conversion.
        given = np.random.default_rng(n).integers(17, 113, count * sizes[name], np.uint8)
        found = np.zeros_like(given)
        program(device)[f"move_{name}{n}"].launch([given, found], global_size=ITEMS)
        expected = np.zeros_like(given)
        first, last = (start * sizes[name] for start in (3, 3 + ITEMS * n))
        expected[first:last] = given[sizes[name] : (1 + ITEMS * n) * sizes[name]]
        assert np.array_equal(found, expected), (name, n)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_blocks_of_sub_groups_are_moved_whole(device: str) -> None:
    for name, n in BLOCKS:
        size = {"uchar": 1, "uint": 4, "ulong": 8}[name]
        given = np.random.default_rng(n).integers(0, 256, 64 * n * size, np.uint8)
        found = np.zeros_like(given)
        kernel = program(device)[f"block_{name}{n}"]
        kernel.launch([given, found], global_size=64, local_size=16)
        assert np.array_equal(found, given), (name, n)


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_64_bit_atomics_count_every_work_item(device: str) -> None:
    values = [i * 0x100000001 for i in range(64)]
    found = np.zeros(8, np.int64)
    found[5] = values[3]
    program(device)["atomics"].launch([found], global_size=64)
    either = odd = 0
    for value in values:
        either, odd = either | value, odd ^ value
    total = sum(values)
    assert list(found) == [
        total, max(values), -max(values), odd, 64, values[3] + 7, -total, either,
    ]  # fmt: skip
