"""Elements with gaps between them, as fields and colours, are loaded alike on every processor."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import visim
from tests.hosts import IS_X86
from tests.opencl.building import built
from tests.opencl.fences import fenced, run_apart
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.spacing import Spacer
from visim.engine.jit.ir.text import Text
from visim.engine.jit.targets import X86_64

KINDS = {"uchar": np.uint8, "ushort": np.uint16, "uint": np.uint32, "ulong": np.uint64}
STRIDES = (3, 4, 5, 6, 12, 19)
ITEMS = 64
SOURCE = "".join(
    f"""
    kernel void {verb}_{name}(global {name} *out, global const {name} *in, int end) {{
        int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
        if ({condition}) {{{
        "".join(
            f"out[{number * ITEMS} + i] = in[{stride} * i + (end ? end - {reach} : 0)];"
            for number, stride in enumerate(STRIDES)
            for reach in [stride * (ITEMS - 1) + 1]
        )
    }}}
    }}"""
    for name in KINDS
    for verb, condition in (("all", "1"), ("some", "i & 5"))
)
STARTS = [1 + ITEMS * sum(STRIDES[:number]) for number in range(len(STRIDES))]
FIELDS = ITEMS * sum(STRIDES)
"""Where structures of six numbers begin, of which three are stored."""
STORED = "".join(
    f"""
    kernel void put_{verb}_{name}(global {name} *out, global const {name} *in) {{
        int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
        {name} s = in[i];
        if ({condition}) {{{
        "".join(
            f"out[{start} + {stride} * i] = s + {start};"
            for start, stride in zip(STARTS, STRIDES, strict=True)
        )
    }
            for (int k = 0; k < 3; ++k) out[{FIELDS} + 6 * i + k] = s + 7 * k;
        }}
    }}"""
    for name in KINDS
    for verb, condition in (("all", "1"), ("some", "i & 5"))
)
GROUPS = [((64, 1), (32, 1)), ((8, 8), (8, 8))]


def check(device: str) -> None:
    """Run all kernels on arrays that end where memory ends, and on those that begin there."""
    program = built(SOURCE, device)
    for name, kind in KINDS.items():
        for at_end in (True, False):
            array = fenced(kind, STRIDES[-1] * (ITEMS - 1) + 1, at_end=at_end)
            array[:] = np.random.default_rng(1).integers(1, 1 << 8, array.size)
            array *= kind(1 + (1 << 8 * array.itemsize - 8))
            for sizes in GROUPS:
                check_one(program, name, array, sizes, at_end=at_end)


def check_one(
    program: visim.Program,
    name: str,
    array: Any,
    sizes: tuple[tuple[int, int], tuple[int, int]],
    *,
    at_end: bool,
) -> None:
    expected = np.array(
        [
            array[array.size - 1 - stride * (ITEMS - 1) :: stride][:ITEMS]
            if at_end
            else array[::stride][:ITEMS]
            for stride in STRIDES
        ]
    )
    for kernel, on in (("all", np.ones(ITEMS)), ("some", np.arange(ITEMS) & 5)):
        found = np.zeros((len(STRIDES), ITEMS), array.dtype)
        given = [found, array, np.int32(array.size if at_end else 0)]
        program[f"{kernel}_{name}"].launch(
            given, global_size=sizes[0], local_size=sizes[1], engine="jit"
        )
        np.testing.assert_array_equal(found, expected * (on != 0))


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages as Linux does")
@pytest.mark.parametrize(
    ("device", "processor"),
    [("tgllp", ""), *(("pvc", one) for one in ("", "x86-64-v3", "x86-64-v2", "x86-64"))],
)
def test_rows_with_gaps_are_loaded_alike(device: str, processor: str) -> None:
    if processor and not IS_X86:
        pytest.skip("this host is not x86-64")
    built(SOURCE, device)  # Where ocloc is missing the test is skipped here.
    # In a process of its own, which a wrong access ends.
    run_apart(__name__, f"check({device!r})", VISIM_CPU=processor)


def check_stores(device: str) -> None:
    """Run all kernels that store, and compare what they leave in gaps, too."""
    program = built(STORED, device)
    for name, kind in KINDS.items():
        values = np.random.default_rng(2).integers(0, 1 << 30, ITEMS).astype(kind)
        before = np.random.default_rng(3).integers(0, 1 << 30, FIELDS + 6 * ITEMS).astype(kind)
        for verb, on in (("all", np.full(ITEMS, True)), ("some", (np.arange(ITEMS) & 5) != 0)):
            expected = before.copy()
            for start, stride in zip(STARTS, STRIDES, strict=True):
                row = expected[start : start + stride * ITEMS : stride]
                row[on] = (values + kind(start & (1 << 8 * values.itemsize) - 1))[on]
            for k in range(3):
                expected[FIELDS + k :: 6][on] = (values + kind(7 * k))[on]
            for global_size, local_size in GROUPS:
                found = before.copy()
                program[f"put_{verb}_{name}"].launch(
                    [found, values], global_size=global_size, local_size=local_size, engine="jit"
                )
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("device", "processor"),
    [("tgllp", ""), ("pvc", ""), ("pvc", "x86-64-v3")],
)
def test_stores_leave_gaps_alone(
    device: str, processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if processor and not IS_X86:
        pytest.skip("this host is not x86-64")
    monkeypatch.setenv("VISIM_CPU", processor)
    check_stores(device)


@pytest.mark.parametrize(
    ("scalar", "parts", "stride", "stores"),
    [
        ("i8", 1, 3, 2),
        ("i16", 1, 3, 2),
        ("i32", 3, 24, 11),
        ("i8", 1, 32, None),
        ("i8", 3, 3, None),
    ],
)
def test_few_stores_are_written(scalar: str, parts: int, stride: int, stores: int | None) -> None:
    text, library = Text(), Library(X86_64)
    spacer = Spacer(text, library, register_bytes=64, permuted_bytes=64, gathers=True)
    done = spacer.store("%row", scalar, parts, stride, "%woven", range(32), 32)
    assert done is (stores is not None)
    assert sum(" @llvm.masked.store" in line for line in text.lines) == (stores or 0)


@pytest.mark.parametrize(
    ("register_bytes", "permuted_bytes", "scalar", "stride", "loads"),
    [
        (64, 64, "i8", 3, 2),
        (64, 64, "i16", 3, 2),
        (64, 16, "i8", 3, 6),
        (64, 64, "float", 12, 6),
        (32, 16, "float", 12, 12),
        (16, 0, "i8", 3, None),
        (64, 64, "float", 6, None),
        (64, 64, "float", 64, None),
    ],
)
def test_few_loads_are_written(
    register_bytes: int, permuted_bytes: int, scalar: str, stride: int, loads: int | None
) -> None:
    text = Text()
    spacer = Spacer(
        text,
        Library(X86_64),
        register_bytes=register_bytes,
        permuted_bytes=permuted_bytes,
        gathers=False,
    )
    found = spacer.load("%row", scalar, 32, stride)
    if loads is None:
        assert found is None
        assert not text.lines
    else:
        assert sum(" load <" in line for line in text.lines) == loads
