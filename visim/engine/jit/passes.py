"""The JIT's passes: their names, what each does, and which a launch's code is made without.

Every pass can be left out, and results stay the same. `VISIM_PASSES` says which are: words apart by
commas, in order; `-interleave` leaves one out, `interleave` takes it in again, `-all` and `all`
mean every one. What is left out is part of the key of compiled code. Knows no code that runs them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum

from visim.errors import ArgumentError
from visim.lex import nearest

VARIABLE = "VISIM_PASSES"
_ALL = "all"

Off = tuple[str, ...]
"""The names of passes that are left out, in the order of the table."""


class Pass(Enum):
    """A pass: its name, the module that has it, below `visim.engine.jit`, and what it does."""

    # fmt: off
    HALVES = ("join-halves", "analysis.halves",
              "Instructions that the compiler has split into halves become one.")
    WIDE = ("recombine-64", "analysis.dwords",
            "64-bit operations that are written dword by dword, or word by word, become one.")
    CONSTANTS = ("constant-propagation", "lift.outlines",
                 "The shapes of 2D blocks that are put together in registers become known.")
    UNIFORM = ("uniform-branches", "analysis.uniform",
               "Branches that all channels take alike become branches of scalars.")
    AFFINE = ("affine", "analysis.affine",
              "Registers whose lanes are at equal distances are followed as scalars.")
    SELECTS = ("uniform-selects", "analysis.settings",
               "Choices that all channels make alike keep lanes at equal distances.")
    LIVENESS = ("masked-liveness", "analysis.slots",
                "Masked writes do not keep lanes at which nobody looks.")
    MASKS = ("scalar-masks", "analysis.truths",
             "Conditions on lanes at equal distances are computed with scalars.")
    DIVISION_LOOPS = ("division-loops", "analysis.bitwise",
                      "A loop that divides bit by bit becomes a division.")
    CONTRACT = ("contract", "writing.operations",
                "Products and sums in inexact functions, whose results stay the same, are fused.")
    DIVISION = ("division-idioms", "analysis.quotients",
                "Divisions by way of floats become divisions of integers.")
    ELEMENTS = ("merge-element-writes", "analysis.elements",
                "Writes of single elements of an array in registers become one.")
    BARRIERS = ("barrier-regions", "analysis.meetings",
                "Threads of a group run one after another from barrier to barrier, on one stack.")
    PRIVATISE = ("privatise", "analysis.additions",
                 "Additions whose results nobody reads go to a copy of a worker's own.")
    INTERLEAVE = ("interleave", "analysis.walks",
                  "Several channels run side by side through loops over sparse rows.")
    TRANSPOSE = ("transpose", "analysis.sweeps",
                 "Loads of several turns of a loop become loads of blocks that are transposed.")
    VERSION_LOOPS = ("version-loops", "analysis.foreseen",
                     "Loops are written twice: once for turns whose messages are all in range.")
    VERSION_THREADS = ("version-threads", "writing.certain",
                       "The loop over threads is written twice: once for threads all in range.")
    SPECULATE = ("speculate", "writing.supposing",
                 "Clamped or wrapped lanes are taken to be at equal distances, behind a guard.")
    CONTIGUOUS = ("contiguous-access", "writing.rows",
                  "Lanes at equal distances are moved as vectors behind one check.")
    BASES = ("common-base", "writing.anchors",
             "Addresses at a known distance from one that is checked share its pointer and check.")
    GUARDS = ("merge-guards", "writing.joint",
              "Checks of successive messages become one branch.")
    TABLES = ("tables", "analysis.lookups",
              "Loads by indices of known range check the whole table at once.")
    REGISTERS = ("tables-in-registers", "ir.permuting",
                 "Small tables are loaded as a whole, and lanes take elements by permutation.")
    PERMUTED = ("permuted-access", "writing.butterflies",
                "Lanes that are permutations of vectors in memory are moved as such.")
    WINDOWS = ("vector-scatter", "writing.windows",
               "Lanes anywhere in one array are checked at once and moved without branches.")
    PREFETCH = ("prefetch", "writing.asking",
                "Memory is asked for ahead of threads that start later.")
    STRIPS = ("strip-mine", "writing.strips",
              "Long arithmetic runs in loops over as many channels as registers hold.")
    OUTLINE = ("outline-strips", "writing.outlined",
               "Loops over strips become functions of their own.")
    CANONICALISE = ("canonicalise", "mir.canonicalise",
                    "Values of MIR are rewritten, numbered, folded, and left out if nobody asks.")
    BLENDS = ("blends", "mir.blends",
              "In MIR, masked writes do not keep lanes at which nobody looks.")
    MIR = ("emit-mir", "emit.unit",
           "Long units are emitted from MIR: values in SSA, no variables in memory.")
    GRAPHS = ("emit-graphs", "writing.unit",
              "Other units are emitted from traced graphs; without this, from MIR wherever it can.")
    # fmt: on

    def __init__(self, title: str, module: str, summary: str) -> None:
        self.title = title
        self.module = module
        self.summary = summary

    def runs(self, off: Off) -> bool:
        """Whether code is made with the pass where some are left out."""
        return self.title not in off


NAMES: Off = tuple(one.title for one in Pass)


def left_out(environment: Mapping[str, str] | None = None) -> Off:
    """Return the passes that `VISIM_PASSES` leaves out, in the order of the table.

    Args:
        environment: in place of the process's.

    Raises:
        ArgumentError: it names a pass that there is not.
    """
    words = (os.environ if environment is None else environment).get(VARIABLE, "")
    off = set[str]()
    for word in filter(None, (word.strip() for word in words.split(","))):
        name = word.removeprefix("-")
        names = set(NAMES) if name == _ALL else {name}
        if not names <= set(NAMES):
            raise ArgumentError(_unknown(name))
        off = off | names if word.startswith("-") else off - names
    return tuple(name for name in NAMES if name in off)


def _unknown(name: str) -> str:
    near = nearest(name, NAMES)
    meant = f" (is {near!r} meant?)" if near else ""
    known = ", ".join((_ALL, *NAMES))
    return (
        f"{VARIABLE}: there is no pass {name!r}{meant}; a name, or -name, is expected of: {known}"
    )


__all__ = ["NAMES", "VARIABLE", "Off", "Pass", "left_out"]
