"""A cell of a matrix: what it is called, what is to be done, and the key of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Name = Mapping[str, str | int | float | bool]
"""The axes of a matrix and where a cell is on each."""
_DIGITS = 24


@dataclass(frozen=True)
class Cell:
    """One piece of work.

    Attributes:
        kind: the job, one of `visim.campaign.jobs`.
        name: where the cell is in the matrix.
        work: what the job needs, of what JSON has.
        key: a digest of everything that the result depends on; cells of one key are run once.
        agree: axes along which cells have to give the same bytes.
        slower: axes along which cells may not need more than the first.
        patience: seconds that it may take at least, whatever the campaign's limit is.
    """

    kind: str
    name: Name
    work: Mapping[str, Any]
    key: str
    agree: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    patience: float = 0.0

    @cached_property
    def identity(self) -> str:
        """A digest of the name: the same for the same cell of other campaigns."""
        return digest_of(self.kind, dict(self.name))

    def peers(self, axes: Collection[str]) -> str:
        """Return a digest that all cells share that differ from this one only along some axes."""
        return digest_of(self.kind, {k: v for k, v in self.name.items() if k not in axes})

    def to_dict(self) -> dict[str, Any]:
        """Return what a worker has to know."""
        return {"kind": self.kind, "name": dict(self.name), "work": self.work}

    def __str__(self) -> str:
        return named(self.name)


def named(name: Name) -> str:
    """Return a cell's name in one line."""
    return " ".join(f"{axis}={value}" for axis, value in name.items())


def digest_of(*parts: object) -> str:
    """Return a digest of what JSON can write."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
