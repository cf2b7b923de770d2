"""The mathematical functions of OpenCL C 1.2 and 3.0: how they are called, and their limits.

Limits are those of OpenCL C 3.0, 7.4, tables of relative error (full profile), and of cl_khr_fp16.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mpmath
from mpmath import mp

from tools.builtins import references as ref

ROUNDED = 0.5
"""The limit of what has to be correctly rounded."""

FREE = math.inf
"""The limit of what OpenCL leaves to the implementation."""


@dataclass(frozen=True)
class Function:
    """A function and its limits in ULP for float, double and half; None: it does not exist.

    `call` is its expression of a, b and c, `arguments` their types with T for the measured one,
    `result` the type of the result. `near` is the interval in which most of its action is.
    """

    name: str
    call: str
    reference: Callable[..., Any]
    limits: Mapping[str, float | None]
    arguments: tuple[str, ...] = ("T",)
    result: str = "T"
    near: tuple[float, float] = (-4.0, 4.0)
    exact_below_one: bool = field(default=False)


def _limits(
    single: float | None, double: float | None, half: float | None
) -> dict[str, float | None]:
    return {"float": single, "double": double, "half": half}


def _one(
    name: str,
    reference: Callable[..., Any],
    single: float,
    half: float,
    near: tuple[float, float] = (-4.0, 4.0),
    *,
    double: float | None = None,
) -> Function:
    limits = _limits(single, single if double is None else double, half)
    return Function(name, f"{name}(a)", reference, limits, near=near)


def _two(
    name: str, reference: Callable[..., Any], single: float, half: float, second: str = "T"
) -> Function:
    return Function(name, f"{name}(a, b)", reference, _limits(single, single, half), ("T", second))


def _with_pointer(call: str, kind: str, value: str) -> str:
    """Return an expression that gives the result (r) or what a pointer (p) receives."""
    return f"({{ {kind} p; T r = {call}; (void)r; {value}; }})"


_log = {0.0: -mp.inf}
_exp = (-120.0, 100.0)
_EXACT = _limits(0, 0, 0)
_CORRECT = _limits(ROUNDED, ROUNDED, ROUNDED)

# fmt: off
_ELEMENTARY = (
    _one("acos",    ref.unary(mp.acos, -1, 1), 4, 2, (-1, 1)),
    _one("acosh",   ref.unary(mp.acosh, 1), 4, 2, (1, 10)),
    _one("acospi",  ref.unary(lambda x: mp.acos(x) / mp.pi, -1, 1), 5, 2, (-1, 1)),
    _one("asin",    ref.unary(mp.asin, -1, 1), 4, 2, (-1, 1)),
    _one("asinh",   ref.unary(mp.asinh), 4, 2),
    _one("asinpi",  ref.unary(lambda x: mp.asin(x) / mp.pi, -1, 1), 5, 2, (-1, 1)),
    _one("atan",    ref.unary(mp.atan), 5, 2),
    _one("atanh",   ref.with_poles(ref.unary(mp.atanh, -1, 1), {1.0: mp.inf, -1.0: -mp.inf}),
         5, 2, (-1, 1)),
    _one("atanpi",  ref.unary(lambda x: mp.atan(x) / mp.pi), 5, 2),
    _two("atan2",   ref.atan2, 6, 2),
    _two("atan2pi", lambda y, x: ref.atan2(y, x) / mp.pi, 6, 2),
    _one("cbrt",    ref.unary(ref.cbrt), 2, 2),
    _one("cos",     ref.finite(mp.cos), 4, 2, (-100, 100)),
    _one("cosh",    ref.unary(mp.cosh), 4, 2, (-90, 90)),
    _one("cospi",   ref.finite(mp.cospi), 4, 2),
    _one("erf",     ref.unary(mp.erf), 16, 4),
    _one("erfc",    ref.erfc, 16, 4, (-4, 12)),
    _one("exp",     ref.unary(mp.exp), 3, 2, _exp),
    _one("exp2",    ref.unary(lambda x: mp.power(2, x)), 3, 2, _exp),
    _one("exp10",   ref.unary(lambda x: mp.power(10, x)), 3, 2, (-45, 39)),
    _one("expm1",   ref.unary(mp.expm1), 3, 2),
    _two("hypot",   ref.hypot, 4, 2),
    _one("lgamma",  ref.log_gamma, FREE, FREE, (-20, 20)),
    _one("log",     ref.with_poles(ref.unary(mp.log, 0), _log), 3, 2, (0, 4)),
    _one("log2",    ref.with_poles(ref.unary(lambda x: mp.log(x, 2), 0), _log), 3, 2, (0, 4)),
    _one("log10",   ref.with_poles(ref.unary(mp.log10, 0), _log), 3, 2, (0, 4)),
    _one("log1p",   ref.with_poles(ref.unary(mp.log1p, -1), {-1.0: -mp.inf}), 2, 2, (-1, 4)),
    _two("pow",     ref.power, 16, 4),
    _two("pown",    ref.power, 16, 4, "int"),
    _two("powr",    ref.power_of_positive, 16, 4),
    _two("rootn",   ref.root, 16, 4, "int"),
    _one("rsqrt",   ref.reciprocal_root, 2, 1),
    _one("sin",     ref.finite(mp.sin), 4, 2, (-100, 100)),
    _one("sinh",    ref.unary(mp.sinh), 4, 2, (-90, 90)),
    _one("sinpi",   ref.finite(mp.sinpi), 4, 2),
    _one("sqrt",    ref.unary(mp.sqrt, 0), 3, ROUNDED, double=ROUNDED),
    _one("tan",     ref.finite(mp.tan), 5, 2, (-100, 100)),
    _one("tanh",    ref.unary(mp.tanh), 5, 2),
    _one("tanpi",   ref.finite(ref.quarter_tan), 6, 2),
    _one("tgamma",  ref.gamma, 16, 4, (-42, 36)),
    _one("degrees", ref.unary(mp.degrees), 2, 2),
    _one("radians", ref.unary(mp.radians), 2, 2),
    Function("sincos, sine", _with_pointer("sincos(a, &p)", "T", "r"), ref.finite(mp.sin),
             _limits(4, 4, 2), near=(-100, 100)),
    Function("sincos, cosine", _with_pointer("sincos(a, &p)", "T", "p"), ref.finite(mp.cos),
             _limits(4, 4, 2), near=(-100, 100)),
    Function("lgamma_r", _with_pointer("lgamma_r(a, &p)", "int", "r"), ref.log_gamma,
             _limits(FREE, FREE, FREE), near=(-20, 20)),
)
_ARITHMETIC = (
    Function("x + y", "a + b", lambda x, y: ref.fused(x, 1.0, y), _CORRECT, ("T", "T")),
    Function("x - y", "a - b", lambda x, y: ref.fused(x, 1.0, -y), _CORRECT, ("T", "T")),
    Function("x * y", "a * b", lambda x, y: mpmath.mpf(x) * mpmath.mpf(y), _CORRECT, ("T", "T")),
    Function("x / y", "a / b", ref.quotient, _limits(2.5, ROUNDED, ROUNDED), ("T", "T")),
    Function("1 / x", "(T)1 / a", lambda x: ref.quotient(1.0, x), _limits(2.5, ROUNDED, ROUNDED)),
    Function("fma", "fma(a, b, c)", ref.fused, _CORRECT, ("T", "T", "T")),
    Function("mad", "mad(a, b, c)", ref.fused, _limits(FREE, FREE, FREE), ("T", "T", "T")),
)
_STEPS = (
    Function("ceil", "ceil(a)", ref.unary(mp.ceil), _CORRECT),
    Function("copysign", "copysign(a, b)",
             lambda x, y: mpmath.mpf(math.copysign(x, y)), _EXACT, ("T", "T")),
    Function("fabs", "fabs(a)", ref.unary(abs), _EXACT),
    Function("fdim", "fdim(a, b)", ref.difference, _CORRECT, ("T", "T")),
    Function("floor", "floor(a)", ref.unary(mp.floor), _CORRECT),
    Function("fmax", "fmax(a, b)", ref.greater, _EXACT, ("T", "T")),
    Function("fmin", "fmin(a, b)", ref.smaller, _EXACT, ("T", "T")),
    Function("fmod", "fmod(a, b)", ref.modulo, _EXACT, ("T", "T")),
    Function("fract", _with_pointer("fract(a, &p)", "T", "r"), ref.fraction, _CORRECT,
             exact_below_one=True),
    Function("fract, whole", _with_pointer("fract(a, &p)", "T", "p"), ref.unary(mp.floor),
             _CORRECT),
    Function("frexp", _with_pointer("frexp(a, &p)", "int", "r"),
             lambda x: mpmath.mpf(math.frexp(x)[0]), _EXACT),
    Function("frexp, exponent", _with_pointer("frexp(a, &p)", "int", "p"),
             lambda x: math.frexp(x)[1] if math.isfinite(x) else None, _EXACT, result="int"),
    Function("ilogb", "ilogb(a)",
             lambda x: int(ref.exponent(x)) if math.isfinite(x) and x else None, _EXACT,
             result="int"),
    Function("ldexp", "ldexp(a, b)", ref.scaled, _CORRECT, ("T", "int")),
    Function("logb", "logb(a)", ref.exponent, _EXACT),
    Function("maxmag", "maxmag(a, b)", ref.of_greater_magnitude, _EXACT, ("T", "T")),
    Function("minmag", "minmag(a, b)", ref.of_smaller_magnitude, _EXACT, ("T", "T")),
    Function("modf", _with_pointer("modf(a, &p)", "T", "r"),
             lambda x: mpmath.mpf(math.modf(x)[0]), _EXACT),
    Function("modf, whole", _with_pointer("modf(a, &p)", "T", "p"),
             lambda x: mpmath.mpf(math.modf(x)[1]), _EXACT),
    Function("remainder", "remainder(a, b)", ref.remainder, _EXACT, ("T", "T")),
    Function("remquo", _with_pointer("remquo(a, b, &p)", "int", "r"), ref.remainder, _EXACT,
             ("T", "T")),
    Function("remquo, quotient", f"({_with_pointer('remquo(a, b, &p)', 'int', 'p')} % 128)",
             ref.low_quotient, _EXACT, ("T", "T"), result="int"),
    Function("rint", "rint(a)", ref.unary(mp.nint), _CORRECT),
    Function("round", "round(a)", ref.away, _CORRECT),
    Function("trunc", "trunc(a)",
             lambda x: mpmath.mpf(math.trunc(x) if math.isfinite(x) else x), _CORRECT),
    Function("sign", "sign(a)", lambda x: mp.sign(x) if not math.isnan(x) else mpmath.mpf(0),
             _EXACT),
)
_REDUCED = ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan")
# fmt: on


def _reduced(prefix: str, limit: float) -> tuple[Function, ...]:
    """Return the functions of less accuracy, which are there for float only."""
    known = {function.name: function for function in _ELEMENTARY}
    limits = _limits(limit, None, None)
    found = [
        Function(f"{prefix}_{name}", f"{prefix}_{name}(a)", known[name].reference, limits,
                 near=known[name].near)
        for name in _REDUCED
    ]  # fmt: skip
    two = ("T", "T")
    call = f"{prefix}_powr(a, b)"
    found.append(Function(f"{prefix}_powr", call, ref.power_of_positive, limits, two))
    found.append(Function(f"{prefix}_divide", f"{prefix}_divide(a, b)", ref.quotient, limits, two))
    recip = f"{prefix}_recip"
    found.append(Function(recip, f"{recip}(a)", lambda x: ref.quotient(1.0, x), limits))
    return tuple(found)


FUNCTIONS = (
    *_ARITHMETIC,
    *_ELEMENTARY,
    *_STEPS,
    *_reduced("half", 8192),
    *_reduced("native", FREE),
)
