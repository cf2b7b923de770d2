"""Native instructions from GenX_IR's listing, and how far the legaliser's are from them."""

from __future__ import annotations

import itertools
import shutil
import subprocess

import pytest

from tests.unit.timing.programs import chain, kernel, multiply_add
from visim.errors import ArgumentError, ToolMissing, UnsupportedError
from visim.timing import Timing, find_machine
from visim.timing.genx import listing_of, native_program
from visim.timing.native import FLAG_0, SIGNAL, WAIT
from visim.timing.single import SingleThread

needs_tool = pytest.mark.skipif(
    shutil.which("GenX_IR") is None, reason="GenX_IR is not installed (libigc-tools)"
)

LISTING = """\
//.kernel k
_main:
(W)  or (1|M0)  cr0.0<1>:ud  cr0.0<0;1,0>:ud  0x4C0:uw  {Switch} // $0
        add (16|M0)  r4.0<1>:d  r3.0<0;1,0>:d  r86.0<8;8,1>:d  {Compacted} // $1
        mad (8|M8)  r6.0<1>:f  r8.0<8;1>:f  r66.0<8;1>:f  r2.0<1>:f {BC=1} // $1
        math.inv (8|M0)  r9.0<1>:f  r10.0<8;8,1>:f // $1
(W)  cmp (16|M16)  (lt)f1.0  null<1>:d  r85.0<0;1,0>:ud  0x2:uw // $2
(~f1.0) goto (32|M0)  _0_015  _0_015 // $3
        sends (16|M0)  null:w  r82  r86  0x8A  0x040301FE // wr:2+1, rd:0; x // $4
(W)  send (1|M0)  null  r90  0x3  0x02000004 // wr:1+0, rd:0; signal barrier // $5
(W)  wait  n0.0<0;1,0>:ud // $5
        load.ugm.d32.a64 (16|M0)  r20:2  [r16:4]  {A@1,$3} // ex_desc:0x0 // $4
(W)  send (8|M0)  null  r127  0x27  0x02000010 {EOT} // wr:1+0, rd:0; end of thread // $6
"""


def read(listing=LISTING):
    body = [
        "mov (M1, 8) V40(0,0)<1> V32(0,0)<1;1,0>",
        "mov (M1, 8) V41(0,0)<1> V32(0,0)<1;1,0>",
        "mov (M1, 8) V42(0,0)<1> V32(0,0)<1;1,0>",
        "mov (M1, 8) V43(0,0)<1> V32(0,0)<1;1,0>",
        "svm_gather.4.1 (M1, 8) V60.0 V44.0",
        "barrier",
    ]
    declarations = [".decl V60 v_type=G type=uq num_elts=8 align=GRF"]
    program = kernel(body, declarations=declarations)
    return native_program(program._linked, find_machine("skl"), listing)


def test_a_listing_gives_opcodes_channels_and_classes():
    found = read().instructions
    assert [(item.opcode, item.size, item.group, item.kind) for item in found] == [
        ("or", 1, 0, "control"),
        ("add", 16, 0, "alu"),
        ("mad", 8, 8, "mad.float"),
        ("math.inv", 8, 0, "math.inv"),
        ("cmp", 16, 16, "alu"),
        ("goto", 32, 0, "branch"),
        ("sends", 16, 0, "message.flat.load"),
        ("send", 1, 0, "message.barrier"),
        ("wait", 1, 0, "sync"),
        ("load.ugm.d32.a64", 16, 0, "message.flat.load"),
        ("send", 8, 0, "message.eot"),
    ]


def test_a_listing_gives_registers_flags_conflicts_and_sizes():
    found = read().instructions
    assert (found[1].writes, found[1].sources, found[1].bytes) == ((4, 5), ((3,), (86, 87)), 8)
    assert (found[2].writes, found[2].sc, found[2].sources[1]) == ((6,), 1, (66,))
    assert found[4].writes == (FLAG_0 + 6, FLAG_0 + 7)
    assert set(found[5].reads) == {FLAG_0 + 4 + byte for byte in range(4)}
    assert found[6].payload == (82, 83, 86)
    assert (found[7].effect, found[8].effect) == (SIGNAL, WAIT)
    assert (found[9].writes, found[9].payload) == ((20, 21), (16, 17, 18, 19))


def test_statements_named_out_of_order_count_for_the_first_that_follows():
    assert [item.pc for item in read().instructions] == [0, 1, 1, 1, 2, 3, 4, 4, 4, 4, 6]


@needs_tool
@pytest.mark.parametrize("arch", ["bdw", "skl", "icl", "tgl", "dg2", "pvc"])
def test_simple_kernels_have_as_many_instructions_as_the_tool_makes(arch):
    platform = "pvc" if arch == "pvc" else "skl"
    timing = Timing(arch, native="genx")
    body = [multiply_add(40 + i, 32 + i, 33, 34) for i in range(8)]
    kernel(body, platform=platform).launch([], thread_groups=2, observers=[timing])
    result = timing.result
    counts = result.static_counts
    assert abs(counts["legaliser"] - counts["genx"]) <= 1, "the tool ends such threads by a return"
    assert result.native_error == counts["legaliser"] / counts["genx"] - 1
    assert sum(result.stalls.values()) == result.cycles * result.slots
    assert "differ by" in str(result)


@needs_tool
def test_both_ways_give_similar_times_of_a_chain():
    cycles = []
    for native in ("legaliser", "genx"):
        timing = Timing("skl", native=native, parameters={"memory": 0})
        chain(30).launch([], thread_groups=1, observers=[timing])
        cycles.append(timing.result.cycles)
    assert cycles[0] == pytest.approx(cycles[1], abs=12)


def test_generations_that_the_tool_does_not_know_are_refused():
    with pytest.raises(UnsupportedError, match="GenX_IR knows no snb"):
        listing_of(chain(1)._linked, find_machine("snb"))


@needs_tool
def test_a_kernel_that_the_tool_refuses_names_its_instruction():
    newer = kernel(["lsc_load.ugm (M1, 8) V60:d32 flat[V60]:a32"], platform="pvc", declarations=[
        ".decl V60 v_type=G type=ud num_elts=8 align=GRF"
    ])  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"not supported on this platform: lsc_load\.ugm"):
        listing_of(newer._linked, find_machine("skl"))


@needs_tool
def test_a_tool_that_does_not_end_is_given_up(monkeypatch):
    def run(words, *, timeout, **options):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(UnsupportedError, match="did not finish within 60 seconds"):
        listing_of(chain(1)._linked, find_machine("skl"))


def test_a_missing_tool_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolMissing, match="libigc-tools"):
        listing_of(chain(1)._linked, find_machine("skl"))


def test_an_unknown_way_is_refused():
    with pytest.raises(ArgumentError, match="native is one of legaliser, genx"):
        Timing("skl", native="iga")


@pytest.mark.parametrize(
    ("arch", "distance"), [("bdw", 14), ("skl", 14), ("icl", 14), ("tgl", 10), ("dg2", 10)]
)
def test_chains_issue_at_the_distances_of_the_finalizers_schedule(arch, distance):
    """GenX_IR's own timelines of dependent multiply-adds for one thread (-dumpSchedule)."""
    body = [multiply_add(32, 32, 32, 32, simd=16)] * 8
    program = kernel(body, simd=16)
    timing = Timing(arch, preset="igc")
    program.launch([], thread_groups=1, observers=[timing])
    thread = SingleThread(timing.machine)
    begins = [thread.issue(item) for item in timing.result.program.instructions[:8]]
    assert [b - a for a, b in itertools.pairwise(begins)] == [distance] * 7
