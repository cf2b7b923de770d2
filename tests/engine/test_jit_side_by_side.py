"""Two threads side by side between barriers where they only read: the interpreter's bits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.engine import harness
from tests.engine.hardware import LEVELS, use_level
from tests.engine.test_in_step import HEAD, MEET, TAIL, Looks, Writer, run
from visim.engine import jit
from visim.engine.base import RunOptions
from visim.engine.jit.ir.traces import Memory, Tracer
from visim.engine.jit.writing import jamming
from visim.engine.jit.writing.jamming import Jam, Threads
from visim.engine.jit.writing.meeting import Meeting

ONE = """
    mov (M1, 32) V45(0,0)<1> 0x40:ud
    lsc_load.slm (M1, 32)  V53:d32  flat[V45]:a32
"""
"""All threads read the same element."""
OWN = """
    shl (M1, 32) V45(0,0)<1> V44(0,0)<0;1,0> 0x4:d
    lsc_load.slm (M1, 32)  V52:d32  flat[V45]:a32
"""
READ = ONE + OWN
READ_OTHERS = "    lsc_load.slm (M1, 32)  V53:d32  flat[V43]:a32\n"
STORE = "    lsc_store.slm (M1, 32)  flat[V42]:a32  V50:d32\n"


class Reading(Writer):
    """Writes random programs whose threads store to local memory, meet, read, and meet again."""

    def stored(self) -> str:
        return f"    lsc_store.slm (M1, 32)  flat[V42]:a32  {self.vector()}:d32\n"

    def reading(self) -> str:
        rng, a, b = self.rng, self.source(), self.source()
        number = rng.randrange(96)
        return rng.choice(
            [
                ONE.replace("V53", self.vector()),
                OWN.replace("V52", self.vector()),
                f"    shl (M1, 32) V45(0,0)<1> V44(0,0)<0;1,0> {rng.randrange(7)}:d\n"
                f"    lsc_load.slm (M1, 32)  {self.vector()}:d32  flat[V45]:a32\n",
                f"    mov (M1, 32) V45(0,0)<1> {4 * number}:ud\n"
                f"    lsc_load.slm (M1, 32)  {self.vector()}:d32  flat[V45]:a32\n",
                f"    mad (M1, 32) {self.vector()}(0,0)<1> {a} {b} {self.source()}\n",
                f"    add (M1, 32) {self.vector()}(0,0)<1> {a} {b}\n",
                f"    add (M1, 16) {self.vector()}(1,0)<1> {a} {b}\n",
                f"    add (M1_NM, 1) {rng.choice(('V60', 'V61'))}(0,0)<1> V44(0,0)<0;1,0> 0x7:d\n",
                f"    (P1) add (M1, 32) {self.vector()}(0,0)<1> {a} {b}\n",
                f"    cmp.lt (M1, 32) P1 {a} {b}\n",
            ]
        )

    def program(self) -> str:
        text = "".join(
            f"    add (M1, 32) {name}(0,0)<1> V41(0,0)<1;1,0> {number}:d\n"
            for number, name in enumerate(("V50", "V51", "V52", "V53"))
        )
        text += self.stored() + MEET
        text += "    mov (M1_NM, 1) V62(0,0)<1> 0x0:d\nagain:\n"
        for _ in range(self.rng.randrange(1, 4)):
            text += "".join(self.reading() for _ in range(self.rng.randrange(1, 9))) + MEET
            if self.rng.random() < 0.5:
                text += self.stored() + MEET
        text += "    add (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x1:d\n"
        text += "    cmp.lt (M1_NM, 1) P3 V62(0,0)<0;1,0> 0x3:d\n    (P3) goto (M1, 1) again\n"
        return text


@pytest.fixture(autouse=True)
def few_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads that load little go side by side, too."""
    monkeypatch.setattr(jamming, "LEAST_LOADS", 1)


@pytest.fixture
def jams(monkeypatch: pytest.MonkeyPatch) -> list[Jam]:
    """Return a list of the jams that are written."""
    found: list[Jam] = []
    jam = Threads.jam

    def noting(self: Threads, label: str, state: int) -> Jam | None:
        one = jam(self, label, state)
        found.extend([one] if one else [])
        return one

    monkeypatch.setattr(Threads, "jam", noting)
    return found


