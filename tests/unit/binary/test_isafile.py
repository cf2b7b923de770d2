"""Objects of compilers, read and written byte for byte; what is refused, and why."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.corpus.pairs import Dump, dumps
from tests.unit.binary.objects import (
    HEAD,
    PVC,
    SKL,
    Header,
    cut_short,
    module_of,
    object_of,
    without_asm_path,
)
from visim.binary.isafile import (
    NativeCode,
    is_isa,
    isa_platforms,
    native_code,
    read_isa,
    write_isa,
)
from visim.diag import ByteSpan, Source
from visim.errors import InputError
from visim.isa.memory import SvmBlock
from visim.isa.sync import SoftwareFence
from visim.layout import Writer
from visim.module import Module
from visim.operands import Alias, General, GeneralDestination, GeneralSource, Region
from visim.target import platform
from visim.text import read_text, show_unit
from visim.types import UD


@cache
def functions() -> dict[str, Dump]:
    return {dump.name.rpartition("_f")[0]: dump for dump in dumps() if dump.object is None}


@cache
def module_in(dump: Dump) -> Module:
    return read_isa(content(dump), dump.name)


def content(dump: Dump) -> bytes:
    assert dump.object is not None
    return dump.object


def texts(dump: Dump) -> tuple[str, ...]:
    """Return the texts of the units in an object."""
    function = functions().get(dump.name)
    return (dump.text, function.text) if function else (dump.text,)


@cache
def module_of_texts(dump: Dump) -> Module:
    first, *others = texts(dump)
    tails = (text.split("\n", 1)[1] for text in others)
    return read_text(Source(dump.name, "".join([first, *tails])))


CORPUS = Path(__file__).parents[2] / "corpus"
OBJECTS = [dump for dump in dumps() if dump.object is not None]
every_object = pytest.mark.parametrize("dump", OBJECTS, ids=lambda dump: dump.name)


def test_the_corpus_has_179_objects_with_184_units():
    assert len(OBJECTS) == 179
    assert sum(len(module_in(dump).units) for dump in OBJECTS) == 184


@every_object
def test_the_units_of_an_object_print_as_the_compiler_dumped_them(dump: Dump):
    module = module_in(dump)
    assert tuple(show_unit(unit, module.version) for unit in module.units) == texts(dump)


@every_object
def test_an_object_is_written_back_byte_for_byte(dump: Dump):
    native = native_code(content(dump), dump.name)
    written = write_isa(module_in(dump), platform=platform(dump.device), native=native)
    assert written == content(dump)


@every_object
def test_an_object_and_its_text_are_the_same_module(dump: Dump):
    assert without_asm_path(module_in(dump)) == module_of_texts(dump)


@every_object
def test_a_text_comes_back_from_an_object_of_it(dump: Dump):
    device = platform(dump.device)
    written = write_isa(module_of_texts(dump), platform=device)
    assert read_isa(written, "written", platform=device) == module_of_texts(dump)


@every_object
def test_the_gen_code_tells_the_platform(dump: Dump):
    assert isa_platforms(content(dump), dump.name)[0] is platform(dump.device)


@every_object
def test_an_instruction_points_at_its_bytes(dump: Dump):
    for unit in module_in(dump).units:
        spans = [item.origin for item in unit.body]
        assert all(isinstance(span, ByteSpan) for span in spans)
        ends = [span.offset + span.length for span in spans if isinstance(span, ByteSpan)]
        starts = [span.offset for span in spans if isinstance(span, ByteSpan)]
        assert starts[1:] == ends[:-1]


def test_an_object_keeps_what_its_text_does_not_show():
    items = [item for dump in OBJECTS for unit in module_in(dump).units for item in unit.body]
    blocks = [item.unaligned for item in items if isinstance(item, SvmBlock)]
    fences = [item.flags for item in items if isinstance(item, SoftwareFence)]
    assert blocks == [0x80] * 76
    assert fences == [0x21] * 18


# What a text becomes


@pytest.mark.parametrize(("code", "name"), [(6, "skl"), (8, "icllp"), (10, "icllp"), (11, "dg2")])
def test_devices_of_one_architecture_are_one_platform(code: int, name: str):
    native = {"k": (NativeCode(code, b"gen"),)}
    data = write_isa(module_of("ret (M1, 1)"), platform=SKL, native=native)
    assert isa_platforms(data, "k.isa")[0] is platform(name)


def test_an_object_without_gen_code_knows_no_platform():
    data = object_of("ret (M1, 1)")
    assert is_isa(data)
    assert native_code(data, "k.isa") == {"k": ()}
    assert isa_platforms(data, "k.isa") == ()


def test_gen_code_lies_behind_its_kernel():
    module = module_of("ret (M1, 1)")
    native = {"k": (NativeCode(5, b"gen"), NativeCode(14, b"code"))}
    data = write_isa(module, platform=SKL, native=native)
    assert data.endswith(b"gencode")
    assert native_code(data, "k.isa") == native
    assert isa_platforms(data, "k.isa")[0] is SKL
    assert read_isa(data, "k.isa") == module


def test_the_pool_of_a_text_begins_with_the_kernel_and_the_predefined_names():
    module = read_isa(object_of("ret (M1, 1)"), "k.isa")
    order = module.units[0].order
    assert order is not None
    assert order.strings[:3] == ("k", "%null", "%thread_x")
    assert order.strings[21:30] == (
        "%msg0",
        "%slm",
        "T1",
        "T2",
        "TSS",
        "%bss",
        "%scratch",
        "S31",
        "V32",
    )


def test_an_integer_attribute_of_a_text_takes_four_bytes_and_a_target_one():
    head = f"{HEAD}\n.kernel_attr SimdSize=16\n.kernel_attr NoBarrier"
    (unit,) = read_isa(object_of("ret (M1, 1)", head=head), "k.isa").units
    assert [(entry.name, entry.width) for entry in unit.attributes] == [
        ("Target", 1),
        ("SimdSize", 4),
        ("NoBarrier", None),
    ]


def test_the_address_of_an_element_depends_on_the_size_of_a_register():
    module = module_of("addr_add (M1, 1) A0(0)<1> &V40[72] 0x4:w")
    for device in (SKL, PVC):
        data = write_isa(module, platform=device)
        assert read_isa(data, "k.isa", platform=device) == module
    other = read_isa(write_isa(module, platform=SKL), "k.isa", platform=PVC)
    assert other.units[0].body[0].show().startswith("addr_add (M1, 1) A0(0)<1> &V40[136]")


def test_the_address_in_a_later_register_needs_the_platform():
    near = object_of("addr_add (M1, 1) A0(0)<1> &V40[12] 0x4:w")
    assert "&V40[12]" in read_isa(near, "k.isa").units[0].body[0].show()
    far = object_of("addr_add (M1, 1) A0(0)<1> &V40[72] 0x4:w")
    with pytest.raises(InputError, match=r"addr_add: .* depends on the platform"):
        read_isa(far, "k.isa")


def test_a_subroutine_without_its_number_gets_it_once():
    module = module_of('.function "f"', "ret (M1, 1)")
    once = read_isa(write_isa(module, platform=PVC), "k.isa")
    assert once.units[0].body[0].show() == '.function "f_0"'
    assert read_isa(write_isa(once, platform=PVC), "k.isa") == once


def test_a_subroutine_gets_the_number_in_its_name():
    body = ('.function "_main_0"', "call (M1, 16) sub_2", "ret (M1, 1)", "there:")
    module = module_of(*body, '.function "sub_2"', "ret (M1, 16)")
    assert read_isa(write_isa(module, platform=PVC), "k.isa") == module


def test_implicit_inputs_keep_their_numbers():
    inputs = (
        ".input V32 offset=64 size=256",
        ".implicit_LOCAL_SIZE V33 offset=320 size=256",
        ".implicit_LOCAL_ID V34 offset=576 size=256",
        ".implicit_UNDEFINED_16 V35 offset=832 size=256",
        ".input T6 offset=1088 size=4",
        ".input S0 offset=1092 size=4",
    )
    module = module_of("ret (M1, 1)", head="\n".join([HEAD, *inputs]))
    again = read_isa(write_isa(module, platform=PVC), "k.isa")
    assert again.units[0].inputs == module.units[0].inputs


def test_names_that_a_text_cannot_hold_are_replaced_and_kept():
    (unit,) = module_of("ret (M1, 1)", head='.version 4.1\n.kernel "k"').units
    names = ("a b", "%r0", "T6", "twice", "twice")
    generals = tuple(General(name, UD, 1, index=32 + n) for n, name in enumerate(names))
    data = write_isa(Module((4, 1), (replace(unit, generals=generals),)), platform=PVC)
    module = read_isa(data, "k.isa")
    read = [variable.name for variable in module.units[0].generals]
    assert read == ["V32", "V33", "V34", "twice", "twice_36"]
    assert write_isa(module, platform=PVC) == data


# What compilers leave in bytes without a meaning


def byte_changed(data: bytes, line: str, found: bytes, made: bytes) -> None:
    """Check that an object's only instruction means the same with other bytes in it."""
    at = data.rindex(found)
    other = data[:at] + made + data[at + len(found) :]
    assert other != data
    assert read_isa(other, "k.isa", platform=SKL).units[0].body == module_of(line).units[0].body


