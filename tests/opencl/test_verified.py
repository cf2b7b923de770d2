"""What Intel's compiler emits has no errors, and rare forms of it no warnings.

Load refuses programs with errors. Code that was not optimised keeps what optimised code rarely
has: calls, copies of %r0, products of bytes.
"""

from __future__ import annotations

import pytest

from tests.opencl.building import built, built_anew
from tests.opencl.cases import CASES
from visim.check import verify_module
from visim.diag import Severity, Source
from visim.target import platform
from visim.text import read_text

CHOSEN = [case for case in CASES if not case.keeps_state][::7]


@pytest.mark.parametrize("device", ["pvc", "skl"])
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_unoptimised_programs_are_loaded(case, device):
    if device not in case.devices:
        pytest.skip(case.devices_why)
    assert built_anew(case.text, device, f"{case.options} -cl-opt-disable").kernels


BYTES = """
__attribute__((intel_reqd_sub_group_size(8)))
kernel void copy_bytes(global const uchar *from, global uchar *to)
{
    uint first = get_group_id(0) * 8;
    intel_sub_group_block_write_uc(to + first, intel_sub_group_block_read_uc(from + first));
}
"""
VECTORS = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void copy_vectors(global const int8 *from, global int8 *to)
{
    to[get_global_id(0)] = from[get_global_id(0)];
}
"""


@pytest.mark.parametrize("device", ["dg2", "tgllp", "skl"])
def test_one_byte_for_each_of_eight_channels_is_two_dwords(device: str) -> None:
    text = built(BYTES, device)["copy_bytes"].source
    assert "gather_scaled.4 (M1_NM, 2)" in text
    assert "scatter_scaled.4 (M1_NM, 2)" in text
    assert _warnings(text, device) == []


def test_sixteen_channels_move_eight_dwords_each() -> None:
    text = built(VECTORS, "pvc")["copy_vectors"].source
    assert "lsc_load.ugm (M1, 16)" in text
    assert text.count(":d32x8") == 2
    assert _warnings(text, "pvc") == []


def _warnings(text: str, device: str) -> list[str]:
    findings = verify_module(read_text(Source("copy", text)), platform(device))
    return [found.message for found in findings if found.severity is not Severity.NOTE]
