"""Every rule finds its own failing example, and is silent on its passing one."""

from __future__ import annotations

import re
from collections.abc import Container

import pytest

from tests.unit.check.printed_codes import printed_codes, spelled_words
from visim.attributes import ALIGNMENT_NAMES, TARGETS
from visim.check import verify_module
from visim.check.catalogue import BY_CODE, RULES, find_rule
from visim.check.explain import explain
from visim.check.faults import FAULTS
from visim.check.rule import Rule, Scope
from visim.diag import Severity, Source
from visim.target import platform
from visim.text import parse_text

WITH_EXAMPLES = [rule for rule in RULES if rule.scope not in {Scope.ABI, Scope.FILE}]


def findings(rule: Rule, lines: str) -> list[tuple[str, Severity]]:
    """Return the codes that reading and verifying an example give.

    Examples read what the declarations that they share have, and which nothing writes.
    """
    module, found = parse_text(Source("example", rule.example_text(lines)))
    device = platform(rule.platform) if rule.platform else None
    if not found.errors:
        found.extend(verify_module(module, device))
    shared = {"unwritten-variable"} - {rule.code}
    return [(one.code, one.severity) for one in found if one.code not in shared]


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.code)
def test_a_failing_example_breaks_its_rule_and_no_other(rule: Rule):
    found = findings(rule, rule.failing)
    assert set(found) == {(rule.code, rule.severity)}


@pytest.mark.parametrize("rule", WITH_EXAMPLES, ids=lambda rule: rule.code)
def test_a_passing_example_breaks_no_rule(rule: Rule):
    assert not findings(rule, rule.passing)


def test_every_code_that_modules_spell_is_explained():
    codes = printed_codes()
    examples = {"region", "unknown-attribute", "limit", "opencl-note", "bad-ze-info", "fused-apart"}
    assert examples < codes
    assert codes - set(BY_CODE) == set()


def test_no_code_is_explained_that_nothing_prints():
    assert set(BY_CODE) - spelled_words() - printed_codes() == set()


@pytest.mark.parametrize("name", ["memory-access", "undefined/memory-access"])
def test_a_fault_is_found_with_and_without_its_category(name: str):
    assert explain(find_rule(name)).startswith("## memory-access\n\nFault. vISA 6")


@pytest.mark.parametrize(
    ("code", "known"), [("unknown-alignment", ALIGNMENT_NAMES), ("unknown-target", TARGETS)]
)
def test_words_that_an_explanation_lists_are_read(code: str, known: Container[str]):
    _, _, words = re.sub(r": |\.$", " is ", BY_CODE[code].explanation).partition(" is ")
    listed = re.split(", | or ", words.removesuffix(" is "))
    assert [word for word in listed if word not in known] == []


def test_codes_are_unique():
    codes = [rule.code for rule in (*RULES, *FAULTS)]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("rule", [*RULES, *FAULTS], ids=lambda rule: rule.code)
def test_a_rule_is_explained(rule: Rule):
    assert rule.explanation
    assert rule.passage


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("setp (M1_NM, 16) D(0,0)<1> 0x0:ud", "dst of setp is a predicate, found a general"),
        ("addr_add (M1, 1) P &D 0x0:uw", "dst of addr_add is an address variable, found a pred"),
    ],
)
def test_a_wrong_class_is_named_once_with_what_is_expected(line: str, message: str):
    module, _ = parse_text(Source("example", BY_CODE["operand-class"].example_text(line)))
    (finding,) = verify_module(module, None)
    assert finding.message.startswith(message)
