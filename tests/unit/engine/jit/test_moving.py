"""What kernels share to move values: addresses of rows, and elements of lanes woven together."""

from __future__ import annotations

import ctypes
import random

import numpy as np
import pytest

from visim.engine.jit.common.entries import scheduler
from visim.engine.jit.common.moving import packed_widths
from visim.engine.jit.common.native import NativeCode, object_code, processor
from visim.engine.jit.ir.text import Text
from visim.engine.jit.ir.weaving import Weaver

ROW = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 5)
MOVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def extended(number: int, bits: int, *, signed: bool) -> int:
    """Return a number of `bits` bits as an integer."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> bits - 1 else number


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("core_bits", "bits"), [(64, 64), (32, 64), (32, 32), (27, 32), (16, 64)])
def test_rows_are_exact_modulo_their_widths(core_bits: int, bits: int, signed: bool) -> None:
    rng = random.Random(f"{core_bits} {bits} {signed}")
    write = ROW(scheduler().address("visim_row"))
    for lanes in (1, 8, 32):
        core = rng.choice([0, (1 << core_bits) - 3, 1 << core_bits - 1, rng.getrandbits(core_bits)])
        offset, step, scale = rng.getrandbits(bits), rng.choice([-4, 0, 1, 7]), rng.choice([1, 4])
        found = np.zeros(lanes, np.uint64)
        widths = packed_widths(lanes, core_bits, bits, signed=signed)
        write(found.ctypes.data, core, offset, step, scale, widths)
        wide = [extended(core + i * step, core_bits, signed=signed) for i in range(lanes)]
        assert found.tolist() == [(one * scale + offset) % (1 << bits) for one in wide]


def moved(lanes: int, parts: int, scalar: str, body: list[str]) -> bytes:
    """Return what code makes of the bytes 0, 1, 2 ..., as `%p`, in `%q`."""
    lines = ["define void @move(ptr %p, ptr %q) {", "entry:", *body, "  ret void", "}"]
    code = NativeCode(object_code("\n".join(lines), processor()), ["move"])
    source = np.arange(lanes * parts * int(scalar[1:]) // 8).astype(np.uint8)
    target = np.zeros_like(source)
    MOVE(code.addresses["move"])(source.ctypes.data, target.ctypes.data)
    return target.tobytes()


@pytest.mark.parametrize("scalar", ["i16", "i32", "i64"])
@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
def test_elements_of_lanes_are_taken_apart_and_woven(lanes: int, parts: int, scalar: str) -> None:
    size, vector = int(scalar[1:]) // 8, f"<{lanes} x {scalar}>"
    lanes_first = np.arange(lanes * parts * size).astype(np.uint8).reshape(lanes, parts, size)
    text = Text()
    values = Weaver(text).apart("%p", scalar, lanes, parts, parts * size) or []
    for part, value in enumerate(values):
        text.do(f"store {vector} {value}, ptr {text.at('%q', part * lanes * size)}, align 1")
    apart = moved(lanes, parts, scalar, text.lines)
    assert apart == lanes_first.transpose(1, 0, 2).tobytes()
    text, values = Text(), list[str]()
    for part in range(parts):
        place = text.at("%p", part * lanes * size)
        values.append(text.let(f"load {vector}, ptr {place}, align 1"))
    woven = Weaver(text).woven(values, lanes, scalar)
    text.do(f"store <{lanes * parts} x {scalar}> {woven}, ptr %q, align 1")
    parts_first = lanes_first.reshape(parts, lanes, size)
    assert moved(lanes, parts, scalar, text.lines) == parts_first.transpose(1, 0, 2).tobytes()


@pytest.mark.parametrize(("scalar", "parts"), [("i32", 4), ("i64", 2)])
@pytest.mark.parametrize("stride", [-64, -16, 8, 16, 48])
def test_sixteen_bytes_of_lanes_at_any_distance_are_taken_apart(
    scalar: str, parts: int, stride: int
) -> None:
    lanes, size = 32, 16 // parts
    first = 0 if stride > 0 else -stride * (lanes - 1)
    text = Text()
    values = Weaver(text).apart(text.at("%p", first), scalar, lanes, parts, stride) or []
    for part, value in enumerate(values):
        place = text.at("%q", part * lanes * size)
        text.do(f"store <{lanes} x {scalar}> {value}, ptr {place}, align 1")
    found = moved(lanes, 64 // size, scalar, text.lines)
    source = np.arange(64 * lanes).astype(np.uint8)
    at = first + stride * np.arange(lanes)
    bytes_of_lanes = source[at[:, None] + np.arange(16)].reshape(lanes, parts, size)
    assert found[: 16 * lanes] == bytes_of_lanes.transpose(1, 0, 2).tobytes()