def test_the_type_of_an_indirect_operand_may_have_an_alignment_above_it():
    line = "mov (M1, 8) V40(0,0)<1> r[A0(0),2]<8;8,1>:ub"
    byte_changed(object_of(line), line, b"\x02\x00\x04", b"\x02\x00\x14")
    line = "mov (M1, 8) r[A0(0),2]<1>:ub V40(0,0)<8;8,1>"
    byte_changed(object_of(line), line, b"\x02\x00\x04", b"\x02\x00\x34")


@pytest.mark.parametrize(
    ("line", "found", "made"),
    [
        ("gather.4 (M1, 16) T6 0x0:ud V40.0 V41.0", b"\x39\x02\x00", b"\x39\x02\x01"),
        ("oword_ld (2) T6 0x0:ud V40.0", b"\x35\x01\x00", b"\x35\x01\x01"),
        ("oword_ld_unaligned (2) T6 0x0:ud V40.0", b"\x3c\x01\x00", b"\x3c\x01\x01"),
    ],
)
def test_whether_a_read_surface_was_modified_is_ignored(line, found, made):
    byte_changed(object_of(line), line, found, made)


@pytest.mark.parametrize(
    "line",
    [
        "lsc_load_strided.ugm (M1, 16)  V40:d32x2  flat[V41, 0x8]:a64",
        "lsc_store_strided.ugm (M1, 16)  flat[V41, 0x8]:a64  V40:d32x2",
    ],
)
def test_a_strided_message_has_no_channels_beside_its_elements(line):
    """Their byte is 0 in what GenX_IR writes; older objects of visim repeat the elements."""
    surface = bytes.fromhex("050000000000")
    byte_changed(
        object_of(line), line, b"\x03\x01\x02\x00" + surface, b"\x03\x01\x02\x02" + surface
    )


