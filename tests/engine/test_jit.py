"""The JIT gives what the reference interpreter gives: registers, memory, faults and counts.

Kernels are those of the random control-flow programs and small texts; both engines run them.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

import visim
from visim.engine.base import RunOptions
from visim.engine.jit import Jit
from visim.errors import UnsupportedError
from visim.machine.memory import Memory

from . import harness
from .both import arithmetic, compare, on_interpreter, on_jit, store_kernel
from .generator import CHANGING, generate, inputs, text_of


@pytest.mark.parametrize("seed", range(24))
def test_random_control_flow_equals_the_interpreter(seed: int) -> None:
    program = generate(seed)
    values, mask = inputs(seed, program.simd)
    kernel = harness.assemble(text_of(program), program.platform)
    for name in CHANGING:
        values[name] = np.zeros(32, np.uint8)
    assert compare(kernel, values, mask) is None


def test_addresses_of_surface_variables_are_refused_before_the_run() -> None:
    text = """.version 4.1
.kernel "k"
.decl T6 v_type=T num_elts=2
.decl A0 v_type=A num_elts=1
k:
    addr_add (M1_NM, 1) A0(0)<1> &T6 0x0:uw
    ret (M1, 1)
"""
    with pytest.raises(UnsupportedError, match="surface"):
        Jit().prepare(harness.assemble(text, "skl").linked)


def test_the_alt_mode_equals_the_interpreter() -> None:
    kernel = arithmetic("mul (M1, 16) V40(0,0)<1> V41(0,0)<1;1,0> V42(0,0)<1;1,0>", "f", 1)
    bits = np.array([0x7F7FFFFF, 0x00800000, 0x00000001, 0x3F800001] * 4, np.uint32)
    other = np.array([0x40000000, 0x3F000000, 0x40000000, 0x3F800001] * 4, np.uint32)
    values = {"V40": np.zeros(16, np.float32), "V41": bits, "V42": other}
    assert compare(kernel, values, 0xFFFF) is None


SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-40, -1e-42, 3.4e38, -3.4e38, np.inf, -np.inf, 0.1, 1 / 3]


@pytest.mark.parametrize("control", [0x4C0, 0x4D0, 0x4E0, 0x4F0, 0])
@pytest.mark.parametrize("name", ["add", "mul", "mad", "div", "sqrt"])
def test_float_arithmetic_has_the_same_bits_in_every_mode(name: str, control: int) -> None:
    a, b = "V40(0,0)<1;1,0>", "V41(0,0)<1;1,0>"
    sources = {"mad": f"{a} {b} {a}", "sqrt": a}.get(name, f"{a} {b}")
    kernel = arithmetic(f"{name} (M1, 16) V42(0,0)<1> {sources}", "f", control)
    rng = random.Random(f"{name}{control}")
    values = {
        variable: np.array(
            [rng.choice([rng.choice(SPECIAL), rng.uniform(-9, 9)]) for _ in range(16)], np.float32
        )
        for variable in ("V40", "V41")
    }
    registers = tuple((kernel.place(n), v.tobytes()) for n, v in values.items())
    _, want = on_interpreter(kernel, registers, 0xFFFF)
    want = want.copy()
    _, got = on_jit(kernel, registers, 0xFFFF)
    place = kernel.place("V42")
    x, y = (image[place : place + 64].view(np.float32) for image in (want, got))
    assert np.array_equal(np.isnan(x), np.isnan(y))
    assert np.array_equal(x.view(np.uint32)[~np.isnan(x)], y.view(np.uint32)[~np.isnan(y)])


COMPUTED = """
    mov (M1_NM, 1) %cr0(0,0)<1> V50(0,0)<0;1,0>
    add (M1, 16) V42(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>
    mad (M1, 16) V43(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0> V40(0,0)<1;1,0>
    mov (M1, 16) V44(0,0)<1> V43(0,0)<1;1,0>
    mov (M1, 16) V45(0,0)<1> V42(0,0)<1;1,0>
    cmp.lt (M1, 16) P1 V40(0,0)<1;1,0> V41(0,0)<1;1,0>
    (P1) add (M1, 16) V45(0,0)<1> V45(0,0)<1;1,0> 0x1:d
"""
IN_A_FUNCTION = """
    fcall (M1, 16) set 0 0
    add (M1, 16) V42(0,0)<1> V40(0,0)<1;1,0> V41(0,0)<1;1,0>
    mov (M1, 16) V44(0,0)<1> V42(0,0)<1;1,0>
"""
SET = """
.global_function "set"
    add (M1_NM, 1) %cr0(0,0)<1> %cr0(0,0)<0;1,0> 0x20:ud
    fret (M1, 16)
"""


@pytest.mark.parametrize("control", [0x4C0, 0x4D0, 0x14E0, 0x4F0, 0, 0x440])
@pytest.mark.parametrize(("body", "functions"), [(COMPUTED, ""), (IN_A_FUNCTION, SET)])
def test_rounding_follows_a_mode_that_only_the_running_program_knows(
    body: str, functions: str, control: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(control)
    values = {
        name: np.array([rng.choice([*SPECIAL, rng.uniform(-9, 9)]) for _ in range(16)], np.float32)
        for name in ("V40", "V41", "V42", "V43")
    }
    values |= {"V44": np.zeros(16, np.float16), "V45": np.zeros(16, np.int32)}
    values["V50"] = np.array([control], np.uint32)
    found = []
    for engine in harness.ENGINES.values():
        monkeypatch.setattr(harness.CHOSEN, "engine", engine)
        found.append(harness.run(body, values, {"P1": 0}, functions=functions))
    want, got = found
    assert got.exit.fault is None
    assert got.exit == want.exit
    for name in values:
        assert np.array_equal(want[name], got[name], equal_nan=name != "V45"), name


@pytest.mark.parametrize("bad", [0, 7, 15])
def test_refused_store_is_the_same_fault_and_writes_nothing(bad: int) -> None:
    kernel = store_kernel()
    data = np.zeros(16, np.uint32)
    memory = Memory()
    base = memory.add(data, "data")
    addresses = base + 4 * np.arange(16, dtype=np.uint64)
    addresses[bad] = base + 64
    registers = (
        (kernel.place("V40"), addresses.tobytes()),
        (kernel.place("V41"), np.arange(1, 17, dtype=np.uint32).tobytes()),
    )
    want, _ = on_interpreter(kernel, registers, 0xFFFF, memory=memory)
    got, _ = on_jit(kernel, registers, 0xFFFF, memory=memory)
    assert want.fault is not None
    assert got.fault == want.fault
    assert not data.any()


@pytest.mark.parametrize("mask", [0xFFFF, 0x0F3C, 0x8001])
@pytest.mark.parametrize("order", ["forward", "backward", "same"])
def test_stores_reach_memory_in_channel_order(order: str, mask: int) -> None:
    kernel = store_kernel()
    steps = {"forward": np.arange(16), "backward": np.arange(16)[::-1], "same": np.zeros(16)}
    found: list[np.ndarray] = []
    for engine in (on_interpreter, on_jit):
        data = np.zeros(16, np.uint32)
        memory = Memory()
        addresses = memory.add(data, "data") + 4 * steps[order].astype(np.uint64)
        registers = (
            (kernel.place("V40"), addresses.tobytes()),
            (kernel.place("V41"), np.arange(1, 17, dtype=np.uint32).tobytes()),
        )
        ended, _ = engine(kernel, registers, mask, memory=memory)
        assert ended.fault is None
        found.append(data)
    assert np.array_equal(*found)


def test_budget_ends_both_engines_at_the_same_place() -> None:
    text = "\n".join(
        [
            ".version 4.1",
            '.kernel "k"',
            ".decl V40 v_type=G type=d num_elts=16 align=wordx32",
            ".kernel_attr SimdSize=16",
            '.function "k"',
            "k:",
            "again:",
            "    add (M1, 16) V40(0,0)<1> V40(0,0)<1;1,0> 0x1:d",
            "    goto (M1, 1) again",
            "    ret (M1, 1)",
        ]
    )
    kernel = harness.assemble(text + "\n", "pvc")
    options = RunOptions(budget=1000)
    want, _ = on_interpreter(kernel, (), 0xFFFF, options=options)
    got, _ = on_jit(kernel, (), 0xFFFF, options=options)
    assert want.fault is not None
    assert got == want


def test_engine_says_its_name() -> None:
    assert Jit().name == "jit"


def test_a_number_that_is_doubled_with_headroom_is_compiled() -> None:
    text = """
    .version 4.1
    .kernel "k"
    .decl X v_type=G type=d num_elts=1 align=dword
    .decl N v_type=G type=w num_elts=16 align=GRF
    .decl OUT v_type=G type=uq num_elts=1 align=qword
    .input X offset=64 size=4
    .input OUT offset=72 size=8
    .kernel_attr SimdSize=16
    add3.sat (M1_NM, 1) N(0,0)<1> X(0,0)<0;1,0> X(0,0)<0;1,0> 0x20:ud
    svm_block_st (1) OUT(0,0)<0;1,0> N.0
    ret (M1, 1)
    """
    kernel = visim.assemble(text, platform="pvc")["k"]
    found = np.zeros(8, np.int16)
    kernel.launch([1000, found], engine="jit")
    assert found[0] == 2032
