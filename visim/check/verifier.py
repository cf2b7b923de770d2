"""The verifier: all rules over a module, finding what no run could give a meaning.

Order: the module, then each unit and its instructions. Nothing here stops at the first finding.
Of instructions that are alike the first one tells which rules find something in all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from visim.check.catalogue import INSTRUCTION_RULES, MODULE_RULES, UNIT_RULES
from visim.check.likeness import Likeness
from visim.check.rule import ModuleSite, Rule, UnitSite, site
from visim.diag import Diagnostic, Diagnostics
from visim.module import Module, Unit
from visim.target import Platform


def verify_module(module: Module, platform: Platform | None) -> Diagnostics:
    """Return all findings about a module.

    Args:
        module: What was read.
        platform: The device it is for; None leaves out what depends on the register size.
    """
    diagnostics = Diagnostics()
    for rule in MODULE_RULES:
        diagnostics.extend(rule.apply(ModuleSite(module, platform), None))
    for unit in module.units:
        for rule in UNIT_RULES:
            diagnostics.extend(rule.apply(UnitSite(unit, platform), unit.origin))
        diagnostics.extend(_about_instructions(unit, platform))
    return diagnostics


def _about_instructions(unit: Unit, platform: Platform | None) -> Iterator[Diagnostic]:
    """Yield the findings about the instructions of a unit."""
    likeness = Likeness()
    broken: dict[Hashable, tuple[Rule, ...]] = {}
    for instruction in unit.body:
        kind = likeness.kind(instruction)
        rules = broken.get(kind)
        if rules is None:
            at = site(instruction, unit, platform)
            rules = tuple(rule for rule in INSTRUCTION_RULES if rule.finds(at))
            broken[kind] = rules
        if rules:
            at = site(instruction, unit, platform)
            for rule in rules:
                yield from rule.apply(at, instruction.origin)
