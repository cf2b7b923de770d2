"""The situations that Oclgrind tests its detector with, and bugs of the field, in our own kernels.

Those of the field are an index of a queue that nothing guards, a loop that refills its buffer while
others still read it, and a last tile without a mask: what is said has to name the mend.
"""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from tests.shares import share

SIZE, LOCAL = 128, 64
HEAD = "kernel void k(global int *x, global int *y, local int *t) {\n"
HEAD += "  int l = get_local_id(0), g = get_global_id(0), group = get_group_id(0);\n"
BOTH = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
ATOMIC = f"""\
  atomic_add(&y[group], x[g]);
  {BOTH}
  if (l == 5) x[g] = atomic_add(&y[group], 0);
"""
BROADCAST = f"""\
  if (l == 7) t[0] = x[group];
  {BOTH}
  y[g] = t[0];
"""
EXCHANGE = """\
  {array}[{base}l] = g;
  barrier({fence});
  x[g] = {array}[{base}63 - l];
"""
RACES: dict[str, tuple[str, set[str]]] = {
    "atomics of one group": (ATOMIC, set()),
    "broadcast behind a barrier": (BROADCAST, set()),
    "global exchange, global fence": (
        EXCHANGE.format(array="y", base="64 * group + ", fence="CLK_GLOBAL_MEM_FENCE"),
        set(),
    ),
    "local exchange, global fence": (
        EXCHANGE.format(array="t", base="", fence="CLK_GLOBAL_MEM_FENCE"),
        {"race-local"},
    ),
    "global exchange, local fence": (
        EXCHANGE.format(array="y", base="64 * group + ", fence="CLK_LOCAL_MEM_FENCE"),
        {"race-global"},
    ),
    "one writes what all read": (
        "  if (g == 70) y[0] = 4;\n  x[g] = y[0];\n",
        {"race-global"},
    ),
    "all write to one element": ("  y[0] = g;\n", {"race-global"}),
    "all count without atomics": ("  y[3]++;\n", {"race-global"}),
    "a barrier hides it from one schedule": (
        f"  if (g == 0) y[0] = 9;\n  {BOTH}\n  if (g == 100) x[g] = y[0];\n",
        {"race-global"},
    ),
    "groups write to the same elements": ("  y[l] = group;\n", {"race-global"}),
    "one writes the local element that all read": (
        "  if (l == 40) t[1] = 1;\n  y[g] = t[1];\n",
        {"race-local"},
    ),
    "all write to one local element": (
        f"  t[2] = l;\n  {BOTH}\n  y[g] = t[2];\n",
        {"race-local"},
    ),
    "all write the same": ("  y[5] = 77;\n", {"race-same-value"}),
}
RUNS = [
    (name, device, engine)
    for name in RACES
    for device in ("pvc", "tgllp", "bmg")
    for engine in ("interpreter", "jit")
]
SHARE = 6


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a share of the situations; `--thorough` runs all on all devices and engines."""
    if "situation" in metafunc.fixturenames:
        thorough = metafunc.config.getoption("thorough")
        runs = RUNS if thorough else share("known races", RUNS, SHARE)
        metafunc.parametrize(("situation", "device", "engine"), runs)


def launched(body: str, device: str, engine: str, wanted: str) -> tuple[visim.Finding, ...]:
    x, y = np.arange(SIZE, dtype=np.int32) % 7, np.zeros(SIZE, np.int32)
    options = {"global_size": SIZE, "local_size": LOCAL, "engine": engine, "sanitize": wanted}
    kernel = built(HEAD + body + "}\n", device)["k"]
    arguments = [x, y] + [visim.Local(4 * LOCAL)] * (len(kernel.args) - 2)
    return kernel.launch(arguments, **options).findings


def test_what_races_is_found_and_nothing_else(situation: str, device: str, engine: str) -> None:
    body, expected = RACES[situation]
    found = launched(body, device, engine, "races")
    assert {one.kind for one in found if one.counts} == expected


QUEUE = """\
  int head = atomic_inc(&x[0]);
  y[head + 100] = g;
"""
REFILL = """\
  int s = 0;
  for (int i = 0; i < 3; i++) {
    t[l] = x[(g + 64 * i) & 127];
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[63 - l];
  }
  y[g] = s;
"""
TAIL = """\
  if (group == 0)
    for (int tile = 0; tile < 4; tile++) y[tile * 48 + l] = tile;
"""


@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_a_queue_without_a_guard_names_index_and_size(device: str) -> None:
    found = launched(QUEUE, device, "jit", "bounds")
    (finding,) = found
    assert finding.kind == "oob-write"
    assert finding.locations == [("source.cl", 4)]
    assert "writes y[128] of 128" in finding.message
    assert finding.count == SIZE - 28
    assert "guard the access with the buffer's size" in finding.advice


@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_a_refill_that_comes_too_early_asks_for_the_second_barrier(device: str) -> None:
    found = [one for one in launched(REFILL, device, "jit", "races") if one.counts]
    (finding,) = found
    assert finding.kind == "race-local"
    assert {line for _, line in finding.locations} == {5, 7}
    assert {place.text for place in finding.places} == {
        "t[l] = x[(g + 64 * i) & 127];",
        "s += t[63 - l];",
    }
    assert "put barrier(CLK_LOCAL_MEM_FENCE) between the two accesses" in finding.advice


@pytest.mark.parametrize("device", ["pvc", "tgllp"])
def test_a_tail_without_a_mask_names_element_and_size(device: str) -> None:
    (finding,) = launched(TAIL, device, "jit", "bounds")
    assert finding.kind == "oob-write"
    assert finding.locations == [("source.cl", 4)]
    assert "writes y[144] of 128 (4 bytes, 64 bytes past its end)" in finding.message
