"""Threads that go in step from barrier to barrier: what each has survives while others run."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from visim.engine import interp, jit
from visim.engine.base import Exit, Machine, RunOptions
from visim.engine.jit.launch import code
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.launch.kept import Compiled
from visim.engine.jit.layout import BARRIERS_BETWEEN_LOOKS
from visim.engine.jit.writing.meeting import Meeting
from visim.engine.jit.writing.versions import Version, Way
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness

THREADS = 3
LANES = 32
HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=32 align=wordx32
.decl V41 v_type=G type=ud num_elts=32 align=wordx32
.decl V42 v_type=G type=ud num_elts=32 align=wordx32
.decl V43 v_type=G type=ud num_elts=32 align=wordx32
.decl V44 v_type=G type=d num_elts=1 align=dword
.decl V45 v_type=G type=ud num_elts=32 align=wordx32
.decl V50 v_type=G type=d num_elts=32 align=wordx32
.decl V51 v_type=G type=d num_elts=32 align=wordx32
.decl V52 v_type=G type=d num_elts=32 align=wordx32
.decl V53 v_type=G type=d num_elts=32 align=wordx32
.decl V60 v_type=G type=d num_elts=1 align=dword
.decl V61 v_type=G type=d num_elts=1 align=dword
.decl V62 v_type=G type=d num_elts=1 align=dword
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.decl P3 v_type=P num_elts=1
.kernel_attr SimdSize=32
.function "k"
k:
"""
TAIL = """
    (P1) add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V51(0,0)<1;1,0>
    (P2) add (M1, 32) V52(0,0)<1> V52(0,0)<1;1,0> V53(0,0)<1;1,0>
    xor (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V52(0,0)<1;1,0>
    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V60(0,0)<0;1,0>
    xor (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V61(0,0)<0;1,0>
    lsc_store.ugm (M1, 32)  flat[V40]:a64  V50:d32
    ret (M1, 1)
"""
MEET = "    barrier\n"
VECTORS = ("V50", "V51", "V52", "V53")
SCALARS = ("V60", "V61")


