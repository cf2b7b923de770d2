"""The tool explain: what a code means, and how what it stands for is mended."""

from __future__ import annotations

from typing import Any

from visim.check.catalogue import BY_CODE
from visim.check.rule import Scope
from visim.lex import nearest
from visim.sanitize.kinds import KINDS
from visim.serve.answering.answers import FINE, VERDICTS, Answer, answer, excerpt
from visim.serve.answering.launching import Clock
from visim.serve.requests import Explain
from visim.serve.shapes import RequestError

_MENDS = {
    "opencl-build": "mend the line that the message names",
    "opencl-warning": "mend the line, or give the option -w",
    "opencl-crash": "the message's help says what is known of such crashes; make the program "
    "smaller, or compile it for another device or with another version",
    "opencl-timeout": "make the program smaller",
    "opencl-source": "give UTF-8 text without NUL characters",
    "memory-access": "guard the access with the array's size, make the array larger, or mend the "
    "index; the fault's buffer and distance say how far outside it was",
    "barrier-deadlock": "let all threads of the group come to the barrier: move it out of branches "
    "and loops whose conditions differ between work-items",
    "instruction-budget": "look for an endless loop, or give a larger budget",
    "timeout": "look for an endless loop, or give a smaller case",
    "not-executable": "take another device, or write the operation otherwise",
    "call-depth": "end the recursion",
}


def explain(asked: Explain, _clock: Clock) -> Answer:
    """Say what a code means."""
    code = asked.code.strip()
    facts = _of_kind(code) or _of_rule(code) or _of_verdict(code)
    if facts is None:
        known = [*KINDS, *BY_CODE, *VERDICTS]
        near = nearest(code.rpartition("/")[2], known)
        hint = f"did you mean {near!r}?" if near else "codes are in answers, as code or kind"
        raise RequestError("code", f"there is no code {code!r}; {hint}")
    if code in VERDICTS:
        facts["as_verdict"] = VERDICTS[code]
    if asked.source is not None and asked.line is not None:
        facts["source"] = excerpt(asked.source, asked.line)
    return answer(FINE, facts["means"], facts["mend"], **facts)


def _of_kind(code: str) -> dict[str, Any] | None:
    kind = KINDS.get(code)
    if kind is None:
        return None
    return {
        "code": kind.name,
        "kind": "finding",
        "severity": str(kind.severity),
        "means": kind.sentence,
        "mend": kind.advice,
        "found_by": kind.detector,
    }


def _of_rule(code: str) -> dict[str, Any] | None:
    rule = BY_CODE.get(code.rpartition("/")[2])
    if rule is None:
        return None
    is_fault = rule.scope is Scope.FAULT
    means = " ".join(rule.explanation.split())
    mend = _MENDS.get(rule.code, "what holds in a right program: " + means)
    form: dict[str, Any] = {
        "code": rule.code,
        "kind": "fault" if is_fault else "rule",
        "severity": str(rule.severity),
        "means": means,
        "mend": mend if not rule.failing else "write it as the example that is right",
        "passage": rule.passage,
    }
    if rule.failing:
        form["example"] = {"wrong": rule.failing.strip(), "right": rule.passing.strip()}
    return form


def _of_verdict(code: str) -> dict[str, Any] | None:
    if code not in VERDICTS:
        return None
    mend = "the answer's next says what to do"
    return {"code": code, "kind": "verdict", "means": VERDICTS[code], "mend": mend}
