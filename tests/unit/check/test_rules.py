"""Every rule finds its own failing example, and is silent on its passing one."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

import pytest

import visim
from visim.attributes import ALIGNMENT_NAMES, TARGETS
from visim.check import verify_module
from visim.check.catalogue import BY_CODE, RULES
from visim.check.rule import Rule, Scope
from visim.diag import Severity, Source
from visim.target import platform
from visim.text import parse_text

PACKAGE = Path(visim.__file__).parent
WITH_EXAMPLES = [rule for rule in RULES if rule.scope is not Scope.ABI]


def findings(rule: Rule, lines: str) -> list[tuple[str, Severity]]:
    """Return the codes that reading and verifying an example give."""
    module, found = parse_text(Source("example", rule.example_text(lines)))
    device = platform(rule.platform) if rule.platform else None
    if not found.errors:
        found.extend(verify_module(module, device))
    return [(one.code, one.severity) for one in found]


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.code)
def test_a_failing_example_breaks_its_rule_and_no_other(rule: Rule):
    found = findings(rule, rule.failing)
    assert set(found) == {(rule.code, rule.severity)}


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.code)
def test_a_passing_example_breaks_no_rule(rule: Rule):
    assert not findings(rule, rule.passing)


def test_codes_of_the_reader_are_explained():
    """But for that of strict reading, which no example breaks by itself."""
    files = [
        *(PACKAGE / "text").glob("*.py"),
        *(PACKAGE / "isa").glob("*.py"),
        *PACKAGE.glob("*.py"),
    ]
    texts = [file.read_text(encoding="utf-8") for file in files]
    codes = {code for text in texts for code in re.findall(r'failure_at\([^"]*"([\w-]+)",', text)}
    assert {"region", "inside-unit", "expression"} < codes
    assert codes - {rule.code for rule in RULES} == {"extension"}


@pytest.mark.parametrize(
    ("code", "known"), [("unknown-alignment", ALIGNMENT_NAMES), ("unknown-target", TARGETS)]
)
def test_words_that_an_explanation_lists_are_read(code: str, known: Container[str]):
    _, _, words = re.sub(r": |\.$", " is ", BY_CODE[code].explanation).partition(" is ")
    listed = re.split(", | or ", words.removesuffix(" is "))
    assert [word for word in listed if word not in known] == []


def test_codes_are_unique():
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_explained(rule: Rule):
    assert rule.explanation
    assert rule.passage
