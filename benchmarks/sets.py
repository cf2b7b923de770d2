"""The sets of benchmarks by name: their kernels, and the family of each."""

from __future__ import annotations

from benchmarks.case import Benchmark
from benchmarks.drawn import SEED, drawn
from benchmarks.held_out import HELD_OUT
from benchmarks.kernels import BENCHMARKS
from benchmarks.public import FAMILIES
from benchmarks.survey import SURVEY

Families = dict[str, tuple[Benchmark, ...]]

SETS: dict[str, str] = {
    "usual": "The 16 kernels that the JIT was made with.",
    "held-out": "14 more, some of which have been profiled since.",
    "survey": "Six of kinds that public suites have.",
    "public": "Kernels by family that nobody tunes visim for one by one.",
    "drawn": "Kernels drawn at random by a seed: loops, strides, types, guards, local memory.",
}


def families(name: str, seed: int = SEED) -> Families:
    """Return the kernels of a set by family.

    Args:
        name: of the set.
        seed: of the set that is drawn.
    """
    if name == "public":
        return FAMILIES
    if name == "drawn":
        return {"drawn": drawn(seed)}
    return {name: {"usual": BENCHMARKS, "held-out": HELD_OUT, "survey": SURVEY}[name]}


def every() -> dict[str, Benchmark]:
    """Return all kernels by name, of drawn ones those of the usual seed."""
    return {
        one.name: one for name in SETS for kernels in families(name).values() for one in kernels
    }


__all__ = ["SETS", "Families", "every", "families"]
