"""One thread alone, preset `igc`, against the timelines of today's compiler."""

from __future__ import annotations

import json

import pytest

from tests.toolchains import installed_ocloc
from tools.finalizer import compare
from tools.finalizer.compare import Comparison, believed, seen_latencies, timelines
from tools.finalizer.schedules import UnreadError
from tools.finalizer.today import INDIRECT, schedule

TILES = """
__attribute__((intel_reqd_sub_group_size(WIDTH)))
kernel void tiles(global float *a, local float *s, int n)
{
    int i = get_local_id(0);
    s[i] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = i;
    for (int j = 0; j < n; j++)
        x = as_int(s[as_int(s[x])]);
    a[get_global_id(0)] = native_sin(as_float(x));
}
"""
MESSAGES = """\
   0      [0]I0L4E0P93 _main:,
   4   shl[1]I1L4E0P33     shl (32)             r16.0<1>:d  r1.0<1;1,0>:d  0x2:w // $1:&1:,
  17 sends[2]I2L4E17P12     sends.slm (32)       r23:f r16 null 0x0:ud 0x4200500:ud // $2:&2: // \
$2:&2:; load.slm.d32.a32 flat[A]; dstLen=2, src0Len=2, src1Len=0,
  62   add[3]I3L4E62P17     add (32)             r30.0<1>:f  r23.0<1;1,0>:f  0x1:f // $3:&3:,
"""


@pytest.fixture(scope="module")
def tiles(tmp_path_factory):
    file = tmp_path_factory.mktemp("today") / "tiles.cl"
    file.write_text(TILES, encoding="utf-8")
    return file


@pytest.mark.parametrize(("arch", "width", "local"), [("arl", 16, 28), ("bmg", 32, 45)])
def test_the_compiler_expects_what_the_model_does(tiles, arch, width, local):
    found = Comparison()
    for text in timelines(installed_ocloc(), tiles, arch, f"-DWIDTH={width}"):
        compare.compare(text, believed(arch), found)
    assert found.equal == found.blocks >= 4
    seen = {tuple(row[:2]): row[2:4] for row in found.to_dict()["latencies"]}
    assert seen["message.slm.load", width] == [local, local]


def test_a_message_says_what_it_does_and_what_it_touches():
    machine = believed("bmg")
    items = list(schedule(MESSAGES, 200, 64))
    assert [item.cycle for item in items] == list(compare.modelled(items, machine)) == [4, 17, 62]
    kinds = [native.kind for native, _ in seen_latencies(items, machine)]
    assert kinds == ["logic", "message.slm.load"]


def test_what_an_address_register_points_at_is_not_guessed():
    line = "   4   mov[1]I1L1E0P3     mov (8)   r4.0<1>:d  r[a0.0, 0]<1;1,0>:d // $1:&1:, "
    with pytest.raises(UnreadError, match=INDIRECT):
        list(schedule(line, 200, 64))


def test_results_are_of_all_devices_with_a_table_of_todays_finalizer():
    results = json.loads(compare.RESULTS.read_text(encoding="utf-8"))
    assert tuple(results["devices"]) == compare.ARCHITECTURES
    for name, found in results["devices"].items():
        assert found["equal"] > 0.95 * found["blocks"], name
