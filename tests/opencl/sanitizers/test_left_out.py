"""What quick looks at races leave out: it hides no race, and a launch that is right stays quick."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from visim.sanitize.races.needless import Needless, written_memory

SOURCE = """
kernel void scale(global const int *x, global int *y, local int *t) {
  int g = get_global_id(0);
  y[g] = y[g] + 3 * x[(g + 1) & 255];
}
kernel void tiles(global const int *x, global int *y, local int *t) {
  int l = get_local_id(0), g = get_global_id(0), s = 0;
  for (int i = 0; i < 4; i++) {
    t[l] = x[(g + i) & 255];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 64; k++) s += t[k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  y[g] = s;
}
kernel void refill(global const int *x, global int *y, local int *t) {
  int l = get_local_id(0), g = get_global_id(0), s = 0;
  for (int i = 0; i < 4; i++) {
    t[l] = x[(g + i) & 255];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 64; k++) s += t[k];
  }
  y[g] = s;
}
kernel void apart(global const int *x, global int *y, local int *t) {
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = x[g];
  if (get_local_size(0) > 32 && l < 32) {
    barrier(CLK_LOCAL_MEM_FENCE);
    y[g] = t[l + 32];
  } else {
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = 0;
    y[g] = 1;
  }
}
"""


@pytest.fixture(scope="module")
def program() -> visim.Program:
    return built(SOURCE, "pvc")


def kinds(kernel: visim.Kernel, x: np.ndarray, y: np.ndarray) -> set[str]:
    report = kernel.launch(
        [x, y, visim.Local(256)], global_size=256, local_size=64, engine="jit", sanitize="races"
    )
    return {one.kind for one in report.findings}


def left_out(kernel: visim.Kernel, *, is_apart: bool) -> int:
    """Return how many accesses of a kernel nobody keeps."""
    linked, reach = kernel._linked, kernel._reach  # pyright: ignore[reportPrivateUsage]
    return len(Needless(linked, reach, is_apart=is_apart))


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(256, dtype=np.int32), np.zeros(256, np.int32)


def test_what_nobody_writes_and_what_the_next_store_tells_is_left_out(
    program: visim.Program,
) -> None:
    both, one = (left_out(program["scale"], is_apart=apart) for apart in (True, False))
    assert both > one > 0
    assert kinds(program["scale"], *arrays()) == set()


def test_arguments_that_share_memory_are_looked_at(program: visim.Program) -> None:
    array = np.arange(400, dtype=np.int32)
    assert kinds(program["scale"], array, array) == {"race-global"}
    assert kinds(program["scale"], array[:256], array[100:356]) == {"race-global"}


def test_loads_between_barriers_without_stores_are_left_out(program: visim.Program) -> None:
    tiles, refill = (left_out(program[name], is_apart=False) for name in ("tiles", "refill"))
    assert tiles > refill
    assert kinds(program["tiles"], *arrays()) == set()
    assert kinds(program["refill"], *arrays()) == {"race-local"}


def test_threads_at_different_barriers_are_not_between_the_same_ones(
    program: visim.Program,
) -> None:
    assert kinds(program["apart"], *arrays()) == {"race-local"}


def test_only_what_is_written_is_kept_for_another_run(program: visim.Program) -> None:
    kernel = program["scale"]
    written = written_memory(kernel._linked, kernel._reach)  # pyright: ignore[reportPrivateUsage]
    assert written is not None
    assert "y" in written
    assert "x" not in written
