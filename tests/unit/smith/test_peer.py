"""Intel's verifier takes random programs of the devices on which its assembler is sound."""

from __future__ import annotations

import pytest

from tests.mutations.peer import CRASH, PROGRAM
from tools.judge_smith import judged


@pytest.mark.skipif(PROGRAM is None, reason="GenX_IR is not installed")
@pytest.mark.parametrize("device", ["tgllp", "dg2"])
def test_programs_are_taken(device: str):
    found = judged(device, 0, 12)
    # A crash of the peer is no verdict.
    assert set(found) <= {None, CRASH}
    assert found[None] > 8
