"""The verifier: all rules over a module, finding what no run could give a meaning.

Order: the module, then each unit and its instructions. Nothing here stops at the first finding.
"""

from __future__ import annotations

from visim.check.catalogue import INSTRUCTION_RULES, MODULE_RULES, UNIT_RULES
from visim.check.rule import ModuleSite, UnitSite, site
from visim.diag import Diagnostics
from visim.module import Module
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
        for instruction in unit.body:
            at = site(instruction, unit, platform)
            for rule in INSTRUCTION_RULES:
                diagnostics.extend(rule.apply(at, instruction.origin))
    return diagnostics
