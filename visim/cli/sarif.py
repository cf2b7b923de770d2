"""Findings as SARIF 2.1.0, the form in which code hosts show them beside the lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from visim.check.catalogue import BY_CODE
from visim.diag import Diagnostic
from visim.sarif import LEVELS, sarif_log, sarif_uri


def sarif(found: Mapping[str, Iterable[Diagnostic]]) -> dict[str, Any]:
    """Return one SARIF log of the findings about several files, by the files' names."""
    findings = [(file, finding) for file, group in found.items() for finding in group]
    codes = sorted({finding.code for _, finding in findings})
    results = [_result(file, finding, codes.index(finding.code)) for file, finding in findings]
    return sarif_log([_rule(code) for code in codes], results)


def _rule(code: str) -> dict[str, Any]:
    known = BY_CODE.get(code)
    if known is None:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": known.explanation.split("\n\n", 1)[0]},
        "help": {"text": f"{known.passage}. {known.explanation}"},
        "defaultConfiguration": {"level": LEVELS[known.severity]},
    }


def _result(file: str, finding: Diagnostic, index: int) -> dict[str, Any]:
    text = finding.message + (f" ({finding.help})" if finding.help else "")
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": dict(_place(file, finding))}],
    }


def _place(file: str, finding: Diagnostic) -> Iterator[tuple[str, Any]]:
    yield "artifactLocation", {"uri": sarif_uri(file)}
    if finding.line is not None:
        yield "region", {"startLine": finding.line, "startColumn": finding.column}
    elif finding.offset is not None:
        yield "region", {"byteOffset": finding.offset}
