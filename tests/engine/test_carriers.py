"""Threads that go in step and whose turns end on the way: one stack carries each until it goes on.

The programs are those of `test_in_step`, and so is how they run; here they have loops without
barriers in them, and turns are short.
"""

from __future__ import annotations

import pytest

from visim.engine import jit, running
from visim.engine.base import TURN, Exit, RunOptions
from visim.engine.jit.analysis import meetings
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.launch.code import KernelCode
from visim.engine.jit.writing import functions, prologue
from visim.engine.jit.writing.versions import ModuleText, Way

from . import harness
from .test_in_step import HEAD, MEET, OUT_OF_RANGE, TAIL, THREADS, Looks, Writer, run

ONE = RunOptions(workers=1)
DECLARED = "".join(
    f".decl {name} v_type=G type=d num_elts={count} align={align}\n"
    for name, count, align in (
        *((f"V7{depth}", 1, "dword") for depth in range(2)),
        *((f"V8{depth}", 32, "wordx32") for depth in range(2)),
        ("V90", 1, "dword"),
    )
)
START = HEAD.replace(
    ".decl P1",
    f"{DECLARED}.decl V91 v_type=G type=ud num_elts=1 align=dword\n"
    ".decl P4 v_type=P num_elts=32\n.decl P1",
)


class Looping(Writer):
    """Writes random programs of threads that meet, with loops between the meetings."""

    depth = 0

    def some(self) -> str:
        text, rng = super().some(), self.rng
        if self.depth == 2 or rng.random() < 0.4:
            return text
        self.labels += 1
        again, number = f"turn{self.labels}", self.depth
        self.depth += 1
        if rng.random() < 0.6:
            count = f"V7{number}"
            most = rng.choice(("0x3:d", "0x9:d", "0x11:d", "V44(0,0)<0;1,0>"))
            text += (
                f"    mov (M1_NM, 1) {count}(0,0)<1> 0x0:d\n{again}:\n{self.some()}"
                f"    add (M1_NM, 1) {count}(0,0)<1> {count}(0,0)<0;1,0> 0x1:d\n"
                f"    cmp.lt (M1_NM, 1) P3 {count}(0,0)<0;1,0> {most}\n"
                f"    (P3) goto (M1, 1) {again}\n"
            )
        else:
            left = f"V8{number}"
            text += (
                f"    and (M1, 32) {left}(0,0)<1> V41(0,0)<1;1,0> 0xf:ud\n{again}:\n"
                f"{super().some()}"
                f"    add (M1, 32) {left}(0,0)<1> {left}(0,0)<1;1,0> -0x1:d\n"
                f"    cmp.gt (M1, 32) P4 {left}(0,0)<1;1,0> 0x0:d\n"
                f"    (P4) goto (M1, 32) {again}\n"
            )
        self.depth -= 1
        return text

    def program(self) -> str:
        text, rng = super().program(), self.rng
        fault = OUT_OF_RANGE.format(thread=rng.randrange(THREADS))
        return rng.choice((text, text, text, text + fault, fault + text))


