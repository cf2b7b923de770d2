"""Counters that many work-items add to are what the interpreter makes of them, however it is done.

Workers add to copies of their own until something else of the kernel looks at the counters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import visim
import visim.opencl
from tests.opencl.building import built
from visim.errors import FaultError

SOURCE = """
kernel void counted(global const int *where, global int *to, global int *out) {
    atomic_inc(&to[where[get_global_id(0)]]);
}
kernel void all_sums(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0), k = where[i];
    atomic_add(&to[k], i);
    if (i & 1) atomic_sub(&to[k ^ 1], 3 * i);
    atomic_dec(&to[0]);
}
kernel void looped(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0), n = get_global_size(0);
    for (int at = i / 4; at < n; at += n / 4) atomic_add(&to[where[at]], at);
}
kernel void two(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    atomic_inc(&to[where[i]]);
    atomic_inc(&out[i & 7]);
}
kernel void read_after(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    atomic_inc(&to[where[i]]);
    out[i] = to[where[i]];
}
kernel void read_seldom(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    atomic_inc(&to[where[i]]);
    if (i % 300 == 299) out[i] = to[where[i]];
    atomic_inc(&to[where[i] ^ 2]);
}
kernel void read_first(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    out[i] = to[where[i]];
    atomic_inc(&to[where[i]]);
}
kernel void stored(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    atomic_inc(&to[where[i]]);
    if (i % 100 == 7) to[3] = i;
}
kernel void returned(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    atomic_inc(&to[where[i]]);
    out[i] = atomic_add(&to[1], 2);
}
kernel void ordered(global const int *where, global int *to, global int *out) {
    int i = get_global_id(0);
    atomic_inc(&to[where[i]]);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    out[i] = 1;
}
"""
COUNTERS, ITEMS = 40, 3000
FREE = ("counted", "all_sums", "looped", "two")
ALONE = ("read_after", "read_seldom", "read_first", "stored", "returned", "ordered")
"""Kernels whose results depend on the order of work-items: one worker has the interpreter's."""

Array = NDArray[Any]


def program(device: str) -> visim.Program:
    return built(SOURCE, device)


def arrays(counters: int = COUNTERS, seed: int = 1) -> list[Array]:
    rng = np.random.default_rng(seed)
    where = rng.integers(0, COUNTERS, ITEMS).astype(np.int32)
    start = rng.integers(-5, 5, counters).astype(np.int32)
    return [where, start, np.zeros(ITEMS, np.int32)]


def launched(device: str, kernel: str, given: list[Array], engine: str, **options: Any) -> Any:
    """Return how a launch has ended, and what memory holds then."""
    sizes: dict[str, Any] = {"global_size": ITEMS, "local_size": 100}
    if engine == "jit":
        sizes |= {"workers": 1} | options
    try:
        program(device)[kernel].launch(given, engine=engine, **sizes)
        said = "well"
    except FaultError as fault:
        said = f"{fault.fault.place}, {fault.fault.group}, channel {fault.fault.channel}"
    return said, [one.tolist() for one in given]


def same_on_both(device: str, kernel: str, made: Any, **options: Any) -> None:
    ours, theirs = (launched(device, kernel, made(), e, **options) for e in ("jit", "interpreter"))
    assert ours == theirs


@pytest.mark.parametrize("device", ["pvc", "dg2", "tgllp"])
@pytest.mark.parametrize("kernel", [*FREE, *ALONE])
def test_counters_are_the_same_on_both_engines(device: str, kernel: str) -> None:
    same_on_both(device, kernel, arrays)


@pytest.mark.parametrize("kernel", FREE)
def test_any_number_of_workers_counts_the_same(kernel: str) -> None:
    for _ in range(3):
        same_on_both("pvc", kernel, arrays, workers=3)


@pytest.mark.parametrize("device", ["pvc", "dg2"])
@pytest.mark.parametrize("kernel", ["two", "read_after", "read_seldom", "read_first"])
def test_counters_may_be_met_by_other_names(device: str, kernel: str) -> None:
    def twice() -> list[Array]:
        where, to, _ = arrays(ITEMS)
        return [where, to, to]

    def overlapping() -> list[Array]:
        where, to, _ = arrays(2 * ITEMS)
        return [where, to[:ITEMS], to[20 : 20 + ITEMS]]

    def given_away() -> list[Array]:
        where, _, out = arrays()
        return [where, where, out]

    for made in (twice, overlapping, given_away):
        same_on_both(device, kernel, made)


@pytest.mark.parametrize("counters", [COUNTERS + 1, 16_384, 16_385, 40_000])
def test_arrays_of_all_sizes_are_counted_in(counters: int) -> None:
    same_on_both("pvc", "counted", lambda: arrays(counters))


@pytest.mark.parametrize("at", [1, 1500, 2999])
@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_a_fault_leaves_what_was_counted_before(device: str, at: int) -> None:
    def bad() -> list[Array]:
        given = arrays()
        given[0][at] = 1 << 28
        return given

    for kernel in ("counted", "looped"):
        same_on_both(device, kernel, bad)


def test_a_launch_that_is_repeated_counts_on() -> None:
    where, to, out = arrays()
    expected = to + 3 * np.bincount(where, minlength=COUNTERS)
    sizes: Any = {"global_size": ITEMS, "local_size": 100, "engine": "jit"}
    launch = program("pvc")["counted"].bind([where, to, out], **sizes)
    for _ in range(3):
        launch()
    assert to.tolist() == expected.tolist()


def test_launches_one_after_another_count_in_arrays_of_their_own() -> None:
    sizes: Any = {"global_size": ITEMS, "local_size": 100, "engine": "jit", "workers": 2}
    for seed in range(6):
        where, to, out = arrays(COUNTERS + seed, seed)
        expected = to + np.bincount(where, minlength=COUNTERS + seed)
        program("pvc")["counted"].launch([where, to, out], **sizes)
        assert to.tolist() == expected.tolist()


def test_a_fault_of_a_repeated_launch_leaves_nothing_for_the_next() -> None:
    where, to, out = arrays()
    expected = to + 2 * np.bincount(where, minlength=COUNTERS)
    sizes: Any = {"global_size": ITEMS, "local_size": 100, "engine": "jit", "workers": 1}
    launch = program("pvc")["counted"].bind([where, to, out], **sizes)
    launch()
    kept, before = where[77], to.copy()
    where[77] = -(1 << 28)
    with pytest.raises(FaultError):
        launch()
    where[77], to[:] = kept, before
    launch()
    assert to.tolist() == expected.tolist()
