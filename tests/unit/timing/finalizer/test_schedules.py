"""One thread alone, preset `igc`, against the timelines that Intel's finalizer makes.

GenX_IR schedules each block and writes down in which cycle it expects each instruction; given its
order, the model has to expect the same cycles, of one thread and of several that share a core.
"""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import visim
from tests.unit.timing.finalizer.tool import compiled
from tests.unit.timing.programs import kernel, multiply_add
from tools.finalizer.schedules import messages, schedule
from visim.timing import find_machine
from visim.timing.genx import PLATFORMS
from visim.timing.single import SingleThread

ROOT = Path(__file__).parents[4]
PROGRAMS = [
    ("tests/corpus/scale_skl.zebin", "skl"),
    ("examples/mandelbrot/mandelbrot.zebin", "pvc"),
    ("examples/swirl/swirl.zebin", "tgl"),
    ("tests/corpus/scale_pvc.zebin", "pvc"),
]
THREADS = {"bdw": 7, "skl": 7, "icl": 7, "tgl": 7, "dg2": 8, "pvc": 8}
COISSUED = 2
"""Instructions that the tool believes a core to start at once."""

pytestmark = pytest.mark.skipif(
    shutil.which("GenX_IR") is None, reason="GenX_IR is not installed (libigc-tools)"
)


def timelines(unit, arch, *options, hidden=Fraction(1)):
    """Return the cycles of each block's instructions: the model's and the tool's."""
    machine = find_machine(arch, "igc")
    written = compiled(unit, PLATFORMS[arch], *options)
    known = messages(written.listing)
    found = []
    for text in written.timelines:
        items = list(schedule(text, known, machine.native.version, machine.native.grf_bytes))
        thread = SingleThread(machine, time=items[0].cycle if items else 0, hidden=hidden)
        cycles = []
        for item in items:
            cycles.append(thread.issue(item.native))
            if item.is_barrier:
                thread.forget(item.awaited)
        found.append((cycles, [item.cycle for item in items]))
    return found


def loop(platform):
    """A loop that sums up what it loads."""
    declarations = [
        ".decl V90 v_type=G type=d num_elts=1 align=dword",
        ".decl V91 v_type=G type=uq num_elts=16 align=GRF",
        ".decl V92 v_type=G type=f num_elts=16 align=GRF",
        ".decl P1 v_type=P num_elts=1",
    ]
    load = "svm_gather.4.1 (M1, 16) V91.0 V92.0"
    if platform == "pvc":
        load = "lsc_load.ugm (M1, 16)  V92:d32  flat[V91]:a64"
    body = [
        "mov (M1_NM, 1) V90(0,0)<1> 0x0:d",
        "top:",
        load,
        "add (M1, 16) V32(0,0)<1> V32(0,0)<1;1,0> V92(0,0)<1;1,0>",
        "inv (M1, 16) V33(0,0)<1> V32(0,0)<1;1,0>",
        "add (M1_NM, 1) V90(0,0)<1> V90(0,0)<0;1,0> 0x1:d",
        "cmp.lt (M1_NM, 1) P1 V90(0,0)<0;1,0> 0x8:d",
        "(P1) jmp (M1_NM, 1) top",
    ]
    return kernel(body, simd=16, platform=platform, declarations=declarations)._linked.kernel


def own_platform(arch):
    return "pvc" if arch == "pvc" else "skl"


@pytest.mark.parametrize("arch", PLATFORMS)
@pytest.mark.parametrize("threads", [1, None])
def test_loops_are_expected_in_the_same_cycles(arch, threads):
    """Alone with the options that say so, and with the latencies that several threads share."""
    options = ["-dontUseMultiThreadedLatencies"] if threads else []
    hidden = Fraction(1) if threads else Fraction(THREADS[arch], COISSUED)
    for model, tool in timelines(loop(own_platform(arch)), arch, *options, hidden=hidden):
        assert model == tool


@pytest.mark.parametrize(("file", "arch"), PROGRAMS)
def test_blocks_of_compiled_kernels_are_expected_in_the_same_cycles(file, arch):
    program = visim.load(ROOT / file)
    for entry in program.kernels:
        blocks = timelines(entry._linked.kernel, arch, "-dontUseMultiThreadedLatencies")
        assert sum(len(tool) for _, tool in blocks) > 10
        for model, tool in blocks:
            assert model == tool


@pytest.mark.parametrize("arch", PLATFORMS)
def test_dependent_multiply_adds_are_as_far_apart_as_the_tool_puts_them(arch):
    body = [multiply_add(32, 32, 33, 34, simd=16)] * 8
    unit = kernel(body, simd=16, platform=own_platform(arch))._linked.kernel
    latency, occupied = (14, 4) if arch in {"bdw", "skl", "icl"} else (10, 2)
    for options, hidden in (
        (["-dontUseMultiThreadedLatencies"], Fraction(1)),
        ([], Fraction(THREADS[arch], COISSUED)),
    ):
        (model, tool) = timelines(unit, arch, *options, hidden=hidden)[-1]
        assert model == tool
        assert tool[7] - tool[0] == 7 * max(occupied, int(latency / hidden))


def test_a_load_on_ponte_vecchio_is_used_after_200_cycles_or_50_of_eight_threads():
    for options, hidden, expected in (
        (["-dontUseMultiThreadedLatencies"], Fraction(1), 200),
        ([], Fraction(8, COISSUED), 50),
    ):
        cycles, _ = timelines(loop("pvc"), "pvc", *options, hidden=hidden)[1]
        assert expected in [after - cycles[0] for after in cycles[1:]]
