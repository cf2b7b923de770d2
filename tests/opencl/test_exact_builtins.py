"""OpenCL's built-ins that have one right result give it: conversions, integers, relations, memory.

What is right is computed with Python's integers and the scalar model of floats, not with NumPy.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import visim
from tests.model import floats
from tests.opencl.building import built_anew

INTEGERS = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2",
    "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
}  # fmt: skip
FLOATS = {"half": floats.F16, "float": floats.F32, "double": floats.F64}
DTYPES = {kind: np.dtype(name) for kind, name in INTEGERS.items()} | {
    "half": np.dtype("f2"), "float": np.dtype("f4"), "double": np.dtype("f8"),
}  # fmt: skip
ROUNDINGS = {"": None, "_rte": 0, "_rtp": 1, "_rtn": 2, "_rtz": 3}
HEAD = (
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
)
DEVICE = "pvc"
COUNT = 128


def bits_of(kind: str) -> int:
    return DTYPES[kind].itemsize * 8


def is_signed(kind: str) -> bool:
    return not kind.startswith("u")


def limits(kind: str) -> tuple[int, int]:
    high = (1 << bits_of(kind) - is_signed(kind)) - 1
    return (-high - 1 if is_signed(kind) else 0), high


def wrapped(value: int, kind: str) -> int:
    value &= (1 << bits_of(kind)) - 1
    return value - (1 << bits_of(kind)) if value > limits(kind)[1] else value


def clamped(value: int, kind: str) -> int:
    low, high = limits(kind)
    return min(max(value, low), high)


def unsigned(kind: str) -> str:
    return kind if kind.startswith("u") else f"u{kind}"


def integers(kind: str, count: int, draw: random.Random) -> list[int]:
    low, high = limits(kind)
    edges = [low, low + 1, high, high - 1, 0, 1, 2, high // 2, high // 2 + 1, wrapped(-1, kind)]
    found = [edges[i % len(edges)] for i in range(count // 2)]
    rest = range(count - len(found))
    found += [wrapped(draw.getrandbits(64) >> draw.randrange(64), kind) for _ in rest]
    draw.shuffle(found)
    return found


def patterns(kind: str, count: int, draw: random.Random) -> list[int]:
    """Bit patterns of floats: special values, any, and numbers about the limits of integers."""
    form = FLOATS[kind]
    special = [
        0, form.one, form.infinity, form.nan, form.greatest, form.least_normal, 1,
        form.least_normal - 1, form.one + 1, form.one - 1, form.one - form.least_normal,
    ]  # fmt: skip
    special += [bits | form.sign_bit for bits in special]
    for power in (7, 8, 15, 16, 31, 32, 63, 64):
        if power < form.bias:
            bits = (form.bias + power) << form.fraction_bits
            special += [bits, bits - 1, bits + 1, (bits - 1) | form.sign_bit, bits | form.sign_bit]
    found = special[:count]
    while len(found) < count:
        exponent = form.bias + draw.randrange(-3, min(66, form.bias))
        moderate = exponent << form.fraction_bits | draw.getrandbits(form.fraction_bits)
        any_bits = draw.getrandbits(form.bits)
        found.append(draw.choice([any_bits, moderate, moderate | form.sign_bit]))
    return found


def inputs(kind: str, count: int, seed: int) -> tuple[list[int], np.ndarray]:
    """Return values (integers, or bit patterns of floats) and the array that holds them."""
    draw = random.Random(f"{kind} {seed}")
    if kind in INTEGERS:
        found = integers(kind, count, draw)
        return found, np.array(found, DTYPES[kind])
    found = patterns(kind, count, draw)
    return found, np.array(found, f"u{DTYPES[kind].itemsize}").view(DTYPES[kind])


def values_in(array: np.ndarray, kind: str) -> list[int]:
    if kind in INTEGERS:
        return array.tolist()
    return array.view(f"u{array.itemsize}").tolist()


def same(kind: str, got: int, want: int) -> bool:
    if kind in FLOATS and floats.is_nan(FLOATS[kind], want):
        return floats.is_nan(FLOATS[kind], got)
    return got == want


def build(source: str) -> visim.Program:
    return built_anew(HEAD + source, DEVICE, "-cl-std=CL2.0")


# Conversions


def converted(
    source: str, target: str, value: int, rounding: int | None, *, sat: bool
) -> int | None:
    """Return what a conversion gives; None where OpenCL leaves it to the implementation."""
    if source in INTEGERS and target in INTEGERS:
        return clamped(value, target) if sat else wrapped(value, target)
    if source in INTEGERS:
        return floats.from_integer(FLOATS[target], value, rounding or 0)
    if target in FLOATS:
        return floats.convert(FLOATS[source], FLOATS[target], value, rounding or 0)
    form, mode = FLOATS[source], floats.ZERO if rounding is None else rounding
    found = floats.to_integer(form, value, bits_of(target), is_signed(target), mode)
    wide = floats.to_integer(form, value, 1024, True, mode)
    if not sat and (wide != found or floats.is_nan(form, value)):
        return None
    return found


def conversions(source: str, target: str) -> list[tuple[str, int | None, bool]]:
    """Return the suffixes of the conversions from one type to another, with what they ask for."""
    roundings = ROUNDINGS if source in FLOATS or target in FLOATS else {"": None}
    saturating = (False, True) if target in INTEGERS else (False,)
    return [
        (("_sat" if sat else "") + suffix, mode, sat)
        for suffix, mode in roundings.items()
        for sat in saturating
    ]


@pytest.mark.parametrize("source", ["char", "uint", "long", "ulong", "half", "float", "double"])
def test_conversions_are_exact_in_all_rounding_modes(source: str):
    targets = [kind for kind in DTYPES if kind != source]
    lines, parameters = [], [f"global const {source} *a"]
    for target in targets:
        parameters.append(f"global {target} *to_{target}")
        for row, (suffix, _, _) in enumerate(conversions(source, target)):
            lines.append(f"to_{target}[{row} * n + i] = convert_{target}{suffix}(x);")
    program = build(
        f"kernel void k({', '.join(parameters)}) {{ size_t i = get_global_id(0), n = {COUNT}; "
        f"{source} x = a[i]; {' '.join(lines)} }}"
    )
    given, array = inputs(source, COUNT, 1)
    outs = [np.zeros(COUNT * len(conversions(source, t)), DTYPES[t]) for t in targets]
    program["k"].launch([array, *outs], global_size=COUNT, local_size=64)
    for target, out in zip(targets, outs, strict=True):
        rows = np.array(values_in(out, target), object).reshape(-1, COUNT)
        for (suffix, mode, sat), row in zip(conversions(source, target), rows, strict=True):
            for value, got in zip(given, row, strict=True):
                want = converted(source, target, value, mode, sat=sat)
                assert want is None or same(target, got, want), (
                    f"convert_{target}{suffix} of {source} {value:#x}: {got:#x}, not {want:#x}"
                )


# Integers


def reversed_counts(value: int, kind: str) -> tuple[int, int, int]:
    """Return popcount, clz and ctz."""
    bits, size = value & ((1 << bits_of(kind)) - 1), bits_of(kind)
    trailing = (bits & -bits).bit_length() - 1 if bits else size
    return bits.bit_count(), size - bits.bit_length(), trailing


def rotated(value: int, by: int, kind: str) -> int:
    size = bits_of(kind)
    bits, by = value & ((1 << size) - 1), by % size
    return wrapped(bits << by | bits >> (size - by), kind)


def picked(a: int, b: int, mask: int) -> int:
    return a & ~mask | b & mask


Rule = Callable[[int, int, int, str], int]
RULES: dict[str, tuple[str, Rule]] = {
    "abs": ("abs(a)", lambda a, b, c, k: abs(a)),
    "abs_diff": ("abs_diff(a, b)", lambda a, b, c, k: abs(a - b)),
    "add_sat": ("add_sat(a, b)", lambda a, b, c, k: clamped(a + b, k)),
    "sub_sat": ("sub_sat(a, b)", lambda a, b, c, k: clamped(a - b, k)),
    "hadd": ("hadd(a, b)", lambda a, b, c, k: (a + b) >> 1),
    "rhadd": ("rhadd(a, b)", lambda a, b, c, k: (a + b + 1) >> 1),
    "clamp": (
        "clamp(a, min(b, c), max(b, c))",
        lambda a, b, c, k: min(max(a, min(b, c)), max(b, c)),
    ),
    "clz": ("clz(a)", lambda a, b, c, k: reversed_counts(a, k)[1]),
    "ctz": ("ctz(a)", lambda a, b, c, k: reversed_counts(a, k)[2]),
    "popcount": ("popcount(a)", lambda a, b, c, k: reversed_counts(a, k)[0]),
    "mul_hi": ("mul_hi(a, b)", lambda a, b, c, k: (a * b) >> bits_of(k)),
    "mad_hi": ("mad_hi(a, b, c)", lambda a, b, c, k: ((a * b) >> bits_of(k)) + c),
    "mad_sat": ("mad_sat(a, b, c)", lambda a, b, c, k: clamped(a * b + c, k)),
    "max": ("max(a, b)", lambda a, b, c, k: max(a, b)),
    "min": ("min(a, b)", lambda a, b, c, k: min(a, b)),
    "rotate": ("rotate(a, b)", lambda a, b, c, k: rotated(a, b, k)),
    "bitselect": ("bitselect(a, b, c)", lambda a, b, c, k: picked(a, b, c)),
    "select": ("select(a, b, c)", lambda a, b, c, k: b if c else a),
}


WRONG_IN_THE_LIBRARY = {("mad_sat", "long")}
"""See docs/spec-notes-compiler.md, Bugs of the compiler."""


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_functions(kind: str):
    lines = [f"out[{row} * n + i] = (T){call};" for row, (call, _) in enumerate(RULES.values())]
    program = build(
        f"#define T {kind}\nkernel void k(global const T *pa, global const T *pb, "
        f"global const T *pc, global T *out) {{ size_t i = get_global_id(0), n = {COUNT}; "
        f"T a = pa[i], b = pb[i], c = pc[i]; {' '.join(lines)} }}"
    )
    given = [inputs(kind, COUNT, seed) for seed in (1, 2, 3)]
    out = np.zeros(COUNT * len(RULES), DTYPES[kind])
    program["k"].launch([*(array for _, array in given), out], global_size=COUNT)
    rows = out.reshape(-1, COUNT).tolist()
    for (name, (_, rule)), row in zip(RULES.items(), rows, strict=True):
        if (name, kind) in WRONG_IN_THE_LIBRARY:
            continue
        for a, b, c, got in zip(*(values for values, _ in given), row, strict=True):
            want = wrapped(rule(a, b, c, kind), kind)
            assert got == want, f"{name} of {kind} {a}, {b}, {c}: {got}, not {want}"


WIDER = {"char": "short", "short": "int", "int": "long"}


def test_upsample_and_24_bit_products():
    lines, parameters = [], []
    for kind, wide in WIDER.items():
        for sign in ("", "u"):
            parameters += [
                f"global const {sign}{kind} *a{sign}{kind}",
                f"global u{kind} *b{sign}{kind}",
            ]
            parameters.append(f"global {sign}{wide} *o{sign}{kind}")
            call = f"upsample(a{sign}{kind}[i], b{sign}{kind}[i])"
            lines.append(f"o{sign}{kind}[i] = {call};")
    parameters += ["global const int *x", "global const int *y", "global int *out"]
    lines.append("out[i] = mul24(x[i], y[i]); out[n + i] = mad24(x[i], y[i], x[i]);")
    lines.append("out[2 * n + i] = (int)mul24((uint)x[i] & 0xffffff, (uint)y[i] & 0xffffff);")
    program = build(
        f"kernel void k({', '.join(parameters)}) {{ size_t i = get_global_id(0), n = {COUNT}; "
        f"{' '.join(lines)} }}"
    )
    arguments: list[np.ndarray] = []
    wanted: list[tuple[int, list[int]]] = []
    for kind, wide in WIDER.items():
        for sign in ("", "u"):
            high, high_array = inputs(sign + kind, COUNT, 4)
            low, low_array = inputs(f"u{kind}", COUNT, 5)
            shift = bits_of(kind)
            wanted.append(
                (len(arguments) + 2, [h << shift | b for h, b in zip(high, low, strict=True)])
            )
            arguments += [high_array, low_array, np.zeros(COUNT, DTYPES[sign + wide])]
    draw = random.Random(6)
    x, y = ([draw.randrange(-(1 << 23), 1 << 23) for _ in range(COUNT)] for _ in range(2))
    pairs = list(zip(x, y, strict=True))
    products = [[a * b for a, b in pairs], [a * b + a for a, b in pairs]]
    products.append([(a & 0xFFFFFF) * (b & 0xFFFFFF) for a, b in pairs])
    flat = [wrapped(value, "int") for row in products for value in row]
    wanted.append((len(arguments) + 2, flat))
    arguments += [np.array(x, "i4"), np.array(y, "i4"), np.zeros(3 * COUNT, "i4")]
    program["k"].launch(arguments, global_size=COUNT)
    for place, values in wanted:
        assert arguments[place].tolist() == values


# Relations and common functions of floats


def relation(test: Callable[[int, int], bool]) -> Callable[..., int]:
    """Return a relation of numbers that a NaN never has."""

    def holds(form: floats.Format, a: int, b: int, c: int) -> int:
        if floats.is_nan(form, a) or floats.is_nan(form, b):
            return 0
        return int(test(floats.key(form, a), floats.key(form, b)))

    return holds


def is_normal(form: floats.Format, a: int) -> int:
    return int(form.least_normal <= floats.magnitude(form, a) < form.infinity)


RELATIONS: dict[str, Callable[[floats.Format, int, int, int], int]] = {
    "isequal(a, b)": relation(lambda a, b: a == b),
    "isnotequal(a, b)": lambda f, a, b, c: 1 - relation(lambda x, y: x == y)(f, a, b, c),
    "isgreater(a, b)": relation(lambda a, b: a > b),
    "isgreaterequal(a, b)": relation(lambda a, b: a >= b),
    "isless(a, b)": relation(lambda a, b: a < b),
    "islessequal(a, b)": relation(lambda a, b: a <= b),
    "islessgreater(a, b)": relation(lambda a, b: a != b),
    "isordered(a, b)": lambda f, a, b, c: int(not floats.is_nan(f, a) and not floats.is_nan(f, b)),
    "isunordered(a, b)": lambda f, a, b, c: int(floats.is_nan(f, a) or floats.is_nan(f, b)),
    "isfinite(a)": lambda f, a, b, c: int(floats.magnitude(f, a) < f.infinity),
    "isinf(a)": lambda f, a, b, c: int(floats.is_infinite(f, a)),
    "isnan(a)": lambda f, a, b, c: int(floats.is_nan(f, a)),
    "isnormal(a)": lambda f, a, b, c: is_normal(f, a),
    "signbit(a)": lambda f, a, b, c: int(floats.is_negative(f, a)),
}
CHOICES: dict[str, Callable[[floats.Format, int, int, int], int]] = {
    "step(a, b)": lambda f, a, b, c: 0 if relation(lambda x, y: y < x)(f, a, b, c) else f.one,
    "bitselect(a, b, c)": lambda f, a, b, c: picked(a, b, c),
    "select(a, b, (S)isless(a, c))": lambda f, a, b, c: (
        b if relation(lambda x, y: x < y)(f, a, c, 0) else a
    ),
    "nextafter(a, b)": lambda f, a, b, c: next_after(f, a, b),
}


def next_after(form: floats.Format, a: int, b: int) -> int:
    if floats.is_nan(form, a) or floats.is_nan(form, b):
        return form.nan
    place, goal = floats.key(form, a), floats.key(form, b)
    if place == goal:
        return b
    place += 1 if goal > place else -1
    return -place | form.sign_bit if place < 0 else place


@pytest.mark.parametrize("kind", FLOATS)
def test_relations_and_choices_of_floats(kind: str):
    lines = [f"is[{row} * n + i] = {call};" for row, call in enumerate(RELATIONS)]
    lines += [f"out[{row} * n + i] = {call};" for row, call in enumerate(CHOICES)]
    mask = {"half": "short", "float": "int", "double": "long"}[kind]
    program = build(
        f"#define T {kind}\n#define S {mask}\nkernel void k(global const T *pa, "
        "global const T *pb, "
        f"global const T *pc, global int *is, global T *out) {{ size_t i = get_global_id(0), "
        f"n = {COUNT}; T a = pa[i], b = pb[i], c = pc[i]; {' '.join(lines)} }}"
    )
    given = [inputs(kind, COUNT, seed) for seed in (1, 2, 3)]
    random.Random(7).shuffle(given[1][0])
    given[1] = (given[1][0], np.array(given[1][0], f"u{DTYPES[kind].itemsize}").view(DTYPES[kind]))
    truths, out = (
        np.zeros(COUNT * len(RELATIONS), "i4"),
        np.zeros(COUNT * len(CHOICES), DTYPES[kind]),
    )
    program["k"].launch([*(array for _, array in given), truths, out], global_size=COUNT)
    columns = [values for values, _ in given]
    check_rows(RELATIONS, columns, truths.tolist(), "int", FLOATS[kind])
    check_rows(CHOICES, columns, values_in(out, kind), kind, FLOATS[kind])


def check_rows(
    rules: dict[str, Callable[[floats.Format, int, int, int], int]],
    columns: Sequence[list[int]],
    found: list[Any],
    kind: str,
    form: floats.Format,
) -> None:
    for row, (name, rule) in enumerate(rules.items()):
        values = found[row * COUNT : (row + 1) * COUNT]
        for a, b, c, got in zip(*columns, values, strict=True):
            want = rule(form, a, b, c)
            assert same(kind, got, want), (
                f"{name} of {a:#x}, {b:#x}, {c:#x}: {got:#x}, not {want:#x}"
            )


# Memory


@pytest.mark.parametrize("source", ["float", "double"])
def test_halves_are_stored_in_all_rounding_modes_and_loaded(source: str):
    lines = [
        f"vstore_half{suffix}(a[i], i, out + {row} * n);" for row, suffix in enumerate(ROUNDINGS)
    ]
    program = build(
        f"kernel void k(global const {source} *a, global half *out, global float *back) {{ "
        f"size_t i = get_global_id(0), n = {COUNT}; {' '.join(lines)} "
        "back[i] = vload_half(i, out); }"
    )
    given, array = inputs(source, COUNT, 8)
    out, back = np.zeros(COUNT * len(ROUNDINGS), "f2"), np.zeros(COUNT, "f4")
    program["k"].launch([array, out, back], global_size=COUNT)
    rows = out.view("u2").reshape(-1, COUNT).tolist()
    for mode, row in zip(ROUNDINGS.values(), rows, strict=True):
        for value, got in zip(given, row, strict=True):
            want = floats.convert(FLOATS[source], floats.F16, value, mode or 0)
            assert same("half", got, want)
    np.testing.assert_array_equal(back, out[:COUNT].astype("f4"))


@pytest.mark.parametrize("kind", ["uchar", "short", "uint", "double"])
def test_vectors_are_loaded_and_stored_at_any_element(kind: str):
    widths = (2, 3, 4, 8, 16)
    lines = [
        f"vstore{w}(vload{w}(i, a + 1), i, out + {row} * n + 1);" for row, w in enumerate(widths)
    ]
    program = build(
        f"kernel void k(global const {kind} *a, global {kind} *out) {{ "
        "size_t i = get_global_id(0), "
        f"n = {16 * 32 + 2}; {' '.join(lines)} }}"
    )
    _, array = inputs(kind, 16 * 32 + 2, 9)
    out = np.zeros((len(widths), array.size), DTYPES[kind])
    program["k"].launch([array, out], global_size=32)
    for width, row in zip(widths, out, strict=True):
        end = 1 + 32 * width
        assert row[1:end].tobytes() == array[1:end].tobytes()
        assert row[0] == 0
        assert not row[end:].any()
