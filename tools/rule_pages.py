"""The pages of the verifier's rules and of faults: one a topic, and one that lists all codes."""

from __future__ import annotations

from collections.abc import Iterator

from tools.instruction_pages import GENERATED
from tools.paging import anchor
from visim.check.catalogue import FAULT_TOPIC, TOPICS
from visim.check.explain import explain

_ALL = (*TOPICS, FAULT_TOPIC)
_FILES = {rule.code: f"rules/{topic.name}.md" for topic in _ALL for rule in topic.rules}


def link(code: str) -> str:
    """Return a link from a page in docs/ to what is said of a rule or a fault."""
    return f"[{code}]({_FILES[code]}#{anchor(code)})"


def pages() -> Iterator[tuple[str, list[str]]]:
    """Yield the names of the pages in docs/, and their paragraphs."""
    yield "rules.md", list(_overview())
    for topic in _ALL:
        entries = [explain(rule) for rule in topic.rules]
        head = "What an entry says, and all other rules: [Rules of the verifier](../rules.md)."
        yield f"rules/{topic.name}.md", [f"# {topic.title}", GENERATED, head, *entries]


def _overview() -> Iterator[str]:
    yield "# Rules of the verifier"
    yield GENERATED
    yield (
        "What `visim check` reports. An error is something that no run could give a meaning; a\n"
        "warning is likely a mistake; a note is what the specification asks for and Intel's own\n"
        "compiler does not keep to. Faults stop a run; kernels that run without them keep to\n"
        "what is said there. `visim check --explain CODE` prints one of these entries."
    )
    for topic in _ALL:
        yield f"## {topic.title}"
        yield ", ".join(link(rule.code) for rule in topic.rules) + "."
