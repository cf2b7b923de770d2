"""Long units on the JIT: which code belongs to them, what comes first in them, where masks are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from visim.engine.base import Machine, RunOptions
from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.analysis.flow import Explorer, Flow, Key, Node, cyclic
from visim.engine.jit.analysis.paths import Paths
from visim.engine.jit.ir import masks
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=d num_elts=16 align=wordx32
.decl P1 v_type=P num_elts=16
.decl P2 v_type=P num_elts=16
.kernel_attr SimdSize=16
.function "k"
k:
"""
CALLS = """
    call (M1, 16) first
    call (M1, 16) second
    ret (M1, 1)
.function "first"
first:
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d
    ret (M1, 16)
.function "second"
second:
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x2:d
    ret (M1, 16)
"""
JOINS = """
    cmp.lt (M1, 16) P1 V40(0,0)<1;1,0> 0x5:d
again:
    cmp.lt (M1, 16) P2 V40(0,0)<1;1,0> 0x8:d
    (P1) goto (M1, 16) small
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x10:d
    (P2) goto (M1, 16) end
small:
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x3:d
    (P2) goto (M1, 16) again
end:
    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x20:d
    ret (M1, 1)
"""


def flow_of(body: str) -> Flow:
    linked = harness.assemble(HEAD + body, "pvc").linked
    return Explorer(UnitCode(linked, linked.units[0]), 0, lambda _, cr0: cr0).explore()


def test_code_behind_a_return_of_all_is_another_subroutines() -> None:
    flow = flow_of(CALLS)
    first, second = flow.label("first"), flow.label("second")
    assert (second, second, 0) in flow.nodes
    assert (first, second, 0) not in flow.nodes


def test_which_nodes_come_first() -> None:
    flow = flow_of(JOINS)
    paths = Paths(flow)
    again, small, end = ((0, flow.label(name), 0) for name in ("again", "small", "end"))
    assert paths.dominates(flow.start, end)
    assert paths.dominates(again, small)
    assert paths.dominates(again, again)
    assert not paths.dominates(small, end)
    assert not paths.dominates(end, again)
    assert {key for key in flow.nodes if flow.repeats(key)} == {
        key for key in flow.nodes if key in flow.behind({key})
    }


class Counted(tuple[int, int, int]):
    """A node's key that counts how often any of them is looked up."""

    __slots__ = ()
    asked: ClassVar[int] = 0

    def __hash__(self) -> int:
        Counted.asked += 1
        return super().__hash__()


def test_ends_of_many_jumps_are_found_without_going_back_from_each() -> None:
    last, start = 2000, flow_of(CALLS)
    keys = [Counted((0, number, 0)) for number in range(last + 1)]
    edges: dict[Key, set[Key]] = {keys[n]: {keys[n + 1], keys[last]} for n in range(last)}
    nodes: dict[Key, Node] = dict.fromkeys(keys, start.nodes[start.start])
    Counted.asked = 0
    paths = Paths(Flow(start.code, keys[0], nodes, edges=edges))
    assert paths.dominates(keys[0], keys[last])
    assert not paths.dominates(keys[1], keys[last])
    assert Counted.asked < 100 * last


def test_channels_that_waited_are_met_where_they_go_on() -> None:
    flow = flow_of(JOINS)
    paths = Paths(flow)
    again, small = ((0, flow.label(name), 0) for name in ("again", "small"))
    behind = next(key for key in flow.edges[again] if key != small)
    assert paths.keeps_channels(frozenset({again}), behind)
    assert not paths.keeps_channels(frozenset({again, behind}), small)


def test_nodes_on_cycles() -> None:
    nodes = [(0, number, 0) for number in range(6)]
    a, b, c, d, e, f = nodes
    edges = {a: {b}, b: {c, e}, c: {b, d}, d: {d}, e: {f}}
    assert set(cyclic(edges)) == {b, c, d}


@pytest.mark.parametrize("on", [0xFFFF, 0x0F31])
@pytest.mark.parametrize("most", [-1, 1 << 40])
def test_masks_in_one_array_are_those_that_were_variables(
    most: int, on: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masks, "MOST_MEETING", most)
    kernel = harness.assemble(HEAD + JOINS, "pvc")
    registers = ((kernel.place("V40"), np.arange(16, dtype=np.int32).tobytes()),)
    group = harness.Group((harness.ThreadStart(registers, on),))
    found: list[bytes] = []
    for engine in (harness.OnInterpreter(), harness.OnJit()):
        machine = Machine(Memory(), Surfaces())
        ended, image = engine.run(kernel, group, machine, RunOptions())
        assert ended.fault is None
        found.append(image[: kernel.linked.register_bytes].tobytes())
    assert found[0] == found[1]


def test_an_array_of_masks_is_kept_in_memory() -> None:
    apart, together = masks.Masks(), masks.Masks(together=True)
    assert apart.variable("%p0", 64) == "  %p0 = alloca i64"
    assert apart.array() == []
    assert "getelementptr i8, ptr %masks, i64 0" in together.variable("%p0", 64)
    assert "getelementptr i8, ptr %masks, i64 8" in together.variable("%wait.0.1", 32)
    assert any("alloca [16 x i8]" in line for line in together.array())
