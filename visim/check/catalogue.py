"""All rules, by topic, and all faults; what documentation and `visim check --explain` print."""

from __future__ import annotations

from visim.check import (
    abi,
    calls,
    classes,
    files,
    flow,
    instructions,
    messages,
    payloads,
    reading,
    regions,
    scattered,
    unwritten,
    variables,
)
from visim.check.faults import FAULTS
from visim.check.rule import Rule, Scope, by_scope
from visim.errors import ArgumentError
from visim.lex import nearest

RULES: tuple[Rule, ...] = (
    *files.RULES,
    *reading.RULES,
    *variables.rules.declared,
    *unwritten.rules.declared,
    *flow.rules.declared,
    *calls.rules.declared,
    *instructions.rules.declared,
    *classes.rules.declared,
    *regions.rules.declared,
    *messages.rules.declared,
    *scattered.rules.declared,
    *payloads.rules.declared,
    *abi.RULES,
)
MODULE_RULES = by_scope(RULES, Scope.MODULE)
UNIT_RULES = by_scope(RULES, Scope.UNIT)
INSTRUCTION_RULES = by_scope(RULES, Scope.INSTRUCTION)
BY_CODE = {rule.code: rule for rule in (*RULES, *FAULTS)}


def find_rule(name: str) -> Rule:
    """Return the rule or the fault of a code; ArgumentError names the nearest if there is none.

    Faults are also known with their category, as they are printed: `undefined/memory-access`.
    """
    code = name.rpartition("/")[2]
    found = BY_CODE.get(code)
    if found is None:
        near = nearest(code, BY_CODE)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(sorted(BY_CODE))}"
        raise ArgumentError(f"there is no rule {code!r}; {hint}")
    return found
