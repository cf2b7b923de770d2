"""Each wrong kernel has the finding that it is for, at its lines; its mended twin has none.

The gate runs a share of the pairs, devices and engines, `--thorough` all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import visim
from tests.opencl.building import built, built_by_current
from tests.opencl.sanitizers.pairs import LOCAL, PAIRS, SIZE, Pair
from tests.opencl.sanitizers.pairs_barriers import BARRIER_PAIRS
from tests.opencl.sanitizers.pairs_blind import BLIND_PAIRS
from tests.opencl.sanitizers.pairs_bounds import BOUNDS_PAIRS
from tests.opencl.sanitizers.pairs_calls import CALL_PAIRS
from tests.opencl.sanitizers.pairs_field import FIELD_PAIRS
from tests.opencl.sanitizers.pairs_images import IMAGE_PAIRS
from tests.opencl.sanitizers.pairs_kinds import KINDS_PAIRS
from tests.opencl.sanitizers.pairs_more import MORE_PAIRS
from tests.opencl.sanitizers.pairs_origins import ORIGIN_PAIRS
from tests.opencl.sanitizers.pairs_parts import PART_PAIRS
from tests.opencl.sanitizers.pairs_scopes import SCOPE_PAIRS
from tests.opencl.sanitizers.pairs_undefined import UNDEFINED_PAIRS
from tests.shares import share

SHARE = 24
EVERY = (
    *(*PAIRS, *BOUNDS_PAIRS, *UNDEFINED_PAIRS, *MORE_PAIRS, *FIELD_PAIRS, *KINDS_PAIRS),
    *(*BARRIER_PAIRS, *PART_PAIRS, *IMAGE_PAIRS, *CALL_PAIRS, *SCOPE_PAIRS, *BLIND_PAIRS),
    *ORIGIN_PAIRS,
)


def image_of(array: NDArray[Any]) -> visim.Image:
    """Return an image whose texels are numbers of an array."""
    return visim.Image(array.astype(np.uint32).reshape(8, 32, -1)[:, :, :1].copy())


def launched(pair: Pair, device: str, engine: str, *, mended: bool) -> tuple[visim.Finding, ...]:
    build = built_by_current if pair.current else built
    program = build(pair.text(mended=mended), device, pair.options)
    x, y = np.arange(1024, dtype=np.int32) * 5 % 97, np.zeros(1024, np.int32)
    if "float *x" in pair.head:
        x = x.astype(np.float32)
    given: object = visim.Uninitialised(y) if pair.undefined else y
    if pair.part:
        given = visim.Buffer(4 * 2048)[4 * 512 : 4 * (512 + SIZE)]
    kernel = program["k"]
    first: list[object] = [
        image_of(array) if f"image2d_t {name}" in pair.head else passed
        for name, array, passed in (("x", x, x), ("y", y, given))
    ]
    arguments = first + [visim.Local(4 * LOCAL)] * (len(kernel.args) - 2)
    try:
        with visim.printf_to(list[str]().append):
            report = kernel.launch(
                arguments,
                global_size=SIZE,
                local_size=LOCAL,
                engine=engine,
                sanitize=pair.sanitize,
            )
    except visim.FaultError as error:
        report = error.report
    return report.findings


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a share of the pairs; `--thorough` runs all of them on all devices and engines."""
    engines = ("interpreter", "jit")
    runs = [(p, device, engine) for p in EVERY for device in p.devices for engine in engines]
    if not metafunc.config.getoption("thorough"):
        runs = share("pairs of sanitizers", runs, SHARE)
    named = [pytest.param(*run, id=f"{run[0].name}-{run[1]}-{run[2]}") for run in runs]
    metafunc.parametrize(("pair", "device", "engine"), named)


def test_the_wrong_kernel_is_found_and_the_mended_one_is_well(
    pair: Pair, device: str, engine: str
) -> None:
    found = launched(pair, device, engine, mended=False)
    fitting = [one for one in found if one.kind == pair.kind]
    assert any({line for _, line in one.locations} >= pair.lines for one in fitting), found
    serious = [one for one in launched(pair, device, engine, mended=True) if one.counts]
    assert serious == []
