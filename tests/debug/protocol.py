"""Whether messages of an adapter are those of the Debug Adapter Protocol, by its published schema.

debugpy brings the schema as a file; nothing of debugpy is executed.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator

_FILE = "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"


@cache
def schema() -> dict[str, Any]:
    """Return the protocol's schema."""
    found = find_spec("debugpy")
    assert found is not None
    assert found.origin is not None
    return json.loads((Path(found.origin).parent / _FILE).read_text())


def name_of(message: dict[str, Any]) -> str:
    """Return what the schema calls a message of an adapter."""
    if message["type"] == "event":
        name = message["event"]
        return f"{name[0].upper()}{name[1:]}Event"
    if not message["success"]:
        return "ErrorResponse"
    name = message["command"]
    return f"{name[0].upper()}{name[1:]}Response"


@cache
def _validator(name: str) -> Draft4Validator:
    assert name in schema()["definitions"], name
    return Draft4Validator({**schema(), "$ref": f"#/definitions/{name}"})


def check(message: dict[str, Any]) -> None:
    """Raise where a message is not as the schema has it, or has a key that it does not name."""
    name = name_of(message)
    _validator(name).validate(message)
    _check_keys(message, schema()["definitions"][name], name)


def _check_keys(value: Any, kind: dict[str, Any], where: str) -> None:
    known = _properties(kind)
    if isinstance(value, list):
        for one in value:
            _check_keys(one, _resolved(kind).get("items", {}), f"{where}[]")
    elif isinstance(value, dict) and known:
        assert set(value) <= set(known), f"{where} has {set(value) - set(known)}"
        for key, one in value.items():
            _check_keys(one, known[key], f"{where}.{key}")


def _resolved(kind: dict[str, Any]) -> dict[str, Any]:
    reference = kind.get("$ref")
    return kind if reference is None else schema()["definitions"][reference.rpartition("/")[2]]


def _properties(kind: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a definition, and of those that it extends."""
    kind = _resolved(kind)
    found: dict[str, Any] = {}
    for one in kind.get("allOf", ()):
        found |= _properties(one)
    return found | kind.get("properties", {})
