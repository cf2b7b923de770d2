"""The passes over MIR in order: each is a function from functions to functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from visim.engine.jit.mir.blends import blends
from visim.engine.jit.mir.canonicalise import canonicalise
from visim.engine.jit.mir.scatters import merge_element_writes
from visim.engine.jit.mir.values import Function
from visim.engine.jit.mir.verifier import verify
from visim.errors import ArgumentError
from visim.lex import nearest


@dataclass(frozen=True, slots=True)
class MirPass:
    """A pass over MIR: its name, what it does, and what does it."""

    name: str
    run: Callable[[Function], Function]
    summary: str


LIFT = "lift"
"""The name of what comes before all passes: the MIR of a unit as it is lifted."""

PASSES = (
    MirPass(
        "canonicalise",
        canonicalise,
        "Rewrite rules, value numbering, constant folding and dead code in one walk.",
    ),
    MirPass(
        "merge-element-writes",
        merge_element_writes,
        "Scatters of one lane each become one of many lanes.",
    ),
    MirPass(
        "blends",
        blends,
        "Writes under a mask do not keep lanes at which nobody looks.",
    ),
)
NAMES = (LIFT, *(one.name for one in PASSES))


def passes_until(name: str | None) -> tuple[MirPass, ...]:
    """Return the passes up to one, all of them without a name.

    Raises:
        ArgumentError: there is no such pass.
    """
    if name is None:
        return PASSES
    if name not in NAMES:
        near = nearest(name, NAMES)
        meant = f" (is {near!r} meant?)" if near else ""
        known = ", ".join(NAMES)
        raise ArgumentError(f"there is no pass {name!r} over MIR{meant}; there are: {known}")
    return PASSES[: NAMES.index(name)]


def run_passes(function: Function, passes: tuple[MirPass, ...]) -> Function:
    """Return a function after some passes, each of which leaves it well formed.

    Raises:
        MirError: one does not.
    """
    for one in passes:
        function = verify(one.run(function))
    return function


__all__ = ["LIFT", "NAMES", "PASSES", "MirPass", "passes_until", "run_passes"]
