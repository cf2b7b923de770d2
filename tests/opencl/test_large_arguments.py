"""Arguments that are large, or aligned to more than a register, and the inputs that they become."""

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


FIRST = """
kernel void rotated(local VECTOR *shared, global int *out, global const int *in, int added) {
    local int *numbers = (local int *)shared;
    size_t i = get_local_id(0);
    numbers[i] = in[get_global_id(0)] + added;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = numbers[(i + 1) % get_local_size(0)];
}
"""


@pytest.mark.parametrize("vector", ["int", "int8", "long8", "long16"])
@pytest.mark.parametrize("device", ALL_DEVICES)
def test_a_pointer_to_local_memory_of_long_vectors_comes_first(device: str, vector: str) -> None:
    """Compilers align it to its vectors, so that registers stay free in front of it."""
    kernel = built(FIRST, device, f"-DVECTOR={vector}")["rotated"]
    given = np.random.default_rng(2).integers(-1000, 1000, 64, np.int32)
    found = np.zeros_like(given)
    arguments = [visim.Local(1024), found, given, np.int32(7)]
    kernel.launch(arguments, global_size=64, local_size=32)
    expected = np.roll(given.reshape(2, 32), -1, axis=1).ravel() + 7
    assert (found == expected).all()