# What is refused


def refused(data: bytes, message: str) -> InputError:
    with pytest.raises(InputError, match=message) as caught:
        read_isa(data, "k.isa")
    assert caught.value.diagnostics.errors[0].file == "k.isa"
    return caught.value


def test_other_files_are_refused():
    refused(b"\x7fELF", "does not begin with CISA")
    refused(b"", "does not begin with CISA")
    assert not is_isa(b"\x7fELF")


@pytest.mark.parametrize("version", [(2, 9), (4, 3), (5, 0)])
def test_other_versions_are_refused(version: tuple[int, int]):
    data = Header(version).file(object_of("ret (M1, 1)"))
    refused(data, rf"version {version[0]}\.{version[1]}, visim reads 3\.0 to 4\.2")


def test_every_proper_beginning_of_a_file_is_refused():
    data = object_of("add (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> 0x1:w", "ret (M1, 1)")
    for length in range(len(data)):
        refused(data[:length], ".")


def test_a_truncated_stream_of_the_released_tools_is_recognised():
    add = "add (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>"
    data = object_of(add, add, add, add, "ret (M1, 1)")
    assert read_isa(data, "k.isa")
    error = refused(cut_short(data, read_isa(data, "k.isa")), "GenX_IR and ocloc 1.0.12504")
    assert "assemble the unit's text" in str(error)