@pytest.fixture(autouse=True)
def in_step_at_any_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads go in step even where it gains nothing.

    Object code is not kept: that of other tests has turns of the usual length.
    """
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    monkeypatch.setattr(meetings, "gains", lambda _: True)


def turns_of(monkeypatch: pytest.MonkeyPatch, instructions: int) -> None:
    for module in (running, functions, prologue):
        monkeypatch.setattr(module, "TURN", instructions)


def same(body: str, *, threads: int = THREADS, last: int = 0xFFFF_FFFF) -> Exit:
    """Run a program on both engines and compare them; return how it has ended."""
    kernel = harness.assemble(START + body + TAIL, "pvc")
    traits = KernelCode(kernel.linked, saving=False).traits
    assert traits.way(threads, looks_inside=False) is Way.IN_STEP
    want, expected = run(kernel, kernel.prepared, threads=threads, last=last)
    got, found = run(kernel, jit.Prepared(kernel.linked), threads=threads, last=last, options=ONE)
    assert found == expected
    assert got == want
    return got


def loop(body: str, times: str, label: str = "round") -> str:
    return f"""
    mov (M1_NM, 1) V62(0,0)<1> 0x0:d
{label}:
{body}
    add (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x1:d
    cmp.lt (M1_NM, 1) P3 V62(0,0)<0;1,0> {times}
    (P3) goto (M1, 1) {label}
"""


SHORT, BESIDE = loop("", "0x3:d"), "    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> 0x3:d\n"


@pytest.mark.parametrize(
    ("body", "way"),
    [
        (SHORT + MEET, Way.IN_STEP),
        (loop(BESIDE * 20, "0x3:d") + MEET, Way.STACKED),
        (loop(MEET + BESIDE * 20 + SHORT.replace("V62", "V61"), "0x3:d", "out"), Way.STACKED),
        (loop(MEET, "0x3:d", "out") + SHORT, Way.IN_STEP),
    ],
)
def test_threads_go_in_step_where_that_gains(
    body: str, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    kernel = harness.assemble(START + body + TAIL, "pvc")
    traits = KernelCode(kernel.linked, saving=False).traits
    assert traits.way(THREADS, looks_inside=False) is way


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_do_what_they_do_in_the_interpreter(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns_of(monkeypatch, (7, 60, 400)[seed % 3])
    same(Looping(seed).program(), last=(0xFFFF_FFFF, 0x3FF)[seed % 2])


APPEND = """
    lsc_load.slm (M1_NM, 1)  V90:d32  flat[V91]:a32
    mad (M1_NM, 1) V90(0,0)<1> V90(0,0)<0;1,0> V60(0,0)<0;1,0> V44(0,0)<0;1,0>
    lsc_store.slm (M1_NM, 1)  flat[V91]:a32  V90:d32
"""
EMPTY = "    mov (M1_NM, 1) V60(0,0)<1> 0x1f:d\n    mov (M1_NM, 1) V91(0,0)<1> 0x0:ud\n"
FOUND = "    lsc_load.slm (M1_NM, 1)  V61:d32  flat[V91]:a32\n"
"""Each appends to what all have in common, so the order of their turns shows."""


@pytest.mark.parametrize("turn", [20, TURN])
def test_turns_may_end_where_a_loop_goes_back_to_a_barrier(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns_of(monkeypatch, turn)
    body = loop(APPEND + MEET + APPEND + BESIDE * 20, "0x5:d")
    assert same(EMPTY + body + MEET + FOUND).fault is None


def test_code_looks_whether_turns_are_over_where_loops_have_no_barrier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []
    write = ModuleWriter.write

    def noting(self: ModuleWriter) -> ModuleText:
        written = write(self)
        texts.append(written.text)
        return written

    monkeypatch.setattr(ModuleWriter, "write", noting)
    for body, looks in ((loop(MEET, "0x3:d"), False), (SHORT + MEET, True)):
        assert same(body).fault is None
        assert ("call i32 @pause_carried(" in texts[-1]) is looks


LONG = loop(
    "    mul (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> 0x5:d\n"
    "    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V41(0,0)<1;1,0>\n",
    f"{TURN}:d",
)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_have_turns_one_after_another(threads: int) -> None:
    times = "    mad (M1_NM, 1) V61(0,0)<1> V44(0,0)<0;1,0> V61(0,0)<0;1,0> 0x1:d\n"
    body = EMPTY + "    mov (M1_NM, 1) V61(0,0)<1> 0xbb8:d\n" + times
    body += loop(APPEND, "V61(0,0)<0;1,0>") + MEET + FOUND + MEET
    body += loop(APPEND, "0x7d0:d", "more") + MEET
    assert same(body, threads=threads).fault is None


@pytest.mark.parametrize("behind", ["", MEET, LONG.replace("round", "last")])
def test_a_thread_may_wait_for_what_a_later_one_writes(behind: str) -> None:
    """All but the last thread look for a number that the last one leaves after its long loop."""
    spin = f"""
    mov (M1_NM, 1) V91(0,0)<1> 0x0:ud
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> {THREADS - 1}:d
    (P3) goto (M1, 1) writes
looks:
    add (M1, 32) V52(0,0)<1> V52(0,0)<1;1,0> 0x1:d
    lsc_load.slm (M1_NM, 1)  V90:d32  flat[V91]:a32
    cmp.eq (M1_NM, 1) P3 V90(0,0)<0;1,0> 0x0:d
    (P3) goto (M1, 1) looks
    goto (M1, 1) found
writes:
{LONG}
    mov (M1_NM, 1) V90(0,0)<1> 0x5:d
    lsc_store.slm (M1_NM, 1)  flat[V91]:a32  V90:d32
found:
    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V52(0,0)<1;1,0>
"""
    assert same(MEET + spin + behind + MEET).fault is None


@pytest.mark.parametrize("thread", range(THREADS))
@pytest.mark.parametrize("place", ["in front", "behind", "met"])
def test_faults_are_the_interpreters_where_others_are_aside(thread: int, place: str) -> None:
    fault = OUT_OF_RANGE.format(thread=thread)
    around = {"in front": fault + LONG, "behind": LONG + fault, "met": LONG + MEET + fault}
    ended = same(MEET + around[place] + MEET)
    assert ended.fault is not None
    assert ended.fault.thread == thread


@pytest.mark.parametrize("thread", range(THREADS))
def test_threads_that_wait_for_ever_are_told(thread: int) -> None:
    leaves = f"""
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> {thread}:d
    (P3) goto (M1, 1) leave
"""
    ended = same(MEET + LONG + leaves + MEET + "leave:\n" + LONG.replace("round", "last"))
    assert ended.fault is not None
    assert ended.fault.code == "barrier-deadlock"


FOR_EVER = """
    mov (M1_NM, 1) V91(0,0)<1> 0x0:ud
forever:
    lsc_load.slm (M1_NM, 1)  V90:d32  flat[V91]:a32
    cmp.eq (M1_NM, 1) P3 V90(0,0)<0;1,0> 0x0:d
    (P3) goto (M1, 1) forever
"""


def test_threads_that_look_for_ever_can_be_stopped() -> None:
    kernel = harness.assemble(START + FOR_EVER + MEET + TAIL, "pvc")
    prepared = jit.Prepared(kernel.linked)
    ended, _ = run(kernel, prepared, options=RunOptions(stop=Looks(5), workers=1))
    assert not prepared.last.has_stacks
    assert ended.fault is None
    assert ended.stopped is not None
    assert ended.stopped.category == "cancelled"
    assert ended.threads == THREADS
    assert ended.executed > TURN * THREADS


def test_a_run_after_a_stop_or_an_exception_begins_anew() -> None:
    kernel = harness.assemble(START + MEET + LONG + MEET + TAIL, "pvc")
    want = run(kernel, jit.Prepared(kernel.linked), options=ONE)
    for stop in (Looks(1), Looks(1, ArithmeticError())):
        prepared = jit.Prepared(kernel.linked)
        try:
            ended, _ = run(kernel, prepared, groups=99, options=RunOptions(stop=stop, workers=1))
        except ArithmeticError:
            pass
        else:
            assert ended.stopped is not None
        assert run(kernel, prepared, options=ONE) == want
