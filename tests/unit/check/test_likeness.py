"""The verifier looks at one of each kind of instruction, and finds what is wrong with all."""

from __future__ import annotations

import pytest

from tests.corpus.pairs import Dump, dumps
from visim.check import verify_module
from visim.check.catalogue import BY_CODE, INSTRUCTION_RULES
from visim.check.likeness import Likeness
from visim.check.rule import Rule, site
from visim.diag import Diagnostic, Source
from visim.module import Module
from visim.target import Platform, platform
from visim.text import read_text

INSTRUCTIONS = "\n".join(
    (
        ".decl X v_type=G type=d num_elts=64 align=GRF",
        ".decl Y v_type=G type=d num_elts=8 alias=<X, 32>",
        "next:",
        "(P) add (M1, 8) D(0,0)<1> X(1,0)<1;1,0> 0x1:d",
    )
)


def one_by_one(module: Module, device: Platform | None) -> list[Diagnostic]:
    """Return what all rules find in all instructions."""
    return [
        finding
        for unit in module.units
        for item in unit.body
        for rule in INSTRUCTION_RULES
        for finding in rule.apply(site(item, unit, device), item.origin)
    ]


def about_instructions(module: Module, device: Platform | None) -> list[Diagnostic]:
    codes = {rule.code for rule in INSTRUCTION_RULES}
    return [one for one in verify_module(module, device) if one.code in codes]


@pytest.mark.parametrize("rule", INSTRUCTION_RULES, ids=lambda rule: rule.code)
def test_the_passing_example_in_front_hides_nothing(rule: Rule):
    examples = enumerate((rule.passing, rule.failing, rule.failing))
    scopes = [f"{{\n{lines.replace('end', f'end{number}')}\n}}" for number, lines in examples]
    text = rule.example_text("\n".join(scopes))
    device = platform(rule.platform) if rule.platform else None
    module = read_text(Source("example", text))
    found = about_instructions(module, device)
    assert found == one_by_one(module, device)
    assert [one.code for one in found] == [rule.code] * len(found)
    assert len(found) >= 2


@pytest.mark.parametrize("dump", dumps(), ids=lambda dump: dump.name)
@pytest.mark.parametrize("device", ["skl", "pvc", None])
def test_compilers_output_has_the_findings_of_all_its_instructions(dump: Dump, device: str | None):
    module = read_text(Source(dump.name, dump.text), platform("pvc"))
    target = platform(device) if device else None
    assert about_instructions(module, target) == one_by_one(module, target)


@pytest.mark.parametrize(
    ("line", "is_alike"),
    [
        ("(P) add (M1, 8) D(0,0)<1> X(1,0)<1;1,0> 0x1:d", True),
        ("(P) add (M1, 8) X(0,0)<1> D(1,0)<1;1,0> 0x1:d", True),
        ("(P) add (M1, 8) X(0,0)<1> X(1,0)<1;1,0> 0x1:d", False),
        ("(P) add (M1, 8) D(0,0)<1> Y(1,0)<1;1,0> 0x1:d", False),
        ("(P) add (M1, 8) D(0,0)<1> UD(1,0)<1;1,0> 0x1:d", False),
        ("(P) add (M1, 8) D(0,0)<1> %arg(1,0)<1;1,0> 0x1:d", False),
        ("(P) add (M1, 8) D(0,0)<1> X(0,0)<1;1,0> 0x1:d", False),
        ("(P) add (M1, 8) D(0,0)<1> X(1,0)<0;1,0> 0x1:d", False),
        ("(P) add (M1, 8) D(0,0)<1> X(1,0)<1;1,0> 0x2:d", False),
        ("(!P) add (M1, 8) D(0,0)<1> X(1,0)<1;1,0> 0x1:d", False),
        ("(P8) add (M1, 8) D(0,0)<1> X(1,0)<1;1,0> 0x1:d", False),
        ("(P) add (M1, 4) D(0,0)<1> X(1,0)<1;1,0> 0x1:d", False),
        ("(P) mul (M1, 8) D(0,0)<1> X(1,0)<1;1,0> 0x1:d", False),
    ],
)
def test_what_differs_in_names_only_is_alike(line: str, is_alike: bool):
    text = BY_CODE["mask-unaligned"].example_text(f"{INSTRUCTIONS}\n{line}")
    (unit,) = read_text(Source("example", text)).units
    likeness = Likeness()
    _, first, other, _ = (likeness.kind(item) for item in unit.body)
    assert (first == other) is is_alike


def test_branches_to_other_labels_are_alike():
    lines = "jmp (M1, 1) a\njmp (M1, 1) b\na:\nb:"
    text = BY_CODE["mask-unaligned"].example_text(lines)
    (unit,) = read_text(Source("example", text)).units
    likeness = Likeness()
    kinds = [likeness.kind(item) for item in unit.body]
    assert kinds[0] == kinds[1] != kinds[2] == kinds[3]
