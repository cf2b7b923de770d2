"""The oldest versions that the gate tests with are those that pyproject.toml promises."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_gate_tests_the_oldest_versions_that_are_allowed() -> None:
    if not (ROOT / ".ci").is_dir():
        pytest.skip("not a clone of the repository: no .ci")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = {tuple(one.split(">=")) for one in project["dependencies"]}
    pins = re.findall(r"^(\S+)==(\S+)$", (ROOT / ".ci/lowest.txt").read_text(), re.MULTILINE)
    assert {(name, shortest(version)) for name, version in pins} == {
        (name, shortest(version)) for name, version in allowed
    }


def shortest(version: str) -> str:
    """Return a version without zeros at its end."""
    return re.sub(r"(\.0)+$", "", version)
