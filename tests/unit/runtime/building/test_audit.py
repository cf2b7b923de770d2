"""The audit of zebin kernels: text and metadata agree, or the finding says on what they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.runtime.kernels import HEADER, PayloadArgument, ZeBuilder, local_id_bytes
from visim.binary.zeinfo import PerThreadMemoryBuffer, PerThreadPayloadArgument
from visim.check.abi import ABI_RULES
from visim.diag import Source
from visim.runtime.building.audit import audit
from visim.target import platform
from visim.text import read_text

CROSS = 32 + local_id_bytes(32, 16)


def text(*lines: str, simd: int = 16) -> str:
    return "\n".join(
        [
            '.version 4.1\n.kernel "k"',
            ".decl X v_type=G type=ud num_elts=1",
            ".decl D v_type=G type=d num_elts=64 align=GRF",
            f".kernel_attr SimdSize={simd}",
            *lines,
            "ret (M1, 1)\n",
        ]
    )


def codes(kernel, source: str, device="skl") -> list[str]:
    unit = read_text(Source("k.visaasm", source)).kernels[0]
    return [finding.code for finding in audit(kernel, unit, platform(device))]


def kernel(payload=HEADER, **environment):
    return ZeBuilder("skl", payload=payload, environment=environment).kernel


def test_a_kernel_that_agrees_has_no_findings():
    assert not codes(kernel(), text(f".input X offset={CROSS} size=4"))


def test_the_local_ids_are_explained():
    ids = ".decl I v_type=G type=uw num_elts=16 align=GRF\n.input I offset=32 size=32"
    assert not codes(kernel(), text(ids))


def test_another_simd_size_is_found():
    assert codes(kernel(), text(simd=8)) == ["abi-simd-size"]


def test_inputs_of_the_compiler_may_lie_anywhere_if_they_are_not_read():
    inputs = (
        ".decl T6 v_type=T num_elts=1",
        f".input T6 offset={CROSS + 64} size=4",
        f".implicit_UNDEFINED_12 X offset={CROSS + 96} size=4",
    )
    assert not codes(kernel(), text(*inputs))
    read = "mov (M1_NM, 1) D(0,0)<1> X(0,0)<0;1,0>"
    assert codes(kernel(), text(*inputs, read)) == ["abi-input-unexplained"]


def test_an_input_outside_the_payload_is_found():
    assert codes(kernel(), text(f".input X offset={CROSS + 64} size=4")) == [
        "abi-input-unexplained"
    ]


def test_an_input_that_ends_behind_the_payload_is_found():
    short = kernel(payload=(PayloadArgument("arg_byvalue", 0, 2, 0),))
    assert codes(short, text(f".input X offset={CROSS} size=4")) == ["abi-input-beyond"]


def test_an_input_behind_the_last_register_is_found():
    small = kernel(payload=(PayloadArgument("arg_byvalue", 0, 64, 0),), grf_count=4)
    found = codes(small, text(f".input X offset={CROSS} size=4"))
    assert found == ["abi-grf-count", "abi-grf-count"]


@pytest.mark.parametrize(
    ("line", "code", "announced"),
    [
        ("barrier", "abi-barrier", {"barrier_count": 1}),
        ("lsc_load.slm (M1, 16) D:d32 flat[D]:a32", "abi-slm", {"slm_size": 1024}),
        ("fcall (M1, 16) f 1 1", "abi-stack-calls", {"has_stack_calls": True}),
    ],
)
def test_a_resource_is_announced_before_it_is_used(line, code, announced):
    source = text(line).replace('.kernel "k"', '.kernel "k"\n.funcdecl "f"')
    assert codes(kernel(), source) == [code]
    assert not codes(kernel(**announced), source)


def test_local_arguments_announce_shared_local_memory():
    pointer = PayloadArgument("arg_bypointer", 0, 8, 0, "slm", "local")
    source = text("lsc_load.slm (M1, 16) D:d32 flat[D]:a32")
    assert not codes(kernel(payload=(pointer,)), source)


def test_a_fence_needs_no_shared_local_memory():
    assert not codes(kernel(), text("lsc_fence.slm.none.group"))


def test_findings_have_the_severity_of_their_rule():
    unit = read_text(Source("k.visaasm", text(simd=8))).kernels[0]
    (finding,) = audit(kernel(), unit, platform("skl"))
    assert finding.severity is ABI_RULES["abi-simd-size"].severity
    assert finding.rule == ABI_RULES["abi-simd-size"].passage


def test_an_input_with_a_part_of_an_argument_is_found():
    pointer = kernel(payload=(PayloadArgument("arg_bypointer", 4, 8, 0),))
    both = ".decl Q v_type=G type=uq num_elts=1\n"
    lines = f"{both}.input Q offset={CROSS} size=8"
    assert codes(pointer, text(lines)) == ["abi-input-unexplained", "abi-input-cut"]


def test_pieces_of_the_payload_that_overlap_are_found():
    pieces = (PayloadArgument("arg_byvalue", 0, 8, 0), PayloadArgument("arg_byvalue", 4, 4, 1))
    assert codes(kernel(payload=pieces), text()) == ["abi-payload-overlap"]


def test_a_piece_of_another_size_than_its_kind_has_is_found():
    short = kernel(payload=(PayloadArgument("buffer_address", 0, 4, 0),))
    assert codes(short, text()) == ["abi-payload-size"]


@pytest.mark.parametrize(("kind", "is_code"), [("buffer_address", True), ("global_size", False)])
def test_code_for_32_bit_addresses_is_told_from_other_sizes(kind: str, is_code: bool):
    """As `ocloc compile -32` and SPIR-V whose memory model is Physical32 give it."""
    unit = read_text(Source("k.visaasm", text())).kernels[0]
    entry = kernel(payload=(PayloadArgument(kind, 0, 4, 0),))
    found = [one for one in audit(entry, unit, platform("pvc")) if one.code == "abi-payload-size"]
    assert ["32-bit addresses" in (one.help or "") for one in found] == [is_code]


@pytest.mark.parametrize(("device", "count", "found"), [
    ("skl", 128, []), ("skl", 256, ["abi-grf-count"]), ("pvc", 256, []),
    ("dg2", 64, ["abi-grf-count"]),
])  # fmt: skip
def test_the_number_of_registers_is_one_that_threads_have(
    device: str, count: int, found: list[str]
):
    entry = replace(kernel(payload=(), grf_count=count), per_thread_payload=())
    assert codes(entry, text(), device) == found


def test_local_ids_that_do_not_fill_registers_are_found():
    entry = replace(kernel(), per_thread_payload=(PerThreadPayloadArgument("local_id", 0, 48),))
    assert codes(entry, text()) == ["abi-local-ids"]


def test_packed_local_ids_take_one_register():
    packed = (PerThreadPayloadArgument("packed_local_ids", 0, 6),)
    entry = replace(kernel(simd_size=1), per_thread_payload=packed)
    ids = ".decl I v_type=G type=uw num_elts=3 align=GRF\n.input I offset=32 size=6"
    assert not codes(entry, text(ids, ".input X offset=64 size=4", simd=1))


def test_scratch_that_the_text_reserves_is_there():
    reserved = text(".kernel_attr SpillMemOffset=512")
    memory = (PerThreadMemoryBuffer("scratch", "single_space", 1024),)
    assert codes(kernel(), reserved) == ["abi-scratch"]
    assert not codes(replace(kernel(), per_thread_memory=memory), reserved)


def test_less_shared_local_memory_than_the_text_says_is_found():
    assert codes(kernel(slm_size=1024), text(".kernel_attr SLMSize=2")) == ["abi-slm"]
    assert not codes(kernel(slm_size=2048), text(".kernel_attr SLMSize=2"))


def test_a_named_barrier_is_a_barrier():
    entry = replace(kernel(payload=()), per_thread_payload=())
    assert codes(entry, text("nbarrier.wait 0x1:ub"), "pvc") == ["abi-barrier"]
