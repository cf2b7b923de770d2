"""What a campaign's file consists of: parts that make cells, and may hear what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from visim.campaign.cells import Cell
from visim.campaign.outcomes import Result
from visim.errors import ArgumentError
from visim.lex import nearest


class Part(Protocol):
    """One table of a campaign's file."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def count(self) -> int:
        """How many cells it has."""
        ...

    def cells(self) -> Iterator[Cell | None]:
        """Make the cells; None waits for all before it."""
        ...

    def hear(self, cell: Cell, result: Result) -> None:
        """Hear what came of a cell, of any part."""
        ...

    def notes(self) -> list[str]:
        """Return what there is to say when all have run."""
        ...


class Silent:
    """A part that hears nothing and has nothing to say."""

    def hear(self, cell: Cell, result: Result) -> None:
        """Hear nothing."""

    def notes(self) -> list[str]:
        """Say nothing."""
        return []


def check_keys(table: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse keys that a table does not have."""
    listed = tuple(known)
    for key in table:
        if key not in listed:
            near = nearest(key, listed)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(listed)}"
            raise ArgumentError(f"unknown key {key!r}; {hint}")
