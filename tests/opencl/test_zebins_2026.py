"""Zebins of the compiler of 2026 for ten devices: read, verified, printed, and run.

All of them are read in every run; a share of their kernels runs on both engines, all of them with
`--thorough`. What a kernel writes is the same on every device.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import visim
from tests.corpus.zebins import zebins
from tests.shares import share
from visim.diag import Source
from visim.text import read_text, show_module

SHARE = 24
ITEMS = 64
RESULTS = Path(__file__).parents[1] / "corpus" / "zebins_2026.json"
"""Digests of what each kernel leaves in its buffers."""
_OTHERS = "work-items read or write what others write"
NOT_COMPARED = {
    **dict.fromkeys(
        ("mathk", "slm", "big", "dbl", "fatom", "fcall2", "fcall3", "func2", "sw", "img1"), _OTHERS
    ),
    "func": "it reads through a null pointer",
}
"""Kernels whose results depend on the device, or that have none; they run all the same."""
_IMAGES = {
    "image3d_t": ("3d", (4, 4, 4, 4)),
    "image1d_t": ("1d", (128, 4)),
    "image1d_buffer_t": ("1d_buffer", (128, 4)),
    "image2d_array_t": ("2d_array", (3, 8, 8, 4)),
}
_NUMBERS = {
    "half": np.float16, "float": np.float32, "double": np.float64, "char": np.int8,
    "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32,
    "uint": np.uint32, "long": np.int64, "ulong": np.uint64,
}  # fmt: skip


def kernels() -> list[tuple[str, str, str]]:
    """Return the kernels that run: device, file, and name."""
    names = json.loads(RESULTS.read_text(encoding="utf-8"))
    return [(device, file, name) for device, file in zebins() for name in names.get(file, ())]


def arguments(kernel: visim.Kernel) -> list[Any]:
    """Return arguments: the same numbers for the same parameters on every device."""
    rng = np.random.default_rng(2026)
    found: list[Any] = []
    for parameter in kernel.args:
        element = parameter.type_name.rstrip("*").removeprefix("atomic_").rstrip("0123456789")
        number = np.dtype(_NUMBERS.get(element, np.int32))
        if parameter.kind == "local":
            found.append(visim.Local(4096))
        elif parameter.kind == "value":
            found.append(number.type(5))
        elif parameter.kind == "sampler":
            found.append(visim.Sampler())
        elif parameter.kind == "image":
            kind, shape = _IMAGES.get(parameter.type_name, ("2d", (8, 128, 4)))
            texels = rng.integers(0, 7, shape).astype(np.float32)
            found.append(visim.Image(texels, kind=kind))
        else:
            found.append(rng.integers(0, 7, (1 << 16) // number.itemsize).astype(number))
    return found


def digest(values: list[Any]) -> str:
    """Return a digest of all buffers and images; all NaNs are one."""
    seen = hashlib.sha256()
    for value in values:
        array = value.array if isinstance(value, visim.Image) else value
        if isinstance(array, np.ndarray):
            is_float = array.dtype.kind == "f"
            seen.update(np.where(np.isnan(array), 0, array).tobytes() if is_float else array)
            seen.update(np.isnan(array).tobytes() if is_float else b"")
    return seen.hexdigest()[:16]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take a share of the kernels."""
    if "kernel" in metafunc.fixturenames:
        every = kernels()
        thorough = metafunc.config.getoption("thorough")
        chosen = every if thorough else share("zebins of 2026", every, SHARE)
        metafunc.parametrize("kernel", chosen, ids="-".join)


@pytest.mark.parametrize("device", sorted({device for device, _ in zebins()}))
def test_texts_are_verified_and_read_again(device: str) -> None:
    for (of, file), data in zebins().items():
        if of != device:
            continue
        program = visim.load(data)
        for kernel in program:
            text = program[kernel].source
            assert show_module(read_text(Source(file, text))) == text, (file, kernel)


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_kernels_give_the_same_on_every_device(kernel: tuple[str, str, str], engine: str) -> None:
    device, file, name = kernel
    program = visim.load(zebins()[device, file])
    values = arguments(program[name])
    launched = {"global_size": ITEMS, "local_size": ITEMS, "engine": engine, "timeout": 60}
    if name == "func":
        with pytest.raises(visim.FaultError, match="null pointer"):
            program[name].launch(values, **launched)
        return
    program[name].launch(values, **launched)
    if name not in NOT_COMPARED:
        assert digest(values) == json.loads(RESULTS.read_text(encoding="utf-8"))[file][name]