def test_a_real_file_of_the_released_genx_is_recognised():
    data = (CORPUS / "truncated_by_genx_skl.isa").read_bytes()
    error = refused(data, "the instructions of tiny are incomplete")
    assert "assemble the unit's text" in str(error)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (Header(inputs_moved=1), "inputs are at"),
        (Header(size_added=-1), "bytes of instructions are left"),
        (Header(size_added=1), r"is free \(is the file cut off\?\)"),
        (Header(name=b""), "name is empty"),
        (Header(name=b"\xff"), "not UTF-8"),
    ],
)
def test_a_header_that_is_wrong_is_refused(header: Header, message: str):
    refused(header.file(object_of("ret (M1, 1)")), message)


def test_objects_that_overlap_are_refused():
    written = object_of("ret (M1, 1)")
    offset = int.from_bytes(written[11:15], "little")
    entry, body = written[8:28], written[offset:]
    moved = bytearray(entry)
    second = bytearray(entry.replace(b"k", b"l"))
    for place in (moved, second):
        for at in (3, 11):
            value = int.from_bytes(place[at : at + 4], "little") + 20
            place[at : at + 4] = value.to_bytes(4, "little")
    file = written[:6] + b"\2\0" + bytes(moved) + bytes(second) + bytes(4) + body
    refused(file, "is free")


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        (b"\x00", "opcode 0x00 is reserved"),
        (b"\x3b\x05\x00", "opcode 0x3b is reserved"),
        (b"\x4e\x09", "has no such sub-code"),
        (b"\x34\x06\x00\x00", "execution size code 6"),
        (b"\x34\x00\x00\x80", "not a predicate"),
        (b"\x34\x00\x04\x00", "predicate variable 4 does not exist"),
        (b"\x34\x00\x01\x60", "not a predicate"),
        (b"\x32\x00\x00\x00\x00\x00", "label 0 does not exist"),
        (b"\x51\xff\xff\xff\xff", "string 4294967295 does not exist"),
        (b"\x51\x00", "4 bytes expected, 1 left"),
        (b"\x8b\x81\x00\x00\x00\x00\x00", "where only 0x80 is known"),
    ],
)
def test_a_stream_that_is_wrong_is_refused(stream: bytes, message: str):
    refused(with_stream(stream), message)


@pytest.mark.parametrize(
    ("operand", "message"),
    [
        (b"\x05\x0a\x00\x00\x00\x00", "type code 10"),
        (b"\x05\x10\x00\x00\x00\x00", "type code 16"),
        (b"\x0d\x00\x00\x00\x00\x00", "modifier 1, it can have none"),
        (b"\x20\x28\x00\x00\x00\x00\x00\x22\x01", "source has modifier 4"),
        (b"\x00\x28\x00\x00\x00\x00\x00\x20\x01", "without vertical stride"),
        (b"\x00\x28\x00\x00\x00\x00\x00\x22\x11", "is not a region"),
        (b"\x00\x15\x00\x00\x00\x00\x00\x22\x01", "general variable 21 does not exist"),
        (b"\x01\x01\x00\x00\x00", "address variable 1 does not exist"),
        (b"\x01\x00\x00\x00\x06", "width code 6"),
        (b"\x04", "class 4, which is none"),
        (b"\x06\x02\x00\x00\x00", "class 2, only 0 and 1"),
        (b"\x06\x01\x01\x00\x00", "sampler variable 1 does not exist"),
        (b"\x06\x00\x08\x00\x00", "surface variable 8 does not exist"),
    ],
)
def test_an_operand_that_is_wrong_is_refused(operand: bytes, message: str):
    destination = b"\x00\x28\x00\x00\x00\x00\x00\x00\x02"
    refused(with_stream(b"\x29\x00\x00\x00" + destination + operand), f"mov: .*{message}")


def with_stream(stream: bytes) -> bytes:
    """Return the object of a kernel with these instructions."""
    written = object_of("ret (M1, 1)")
    attributes = b"\x00\x00\x00\x00\x01\x01"  # the attribute Target of HEAD, whatever its number
    entry = len(written) - 4
    sizes = entry - 2 - len(attributes) - 8
    offset = int.from_bytes(written[11:15], "little")
    assert int.from_bytes(written[sizes + 4 : sizes + 8], "little") == entry - offset
    file = bytearray(written[:entry] + stream)
    file[sizes : sizes + 4] = len(stream).to_bytes(4, "little")
    file[15:19] = (len(file) - offset).to_bytes(4, "little")
    return bytes(file)


