"""Groups that run without checks, on inputs of threads that no compiler writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.engine import harness
from visim.engine import interp, jit
from visim.engine.base import Exit, Machine, RunOptions, ThreadStart
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

LANES, GROUPS = 32, 4
TEXT = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=32 align=wordx32
.decl V41 v_type=G type=uq num_elts=32 align=wordx32
.decl V42 v_type=G type=d num_elts=32 align=wordx32
.decl V43 v_type=G type=uq num_elts=32 align=wordx32
.input V40 offset=32 size=256
.input V41 offset=288 size=256
.input V42 offset=544 size=128
.kernel_attr SimdSize=32
.function "k"
k:
    add (M1, 32) V43(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>
    lsc_store.ugm (M1, 32)  flat[V43]:a64  V42:d32
    ret (M1, 1)
"""
ROW = 4 * LANES


class Launches:
    """Launches on one engine that add distances, in bytes, to the address of an array."""

    def __init__(self, kernel: harness.Kernel, prepared: interp.Prepared | jit.Prepared) -> None:
        self._kernel, self._prepared = kernel, prepared
        self._memory, self._room = Memory(), np.zeros(12 * LANES, np.int32)
        self._base = self._memory.add(self._room[4 * LANES : 8 * LANES], "out")
        self._machine = Machine(self._memory, Surfaces())

    def run(self, distances: Sequence[int]) -> tuple[Exit, bytes]:
        """Run groups whose threads store rows at distances; return how, and all memory."""
        starts: list[ThreadStart] = []
        for thread, distance in enumerate(distances):
            values = {
                "V40": np.full(LANES, self._base, np.uint64),
                "V41": 4 * np.arange(LANES, dtype=np.int64) + distance,
                "V42": np.arange(LANES, dtype=np.int32) + thread,
            }
            registers = [(self._kernel.place(name), one.tobytes()) for name, one in values.items()]
            starts.append(ThreadStart(tuple(registers), 0xFFFF_FFFF))
        dispatch = harness.GroupsAlike(tuple(starts), 0, GROUPS)
        ended = self._prepared.run(range(GROUPS), dispatch, self._machine, RunOptions())
        return ended, self._room.tobytes()


def place(ended: Exit) -> object:
    """Return where a fault was; each engine has an array of its own, at another address."""
    fault = ended.fault
    return fault and (fault.code, fault.group, fault.thread, fault.channel, fault.line)


@pytest.mark.parametrize("outside", [0, -ROW, -4, 4 * ROW, 1 << 40, -(1 << 63)])
def test_distances_of_64_bits_have_a_sign(outside: int) -> None:
    """The second launch remembers the array from what threads before the outer one have stored."""
    kernel = harness.assemble(TEXT, "pvc")
    engines = [
        Launches(kernel, prepared) for prepared in (kernel.prepared, jit.Prepared(kernel.linked))
    ]
    distances = [0, ROW, 2 * ROW, 3 * ROW, 0, outside, ROW, 2 * ROW]
    for _ in range(3):
        (want, expected), (got, found) = (engine.run(distances) for engine in engines)
        assert (got.fault is not None) == (outside != 0)
        assert place(got) == place(want)
        assert (got.groups, got.threads, got.executed) == (want.groups, want.threads, want.executed)
        assert found == expected
