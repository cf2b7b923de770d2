"""Native instructions that vISA instructions become on each generation."""

from __future__ import annotations

import pytest

from tests.unit.timing.programs import kernel, multiply, multiply_add
from visim.errors import UnsupportedError
from visim.timing import find_machine
from visim.timing.legaliser import legalise

INTEGERS = tuple(
    f".decl V{60 + i} v_type=G type={kind} num_elts=16 align=GRF"
    for i, kind in enumerate(("d", "d", "d", "w", "q", "q", "df", "df", "hf", "hf"))
)


def natives(body, arch, *, simd=16, platform="skl"):
    program = kernel(body, simd=simd, declarations=INTEGERS, platform=platform)
    found = legalise(program._linked, find_machine(arch)).instructions
    return [item for item in found if item.pc < len(body)]


def opcodes(body, arch, **options):
    return [f"{item.opcode}({item.size})" for item in natives(body, arch, **options)]


def test_sixteen_channels_of_floats_are_one_compressed_instruction_on_gen6():
    (instruction,) = natives([multiply(40, 32, simd=16)], "snb")
    assert (instruction.size, instruction.sd, instruction.sx) == (16, 2, 2)


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("ilk", ["mul(16)", "add(16)"]),
        ("snb", ["mad(8)", "mad(8)"]),
        ("ivb", ["mad(8)", "mad(8)"]),
        ("hsw", ["mad(16)"]),
        ("skl", ["mad(16)"]),
        ("pvc", ["mad(16)"]),
    ],
)
def test_multiply_adds_are_as_wide_as_three_sources_allow(arch, expected):
    assert opcodes([multiply_add(40, 32, 33, 34, simd=16)], arch) == expected


@pytest.mark.parametrize(("arch", "count"), [("snb", 2), ("ivb", 2), ("hsw", 2), ("skl", 1)])
def test_math_has_eight_channels_before_gen8(arch, count):
    body = ["sqrt (M1, 16) V40(0,0)<1> V32(0,0)<1;1,0>"]
    assert len(natives(body, arch)) == count


def test_halves_of_a_split_instruction_have_their_own_channels_and_registers():
    first, second = natives([multiply_add(40, 32, 33, 34, simd=16)], "snb")
    assert (first.group, second.group) == (0, 8)
    assert not set(first.writes) & set(second.writes)


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("snb", ["mul(16)", "mach(16)", "mov(16)"]),
        ("bdw", ["mul(16)"]),
        ("dg2", ["mul(16)", "macl(16)"]),
    ],
)
def test_products_of_dwords_are_what_the_generation_has(arch, expected):
    body = ["mul (M1, 16) V60(0,0)<1> V61(0,0)<1;1,0> V62(0,0)<1;1,0>"]
    assert opcodes(body, arch) == expected


def test_products_with_words_are_one_instruction():
    body = ["mul (M1, 16) V60(0,0)<1> V61(0,0)<1;1,0> V63(0,0)<1;1,0>"]
    assert opcodes(body, "snb") == ["mul(16)"]


def test_narrow_results_are_packed_by_a_move():
    body = ["add (M1, 16) V63(0,0)<1> V60(0,0)<1;1,0> V61(0,0)<1;1,0>"]
    assert opcodes(body, "skl") == ["add(16)", "mov(16)"]


def test_qwords_are_native_or_expanded():
    body = ["add (M1, 8) V64(0,0)<1> V64(0,0)<1;1,0> V65(0,0)<1;1,0>"]
    assert opcodes(body, "skl", simd=8) == ["add(8)"]
    assert len(opcodes(body, "tgl", simd=8)) == 4
    assert len(opcodes(body, "snb", simd=8)) == 4


def test_qwords_split_where_two_registers_end():
    body = ["add (M1, 16) V64(0,0)<1> V64(0,0)<1;1,0> V65(0,0)<1;1,0>"]
    assert opcodes(body, "skl") == ["add(8)", "add(8)"]
    assert opcodes(body, "pvc", platform="pvc") == ["add(16)"]


def test_doubles_are_refused_where_there_are_none():
    body = ["add (M1, 8) V66(0,0)<1> V66(0,0)<1;1,0> V67(0,0)<1;1,0>"]
    with pytest.raises(UnsupportedError, match="tgl cannot compute in type DF"):
        opcodes(body, "tgl", simd=8)


def test_messages_take_their_payload_through_message_registers_on_gen6():
    body = [
        "movs (M1_NM, 1) T6(0) 0x0:ud",
        "mov (M1, 8) V41(0,0)<1> V40(0,0)<1;1,0>",
        "scatter4_scaled.R (M1, 8) T6 0x0:ud V70.0 V40.0",
    ]
    offsets = ".decl V70 v_type=G type=ud num_elts=16 align=GRF"
    surface = ".decl T6 v_type=T num_elts=1"
    program = kernel(body, simd=8, declarations=(*INTEGERS, offsets, surface))
    moves = legalise(program._linked, find_machine("snb")).instructions
    texts = [str(item) for item in moves if item.pc == 2]
    assert texts[0].startswith("mov(8) m1 ")
    assert texts[1].startswith("mov(8) m2 ")
    assert texts[2].startswith("send.surface.store(8) - m1-m2")
    later = legalise(program._linked, find_machine("skl")).instructions
    assert [item.opcode for item in later if item.pc == 2] == ["sends.surface.store"]


def test_the_kernel_ends_with_a_message():
    program = kernel([multiply(40, 32, simd=16)], simd=16)
    last = legalise(program._linked, find_machine("snb")).instructions[-1]
    assert last.kind == "message.eot"
