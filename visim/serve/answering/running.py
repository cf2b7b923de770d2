"""The tools run and sanitize: cases, one after the other."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from visim.serve.answering.answers import FINE, Answer, answer, described, worst
from visim.serve.answering.launching import (
    Clock,
    advice_on,
    case_facts,
    first_wrong,
    launch,
    summary_of,
)
from visim.serve.answering.programs import choose_kernel, load, texts_of
from visim.serve.requests import Run, Sanitize


def run(asked: Run, clock: Clock) -> Answer:
    """Launch each case, and compare what it wrote with what is expected."""
    return _launched(asked, clock, {}, "time says what it takes; sanitize looks for races")


def sanitize(asked: Sanitize, clock: Clock) -> Answer:
    """Launch each case under sanitizers."""
    return _launched(asked, clock, {"sanitize": list(asked.sanitizers)}, "time says what it takes")


def _launched(asked: Run, clock: Clock, more: dict[str, Any], next_step: str) -> Answer:
    program = load(asked.program, "program")
    kernel = choose_kernel(program, asked.kernel, "kernel")
    texts = texts_of(asked.program, kernel)
    options = {"engine": asked.engine, "budget": asked.budget, "bounds": asked.bounds, **more}
    forms: list[Answer] = []
    for number, case in enumerate(asked.cases):
        path = f"cases[{number}]"
        if number and program.has_variables:  # each case finds them as the program begins
            kernel = deepcopy(program)[kernel.name]
        forms.append(case_facts(launch(kernel, case, path, clock, options), case, path, texts))
    wrong = first_wrong(forms)
    count = f"{len(forms)} case{'s'[: len(forms) > 1]}"
    if wrong is None:
        compared = any("expected" in form for form in forms)
        summary = f"{count} ran" + (", as expected" if compared else "")
        if not compared:
            next_step = "give expect to have the results judged; " + next_step
        if more:
            summary = f"{count} ran, and nothing was found"
    else:
        fine = sum(form["verdict"] == FINE for form in forms)
        summary = f"cases[{wrong}]: {summary_of(forms[wrong])}"
        summary += f" ({fine} of {count} fine)" if len(forms) > 1 else ""
        next_step = advice_on(forms[wrong])
    return answer(
        worst(form["verdict"] for form in forms),
        summary,
        next_step,
        kernel=kernel.name,
        device=program.platform,
        compiler=program.compiler,
        warnings=described(program.warnings) or None,
        cases=forms,
    )
