"""Long units on the JIT: which code belongs to them, what comes first in them, where masks are."""

from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest

from visim.engine.base import Machine, RunOptions
from visim.engine.jit.analysis.blocks import UnitCode
from visim.engine.jit.analysis.flow import Explorer, Flow, Key, Node
from visim.engine.jit.analysis.paths import Paths
from visim.engine.jit.common import native
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.ir import masks
from visim.engine.jit.ir.cycles import cyclic
from visim.engine.jit.writing.versions import Version
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


def leaving(count: int) -> str:
    """Return code in which one channel after another leaves to wait in front of all later ones."""
    leave = """
    cmp.eq (M1, 16) P1 V40(0,0)<1;1,0> 0x{n:x}:d
    (P1) goto (M1, 16) E{n}
"""
    wait = "E{n}:\n    mad (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x3:d 0x{n:x}:d\n"
    rest = "    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x20:d\n    goto (M1, 16) end\n"
    parts = [leave.format(n=n) for n in range(count)], [wait.format(n=n) for n in range(count)]
    return "".join([*parts[0], rest, *parts[1], "end:\n    ret (M1, 1)\n"])


def written(body: str) -> str:
    linked = harness.assemble(HEAD + body, "pvc").linked
    return ModuleWriter(linked, Version(full=True, slm_bytes=0)).write().text


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


@pytest.mark.parametrize("on", [0xFFFF, 0x0F31, 0x0F30])
@pytest.mark.parametrize("body", [JOINS, leaving(10), leaving(16)])
@pytest.mark.parametrize(("meeting", "waiting"), [(-1, 1 << 40), (1 << 40, 1 << 40), (-1, -1)])
def test_masks_in_one_array_are_those_that_were_variables(
    meeting: int, waiting: int, body: str, on: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masks, "MOST_MEETING", meeting)
    monkeypatch.setattr(masks, "MOST_WAITING", waiting)
    monkeypatch.setattr(masks, "MOST_LOOKS", waiting)
    kernel = harness.assemble(HEAD + body, "pvc")
    registers = ((kernel.place("V40"), np.arange(16, dtype=np.int32).tobytes()),)
    group = harness.Group((harness.ThreadStart(registers, on),))
    found: list[bytes] = []
    for engine in (harness.OnInterpreter(), harness.OnJit()):
        machine = Machine(Memory(), Surfaces())
        ended, image = engine.run(kernel, group, machine, RunOptions())
        assert ended.fault is None
        found.append(image[: kernel.linked.register_bytes].tobytes())
    assert found[0] == found[1]


def test_blocks_that_look_for_channels_at_many_places_share_the_look() -> None:
    assert written(leaving(100)).count("ptr %wait.") < 1000


def test_long_units_whose_blocks_look_at_few_places_have_no_way_along_all_of_them() -> None:
    """On such a way all that blocks hold would meet: where many wait, but each looks at a few."""
    few = "    cmp.eq (M1, 16) P1 V40(0,0)<1;1,0> 0x{n:x}:d\n    (P1) goto (M1, 16) N{n}\n"
    inner = "".join(f"{few.format(n=n)}N{n}:\n" for n in range(2200))
    flow = flow_of(leaving(2).replace("    add", inner + "    add", 1))
    assert sum(len(node.waiting) for node in flow.nodes.values()) > masks.MOST_WAITING
    assert not flow.later
    assert flow_of(leaving(100)).later


def test_a_subroutine_looks_once_whether_its_turn_is_over_wherever_it_returns_to() -> None:
    body = "    call (M1, 16) first\n" * 50 + CALLS
    assert written(body).count("call i32 @pause(") == 2  # one for each subroutine


def test_an_array_of_masks_is_kept_in_memory() -> None:
    apart, together = masks.Masks(), masks.Masks(together=True)
    assert apart.variable("%p0", 64) == "  %p0 = alloca i64"
    assert apart.array() == []
    assert "getelementptr i8, ptr %masks, i64 0" in together.variable("%p0", 64)
    assert "getelementptr i8, ptr %masks, i64 8" in together.variable("%wait.0.1", 32)
    assert any("alloca [16 x i8]" in line for line in together.array())


