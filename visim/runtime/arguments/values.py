"""What callers may pass as a kernel's arguments, and the bytes that kernels get .

Knows types and Python objects; where the bytes go is the business of `payload.abi` and
`payload.bare`. Every `ArgumentError` names the argument.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError, shown
from visim.lex import nearest
from visim.runtime.arguments.buffers import Buffer
from visim.runtime.arguments.foreign import shared
from visim.runtime.arguments.uninitialised import plain

_SINGLE = Struct("<f")
ParameterKind = Literal["buffer", "value", "local", "image", "sampler"]
Memory = NDArray[Any] | Buffer


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument that a kernel takes.

    `size` is in bytes, None where it is not fixed (local memory, surfaces); `type_name` is the
    type as the source spells it, or the nearest description that the file allows. `numbered` is the
    name that printed texts give a surface or sampler (T6, S0) where its own name is another one;
    launches take both.
    """

    name: str
    kind: ParameterKind
    size: int | None
    type_name: str
    numbered: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of an argument that is passed by value.

    `dtype` is None for what is no number: structs, vectors, and types whose names say nothing;
    `is_brain` marks BF, whose elements NumPy can only hold as bits. `wanted` says what is expected
    of a caller, where that is more than the type's name tells.
    """

    name: str
    size: int
    dtype: np.dtype[Any] | None
    is_brain: bool = False
    wanted: str = ""


def arrange(given: object, parameters: Sequence[Parameter]) -> list[object]:
    """Return the arguments in the order of `parameters`; `given` is a list or a dict by name.

    Raises:
        ArgumentError: there are too few or too many, or names that the kernel does not have.
    """
    if isinstance(given, (list, tuple)):
        values = list(cast("Sequence[object]", given))
        if len(values) != len(parameters):
            raise _wrong_count(len(values), parameters)
    elif isinstance(given, Mapping):
        values = _by_name(cast("Mapping[object, object]", given), parameters)
    else:
        kind = type(given).__name__
        raise ArgumentError(f"args: expected a list, or a dict by name, found {kind}")
    return [shared(value, one.name) for value, one in zip(values, parameters, strict=True)]


def _wrong_count(given: int, parameters: Sequence[Parameter]) -> ArgumentError:
    names = [parameter.name for parameter in parameters]
    if given < len(names):
        missing = ", ".join(repr(name) for name in names[given:])
        return ArgumentError(f"args: {given} of {len(names)} arguments given, no {missing}")
    listed = ", ".join(names) or "none"
    return ArgumentError(f"args: {given} arguments given, the kernel takes {len(names)}: {listed}")


def _by_name(given: Mapping[object, object], parameters: Sequence[Parameter]) -> list[object]:
    names = [parameter.name for parameter in parameters]
    known = {one.numbered: one.name for one in parameters} | {name: name for name in names}
    values: dict[str, object] = {}
    for key, value in given.items():
        name = known.get(key) if isinstance(key, str) else None
        if name is None:
            near = nearest(key, names) if isinstance(key, str) else None
            hint = f"did you mean {near!r}?" if near else f"it has: {', '.join(names) or 'none'}"
            raise ArgumentError(f"args: the kernel has no argument {shown(key)}; {hint}")
        if name in values:
            raise ArgumentError(f"args: argument {name!r} is given twice, as {key!r}, too")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise ArgumentError(f"args: no argument {', '.join(map(repr, missing))} given")
    return [values[name] for name in names]


def memory(value: object, name: str, *, written: bool = False) -> Memory | None:
    """Return the memory that an argument shares with the kernel; None is the null pointer.

    Args:
        value: a C-contiguous array of one or more dimensions in the byte order of
            the machine, a `Buffer` or None.
        name: the argument's name.
        written: whether the kernel is known to write it, so that it must not be read-only.

    Raises:
        ArgumentError: `value` is something else.
    """
    value = plain(value)
    if value is None or isinstance(value, Buffer):
        return value
    if not isinstance(value, np.ndarray):
        kind = type(value).__name__
        raise ArgumentError(f"argument {name!r}: expected an array, a Buffer or None, found {kind}")
    array = cast("NDArray[Any]", value)
    if array.ndim == 0:
        raise ArgumentError(
            f"argument {name!r}: a zero-dimensional array is a scalar, expected memory; "
            "reshape(1) makes an array of it"
        )
    if array.dtype.hasobject:
        raise ArgumentError(f"argument {name!r}: an array of Python objects has no bytes")
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"argument {name!r}: the array is not C-contiguous; pass numpy.ascontiguousarray()"
        )
    if not array.dtype.isnative:
        raise ArgumentError(
            f"argument {name!r}: the array's numbers are big-endian, kernels take them for "
            "little-endian; pass array.astype(array.dtype.newbyteorder('='))"
        )
    if written and not array.flags.writeable:
        raise ArgumentError(
            f"argument {name!r}: the array is read-only, but the kernel writes this argument"
        )
    return array


def value_bytes(value: object, name: str, kind: ValueType) -> bytes:
    """Return the bytes of an argument that is passed by value.

    Python numbers are converted and range-checked, NumPy scalars must have the very type, and
    `bytes` or `numpy.void` the very size.

    Raises:
        ArgumentError: `value` is none of these.
    """
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        if array.ndim:
            fits = kind.dtype is None and array.nbytes == kind.size
            raise ArgumentError(
                f"argument {name!r}: found an array of shape {array.shape}, expected "
                f"{_described(kind)}{'; pass array.tobytes()' if fits else ''}"
            )
        value = array[()]
    if isinstance(value, np.void):
        return _exact_bytes(value.tobytes(), name, kind)
    if isinstance(value, (bytes, bytearray)):
        return _exact_bytes(bytes(value), name, kind)
    if isinstance(value, np.generic):
        return _numpy_scalar(cast("np.generic[Any]", value), name, kind)
    if isinstance(value, (bool, int, float)):
        return _python_number(value, name, kind)
    found = "None" if value is None else type(value).__name__
    raise ArgumentError(f"argument {name!r}: expected {_described(kind)}, found {found}")


def _described(kind: ValueType) -> str:
    if kind.wanted:
        return kind.wanted
    if kind.dtype is None:
        return f"bytes or numpy.void of {kind.size} bytes ({kind.name})"
    return f"a number of type {kind.name}"


def _exact_bytes(data: bytes, name: str, kind: ValueType) -> bytes:
    if len(data) != kind.size:
        raise ArgumentError(
            f"argument {name!r}: {len(data)} bytes given, {kind.name} has {kind.size}"
        )
    return data


def _numpy_scalar(value: np.generic[Any], name: str, kind: ValueType) -> bytes:
    found = value.dtype
    if kind.dtype is None:
        fits = found.kind in "iufb" and found.itemsize == kind.size
    elif kind.is_brain and found.kind == "f":
        return _brain_float(float(value), name, kind)
    else:
        fits = (found.kind, found.itemsize) == (kind.dtype.kind, kind.dtype.itemsize)
    if not fits:
        wanted = kind.dtype.name if kind.dtype is not None else f"{kind.size} bytes"
        raise ArgumentError(
            f"argument {name!r}: found numpy.{found.name}, expected {wanted} ({kind.name})"
        )
    return value.tobytes()


def _python_number(value: float, name: str, kind: ValueType) -> bytes:
    if kind.dtype is None:
        raise ArgumentError(
            f"argument {name!r}: {shown(value)} does not say what bytes of type {kind.name} "
            f"it means; pass a NumPy scalar, bytes or numpy.void of {kind.size} bytes"
        )
    if kind.is_brain:
        return _brain_float(_as_float(value, name, kind), name, kind)
    if kind.dtype.kind == "f":
        return _float_bytes(_as_float(value, name, kind), name, kind)
    if isinstance(value, float) and not value.is_integer():
        raise ArgumentError(
            f"argument {name!r}: {shown(value)} is not an integer, expected {kind.name}"
        )
    signed = kind.dtype.kind == "i"
    try:
        return int(value).to_bytes(kind.size, "little", signed=signed)
    except OverflowError:
        limits = np.iinfo(kind.dtype)
        raise ArgumentError(
            f"argument {name!r}: {shown(value)} is out of the range {limits.min}..{limits.max} of "
            f"{kind.name}"
        ) from None


def _float_bytes(value: float, name: str, kind: ValueType) -> bytes:
    if kind.size == _SINGLE.size:
        try:
            return _SINGLE.pack(value)
        except OverflowError:
            raise _out_of_range(value, name, kind) from None
    with np.errstate(over="ignore"):
        converted = np.array(value, kind.dtype)
    if math.isfinite(value) and not np.isfinite(converted):
        raise _out_of_range(value, name, kind)
    return converted.tobytes()


def _as_float(value: float, name: str, kind: ValueType) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _out_of_range(value, name, kind) from None


def _out_of_range(value: object, name: str, kind: ValueType) -> ArgumentError:
    return ArgumentError(f"argument {name!r}: {shown(value)} is out of the range of {kind.name}")


def _brain_float(value: float, name: str, kind: ValueType) -> bytes:
    """Round to BF, to nearest even: the upper half of the bits of a float."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    bits = int(single.view(np.uint32))
    if math.isnan(value):
        return ((bits >> 16) | 0x40).to_bytes(2, "little")
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    if math.isfinite(value) and rounded & 0x7F80 == 0x7F80:
        raise _out_of_range(value, name, kind)
    return rounded.to_bytes(2, "little")
