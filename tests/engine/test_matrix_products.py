"""DPAS gives what NumPy gives for the matrices that its tiles hold, in every precision."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine.harness import Threads, run
from tests.model import matrix
from tests.model.matrix import Elements

INTEGERS = [name for name, kind in matrix.ELEMENTS.items() if not kind.is_float]
PAIRS = [(w, a) for w in INTEGERS for a in INTEGERS]
DEVICES = {"dg2": (8, 32), "pvc": (16, 64)}
REPEATS = 3


def integers(rng, kind: Elements, shape):
    low = -(1 << kind.bits - 1) if kind.is_signed else 0
    values = rng.integers(low, low + (1 << kind.bits), shape)
    values.reshape(-1)[:2] = low, low + (1 << kind.bits) - 1
    return values


def floats(rng, name, shape):
    """Values that the format holds, of both signs and several magnitudes."""
    step = {"bf8": 1.0, "bf": 0.125, "hf": 2.0**-7, "tf32": 2.0**-7}[name]
    least = {"bf8": 4, "bf": 128, "hf": 1024, "tf32": 1024}[name]
    return rng.integers(-least, least, shape) * step * np.exp2(rng.integers(-2, 3, shape) * 1.0)


def multiply(device, weights, activations, depth, c, a, b):
    """Run one DPAS on packed tiles and return its destination as rows."""
    channels, grf = DEVICES[device]
    rows = matrix.packed_rows(a, activations)
    # Src2 starts in the middle of its variable: behind a register and 4 dwords.
    octets = np.zeros(grf + 16 + len(rows), np.uint8)
    octets[grf + 16 :] = rows
    octets = np.resize(octets, -(-len(octets) // 4) * 4)
    columns = matrix.packed_columns(b, weights)
    ended = run(
        f"dpas.{weights}.{activations}.{depth}.{len(a)} (M1, {channels}) "
        f"V42.0 V40.0 V41.{grf} V43(1,4)",
        {
            "V40": c.reshape(-1),
            "V41": np.concatenate([np.zeros(grf, np.uint8), columns]).view(np.int32),
            "V42": np.zeros(c.size, c.dtype),
            "V43": octets.view(np.int32),
        },
        simd=channels,
        platform=device,
    )
    assert ended.exit.fault is None
    return ended["V42"].reshape(c.shape)


@pytest.mark.parametrize(("weights", "activations"), PAIRS)
def test_integers_of_all_precisions(weights, activations):
    rng = np.random.default_rng(PAIRS.index((weights, activations)))
    device = ("dg2", "pvc")[PAIRS.index((weights, activations)) % 2]
    channels = DEVICES[device][0]
    terms = 8 * matrix.depth_step(weights, activations)
    a = integers(rng, matrix.ELEMENTS[activations], (REPEATS, terms))
    b = integers(rng, matrix.ELEMENTS[weights], (terms, channels))
    c = rng.integers(-(2**31), 2**31, (REPEATS, channels)).astype(np.int32)
    found = multiply(device, weights, activations, 8, c, a, b)
    np.testing.assert_array_equal(found, matrix.integer_product(a, b, c))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("repeats", range(1, 9))
@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize(("weights", "activations"), [("s8", "u8"), ("u4", "s4"), ("u2", "u1")])
def test_every_depth_and_repeat_count(device, repeats, depth, weights, activations):
    rng = np.random.default_rng(depth * 8 + repeats)
    channels = DEVICES[device][0]
    terms = depth * matrix.depth_step(weights, activations)
    a = integers(rng, matrix.ELEMENTS[activations], (repeats, terms))
    b = integers(rng, matrix.ELEMENTS[weights], (terms, channels))
    c = rng.integers(-1000, 1000, (repeats, channels)).astype(np.int32)
    found = multiply(device, weights, activations, depth, c, a, b)
    np.testing.assert_array_equal(found, matrix.integer_product(a, b, c))


def test_rows_that_do_not_start_at_a_byte():
    rng = np.random.default_rng(5)
    a = integers(rng, matrix.ELEMENTS["s1"], (5, 4))
    b = integers(rng, matrix.ELEMENTS["s8"], (4, 8))
    c = np.zeros((5, 8), np.int32)
    found = multiply("dg2", "s8", "s1", 1, c, a, b)
    np.testing.assert_array_equal(found, matrix.integer_product(a, b, c))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("depth", [1, 8])
@pytest.mark.parametrize("name", ["hf", "bf", "tf32", "bf8"])
def test_floats_accumulate_one_element_after_the_other(device, depth, name):
    rng = np.random.default_rng(11)
    channels = DEVICES[device][0]
    terms = depth * matrix.depth_step(name, name)
    a, b = floats(rng, name, (8, terms)), floats(rng, name, (terms, channels))
    c = rng.normal(0, 100, (8, channels)).astype(np.float32)
    found = multiply(device, name, name, depth, c, a, b)
    np.testing.assert_array_equal(found, matrix.float_product(a, b, c))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("repeats", "depth"), [(3, 2), (5, 2), (7, 1)])
@pytest.mark.parametrize("name", ["hf", "bf", "tf32"])
def test_tiles_of_few_elements(device, repeats, depth, name):
    """A has 7 to 20 elements; the last of them share no whole register with others."""
    rng = np.random.default_rng(13)
    terms, channels = depth * matrix.depth_step(name, name), DEVICES[device][0]
    a, b = floats(rng, name, (repeats, terms)), floats(rng, name, (terms, channels))
    c = rng.normal(0, 100, (repeats, channels)).astype(np.float32)
    found = multiply(device, name, name, depth, c, a, b)
    np.testing.assert_array_equal(found, matrix.float_product(a, b, c))


def test_a_half_accumulator_is_rounded_once_at_the_end():
    rng = np.random.default_rng(12)
    a, b = floats(rng, "hf", (4, 16)), floats(rng, "hf", (16, 16))
    c = rng.normal(0, 100, (4, 16)).astype(np.float16)
    found = multiply("pvc", "hf", "hf", 8, c, a, b)
    np.testing.assert_array_equal(found, matrix.float_product(a, b, c).astype(np.float16))


def test_denormals_and_special_values_of_floats():
    a = np.array([[2.0**-24, 0.0], [np.inf, 1.0], [np.inf, -np.inf], [0.0, -0.0]])
    b = np.full((2, 8), 2.0**-14)
    c = np.array([0.0, 1.0, 1.0, -0.0], np.float32).repeat(8).reshape(4, 8)
    found = multiply("dg2", "hf", "hf", 1, c, a, b)
    expected = np.array([2.0**-38, np.inf, np.nan, 0.0], np.float32)
    np.testing.assert_array_equal(found[:, 0], expected)


def test_a_null_accumulator_is_zero():
    a, b = np.arange(8)[None, :4].repeat(1, 0), np.ones((4, 8), np.int64)
    ended = run(
        "dpas.s8.s8.1.1 (M1, 8) V42.0 %null.0 V41.0 V43(0,0)",
        {
            "V41": matrix.packed_columns(b, "s8").view(np.int32),
            "V42": np.full(8, 9, np.int32),
            "V43": matrix.packed_rows(a, "s8").view(np.int32),
        },
        simd=8,
        platform="dg2",
    )
    np.testing.assert_array_equal(ended["V42"], np.full(8, 6))


def test_all_channels_are_written_whatever_is_on():
    ended = run(
        "dpas.s8.s8.1.1 (M1, 8) V42.0 %null.0 V41.0 V43(0,0)",
        {
            "V41": np.full(8, 0x01010101, np.int32),
            "V42": np.full(8, 9, np.int32),
            "V43": np.full(1, 0x01010101, np.int32),
        },
        simd=8,
        platform="dg2",
        mask=0x0F,
    )
    np.testing.assert_array_equal(ended["V42"], np.full(8, 4))


@pytest.mark.parametrize(
    ("text", "platform", "reason"),
    [
        ("dpas.s8.s8.8.8 (M1, 8)", "skl", "skl has no matrix instructions"),
        ("dpas.s8.s8.8.8 (M1, 8)", "pvc", "the execution size is 16 on pvc"),
        ("dpas.hf.bf.8.8 (M1, 8)", "dg2", "hf and bf do not go together"),
        ("dpas.s8.s8.3.8 (M1, 8)", "dg2", "the depth is 1, 2, 4 or 8, found 3"),
        ("dpas.s8.s8.8.9 (M1, 8)", "dg2", "the repeat count is 1 to 8, found 9"),
        ("dpas.hf.hf.8.8 (M1, 8)", "dg2", "dst of a product of hf is F or HF, found D"),
        ("dpasw.s8.s8.8.8 (M1, 16)", "pvc", "pvc has no fused threads"),
    ],
)
def test_what_the_page_does_not_allow_stops_the_run(text, platform, reason):
    variables = {name: np.zeros(128, np.int32) for name in ("V40", "V41", "V42", "V43")}
    ended = run(f"{text} V42.0 V40.0 V41.0 V43(0,0)", variables, simd=8, platform=platform)
    assert ended.fault.category == "unsupported"
    assert reason in ended.fault.message


def halves(a, name):
    """Return the registers of A that the first and the second thread of a pair hold."""
    octets = matrix.packed_rows(a, name)
    registers = -(-len(octets) // 32)
    own = (registers + 1) // 2 * 32
    parts = [np.full(256, 0x55, np.uint8), np.full(256, 0x55, np.uint8)]
    parts[0][: len(octets[:own])] = octets[:own]
    parts[1][: len(octets[own:])] = octets[own:]
    return [part.view(np.int32) for part in parts]


STORE = """
    shl (M1_NM, 1) V50(0,0)<1> V48(0,0)<0;1,0> 0x8:ud
    add (M1_NM, 1) V49(0,0)<1> V47(0,0)<0;1,0> V50(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[V49]:a64 V42:d32x64t
"""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("weights", "activations", "repeats"),
    [("s8", "u8", 8), ("s8", "s4", 5), ("s8", "u2", 3), ("s8", "u2", 8), ("hf", "hf", 7)],
)
def test_a_fused_pair_shares_the_rows(weights, activations, repeats, seed):
    """Two pairs; each thread has its own B and C, and does the product twice."""
    rng = np.random.default_rng(seed)
    terms = 8 * matrix.depth_step(weights, activations)
    is_float = matrix.ELEMENTS[weights].is_float
    make = (
        floats
        if is_float
        else (lambda rng, name, shape: integers(rng, matrix.ELEMENTS[name], shape))
    )
    rows = [make(rng, activations, (repeats, terms)) for _ in range(2)]
    columns = [make(rng, weights, (terms, 8)) for _ in range(4)]
    kind = np.float32 if is_float else np.int32
    starts = [rng.integers(-99, 99, (8, 8)).astype(kind) for _ in range(4)]
    out = np.zeros((4, 8, 8), kind)
    product = f"dpasw.{weights}.{activations}.8.{repeats} (M1, 8)"
    ended = run(
        f"{product} V42.0 V40.0 V41.0 V43(0,0)\n{product} V42.0 V42.0 V41.0 V43(0,0)\n{STORE}",
        {
            "V40": Threads([c.reshape(-1) for c in starts]),
            "V41": Threads([matrix.packed_columns(b, weights).view(np.int32) for b in columns]),
            "V42": np.zeros(64, kind),
            "V43": Threads([half for a in rows for half in halves(a, activations)]),
            "V48": Threads([np.array([n], np.uint32) for n in range(4)]),
            "V49": np.zeros(1, np.uint64),
            "V50": np.zeros(1, np.uint32),
        },
        buffers={"V47": out},
        simd=8,
        platform="dg2",
        seed=seed,
    )
    assert ended.exit.fault is None
    multiply = matrix.float_product if is_float else matrix.integer_product
    for thread in range(4):
        a, b, c = rows[thread // 2], columns[thread], starts[thread][:repeats]
        expected = multiply(a, b, multiply(a, b, c))
        np.testing.assert_array_equal(out[thread, :repeats], expected)
        np.testing.assert_array_equal(out[thread, repeats:], np.zeros((8 - repeats, 8)))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_thread_that_misses_the_other_of_its_pair_is_named(threads):
    body = """
        cmp.eq (M1_NM, 1) P1 V48(0,0)<0;1,0> 0x1:ud
        (P1) jmp (M1_NM, 1) end
        dpasw.s8.s8.8.8 (M1, 8) V42.0 V42.0 V42.0 V42(0,0)
        end:
    """
    numbers = Threads([np.array([n], np.uint32) for n in range(threads)])
    given = {"V42": np.zeros(64, np.int32), "V48": numbers}
    ended = run(body, given, {"P1": 0}, simd=8, platform="dg2")
    assert (ended.fault.category, ended.fault.code) == ("undefined", "barrier-deadlock")
    missing = "thread 1" if threads == 2 else "a thread that the group lacks"
    assert f"wait at an instruction of a fused pair for {missing}" in ended.fault.message


def test_a_pair_that_is_at_different_instructions_is_undefined():
    body = """
        cmp.eq (M1_NM, 1) P1 V48(0,0)<0;1,0> 0x1:ud
        (P1) jmp (M1_NM, 1) other
        dpasw.s8.s8.8.8 (M1, 8) V42.0 V42.0 V42.0 V42(0,0)
        ret (M1, 1)
        other:
        dpasw.s8.s8.8.8 (M1, 8) V42.0 V42.0 V42.0 V42(0,0)
    """
    numbers = Threads([np.array([n], np.uint32) for n in range(2)])
    given = {"V42": np.zeros(64, np.int32), "V48": numbers}
    ended = run(body, given, {"P1": 0}, simd=8, platform="dg2")
    assert (ended.fault.category, ended.fault.code) == ("undefined", "fused-apart")