@pytest.mark.parametrize("padding", range(4))
def test_subroutines_have_names_of_their_own_wherever_they_begin(padding: int) -> None:
    last = 64
    calls = ["    call (M1, 16) S0\n"] + ["    ret (M1, 1)\n"] * (1 + padding)
    for n in range(last + 1):
        add = f"    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x{n:x}:d\n"
        onwards = f"    call (M1, 16) S{n + 1}\n" if n < last else ""
        calls.append(f'.function "S{n}"\nS{n}:\n{add}{onwards}    ret (M1, 16)\n')
    kernel = harness.assemble(HEAD + "".join(calls), "pvc")
    place, lanes = kernel.place("V40"), np.arange(16, dtype=np.int32)
    group = harness.Group((harness.ThreadStart(((place, lanes.tobytes()),), 0xFFFF),))
    ended, image = harness.OnJit().run(kernel, group, Machine(Memory(), Surfaces()), RunOptions())
    assert ended.fault is None
    total = image[place : place + lanes.nbytes].view(np.int32)
    assert np.array_equal(total, lanes + last * (last + 1) // 2)


def test_units_where_many_channels_wait_have_their_masks_in_one_array() -> None:
    assert not masks.meets_too_many([2] * 100, 20)
    assert masks.meets_too_many([50] * 100, 20)


CHAIN = """
import threading
from visim.engine.jit.common import native

LAST = 2000
lines = ["define i32 @f(i64 %v0, i32 %c) {", "entry:", "  br label %b0", "b0:"]
for i in range(LAST):
    lines += [f"  %d{i} = add i32 %c, {i}", f"  %k{i} = icmp sgt i32 %d{i}, 7"]
    lines += [f"  br i1 %k{i}, label %t{i}, label %b{i + 1}", f"t{i}:"]
    lines += [f"  call void @g(i32 {i})", f"  br label %b{i + 1}", f"b{i + 1}:"]
    lines += [f"  %v{i + 1} = phi i64 [ %v{i}, %b{i} ], [ {5 * i}, %t{i} ]"]
lines += [f"  %r = trunc i64 %v{LAST} to i32", "  ret i32 %r", "}", "declare void @g(i32)", ""]
threading.stack_size(1 << 18)
made = []
worker = threading.Thread(
    target=lambda: made.append(native.object_code("\\n".join(lines), native.processor()))
)
worker.start()
worker.join()
print(len(made[0]) > 0)
"""


def test_long_chains_of_branches_need_no_stack_of_the_thread_that_compiles() -> None:
    """In another process, since LLVM ends it where the stack does."""
    ran = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "True\n")


def test_code_is_compiled_where_there_is_no_memory_for_a_long_stack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native, "_LONG_STACK_BYTES", 1 << 47)
    monkeypatch.setattr(native, "_MOST_BRANCHES", 0)
    kernel = harness.assemble(HEAD + JOINS, "pvc")
    text = ModuleWriter(kernel.linked, Version(full=False, slm_bytes=0)).write().text
    assert native.object_code(text, native.processor())


@pytest.mark.parametrize(("loops", "off"), [(2, False), (40, True)])
def test_counters_of_many_loops_stay_as_they_are(
    loops: int, off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM's time for them grew with the third power of the number of loops."""
    chosen: dict[str, bool] = {}

    def switch(_: object, option: str, *, off: bool) -> None:
        chosen[option] = off

    monkeypatch.setattr(native, "_switch", switch)
    loop = "L{n}:\n    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d\n"
    loop += "    cmp.lt (M1, 16) P1 V40(0,0)<1;1,0> 0x{n:x}:d\n    (P1) goto (M1, 16) L{n}\n"
    body = "".join(loop.format(n=n) for n in range(loops)) + "    ret (M1, 1)\n"
    native.object_code(written(body), native.any_processor())
    assert chosen["-disable-lsr"] is off
