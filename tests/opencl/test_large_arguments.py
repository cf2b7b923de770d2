"""Arguments that are large structs: compilers declare an input for every four bytes of them."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from tests.opencl.building import built
from tests.opencl.case import ALL_DEVICES
from visim.check.variables import MOST_INPUTS

pytestmark = pytest.mark.usefixtures("each_engine")

COUNT = MOST_INPUTS + 44
SOURCE = f"""
typedef struct {{ int values[{COUNT}]; }} table;
kernel void picked(global int *out, global const int *which, table given) {{
    size_t i = get_global_id(0);
    out[i] = given.values[which[i]];
}}
"""


@pytest.mark.parametrize("device", ALL_DEVICES)
def test_every_element_of_a_large_struct_arrives(device: str) -> None:
    kernel = built(SOURCE, device)["picked"]
    assert kernel.source.count("\n.input") > MOST_INPUTS
    given = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, COUNT, np.int32)
    which = np.random.default_rng(1).permutation(COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    kernel.launch([out, which, given.tobytes()], global_size=COUNT)
    assert (out == given[which]).all()


def test_their_program_is_written_as_an_object_and_read_again() -> None:
    program = built(SOURCE, "pvc")
    assert visim.load(program.to_object(), platform="pvc").text() == program.text()
