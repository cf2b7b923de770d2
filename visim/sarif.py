"""The frame of a SARIF 2.1.0 log, the form in which code hosts show findings beside the lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from visim.diag import Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
)


def sarif_log(
    rules: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a log of one run; each result names its rule by `ruleIndex`."""
    driver = {"name": "visim", "version": version("visim"), "rules": list(rules)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": list(results),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def sarif_uri(file: str) -> str:
    """Return a file's name as the URI of an artifact."""
    return quote(os.fsencode(file.replace("\\", "/")))


__all__ = ["LEVELS", "SCHEMA", "sarif_log", "sarif_uri"]
