"""Media thread spaces: coordinates, order and what is refused."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import visim
from tests.unit.runtime.kernels import linked, predefined, text_with
from visim.engine.schedule import PATTERNS, ZIGZAG, depends_on
from visim.errors import ArgumentError
from visim.runtime.payload import bare
from visim.runtime.payload.geometry import Sizes, thread_space
from visim.runtime.payload.threads import Tables
from visim.target import platform

pytestmark = pytest.mark.usefixtures("each_engine")

R0, THREAD_X, THREAD_Y, COLOR = 7, 1, 2, 17

HEAD = """\
.version 4.1
.kernel "k"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl width v_type=G type=ud num_elts=1 align=dword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl n v_type=G type=ud num_elts=1 align=dword
.decl place v_type=G type=ud num_elts=1 align=dword
.decl value v_type=G type=ud num_elts=1 align=dword
.input out offset=64 size=8
.input width offset=72 size=4
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    mul (M1_NM, 1) place(0,0)<1> %thread_y(0,0)<0;1,0> width(0,0)<0;1,0>
    add (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> %thread_x(0,0)<0;1,0>
"""
# The next number of the counter out[0] goes to out[1 + place].
TICKET = """\
    svm_atomic.inc (M1_NM, 1) out.0 n.0 %null.0 %null.0
    add (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> 0x1:ud
    shl (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) at(0,0)<1> out(0,0)<0;1,0> place(0,0)<0;1,0>
    svm_scatter.4.1 (M1_NM, 1) at.0 n.0
    ret (M1, 1)
"""
SIZES = [(1, 1), (1, 9), (9, 1), (5, 4), (33, 17)]
VECTORS = ((-1, 2), (-1, 0), (0, -1))


def order_of(width, height, dependency, **options):
    """When each thread has run, as [y][x]."""
    kernel = visim.assemble(HEAD + TICKET, platform="skl").kernels[0]
    out = np.zeros(1 + width * height, np.uint32)
    report = kernel.launch(
        [out, width], thread_space=(width, height), dependency=dependency, **options
    )
    assert report.threads == report.groups == width * height == out[0]
    assert sorted(out[1:]) == list(range(width * height))
    return out[1:].reshape(height, width), report


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dependency", [*PATTERNS, VECTORS])
def test_no_thread_starts_before_those_it_depends_on(dependency, size, seed):
    check_order(size, dependency, seed)


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("size", [(2, 2), (2, 6), (34, 18)])
def test_zigzag_respects_the_parities(size, seed):
    check_order(size, ZIGZAG, seed)


def check_order(size, dependency, seed):
    width, height = size
    given = dependency if isinstance(dependency, str) else list(dependency)
    order, _ = order_of(width, height, given, seed=seed, workers=4)
    for y in range(height):
        for x in range(width):
            for dx, dy in depends_on(dependency, x, y):
                if 0 <= x + dx < width and 0 <= y + dy < height:
                    assert order[y + dy, x + dx] < order[y, x]


def test_a_seed_permutes_threads_that_do_not_depend_on_each_other():
    first, second = (order_of(8, 8, "vertical", seed=seed)[0] for seed in (0, 3))
    assert first[:, 0].tolist() == list(range(8))
    assert sorted(second[:, 0]) == list(range(8))
    assert (first != second).any()


def test_the_report_has_the_geometry():
    _, report = order_of(4, 2, [(-1, 0)])
    assert report.geometry == {"thread_space": [4, 2], "dependency": [[-1, 0]]}
    assert "thread space 4x2" in str(report)
    json.dumps(report.to_dict())
    _, report = order_of(4, 2, "wavefront")
    assert "dependency wavefront" in str(report)


@pytest.mark.parametrize(
    ("device", "shift"), [("bdw", 16), ("skl", 16), ("icllp", 12), ("pvc", 12)]
)
def test_registers_tell_where_a_thread_is(device, shift):
    kernel = linked(text_with([]), device)
    geometry = thread_space(Sizes(thread_space=(40, 30)), platform(device))
    plan = bare.prepare(bare.BareLayout(kernel), [], geometry, Tables({}, {}))
    dispatch = plan.parts[0].dispatch
    assert dispatch.group_count == 1200
    start = dispatch.start(29 * 40 + 38, 0)
    assert dispatch.group_id(29 * 40 + 38) == (38, 29, 0)
    words = struct.unpack("<8I", predefined(kernel, start, R0, 32))
    assert words[1] == 38 | 29 << shift
    assert words[2] & 0xF == 0
    position = [predefined(kernel, start, index, 2) for index in (THREAD_X, THREAD_Y, COLOR)]
    assert [struct.unpack("<H", data)[0] for data in position] == [38, 29, 0]


POSITION_HEAD = """\
.decl found v_type=G type=ud num_elts=4 align=GRF
.decl header v_type=G type=ud num_elts=1 align=dword
.decl ARG v_type=G type=d num_elts=8 align=wordx32 alias=<%arg, 0>
.input header offset=4 size=4
"""
# What a thread finds goes to out[16 * place].
POSITION = """\
    shl (M1_NM, 1) place(0,0)<1> place(0,0)<0;1,0> 0x4:ud
    add (M1_NM, 1) at(0,0)<1> out(0,0)<0;1,0> place(0,0)<0;1,0>
    mov (M1_NM, 1) found(0,0)<1> %r0(0,1)<0;1,0>
    mov (M1_NM, 1) found(0,1)<1> %group_id_x(0,0)<0;1,0>
    mov (M1_NM, 1) value(0,0)<1> %thread_y(0,0)<0;1,0>
    shl (M1_NM, 1) value(0,0)<1> value(0,0)<0;1,0> 0x10:ud
    add (M1_NM, 1) found(0,2)<1> value(0,0)<0;1,0> %thread_x(0,0)<0;1,0>
    shl (M1_NM, 1) found(0,3)<1> %color(0,0)<0;1,0> 0x1:ud
    add (M1_NM, 1) found(0,3)<1> found(0,3)<0;1,0> header(0,0)<0;1,0>
"""
STORE = "    svm_block_st (1) at(0,0)<0;1,0> found.0\n"
RETURN = "    ret (M1, 1)\n"
CALL = """\
    mov (M1, 8) ARG(0,0)<1> 0x3:d
    fcall (M1, 8) down 1 1
"""
FUNCTION = """\
.global_function "down"
.funcdecl "down"
.decl ARG v_type=G type=d num_elts=8 align=wordx32 alias=<%arg, 0>
.decl P1 v_type=P num_elts=8
.function "down_0"
down_0:
    cmp.le (M1, 8) P1 ARG(0,0)<1;1,0> 0x1:d
    (P1) fret (M1, 8)
    add (M1, 8) ARG(0,0)<1> ARG(0,0)<1;1,0> -0x1:d
    fcall (M1, 8) down 1 1
    fret (M1, 8)
"""
"""It calls itself as often as its argument says: such kernels have threads on stacks."""


@pytest.mark.parametrize("dependency", ["none", "wavefront", [(-1, 0)]])
@pytest.mark.parametrize(
    "end", [STORE + RETURN, CALL + STORE + RETURN + FUNCTION], ids=["alone", "calls"]
)
@pytest.mark.parametrize(("device", "shift"), [("skl", 16), ("tgllp", 12)])
def test_threads_find_where_they_are(device, shift, end, dependency):
    head = HEAD.replace(".input out", POSITION_HEAD + ".input out")
    kernel = visim.assemble(head + POSITION + end, platform=device).kernels[0]
    width, height = 37, 19
    out = np.zeros((height, width, 4), np.uint32)
    bound = kernel.bind([out, width], thread_space=(width, height), dependency=dependency)
    for _ in range(2):
        out[:] = 0
        assert bound().threads == width * height
        y, x = np.mgrid[:height, :width]
        assert (out[..., [0, 1, 3]] == (x | y << shift)[..., None]).all()
        assert (out[..., 2] == (x | y << 16)).all()


def test_wait_belongs_to_thread_spaces_and_barriers_to_groups():
    head = HEAD.replace(".input out offset=64 size=8\n", "").replace(
        ".input width offset=72 size=4\n", ""
    )
    waiting = visim.assemble(head + "    wait 0x3:ub\n    ret (M1, 1)\n", platform="skl")["k"]
    assert waiting.launch([], thread_space=(3, 3), dependency="wavefront").threads == 9
    with pytest.raises(ArgumentError, match=r"'wait'.*thread_space"):
        waiting.launch([], thread_groups=2)
    for instruction in ("barrier", "sbarrier.signal", "nbarrier.wait 0x0:ub"):
        kernel = visim.assemble(head + f"    {instruction}\n    ret (M1, 1)\n", platform="pvc")["k"]
        with pytest.raises(ArgumentError, match="thread_groups and group_size"):
            kernel.launch([], thread_space=(3, 3))
