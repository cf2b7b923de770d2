"""Loads of colours that are not neighbours: several accesses of one site, and one message."""

from __future__ import annotations

import pytest

from tests.unit.timing.memory_programs import addresses, kernel, observed

LOCAL = [".kernel_attr SLMSize=1"]
ACCESSES = {"R": 1, "RG": 1, "RGBA": 1, "RB": 2, "RA": 2, "RBA": 2}
"""Neighbouring colours are one access."""


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
@pytest.mark.parametrize("colours", ACCESSES)
def test_a_load_of_colours_is_one_message_whatever_is_between_them(
    colours: str, engine: str
) -> None:
    names = [".decl C v_type=G type=ud num_elts=64 align=GRF"]
    body = [*addresses(16), f"gather4_scaled.{colours} (M1, 16) %slm 0x0:ud A.0 C.0"] * 2
    program = kernel(body, platform="tgllp", declarations=names, attributes=LOCAL)
    result = observed(program, "tgl", 3, engine=engine).result
    found = [line for line in result.lines if "gather4" in line.text]
    for line in found:
        assert line.data is not None
        assert sum(native.is_send for native in line.native) == 1
        assert line.data.site.channels == 3 * 16 * ACCESSES[colours]
    assert len(found) == 2
