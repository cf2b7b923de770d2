"""Launches of kernels without metadata (visim.runtime.payload.bare)."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.runtime.kernels import image_bytes, linked, predefined, register, text_with
from visim.errors import ArgumentError, UnsupportedError
from visim.runtime.arguments.buffers import Buffer
from visim.runtime.arguments.images import Image
from visim.runtime.payload import bare
from visim.runtime.payload.geometry import Sizes, bare_geometry
from visim.runtime.payload.threads import Tables

R0 = 7
HEAD = '.version 4.1\n.kernel "k"\n'
BODY = '.kernel_attr SimdSize=8\n.function "k_0"\n\nk_0:\n    ret (M1, 1)\n'


class Launched:
    """A kernel text launched with arguments, without an engine."""

    def __init__(self, text, args=(), *, device="skl", surfaces=None, **sizes):
        self.kernel = linked(text, device)
        layout = bare.BareLayout(self.kernel)
        grf = self.kernel.platform.grf_bytes
        self.parameters = bare.parameters(self.kernel.kernel, grf)
        assert len(self.parameters) == len(args)
        geometry = bare_geometry(Sizes(**sizes), self.kernel.platform)
        self.plan = bare.prepare(layout, list(args), geometry, Tables(surfaces or {}, {}))
        self.dispatch = self.plan.parts[0].dispatch

    def register(self, name, group=0, thread=0):
        return register(self.kernel, self.dispatch.start(group, thread), name)

    def surfaces_of(self, name, count=1):
        start = self.dispatch.start(0, 0)
        place = self.kernel.units[0].others[name]
        return struct.unpack(f"<{count}I", image_bytes(start, place, 4 * count))


class TestArguments:
    def test_they_come_in_the_order_of_declaration(self):
        inputs = [("late", "d", 1, 96), ("early", "d", 1, 64)]
        found = Launched(text_with(inputs), [1, 2])
        assert [p.name for p in found.parameters] == ["late", "early"]
        assert found.register("late") == struct.pack("<i", 1)
        assert found.register("early") == struct.pack("<i", 2)

    def test_they_are_described_by_their_declarations(self):
        inputs = [("p", "uq", 1, 64), ("q2", "uq", 2, 96), ("x", "f", 1, 128), ("m", "ub", 16, 160)]
        found = bare.parameters(linked(text_with(inputs), "skl").kernel, 32)
        assert [(p.name, p.kind, p.size, p.type_name) for p in found] == [
            ("p", "buffer", 8, "uq"),
            ("q2", "value", 16, "uq[2]"),
            ("x", "value", 4, "f"),
            ("m", "value", 16, "ub[16]"),
        ]

    def test_a_quadword_takes_memory_null_or_a_number(self):
        text = text_with([("p", "uq", 1, 64)])
        array, buffer = np.zeros(4), Buffer(4)
        for value, number in (
            (array, array.ctypes.data),
            (buffer, buffer.address),
            (None, 0),
            (2**64 - 1, 2**64 - 1),
            (np.uint64(5), 5),
        ):
            found = Launched(text, [value])
            assert found.register("p") == struct.pack("<Q", number)
        signed = Launched(text_with([("p", "q", 1, 64)]), [-2])
        assert signed.register("p") == struct.pack("<q", -2)

    def test_memory_keeps_the_arguments_name(self):
        found = Launched(text_with([("p", "uq", 1, 64)]), [np.zeros(4)])
        (allocation,) = found.plan.parts[0].machine.memory.allocations
        assert (allocation.name, allocation.size) == ("p", 32)

    def test_scalars_are_converted_to_the_declared_type(self):
        inputs = [("a", "f", 1, 64), ("b", "w", 1, 96), ("c", "df", 1, 128)]
        found = Launched(text_with(inputs), [1, -1, np.float64(0.5)])
        assert found.register("a") == struct.pack("<f", 1)
        assert found.register("b") == struct.pack("<h", -1)
        assert found.register("c") == struct.pack("<d", 0.5)

    def test_several_elements_take_bytes_of_exactly_the_size(self):
        text = text_with([("m", "ud", 3, 64)])
        assert Launched(text, [b"abcdefghijkl"]).register("m") == b"abcdefghijkl"
        value = np.zeros(1, "u4,u4,u4")[0]
        assert Launched(text, [value]).register("m") == bytes(12)

    @pytest.mark.parametrize(
        ("kind", "count", "value"),
        [
            ("uq", 1, -1),
            ("uq", 1, 1.5),
            ("uq", 1, np.zeros((4, 4))[:, 1]),
            ("uq", 1, "x"),
            ("ud", 1, np.zeros(4)),
            ("ud", 1, 2**32),
            ("ud", 1, np.int32(1)),
            ("ud", 1, None),
            ("ud", 3, b"abc"),
            ("ud", 3, np.zeros(3, np.uint32)),
            ("ud", 3, 5),
        ],
    )
    def test_other_values_are_refused_by_name(self, kind, count, value):
        with pytest.raises(ArgumentError, match="'v'"):
            Launched(text_with([("v", kind, count, 64)]), [value])

    def test_what_is_no_address_is_told_what_could_be_one(self):
        with pytest.raises(ArgumentError, match="an array, a Buffer, None or an address, found Im"):
            Launched(text_with([("v", "uq", 1, 64)]), [Image(np.zeros((2, 2), np.float32))])


def header_text(*places):
    """A kernel with inputs of so many bytes from so many bytes of r0 on, and an argument."""
    text = HEAD + ".decl A v_type=G type=ud num_elts=1 align=dword\n.input A offset=64 size=4\n"
    for number, (offset, size) in enumerate(places):
        text += f".decl H{number} v_type=G type=ub num_elts={size} align=GRF\n"
        text += f".input H{number} offset={offset} size={size}\n"
    return text + BODY


class TestSharedStarts:
    """What groups have in common says the same as how each thread starts."""

    @pytest.mark.parametrize(
        "sizes", [{"thread_groups": (3, 2, 2), "group_size": (2, 2)}, {"thread_space": (3, 5)}]
    )
    @pytest.mark.parametrize("device", ["skl", "tgllp"])
    @pytest.mark.parametrize("places", [(), [(0, 8)], [(4, 4), (16, 16)], [(24, 4)], [(8, 16)]])
    def test_they_make_each_thread(self, places, device, sizes):
        found = Launched(header_text(*places), [77], device=device, **sizes)
        shared = found.dispatch.shared_starts()
        size = found.kernel.register_bytes
        for group in range(found.dispatch.group_count):
            for thread in range(found.dispatch.threads(group)):
                start = found.dispatch.start(group, thread)
                given = shared.starts[thread]
                registers = [*shared.common, *given.registers]
                group_id = found.dispatch.group_id(group)
                for place in shared.places:
                    value = group_id[place.axis] + group_id[1] * place.y_scale
                    registers.append((place.offset, value.to_bytes(place.size, "little")))
                made = replace(given, registers=tuple(registers))
                assert image_bytes(made, 0, size) == image_bytes(start, 0, size)
                assert made.mask == start.mask

    @pytest.mark.parametrize("place", [(2, 4), (4, 2), (20, 5), (30, 2)])
    def test_parts_of_coordinates_are_not_described(self, place):
        assert Launched(header_text(place), [77]).dispatch.shared_starts() is None


class TestThreadState:
    def test_r0_tells_group_and_thread(self):
        found = Launched(text_with([]), thread_groups=(3, 2, 2), group_size=(2, 2))
        assert found.dispatch.group_count == 12
        assert found.dispatch.threads(7) == 4
        start = found.dispatch.start(7, 3)
        r0 = struct.unpack("<8I", predefined(found.kernel, start, R0, 32))
        assert (r0[1], r0[6], r0[7], r0[2] & 0xFF) == (1, 0, 1, 3)
        assert found.dispatch.group_id(7) == (1, 0, 1)

    def test_an_input_inside_r0_is_filled_by_the_machine(self):
        inputs = [("copy", "ud", 8, 0), ("group", "ud", 1, 4), ("x", "ud", 1, 32)]
        found = Launched(text_with(inputs), [9], thread_groups=5)
        assert [p.name for p in found.parameters] == ["x"]
        start = found.dispatch.start(4, 0)
        assert found.register("copy", 4) == predefined(found.kernel, start, R0, 32)
        assert found.register("group", 4) == struct.pack("<I", 4)

    def test_all_channels_of_the_dispatch_are_on(self):
        assert Launched(text_with([], simd=32)).dispatch.start(0, 0).mask == 0xFFFFFFFF
        assert Launched(text_with([], simd=8)).dispatch.start(0, 0).mask == 0xFF

    def test_without_simd_size_the_widest_instruction_counts(self):
        head = HEAD + ".decl V v_type=G type=d num_elts=32 align=GRF\n"
        body = '.function "k_0"\n\nk_0:\n    mov (M1, 16) V(0,0)<1> 0x1:d\n    ret (M1, 1)\n'
        assert Launched(head + body).dispatch.start(0, 0).mask == 0xFFFF
        body = '.function "k_0"\n\nk_0:\n    ret (M1, 1)\n'
        assert Launched(HEAD + body).dispatch.start(0, 0).mask == 0xFF

    def test_slm_size_is_in_kib(self):
        text = text_with([], attributes=[".kernel_attr SLMSize=4"])
        assert Launched(text).dispatch.slm_bytes == 4096
        with pytest.raises(UnsupportedError, match="SLMSize"):
            Launched(text_with([], attributes=[".kernel_attr SLMSize=65"]))

    def test_implicit_inputs_are_filled_and_no_arguments(self):
        names = ("LOCAL_SIZE", "GROUP_COUNT", "LOCAL_ID")
        decls = [f".decl V{n} v_type=G type=ud num_elts=3 align=GRF\n" for n in names]
        inputs = [f".implicit_{n} V{n} offset={64 + 32 * i} size=12\n" for i, n in enumerate(names)]
        text = HEAD + "".join(decls + inputs) + BODY
        found = Launched(text, thread_groups=(4, 5), group_size=(2, 3))
        assert found.register("VLOCAL_SIZE", 1, 3) == struct.pack("<3I", 2, 3, 1)
        assert found.register("VGROUP_COUNT", 1, 3) == struct.pack("<3I", 4, 5, 1)
        assert found.register("VLOCAL_ID", 1, 3) == struct.pack("<3I", 1, 1, 0)

    def test_other_implicit_inputs_are_refused_where_code_reads_them(self):
        text = HEAD + ".decl V40 v_type=G type=uq num_elts=1 align=GRF\n"
        text += ".decl V41 v_type=G type=uq num_elts=1 align=GRF\n"
        text += ".implicit_UNDEFINED_12 V40 offset=64 size=8\n" + BODY
        assert Launched(text).dispatch.start(0, 0).mask == 0xFF
        reads = "    mov (M1_NM, 1) V41(0,0)<1> V40(0,0)<0;1,0>\n    ret"
        with pytest.raises(UnsupportedError, match=r"UNDEFINED_12 .*where private memory"):
            Launched(text.replace("    ret", reads))


def surface_text(*counts, samplers=0):
    lines = [f".decl T{6 + i} v_type=T num_elts={n}\n" for i, n in enumerate(counts)]
    lines += [f".decl S{i} v_type=S num_elts=1\n" for i in range(samplers)]
    lines += [f".input T{6 + i} offset={64 + 32 * i} size=4\n" for i in range(len(counts))]
    lines += [f".input S{i} offset={512 + 32 * i} size=4\n" for i in range(samplers)]
    return HEAD + "".join(lines) + BODY


class TestSurfaces:
    def test_arrays_get_the_lowest_free_indices(self):
        arrays = [np.full(4, i, np.uint8) for i in range(4)]
        found = Launched(
            surface_text(1, 1, 1),
            [arrays[0], 2, arrays[1]],
            surfaces={0: arrays[2], 2: arrays[3]},
        )
        assert [found.surfaces_of(f"T{i}")[0] for i in (6, 7, 8)] == [1, 2, 3]
        owners = [found.plan.surfaces[i].allocations[0].name for i in range(4)]
        assert owners == ["surface:0", "T6", "surface:2", "T8"]

    def test_a_surface_is_the_array_itself(self):
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        found = Launched(surface_text(1), [array])
        surface = found.plan.surfaces[0]
        assert (surface.width, surface.height) == (16, 3)
        surface.store(np.array([4], np.uint32), None, np.array([9], np.float32))
        assert array[0, 1] == 9

    def test_several_elements_take_a_list(self):
        one = Buffer(4)
        found = Launched(surface_text(3), [[one, 7, one]])
        assert found.surfaces_of("T6", 3) == (0, 7, 1)
        with pytest.raises(ArgumentError, match="'T6'"):
            Launched(surface_text(3), [[one, one]])

    @pytest.mark.parametrize("value", [None, -1, 256, "x", np.zeros((4, 4))[:, 1], 1.5])
    def test_other_values_are_refused_by_name(self, value):
        with pytest.raises(ArgumentError, match="'T6'"):
            Launched(surface_text(1), [value])

    @pytest.mark.parametrize("value", [None, 5, np.zeros((4, 4))[:, 1]])
    def test_surfaces_by_index_are_memory(self, value):
        with pytest.raises(ArgumentError, match="surface:3"):
            Launched(text_with([]), surfaces={3: value})

    def test_what_is_no_sampler_is_refused_by_name(self):
        with pytest.raises(ArgumentError, match="'S0'"):
            Launched(surface_text(samplers=1), [None])
