"""All acceptance cases, by topic."""

from __future__ import annotations

from tests.opencl.case import Case
from tests.opencl.cases import (
    algorithms,
    atomics,
    collective,
    control,
    data,
    doubles,
    floats,
    groups,
    integers,
    matrix,
)

CASES: tuple[Case, ...] = (
    *integers.CASES,
    *floats.CASES,
    *doubles.CASES,
    *control.CASES,
    *data.CASES,
    *groups.CASES,
    *collective.CASES,
    *atomics.CASES,
    *matrix.CASES,
    *algorithms.CASES,
)
