"""A program on two engines: the same bytes, or where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import FaultError, UnsupportedError
from visim.runtime.program import assemble
from visim.smith.generate import (
    BUFFER_BYTES,
    COPIES,
    RESULTS,
    SCRATCH,
    Shape,
    computed_types,
    smith,
)
from visim.smith.operands import VARIABLE_BYTES, variable
from visim.target import Platform, platform
from visim.types import BF, DataType

ENGINES = ("interpreter", "jit")
_SPECIAL = (0, 1, 0x80, 0xFF, 0x7F, 0x3F80, 0x7F80, 0xFF80, 0x7C00, 0x3C00)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of a seed: `difference` says where engines differ, None if nowhere.

    `unsupported` is what an engine does not run of the program, None if nothing.
    """

    seed: int
    difference: str | None = None
    unsupported: str | None = None

    @property
    def is_fine(self) -> bool:
        """Whether the engines agree, as far as they ran."""
        return self.difference is None


def inputs(seed: int) -> NDArray[np.uint8]:
    """Return the buffer's bytes for a seed: random ones, special values more often than not."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 16, BUFFER_BYTES // 2, dtype=np.uint16)
    special = rng.random(words.size) < 0.4
    words[special] = rng.choice(np.array(_SPECIAL, np.uint16), int(special.sum()))
    return words.view(np.uint8)


def compare(
    seed: int, device: str, shape: Shape | None = None, engines: Sequence[str] = ENGINES
) -> Comparison:
    """Run the program of a seed on engines and compare the buffers."""
    return compare_text(smith(seed, device, shape), seed, device, engines)


def compare_text(text: str, seed: int, device: str, engines: Sequence[str] = ENGINES) -> Comparison:
    """Run the program of a seed, or what is left of it, on engines and compare the buffers.

    Raises:
        InputError: it is no valid program.
    """
    kernel = assemble(text, platform=device).kernels[0]
    results: list[NDArray[np.uint8]] = []
    for engine in engines:
        buffer = inputs(seed)
        try:
            kernel.launch([buffer], engine=engine, budget=1_000_000)
        except UnsupportedError as error:
            return Comparison(seed, unsupported=f"{engine}: {error}")
        except FaultError as error:
            return Comparison(seed, difference=f"{engine} stops: {error}")
        results.append(buffer)
    for engine, found in zip(engines[1:], results[1:], strict=True):
        where = _difference(results[0], found, platform(device))
        if where is not None:
            return Comparison(seed, difference=f"{engine} and {engines[0]} differ at {where}")
    return Comparison(seed)


def _difference(
    reference: NDArray[np.uint8], found: NDArray[np.uint8], target: Platform
) -> str | None:
    """Return the first place where two buffers differ; any NaN is as good as another."""
    start = RESULTS
    for kind in computed_types(target):
        for number in range(COPIES):
            pair = (buffer[start : start + VARIABLE_BYTES] for buffer in (reference, found))
            first, second = (_values(part, kind) for part in pair)
            places = np.flatnonzero((first != second) & ~(np.isnan(first) & np.isnan(second)))
            if places.size:
                return f"element {places[0]} of {variable(kind, number)}"
            start += VARIABLE_BYTES
    places = np.flatnonzero(reference[SCRATCH:] != found[SCRATCH:])
    return f"byte {SCRATCH + places[0]} of the buffer" if places.size else None


def _values(part: NDArray[np.uint8], kind: DataType) -> NDArray[Any]:
    """Return a variable's elements; floats by value, so that -0.0 and 0.0 are told apart too."""
    if not kind.is_float:
        return part.view(f"<u{kind.bytes}")
    values: NDArray[Any] = part.view(f"<f{kind.bytes}")
    if kind == BF:
        values = (part.view("<u2").astype("<u4") << 16).view("<f4")
    return np.where(values == 0, np.copysign(np.finfo(values.dtype).tiny, values), values)
