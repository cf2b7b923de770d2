"""The jobs of `fuzz`: a random program on all that run it, and reducing one that fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from visim.campaign.children import Limits, run_forked
from visim.campaign.crosschecking import crosscheck
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.programs import compiler_here
from visim.errors import VisimError
from visim.smith import Shape, smith
from visim.smith.compare import compare_text
from visim.smith.opencl import Part, opencl_parts, source_of
from visim.smith.reduce import shrink

Work = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Language:
    """A language in which random programs are written.

    Attributes:
        units: returns what the program of a seed consists of; each can be left out.
        text: returns the program of some units.
        compare: runs a program on all that can.
        limits: what one candidate of a reduction may take.
    """

    units: Callable[[Work], list[Any]]
    text: Callable[[Sequence[Any]], str]
    compare: Callable[[str, Work], Result]
    limits: Limits


def run_smith(work: Work) -> Result:
    """Compare engines, and PoCL, on the program of a seed."""
    language = LANGUAGES[work["language"]]
    return language.compare(language.text(language.units(work)), work)


def reduce_smith(work: Work) -> Result:
    """Return what is left of a program whose failure stays the same.

    The result is that of the failure; the text is a fact of it.
    """
    language = LANGUAGES[work["language"]]
    units = language.units(work)

    def tried(candidate: Sequence[Any]) -> tuple[str, str]:
        return _tried(language.text(candidate), work, language)

    wanted = tried(units)
    if wanted[0] == Outcome.PASSED:
        return Result(Outcome.PASSED, "the failure does not happen again")

    def first(candidates: Sequence[Sequence[Any]]) -> int | None:
        found = (k for k, candidate in enumerate(candidates) if tried(candidate) == wanted)
        return next(found, None)

    text = language.text(shrink(units, first))
    facts = {"text": text, "of": language.text(units).count("\n")}
    return Result(Outcome(wanted[0]), wanted[1], facts)


def _tried(text: str, work: Work, language: Language) -> tuple[str, str]:
    """Return how a candidate ends in a process of its own, and the kind of its difference."""
    silent, writing = os.pipe()
    try:
        found = run_forked(partial(_candidate, text, work, language), language.limits, silent)
    finally:
        os.close(silent)
        os.close(writing)
    return found["outcome"], found["message"].partition(" at ")[0]


def _candidate(text: str, work: Work, language: Language) -> dict[str, Any]:
    try:
        return language.compare(text, work).to_dict()
    except VisimError as error:
        return Result(Outcome.BROKEN, f"{type(error).__name__}").to_dict()


def _visa_lines(work: Work) -> list[str]:
    return smith(work["seed"], work["device"], Shape(work["statements"])).splitlines()


def _visa_text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _compare_visa(text: str, work: Work) -> Result:
    found = compare_text(text, work["seed"], work["device"])
    if found.difference is not None:
        return Result(Outcome.DIFFERS, found.difference)
    if found.unsupported is not None:
        return Result(Outcome.REFUSED, found.unsupported)
    return Result(Outcome.PASSED)


def _opencl_parts(work: Work) -> list[Part]:
    return opencl_parts(work["seed"], work["statements"])


def _compare_opencl(text: str, work: Work) -> Result:
    return crosscheck(
        text,
        work["seed"],
        work["device"],
        compiler=compiler_here(*work["compiler"]),
        with_pocl=work["pocl"] is not None,
    )


LANGUAGES: Mapping[str, Language] = {
    "visa": Language(_visa_lines, _visa_text, _compare_visa, Limits(20.0, 1 << 30)),
    "opencl": Language(_opencl_parts, source_of, _compare_opencl, Limits(60.0, 1 << 30)),
}
