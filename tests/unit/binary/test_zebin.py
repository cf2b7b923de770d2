"""What a zebin means, from real files of the compiler and from made-up ones."""

from __future__ import annotations

import re
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.binary.elf_files import (
    CORPUS,
    MISC,
    NOBITS,
    NOTE,
    PROGBITS,
    REL,
    RELA,
    STRTAB,
    SYMTAB,
    VISAASM,
    ZE_INFO,
    Part,
    elf,
    info,
    note,
    relocation,
    sample,
    symbols,
    zebin,
)
from visim.binary.zebin import (
    DataRelocation,
    RelocationKind,
    SegmentKind,
    Symbol,
    Zebin,
    is_zebin,
    read_zebin,
)
from visim.errors import InputError
from visim.target import PLATFORMS

SAMPLES = sorted(path.stem for path in CORPUS.glob("*.zebin"))


def read(name: str) -> Zebin:
    return read_zebin(sample(name), f"{name}.zebin")


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_zebin(data, "k.zebin")
    return str(caught.value)


class TestRealFiles:
    @pytest.mark.parametrize(
        ("name", "device"),
        [
            ("scale_skl", "skl"),
            ("scale_pvc", "pvc"),
            ("data_tgllp", "tgllp"),
            ("call_dg2", "dg2"),
            ("image_icllp", "icllp"),
            ("nothing_dg2", "dg2"),
        ],
    )
    def test_the_note_names_the_platform(self, name, device):
        platform = read(name).platform
        assert platform is not None
        assert platform.name == device

    def test_the_format_version_is_read(self):
        assert read("scale_skl").version == "1.20"

    def test_a_program_without_kernels_has_a_version_too(self):
        program = read("nothing_dg2")
        assert program.kernels == ()
        assert program.version == "1.20"

    def test_texts_belong_to_kernels_in_order(self):
        look_up, rotate = read("data_tgllp").kernels
        assert (look_up.name, rotate.name) == ("look_up", "rotate")
        assert "barrier" in rotate.visaasm
        assert "barrier" not in look_up.visaasm

    @pytest.mark.parametrize("name", [name for name in SAMPLES if "without" not in name])
    def test_each_text_is_a_whole_kernel(self, name):
        for kernel in read(name).kernels:
            assert kernel.visaasm.startswith(".version")
            assert kernel.visaasm.count(".kernel ") == 1
            assert "\0" not in kernel.visaasm

    def test_the_compilers_helper_kernel_is_hidden(self):
        assert [kernel.name for kernel in read("call_dg2").kernels] == ["first", "second"]

    def test_functions_of_the_helper_kernel_remain(self):
        (function,) = read("call_dg2").functions
        assert function.name == "factorial"
        assert '.global_function "factorial"' in function.visaasm
        assert function.execution_env is not None
        assert function.execution_env.simd_size == 8

    def test_arguments_are_described(self):
        (kernel,) = read("scale_pvc").kernels
        described = [(a.index, a.name, a.type_name, a.address_qualifier) for a in kernel.args_info]
        assert described == [
            (0, "values", "float*;8", "__global"),
            (1, "factor", "float;4", "__private"),
            (2, "count", "int;4", "__private"),
        ]

    def test_payload_arguments_have_places(self):
        (kernel,) = read("scale_pvc").kernels
        explicit = [(a.arg_type, a.arg_index, a.size) for a in kernel.payload if a.arg_index >= 0]
        assert ("arg_bypointer", 0, 8) in explicit
        assert ("arg_byvalue", 1, 4) in explicit
        assert [a.arg_type for a in kernel.per_thread_payload] == ["local_id"]

    def test_binding_tables_and_samplers_are_read(self):
        (kernel,) = read("image_icllp").kernels
        assert [(b.bti_value, b.arg_index) for b in kernel.binding_table] == [(0, 0), (1, 1)]
        (sampler,) = kernel.inline_samplers
        assert (sampler.sampler_index, sampler.addrmode) == (1, "clamp_border")
        assert sampler.filtermode == "nearest"
        assert not sampler.normalized

    def test_required_sizes_and_local_memory_are_read(self):
        rotate = read("data_tgllp").kernels[1]
        assert rotate.user_attributes.reqd_work_group_size == (16, 4, 1)
        assert rotate.execution_env.required_work_group_size == (16, 4, 1)
        assert rotate.execution_env.slm_size == 32
        assert rotate.execution_env.barrier_count == 1

    def test_memory_of_threads_is_read(self):
        buffers = read("call_dg2").kernels[0].per_thread_memory
        assert [(b.type, b.usage, b.is_simt_thread) for b in buffers] == [
            ("scratch", "spill_fill_space", False),
            ("global", "private_space", True),
        ]

    def test_data_segments_are_read(self):
        program = read("data_tgllp")
        assert struct.unpack("<8i", program.constant_data[:32]) == (0, 1, 4, 9, 0, 1, 8, 27)
        assert program.global_data == b"\7".ljust(80, b"\0")
        assert program.string_data == b"%s %d\n\0turned\0"

    def test_symbols_lie_in_segments(self):
        found = {symbol.name: symbol for symbol in read("data_tgllp").symbols}
        assert found["rows"] == Symbol("rows", SegmentKind.CONST, 32, 24)
        assert found["zeros"] == Symbol("zeros", SegmentKind.GLOBAL, 16, 64)
        assert found[".str.1"] == Symbol(".str.1", SegmentKind.STRING, 7, 7)
        assert found["look_up"].segment is SegmentKind.OTHER

    def test_a_stack_call_function_is_a_function_symbol(self):
        found = [s.name for s in read("call_dg2").symbols if s.segment is SegmentKind.FUNCTION]
        assert found == ["factorial"]

    def test_data_relocations_keep_the_addend_in_place(self):
        program = read("data_tgllp")
        full = RelocationKind.ADDRESS64
        assert program.data_relocations == (
            DataRelocation(SegmentKind.CONST, 32, full, "squares", 0),
            DataRelocation(SegmentKind.CONST, 40, full, "cubes", 0),
            DataRelocation(SegmentKind.CONST, 48, full, "cubes", 8),
            DataRelocation(SegmentKind.GLOBAL, 8, full, "counter", 0),
        )
        assert program.constant_data[48:56] == (8).to_bytes(8, "little")

    def test_build_options_are_read(self):
        assert read("data_tgllp").build_options == "-cl-std=CL2.0"
        assert read("scale_skl").build_options is None

    def test_without_visa_the_help_is_a_command_line(self):
        text = refused(sample("scale_bdw_without_visa"))
        assert "error[zebin-without-visa]" in text
        assert "ocloc compile -file FILE.cl -device bdw --format zebin" in text
        assert '-internal_options "-ze-emit-zebin-visa-sections"' in text

    def test_without_visa_the_help_knows_the_vector_compiler(self):
        kernel = "kernels: [{name: k, execution_env: {grf_count: 128, simd_size: 1}}]"
        text = refused(elf(Part(".ze_info", ZE_INFO, f"version: '1.20'\n{kernel}".encode())))
        assert "error[zebin-without-visa]" in text
        assert '-options "-vc-codegen -Xfinalizer -dumpcommonisa"' in text