class Writer:
    """Writes random programs of threads that meet."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.labels = 0

    def vector(self) -> str:
        return self.rng.choice(VECTORS)

    def source(self) -> str:
        if self.rng.random() < 0.3:
            return f"{self.rng.choice((*SCALARS, 'V44'))}(0,0)<0;1,0>"
        return f"{self.rng.choice((*VECTORS, 'V41'))}(0,0)<1;1,0>"

    def statement(self) -> str:
        rng, a, b = self.rng, self.source(), self.source()
        operation = rng.choice(("add", "mul", "xor"))
        scalar = rng.choice(SCALARS)
        other = f"{rng.choice((*SCALARS, 'V44'))}(0,0)<0;1,0>"
        return rng.choice(
            [
                f"    {operation} (M1, 32) {self.vector()}(0,0)<1> {a} {b}\n",
                f"    ({rng.choice(('P1', '!P2'))}) mov (M1, 32) {self.vector()}(0,0)<1> {a}\n",
                f"    add (M1, 16) {self.vector()}(1,0)<1> {a} {b}\n",
                f"    add (M1_NM, 1) {scalar}(0,0)<1> {other} {hex(rng.randrange(99))}:d\n",
                f"    mul (M1_NM, 1) {scalar}(0,0)<1> {other} 0x3:d\n",
                f"    cmp.lt (M1, 32) {rng.choice(('P1', 'P2'))} {a} {b}\n",
                f"    lsc_store.slm (M1, 32)  flat[V42]:a32  {self.vector()}:d32\n",
                f"    lsc_load.slm (M1, 32)  {self.vector()}:d32  flat[V43]:a32\n",
                f"    and (M1, 32) V45(0,0)<1> {self.vector()}(0,0)<1;1,0> 0x17c:ud\n",
                f"    lsc_load.slm (M1, 32)  {self.vector()}:d32  flat[V45]:a32\n",
                f"    lsc_store.slm (M1, 32)  flat[V45]:a32  {self.vector()}:d32\n",
            ]
        )

    def some(self) -> str:
        text = "".join(self.statement() for _ in range(self.rng.randrange(1, 5)))
        if self.rng.random() < 0.3:
            self.labels += 1
            on = f"on{self.labels}"
            text += f"    (P1) goto (M1, 32) {on}\n{self.statement()}{self.statement()}{on}:\n"
        return text

    def program(self) -> str:
        text = self.some()
        for _ in range(self.rng.randrange(1, 4)):
            text += MEET + self.some()
            if self.rng.random() < 0.5:
                self.labels += 1
                again = f"again{self.labels}"
                text += "    mov (M1_NM, 1) V62(0,0)<1> 0x0:d\n"
                text += f"{again}:\n{self.some()}{MEET}{self.some()}"
                if self.rng.random() < 0.5:
                    text += MEET + self.some()
                text += "    add (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x1:d\n"
                text += "    cmp.lt (M1_NM, 1) P3 V62(0,0)<0;1,0> 0x3:d\n"
                text += f"    (P3) goto (M1, 1) {again}\n"
        return text


def run(
    kernel: harness.Kernel,
    prepared: interp.Prepared | jit.Prepared,
    *,
    threads: int = THREADS,
    groups: int = 2,
    last: int = 0xFFFF_FFFF,
    options: RunOptions | None = None,
) -> tuple[Exit, list[int]]:
    """Run groups on an engine; return how they have ended, and what they have stored."""
    memory, out = Memory(), np.zeros(threads * LANES, np.int32)
    base = memory.add(out, "out")
    starts: list[harness.ThreadStart] = []
    for thread in range(threads):
        numbers = np.arange(thread * LANES, (thread + 1) * LANES)
        beside = (numbers + LANES + 1) % (threads * LANES)
        registers = (
            (kernel.place("V40"), (base + 4 * numbers).astype(np.uint64).tobytes()),
            (kernel.place("V41"), numbers.astype(np.uint32).tobytes()),
            (kernel.place("V42"), (4 * numbers).astype(np.uint32).tobytes()),
            (kernel.place("V43"), (4 * beside).astype(np.uint32).tobytes()),
            (kernel.place("V44"), np.int32(thread).tobytes()),
        )
        mask = last if thread == threads - 1 else 0xFFFF_FFFF
        starts.append(harness.ThreadStart(registers, mask))
    dispatch = harness.GroupsAlike(tuple(starts), 4 * threads * LANES, groups)
    machine = Machine(memory, Surfaces())
    ended = prepared.run(range(groups), dispatch, machine, options or RunOptions())
    return ended, out.tolist()


def same(body: str, last: int = 0xFFFF_FFFF) -> Exit:
    """Run a program on both engines and compare them; return how it has ended."""
    kernel = harness.assemble(HEAD + body + TAIL, "pvc")
    prepared = jit.Prepared(kernel.linked)
    want, expected = run(kernel, kernel.prepared, last=last)
    got, found = run(kernel, prepared, last=last)
    assert not prepared.last.has_stacks
    assert found == expected
    assert got.fault == want.fault
    assert (got.groups, got.threads, got.executed) == (want.groups, want.threads, want.executed)
    return got


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_do_what_they_do_in_the_interpreter(seed: int) -> None:
    same(Writer(seed).program(), last=(0xFFFF_FFFF, 0x3FF)[seed % 2])


def test_code_is_made_for_threads_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Version] = []
    compiled = KernelCode.compiled

    def noting(self: KernelCode, version: Version) -> Compiled:
        made.append(version)
        return compiled(self, version)

    monkeypatch.setattr(KernelCode, "compiled", noting)
    kernel = harness.assemble(HEAD + MEET + TAIL, "pvc")
    for options, threads, in_step in (
        (RunOptions(), 2, True),
        (RunOptions(), 1, False),
        (RunOptions(budget=10_000), 2, False),
        (RunOptions(count_forms=True), 2, False),
        (RunOptions(seed=1), 2, False),
    ):
        run(kernel, jit.Prepared(kernel.linked), threads=threads, options=options)
        assert made[-1].in_step is in_step


LOOP = """
    mov (M1_NM, 1) V62(0,0)<1> 0x0:d
