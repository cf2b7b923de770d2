"""All rules of the verifier, by topic; what documentation and `visim check --explain` print."""

from __future__ import annotations

from visim.check import (
    abi,
    classes,
    flow,
    instructions,
    messages,
    reading,
    regions,
    scattered,
    variables,
)
from visim.check.rule import Rule, Scope, by_scope
from visim.errors import ArgumentError
from visim.lex import nearest

RULES: tuple[Rule, ...] = (
    *reading.RULES,
    *variables.rules.declared,
    *flow.rules.declared,
    *instructions.rules.declared,
    *classes.rules.declared,
    *regions.rules.declared,
    *messages.rules.declared,
    *scattered.rules.declared,
    *abi.RULES,
)
MODULE_RULES = by_scope(RULES, Scope.MODULE)
UNIT_RULES = by_scope(RULES, Scope.UNIT)
INSTRUCTION_RULES = by_scope(RULES, Scope.INSTRUCTION)
BY_CODE = {rule.code: rule for rule in RULES}


def find_rule(code: str) -> Rule:
    """Return the rule called `code`; ArgumentError names the nearest if there is none."""
    found = BY_CODE.get(code)
    if found is None:
        near = nearest(code, BY_CODE)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(sorted(BY_CODE))}"
        raise ArgumentError(f"there is no rule {code!r}; {hint}")
    return found
