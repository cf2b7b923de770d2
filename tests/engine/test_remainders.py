"""Loops that find 64-bit remainders bit by bit leave the same on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from visim.engine.base import RunOptions
from visim.engine.jit.writing.bits import BitwiseWriter

from . import harness
from .both import compare
from .harness import Threads

HEAD = """.version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=32 align=wordx32
.decl V41 v_type=G type=uq num_elts=32 align=wordx32
.decl V42 v_type=G type=q num_elts=32 align=wordx32
.decl V43 v_type=G type=d num_elts=1 align=dword
.decl V44 v_type=G type=d num_elts=1 align=dword
.decl V45 v_type=G type=q num_elts=32 align=wordx32
.decl V46 v_type=G type=ud num_elts=64 align=wordx32 alias=<V45, 0>
.decl V47 v_type=G type=ud num_elts=32 align=wordx32
.decl V48 v_type=G type=ud num_elts=32 align=wordx32
.decl V49 v_type=G type=q num_elts=1 align=qword
.decl V50 v_type=G type=ud num_elts=1 align=dword alias=<V43, 0>
.decl V51 v_type=G type=q num_elts=32 align=wordx32
.decl V52 v_type=G type=ud num_elts=64 align=wordx32 alias=<V51, 0>
.decl V53 v_type=G type=ud num_elts=32 align=wordx32
.decl V54 v_type=G type=q num_elts=32 align=wordx32
.decl V55 v_type=G type=ud num_elts=64 align=wordx32 alias=<V54, 0>
.decl V56 v_type=G type=ud num_elts=64 align=wordx32 alias=<V41, 0>
.decl V57 v_type=G type=q num_elts=32 align=wordx32
.decl V58 v_type=G type=ud num_elts=64 align=wordx32 alias=<V57, 0>
.decl V59 v_type=G type=ud num_elts=64 align=wordx32
.decl V60 v_type=G type=ud num_elts=32 align=wordx32
.decl V61 v_type=G type=uq num_elts=1 align=qword
.decl V62 v_type=G type=ud num_elts=1 align=dword
.decl V63 v_type=G type=ud num_elts=1 align=dword
.decl V64 v_type=G type=uq num_elts=1 align=qword
.decl V65 v_type=G type=ud num_elts=1 align=dword
.decl V66 v_type=G type=d num_elts=32 align=wordx32 alias=<V53, 0>
.decl V67 v_type=G type=d num_elts=64 align=wordx32 alias=<V41, 0>
.decl P1 v_type=P num_elts=32
.decl P2 v_type=P num_elts=32
.decl P3 v_type=P num_elts=32
.kernel_attr SimdSize=32
.function "k"
k:
"""
START = """
    mov (M1_NM, 1) V43(0,0)<1> 0x3f:d
    mov (M1, 32) V42(0,0)<1> 0x0:q
"""
DOUBLED = """
again:
    shl (M1, 32) V45(0,0)<1> V42(0,0)<1;1,0> 0x1:q
    mov (M1, 16) V47(0,0)<1> V46(0,0)<2;1,0>
    mov (M5, 16) V47(1,0)<1> V46(2,0)<2;1,0>
    mov (M1, 16) V48(0,0)<1> V46(0,1)<2;1,0>
    mov (M5, 16) V48(1,0)<1> V46(2,1)<2;1,0>
    mov (M1_NM, 1) V49(0,0)<1> V50(0,0)<0;1,0>
    shr (M1, 32) V51(0,0)<1> V40(0,0)<1;1,0> V49(0,0)<0;1,0>
    bfn.xf8 (M1, 32) V53(0,0)<1> V52(0,0)<2;1,0> V44(0,0)<0;1,0> V47(0,0)<1;1,0>
    mov (M1, 32) V55(0,0)<2> V53(0,0)<1;1,0>
    mov (M1, 32) V55(0,1)<2> V48(0,0)<1;1,0>
"""
TAKEN = """
    cmp.lt (M1, 32) P1 V53(0,0)<1;1,0> V56(0,0)<2;1,0>
    cmp.eq (M1, 32) P2 V48(0,0)<1;1,0> V56(0,1)<2;1,0>
    and (M1, 32) P2 P2 P1
    cmp.lt (M1, 32) P3 V48(0,0)<1;1,0> V56(0,1)<2;1,0>
    or (M1, 32) P3 P3 P2
    (P3) sel (M1, 32) V58(0,0)<2> 0x0:ud V56(0,0)<2;1,0>
    (P3) sel (M1, 32) V58(0,1)<2> 0x0:ud V56(0,1)<2;1,0>
