"""What is known of a message before it is written: its lanes, and what those before it tell it."""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.jit.ir.shapes import Shape
from visim.engine.jit.writing.anchors import Anchors
from visim.engine.jit.writing.asking import Requests
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.butterflies import Known
from visim.engine.jit.writing.forms import Access
from visim.engine.jit.writing.rows import Rows
from visim.engine.jit.writing.scattered import Table
from visim.engine.jit.writing.shared import Distant
from visim.engine.jit.writing.vectors import Candidate
from visim.engine.jit.writing.windows import Window
from visim.sem.effects import Atomic, Load, Store

Way = Rows | Window | Candidate | Distant | Table | None
"""Where all lanes of a message are, or what looks for them."""


@dataclass(frozen=True, slots=True)
class Look:
    """A message that is looked at: `mask` are the lanes that are on (None: all), `bits` as i64."""

    effect: Load | Store | Atomic
    access: Access
    bounds: Bounds
    mask: str | None
    bits: str


@dataclass(frozen=True, slots=True)
class Ready:
    """A load or store of lanes after a look where they are.

    `way` are all lanes at once, or says that a function looks for them (None: there is only the
    general form). `mask` are the lanes that are on as a vector (None: all), `bits` the same as
    i64, `given` are the values to be stored. `otherwise` is the shape of addresses that are not the
    rows that were supposed.
    """

    effect: Load | Store
    site: int
    access: Access
    bounds: Bounds
    way: Way
    mask: str | None
    bits: str
    given: list[str]
    otherwise: Shape | None = None


@dataclass(frozen=True, slots=True)
class Passed:
    """What the messages of a chain of nodes tell those behind them.

    `anchors` are rows that others may be near to, `requests` what memory is asked for,
    `butterflies` those that have been looked for.
    """

    anchors: Anchors
    requests: Requests
    butterflies: Known