def same(body: str, threads: int, last: int = 0xFFFF_FFFF) -> str:
    """Run a program on both engines and compare them; return the fault's code."""
    kernel = harness.assemble(HEAD + body + TAIL, "pvc")
    want, expected = run(kernel, kernel.prepared, threads=threads, last=last)
    got, found = run(kernel, jit.Prepared(kernel.linked), threads=threads, last=last)
    assert found == expected
    assert got.fault == want.fault
    assert (got.groups, got.threads, got.executed) == (want.groups, want.threads, want.executed)
    return got.fault.code if got.fault else ""


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_that_read_do_what_they_do_in_the_interpreter(seed: int) -> None:
    same(Reading(seed).program(), threads=2 + seed % 4, last=(0xFFFF_FFFF, 0x3FF)[seed // 4 % 2])


@pytest.mark.parametrize("level", LEVELS)
def test_threads_go_side_by_side_on_every_processor(
    level: str, jams: list[Jam], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_level(level, monkeypatch)
    sums = "    mad (M1, 32) V50(0,0)<1> V53(0,0)<1;1,0> V41(0,0)<1;1,0> V50(0,0)<1;1,0>\n"
    assert same(STORE + MEET + READ + sums + MEET, threads=5) == ""
    assert jams


def test_parts_of_what_a_thread_has_of_its_own_are_its_own(jams: list[Jam]) -> None:
    """Half of a variable is written, and read, behind a pointer of its own."""
    body = "    add (M1, 32) V50(0,0)<1> V41(0,0)<1;1,0> 0x5:d\n" + STORE + MEET + READ
    body += "    add (M1, 16) V50(1,0)<1> V50(1,0)<1;1,0> V52(1,0)<1;1,0>\n" + MEET
    assert same(body, threads=4) == ""
    assert jams


def test_threads_that_write_what_others_may_read_go_one_after_the_other(jams: list[Jam]) -> None:
    """The second thread reads what the first one has stored behind the same barrier."""
    swaps = "    add (M1, 32) V50(0,0)<1> V41(0,0)<1;1,0> 0x5:d\n" + READ_OTHERS + STORE
    assert same(STORE + MEET + swaps + MEET + READ_OTHERS, threads=4) == ""
    assert not jams


@pytest.mark.parametrize("thread", range(4))
def test_where_one_of_two_threads_faults_they_go_one_after_the_other(
    thread: int, jams: list[Jam]
) -> None:
    """Nothing that the other one does is lost, or done twice."""
    leads_away = f"""
    mov (M1, 32) V45(0,0)<1> 0x0:ud
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> {thread}:d
    (!P3) goto (M1, 1) fine
    mov (M1, 32) V45(0,0)<1> 0x100000:ud
fine:
"""
    reads = "    lsc_load.slm (M1, 32)  V53:d32  flat[V45]:a32\n"
    reads += "    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V53(0,0)<1;1,0>\n"
    assert same(leads_away + STORE + MEET + reads + MEET, threads=4)
    assert jams


@pytest.mark.parametrize("thread", range(4))
def test_threads_that_have_met_others_elsewhere_go_one_after_the_other(
    thread: int, jams: list[Jam]
) -> None:
    apart = f"""
    cmp.eq (M1_NM, 1) P3 V44(0,0)<0;1,0> {thread}:d
    (P3) goto (M1, 1) other
    barrier
{READ}    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V53(0,0)<1;1,0>
    barrier
    goto (M1, 1) both
other:
    barrier
{READ}    xor (M1, 32) V50(0,0)<1> V53(0,0)<1;1,0> V41(0,0)<1;1,0>
    barrier
both:
"""
    assert same(STORE + apart + MEET, threads=4) == ""
    assert len(jams) == 2


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_a_launch_is_stopped_where_the_last_two_threads_have_gone_side_by_side(
    threads: int, jams: list[Jam]
) -> None:
    """The thread that has met the others last is the one that is named."""
    turn = f"{MEET}{READ}    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V53(0,0)<1;1,0>\n{MEET}"
    body = f"{STORE}again:\n{turn}    cmp.eq (M1_NM, 1) P3 V62(0,0)<0;1,0> 0x0:d\n"
    body += "    (P3) goto (M1, 1) again\n"
    kernel = harness.assemble(HEAD + body + TAIL, "pvc")
    prepared, lines = jit.Prepared(kernel.linked), set[int | None]()
    for away in (2, 2, 3):  # looks come behind either of the two barriers
        ended, _ = run(kernel, prepared, threads=threads, options=RunOptions(stop=Looks(away)))
        assert ended.fault is None
        assert ended.stopped is not None
        assert (ended.stopped.category, ended.stopped.thread) == ("cancelled", threads - 1)
        lines.add(ended.stopped.line)
    assert len(lines) == 2
    assert jams


@pytest.mark.parametrize(("loads", "go"), [(7, False), (8, True)])
def test_threads_that_load_little_go_one_after_the_other(
    loads: int, go: bool, jams: list[Jam], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jamming, "LEAST_LOADS", 8)
    sums = "    add (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> V53(0,0)<1;1,0>\n"
    assert same(STORE + MEET + (ONE + sums) * loads + MEET, threads=2) == ""
    assert bool(jams) is go


def test_sums_that_leave_too_few_registers_go_one_after_the_other(jams: list[Jam]) -> None:
    registers = 64 * 32  # those of a processor with AVX-512, in bytes; others have less
    names = [f"V{100 + n}" for n in range(registers // 4 // 128 + 1)]
    declared = "".join(f".decl {n} v_type=G type=d num_elts=32 align=wordx32\n" for n in names)
    body = "".join(f"    add (M1, 32) {n}(0,0)<1> V41(0,0)<1;1,0> 0x3:d\n" for n in names)
    body += STORE + MEET + READ + MEET
    for name in names:
        body += f"    xor (M1, 32) V50(0,0)<1> V50(0,0)<1;1,0> {name}(0,0)<1;1,0>\n"
    kernel = harness.assemble(HEAD.replace(".decl P1", declared + ".decl P1") + body + TAIL, "pvc")
    want, expected = run(kernel, kernel.prepared)
    got, found = run(kernel, jit.Prepared(kernel.linked))
    assert (got, found) == (want, expected)
    assert not jams


def test_where_nobody_goes_side_by_side_code_is_as_before() -> None:
    meeting = Meeting()
    assert meeting.jammed(Threads([], [], {}, [], 64), 2048) == ([], [])


# Traces

MEMORY = Memory({"%a", "%b"}, {"%fixed"}, {"%kept"})


def sorted_lines(body: Sequence[str], start: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    trace = Tracer(["from:", *body, "  br label %to"], start, MEMORY).trace("from", "to")
    assert trace is not None
    return [line.text for line in trace.early], [line.text for line in trace.late]


def test_what_needs_no_memory_that_may_change_comes_first() -> None:
    body = [
        "  %v.1 = load i32, ptr %a",
        "  %v.2 = load i32, ptr %v.9",
        "  %v.3 = add i32 %v.1, 1",
        "  %v.4 = add i32 %v.2, %v.3",
        "  %v.5 = load i64, ptr %fixed",
    ]
    early, late = sorted_lines(body)
    assert early == [body[0], body[2], body[4]]
    assert late == [body[1], body[3]]


def test_what_is_written_late_is_read_late() -> None:
    body = [
        "  %v.2 = load i32, ptr %v.9",
        "  store i32 %v.2, ptr %a",
        "  %v.3 = load i32, ptr %a",
        "  %v.4 = load i32, ptr %b",
    ]
    early, late = sorted_lines(body)
    assert early == [body[3]]
    assert late == body[:3]


def test_what_is_read_late_is_not_written_before() -> None:
    body = [
        "  %v.1 = getelementptr i8, ptr %kept, i64 8",
        "  call void @llvm.memcpy.p0.p0.i64(ptr %v.1, ptr %a, i64 4, i1 false)",
        "  store i32 7, ptr %a",
    ]
    early, late = sorted_lines(body)
    assert early == body[:1]
    assert late == body[1:]


def test_of_the_start_only_what_is_needed_comes_along() -> None:
    start = [
        "  store i32 1, ptr %a",
        "  %s.1 = getelementptr i8, ptr %b, i64 4",
        "  %s.2 = add i32 3, 4",
        "  store i32 %s.2, ptr %s.1",
    ]
    early, _ = sorted_lines(["  %v.1 = load i32, ptr %b"], start)
    assert early == [*start[1:], "  %v.1 = load i32, ptr %b"]


@pytest.mark.parametrize(
    "line",
    [
        "  store i32 1, ptr %v.9",
        "  %v.1 = call i32 @somebody()",
        "  call void @somebody(ptr %a)",
        "  %v.1 = load volatile i32, ptr %v.9",
        "  %v.1 = atomicrmw add ptr %v.9, i32 1 seq_cst",
        "  %v.1 = ptrtoint ptr %a to i64",
        "  store ptr %a, ptr %b",
        "  br i1 %v.9, label %from, label %to",
    ],
)
def test_what_others_may_see_or_nobody_knows_is_in_no_trace(line: str) -> None:
    assert Tracer(["from:", line, "  br label %to"], [], MEMORY).trace("from", "to") is None


def test_loops_are_in_no_trace() -> None:
    body = ["from:", "  br label %on", "on:", "  br i1 %v.9, label %on, label %to, !prof !1"]
    assert Tracer(body, [], MEMORY).trace("from", "to") is None


def test_a_test_of_what_is_late_is_in_no_trace() -> None:
    body = [
        "from:",
        "  {}",
        "  br i1 %v.1, label %on, label %off, !prof !1",
        "on:",
        "  br label %to",
    ]
    for code, has_trace in (("load i1, ptr %v.9", False), ("load i1, ptr %fixed", True)):
        lines = [line.format(f"%v.1 = {code}") for line in body]
        assert (Tracer(lines, [], MEMORY).trace("from", "to") is not None) is has_trace
