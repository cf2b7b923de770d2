"""Building, running and comparing: the error of each function, and where it is greatest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

import visim
from tools.builtins import points
from tools.builtins.catalogue import FREE, Function
from tools.builtins.references import BITS

_PRAGMAS = (
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
)


@dataclass(frozen=True)
class Measured:
    """What came of one function and type.

    `error` is the greatest in ULP and `worst` its arguments, both of results and arguments that are
    no denormals. `denormals` is the greatest error where one of them is. `wrong` are the arguments
    at which a NaN, an infinity or a number came out where another of these belongs.
    """

    function: Function
    kind: str
    count: int
    error: float
    worst: tuple[float, ...]
    denormals: float
    wrong: tuple[tuple[float, ...], ...]

    @property
    def limit(self) -> float | None:
        """The greatest error that OpenCL allows."""
        return self.function.limits[self.kind]

    @property
    def is_within(self) -> bool:
        """Whether results that are no denormals are as exact as OpenCL asks, if it does."""
        limit = self.limit
        return limit == FREE or (limit is not None and self.error <= limit and not self.wrong)


def source(functions: Iterable[Function], kind: str) -> str:
    """Return an OpenCL program with a kernel `k<number>` for each function."""
    kernels = [f"#define T {kind}\n", _PRAGMAS]
    for number, function in enumerate(functions):
        names = "abc"[: len(function.arguments)]
        pairs = list(zip(names, function.arguments, strict=True))
        parameters = "".join(f", global const {t} *{n}_" for n, t in pairs)
        reads = " ".join(f"{t} {n} = {n}_[i];" for n, t in pairs)
        kernels.append(
            f"kernel void k{number}(global {function.result} *out{parameters}) "
            f"{{ size_t i = get_global_id(0); {reads} out[i] = {function.call}; }}\n"
        )
    return "".join(kernels)


def measure(
    functions: Sequence[Function],
    kind: str,
    *,
    device: str,
    count: int,
    engine: str | None = None,
    seed: int = 1,
) -> Iterator[Measured]:
    """Build all functions for one type and yield what each of them does.

    Args:
        functions: those that exist for the type.
        kind: "float", "double" or "half".
        device: for which the compiler builds.
        count: how many random points.
        engine: the engine of visim.
        seed: of the random points.
    """
    program = visim.opencl.build(source(functions, kind), device=device)
    for number, function in enumerate(functions):
        given = points.arguments(function.arguments, kind, count, function.near, seed)
        dtype = points.DTYPES[kind] if function.result == "T" else np.dtype("i4")
        out = np.zeros(given[0].size, dtype)
        program[f"k{number}"].launch([out, *given], global_size=out.size, engine=engine)
        yield compare(function, kind, given, out)


def compare(function: Function, kind: str, given: Sequence[Any], out: Any) -> Measured:
    """Return how far results are from the exact ones."""
    error = denormal_error = 0.0
    worst: tuple[float, ...] = ()
    wrong: list[tuple[float, ...]] = []
    tiny = float(np.finfo(points.DTYPES[kind]).tiny)
    with mp.workprec(BITS), np.errstate(all="ignore"):
        for row in zip(*(column.tolist() for column in given), out.tolist(), strict=True):
            *arguments, got = row
            exact = function.reference(*arguments)
            if exact is None:
                continue
            found = _error(function, exact, got, points.DTYPES[kind])
            small = any(0 < abs(value) < tiny for value in (*arguments, exact))
            if small:
                denormal_error = max(denormal_error, found)
            elif math.isinf(found):
                wrong.append(tuple(arguments))
            elif found > error:
                error, worst = found, tuple(arguments)
    return Measured(function, kind, out.size, error, worst, denormal_error, tuple(wrong))


def _error(function: Function, exact: Any, got: float, dtype: np.dtype[Any]) -> float:
    if function.result == "int":
        return 0.0 if exact == got else math.inf
    if function.exact_below_one and exact < 1:
        exact = min(exact, mpmath.mpf(float(np.nextafter(dtype.type(1), dtype.type(0)))))
    return ulp_error(exact, got, dtype)


def ulp_error(exact: Any, got: float, dtype: np.dtype[Any]) -> float:
    """Return the distance in units in the last place of the exact value, as OpenCL counts.

    Infinite where one of both is a NaN or an infinity of no use. An infinite result counts as the
    power of two behind the greatest number.
    """
    info: Any = np.finfo(dtype)
    if mp.isnan(exact) or math.isnan(got):
        return 0.0 if mp.isnan(exact) and math.isnan(got) else math.inf
    beyond = mpmath.ldexp(1, int(info.maxexp))
    if mp.isinf(exact) and math.isinf(got):
        return 0.0 if exact == got else math.inf
    if mp.isinf(exact):
        return math.inf
    value = beyond * (1 if got > 0 else -1) if math.isinf(got) else mpmath.mpf(got)
    if math.isinf(got) and abs(exact) >= beyond and exact * value > 0:
        return 0.0
    _, exponent = mp.frexp(exact) if exact else (0, int(info.minexp))
    exponent = min(max(int(exponent) - 1, int(info.minexp)), int(info.maxexp) - 1)
    error = abs(value - exact) / mpmath.ldexp(1, exponent - int(info.nmant))
    return math.inf if error > 1e12 else float(error)
