"""Elements with gaps between them, as fields and colours, are loaded alike on every processor."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import visim
import visim.opencl
from tests.opencl.building import built
from tests.opencl.fences import fenced, run_apart
from visim.engine.jit.common import native
from visim.engine.jit.ir.spacing import Spacer
from visim.engine.jit.ir.text import Text

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
    if processor and not native.IS_X86:
        pytest.skip("this host is no x86-64")
    built(SOURCE, device)  # Where ocloc is missing the test is skipped here.
    # In a process of its own, which a wrong access ends.
    run_apart(__name__, f"check({device!r})", VISIM_CPU=processor)


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
        text, register_bytes=register_bytes, permuted_bytes=permuted_bytes, gathers=False
    )
    found = spacer.load("%row", scalar, 32, stride)
    if loads is None:
        assert found is None
        assert not text.lines
    else:
        assert sum(" load <" in line for line in text.lines) == loads
