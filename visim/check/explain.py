"""The explanation of a rule or a fault, as documentation and `visim check --explain` print it."""

from __future__ import annotations

from visim.check.rule import Rule, Scope

_LONGEST_EXAMPLE = 600


def explain(rule: Rule) -> str:
    """Return a rule as Markdown: severity, passage, what it asks for, and its examples."""
    kind = "fault" if rule.scope is Scope.FAULT else str(rule.severity)
    parts = [
        f"## {rule.code}",
        f"{kind.capitalize()}. {rule.passage}.",
        rule.explanation,
    ]
    if rule.failing:
        parts += ["Breaks it:", _block(rule.failing), "Keeps it:", _block(rule.passing)]
    return "\n\n".join(parts)


def _block(lines: str) -> str:
    text = lines.rstrip()
    if len(text) > _LONGEST_EXAMPLE:
        text = text[:_LONGEST_EXAMPLE].rsplit("\n", 1)[0] + "\n..."
    return f"```text\n{text}\n```"
