"""What an acceptance case is: a program, its inputs, its NumPy reference and a rule to compare.

A case is data. It knows neither visim nor PoCL: a runner gets the source, the launches and private
copies of the inputs, and hands back the arrays after the last launch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"
ALL_DEVICES = ("pvc", "dg2", "tgllp", "skl")
FP64_DEVICES = ("pvc", "skl")
NO_FP64 = "dg2 and tgllp have no double-precision arithmetic"

Values = dict[str, Any]


@dataclass(frozen=True)
class LocalBytes:
    """A `__local` kernel argument of `nbytes` bytes."""

    nbytes: int


@dataclass(frozen=True)
class Launch:
    """One launch: `args` names values of the case in order, separated by blanks."""

    kernel: str
    args: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None = None
    global_offset: tuple[int, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values passed, in the kernel's order."""
        return tuple(self.args.split())


@dataclass(frozen=True)
class Exact:
    """Bit for bit; a NaN equals any NaN, zeros must have the same sign."""

    def mismatch(self, got: np.ndarray, want: np.ndarray, inputs: Values) -> str | None:
        """Return what differs first, or None."""
        del inputs
        if want.dtype != got.dtype:
            return f"reference is {want.dtype}, output is {got.dtype}: the case is wrong"
        if got.dtype.kind == "f":
            same = (got == want) & (np.signbit(got) == np.signbit(want))
            same |= np.isnan(got) & np.isnan(want)
        else:
            same = got == want
        return _first(~same, got, want)


@dataclass(frozen=True)
class Ulp:
    """Within `bound` units in the last place of the exact value; `why` names the limit.

    The reference is wider than the output (float64 for float, longdouble for double). `absolute`
    is an error that is accepted besides, for functions whose limit is absolute near zero. A result
    below the smallest normal number may be flushed to zero (OpenCL 7.5.3).
    """

    bound: float
    why: str
    absolute: float = 0.0

    def mismatch(self, got: np.ndarray, want: np.ndarray, inputs: Values) -> str | None:
        """Return what differs first, or None."""
        del inputs
        info = np.finfo(got.dtype)
        bound = self.bound
        if np.finfo(want.dtype).nmant <= info.nmant:
            # A longdouble that is no wider than double adds its own error to the limit.
            bound += 1.0
        with np.errstate(all="ignore"):
            rounded = want.astype(got.dtype)
            exponent = np.floor(np.log2(np.maximum(np.abs(want), info.tiny)))
            ulp = np.exp2(exponent - info.nmant)
            error = np.abs(got.astype(want.dtype) - want)
            close = error <= bound * ulp + self.absolute
            close |= (np.abs(want) < info.tiny) & (got == 0)
            beyond = ~np.isfinite(rounded)
            nearly_infinite = np.isinf(rounded) & np.isfinite(want)
            at_limit = nearly_infinite & (np.abs(got) == info.max)
            same = (got == rounded) | (np.isnan(got) & np.isnan(want)) | at_limit
            bad = np.where(beyond, ~same, ~close)
            ulps = np.where(bad & np.isfinite(error), error / ulp, 0.0)
        difference = _first(bad, got, want)
        if difference is None:
            return None
        worst = np.nanmax(ulps)
        return f"{difference}; worst error {worst:.3g} ulp, bound {self.bound:g} ({self.why})"


@dataclass(frozen=True)
class Relative:
    """Sums and iterated formulas: `|got - want| <= bound * scale`, `why` derives the bound.

    The scale is the largest magnitude in the reference.
    """

    bound: float
    why: str

    def mismatch(self, got: np.ndarray, want: np.ndarray, inputs: Values) -> str | None:
        """Return what differs first, or None."""
        del inputs
        limit = self.bound * float(np.max(np.abs(want)))
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        difference = _first(~(error <= limit), got, want)
        return None if difference is None else f"{difference}; limit {limit:.3g} ({self.why})"


@dataclass(frozen=True)
class Unordered:
    """Equal after sorting: which work-item got which value depends on the schedule.

    `axis=None` compares all elements as one bag, otherwise each row along `axis` is a bag.
    """

    axis: int | None = None

    def mismatch(self, got: np.ndarray, want: np.ndarray, inputs: Values) -> str | None:
        """Return what differs first, or None."""
        return Exact().mismatch(np.sort(got, self.axis), np.sort(want, self.axis), inputs)


