"""Launches with the same options: what is checked and looked up once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from visim.engine.base import Engine, RunOptions
from visim.records import record
from visim.runtime.launching.launch import LaunchKeywords, LaunchOptions
from visim.runtime.payload.threads import LaunchPlan

MOST_FORMS = 64
_PLAIN = frozenset({bool, int, str, type(None)})
_LISTS = frozenset({tuple, list})
_DEEPEST = 2
"""So deep are lists in lists that options may be."""
_HOLDERS = frozenset({"observers", "samplers", "surfaces"})
"""Options that hold objects of the caller's, which are not to be kept."""


@record
class Form:
    """What launches with the same options have in common.

    Attributes:
        options: the options, checked.
        run_options: those of them that engines know.
        engine: the engine that they name; None: the fastest.
        prepare: prepares a launch, given its arguments; what it raises is wrong with these.
    """

    options: LaunchOptions
    run_options: RunOptions
    engine: Engine | None
    prepare: Callable[[Sequence[object]], LaunchPlan]


class Forms:
    """The forms of a kernel's launches.

    Args:
        make: makes the form of some options, or raises what is wrong with them.
    """

    def __init__(self, make: Callable[[LaunchOptions], Form]) -> None:
        self._make = make
        self._known: dict[str, Form] = {}

    def of(self, options: LaunchKeywords) -> Form:
        """Return the form of launches with some options; what it raises is not remembered."""
        if not _HOLDERS.isdisjoint(options) or not _is_plain([*options.values()], _DEEPEST):
            return self._make(LaunchOptions.of(options))
        # What differs in its type only, such as 1 and True, may not be right both times.
        try:
            key = repr(options)
        except ValueError:  # Python writes no integers of thousands of digits.
            return self._make(LaunchOptions.of(options))
        found = self._known.get(key)
        if found is None:
            found = self._make(LaunchOptions.of(options))
            if len(self._known) >= MOST_FORMS:
                self._known.clear()
            self._known[key] = found
        return found


def _is_plain(values: Sequence[object], deepest: int) -> bool:
    """Whether what `repr` shows of values is all that they are: another class may show anything."""
    kinds = set(map(type, values))
    if _PLAIN.issuperset(kinds):
        return True
    if not deepest or not kinds <= _PLAIN | _LISTS:
        return False
    lists = [cast("Sequence[object]", one) for one in values if type(one) in _LISTS]
    return all(_is_plain(one, deepest - 1) for one in lists)
