"""What the sanitizer of bounds says, and that the run goes on."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built

SOURCE = """
kernel void shift(global int *to, global const int *from, int step) {
    int i = get_global_id(0);
    to[i + step] = from[i] + 1;
}
kernel void read(global int *to, global const int *from, int step) {
    int i = get_global_id(0);
    to[i] = from[i + step];
}
kernel void fours(global float4 *to, global const float4 *from, int step) {
    int i = get_global_id(0);
    to[i] = from[i + step] * 2;
}
kernel void chosen(global int *a, global int *b, int which, int step) {
    global int *found = which & 1 ? a : b;
    found[get_global_id(0) + step] = 1;
}
kernel void tiles(global int *to, local int *t, local int *u, int step) {
    int l = get_local_id(0);
    u[l] = 2 * l;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l + step] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    to[l] = u[l];
}
kernel void through(global int *to, global const ulong *pointers) {
    global int *found = (global int *)pointers[0];
    found[get_global_id(0)] = 7;
    to[get_global_id(0)] = 1;
}
__attribute__((intel_reqd_sub_group_size(16)))
kernel void blocks(global uint *to, global const uint *from, int step) {
    uint4 v = intel_sub_group_block_read4(from + 64 * get_group_id(0) + step);
    intel_sub_group_block_write4(to + 64 * get_group_id(0), v + 1);
}
"""
ENGINES = ("interpreter", "jit")

pytestmark = pytest.mark.parametrize("device", ["pvc", "tgllp", "bmg"])


def found(device, kernel, args, size=16, **options):
    """Return the findings of a launch, which are the same on both engines, and the arrays."""
    results = []
    for engine in ENGINES:
        given = [a.copy() if isinstance(a, np.ndarray) and a.base is None else a for a in args]
        report = built(SOURCE, device)[kernel].launch(
            given, global_size=size, engine=engine, sanitize="bounds", **options
        )
        results.append((report.findings, given))
    assert results[0][0] == results[1][0]
    return results[1]


def only(findings):
    (finding,) = findings
    assert finding.severity == "error"
    return finding.kind, finding.buffer, finding.count, finding.message


def test_a_write_that_is_not_in_its_buffer_is_not_done(device):
    room = np.zeros(64, np.int32)
    findings, _ = found(device, "shift", [room[:16], np.zeros(16, np.int32), 1])
    kind, buffer, count, message = only(findings)
    assert (kind, buffer, count) == ("oob-write", "to", 1)
    assert message == ("work-item (15, 0, 0) writes to[16] of 16 (4 bytes, 0 bytes past its end)")
    assert room.tolist() == [0] + [1] * 15 + [0] * 48
    assert findings[0].places[0].text == "to[i + step] = from[i] + 1;"
    assert findings[0].actors[0].work_item == (15, 0, 0)


def test_a_read_that_is_not_in_its_buffer_gives_0(device):
    findings, (to, *_) = found(
        device, "read", [np.zeros(16, np.int32), np.arange(1, 16, dtype=np.int32), 0]
    )
    kind, buffer, count, message = only(findings)
    assert (kind, buffer, count) == ("oob-read", "from", 1)
    assert "reads from[15] of 15" in message
    assert to.tolist() == [*range(1, 16), 0]


def test_the_neighbour_is_named_into_which_an_access_goes(device):
    room = np.zeros(32, np.int32)
    findings, _ = found(device, "shift", [room[:16], room[16:], 4])
    assert only(findings)[3] == (
        "work-item (12, 0, 0) writes to[16] of 16 (4 bytes, 0 bytes past its end), "
        "which is in 'from'"
    )
    findings, _ = found(device, "shift", [room[16:], room[:16], -3])
    assert (
        "writes to[-3] of 16 (4 bytes, 12 bytes before its start), which is in 'from'"
        in (only(findings)[3])
    )


def test_of_a_sub_buffer_the_rest_of_the_buffer_is_outside(device):
    whole = visim.Buffer(256)
    findings, _ = found(device, "shift", [whole[64:128], np.zeros(16, np.int32), 4])
    kind, buffer, count, message = only(findings)
    assert (kind, buffer, count) == ("oob-sub-buffer", "to", 4)
    assert message.endswith("in the buffer that it is part of")


def test_vectors_count_by_their_elements(device):
    given = np.zeros((16, 4), np.float32)
    findings, _ = found(device, "fours", [given, given.copy(), 3])
    kind, buffer, count, message = only(findings)
    assert (kind, buffer, count) == ("oob-read", "from", 3)
    assert "from[16] of 16 (16 bytes" in message


def test_of_two_pointers_either_is_right(device):
    room = np.zeros(200, np.int32)
    a, b = room[:16], room[100:116]
    assert found(device, "chosen", [a, b, 1, 0])[0] == ()
    kind, buffer, count, _ = only(found(device, "chosen", [a, b, 0, 1 << 20])[0])
    assert (kind, count) == ("oob-write", 16)
    assert buffer == "b"  # the nearer one


def test_local_arguments_are_apart(device):
    args = [np.zeros(16, np.int32), visim.Local(64), visim.Local(64)]
    assert found(device, "tiles", [*args, 0])[0] == ()
    findings, (to, *_) = found(device, "tiles", [*args, 1])
    kind, buffer, count, message = only(findings)
    assert (kind, buffer, count) == ("oob-local", "t", 1)
    assert message.endswith("writes t[16] of 16 (4 bytes, 0 bytes past its end), which is in 'u'")
    assert to.tolist() == list(range(0, 32, 2))
    assert "t[40] of 16" in only(found(device, "tiles", [*args, 40])[0])[3]


def test_a_pointer_that_was_loaded_may_point_to_anything(device):
    to, other = np.zeros(16, np.int32), np.zeros(16, np.int32)
    pointers = np.array([other.ctypes.data, 0], np.uint64)
    for engine in ENGINES:
        other[:] = 0
        report = built(SOURCE, device)["through"].launch(
            [to, pointers],
            global_size=16,
            surfaces={200: other},
            engine=engine,
            sanitize="bounds",
        )
        assert report.findings == ()
        assert other.tolist() == [7] * 16


def test_blocks_end_where_their_buffer_ends(device):
    to, given = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    assert found(device, "blocks", [to, given, 0])[0] == ()
    kind, buffer, _, message = only(found(device, "blocks", [to, given, 4])[0])
    assert (kind, buffer) == ("oob-read", "from")
    assert "from[64] of 64" in message


def test_a_null_pointer_is_called_so(device):
    if device == "tgllp":
        pytest.skip("its surface is not bound, which is a fault")
    args = [None, np.zeros(16, np.int32), 0]
    kind, buffer, count, message = only(found(device, "shift", args)[0])
    assert (kind, buffer, count) == ("oob-write", "to", 16)
    assert message.endswith("writes 4 bytes of 'to', which is a null pointer or empty")


WINDOW = """
kernel void window(global int *to, constant int *weights, int n) {
    int sum = 0;
    for (int k = 0; k < 25; k++) sum += weights[k] * (k + n);
    to[get_global_id(0)] = sum + get_global_id(0);
}
"""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("have", [25, 24])
def test_of_blocks_only_what_is_read_has_to_be_there(device, engine, have):
    weights, to = np.arange(1, have + 1, dtype=np.int32), np.zeros(16, np.int32)
    report = built(WINDOW, device)["window"].launch(
        [to, weights, np.int32(2)], global_size=16, engine=engine, sanitize="bounds"
    )
    assert {one.kind for one in report.findings} == ({"oob-read"} if have < 25 else set())
    if have == 25:
        wanted = sum(int(one) * (k + 2) for k, one in enumerate(weights))
        assert to.tolist() == [wanted + i for i in range(16)]
