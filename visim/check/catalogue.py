"""All rules, by topic, and all faults; what documentation and `visim check --explain` print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Topic:
    """Rules that look at one thing; the documentation has a page for each."""

    name: str
    title: str
    rules: tuple[Rule, ...]


TOPICS = (
    Topic("files", "Files, compilers and texts", (*files.RULES, *reading.RULES)),
    Topic("variables", "Variables and inputs", tuple(variables.rules.declared)),
    Topic(
        "flow",
        "Control flow and calls",
        (*unwritten.rules.declared, *flow.rules.declared, *calls.rules.declared),
    ),
    Topic(
        "instructions",
        "Instructions and their operands",
        (*instructions.rules.declared, *classes.rules.declared, *regions.rules.declared),
    ),
    Topic(
        "messages",
        "Messages to memory and samplers",
        (*messages.rules.declared, *scattered.rules.declared, *payloads.rules.declared),
    ),
    Topic("abi", "What a zebin says of its kernels", abi.RULES),
)
RULES: tuple[Rule, ...] = tuple(rule for topic in TOPICS for rule in topic.rules)
FAULT_TOPIC = Topic("faults", "Faults", FAULTS)
MODULE_RULES = by_scope(RULES, Scope.MODULE)
UNIT_RULES = by_scope(RULES, Scope.UNIT)
INSTRUCTION_RULES = by_scope(RULES, Scope.INSTRUCTION)
_MOST_HINTS = 4
BY_CODE = {rule.code: rule for rule in (*RULES, *FAULTS)}


def near_codes(code: str, known: Iterable[str]) -> str:
    """Return a hint at the codes that somebody may have meant."""
    codes = sorted(known)
    near = nearest(code, codes)
    alike = [near] if near else [one for one in codes if code and code in one][:_MOST_HINTS]
    if alike:
        return f"did you mean {' or '.join(alike)}?"
    return "visim check prints codes in brackets, and docs/rules.md lists all"


def find_rule(name: str) -> Rule:
    """Return the rule or the fault of a code; ArgumentError names the nearest if there is none.

    Faults are also known with their category, as they are printed: `undefined/memory-access`.
    """
    code = name.rpartition("/")[2]
    found = BY_CODE.get(code)
    if found is None:
        raise ArgumentError(f"there is no rule {code!r}; {near_codes(code, BY_CODE)}")
    return found
