"""OpenCL's mathematical functions are as exact as OpenCL asks; docs/builtins.md has the figures.

A small part of what `python -m tools.builtins` measures: special values and a few random ones.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import visim
from tools.builtins import __main__ as command
from tools.builtins.catalogue import FREE, FUNCTIONS
from tools.builtins.measure import Measured, measure, ulp_error

KINDS = {"float": "skl", "double": "pvc", "half": "pvc"}
SLOW = {"tgamma", "lgamma", "lgamma_r", "pow", "pown", "powr", "rootn", "half_powr"}
WRONG_IN_THE_LIBRARY = {("fract", "half")}
"""See docs/spec-notes-compiler.md, Bugs of the compiler."""


@pytest.mark.parametrize("kind", KINDS)
def test_functions_are_within_their_limits(kind: str):
    functions = [
        function
        for function in FUNCTIONS
        if function.limits[kind] not in {None, FREE}
        and function.name not in SLOW
        and (function.name, kind) not in WRONG_IN_THE_LIBRARY
    ]
    try:
        found = list(measure(functions, kind, device=KINDS[kind], count=16, engine="interpreter"))
    except visim.ToolMissing as missing:
        pytest.skip(str(missing))
    assert len(found) == len(functions) > 60
    assert [command.line(one) for one in found if not one.is_within] == []


def test_errors_are_counted_in_units_of_the_last_place():
    single = np.dtype("f4")
    one = mpmath.mpf(1)
    assert ulp_error(one, 1.0, single) == 0
    assert ulp_error(one, 1 + 2.0**-23, single) == 1
    assert ulp_error(one + mpmath.mpf(2) ** -24, 1.0, single) == 0.5
    assert ulp_error(mpmath.mpf(2) ** -149 / 2, 0.0, single) == 0.5
    assert ulp_error(mpmath.mpf(2) ** 128, math.inf, single) == 0
    assert ulp_error(mpmath.mpf(2) ** 128 * (1 - mpmath.mpf(2) ** -25), math.inf, single) == 0.5
    assert ulp_error(mpmath.inf, math.inf, single) == 0
    assert ulp_error(mpmath.nan, math.nan, single) == 0
    for exact, got in ((mpmath.inf, -math.inf), (mpmath.nan, 1.0), (one, math.nan)):
        assert ulp_error(exact, got, single) == math.inf


def test_the_page_says_where_a_limit_is_passed():
    function = next(function for function in FUNCTIONS if function.name == "acos")
    fine = Measured(function, "float", 10, 1.5, (0.5,), 0.0, ())
    bad = Measured(function, "double", 10, 4.5, (0.5,), 0.0, ((2.0,),))
    assert fine.is_within
    assert not bad.is_within
    pages = dict(command.pages([fine, bad], 10, "pvc"))
    text = "\n".join(line for lines in pages.values() for line in lines)
    assert set(pages) == {"builtins.md", *(f"builtins-{kind}.md" for kind in command.KINDS)}
    assert "| `acos` | 1.5 | 4 | 0.5 | 0 |" in text
    assert "| `acos` | 4.5 **beyond** | 4 | 0.5 | 0 |" in text
    assert "`acos`: another special value than expected at 2.0." in text
