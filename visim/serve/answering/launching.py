"""One launch of a case, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visim.check.catalogue import BY_CODE
from visim.errors import Fault, FaultError, UnsupportedError
from visim.runtime.files.compared import Comparison, Tolerance, compare
from visim.runtime.files.expectations import Expectation
from visim.runtime.printf.records import printf_to
from visim.runtime.selection import array_of
from visim.serve.answering.answers import (
    DIFFERS,
    FAULT,
    FINDINGS,
    FINE,
    LIMIT,
    UNSUPPORTED,
    Answer,
    Texts,
    at,
    cut,
    fault_facts,
    findings_facts,
)
from visim.serve.answering.formulas import evaluate
from visim.serve.answering.values import Values, as_array, changed, read, read_values
from visim.serve.requests import Array, Case, Formula
from visim.serve.shapes import RequestError

if TYPE_CHECKING:
    from visim import Kernel, Report

_GEOMETRY = (
    "global_size",
    "local_size",
    "global_offset",
    "thread_groups",
    "group_size",
    "thread_space",
)
_LIMITS = frozenset({"timeout", "instruction-budget"})
_MOST_NOTES = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a launch: its report, as far as there is one, and the fault that ended it."""

    values: Values
    report: Report | None
    fault: Fault | None = None
    unsupported: str | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """When the work for a request has to be done, on the monotonic clock."""

    end: float

    @property
    def left(self) -> float:
        """The seconds that are left, at least a few of their parts."""
        return max(0.05, self.end - time.monotonic())


def launch(
    kernel: Kernel, case: Case, path: str, clock: Clock, options: Mapping[str, Any]
) -> Outcome:
    """Launch a case.

    Args:
        kernel: the kernel.
        case: the geometry and the values.
        path: the field of the request that has the case.
        clock: when the launch has to be done.
        options: other keywords of `Kernel.launch`.

    Raises:
        RequestError: a value or a size is wrong.
    """
    values = read_values(case, kernel, path)
    keywords = options_of(case, values)
    keywords |= {name: value for name, value in options.items() if value is not None}
    start: Callable[..., Any] = kernel.launch
    try:
        with at(path), printf_to(lambda _: None):
            report = start(values.arguments, workers=1, timeout=clock.left, **keywords)
    except FaultError as error:
        return Outcome(values, error.report, error.fault)
    except UnsupportedError as error:
        return Outcome(values, None, unsupported=str(error))
    return Outcome(values, report)


def options_of(case: Case, values: Values) -> dict[str, Any]:
    """Return what a case says of a launch beside its arguments, as keywords of `Kernel.launch`."""
    options: dict[str, Any] = {"seed": case.seed}
    for name in _GEOMETRY:
        size = getattr(case, name)
        if size is not None:
            options[name] = size
    if values.surfaces:
        options["surfaces"] = values.surfaces
    if values.samplers:
        options["samplers"] = values.samplers
    return options


def case_facts(outcome: Outcome, case: Case, path: str, texts: Texts) -> Answer:
    """Return what an answer says of a case, with its verdict.

    Raises:
        RequestError: what is expected does not fit.
    """
    if outcome.unsupported is not None:
        return {"verdict": UNSUPPORTED, "message": cut(outcome.unsupported)}
    form = {} if outcome.report is None else _report_facts(outcome.report, texts)
    if outcome.fault is not None:
        verdict = LIMIT if outcome.fault.code in _LIMITS else FAULT
        return {"verdict": verdict, "fault": fault_facts(outcome.fault, texts), **form}
    form["changed"] = changed(outcome.values, case.show)
    compared = [
        _compared(name, wanted, outcome.values, case, f"{path}.expect.{name}")
        for name, wanted in case.expect.items()
    ]
    if compared:
        form["expected"] = [_comparison_facts(one) for one in compared]
    found = outcome.report is not None and any(one.counts for one in outcome.report.findings)
    differs = any(one.differing for one in compared)
    return {"verdict": FINDINGS if found else DIFFERS if differs else FINE, **form}


def _report_facts(report: Report, texts: Texts) -> dict[str, Any]:
    form: dict[str, Any] = {
        "engine": report.engine,
        "groups": report.groups,
        "threads": report.threads,
    }
    local = report.geometry.get("local_size")
    if local is not None:
        form["local_size"] = list(local)
    if report.dropped_accesses:
        form["dropped_accesses"] = report.dropped_accesses
    if report.notes:
        form["notes"] = [cut(note, 400) for note in report.notes[:_MOST_NOTES]]
    if report.printf:
        form["printf"] = cut(report.printf)
    if report.findings:
        form["findings"] = findings_facts(report.findings, texts)
    return form


