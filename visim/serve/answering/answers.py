"""What answers are made of: a verdict, a sentence, what to do next, and short facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from visim.check.catalogue import BY_CODE
from visim.diag import Diagnostic, Diagnostics, Severity, Span
from visim.errors import (
    ArgumentError,
    Fault,
    InputError,
    LinkError,
    ToolMissing,
    UnsupportedError,
)
from visim.sanitize.findings import Finding, Place
from visim.serve.limits import LimitReached
from visim.serve.shapes import RequestError

Answer = dict[str, Any]
SCHEMA_VERSION = 1
_MOST_FINDINGS = 20
_LONGEST_TEXT = 2000
_AROUND = 2
_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-f]{9,16}\b")
_LARGEST_OFFSET = 1 << 32

FINE, DIFFERS, FINDINGS, FAULT, BROKEN = "fine", "differs", "findings", "fault", "broken"
LIMIT, UNSUPPORTED, UNAVAILABLE, CRASH = "limit", "unsupported", "unavailable", "crash"
VERDICTS: Mapping[str, str] = {
    FINE: "it does what was asked",
    DIFFERS: "it ran, and something is not as it was expected, or not alike",
    FINDINGS: "it ran, and a sanitizer or the verifier found an error or a warning",
    FAULT: "the kernel stopped",
    BROKEN: "the program does not compile, or violates the specification",
    LIMIT: "it takes more time, memory or output than a request may",
    UNSUPPORTED: "visim does not do this",
    UNAVAILABLE: "a compiler is not installed",
    CRASH: "visim or the compiler broke down",
}
"""All verdicts, from the best to the worst, with what they mean."""
_ORDER = tuple(VERDICTS)


def answer(verdict: str, summary: str, advice: str, **facts: Any) -> Answer:
    """Return an answer; facts that are None are left out."""
    known = {name: fact for name, fact in facts.items() if fact is not None}
    return {"verdict": verdict, "summary": cut(summary), "next": cut(advice), **known}


def worst(verdicts: Iterable[str]) -> str:
    """Return the worst verdict."""
    return max(verdicts, key=_ORDER.index, default=FINE)


def steady(text: str) -> str:
    """Return a message without addresses of this process, which are others in each run."""
    return _ADDRESS.sub("", text)


def cut(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text, its beginning if it is long."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


@contextmanager
def at(path: str) -> Generator[None]:
    """Say of a wrong argument which field of the request has it."""
    try:
        yield
    except ArgumentError as error:
        raise RequestError(path, str(error)) from error


def failed(error: Exception) -> Answer:
    """Return the answer for what ended a tool's work; raises what is no such error."""
    match error:
        case InputError() | LinkError():
            return broken(error.diagnostics)
        case UnsupportedError():
            advice = "leave out what is not supported, or take another device or engine"
            return answer(UNSUPPORTED, str(error), advice)
        case ToolMissing():
            return answer(UNAVAILABLE, str(error), "take a device that is compiled for here")
        case LimitReached():
            return limited(error.what, error.who)
        case MemoryError():
            return limited("memory", "the request")
        case _:
            raise error


def limited(what: str, who: str) -> Answer:
    """Return the answer for work that has reached a limit."""
    advice = {
        "time": "ask for less: fewer or smaller cases, or a budget; look for an endless loop",
        "memory": "ask for less: smaller arrays, fewer cases",
        "output": "ask for less in the answer: show, want and lines say how much is in it",
    }
    about = {"what": what, "who": who}
    summary = f"{who} took more {what} than a request may"
    return answer(LIMIT, summary, advice.get(what, "ask for less"), limit=about)


def broken(diagnostics: Diagnostics) -> Answer:
    """Return the answer for a program that cannot be used."""
    first = next(iter(diagnostics.errors), None)
    summary = "the program cannot be used" if first is None else _headline(first)
    more = len(diagnostics.errors) - 1
    summary += f", and {more} more" if more > 0 else ""
    advice = (first.help if first is not None else None) or _advice_on(first)
    return answer(BROKEN, summary, advice, diagnostics=described(diagnostics))


def described(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Return the first findings of a compiler or the verifier, errors before others."""
    order = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
    found = sorted(diagnostics, key=lambda one: order.index(one.severity))
    return [_described(one) for one in found[:_MOST_FINDINGS]]


def _described(finding: Diagnostic) -> dict[str, Any]:
    known = finding.to_dict().items()
    form: dict[str, Any] = {key: value for key, value in known if value is not None}
    form["message"] = cut(finding.message)
    if isinstance(finding.origin, Span):
        lines = excerpt(finding.origin.source.text, finding.origin.line)
        form["source"] = lines
    return form


def _headline(finding: Diagnostic) -> str:
    place = f"line {finding.line}: " if finding.line is not None else ""
    return f"{place}{finding.message} [{finding.code}]"


def _advice_on(finding: Diagnostic | None) -> str:
    if finding is None:
        return "mend the program and ask again"
    if finding.code in BY_CODE:
        return f"mend the line and ask again; explain {finding.code} says what the rule asks for"
    return "mend the line and ask again"


def excerpt(text: str, line: int, around: int = _AROUND) -> list[str]:
    """Return the lines around a line, each with its number; > marks the line itself."""
    lines = text.split("\n")
    first, last = max(1, line - around), min(len(lines), line + around)
    return [
        f"{'>' if number == line else ' '} {number} | {cut(lines[number - 1].rstrip(), 200)}"
        for number in range(first, last + 1)
    ]


Texts = Callable[[str], str | None]
"""Returns the text of a file that a program names, None where it is not known."""


def fault_facts(fault: Fault, texts: Texts) -> dict[str, Any]:
    """Return what is known of a fault, with the lines around it."""
    known = {key: value for key, value in fault.to_dict().items() if value is not None}
    known["message"] = cut(steady(fault.message))
    if fault.address is not None and fault.address > _LARGEST_OFFSET:
        del known["address"]
    file, line = fault.source_file, fault.source_line
    if file is None or line is None:
        file, line = fault.file, fault.line
    return known | _lines(file, line, texts)


def finding_facts(finding: Finding, texts: Texts) -> dict[str, Any]:
    """Return what a sanitizer has found, with the lines of each place."""
    form = finding.to_dict()
    form["message"] = cut(steady(finding.message))
    del form["locations"]
    form["places"] = [_place(place, texts) for place in finding.places]
    return form


def _place(place: Place, texts: Texts) -> dict[str, Any]:
    known = {"file": place.file, "line": place.line, "instruction": place.instruction}
    form = {key: value for key, value in known.items() if value is not None}
    lines = _lines(place.file, place.line, texts)
    if not lines and place.text is not None:
        lines = {"source": [place.text.strip()]}
    return form | lines


def _lines(file: str | None, line: int | None, texts: Texts) -> dict[str, Any]:
    text = None if file is None or line is None else texts(file)
    return {} if text is None or line is None else {"source": excerpt(text, line)}


def findings_facts(findings: Sequence[Finding], texts: Texts) -> list[dict[str, Any]]:
    """Return the first findings of sanitizers."""
    return [finding_facts(one, texts) for one in findings[:_MOST_FINDINGS]]
