"""What a run was expected to write (`--expect`), and how what it wrote differs.

Two numbers are equal where |found - expected| <= atol + rtol * |expected|; NaN equals NaN.
Integers are equal where they are the same, unless tolerances are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError
from visim.runtime.files.arguments_text import NO_ARRAY, load_array, unreadable
from visim.runtime.files.run_options import Reference

RTOL, ATOL = 1e-5, 1e-8
"""The tolerances of numbers with fractions, as NumPy has them."""
_COLUMNS, _ROWS = 64, 16
_SAME, _SOME, _ALL = ".", "+", "#"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far numbers may differ; None where the user does not say."""

    rtol: float | None = None
    atol: float | None = None

    def differ(self, found: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where two arrays of one shape differ."""
        kinds = {found.dtype.kind, expected.dtype.kind}
        if kinds <= set("iub") and self.rtol is None and self.atol is None:
            return np.not_equal(found, expected)
        rtol, atol = self.used
        with np.errstate(all="ignore"):
            left, right = found.astype(np.float64), expected.astype(np.float64)
            close = np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=True)
        return np.logical_not(np.asarray(close, np.bool_))

    @property
    def used(self) -> tuple[float, float]:
        """The tolerances, relative and absolute."""
        return (
            RTOL if self.rtol is None else self.rtol,
            ATOL if self.atol is None else self.atol,
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of an expectation: in how many elements an array differs from a file's.

    `first` is the index of the first of them, `largest` the largest distance of finite numbers.
    """

    name: str
    file: str
    elements: int
    differing: int
    first: tuple[int, ...]
    found: str
    expected: str
    largest: float
    tolerance: Tolerance
    picture: tuple[str, ...]

    def __str__(self) -> str:
        if not self.differing:
            return f"{self.name} is as in {self.file}"
        rtol, atol = self.tolerance.used
        at = ", ".join(map(str, self.first))
        lines = [
            f"error[expect]: {self.name} differs from {self.file} in {self.differing} of "
            f"{self.elements} elements (rtol {rtol:g}, atol {atol:g})",
            f"   = the first is [{at}]: {self.found}, expected {self.expected}; "
            f"the largest distance is {self.largest:g}",
            *(f"   | {row}" for row in self.picture),
            f"   = {_SAME} as expected, {_SOME} some differ, {_ALL} all differ",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in the form that `--json` prints."""
        described: dict[str, Any] = {
            "name": self.name,
            "file": self.file,
            "elements": self.elements,
            "differing": self.differing,
        }
        if self.differing:
            first = {"index": self.first, "found": self.found, "expected": self.expected}
            described |= {"first": first, "largest_distance": self.largest}
        return described


def read_references(
    references: Sequence[Reference], results: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the files that results are compared with, in the results' shapes.

    Raises:
        ArgumentError: a file is no array of numbers, or has another number of elements.
    """
    found: dict[str, NDArray[Any]] = {}
    for reference in references:
        array = _array_of(reference)
        result = results[reference.key]
        if array.dtype.kind not in "iubf":
            raise ArgumentError(f"--expect {reference.key}: {reference.file} has no numbers")
        if array.size != result.size:
            raise ArgumentError(
                f"--expect {reference.key}: {reference.file} has {array.size} elements, "
                f"{reference.key} has {result.size}"
            )
        found[reference.key] = array.reshape(result.shape)
    return found


def _array_of(reference: Reference) -> NDArray[Any]:
    what = f"--expect {reference.key}"
    try:
        return load_array(reference.file, Path())
    except OSError as error:
        raise unreadable(what, Path(reference.file), error) from None
    except NO_ARRAY as error:
        raise ArgumentError(f"{what}: {reference.file} is no NumPy array file ({error})") from None


def compare(
    name: str, file: str, found: NDArray[Any], expected: NDArray[Any], tolerance: Tolerance
) -> Comparison:
    """Compare what a run wrote with what was expected."""
    differ = tolerance.differ(found, expected)
    count = int(differ.sum())
    index = np.unravel_index(int(differ.argmax()), differ.shape) if count else ()
    first = tuple(int(one) for one in index)
    return Comparison(
        name,
        file,
        found.size,
        count,
        first,
        str(found[first]) if count else "",
        str(expected[first]) if count else "",
        _largest(found, expected),
        tolerance,
        tuple(_picture(differ)) if count else (),
    )


def _largest(found: NDArray[Any], expected: NDArray[Any]) -> float:
    with np.errstate(all="ignore"):
        distances = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    return float(np.max(distances, where=np.isfinite(distances), initial=0.0))


def _picture(differ: NDArray[np.bool_]) -> list[str]:
    """Return rows of characters, one for each cell of the array's places."""
    plane = _plane(differ)
    rows = np.array_split(plane, min(_ROWS, plane.shape[0]), axis=0)
    columns = min(_COLUMNS, plane.shape[1])
    return ["".join(map(_cell, np.array_split(row, columns, axis=1))) for row in rows]


def _plane(differ: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Lay an array out in two dimensions: a picture as it is, a long one in rows."""
    if differ.ndim == 3 and differ.shape[2] <= 4:
        return np.asarray(differ.any(axis=2), np.bool_)
    if differ.ndim >= 2:
        return differ.reshape(-1, differ.shape[-1])
    width = max(1, min(differ.size, max(_COLUMNS, -(-differ.size // _ROWS))))
    padded = np.zeros(-(-differ.size // width) * width, np.bool_)
    padded[: differ.size] = differ.ravel()
    return padded.reshape(-1, width)


def _cell(part: NDArray[np.bool_]) -> str:
    if not part.any():
        return _SAME
    return _ALL if part.all() else _SOME