def test_twins_that_differ_are_refused():
    data = bytearray(object_of("lsc_load.ugm (M1, 16)  V40:d32x2  flat[V41]:a64"))
    at = data.rindex(b"\x02\x02\x05\x00\x00\x00\x00\x00")
    data[at + 1] = 3
    refused(bytes(data), "shape.count is stored twice, as 2 and as 3")


def test_huge_counts_are_refused_without_room_for_them():
    data = object_of("ret (M1, 1)")
    order = read_isa(data, "k.isa").units[0].order
    assert order is not None
    offset = int.from_bytes(data[11:15], "little")
    variables = offset + 8 + sum(len(text) + 1 for text in order.strings)
    for place, message in ((offset, "not UTF-8"), (variables, "at most 1048544 are possible")):
        written = bytearray(data)
        written[place : place + 4] = b"\xff\xff\xff\xff"
        refused(bytes(written), message)


def test_aliases_that_go_on_and_on_are_refused():
    (unit,) = module_of("ret (M1, 1)", head='.version 4.1\n.kernel "k"').units
    generals = [General("v32", UD, 1, index=32)]
    while len(generals) < 100:
        index = 32 + len(generals)
        generals.append(General(f"v{index}", UD, 1, alias=Alias(generals[-1], 0), index=index))
    unit = replace(unit, generals=tuple(generals))
    data = write_isa(Module((4, 1), (unit,)), platform=PVC)
    refused(data, "an alias of more than 64 aliases")


def test_an_alias_of_a_later_variable_is_refused():
    data = object_of("ret (M1, 1)")
    first = data.index((29).to_bytes(4, "little") + b"\x50\x40\x00")
    spoilt = bytearray(data)
    spoilt[first + 7 : first + 11] = (33).to_bytes(4, "little")
    refused(bytes(spoilt), "alias of variable 33, which comes later")


# What cannot be written


def unwritable(module: Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_isa(module, platform=PVC)


def spoilt(line: str, **changes: object) -> Module:
    module = module_of(line)
    (unit,) = module.units
    item = replace(unit.body[0], **changes)
    return replace(module, units=(replace(unit, body=(item,)),))


def test_the_address_of_a_variable_stands_only_in_addr_add():
    unwritable(module_of("mov (M1_NM, 1) A0(0)<1> &V40"), "mov: .* only in addr_add")


def test_a_place_beyond_a_byte_is_not_written():
    variable = General("V40", UD, 64, "GRF", index=40)
    unwritable(
        spoilt(
            "mov (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>", dst=GeneralDestination(variable, 256, 0, 1)
        ),
        "mov: a row is 256, an object stores it in 1 bytes",
    )
    unwritable(
        spoilt(
            "mov (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>",
            src0=GeneralSource(variable, 0, 0, Region(3, 1, 0)),
        ),
        "mov: 3 is not a stride",
    )


def test_a_variable_of_another_unit_is_not_written():
    variable = General("W40", UD, 64, "GRF", index=40)
    destination = GeneralDestination(variable, 0, 0, 1)
    unwritable(
        spoilt("mov (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0>", dst=destination),
        "mov: general variable W40 is not variable 40 of the unit",
    )


def test_a_label_that_is_not_defined_is_not_written():
    (unit,) = module_of("there:", "goto (M1, 1) there").units
    module = Module((4, 1), (replace(unit, body=unit.body[1:]),))
    unwritable(module, "goto: label there is not defined")


def test_an_attribute_too_large_for_its_bytes_is_not_written():
    module = module_of("ret (M1, 1)", head=f"{HEAD}\n.kernel_attr SLMSize=4294967295")
    assert read_isa(write_isa(module, platform=PVC), "k.isa") == module
    (unit,) = module.units
    attributes = tuple(replace(entry, width=1) for entry in unit.attributes)
    unwritable(replace(module, units=(replace(unit, attributes=attributes),)), "SLMSize")


def test_a_writer_appends_little_endian_bytes():
    writer = Writer()
    writer.unsigned(-2, 2)
    writer.unsigned(0x1234, 4)
    assert bytes(writer.data) == b"\xfe\xff\x34\x12\x00\x00"