again:
    add (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x1:d
{}
    cmp.lt (M1_NM, 1) P3 V62(0,0)<0;1,0> 0x3:d
    (P3) goto (M1, 1) again
"""


@pytest.mark.parametrize(
    ("body", "way"),
    [
        (MEET, Way.IN_STEP),
        (LOOP.format(MEET), Way.IN_STEP),
        (LOOP.format("") + MEET, Way.IN_STEP),
        ("    sbarrier.signal\n    sbarrier.wait\n", Way.STACKED),
        (MEET + "    yield\n", Way.STACKED),
        ("", Way.ALONE),
    ],
)
def test_threads_go_in_step_where_they_only_wait_at_barriers(body: str, way: Way) -> None:
    kernel = harness.assemble(HEAD + body + TAIL, "pvc")
    traits = KernelCode(kernel.linked, saving=False).traits
    assert traits.way(THREADS, looks_inside=False) is way
    assert traits.way(None, looks_inside=False) is (Way.STACKED if body else Way.ALONE)


def test_threads_that_read_how_much_they_have_executed_keep_stacks() -> None:
    clock = "    mov (M1_NM, 1) V60(0,0)<1> %tsc(0,0)<0;1,0>\n"
    kernel = harness.assemble(HEAD + MEET + clock + TAIL, "pvc")
    want, expected = run(kernel, kernel.prepared)
    got, found = run(kernel, jit.Prepared(kernel.linked))
    assert found == expected
    assert got.executed == want.executed


# Ends that are not good ones

OUT_OF_RANGE = """
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> {thread}:d
    (!P3) goto (M1, 1) fine
    mov (M1, 32) V40(0,0)<1> 0x10:uq
    lsc_store.ugm (M1, 32)  flat[V40]:a64  V50:d32
fine:
"""


@pytest.mark.parametrize("thread", range(THREADS))
@pytest.mark.parametrize("meetings", range(3))
def test_faults_of_a_thread_are_the_interpreters(thread: int, meetings: int) -> None:
    ended = same(MEET * meetings + OUT_OF_RANGE.format(thread=thread) + MEET)
    assert ended.fault is not None
    assert ended.fault.thread == thread


@pytest.mark.parametrize("thread", range(THREADS))
@pytest.mark.parametrize("meetings", range(3))
def test_threads_that_wait_for_ever_are_told(thread: int, meetings: int) -> None:
    leaves = f"""
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> {thread}:d
    (P3) goto (M1, 1) leave
"""
    ended = same(MEET * meetings + leaves + MEET + "leave:\n")
    assert ended.fault is not None
    assert ended.fault.code == "barrier-deadlock"


@pytest.mark.parametrize("thread", [1, 2])
def test_a_run_after_a_fault_begins_anew(thread: int) -> None:
    """Threads in front of the one that has faulted had a place to go on."""
    kernel = harness.assemble(HEAD + MEET + OUT_OF_RANGE.format(thread=thread) + TAIL, "pvc")
    prepared = jit.Prepared(kernel.linked)
    first, _ = run(kernel, prepared)
    second, _ = run(kernel, prepared)
    assert first.fault is not None
    assert (second.fault, second.executed) == (first.fault, first.executed)


def test_threads_may_meet_at_different_barriers() -> None:
    apart = """
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> 0x1:d
    (P3) goto (M1, 1) other
    add (M1, 32) V50(0,0)<1> V41(0,0)<1;1,0> 0x5:d
    barrier
    mul (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> 0x3:d
    goto (M1, 1) both
other:
    add (M1, 32) V51(0,0)<1> V41(0,0)<1;1,0> 0x7:d
    barrier
    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V51(0,0)<1;1,0>
both:
"""
    assert same(apart + MEET).fault is None


def test_a_group_that_meets_for_ever_can_be_stopped() -> None:
    body = """
again:
    barrier
    cmp.eq (M1_NM, 1) P3 V62(0,0)<0;1,0> 0x0:d
    (P3) goto (M1, 1) again
"""
    kernel = harness.assemble(HEAD + body + TAIL, "pvc")
    stop = threading.Event()
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    prepared = jit.Prepared(kernel.linked)
    ended, _ = run(kernel, prepared, options=RunOptions(stop=stop))
    timer.join()
    assert not prepared.last.has_stacks
    assert ended.fault is None
    assert ended.stopped is not None
    assert ended.stopped.category == "cancelled"


class Looks(threading.Event):
    """A stop of which somebody asks, and that answers so many times that it is not set.

    Args:
        turns_away: how often; then it is set, or an exception comes.
        error: that exception.
    """

    def __init__(self, turns_away: int, error: Exception | None = None) -> None:
        super().__init__()
        self.looks = 0
        self._turns_away, self._error = turns_away, error

    def is_set(self) -> bool:
        self.looks += 1
        if self.looks <= self._turns_away:
            return False
        if self._error is not None:
            raise self._error
        return True


MANY_TURNS = """
again:
    add (M1_NM, 1) V60(0,0)<1> V60(0,0)<0;1,0> 0x1:d
    barrier
    cmp.lt (M1_NM, 1) P3 V60(0,0)<0;1,0> 0x{:x}:d
    (P3) goto (M1, 1) again
"""
INSTRUCTIONS_OF_A_TURN = 4


def test_somebody_looks_as_often_as_where_threads_have_stacks_whether_to_stop() -> None:
    body = MANY_TURNS.format(3 * BARRIERS_BETWEEN_LOOKS)
    kernel = harness.assemble(HEAD + body + TAIL, "pvc")
    looks: list[int] = []
    for options in (RunOptions(stop=Looks(99)), RunOptions(stop=Looks(99), count_forms=True)):
        run(kernel, jit.Prepared(kernel.linked), groups=1, options=options)
        assert isinstance(options.stop, Looks)
        looks.append(options.stop.looks)
    assert looks[0] == looks[1] > 3


def test_what_threads_have_executed_before_a_stop_is_counted_once() -> None:
    """They are stopped where all have met, so each has executed as much as the others."""
    kernel = harness.assemble(HEAD + MANY_TURNS.format(9 * BARRIERS_BETWEEN_LOOKS) + TAIL, "pvc")
    ended, _ = run(kernel, jit.Prepared(kernel.linked), options=RunOptions(stop=Looks(3)))
    assert ended.stopped is not None
    each, rest = divmod(ended.executed, THREADS)
    assert rest == 0
    assert each % INSTRUCTIONS_OF_A_TURN == 2


def test_a_run_after_an_exception_begins_anew() -> None:
    kernel = harness.assemble(HEAD + MANY_TURNS.format(3 * BARRIERS_BETWEEN_LOOKS) + TAIL, "pvc")
    want, expected = run(kernel, jit.Prepared(kernel.linked))
    prepared = jit.Prepared(kernel.linked)
    with pytest.raises(ArithmeticError):
        run(kernel, prepared, options=RunOptions(stop=Looks(2, ArithmeticError())))
    assert run(kernel, prepared) == (want, expected)


def test_variables_that_are_left_in_memory_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop with more sums than a host without AVX-512 has registers leaves them in memory."""
    monkeypatch.setattr(code, "has_mask_registers", lambda: False)
    homes: list[Sequence[str]] = []
    written = Meeting.written

    def noting(
        self: Meeting, body: list[str], sizes: Mapping[str, int], always: Sequence[str]
    ) -> list[str]:
        homes.append(always)
        return written(self, body, sizes, always)

    monkeypatch.setattr(Meeting, "written", noting)
    sums = [f"V{100 + n}" for n in range(20)]
    declared = "".join(f".decl {name} v_type=G type=d num_elts=32 align=wordx32\n" for name in sums)
    turn = "".join(
        f"    mad (M1, 32) {name}(0,0)<1> V{41 + 9 * (n % 2)}(0,0)<1;1,0> V51(0,0)<1;1,0> "
        f"{name}(0,0)<1;1,0>\n"
        for _ in range(4)
        for n, name in enumerate(sums)
    )
    body = f"""
    add (M1, 32) V51(0,0)<1> V41(0,0)<1;1,0> 0x3:d
    mov (M1_NM, 1) V62(0,0)<1> 0x0:d
again:
{turn}{MEET}
    add (M1, 32) V51(0,0)<1> V51(0,0)<1;1,0> V44(0,0)<0;1,0>
    add (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x1:d
    cmp.lt (M1_NM, 1) P3 V62(0,0)<0;1,0> 0x3:d
    (P3) goto (M1, 1) again
"""
    for name in sums:
        body += f"    xor (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> {name}(0,0)<1;1,0>\n"
    kernel = harness.assemble(HEAD.replace(".decl P1", declared + ".decl P1") + body + TAIL, "pvc")
    want, expected = run(kernel, kernel.prepared)
    got, found = run(kernel, jit.Prepared(kernel.linked))
    assert found == expected
    assert got == want
    assert homes == [["%fixed.home"]]
