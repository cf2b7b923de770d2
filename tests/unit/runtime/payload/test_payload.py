"""The payload of kernels with metadata, byte by byte (visim.runtime.payload.abi and payload)."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import visim
from tests.unit.runtime.kernels import (
    ENQUEUED,
    HEADER,
    BindingTableIndex,
    PayloadArgument,
    PerThreadMemoryBuffer,
    ZeBuilder,
    linked,
    predefined,
    register,
    start_of,
    table,
)
from visim.binary.zebin import PerThreadPayloadArgument, UserAttributes
from visim.errors import UnsupportedError
from visim.runtime.payload.geometry import NDRange
from visim.runtime.payload.layout import PayloadLayout
from visim.runtime.payload.threads import state_register
from visim.target import platform

GROUP_ID_X, R0, HW_ID, SR0 = 3, 7, 12, 13


class TestWhereDataLies:
    @pytest.mark.parametrize(
        ("device", "simd", "base"),
        [
            ("skl", 8, 128),
            ("skl", 16, 128),
            ("skl", 32, 224),
            ("dg2", 16, 128),
            ("pvc", 16, 256),
            ("pvc", 32, 256),
        ],
    )
    def test_the_argument_table_follows_the_local_ids(self, device, simd, base):
        built = ZeBuilder(device, simd, inputs=[("head", "d", 8, base)])
        assert PayloadLayout(built.kernel, built.linked).cross_base == base
        plan = built.plan(global_size=(64, 2), local_size=(16, 2), global_offset=(5, 6, 7))
        head = register(built.linked, start_of(plan), "head")
        assert head == struct.pack("<6I", 5, 6, 7, 16, 2, 1) + bytes(8)

    @pytest.mark.parametrize(
        ("device", "base"), [("dg2", 32), ("pvc", 64), ("skl", 64), ("icllp", 64), ("tgllp", 64)]
    )
    def test_without_local_ids_older_devices_keep_a_register_free(self, device, base):
        built = ZeBuilder(device, ids=False, inputs=[("head", "d", 8, base)])
        plan = built.plan(global_size=64, local_size=16)
        assert register(built.linked, start_of(plan), "head")[12:16] == struct.pack("<I", 16)

    def test_an_input_that_no_entry_explains_is_refused_by_name(self):
        built = ZeBuilder(inputs=[("barrier_buffer", "uq", 1, 256 + 64)])
        with pytest.raises(UnsupportedError, match="barrier_buffer"):
            built.plan(global_size=16)

    @pytest.mark.parametrize("name", ["flat_image_pitch", "sync_buffer"])
    def test_entries_of_other_kinds_are_refused(self, name):
        built = ZeBuilder(payload=(*HEADER, PayloadArgument(name, 32, 4, 0)))
        with pytest.raises(UnsupportedError, match="'k'"):
            built.plan([None], global_size=16)

    def test_a_kernel_that_the_compiler_calls_invalid_is_refused(self):
        built = ZeBuilder(user_attributes=UserAttributes(invalid_kernel="uses what is not there"))
        with pytest.raises(UnsupportedError, match="uses what is not there"):
            built.plan(global_size=16)

    def test_packed_local_ids_of_several_channels_are_refused(self):
        built = ZeBuilder()
        packed = PerThreadPayloadArgument("packed_local_ids", 0, 6)
        built.kernel = replace(built.kernel, per_thread_payload=(packed,))
        with pytest.raises(UnsupportedError, match="packed_local_ids"):
            built.plan(global_size=16)


NUMBERED = """
.version 4.1
.kernel "k"
.decl whole v_type=G type=uq num_elts=2
.decl own v_type=G type=uq num_elts=1 alias=<whole, 8>
.decl named v_type=G type=uq num_elts=1
.decl same v_type=G type=ud num_elts=2 alias=<own, 0>
.decl T6 v_type=T num_elts=1
.input T6 offset=64 size=4
.implicit_UNDEFINED_12 own offset={place} size=8
.function "k_0"
k_0:
    {code}
    ret (M1, 1)
