"""Observers get the same events from both engines: paths, counts, accesses, in the same order."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.engine import jit
from visim.engine.base import Machine, RunOptions, ThreadStart
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.launch import watching
from visim.engine.jit.writing.versions import ModuleText
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness
from .generator import CHANGING, generate, inputs, text_of
from .recorder import Recorder

ADDRESSES = """
    mov (M1, 16) V50(0,0)<1> 0x76543210:v
    mov (M1_NM, 8) V50(0,8)<1> 0x76543210:v
    shl (M1, 16) V51(0,0)<1> V50(0,0)<1;1,0> 0x2:ud
"""
DIVERGED = """
    cmp.lt (M1, 16) P1 V50(0,0)<1;1,0> 0x3:d
    (P1) lsc_load.slm (M1, 16) V52:d32 flat[V51]:a32
    lsc_store.slm (M1, 16) flat[V51]:a32 V52:d32
    lsc_atomic_iadd.slm (M1, 16) V52:d32 flat[V51]:a32 V50 %null
    lsc_fence.slm.none.group
    (!P1) goto (M1, 16) out
    lsc_store.slm (M1, 16) flat[V51]:a32 V50:d32
out:
"""
MEETING = """
    lsc_store.slm (M1_NM, 1) flat[V53]:a32 V53:d32
    barrier
    lsc_load.slm (M1_NM, 1) V54:d32 flat[V53]:a32
    sbarrier.signal
    sbarrier.wait
"""
LOOP = """
    mov (M1_NM, 1) V55(0,0)<1> 0x0:d
again:
    lsc_store.slm (M1, 16) flat[V51]:a32 V50:d32
    add (M1_NM, 1) V55(0,0)<1> V55(0,0)<0;1,0> 0x1:d
    cmp.lt (M1_NM, 1) P2 V55(0,0)<0;1,0> 0x100:d
    (P2) goto (M1, 16) again
"""
OUT_OF_RANGE = """
    lsc_store.slm (M1, 16) flat[V51]:a32 V50:d32
    add (M1, 16) V51(0,0)<1> V51(0,0)<1;1,0> 0x10000:ud
    lsc_store.slm (M1, 16) flat[V51]:a32 V50:d32