"""
SMALL = """
    cmp.lt (M1, 32) P1 V53(0,0)<1;1,0> V60(0,0)<1;1,0>
    cmp.eq (M1, 32) P2 V48(0,0)<1;1,0> 0x0:ud
    and (M1, 32) P2 P2 P1
    (P2) sel (M1, 32) V58(0,0)<2> 0x0:ud V60(0,0)<1;1,0>
    mov (M1, 32) V58(0,1)<2> 0x0:ud
"""
END = """
    add (M1, 32) V42(0,0)<1> V54(0,0)<1;1,0> (-)V57(0,0)<1;1,0>
    cmp.eq (M1_NM, 32) P3 V43(0,0)<0;1,0> 0x0:d
    (P3) goto (M1, 1) done
    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0xffffffff:w
    goto (M1, 1) again
done:
"""
TURNED_ROUND = """
    add (M1, 32) V42(0,0)<1> V54(0,0)<1;1,0> (-)V57(0,0)<1;1,0>
    cmp.eq (M1_NM, 32) P3 V43(0,0)<0;1,0> 0x0:d
    (!P3) goto (M1, 1) down
    mov (M1_NM, 1) V62(0,0)<1> 0x7:ud
    goto (M1, 1) done
down:
    add (M1_NM, 1) V43(0,0)<1> V43(0,0)<0;1,0> 0xffffffff:w
    goto (M1, 1) again