def _compared(name: str, wanted: object, values: Values, case: Case, path: str) -> Comparison:
    """Compare an argument with what it was to be."""
    found = values.arrays.get(name)
    if found is None:
        known = ", ".join(values.arrays) or "none"
        raise RequestError(path, f"{name!r} is no array of the launch; there are: {known}")
    expected = _expected(wanted, found, values, case, path)
    if expected.size != found.size:
        raise RequestError(
            path, f"expected {found.size} elements, which {name} has; found {expected.size}"
        )
    tolerance = Tolerance(case.rtol, case.atol)
    return compare(name, "expect", found, expected.reshape(found.shape), tolerance)


def _expected(
    wanted: object, found: NDArray[Any], values: Values, case: Case, path: str
) -> NDArray[Any]:
    match wanted:
        case Formula(formula=text):
            known: dict[str, Any] = {**values.named, **values.before}
            kinds: tuple[type[Any], ...] = (int, float, np.generic, np.ndarray)
            numbers: dict[str, Any] = {
                name: value for name, value in known.items() if isinstance(value, kinds)
            }
            return np.asarray(evaluate(text, numbers, found, path))
        case Array():
            return as_array(wanted, path)
        case _:
            kind = Expectation("buffer", f"{found.dtype}*", found.dtype, 1, None)
            value = read(wanted, "expect", (case.seed, 1 << 18), kind, path)
            array = array_of(value)
            if array is None:
                raise RequestError(path, "expected an array")
            return array


def _comparison_facts(one: Comparison) -> dict[str, Any]:
    rtol, atol = one.tolerance.used
    form: dict[str, Any] = {
        "name": one.name,
        "elements": one.elements,
        "differing": one.differing,
    }
    if one.differing:
        form["first"] = {"index": list(one.first), "found": one.found, "expected": one.expected}
        form["largest_distance"] = one.largest
        form["tolerance"] = {"rtol": rtol, "atol": atol}
        form["where"] = list(one.picture)
    return form


def summary_of(form: Answer) -> str:
    """Return a sentence on a case."""
    if "fault" in form:
        fault = form["fault"]
        place = _place(fault.get("source_file"), fault.get("source_line")) or _place(
            fault.get("file"), fault.get("line")
        )
        return f"{fault['category']}/{fault['code']}{place}: {fault['message']}"
    if "message" in form:
        return str(form["message"])
    if form["verdict"] == FINDINGS:
        first = next(one for one in form["findings"] if one["severity"] != "note")
        places = [_place(one.get("file"), one.get("line")) for one in first["places"]]
        return f"{first['kind']}{' and'.join(filter(None, places))}: {first['message']}"
    wrong = next((one for one in form.get("expected", ()) if one["differing"]), None)
    if wrong is not None:
        first = wrong["first"]
        at_index = ", ".join(map(str, first["index"]))
        return (
            f"{wrong['name']}[{at_index}] is {first['found']}, expected {first['expected']}; "
            f"{wrong['differing']} of {wrong['elements']} elements differ"
        )
    return "as expected" if form.get("expected") else "it ran"


def advice_on(form: Answer) -> str:
    """Return what to do about a case that is not fine."""
    if "fault" in form:
        stop = form["fault"]["code"]
        if form["verdict"] == LIMIT:
            return "look for an endless loop, or give a smaller case, a larger budget"
        mended = "mend the line that it names" if stop in BY_CODE else "mend the kernel"
        return f"{mended} and run again; explain {stop} says more"
    if form["verdict"] == FINDINGS:
        first = next(one for one in form["findings"] if one["severity"] != "note")
        return f"{first['advice']}; then sanitize again"
    if form["verdict"] == DIFFERS:
        return (
            "look at the elements named in expected; sanitize finds races and reads of unwritten "
            "memory, diff compares with a version that was right"
        )
    return "leave out what is not supported, or take another device or engine"


def _place(file: str | None, line: int | None) -> str:
    return "" if line is None else f" at {file or '?'}:{line}"


def first_wrong(forms: Sequence[Answer]) -> int | None:
    """Return which case is the first that is not fine."""
    return next((n for n, form in enumerate(forms) if form["verdict"] != FINE), None)