class TestMadeUpFiles:
    def test_an_elf_file_may_be_a_zebin_and_text_is_none(self):
        assert is_zebin(zebin())
        assert not is_zebin(b'.version 4.1\n.kernel "k"\n')
        assert not is_zebin(b"")

    def test_texts_are_counted_against_kernels(self):
        data = elf(Part(".visaasm", VISAASM, b".kernel"), Part(".ze_info", ZE_INFO, info("a", "b")))
        assert "describes 2 kernels, there are 1 .visaasm sections" in refused(data)

    def test_an_unknown_product_is_refused_with_its_number_and_the_known_ones(self):
        data = zebin(Part(".note.intelgt.compat", NOTE, note(1, (9999).to_bytes(4, "little"))))
        text = refused(data)
        assert "a device that visim does not know (product 9999)" in text
        for device in PLATFORMS:
            assert f"{device.name}: {device.products[0].family}" in text

    @pytest.mark.parametrize(
        "notes",
        [
            note(2, (0x7F).to_bytes(4, "little")),
            note(6, (40 << 22).to_bytes(4, "little")),
            note(1, bytes(4)) + note(2, (0x7F).to_bytes(4, "little")),
        ],
    )
    def test_an_unknown_core_or_graphics_version_is_refused(self, notes):
        data = zebin(Part(".note.intelgt.compat", NOTE, notes))
        assert "a device that visim does not know (" in refused(data)

    @pytest.mark.parametrize("device", PLATFORMS, ids=lambda device: device.name)
    def test_each_product_of_the_table_names_its_device(self, device):
        for sold in device.products:
            data = zebin(Part(".note", NOTE, note(1, sold.family.to_bytes(4, "little"))))
            assert read_zebin(data, "k.zebin").platform is device

    @pytest.mark.parametrize(
        ("version", "device"),
        [
            ((12, 60), "pvc"),
            ((12, 57), "dg2"),
            ((12, 0), "tgllp"),
            ((9, 0), "skl"),
            ((12, 74), "arl"),
            ((20, 1), "bmg"),
            ((20, 4), "lnl"),
            ((35, 10), "nvl-p"),
            ((35, 11), "cri"),
        ],
    )
    def test_newer_files_name_the_device_by_its_graphics_version(self, version, device):
        number = version[0] << 22 | version[1] << 14 | 7
        data = zebin(Part(".note.intelgt.compat", NOTE, note(6, number.to_bytes(4, "little"))))
        platform = read_zebin(data, "k.zebin").platform
        assert (platform.name if platform else None) == device

    @pytest.mark.parametrize(
        ("product", "family", "device"),
        [(0, 0xC08, "pvc"), (0, 0x12, "tgllp"), (0, 0xC09, "lnl"), (1272, 0xC07, "mtl")],
    )
    def test_a_file_without_a_product_names_the_family_of_devices(self, product, family, device):
        notes = note(1, product.to_bytes(4, "little")) + note(2, family.to_bytes(4, "little"))
        data = zebin(Part(".note.intelgt.compat", NOTE, notes))
        platform = read_zebin(data, "k.zebin").platform
        assert (platform.name if platform else None) == device

    def test_notes_of_others_name_no_device(self):
        notes = note(1, (18).to_bytes(4, "little"), owner=b"GNU\0")
        assert read_zebin(zebin(Part(".note", NOTE, notes)), "k.zebin").platform is None

    def test_zero_data_follows_the_initialised_data(self):
        names = b"\0near\0far\0"
        data = zebin(
            Part(".data.const", PROGBITS, b"\1" * 16),
            Part(".bss.const", NOBITS, size=32),
            Part(".data.global", PROGBITS, b"\2" * 8),
            Part(".names.of.symbols", STRTAB, names),
            Part(".symtab", SYMTAB, symbols((1, 1, 1, 8, 8), (6, 1, 2, 4, 8)), link=4),
            Part(".rel.bss.const", REL, relocation(4, 2, 2) + relocation(8, 1, 3), info=2),
        )
        program = read_zebin(data, "k.zebin")
        assert program.constant_data == b"\1" * 16 + bytes(32)
        assert program.global_data == b"\2" * 8
        assert program.symbols == (
            Symbol("near", SegmentKind.CONST, 8, 8),
            Symbol("far", SegmentKind.CONST, 20, 8),
        )
        assert program.data_relocations == (
            DataRelocation(SegmentKind.CONST, 20, RelocationKind.ADDRESS32_LOW, "far", 0),
            DataRelocation(SegmentKind.CONST, 24, RelocationKind.ADDRESS32_HIGH, "near", 0),
        )

    def test_relocations_of_code_are_left_out(self):
        data = zebin(
            Part(".text.k", PROGBITS, bytes(16)),
            Part(".strings", STRTAB, b"\0f\0"),
            Part(".symtab", SYMTAB, symbols((1, 2, 1, 8, 8)), link=2),
            Part(".rel.text.k", REL, relocation(99, 77, 55), info=1),
        )
        assert read_zebin(data, "k.zebin").data_relocations == ()

    @pytest.mark.parametrize(
        ("entry", "complaint"),
        [
            (relocation(4, 1, 1), "patches byte 4 of 8"),
            (relocation(0, 9, 1), "names symbol 9"),
            (relocation(0, 0, 1), "names symbol 0"),
            (relocation(0, 1, 7), "relocation of type 7"),
            (relocation(0, 1, 1)[:-1], "15 bytes, entries have 16"),
        ],
    )
    def test_wrong_relocations_of_data_are_refused(self, entry, complaint):
        data = zebin(
            Part(".data.const", PROGBITS, bytes(8)),
            Part(".strings", STRTAB, b"\0f\0"),
            Part(".symtab", SYMTAB, symbols((1, 1, 1, 0, 8)), link=2),
            Part(".rel.data.const", REL, entry, info=1),
        )
        assert complaint in refused(data)

    def test_explicit_addends_are_refused(self):
        data = zebin(
            Part(".data.const", PROGBITS, bytes(8)),
            Part(".rela.data.const", RELA, bytes(24), info=1),
        )
        assert "explicit addends" in refused(data)

    def test_a_symbol_outside_its_segment_is_refused(self):
        data = zebin(
            Part(".data.global", PROGBITS, bytes(8)),
            Part(".strings", STRTAB, b"\0far\0"),
            Part(".symtab", SYMTAB, symbols((1, 1, 1, 4, 8)), link=2),
        )
        assert "symbol 'far' lies outside its section" in refused(data)

    def test_a_function_may_be_there_twice_if_it_is_the_same(self):
        one = Part(".visaasm.f", VISAASM, b".global_function f")
        other = Part(".visaasm.f", VISAASM, b".global_function g")
        assert len(read_zebin(zebin(one, one), "k.zebin").functions) == 1
        assert "two different functions 'f'" in refused(zebin(one, other))

    def test_build_options_lose_their_terminator(self):
        data = zebin(Part(".misc.buildOptions", MISC, b"-cl-opt-disable\0"))
        assert read_zebin(data, "k.zebin").build_options == "-cl-opt-disable"