done:
"""
LOOP = START + DOUBLED + TAKEN + END
LOOPS = {
    "64 bits": LOOP,
    "32 bits": START + DOUBLED + SMALL + END,
    "with the end in the middle": START + DOUBLED + TAKEN + TURNED_ROUND,
    "by one divisor": LOOP.replace("V56(0,0)<2;1,0>", "V56(0,0)<0;1,0>").replace(
        "V56(0,1)<2;1,0>", "V56(0,1)<0;1,0>"
    ),
    "less one channel's divisor": LOOP.replace("0x0:ud V56(0,0)<2;1,0>", "0x0:ud V56(0,0)<0;1,0>"),
    "from another bit on": LOOP.replace("0x3f:d", "0x14:d"),
    "from a bit that is not there on": LOOP.replace("0x3f:d", "0x61:d"),
    "of a rest that is none": LOOP.replace("V42(0,0)<1> 0x0:q", "V42(0,0)<1> V41(0,0)<1;1,0>"),
    "of the lower bits": LOOP.replace("0x3f:d", "0x1f:d").replace(
        "V42(0,0)<1> 0x0:q", "V42(0,0)<1> 0x3:q"
    ),
}
"""What starts as a division or not, which only the running program knows."""
OTHERS = {
    "tripled": LOOP.replace("0x1:q", "0x2:q"),
    "too much left": LOOP.replace("cmp.lt (M1, 32) P3", "cmp.le (M1, 32) P3"),
    "signed": LOOP.replace("P1 V53(0,0)<1;1,0> V56", "P1 V66(0,0)<1;1,0> V67"),
    "another bit": LOOP.replace("V40(0,0)<1;1,0> V49", "V40(0,0)<1;1,0> V44"),
    "two steps down": LOOP.replace("0xffffffff:w", "0xfffffffe:w").replace(
        "cmp.eq (M1_NM, 32) P3", "cmp.lt (M1_NM, 32) P3"
    ),
    "a number that changes": LOOP.replace(
        "again:", "again:\n    add (M1, 32) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:uw"
    ),
    "a divisor that changes": LOOP.replace(
        "    and (M1, 32) P2", "    mov (M1, 1) V56(0,0)<1> 0x5:ud\n    and (M1, 32) P2"
    ),
    "a count of turns": LOOP.replace(
        "again:", "again:\n    add (M1, 32) V60(0,0)<1> V60(0,0)<1;1,0> 0x1:ud"
    ),
    "a count by numbers of each channel": LOOP.replace(
        "again:", "again:\n    add (M1, 8) V60(0,0)<1> V60(0,0)<1;1,0> 0x76543210:uv"
    ),
    "some channels": LOOP.replace(
        "    add (M1, 32) V42(0,0)<1> V54", "    (P1) add (M1, 32) V42(0,0)<1> V54"
    ),
    "a count of channel 0": LOOP.replace("add (M1_NM, 1) V43", "add (M1, 1) V43"),
    "halves": LOOP.replace("mov (M5, 16) V48", "mov (M1, 16) V48"),
}


def kernel_of(loop: str) -> harness.Kernel:
    return harness.assemble(f"{HEAD}{loop}    ret (M1, 1)\n", "pvc")


def values(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, d = rng.integers(0, 1 << 64, (2, 32), dtype=np.uint64) >> rng.integers(
        0, 64, (2, 32), dtype=np.uint64
    )
    edges = np.array([0, 1, 2, 3, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    n[:12], d[:12] = rng.choice(edges, 12), rng.choice(edges, 12)
    found = {"V40": n, "V41": d, "V44": np.array([1], np.int32)}
    found["V60"] = d.astype(np.uint32)
    for name in ("V42", "V45", "V51", "V54", "V57"):
        found[name] = rng.integers(0, 1 << 60, 32, dtype=np.int64)
    for name in ("V47", "V48", "V53"):
        found[name] = rng.integers(0, 1 << 32, 32, dtype=np.uint32)
    return found | {"V43": np.zeros(1, np.int32), "V49": np.zeros(1, np.int64)}


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[BitwiseWriter]:
    """The loops whose turns may be left out."""
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    found: list[BitwiseWriter] = []
    write = BitwiseWriter.write

    def noted(self: BitwiseWriter) -> None:
        found.append(self)
        write(self)

    monkeypatch.setattr(BitwiseWriter, "write", noted)
    return found


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x8001F00F])
@pytest.mark.parametrize("loop", LOOPS)
def test_rests_and_counts_of_instructions_are_those_of_the_loop(
    loops: list[BitwiseWriter], loop: str, mask: int
) -> None:
    kernel = kernel_of(LOOPS[loop])
    for seed in range(3):
        assert compare(kernel, values(seed), mask) is None
    assert len(loops) == 3


def test_remainders_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["jit"])
    given = values(7)
    found = kernel_of(LOOP).run(given)["V42"].view(np.uint64)
    for rest, n, d in zip(
        found.tolist(), given["V40"].tolist(), given["V41"].tolist(), strict=True
    ):
        assert rest == (n % d if d else n)


@pytest.mark.parametrize("bits", [0, 2, 3, 0x80000001])
def test_what_is_added_for_a_bit_has_to_be_one(loops: list[BitwiseWriter], bits: int) -> None:
    given = values(5) | {"V44": np.array([bits], np.uint32).view(np.int32)}
    assert compare(kernel_of(LOOP), given, 0xFFFFFFFF) is None
    assert loops


@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_division_stays(loops: list[BitwiseWriter], other: str) -> None:
    assert OTHERS[other] != LOOP
    assert compare(kernel_of(OTHERS[other]), values(9), 0xFFFFFFFF) is None
    assert not loops


def in_turns(loop: str) -> str:
    """Return code of threads that write their numbers behind those of others when they divide."""
    body = f"""
    next:
    {loop}
    lsc_load.ugm (M1_NM, 1) V62:d32 flat[V61]:a64
    add (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x1:ud
    lsc_store.ugm (M1_NM, 1) flat[V61]:a64 V62:d32
    shl (M1_NM, 1) V62(0,0)<1> V62(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) V64(0,0)<1> V61(0,0)<0;1,0> V62(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[V64]:a64 V63:d32
    add (M1_NM, 1) V65(0,0)<1> V65(0,0)<0;1,0> 0xffffffff:ud
    cmp.gt (M1_NM, 32) P1 V65(0,0)<0;1,0> 0x0:ud
    (P1) goto (M1, 1) next
    """
    return "\n".join(harness.body_lines(body)) + "\n"


def log_of_turns(kernel: harness.Kernel, given: dict[str, np.ndarray]) -> list[int]:
    """Return how many instructions three threads executed, and the log that they wrote."""
    log = np.zeros(100, np.uint32)
    numbers = Threads([np.array([number], np.uint32) for number in (7, 8, 9)])
    start = given | {"V63": numbers, "V65": np.array([23], np.uint32)}
    ended = kernel.run(start, buffers={"V61": log}).exit
    assert ended.fault is None
    assert log[0] == 69
    return [ended.executed, *log.tolist()]


def test_threads_have_their_turns_when_the_interpreter_gives_them(
    loops: list[BitwiseWriter], monkeypatch: pytest.MonkeyPatch
) -> None:
    logs: list[list[int]] = []
    for engine in ("interpreter", "jit"):
        monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES[engine])
        logs.append(log_of_turns(kernel_of(in_turns(LOOP)), values(1)))
    assert logs[0] == logs[1]
    assert len(loops) == 1


@pytest.mark.parametrize("budget", [100, 1407, 1408])
def test_a_budget_ends_a_loop_where_the_interpreter_ends_it(
    loops: list[BitwiseWriter], budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[tuple[str | None, int]] = []
    for engine in ("interpreter", "jit"):
        monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES[engine])
        ended = kernel_of(LOOP).run(values(2), options=RunOptions(budget=budget)).exit
        ends.append((ended.fault and ended.fault.message, ended.executed))
    assert ends[0] == ends[1]
    assert not loops
