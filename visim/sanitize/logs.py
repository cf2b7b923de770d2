"""Findings as SARIF 2.1.0, the form in which code hosts show them beside the lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from visim.sanitize.findings import Actor, Finding, Place
from visim.sanitize.kinds import KINDS
from visim.sarif import LEVELS, sarif_log, sarif_uri


def sarif(found: Iterable[tuple[str, Finding]]) -> dict[str, Any]:
    """Return one SARIF log of findings, each with the name of its kernel."""
    findings = list(found)
    kinds = [kind for kind in KINDS if any(one.kind == kind for _, one in findings)]
    results = [_result(kernel, one, kinds.index(one.kind)) for kernel, one in findings]
    return sarif_log([_rule(kind) for kind in kinds], results)


def _rule(name: str) -> dict[str, Any]:
    kind = KINDS[name]
    return {
        "id": name,
        "shortDescription": {"text": kind.sentence},
        "help": {"text": kind.advice},
        "defaultConfiguration": {"level": LEVELS[kind.severity]},
    }


def _result(kernel: str, finding: Finding, index: int) -> dict[str, Any]:
    first, *others = finding.places or (Place(None, None),)
    actor = finding.actors[0] if finding.actors else None
    found: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": index,
        "level": LEVELS[KINDS[finding.kind].severity],
        "message": {"text": f"{finding.message}. To mend it: {finding.advice}"},
        "locations": [_location(first, kernel, actor)],
        "occurrenceCount": finding.count,
    }
    if others:
        actors = [*finding.actors[1:], *[None] * len(others)]
        found["relatedLocations"] = [
            _location(place, kernel, actor) | {"id": number}
            for number, (place, actor) in enumerate(zip(others, actors, strict=False), 1)
        ]
    return found


def _location(place: Place, kernel: str, actor: Actor | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "logicalLocations": [{"name": kernel, "kind": "function"}],
    }
    physical = dict(_physical(place))
    if physical:
        found["physicalLocation"] = physical
    if actor is not None and str(actor):
        found["message"] = {"text": f"by {actor}"}
    return found


def _physical(place: Place) -> Iterator[tuple[str, Any]]:
    if place.file is None:
        return
    yield "artifactLocation", {"uri": sarif_uri(place.file)}
    if place.line is not None:
        region: dict[str, Any] = {"startLine": place.line}
        if place.text:
            region["snippet"] = {"text": place.text}
        yield "region", region


__all__ = ["sarif"]
