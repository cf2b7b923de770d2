"""Arrays whose elements are not what the kernel's pointers point to are noted, and taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import visim
from visim.runtime.arguments.pointees import Pointees
from visim.runtime.arguments.values import Parameter

ZEBIN = Path(__file__).parents[3] / "corpus" / "scale_pvc.zebin"


def _notes(type_name: str, array: object) -> tuple[str, ...]:
    return Pointees([Parameter("x", "buffer", 8, type_name)]).notes([array])


@pytest.mark.parametrize(
    ("type_name", "dtype"),
    [
        ("float*", "f8"),
        ("float4*", "f8"),
        ("float*", "i8"),
        ("float*", "i4"),
        ("int*", "i8"),
        ("int*", "f4"),
        ("double*", "f4"),
        ("half*", "f4"),
        ("ulong8*", "u4"),
    ],
)
def test_another_width_or_kind_is_noted(type_name: str, dtype: str) -> None:
    array = np.zeros(4, dtype)
    assert _notes(type_name, array) == (
        f"argument 'x': the array has elements of {array.dtype}, the kernel takes their bytes for "
        f"{type_name}",
    )


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("float*", np.zeros(4, "f4")),
        ("uint2*", np.zeros(4, "i4")),
        ("float*", np.zeros(16, "u1")),
        ("float*", np.zeros(16, bool)),
        ("float*", np.zeros(4, "f4,f4")),
        ("char*", np.zeros(4, "f8")),
        ("void*", np.zeros(4, "f8")),
        ("struct floats*", np.zeros(4, "f8")),
        ("float*", visim.Buffer(16)),
        ("float*", None),
    ],
)
def test_what_stands_for_anything_is_not_noted(type_name: str, value: object) -> None:
    assert _notes(type_name, value) == ()


def test_reports_have_the_note_and_the_kernel_runs() -> None:
    [kernel] = visim.load(ZEBIN).kernels
    given = [np.ones(16, np.float64) if a.kind == "buffer" else 0 for a in kernel.args]
    report = kernel.launch(given, global_size=1)
    assert "elements of float64" in report.notes[0]
    assert "note: argument" in str(report)
