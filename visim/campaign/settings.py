"""What holds for a whole campaign: limits of cells, and which outcomes are accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from visim.campaign.children import Limits
from visim.campaign.outcomes import Outcome
from visim.errors import ArgumentError, shown
from visim.lex import nearest

_MEMORY = re.compile(r"\s*(\d{1,9})\s*([MG])i?B?\s*", re.ASCII | re.IGNORECASE)
_UNITS = {"m": 20, "g": 30}
_LONGEST_S = 86400.0
KEYS = ("name", "seconds", "memory", "accept")


@dataclass(frozen=True, slots=True)
class Settings:
    """The top of a campaign's file.

    Attributes:
        name: of the campaign.
        limits: what each cell may take.
        accept: outcomes that are as good as passed.
    """

    name: str
    limits: Limits
    accept: frozenset[Outcome]


def read_settings(table: Mapping[str, Any], name: str) -> Settings:
    """Return the settings that a campaign's file has.

    Raises:
        ArgumentError: one of them is not what it is to be.
    """
    given = table.get("name", name)
    if not isinstance(given, str) or not given:
        raise ArgumentError(f"name: expected a text, found {shown(given)}")
    limits = Limits(seconds_of(table.get("seconds", 60.0)), memory_of(table.get("memory", "2 GiB")))
    return Settings(given, limits, _accepted(table.get("accept", [])))


def seconds_of(value: object) -> float:
    """Return how long a cell may take."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < cast("float", value) <= _LONGEST_S:
        raise ArgumentError(
            f"seconds: expected a number above 0, up to {_LONGEST_S:g}, found {shown(value)}"
        )
    return float(cast("float", value))


def memory_of(value: object) -> int:
    """Return the bytes that a text such as `512 MiB` says."""
    match = _MEMORY.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        raise ArgumentError(f"memory: expected a text such as '512 MiB', found {shown(value)}")
    return int(match[1]) << _UNITS[match[2].lower()]


def _accepted(value: object) -> frozenset[Outcome]:
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    found = {Outcome.PASSED}
    for name in names:
        known = [str(one) for one in Outcome]
        if not isinstance(name, str) or name not in known:
            near = nearest(name, known) if isinstance(name, str) else None
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
            raise ArgumentError(f"accept: {shown(name)} is no outcome; {hint}")
        found.add(Outcome(name))
    return frozenset(found)