class TestBrokenFiles:
    def test_another_machines_file_is_refused(self):
        assert "machine 62" in refused(elf(machine=62))

    def test_a_file_of_another_kind_is_refused(self):
        assert "not an ELF file" in refused(b"!<arch>\n" + bytes(100))

    def test_code_needs_a_description(self):
        assert "no .ze_info" in refused(elf(Part(".text.k", PROGBITS, b"code")))

    def test_a_file_that_says_nothing_is_refused(self):
        assert "neither" in refused(elf())

    def test_a_section_beyond_the_end_is_refused(self):
        text = refused(zebin(Part(".data.const", PROGBITS, b"x", size=1 << 62)))
        assert ".data.const is bytes" in text
        assert "cut off" in text

    def test_huge_zero_data_is_refused(self):
        assert ".bss.global has" in refused(zebin(Part(".bss.global", NOBITS, size=1 << 60)))

    def test_compressed_sections_are_refused(self):
        data = zebin(Part(".data.const", PROGBITS, b"x", flags=0x800))
        assert "compressed" in refused(data)

    def test_a_second_data_section_is_refused(self):
        part = Part(".data.const", PROGBITS, b"x")
        assert "2 sections .data.const" in refused(zebin(part, part))

    def test_a_note_that_does_not_fit_is_refused(self):
        data = zebin(Part(".note.intelgt.compat", NOTE, note(1, bytes(4))[:-4] + b"\0"))
        assert "note does not fit" in refused(data)

    def test_overlapping_sections_are_refused(self):
        parts = [Part(f".visaasm.f{i}", VISAASM, b"", offset=64, size=4000) for i in range(9)]
        assert "sections overlap" in refused(zebin(Part(".big", PROGBITS, bytes(8000)), *parts))

    def test_symbols_relocations_and_notes_have_a_budget(self):
        notes = note(0, b"", owner=b"") * (1 << 16)
        assert "more than 65536" in refused(zebin(*(Part(".note", NOTE, notes + notes),)))

    def test_overlapping_names_have_a_budget(self):
        table = b"\0" + b"n" * (1 << 20) + b"\0"
        many = symbols(*((1, 1, 0, 0, 0) for _ in range(1000)))
        data = zebin(Part(".strings", STRTAB, table), Part(".symtab", SYMTAB, many, link=1))
        assert "names are too long" in refused(data)

    def test_the_place_of_a_mistake_is_an_offset_in_the_file(self):
        data = elf(Part(".visaasm", VISAASM, b"x"), Part(".ze_info", ZE_INFO, b"version: '2.0'"))
        with pytest.raises(InputError) as caught:
            read_zebin(data, "k.zebin")
        (finding,) = caught.value.diagnostics
        assert finding.file == "k.zebin"
        assert finding.offset == data.index(b"'2.0'")


