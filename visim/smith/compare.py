"""A program on two engines: the same bytes, or where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visim.errors import FaultError, UnsupportedError
from visim.runtime.program import assemble
from visim.smith.generate import BUFFER_BYTES, RESULTS, Shape, smith
from visim.smith.operands import VARIABLE_BYTES

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
    kernel = assemble(smith(seed, device, shape), platform=device).kernels[0]
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
        places = np.flatnonzero(found != results[0])
        if places.size:
            return Comparison(seed, difference=_told(engine, engines[0], int(places[0])))
    return Comparison(seed)


def _told(engine: str, reference: str, place: int) -> str:
    number, byte = divmod(place - RESULTS, VARIABLE_BYTES)
    where = f"byte {place} of the buffer"
    if 0 <= number < (BUFFER_BYTES - RESULTS) // VARIABLE_BYTES:
        where += f" (byte {byte} of variable {number})"
    return f"{engine} and {reference} differ at {where}"
