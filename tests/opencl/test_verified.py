"""What Intel's compiler emits without optimisation has no errors; load would refuse it otherwise.

It keeps what optimised code rarely has: calls, copies of %r0, products of bytes.
"""

from __future__ import annotations

import pytest

from tests.opencl.building import built_anew
from tests.opencl.cases import CASES

CHOSEN = [case for case in CASES if not case.keeps_state][::7]


@pytest.mark.parametrize("device", ["pvc", "skl"])
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.name)
def test_unoptimised_programs_are_loaded(case, device):
    if device not in case.devices:
        pytest.skip(case.devices_why)
    assert built_anew(case.text, device, f"{case.options} -cl-opt-disable").kernels
