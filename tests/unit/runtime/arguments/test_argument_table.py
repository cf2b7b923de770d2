"""Where arguments of zebins lie in the payload, and what a kernel asks for."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import visim
from tests.unit.runtime.kernels import (
    HEADER,
    ArgInfo,
    BindingTableIndex,
    PayloadArgument,
    ZeBuilder,
    register,
    start_of,
    table,
)
from visim.errors import ArgumentError
from visim.runtime.arguments.buffers import Buffer, Local
from visim.runtime.arguments.parameters import parameters

GROUP_ID_X, R0, HW_ID, SR0 = 3, 7, 12, 13


class TestArgumentTable:
    def test_sizes(self):
        names = ["global_size", "group_count", "enqueued_local_size", "local_size"]
        payload = [PayloadArgument(name, 32 + 12 * i, 12) for i, name in enumerate(names)]
        payload.append(PayloadArgument("work_dimensions", 80, 4))
        found = table(payload, size=96, global_size=(64, 6), local_size=(16, 2))
        values = struct.unpack("<13I", found[32:84])
        assert values == (64, 6, 1, 4, 3, 1, 16, 2, 1, 16, 2, 1, 2)

    def test_a_char_takes_one_byte_of_its_four(self):
        entry = PayloadArgument("arg_byvalue", 32, 4, 0)
        info = ArgInfo(0, "__private", "NONE", "char;1", "NONE")
        assert table([entry], [-1], args_info=[info])[32:40] == b"\xff" + bytes(7)

    def test_a_struct_is_taken_apart_by_source_offset(self):
        entries = [
            PayloadArgument("arg_byvalue", 32, 4, 0, source_offset=8),
            PayloadArgument("arg_byvalue", 40, 8, 0, source_offset=0),
        ]
        info = ArgInfo(0, "__private", "NONE", "struct S;12", "NONE")
        found = table(entries, [b"abcdefghijkl"], args_info=[info])
        assert found[32:48] == b"ijkl" + bytes(4) + b"abcdefgh"

    def test_memory_is_its_address_and_null_is_zero(self):
        array, buffer = np.zeros(4), Buffer(16)
        payload = [
            PayloadArgument("arg_bypointer", 32 + 8 * i, 8, i, "stateless", "global", "readonly")
            for i in range(3)
        ]
        found = struct.unpack("<3Q", table(payload, [array, buffer, None])[32:56])
        assert found == (array.ctypes.data, buffer.address, 0)

    def test_local_arguments_follow_one_another_from_zero(self):
        payload = [
            PayloadArgument("arg_bypointer", 32, 8, 0, "slm", "local", slm_alignment=4),
            PayloadArgument("arg_bypointer", 40, 8, 1, "slm", "local", slm_alignment=1),
            PayloadArgument("arg_bypointer", 48, 8, 2, "slm", "local", slm_alignment=16),
        ]
        found = struct.unpack("<3Q", table(payload, [Local(10), Local(3), Local(1)])[32:56])
        assert found == (0, 10, 16)

    def test_local_memory_adds_to_the_kernels_own(self):
        payload = [*HEADER, PayloadArgument("arg_bypointer", 32, 8, 0, "slm", "local")]
        built = ZeBuilder(payload=payload, environment={"slm_size": 32})
        plan = built.plan([Local(1025)], global_size=16)
        assert plan.parts[0].dispatch.slm_bytes == 32 + 2048
        with pytest.raises(ArgumentError, match="'arg0'"):
            built.plan([Local(128 * 1024)], global_size=16)
        for value in (None, 64, np.zeros(4)):
            with pytest.raises(ArgumentError, match="'arg0'"):
                built.plan([value], global_size=16)

    def test_a_surface_begins_at_an_aligned_address(self):
        payload = (
            *HEADER,
            PayloadArgument("arg_bypointer", 0, 0, 0, "stateful", "global", "readwrite"),
            PayloadArgument("buffer_address", 32, 8, 0),
            PayloadArgument("buffer_offset", 40, 4, 0),
        )
        built = ZeBuilder(
            "skl",
            payload=payload,
            inputs=[("t", "ub", 64, 128)],
            binding_table=[BindingTableIndex(5, 0)],
        )
        whole = np.arange(16, dtype=np.uint8)
        plan = built.plan([whole[3:]], global_size=16)
        found = register(built.linked, start_of(plan), "t")
        address = whole.ctypes.data + 3
        assert found[32:44] == struct.pack("<QI", address, address % 4)
        skipped = address % 4
        surface = plan.surfaces[5]
        assert surface.size == 13 + skipped
        one = surface.load(np.array([skipped], np.uint32), None, np.dtype(np.uint8))
        assert one.tolist() == [3]
        surface.store(np.array([skipped], np.uint32), None, np.array([77], np.uint8))
        assert whole[3] == 77

    def test_a_read_only_array_stays_so_as_a_surface(self):
        entry = PayloadArgument("arg_bypointer", 0, 0, 0, "stateful", "global", "readonly")
        built = ZeBuilder(payload=(*HEADER, entry), binding_table=[BindingTableIndex(0, 0)])
        whole = np.zeros(8, np.uint8)
        whole.flags.writeable = False
        plan = built.plan([whole[1:]], global_size=16)
        assert not plan.surfaces[0].allocations[0].writable

    def test_an_argument_that_is_written_must_not_be_read_only(self):
        entry = PayloadArgument("arg_bypointer", 32, 8, 0, "stateless", "global", "readwrite")
        info = ArgInfo(0, "__global", "NONE", "int*;8", "NONE", "out")
        array = np.zeros(4, np.int32)
        array.flags.writeable = False
        with pytest.raises(ArgumentError, match="'out'"):
            table([entry], [array], args_info=[info])

    def test_surfaces_of_the_caller_do_not_replace_those_of_arguments(self):
        entry = PayloadArgument("arg_bypointer", 0, 0, 0, "stateful", "global", "readonly")
        built = ZeBuilder(payload=(*HEADER, entry), binding_table=[BindingTableIndex(2, 0)])
        array = np.zeros(4)
        plan = built.plan([array], global_size=16, surfaces={3: array})
        assert 3 in plan.surfaces
        with pytest.raises(ArgumentError, match="index 2"):
            built.plan([array], global_size=16, surfaces={2: array})


class TestParameters:
    def test_they_are_described_as_the_source_spells_them(self):
        info = [
            ArgInfo(0, "__global", "NONE", "float*;8", "const", "x"),
            ArgInfo(1, "__private", "NONE", "float3;16", "NONE", "v"),
            ArgInfo(2, "__local", "NONE", "int*;8", "NONE", "l"),
            ArgInfo(3, "__read_only", "__read_only", "image2d_t;8", "NONE", "i"),
            ArgInfo(4, "__private", "NONE", "sampler_t;8", "NONE", "s"),
        ]
        built = ZeBuilder(args_info=info)
        found = [(p.name, p.kind, p.size, p.type_name) for p in parameters(built.kernel)]
        assert found == [
            ("x", "buffer", 8, "float*"),
            ("v", "value", 16, "float3"),
            ("l", "local", None, "int*"),
            ("i", "image", 8, "image2d_t"),
            ("s", "sampler", 8, "sampler_t"),
        ]

    def test_without_names_they_are_numbered(self):
        payload = (
            *HEADER,
            PayloadArgument("arg_bypointer", 32, 8, 0, "stateless", "constant", "readonly"),
            PayloadArgument("arg_byvalue", 40, 8, 1, source_offset=4),
            PayloadArgument("arg_bypointer", 48, 8, 2, "slm", "local"),
        )
        found = [(p.name, p.kind, p.size) for p in parameters(ZeBuilder(payload=payload).kernel)]
        assert found == [("arg0", "buffer", 8), ("arg1", "value", 12), ("arg2", "local", None)]

    @pytest.mark.parametrize("space", ["image", "sampler"])
    def test_what_is_no_image_or_sampler_is_refused_by_name(self, space):
        entry = PayloadArgument("arg_bypointer", 0, 0, 0, "stateful", space, "readonly")
        with pytest.raises(ArgumentError, match=rf"'arg0': expected visim\.{space.title()}"):
            ZeBuilder(payload=(*HEADER, entry)).plan([None], global_size=16)

    def test_what_a_kernel_asks_of_images_and_samplers_is_in_the_payload(self):
        asked = {"image_width": 5, "image_height": 4, "image_channel_order": 0x10B5}
        asked |= {"image_channel_data_type": 0x10D2, "image_num_mip_levels": 0}
        told = {"sampler_address": 1, "sampler_normalized": 8, "sampler_snap_wa": 0xFFFFFFFF}
        kinds = [(name, 0) for name in asked] + [(name, 1) for name in told]
        payload = [
            PayloadArgument("arg_bypointer", 0, 0, 0, "stateful", "image", "readonly"),
            PayloadArgument("arg_bypointer", 0, 0, 1, "stateful", "sampler", sampler_index=0),
            *(PayloadArgument(n, 32 + 4 * i, 4, of) for i, (n, of) in enumerate(kinds)),
        ]
        built = ZeBuilder(payload=(*HEADER, *payload), inputs=[("told", "ud", 8, 256 + 32)])
        image = visim.Image(np.zeros((4, 5, 4), np.uint8), format="unorm8")
        sampler = visim.Sampler(address="clamp", normalized=True)
        plan = built.plan([image, sampler], global_size=16)
        found = struct.unpack("<8I", register(built.linked, start_of(plan), "told"))
        assert found == (*asked.values(), *told.values())
