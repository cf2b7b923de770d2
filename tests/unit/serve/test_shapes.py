"""Shapes: what they read, what they refuse and where, and that their schemas say the same."""

from __future__ import annotations

from dataclasses import fields
from itertools import islice

import jsonschema
import pytest

from tests.shares import choose_seed
from tools.hostile.making import attacks
from visim.serve.requests import Array, Case, Program, Side
from visim.serve.shapes import RequestError
from visim.serve.tools import TOOLS


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_requests_have_json_schemas(tool):
    jsonschema.Draft202012Validator.check_schema(tool.schema)
    assert tool.schema["additionalProperties"] is False
    assert all("description" in entry for entry in tool.schema["properties"].values())


def test_schemas_and_readers_agree_on_wrong_fields():
    """What the reader refuses the schema refuses, and the other way round."""
    validators = {
        name: jsonschema.Draft202012Validator(tool.schema) for name, tool in TOOLS.items()
    }
    seen = set()
    for attack in islice(attacks(choose_seed()), 1500):
        if attack.kind != "fields":
            continue
        try:
            TOOLS[attack.tool].read(attack.request)
        except RequestError as error:
            refused = error
        else:
            refused = None
        by_schema = [
            one
            for one in validators[attack.tool].iter_errors(_without_nulls(attack.request))
            if "contentEncoding" not in one.schema
        ]
        # Bytes in base64 are read, which schemas only describe.
        if refused is not None and "base64" not in str(refused):
            assert by_schema, (attack, refused)
        if refused is None:
            assert not by_schema, (attack, by_schema)
        seen.add(refused is None)
    assert seen == {True, False}


_FIELDS = {
    field.name
    for made in (*(tool.takes for tool in TOOLS.values()), Program, Case, Side, Array)
    for field in fields(made)
}


def _without_nulls(value):
    """Return a request without the nulls that stand for what is not given."""
    if isinstance(value, dict):
        return {
            key: _without_nulls(one)
            for key, one in value.items()
            if one is not None or key not in _FIELDS
        }
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("tool", "request_", "path", "words"),
    [
        ("explain", {"code": 5}, "code", "expected text"),
        ("explain", {"cod": "x"}, "cod", "did you mean 'code'"),
        ("explain", {"code": "x" * 300}, "code", "at most 200 characters"),
        ("explain", {"code": "x", "line": 1.5}, "line", "an integer from 1"),
        ("explain", {"code": "x", "line": True}, "line", "an integer from 1"),
        ("run", {"program": {}, "cases": []}, "cases", "1 to 16 items"),
        ("run", {"program": {}, "cases": [{}], "engine": "jot"}, "engine", "did you mean 'jit'"),
        ("run", {"program": {}, "cases": [{"rtol": -1}]}, "cases[0].rtol", "a number from 0"),
        ("run", {"program": {}, "cases": [{"args": {"x": []}}]}, "cases[0].args.x", "JSON types"),
        ("compile", {"program": {"binary": "%%"}}, "program.binary", "base64"),
        ("compile", {"program": {"headers": {"h": 1}}}, "program.headers.h", "expected text"),
    ],
)
def test_a_wrong_value_is_said_with_its_path(tool, request_, path, words):
    with pytest.raises(RequestError) as raised:
        TOOLS[tool].read(request_)
    assert raised.value.path == path
    assert words in raised.value.message
