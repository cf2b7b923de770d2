"""One oracle for all tests of a process: its processes take a while to start."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from visim.serve.limits import ServerLimits
from visim.serve.oracle import Oracle

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "oracle.json"


@pytest.fixture(scope="session")
def oracle():
    limits = ServerLimits()
    limits = replace(limits, build=replace(limits.build, seconds=8.0))
    with Oracle(workers=2, limits=limits) as made:
        yield made


@pytest.fixture(scope="session")
def answers():
    """What validates answers: they have what the schema says, and nothing else."""
    return jsonschema.Draft202012Validator(_strict(json.loads(SCHEMA.read_text(encoding="utf-8"))))


def _strict(schema):
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _strict(one) for key, one in schema.items()}
    if isinstance(schema.get("properties"), dict) and "$ref" not in schema:
        closed.setdefault("additionalProperties", False)
    return closed


@pytest.fixture
def ask(oracle, answers):
    """A function that returns the answer of a tool."""

    def call(tool, **request):
        found = json.loads(oracle.call(tool, request).data)
        answers.validate(found)
        return found

    return call