@dataclass(frozen=True)
class Mostly:
    """Within `limit` but for `outliers` elements, where a branch hangs on the last bit."""

    limit: float
    outliers: int
    why: str

    def mismatch(self, got: np.ndarray, want: np.ndarray, inputs: Values) -> str | None:
        """Return what differs first, or None."""
        del inputs
        bad = ~(np.abs(got.astype(np.float64) - want.astype(np.float64)) <= self.limit)
        if np.count_nonzero(bad) <= self.outliers:
            return None
        return f"{_first(bad, got, want)}; {self.outliers} may ({self.why})"


@dataclass(frozen=True)
class Rows:
    """A rule for each row of the output, by the name of what the row holds."""

    rules: tuple[tuple[str, Exact | Ulp], ...]

    def mismatch(self, got: np.ndarray, want: np.ndarray, inputs: Values) -> str | None:
        """Return what differs in the first bad row, or None."""
        if len(self.rules) != len(want):
            return f"{len(self.rules)} rules for {len(want)} rows: the case is wrong"
        found: list[str] = []
        for (name, rule), got_row, want_row in zip(self.rules, got, want, strict=True):
            difference = rule.mismatch(got_row, want_row, inputs)
            if difference is not None:
                found.append(f"{name}: {difference}")
        return "; ".join(found) or None


Rule = Exact | Ulp | Relative | Rows | Unordered | Mostly


@dataclass(frozen=True)
class Case:
    """One program with its inputs and its reference.

    `make` draws the values from a seeded generator: arrays are buffers, NumPy scalars are values
    (a structured scalar is a struct), `LocalBytes` is local memory. `expected` gets copies of them
    and returns the arrays to compare. `rules` has a rule per output; `Exact` where none is given.
    `features` are regular expressions that the vISA text must contain on the given devices ("*" for
    all): proof that the compiler left the intended feature in the program. `laws` get the
    outputs and the inputs and return a complaint: properties that hold for every legal schedule.
    `keeps_state`: the program has variables that outlive a launch; each run builds it anew.
    """

    name: str
    source: str
    make: Callable[[np.random.Generator], Values]
    launches: tuple[Launch, ...]
    expected: Callable[[Values], dict[str, np.ndarray]]
    rules: Mapping[str, Rule] = field(default_factory=dict)
    options: str = ""
    devices: tuple[str, ...] = ALL_DEVICES
    devices_why: str = ""
    pocl: bool = True
    pocl_why: str = ""
    pocl_options: str | None = None
    features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    laws: tuple[Callable[[Mapping[str, np.ndarray], Values], str | None], ...] = ()
    keeps_state: bool = False

    @property
    def text(self) -> str:
        """The OpenCL C source."""
        return (PROGRAMS / self.source).read_text()

    def values(self) -> Values:
        """Return fresh inputs: the same at every call and in every process."""
        seed = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "little")
        return self.make(np.random.default_rng(seed))

    def reference(self) -> dict[str, np.ndarray]:
        """Return the expected outputs."""
        with np.errstate(all="ignore"):
            return self.expected(self.values())

    def mismatches(self, outputs: Mapping[str, np.ndarray]) -> list[str]:
        """Compare `outputs` (all arrays of the case) with the reference."""
        found: list[str] = []
        inputs = self.values()
        for name, want in self.reference().items():
            got = outputs[name]
            if got.shape != want.shape:
                found.append(f"{name}: reference has shape {want.shape}, output {got.shape}")
                continue
            difference = self.rules.get(name, Exact()).mismatch(got, want, inputs)
            if difference is not None:
                found.append(f"{name}: {difference}")
        complaints = [law(outputs, inputs) for law in self.laws]
        return found + [complaint for complaint in complaints if complaint is not None]


def _first(bad: np.ndarray, got: np.ndarray, want: np.ndarray) -> str | None:
    places = np.argwhere(bad)
    if len(places) == 0:
        return None
    where = tuple(int(i) for i in places[0])
    count = f"{len(places)} of {bad.size} elements differ, first"
    return f"{count} {list(where)}: got {got[where]!r}, want {want[where]!r}"
