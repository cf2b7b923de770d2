"""The kept mutations, with what visim and Intel's verifier said of each: `mutations.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tests.corpus.pairs import dumps
from tests.mutations.mutate import Mutation
from visim.diag import Severity, Source
from visim.runtime.building.loading import examine_text
from visim.target import platform

FILE = Path(__file__).parent / "mutations.json"


@dataclass(frozen=True)
class Judged:
    """A mutation and its verdicts: None where it was accepted.

    `found` is visim's first error as (code, message), `warned` the codes of warnings,
    `peer` the first complaint of Intel's verifier.
    """

    mutation: Mutation
    device: str
    found: tuple[str, str] | None
    warned: tuple[str, ...]
    peer: str | None


@cache
def texts() -> dict[str, tuple[str, str]]:
    """Return the device and the text of each dump by its name."""
    return {dump.name: (dump.device, dump.text) for dump in dumps()}


def judge(mutation: Mutation) -> tuple[tuple[str, str] | None, tuple[str, ...]]:
    """Return visim's first error and its warnings about a mutated text."""
    device, text = texts()[mutation.base]
    source = Source(mutation.base, mutation.apply(text))
    _, findings = examine_text(source, platform(device))
    warned = sorted({one.code for one in findings if one.severity is Severity.WARNING})
    if not findings.errors:
        return None, tuple(warned)
    first = findings.errors[0]
    return (first.code, first.message), tuple(warned)


@cache
def stored() -> tuple[Judged, ...]:
    """Return what the file holds."""
    entries = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(
        Judged(
            Mutation(**entry["mutation"]),
            entry["device"],
            tuple(entry["found"]) if entry["found"] else None,
            tuple(entry["warned"]),
            entry["peer"],
        )
        for entry in entries
    )


def write(entries: list[Judged]) -> None:
    """Keep the verdicts."""
    text = json.dumps([asdict(entry) for entry in entries], indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
