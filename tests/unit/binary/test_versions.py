"""Objects of older versions: what they store otherwise, and what they have no place for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.pairs import dumps
from tests.unit.binary.objects import HEAD, PVC, module_of
from visim.binary.isafile import read_isa, write_isa
from visim.diag import Source
from visim.errors import InputError
from visim.isa.memory import SvmBlock
from visim.module import Module, Unit
from visim.operands import ExecSize
from visim.target import OBJECT_VERSIONS, Platform, platform
from visim.text import read_text


def again(module: Module, version: tuple[int, int]) -> Module:
    return read_isa(write_isa(module, platform=PVC, version=version), "k.isa", platform=PVC)


def stream_of(line: str, version: tuple[int, int]) -> bytes:
    """Return the bytes of the only instruction of a kernel."""
    module = module_of(line)
    data = write_isa(module, platform=PVC, version=version)
    (instruction,) = read_isa(data, "k.isa", platform=PVC).units[0].body
    assert instruction == module.units[0].body[0]
    origin = instruction.origin
    assert origin is not None
    assert origin.offset + origin.length == len(data)
    return data[origin.offset :]


def refused(line: str, version: tuple[int, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_isa(module_of(line), platform=PVC, version=version)


@cache
def modules_of_compilers() -> tuple[Module, ...]:
    """Return every sixth text of the corpus that is small and calls no function."""
    texts = sorted((dump for dump in dumps() if dump.object), key=lambda dump: len(dump.text))
    plain = [dump for dump in texts[:120:6] if ".funcdecl" not in dump.text]
    return tuple(read_text(Source(dump.name, dump.text)) for dump in plain)


def write_or_refuse(module: Module, device: Platform, version: tuple[int, int]) -> bytes | None:
    """Return the object, or None where its version has no place for something and says so."""
    try:
        return write_isa(module, platform=device, version=version)
    except InputError as error:
        message = str(error)
    if "has no place for" not in message and "typed messages of size 8" not in message:
        raise AssertionError(message)
    return None


def _plain(module: Module) -> list[Unit]:
    """Return the units without what texts say of blocks since 4.2."""
    return [
        replace(
            unit,
            body=[
                replace(item, alignment=None) if isinstance(item, SvmBlock) else item
                for item in unit.body
            ],
        )
        for unit in module.units
    ]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_text_comes_back_from_an_object_of_any_version(data: st.DataObject):
    modules = modules_of_compilers()
    module = modules[data.draw(st.integers(0, len(modules) - 1))]
    version = data.draw(st.sampled_from(OBJECT_VERSIONS))
    device = platform(data.draw(st.sampled_from(("skl", "pvc"))))
    written = write_or_refuse(module, device, version)
    if written is not None:
        read = read_isa(written, "k.isa", platform=device)
        assert _plain(read) == _plain(module)
        assert write_isa(read, platform=device, version=version) == written


# What is stored otherwise


def test_general_variables_have_two_bytes_before_3_4():
    line = "mov (M1, 1) V40(0,0)<1> 0x1:ud"
    operand = b"\x05\x00\x01\x00\x00\x00"
    assert stream_of(line, (3, 4)) == b"\x29\0\0\0\0\x28\0\0\0\0\0\0\2" + operand
    assert stream_of(line, (3, 3)) == b"\x29\0\0\0\0\x28\0\0\0\0\2" + operand


def test_raw_operands_have_two_bytes_before_3_4():
    line = "gather4_scaled.R (M1, 8) T6 0x0:ud V40.0 V41.32"
    assert stream_of(line, (3, 4))[-12:] == b"\x28\0\0\0\0\0\x29\0\0\0\x20\0"
    assert stream_of(line, (3, 3))[-8:] == b"\x28\0\0\0\x29\0\x20\0"


def test_files_and_lifetimes_have_two_bytes_before_3_4():
    assert stream_of("lifetime.end V40", (3, 4)) == b"\x7b\1\x28\0\0\0"
    assert stream_of("lifetime.end V40", (3, 3)) == b"\x7b\1\x28\0"
    assert len(stream_of('FILE "a.cl"', (3, 4))) == 5
    assert len(stream_of('FILE "a.cl"', (3, 3))) == 3


def test_operands_that_are_not_used_have_two_bytes_less_before_3_4():
    line = "lsc_load.ugm (M1, 8)  V40:d32  flat[V41]:a64"
    assert stream_of(line, (3, 4))[-24:] == b"\x28\0\0\0\0\0\x29\0\0\0\0\0" + bytes(12)
    assert stream_of(line, (3, 3))[-16:] == b"\x28\0\0\0\x29\0\0\0" + bytes(8)


def test_unaligned_owords_counted_dwords_before_3_2():
    line = "oword_ld_unaligned (8) T6 0x10:ud V41.0"
    assert b"\5\0\x10\0\0\0" in stream_of(line, (3, 2))
    assert b"\5\0\4\0\0\0" in stream_of(line, (3, 1))
    message = r"version 3\.1 has no place for an offset in bytes"
    refused(line.replace("0x10:ud", "V40(0,0)<0;1,0>"), (3, 1), message)
    refused(line.replace("0x10", "0x11"), (3, 1), message)


def test_the_mask_of_a_wait_exists_since_3_1():
    assert stream_of("wait 0x0:uw", (3, 1)) == b"\x5b\5\2\0\0\0\0"
    assert stream_of("wait 0x0:uw", (3, 0)) == b"\x5b"
    refused("wait 0x1:uw", (3, 0), r"wait: version 3\.0 has no place for a mask of dependencies")


def test_no_mask_is_one_control_in_3_0():
    assert stream_of("ret (M5, 8)", (3, 0)) == b"\x34\x43\0\0"
    assert stream_of("ret (M1_NM, 8)", (3, 0)) == b"\x34\x83\0\0"
    assert stream_of("ret (M2_NM, 8)", (3, 1)) == b"\x34\x93\0\0"
    refused("ret (M2_NM, 8)", (3, 0), r"version 3\.0 has no place for \(M2_NM, 8\)")


@pytest.mark.parametrize(("control", "channels"), [(9, "(M1, 8)"), (8, "(M1_NM, 8)")])
def test_control_9_is_the_first_mask_in_3_0(control: int, channels: str):
    data = write_isa(module_of("ret (M1, 8)"), platform=PVC, version=(3, 0))
    read = read_isa(data[:-3] + bytes([control << 4 | 3]) + data[-2:], "k.isa")
    size = read.units[0].body[0].exec
    assert isinstance(size, ExecSize)
    assert str(size) == channels
    with pytest.raises(InputError, match=r"mask control 10 is not known in version 3\.0"):
        read_isa(data[:-3] + b"\xa3" + data[-2:], "k.isa")


TYPED = "scatter4_typed.RG (M5, 8) T6 V40.0 V41.0 %null.0 %null.0 V42.0"


def test_typed_messages_have_other_fields_before_3_2():
    raws = b"\x28\0\0\0\x29\0\0\0\0\0\0\0"
    assert stream_of(TYPED, (3, 2)) == b"\x4c\x43\0\0\3\6" + raws + b"\0\0\0\0\x2a\0\0\0"
    assert stream_of(TYPED, (3, 1)) == b"\x4c\x0c\x40\6" + raws + b"\x2a\0\0\0"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (TYPED.replace("M5, 8", "M1, 16"), r"typed messages of size 8, not \(M1, 16\)"),
        (f"(P1) {TYPED}", "has no place for a predicate"),
        (TYPED.replace("%null.0 V42", "V43.0 V42"), "has no place for a level of detail"),
    ],
)
def test_typed_messages_before_3_2_are_plain(line: str, message: str):
    assert stream_of(line, (3, 2))
    refused(line, (3, 1), message)


SPLIT = "raw_sends.{}.1.2.3 (M1, 16)  0x2:ud 0x3:ud V40.0 V41.0 V42.0"


def test_a_split_send_names_its_function_since_3_6():
    assert stream_of(SPLIT.format(12), (3, 6))[:10] == b"\x7a\0\4\0\0\1\2\3\x0c\5"
    assert stream_of(SPLIT.format(0), (3, 5))[:9] == b"\x7a\0\4\0\0\1\2\3\5"
    refused(SPLIT.format(12), (3, 5), r"version 3\.5 has no place for a shared function")


SAMPLE = "sample_lz.RGBA (M1, 16)  0x123:uw S0 T6 V40.0 V41.0"


def test_the_operation_of_the_sampler_is_one_byte_before_4_0():
    offsets = b"\5\2\x23\1\0\0"
    assert stream_of(SAMPLE, (4, 0))[:13] == b"\x6d\x18\0\4\0\0\x0f" + offsets
    assert stream_of(SAMPLE, (3, 8))[:12] == b"\x6d\x18\4\0\0\x0f" + offsets


def test_offsets_in_texels_are_plain_before_3_4():
    assert stream_of(SAMPLE, (3, 3))[:10] == b"\x6d\x18\4\0\0\x0f\x23\1\0\6"
    line = SAMPLE.replace("0x123:uw", "V40(0,0)<0;1,0>")
    assert stream_of(line, (3, 4))
    refused(line, (3, 3), r"version 3\.3 has no place for offsets that are not :uw")


def test_flags_of_the_sampler_keep_their_meaning():
    data = write_isa(module_of(SAMPLE), platform=PVC, version=(3, 8))
    at = data.rindex(b"\x6d\x18\4\0\0\x0f") + 1
    narrow = read_isa(data[:at] + b"\x58" + data[at + 1 :], "k.isa")
    assert narrow.units[0].body[0].options == ("cps",)
    wide = write_isa(narrow, platform=PVC)
    assert b"\x6d\x18\2\4\0\0\x0f" in wide
    assert read_isa(wide, "k.isa").units[0].body[0].options == ("cps",)


# What has no place


def test_a_long_name_has_a_place_since_3_7():
    head = HEAD.replace('"k"', f'"{"k" * 300}"')
    module = module_of("ret (M1, 1)", head=head)
    assert again(module, (3, 7)).units == module.units
    with pytest.raises(InputError, match="an object stores it in 1 bytes"):
        write_isa(module, platform=PVC, version=(3, 6))


def test_more_than_255_inputs_have_a_place_since_3_5():
    head = [HEAD, *(f".decl W{n} v_type=G type=ud num_elts=1" for n in range(300))]
    inputs = [f".input W{n} offset={64 + 4 * n} size=4" for n in range(300)]
    module = module_of("ret (M1, 1)", head="\n".join([*head, *inputs]))
    assert again(module, (3, 5)).units == module.units
    message = r"number of inputs is 300, an object stores it in 1 bytes \(version 3\.4\)"
    with pytest.raises(InputError, match=message):
        write_isa(module, platform=PVC, version=(3, 4))
