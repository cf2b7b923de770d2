"""What --json prints has the form that the schemas in docs/ describe."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from visim.cli import main

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[3]
SCHEMAS = ROOT / "docs" / "schemas"
CALLS = str(ROOT / "tests" / "corpus" / "call_dg2.zebin")
SAXPY = ["run", "example:saxpy"]
BROKEN = '.version 4.1\n.kernel "k"\n.function "k_0"\nk_0:\n    foo (M1, 1)\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("ones.npy", np.ones(1000, np.float32))
    Path("broken.visaasm").write_text(BROKEN)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("run", SAXPY),
        ("run", [*SAXPY, "--collect", "fidelity,instructions"]),
        ("run", [*SAXPY, "--collect", "taint", "--engine", "interpreter"]),
        ("run", [*SAXPY, "--json-arrays"]),
        ("run", [*SAXPY, "--expect", "y=ones.npy"]),
        ("run", ["run", "example:reduction", "--sanitize", "races"]),
        ("run", ["run", "example:esimd", "--groups", "17"]),
        ("run", ["run", "example:linking"]),
        ("error", ["run", "nothing.zebin"]),
        ("error", ["run", "example:saxpi"]),
        ("error", ["run", "broken.visaasm", "--device", "pvc"]),
        ("check", ["check", "broken.visaasm", CALLS, "--device", "dg2"]),
        ("info", ["info", "example:saxpy"]),
        ("info", ["info", "example:esimd", "--device", "pvc"]),
        ("info", ["info", CALLS]),
        ("time", ["time", "example:stencil"]),
    ],
)
def test_output_is_as_described(capsys, schema, words):
    main([*words, "--json"])
    form = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    described = json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(described).validate(form)


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.stem)
def test_schemas_are_schemas(file):
    schema = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    wrong = dict.fromkeys(schema["required"], None)
    assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)
    assert f"schemas/{file.name}" in (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
