"""Entries of the payload that compilers write since 2023 (visim.runtime.payload)."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest

from tests.unit.runtime.kernels import (
    HEADER,
    ArgInfo,
    PayloadArgument,
    ZeBuilder,
    linked,
    register,
    start_of,
)
from visim.binary.zebin import SegmentKind, Symbol, Zebin
from visim.binary.zeinfo import InlineSampler
from visim.engine.base import RunOptions
from visim.machine.surfaces import SAMPLER_STATE_BYTES, SURFACE_STATE_BYTES
from visim.runtime.launching.launch import make_engine
from visim.runtime.launching.running import run_plan
from visim.runtime.payload.segments import Segments
from visim.runtime.printf.records import current_receiver
from visim.target import platform

BASE = 256
"""Where the argument table begins in the registers of pvc code for 16 channels."""
POINTER = PayloadArgument("arg_bypointer", 24, 8, 0, "stateless", "global", "readwrite")
INFO = ArgInfo(0, "__global", "NONE", "int*;8", "NONE", "out")


def word(built, plan) -> int:
    """The variable `p` of the first thread."""
    (found,) = struct.unpack("<Q", register(built.linked, start_of(plan), "p"))
    return found


def segments():
    return Segments(
        Zebin(
            "data.zebin",
            "1.20",
            platform("pvc"),
            (),
            constant_data=bytes(range(48)),
            global_data=bytes(32),
            symbols=(Symbol("first", SegmentKind.CONST, 0, 4),),
        ),
        [],
    )


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_the_size_of_a_buffer_is_that_of_its_array(count):
    entry = PayloadArgument("buffer_size", 32, 8, 0)
    inputs = [("p", "uq", 1, BASE + 32)]
    built = ZeBuilder(payload=(*HEADER, POINTER, entry), inputs=inputs, args_info=[INFO])
    plan = built.plan([np.zeros(count, np.int32)], global_size=16)
    assert word(built, plan) == 4 * count


def test_a_null_pointer_has_no_bytes():
    entry = PayloadArgument("buffer_size", 32, 8, 0)
    inputs = [("p", "uq", 1, BASE + 32)]
    built = ZeBuilder(payload=(*HEADER, POINTER, entry), inputs=inputs, args_info=[INFO])
    assert word(built, built.plan([None], global_size=16)) == 0


class TestVariablesOfThePrograms:
    def test_their_address_is_in_the_payload(self):
        entry = PayloadArgument("const_base", 32, 8, bti_value=3)
        built = ZeBuilder(payload=(*HEADER, entry), inputs=[("p", "uq", 1, BASE + 32)])
        found = segments()
        plan = built.plan(segments=found, global_size=16)
        assert word(built, plan) == found.symbols["first"]
        assert 3 in plan.surfaces

    def test_so_is_the_offset_of_their_state(self):
        entry = PayloadArgument("global_base", 32, 4, addrmode="bindless")
        built = ZeBuilder(payload=(*HEADER, entry), inputs=[("p", "uq", 1, BASE + 32)])
        plan = built.plan(segments=segments(), global_size=16)
        index, rest = divmod(word(built, plan), SURFACE_STATE_BYTES)
        assert rest == 0
        assert index in plan.surfaces

    def test_a_payload_can_have_both(self):
        """Compilers since 2023 write both for mtl; the address was the state's offset once."""
        address = PayloadArgument("global_base", 32, 8)
        state = PayloadArgument("global_base", 40, 4, addrmode="bindless")
        built = ZeBuilder(payload=(*HEADER, address, state), inputs=[("p", "uq", 1, BASE + 32)])
        other = ZeBuilder(payload=(*HEADER, address), inputs=[("p", "uq", 1, BASE + 32)])
        found = segments()
        both = word(built, built.plan(segments=found, global_size=16))
        assert both == word(other, other.plan(segments=found, global_size=16)) > 1 << 32

    @pytest.mark.parametrize("name", ["const_base", "global_base"])
    def test_programs_without_any_get_null(self, name):
        entry = PayloadArgument(name, 32, 8)
        built = ZeBuilder(payload=(*HEADER, entry), inputs=[("p", "uq", 1, BASE + 32)])
        assert word(built, built.plan(global_size=16)) == 0


