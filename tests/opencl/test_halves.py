"""Instructions that compilers split into halves of the channels are one in native code.

Whatever becomes one, results and faults are those of the instructions as they stand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.opencl.building import built
from visim.errors import FaultError

SOURCE = """
kernel void picked(global const int *where, global const int *from, global int *to) {
    int i = get_global_id(0);
    to[i] = from[where[i]] * 3 + i;
}
kernel void placed(global const int *where, global const int *from, global int *to) {
    int i = get_global_id(0);
    to[where[i]] = from[i] - i;
}
kernel void pairs(global const int *where, global const int2 *from, global int2 *to) {
    int i = get_global_id(0);
    int2 v = from[where[i] / 2];
    to[i / 2] = v.yx + i;
}
kernel void fours(global const int *where, global const int4 *from, global int4 *to) {
    int i = get_global_id(0);
    int4 v = from[where[i] / 4];
    to[where[i] / 4] = v.wzyx * 5 + v;
}
kernel void octets(global const int *where, global const uchar *from, global uchar *to) {
    int i = get_global_id(0);
    uchar a = from[where[i]], b = from[i];
    to[i] = a > b ? a - b : b + where[i];
}
kernel void longs(global const int *where, global const long *from, global long *to) {
    int i = get_global_id(0);
    to[where[i] / 2] = from[i / 2] + ((long)i << 33);
}
kernel void walked(global const int *where, global const int *from, global int *to) {
    int i = get_global_id(0), sum = 0;
    for (int k = i & 7; k < where[i]; k += 1 + (i & 3)) {
        sum += from[k];
        if (sum & 1) to[i] = sum;
    }
}
kernel void chosen(global const int *where, global const int *from, global int *to) {
    int i = get_global_id(0), at = where[i];
    if (at % 3) to[i] = from[at];
    else if (at % 5) to[at] = from[i] + 1;
    else to[i] = at;
}
"""
KERNELS = ("picked", "placed", "pairs", "fours", "octets", "longs", "walked", "chosen")
DEVICES = ("tgllp", "dg2")
ITEMS = 192
"""As many elements have all arrays."""

Array = NDArray[Any]


def arrays(seed: int = 3) -> list[Array]:
    rng = np.random.default_rng(seed)
    where = rng.permutation(ITEMS).astype(np.int32)
    return [where, *(rng.integers(-1000, 1000, ITEMS).astype(np.int32) for _ in range(2))]


def launched(device: str, kernel: str, given: list[Array], engine: str) -> Any:
    """Return how a launch has ended, and what memory holds then."""
    sizes: dict[str, Any] = {"global_size": ITEMS, "local_size": ITEMS // 2}
    if engine == "jit":
        sizes["workers"] = 1
    try:
        built(SOURCE, device)[kernel].launch(given, engine=engine, **sizes)
        said = "well"
    except FaultError as error:
        said = repr(error.fault)
    return said, [one.tolist() for one in given]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_halves_give_what_they_give_apart(device: str, kernel: str) -> None:
    ours, theirs = (launched(device, kernel, arrays(), e) for e in ("jit", "interpreter"))
    assert theirs[0] == "well"
    assert ours == theirs


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lanes", [(3,), (17,), (20, 2), (40, 9, 21)])
def test_faults_are_those_of_the_half_that_has_them(
    device: str, kernel: str, lanes: tuple[int, ...]
) -> None:
    def bad() -> list[Array]:
        given = arrays()
        for lane in lanes:
            given[0][lane] = 1 << 28
        return given

    ours, theirs = (launched(device, kernel, bad(), e) for e in ("jit", "interpreter"))
    assert ours == theirs