"""
THREADS = 3
VARIABLES = {
    "V50": np.zeros(16, np.int32),
    "V51": np.zeros(16, np.uint32),
    "V52": np.zeros(16, np.uint32),
    "V53": harness.Threads([np.array([4 * number], np.uint32) for number in range(THREADS)]),
    "V54": np.zeros(1, np.uint32),
    "V55": np.zeros(1, np.int32),
}


def kernel_of(body: str) -> harness.Kernel:
    lines = [
        ".version 4.1",
        '.kernel "k"',
        *(harness._declaration(name, value) for name, value in VARIABLES.items()),
        ".decl P1 v_type=P num_elts=32",
        ".decl P2 v_type=P num_elts=1",
        ".kernel_attr SimdSize=16",
        '.function "k"',
        "k:",
        *harness.body_lines(body),
        "    ret (M1, 1)",
    ]
    return harness.assemble("\n".join(lines) + "\n", "pvc")


def both(
    kernel: harness.Kernel, values, mask=None, *, seed=0, dispatch=harness.Group
) -> list[Recorder]:
    """Return what observers of either engine have seen."""
    found = []
    mask = (1 << kernel.linked.simd_size) - 1 if mask is None else mask
    registers = [kernel._registers(values, {}, thread) for thread in range(THREADS)]
    starts = tuple(ThreadStart(given, mask) for given in registers)
    for prepared in (kernel.prepared, jit.Prepared(kernel.linked)):
        found.append(Recorder())
        options = RunOptions(seed=seed, observers=(found[-1],))
        machine = Machine(Memory(), Surfaces())
        prepared.run(range(2), dispatch(starts, 256, 2), machine, options)
    return found


def check_equal(got: list, want: list) -> None:
    """Check that events are equal; the first that differ are shown."""
    assert [pair for pair in zip(got, want, strict=False) if pair[0] != pair[1]][:1] == []
    assert len(got) == len(want)


@pytest.mark.parametrize(
    ("seed", "dispatch"), [(0, harness.Group), (1, harness.Group), (0, harness.GroupsAlike)]
)
@pytest.mark.parametrize("body", [DIVERGED, MEETING, LOOP, LOOP + MEETING + DIVERGED, OUT_OF_RANGE])
def test_all_events_are_equal_and_in_the_same_order(body: str, seed: int, dispatch: type) -> None:
    want, got = both(kernel_of(ADDRESSES + body), VARIABLES, seed=seed, dispatch=dispatch)
    check_equal(got.events, want.events)
    assert got.counts == want.counts
    assert {event[0] for event in want.events} >= {"group", "accesses"}


def test_barriers_and_loops_take_the_same_way_where_native_code_starts_threads() -> None:
    body = LOOP + "\nbarrier\n" + DIVERGED + LOOP.replace("again", "once_more") + "\nbarrier\n"
    want, got = both(kernel_of(ADDRESSES + body), VARIABLES, dispatch=harness.GroupsAlike)
    check_equal(got.events, want.events)
    assert [event[0] for event in want.events].count("end") == 2 * THREADS


def test_events_can_be_printed() -> None:
    shown = repr(kernel_of(DIVERGED).linked)
    assert shown == "<LinkedKernel k on pvc>"


def test_what_an_observer_raises_ends_the_launch() -> None:
    class Angry(visim.Observer):
        def thread_end(self, path):
            raise LookupError(path.group)

    start = ThreadStart((), 0xFFFF)
    for prepared in (kernel_of(DIVERGED).prepared, jit.Prepared(kernel_of(DIVERGED).linked)):
        machine, options = Machine(Memory(), Surfaces()), RunOptions(observers=(Angry(),))
        with pytest.raises(LookupError):
            prepared.run(range(2), harness.GroupsAlike((start,), 256, 2), machine, options)


@pytest.mark.parametrize("seed", range(100, 108))
def test_random_control_flow_takes_the_same_way(seed: int) -> None:
    program = generate(seed)
    values, mask = inputs(seed, program.simd)
    kernel = harness.assemble(text_of(program), program.platform)
    want, got = both(kernel, values | dict.fromkeys(CHANGING, np.zeros(32, np.uint8)), mask)
    check_equal(got.events, want.events)
    assert got.counts == want.counts


@pytest.mark.parametrize("dispatch", [harness.Group, harness.GroupsAlike])
def test_full_buffers_change_nothing(monkeypatch: pytest.MonkeyPatch, dispatch: type) -> None:
    monkeypatch.setattr(watching, "TRACE_ENTRIES", 3)
    monkeypatch.setattr(watching, "LOG_WORDS", 40)
    want, got = both(kernel_of(ADDRESSES + LOOP + MEETING), VARIABLES, dispatch=dispatch)
    check_equal(got.events, want.events)


def test_accesses_have_the_channels_that_are_on_and_their_addresses() -> None:
    for found in both(kernel_of(ADDRESSES + DIVERGED), VARIABLES):
        [first] = [event for event in found.events if event[0] == "accesses"][:1]
        load, store, atomic, fence, last = first[2]
        kinds = [entry.site.kind for entry in first[2]]
        assert kinds == ["load", "store", "atomic", "fence", "store"]
        assert load.channels == last.channels == (0, 1, 2, 8, 9, 10)
        assert load.addresses == (0, 4, 8, 0, 4, 8)
        assert len(store.addresses) == len(atomic.addresses) == 16
        assert (load.site.space, load.site.size, fence.addresses) == ("SLM", 4, ())
        assert atomic.site.operation == "add"


def test_code_that_nobody_watches_has_no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []

    def write(writer: ModuleWriter) -> ModuleText:
        texts.append(made(writer))
        return texts[-1]

    made = ModuleWriter.write
    monkeypatch.setattr(ModuleWriter, "write", write)
    monkeypatch.setenv("VISIM_CACHE_DIR", "")

    class OnlyFaults(visim.Observer):
        def fault(self, fault):
            raise AssertionError(fault)

    harness.CHOSEN.engine = harness.ENGINES["jit"]
    kernel = kernel_of(ADDRESSES + DIVERGED)
    for observers in ((), (OnlyFaults(),), (Recorder(),)):
        kernel.run(VARIABLES, {}, slm_bytes=256, options=RunOptions(observers=observers))
    plain, watched = texts
    assert "log_room" in watched.text
    assert "log_room" not in plain.text
    assert not plain.watched