"""


class TestInputsOfTheCompiler:
    """Inputs that metadata leaves out: code for CM declares more of them than it reads."""

    def plan(self, code, place=256 + 64, device="pvc"):
        built = ZeBuilder(device)
        built.linked = linked(NUMBERED.format(place=place, code=code), device)
        return built.plan(global_size=16)

    def test_those_that_are_not_read_are_left_out(self):
        assert self.plan("mov (M1_NM, 1) named(0,0)<1> 0x1:uq")

    @pytest.mark.parametrize("name", ["own", "same", "whole"])
    def test_those_that_are_read_are_refused_also_by_other_names(self, name):
        with pytest.raises(UnsupportedError, match="own"):
            self.plan(f"mov (M1_NM, 1) named(0,0)<1> {name}(0,0)<0;1,0>")

    def test_a_surface_that_is_used_is_refused(self):
        with pytest.raises(UnsupportedError, match="T6"):
            self.plan("oword_ld (1) T6 0x0:ud named.0")


class TestLocalIds:
    def test_grf32_simd32_has_two_registers_for_each_dimension(self):
        places = [("x0", 32), ("x1", 64), ("y0", 96), ("y1", 128), ("z0", 160), ("z1", 192)]
        inputs = [(name, "uw", 16, offset) for name, offset in places]
        built = ZeBuilder("skl", 32, inputs=inputs)
        start = start_of(built.plan(global_size=(8, 8), local_size=(8, 8)), thread=1)
        ids = {
            name: np.frombuffer(register(built.linked, start, name), np.uint16).tolist()
            for name, _ in places
        }
        assert ids["x0"] == ids["x1"] == [0, 1, 2, 3, 4, 5, 6, 7] * 2
        assert ids["y0"] == [4] * 8 + [5] * 8
        assert ids["y1"] == [6] * 8 + [7] * 8
        assert ids["z0"] == ids["z1"] == [0] * 16

    @pytest.mark.parametrize(("device", "grf"), [("skl", 32), ("pvc", 64)])
    def test_threads_of_one_work_item_have_theirs_in_a_row(self, device, grf):
        inputs = [("ids", "uw", grf // 2, grf), ("head", "d", 8, 2 * grf)]
        built = ZeBuilder(device, 16, inputs=inputs, environment={"simd_size": 1})
        packed = PerThreadPayloadArgument("packed_local_ids", 0, 6)
        built.kernel = replace(built.kernel, per_thread_payload=(packed,))
        plan = built.plan(global_size=(3, 2, 4), local_size=(3, 2, 2), global_offset=(5, 6, 7))
        assert plan.parts[0].dispatch.threads(0) == 12
        start = start_of(plan, group=1, thread=11)
        ids = np.frombuffer(register(built.linked, start, "ids"), np.uint16)
        assert ids.tolist() == [2, 1, 1] + [0] * (grf // 2 - 3)
        head = register(built.linked, start, "head")
        assert head == struct.pack("<6I", 5, 6, 7, 3, 2, 2) + bytes(8)
        assert start.mask == 0xFFFF

    def test_simd8_fills_half_a_register(self):
        built = ZeBuilder("skl", 8, inputs=[("x", "uw", 16, 32), ("y", "uw", 16, 64)])
        start = start_of(built.plan(global_size=32, local_size=32), thread=2)
        ids = np.frombuffer(register(built.linked, start, "x"), np.uint16).tolist()
        assert ids == [16, 17, 18, 19, 20, 21, 22, 23] + [0] * 8

    def test_the_order_of_dimensions_is_honoured(self):
        order = {"work_group_walk_order_dimensions": (1, 0, 2)}
        built = ZeBuilder("skl", 8, inputs=[("y", "uw", 16, 64)], environment=order)
        start = start_of(built.plan(global_size=(2, 4), local_size=(2, 4)))
        ids = np.frombuffer(register(built.linked, start, "y"), np.uint16)
        assert ids.tolist() == [0, 1, 2, 3] * 2 + [0] * 8


class TestThreadHeader:
    def test_r0_tells_group_and_thread(self):
        built = ZeBuilder("skl", 8)
        plan = built.plan(global_size=(64, 3, 2), local_size=32)
        start = start_of(plan, group=2 * 2 + 1 + 6, thread=3)
        group = plan.parts[0].dispatch.group_id(11)
        assert group == (1, 2, 1)
        r0 = struct.unpack("<8I", predefined(built.linked, start, R0, 32))
        assert r0 == (0, 1, 3, 0, 0, 3, 2, 1)
        ids = [predefined(built.linked, start, GROUP_ID_X + i, 4) for i in range(3)]
        assert ids == [struct.pack("<I", n) for n in group]
        assert predefined(built.linked, start, HW_ID, 4) == struct.pack("<I", 3)

    def test_r0_has_the_size_of_a_register(self):
        built = ZeBuilder("pvc")
        start = start_of(built.plan(global_size=16))
        (r0,) = [data for place, data in start.registers if place == built.linked.predefined[R0]]
        assert len(r0) == 64

    @pytest.mark.parametrize("number", range(0, 512, 7))
    def test_sr0_is_what_programs_squeeze_the_number_out_of(self, number):
        for device, drop, mask in (("dg2", 1, 0x3FFF), ("pvc", 2, 0x7FFF)):
            value = state_register(platform(device), number) & mask
            value = value & 0x3F | value >> drop & ~0x3F
            value = value & 7 | value >> 1 & ~7
            assert value == number

    def test_sr0_of_thread_45_worked_by_hand(self):
        assert state_register(platform("dg2"), 0b1_01_101) == 0b1_0_01_0_101
        assert state_register(platform("pvc"), 0b1_01_101) == 0b1_00_01_0_101

    def test_the_mask_leaves_out_channels_behind_the_last_item(self):
        built = ZeBuilder("skl", 16)
        plan = built.plan(global_size=40, local_size=40)
        masks = [start_of(plan, thread=t).mask for t in range(plan.parts[0].dispatch.threads(0))]
        assert masks == [0xFFFF, 0xFFFF, 0xFF]
        states = [predefined(built.linked, start_of(plan, thread=t), SR0, 16) for t in range(3)]
        assert [struct.unpack("<4I", state)[2] for state in states] == masks


class TestMemoryOfThreads:
    PRIVATE = PayloadArgument("private_base_stateless", 32, 8)

    def test_each_thread_has_private_memory_of_its_own(self):
        built = ZeBuilder(
            "dg2",
            16,
            payload=(*HEADER, self.PRIVATE),
            inputs=[("base", "uq", 1, 128 + 32)],
            per_thread_memory=[PerThreadMemoryBuffer("global", "private_space", 20, 0, True)],
        )
        plan = built.plan(global_size=96, local_size=48)
        (base,) = struct.unpack("<Q", register(built.linked, start_of(plan), "base"))
        memory = plan.parts[0].machine.memory
        pool = next(one for one in memory.allocations if one.name == "private memory")
        assert (pool.base, pool.size) == (base, 3 * 16 * 20)
        pool.host[:] = 255
        start_of(plan, thread=1)
        assert (pool.host.reshape(3, -1).max(axis=1) == [255, 0, 255]).all()

    def test_without_private_memory_the_base_is_null(self):
        assert table([self.PRIVATE])[32:40] == bytes(8)

    def test_scratch_is_found_through_r0_before_pvc(self):
        per_thread = [
            PerThreadMemoryBuffer("scratch", "spill_fill_space", 4096),
            PerThreadMemoryBuffer("scratch", "single_space", 1500),
        ]
        built = ZeBuilder("skl", 16, per_thread_memory=per_thread)
        plan = built.plan(global_size=64, local_size=64)
        assert plan.parts[0].machine.scratch_bytes == 1500
        bases = []
        for thread in range(4):
            start = start_of(plan, thread=thread)
            r0 = struct.unpack("<8I", predefined(built.linked, start, R0, 32))
            assert r0[5] & ~0x3FF == start.scratch_base
            assert r0[5] & 0x3FF == thread
            bases.append(start.scratch_base)
        assert all(b - a >= 1500 for a, b in pairwise(bases))

    def test_scratch_of_pvc_begins_at_zero(self):
        per_thread = [PerThreadMemoryBuffer("scratch", "single_space", 1500)]
        plan = ZeBuilder("pvc", per_thread_memory=per_thread).plan(global_size=64, local_size=64)
        assert [start_of(plan, thread=t).scratch_base for t in range(4)] == [0] * 4

    def test_the_printf_buffer_has_the_size_that_programs_know(self):
        entry = PayloadArgument("printf_buffer", 32, 8)
        built = ZeBuilder(payload=(*HEADER, entry), inputs=[("p", "uq", 1, 256 + 32)])
        plan = built.plan(global_size=16)
        (address,) = struct.unpack("<Q", register(built.linked, start_of(plan), "p"))
        assert plan.printf is not None
        assert (plan.printf.ctypes.data, plan.printf.size) == (address, 4 << 20)

    def test_stack_functions_find_their_implicit_arguments(self):
        built = ZeBuilder("dg2", 8, environment={"has_stack_calls": True})
        plan = built.plan(global_size=(20, 2), local_size=(16, 1), global_offset=(3, 4, 5))
        machine = plan.parts[1].machine
        found = bytes(machine.implicit_arguments)
        assert len(found) == 96
        assert found[:4] == bytes([96, 0, 2, 8])
        assert struct.unpack_from("<3I", found, 4) == (4, 1, 1)
        assert struct.unpack_from("<3QQ3Q", found, 16) == (20, 2, 1, 0, 3, 4, 5)
        assert struct.unpack_from("<3I", found, 80) == (2, 2, 1)
        (where,) = struct.unpack_from("<Q", found, 72)
        ids = plan.parts[1].machine.memory.load_block(where, 16 * 6).view(np.uint16)
        assert ids[:16].tolist() == [0, 1, 2, 3, 0, 1, 2, 3] + [0] * 8
        r0 = predefined(built.linked, start_of(plan, part=1), R0, 4)
        assert struct.unpack("<I", r0)[0] == machine.implicit_base

    def test_other_kernels_have_no_implicit_arguments(self):
        plan = ZeBuilder("dg2", 8).plan(global_size=8)
        assert plan.parts[0].machine.implicit_arguments is None


DEVICES = st.sampled_from([("skl", 8), ("skl", 16), ("tgllp", 32), ("pvc", 16), ("pvc", 32)])
_BUILT: dict = {}


def id_reader(device, simd):
    """A kernel whose variables are the header, the full local size and all local ids."""
    if (device, simd) not in _BUILT:
        grf = platform(device).grf_bytes
        slot = 32 if grf == 32 and simd <= 16 else 64
        inputs = [(axis, "uw", slot // 2, grf + slot * i) for i, axis in enumerate("xyz")]
        base = grf + 3 * slot
        inputs += [("head", "ud", 8, base), ("full", "ud", 3, base + 32)]
        _BUILT[device, simd] = ZeBuilder(device, simd, payload=(*HEADER, ENQUEUED), inputs=inputs)
    return _BUILT[device, simd]


def global_ids(built, start, simd):
    """The global ids that a program computes for the channels that are on."""
    head = struct.unpack("<8I", register(built.linked, start, "head"))
    full = struct.unpack("<3I", register(built.linked, start, "full"))
    group = [
        struct.unpack("<I", predefined(built.linked, start, GROUP_ID_X + i, 4))[0] for i in range(3)
    ]
    local = [np.frombuffer(register(built.linked, start, axis), np.uint16) for axis in "xyz"]
    for channel in range(simd):
        if start.mask >> channel & 1:
            ids = [int(local[d][channel]) for d in range(3)]
            assert all(i < size for i, size in zip(ids, head[3:6], strict=True))
            yield tuple(head[d] + group[d] * full[d] + ids[d] for d in range(3))


@settings(deadline=None, max_examples=60)
@given(
    DEVICES,
    st.tuples(*[st.integers(1, 9)] * 3),
    st.tuples(*[st.integers(1, 6)] * 3),
    st.tuples(*[st.integers(0, 3)] * 3),
)
def test_every_work_item_runs_once_with_its_global_id(kind, extent, local, offset):
    device, simd = kind
    built = id_reader(device, simd)
    plan = built.plan(global_size=extent, local_size=local, global_offset=offset)
    found = []
    for part in plan.parts:
        for group in range(part.dispatch.group_count):
            for thread in range(part.dispatch.threads(group)):
                start = part.dispatch.start(group, thread)
                found += global_ids(built, start, simd)
    wanted = [tuple(np.add(item, offset).tolist()) for item in np.ndindex(*extent)]
    assert sorted(found) == sorted(wanted)
    assert len(plan.parts) == len(NDRange(extent, local, offset, 3).walks)
    assert math.prod(extent) == len(found)


class TestStatesInMemory:
    """Bindless arguments get the place of their state: 64 bytes a surface, 16 a sampler."""

    PAYLOAD = (
        *HEADER,
        PayloadArgument("arg_bypointer", 24, 4, 0, "bindless", "global", "readwrite"),
        PayloadArgument("arg_bypointer", 28, 4, 1, "bindless", "image", "readonly"),
        PayloadArgument("arg_bypointer", 32, 4, 2, "bindless", "sampler"),
    )
    INPUTS = (("a", "ud", 1, 152), ("b", "ud", 1, 156), ("c", "ud", 1, 160))

    def test_buffers_images_and_samplers(self):
        built = ZeBuilder("skl", 16, payload=self.PAYLOAD, inputs=self.INPUTS)
        array, picture = np.zeros(4, np.int32), np.zeros((2, 2), np.float32)
        given = [array, visim.Image(picture), visim.Sampler()]
        plan = built.plan(given, global_size=16)
        offsets = [
            int.from_bytes(register(built.linked, start_of(plan), name), "little") for name in "abc"
        ]
        assert offsets == [64 * 239, 64 * 238, 16 * 0]
        assert (239 in plan.surfaces, 238 in plan.surfaces) == (True, True)
        assert plan.surfaces.has_sampler(0)

    def test_indices_that_the_kernel_names_stay_free(self):
        table = (BindingTableIndex(239, 3),)
        payload = (*self.PAYLOAD, PayloadArgument("arg_bypointer", 36, 0, 3, "stateful", "global"))
        built = ZeBuilder("skl", 16, payload=payload, inputs=self.INPUTS, binding_table=table)
        array = np.zeros(4, np.int32)
        given = [array, visim.Image(np.zeros((2, 2), np.float32)), visim.Sampler(), array]
        start = start_of(built.plan(given, global_size=16))
        found = register(built.linked, start, "a")
        assert int.from_bytes(found, "little") == 64 * 238