@pytest.mark.parametrize("name", ["indirect_data_pointer", "scratch_pointer"])
def test_what_only_the_finalizer_s_code_reads_is_null(name):
    entry = PayloadArgument(name, 32, 8)
    built = ZeBuilder(payload=(*HEADER, entry), inputs=[("p", "uq", 1, BASE + 32)])
    assert word(built, built.plan(global_size=16)) == 0


def test_a_sampler_of_the_program_has_a_state_of_its_own():
    sampler = InlineSampler(2, "clamp_edge", "linear", normalized=True)
    entry = PayloadArgument("inline_sampler", 32, 8, addrmode="bindless", sampler_index=2)
    built = ZeBuilder(
        payload=(*HEADER, entry),
        inputs=[("p", "uq", 1, BASE + 32)],
        inline_samplers=[sampler],
    )
    plan = built.plan(global_size=16)
    assert word(built, plan) == 2 * SAMPLER_STATE_BYTES
    assert plan.surfaces.has_sampler(2)


ASSERTING = """\
.version 4.1
.kernel "kernel"
.decl buffer v_type=G type=uq num_elts=1 align=qword
.decl flag v_type=G type=uq num_elts=1 align=qword
.decl kind v_type=G type=ud num_elts=1 align=dword
.input buffer offset=288 size=8
.kernel_attr SimdSize=16
.function "main_0"

main_0:
    lsc_load.ugm (M1_NM, 1) kind:d32 flat[buffer]:a64
    add (M1_NM, 1) flag(0,0)<1> buffer(0,0)<0;1,0> 0x4:uq
    mov (M1_NM, 1) kind(0,0)<1> KIND:ud
    lsc_store.ugm (M1_NM, 1) flat[flag]:a64 kind:d32
    ret (M1, 1)
"""


def asserting(kind: int) -> SimpleNamespace:
    """A kernel that sets the flag of its assert buffer to `kind`, and its plan."""
    entry = PayloadArgument("assert_buffer", 32, 8)
    built = ZeBuilder(payload=(*HEADER, entry))
    built.linked = linked(ASSERTING.replace("KIND", hex(kind)), "pvc")
    return SimpleNamespace(linked=built.linked, plan=built.plan(global_size=64))


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
@pytest.mark.parametrize(
    ("kind", "said"),
    [(1, "an assertion does not hold"), (3, "out of bounds"), (9, "flag to 9")],
)
def test_what_a_kernel_asserts_in_vain_is_a_fault_of_each_launch(engine, kind, said):
    built = asserting(kind)
    executable = make_engine(engine).prepare(built.linked)
    for _ in range(2):
        found = run_plan(built.plan, executable, RunOptions(), current_receiver())
        assert found.exit.fault.code == "assertion-failed"
        assert said in found.exit.fault.message


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_no_flag_is_no_fault(engine):
    built = asserting(0)
    executable = make_engine(engine).prepare(built.linked)
    found = run_plan(built.plan, executable, RunOptions(), current_receiver())
    assert found.exit.fault is None


def assert_buffer():
    plan = asserting(0).plan
    assert plan.assertions is not None
    plan.assertions.reset()
    return plan


def test_an_empty_assert_buffer_says_its_size_and_where_records_begin():
    buffer = assert_buffer().assertions.data
    assert struct.unpack_from("<3I", buffer) == (buffer.size, 0, 12)


def test_the_fault_has_the_text_of_the_assertion():
    plan = assert_buffer()
    text = np.frombuffer(b"%s:%d: n < 4\0file.cl\0", np.uint8).copy()
    where = plan.parts[0].machine.memory.add(text, "strings")
    record = struct.pack("<Q", where) + struct.pack("<IQ", 7, where + 13) + struct.pack("<Ii", 3, 5)
    plan.assertions.data[12 : 12 + len(record)] = np.frombuffer(record, np.uint8)
    struct.pack_into("<2I", plan.assertions.data, 4, 1, 12 + len(record))
    fault = plan.assertions.fault()
    assert fault.message == "an assertion does not hold: file.cl:5: n < 4"


def test_a_record_that_is_none_is_said():
    plan = assert_buffer()
    struct.pack_into("<2I", plan.assertions.data, 4, 1, 12 + 64)
    assert "overwritten" in plan.assertions.fault().message
