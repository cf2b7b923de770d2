"""Pages that stay short: what is too much for one page is cut into several, all about as long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_WORDS = 2500
"""A page of more words is not read; `tests/unit/test_documents.py` holds all pages to it."""
_HEAD_WORDS = 150
"""Room for what stands above the entries of a page."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A piece of a page that is not cut: what it is called, and its lines."""

    name: str
    lines: tuple[str, ...]

    @property
    def words(self) -> int:
        """How many words it has."""
        return sum(len(line.split()) for line in self.lines)


def in_parts(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return entries in as few parts as fit into pages, in their order, all about as long.

    Raises:
        ValueError: an entry alone is too long for a page.
    """
    if not entries:
        return []
    for count in range(1, len(entries) + 1):
        parts = _cut(entries, count)
        if all(_words(part) <= MOST_WORDS - _HEAD_WORDS for part in parts):
            return parts
    longest = max(entries, key=lambda entry: entry.words)
    raise ValueError(f"{longest.name} has {longest.words} words, a page at most {MOST_WORDS}")


def _cut(entries: Sequence[Entry], count: int) -> list[list[Entry]]:
    """Cut entries where the words before them pass an equal share."""
    total, before = _words(entries), 0
    parts: list[list[Entry]] = [[] for _ in range(count)]
    for entry in entries:
        middle = before + entry.words // 2
        parts[min(middle * count // total, count - 1)].append(entry)
        before += entry.words
    return [part for part in parts if part]


def _words(entries: Sequence[Entry]) -> int:
    return sum(entry.words for entry in entries)


def numbered(stem: str, parts: Sequence[Sequence[Entry]]) -> Iterator[tuple[str, Sequence[Entry]]]:
    """Yield the file of each part: `stem.md`, `stem-2.md`, ..."""
    for number, part in enumerate(parts, 1):
        yield (f"{stem}.md" if number == 1 else f"{stem}-{number}.md"), part


def title(name: str, part: Sequence[Entry], parts: int) -> str:
    """Return the heading of a part: it says from where to where, if there are several."""
    return f"# {name}" if parts == 1 else f"# {name}: {part[0].name} to {part[-1].name}"


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as viewers of Markdown and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
