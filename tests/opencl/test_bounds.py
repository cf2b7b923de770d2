"""Accesses outside of a buffer are faults on every device, however the compiler reaches it."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES
from visim.machine.bounds import Bounds

SOURCE = """
kernel void shift(global int *to, global const int *from, int step) {
    int i = get_global_id(0);
    to[i + step] = from[i] + 1;
}
kernel void count(global int *counts, global const int *which) {
    atomic_inc(counts + which[get_global_id(0)]);
}
kernel void triples(global float *to, constant float *from, int first) {
    float3 found = vload3(first, from);
    to[get_global_id(0)] = found.x + found.y + found.z;
}
kernel void fours(global uint *data, int first) {
    vstore4((uint4)(1, 2, 3, 4), get_global_id(0) + first, data);
}
kernel void bytes(global uchar *data, int first) {
    data[get_global_id(0) + first] = 7;
}
kernel void choose(global int *a, global int *b, global const int *which, int far) {
    int i = get_global_id(0);
    global int *chosen = which[i] ? a : b;
    for (int k = 0; k < 2; k++) {
        chosen[i] += 1;
        chosen += far;
    }
}
"""
ENGINES = ("interpreter", "jit")

pytestmark = pytest.mark.parametrize("device", ALL_DEVICES)


def faults(device, kernel, args, size, **options):
    """Return the fault of a launch on each engine, but for where it is in the host's memory."""
    found = []
    for engine in ENGINES:
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        with pytest.raises(visim.FaultError) as caught:
            built(SOURCE, device)[kernel].launch(given, global_size=size, engine=engine, **options)
        fault = caught.value.fault
        assert (fault.category, fault.code) == ("undefined", "memory-access")
        place = fault.line, fault.group, fault.thread, fault.channel, fault.instruction
        found.append((fault.buffer, fault.distance, fault.size, *place))
    assert found[0] == found[1]
    return found[0][:3]


@pytest.mark.parametrize(("step", "distance"), [(1, 0), (64, 0), (1000, 936 * 4), (-1, -4)])
def test_stores_beside_a_buffer_fault_with_its_name(device, step, distance):
    buffers = [np.zeros(64, np.int32), np.zeros(64, np.int32)]
    assert faults(device, "shift", [*buffers, step], 64) == ("to", distance, 4)


def test_loads_behind_a_buffer_fault_with_its_name(device):
    buffers = [np.zeros(64, np.int32), np.zeros(60, np.int32)]
    assert faults(device, "shift", [*buffers, 0], 64) == ("from", 0, 4)


def test_atomics_behind_a_buffer_fault_and_change_nothing(device):
    which = np.zeros(16, np.int32)
    which[5] = 9
    for engine in ENGINES:
        counts = np.zeros(9, np.int32)
        kernel = built(SOURCE, device)["count"]
        with pytest.raises(visim.FaultError, match="past the end of 'counts'"):
            kernel.launch([counts, which], global_size=16, engine=engine)
        assert counts.tolist() == [0] * 9


def test_vectors_that_only_begin_in_a_buffer_fault(device):
    data = np.zeros(10, np.uint32)
    buffer, distance, size = faults(device, "fours", [data, 0], 3)
    assert (buffer, size) == ("data", 16)
    assert distance == 0


def test_bytes_behind_a_buffer_fault(device):
    assert faults(device, "bytes", [np.zeros(19, np.uint8), 4], 16) == ("data", 0, 1)


def test_what_compilers_read_behind_a_vector_of_three_is_no_fault(device):
    for engine in ENGINES:
        to, values = np.zeros(16, np.float32), np.arange(6, dtype=np.float32)
        kernel = built(SOURCE, device)["triples"]
        report = kernel.launch([to, values, 1], global_size=16, engine=engine)
        assert to.tolist() == [12] * 16
        assert report.dropped_accesses == 0
        with pytest.raises(visim.FaultError, match="past the end of 'from'"):
            kernel.launch([to, values, 2], global_size=16, engine=engine)


def test_the_bounds_of_hardware_are_there_on_request(device):
    for engine in ENGINES:
        to, values = np.zeros(60, np.int32), np.arange(64, dtype=np.int32)
        kernel = built(SOURCE, device)["shift"]
        options = {"global_size": 64, "engine": engine, "bounds": Bounds.HARDWARE}
        if device == "pvc":  # addresses there are flat
            with pytest.raises(visim.FaultError):
                kernel.launch([to, values, 0], **options)
            continue
        report = kernel.launch([to, values, 0], **options)
        assert to.tolist() == list(range(1, 61))
        assert report.dropped_accesses == 4


def test_of_a_sub_buffer_the_rest_of_the_buffer_is_outside(device):
    whole = visim.Buffer(256)
    from_ = np.zeros(64, np.int32)
    for engine in ENGINES:
        with pytest.raises(visim.FaultError) as caught:
            built(SOURCE, device)["shift"].launch(
                [whole[64:192], from_, 0], global_size=64, engine=engine
            )
        assert (caught.value.fault.buffer, caught.value.fault.distance) == ("to", 0)


def test_buffers_beyond_offsets_of_32_bits_need_a_build_option(device):
    large = np.zeros((1 << 32) + 4, np.uint8)
    first = large.size - 1
    option = "-cl-intel-greater-than-4GB-buffer-required"
    if device != "pvc":
        with pytest.raises(visim.ArgumentError, match=f"argument 'data': .*{option}"):
            built(SOURCE, device)["bytes"].launch([large, 0], global_size=1)
    built(SOURCE.replace("int first", "long first"), device, option)["bytes"].launch(
        [large, first], global_size=1
    )
    assert large[first] == 7


@pytest.mark.parametrize("step", [80, -20, 1 << 24])
def test_the_buffer_is_the_one_whose_pointer_it_was_not_the_nearest(device, step):
    room = np.zeros(400, np.int32)
    for engine in ENGINES:
        with pytest.raises(visim.FaultError) as caught:
            built(SOURCE, device)["shift"].launch(
                [room[100:164], room[200:264], step], global_size=1, engine=engine
            )
        fault = caught.value.fault
        assert fault.buffer == "to"
        assert fault.distance == 4 * (step if step < 0 else step - 64)


def test_of_several_pointers_the_nearest_is_named(device):
    room = np.zeros(4000, np.int32)
    a, b, which = room[100:116], room[2000:2016], room[140:156]
    for engine in ENGINES:
        with pytest.raises(visim.FaultError) as caught:
            built(SOURCE, device)["choose"].launch([a, b, which, 36], global_size=16, engine=engine)
        assert caught.value.fault.buffer in {"a", "b"}
        which[:] = 1
        with pytest.raises(visim.FaultError, match="of 'a'"):
            built(SOURCE, device)["choose"].launch([a, b, which, 25], global_size=16, engine=engine)
        which[:] = 0


LOCAL = """
kernel void turned(global int *to, local int *tile) {
    int i = get_local_id(0);
    tile[i] = to[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = tile[get_local_size(0) - 1 - i];
}
"""


def test_local_sizes_that_were_rounded_up_are_noted(device):
    for engine in ENGINES:
        kernel = built(LOCAL, device)["turned"]
        options = {"global_size": 16, "local_size": 16, "engine": engine}
        to = np.arange(16, dtype=np.int32)
        report = kernel.launch([to, visim.Local(64)], **options)
        assert to.tolist() == list(range(15, -1, -1))
        (note,) = report.notes
        assert "'tile': 64 bytes were rounded up to 1024" in note
        assert not kernel.launch([to, visim.Local(2048)], **options).notes