def is_read_or_refused(data: bytes) -> None:
    try:
        read_zebin(data, "k.zebin")
    except InputError as error:
        text = str(error)
    else:
        return
    assert re.match(r"error\[[a-z-]+\]: ", text)


class TestAnyBytes:
    @pytest.mark.parametrize("name", SAMPLES)
    def test_a_file_that_is_cut_off_is_refused(self, name):
        whole = sample(name)
        for length in range(0, len(whole), max(1, len(whole) // 40)):
            refused(whole[:length])

    @given(data=st.binary(max_size=300))
    def test_random_bytes_are_refused(self, data):
        refused(data)
        refused(b"\x7fELF\x02\x01\x01" + data)

    @settings(deadline=None)
    @given(
        name=st.sampled_from(SAMPLES),
        changes=st.lists(
            st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8)),
            min_size=1,
            max_size=4,
        ),
    )
    def test_changed_bytes_are_read_or_refused(self, name, changes):
        data = bytearray(sample(name))
        for place, new in changes:
            at = int(place * len(data))
            data[at : at + len(new)] = new
        is_read_or_refused(bytes(data))

    @settings(deadline=None)
    @given(
        name=st.sampled_from(SAMPLES),
        changes=st.lists(
            st.tuples(
                st.integers(0, 30),
                st.integers(0, 63),
                st.one_of(st.integers(0, 255), st.sampled_from([0, 1, 127, 128, 255])),
            ),
            min_size=1,
            max_size=6,
        ),
    )
    def test_changed_headers_are_read_or_refused(self, name, changes):
        data = bytearray(sample(name))
        table = int.from_bytes(data[40:48], "little")
        for section, byte, value in changes:
            at = byte if section == 0 else table + 64 * section + byte
            if at < len(data):
                data[at] = value
        is_read_or_refused(bytes(data))
