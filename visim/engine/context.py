"""What the steps of the interpreter reach beside their own names. Knows no instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(slots=True)
class Context:
    """What steps reach beside the register image; the interpreter exchanges it per thread.

    `clock` returns the number of instructions that the thread has executed, `note` takes an access
    for observers: `Reports.note`. `fused` are the images of the two threads of a fused pair when
    they met. `whole` is what a thread keeps while another runs: the image, and behind it its shadow
    where taint is tracked.
    """

    image: Bytes
    execution: NDArray[np.bool_]
    flat: Any = None
    surfaces: Any = None
    slm: Any = None
    scratch: Any = None
    arguments: Any = None
    fused: Sequence[Bytes] = ()
    whole: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))
    clock: Callable[[int], int] = field(default=lambda _: 0)
    note: Callable[..., None] = field(default=lambda *_: None)

    def release(self) -> None:
        """Let go of the memory of a launch, and of those that have observed it."""
        self.flat = self.surfaces = self.slm = self.scratch = self.arguments = None
        self.fused, self.clock, self.note = (), lambda _: 0, lambda *_: None
