"""Pipes are memory with a head, which callers fill; what a device's queue needs is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES
from visim.errors import UnsupportedError

HEAD_WORDS = 32
ROOM = 16
SOURCE = """
kernel void send(global const int *from, write_only pipe int p) {
    int value = from[get_global_id(0)];
    write_pipe(p, &value);
}
kernel void receive(global int *to, read_only pipe int p) {
    int value = -1;
    if (read_pipe(p, &value) == 0)
        to[get_global_id(0)] = value;
}
kernel void ask(global uint *found, read_only pipe int p) {
    found[0] = get_pipe_num_packets(p);
    found[1] = get_pipe_max_packets(p);
}
"""
QUEUE = """
kernel void k(global int *to) {
    enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL, ndrange_1D(4),
                   ^{ to[get_global_id(0)] = 1; });
}
"""


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("device", ALL_DEVICES)
def test_what_is_sent_through_a_pipe_is_received(device):
    program = built(SOURCE, device, "-cl-std=CL2.0")
    pipe = np.zeros(HEAD_WORDS + ROOM + 1, np.uint32)
    pipe[0] = ROOM + 1
    sent = np.arange(100, 100 + ROOM, dtype=np.int32)
    program["send"].launch([sent, pipe], global_size=ROOM)
    found = np.zeros(2, np.uint32)
    program["ask"].launch([found, pipe], global_size=1)
    assert found.tolist() == [ROOM, ROOM]
    received = np.zeros(ROOM, np.int32)
    program["receive"].launch([received, pipe], global_size=ROOM)
    assert sorted(received.tolist()) == sent.tolist()
    program["ask"].launch([found, pipe], global_size=1)
    assert found.tolist() == [0, ROOM]


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_a_kernel_that_enqueues_kernels_is_refused_in_words(device):
    kernel = built(QUEUE, device, "-cl-std=CL2.0")["k"]
    with pytest.raises(UnsupportedError, match="device queues"):
        kernel.launch([np.zeros(4, np.int32)], global_size=4)
