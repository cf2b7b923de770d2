"""Loops that work-items leave one after another, with scattered loads up to their last turns."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built

SOURCE = """
kernel void tags(global uint *out, global const uint *in, local uint *bins, uint n) {
    uint i = get_local_id(0), tag = i << 27;
    for (uint k = i; k < 64; k += get_local_size(0)) bins[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = get_global_id(0); k < n; k += get_global_size(0)) {
        volatile local uint *bin = bins + (in[k] & 63);
        uint count;
        do {
            count = tag | ((*bin & 0x7FFFFFF) + 1);
            *bin = count;
        } while (*bin != count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = i; k < 64; k += get_local_size(0)) out[64 * get_group_id(0) + k] = bins[k];
}
kernel void chase(global TYPE *out, global const TYPE *values, global const uint *next,
                  global const uint *turns) {
    uint i = get_global_id(0), at = i;
    TYPE sum = 0;
    for (uint k = 0; k < turns[i]; ++k) {
        sum += values[at];
        if (k & 1) at = next[at];
        out[at] = sum;
    }
}
"""
TYPES = {"uchar": np.uint8, "uint": np.uint32, "ulong": np.uint64}


def program(device: str, kind: str) -> visim.Program:
    return built(SOURCE, device, f"-DTYPE={kind}")


def both(device: str, kernel: str, given: list[Any], kind: str = "uint", **sizes: Any) -> Any:
    """Launch on both engines; return the arrays that come out, or the faults."""
    found: list[Any] = []
    for engine in ("interpreter", "jit"):
        arguments = [copy(argument) for argument in given]
        try:
            program(device, kind)[kernel].launch(arguments, engine=engine, **sizes)
            found.append(arguments[0])
        except visim.FaultError as fault:
            stop = fault.fault
            found.append((stop.code, stop.group, stop.thread, stop.channel, stop.line, stop.size))
    return found


@pytest.mark.parametrize("size", [32, 20, 3])
@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_counters_that_collide_are_added_to_in_turns(device: str, size: int) -> None:
    values = np.random.default_rng(3).integers(0, 2**32, 600, dtype=np.uint32)
    values[:100] %= 3
    given = [np.zeros(128, np.uint32), values, visim.Local(4 * 64), np.uint32(600)]
    ours, theirs = both(device, "tags", given, global_size=2 * size, local_size=size)
    np.testing.assert_array_equal(ours, theirs)
    assert (ours & 0x7FFFFFF).sum() == 600


@pytest.mark.parametrize("kind", TYPES)
def test_chains_of_any_type_are_followed_to_their_ends(kind: str) -> None:
    given = chains(kind)
    ours, theirs = both("pvc", "chase", given, kind, global_size=64, local_size=32)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.any()


@pytest.mark.parametrize("last", [40, 2**20, 2**30])
def test_a_chain_that_leaves_its_array_is_the_same_fault(last: int) -> None:
    given = chains("uint")
    given[2][:] = last
    given[3][:] = np.arange(64) == 37
    given[3] *= 9
    ours, theirs = both("pvc", "chase", given, "uint", global_size=64, local_size=32)
    if last == 40:
        np.testing.assert_array_equal(ours, theirs)
    else:
        assert isinstance(ours, tuple)
        assert ours == theirs


def chains(kind: str) -> list[Any]:
    rng = np.random.default_rng(4)
    values = rng.integers(0, 100, 64).astype(TYPES[kind])
    following = rng.permutation(64).astype(np.uint32)
    return [np.zeros(64, TYPES[kind]), values, following, np.arange(64, dtype=np.uint32) % 33]
