"""The jobs of `fuzz`: a random program on both engines, and reducing one on which they differ."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from visim.campaign.children import Limits, run_forked
from visim.campaign.outcomes import Outcome, Result
from visim.errors import VisimError
from visim.smith import Shape, smith
from visim.smith.compare import compare_text
from visim.smith.reduce import shrink

_TRY = Limits(20.0, 1 << 30)
"""What one candidate of a reduction may take."""


def run_smith(work: Mapping[str, Any]) -> Result:
    """Compare the engines on the program of a seed."""
    return _compared(_text(work), work)


def reduce_smith(work: Mapping[str, Any]) -> Result:
    """Return what is left of a program whose failure stays the same.

    The result is that of the failure; the text is a fact of it.
    """
    lines = _text(work).splitlines()
    wanted = _tried(lines, work)
    if wanted[0] == Outcome.PASSED:
        return Result(Outcome.PASSED, "the failure does not happen again")

    def first(candidates: Sequence[Sequence[str]]) -> int | None:
        for place, candidate in enumerate(candidates):
            if _tried(candidate, work) == wanted:
                return place
        return None

    left = shrink(lines, first)
    text = "".join(f"{line}\n" for line in left)
    return Result(Outcome(wanted[0]), wanted[1], {"text": text, "of": len(lines)})


def _tried(lines: Sequence[str], work: Mapping[str, Any]) -> tuple[str, str]:
    """Return how a candidate ends in a process of its own, and the kind of its difference."""
    text = "".join(f"{line}\n" for line in lines)
    silent, writing = os.pipe()
    try:
        found = run_forked(partial(_candidate, text, work), _TRY, silent)
    finally:
        os.close(silent)
        os.close(writing)
    return found["outcome"], found["message"].partition(" at ")[0]


def _candidate(text: str, work: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return _compared(text, work).to_dict()
    except VisimError as error:
        return Result(Outcome.BROKEN, f"{type(error).__name__}").to_dict()


def _text(work: Mapping[str, Any]) -> str:
    return smith(work["seed"], work["device"], Shape(work["statements"]))


def _compared(text: str, work: Mapping[str, Any]) -> Result:
    found = compare_text(text, work["seed"], work["device"])
    if found.difference is not None:
        return Result(Outcome.DIFFERS, found.difference)
    if found.unsupported is not None:
        return Result(Outcome.REFUSED, found.unsupported)
    return Result(Outcome.PASSED)
