"""All acceptance cases, by topic."""

from __future__ import annotations

from tests.opencl.case import Case
from tests.opencl.cases import algorithms, atomics, control, data, floats, groups, integers, matrix

CASES: tuple[Case, ...] = (
    *integers.CASES,
    *floats.CASES,
    *control.CASES,
    *data.CASES,
    *groups.CASES,
    *atomics.CASES,
    *matrix.CASES,
    *algorithms.CASES,
)
