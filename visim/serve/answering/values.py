"""From the values of a request to what `Kernel.launch` takes, and back to what answers show."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from visim.runtime.files.arguments_text import ArgumentText, find_parameter, read_value
from visim.runtime.files.expectations import NOTHING, Expectation, expectation
from visim.runtime.files.number_text import DTYPES
from visim.runtime.selection import array_of
from visim.serve.answering.answers import at
from visim.serve.requests import Array, Case
from visim.serve.shapes import RequestError

if TYPE_CHECKING:
    from visim import Kernel

Arrays = dict[str, NDArray[Any]]
_FILES = ("npy",)
_FILLED = ("zeros:", "ones:", "iota:", "rand:")
_DIGEST = 16


@dataclass(frozen=True, slots=True)
class Values:
    """What a case gives a kernel: its arguments in order, and its surfaces and samplers.

    `named` are the arguments by name, `before` the arrays as they are before the launch.
    """

    arguments: tuple[object, ...]
    surfaces: Mapping[int, object] = field(default_factory=dict[int, object])
    samplers: Mapping[int, object] = field(default_factory=dict[int, object])
    named: Mapping[str, object] = field(default_factory=dict[str, object])
    before: Mapping[str, NDArray[Any]] = field(default_factory=dict[str, NDArray[Any]])

    @property
    def arrays(self) -> Arrays:
        """The arrays as they are now, by the names of arguments, or surface:N."""
        return _arrays(self.named)


def read_values(case: Case, kernel: Kernel, path: str) -> Values:
    """Return the values that a case gives a kernel.

    Raises:
        RequestError: one is missing, unknown, or not what the kernel takes.
    """
    found: dict[int, object] = {}
    for key, value in case.args.items():
        place = f"{path}.args.{key}"
        with at(place):
            index = find_parameter(key, kernel.args)
        if index in found:
            raise RequestError(place, f"argument {kernel.args[index].name!r} is given twice")
        expected = expectation(kernel.args[index])
        name = kernel.args[index].name
        found[index] = read(value, name, (case.seed, index), expected, place)
    for index, parameter in enumerate(kernel.args):
        if index not in found:
            wanted = expectation(parameter)
            raise RequestError(
                f"{path}.args.{parameter.name}",
                f"missing: {parameter.name} ({parameter.kind} {parameter.type_name}), "
                f"for example {wanted.example!r}",
            )
    surfaces = _by_index(case.surfaces, (case.seed, 1 << 16), f"{path}.surfaces")
    samplers = _by_index(case.samplers, (case.seed, 1 << 17), f"{path}.samplers")
    named = {parameter.name: found[n] for n, parameter in enumerate(kernel.args)}
    named |= {f"surface:{index}": value for index, value in surfaces.items()}
    before = {name: array.copy() for name, array in _arrays(named).items()}
    arguments = tuple(found[n] for n in range(len(kernel.args)))
    return Values(arguments, surfaces, samplers, named, before)


def read(
    value: object, name: str, seed: tuple[int, ...], expected: Expectation, path: str
) -> object:
    """Return what a value of a request means for an argument.

    Raises:
        RequestError: it means nothing, or a file.
    """
    if isinstance(value, Array):
        return as_array(value, path)
    if not isinstance(value, str):
        return value
    _refuse_files(value, path)
    with at(path):
        return read_value(ArgumentText(name, value), name=name, seed=seed, expected=expected)


def as_array(given: Array, path: str) -> NDArray[Any]:
    """Return the array that a request holds.

    Raises:
        RequestError: its elements do not fit its type or its shape.
    """
    dtype = DTYPES[given.type]
    if (given.data is None) == (given.base64 is None):
        raise RequestError(path, "give one of data and base64")
    if given.base64 is not None:
        if not given.base64 or len(given.base64) % dtype.itemsize:
            raise RequestError(
                f"{path}.base64",
                f"expected a multiple of {dtype.itemsize} bytes, found {len(given.base64)}",
            )
        array = np.frombuffer(given.base64, dtype.newbyteorder("<")).astype(dtype)
    else:
        array = _elements(given.data or (), dtype, f"{path}.data")
    if given.shape is None:
        return array
    if math.prod(given.shape) != array.size:
        sizes = "x".join(map(str, given.shape))
        raise RequestError(f"{path}.shape", f"{sizes} is not that of {array.size} elements")
    return array.reshape(given.shape)


def _elements(data: tuple[Any, ...], dtype: np.dtype[Any], path: str) -> NDArray[Any]:
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array([float(one) for one in data], np.float64).astype(dtype)
    limits = np.iinfo(dtype)
    for place, one in enumerate(data):
        if not isinstance(one, int) or not limits.min <= one <= limits.max:
            raise RequestError(
                f"{path}[{place}]",
                f"expected an integer from {limits.min} to {limits.max}, found {one!r}",
            )
    return np.array(data, dtype)


def _refuse_files(value: str, path: str) -> None:
    kind, _, rest = value.partition(":")
    is_file = kind.strip().lower() in _FILES
    if kind.strip().lower() == "image":
        is_file = not rest.startswith(_FILLED)
    if is_file:
        raise RequestError(
            path, "files are not read here: give the array itself, as {type, shape, data}"
        )


def _by_index(given: Mapping[str, object], seed: tuple[int, ...], path: str) -> dict[int, object]:
    found: dict[int, object] = {}
    for key, value in given.items():
        if not key.isdecimal() or len(key) > 4:
            raise RequestError(f"{path}.{key}", "expected an index in its table")
        index = int(key)
        found[index] = read(value, key, (*seed, index), NOTHING, f"{path}.{key}")
    return found


def _arrays(named: Mapping[str, object]) -> Arrays:
    return {name: array for name, value in named.items() if (array := array_of(value)) is not None}


def changed(values: Values, show: int) -> dict[str, Any]:
    """Return the arrays that a launch has changed, as answers show them."""
    return {
        name: shown_array(array, show)
        for name, array in values.arrays.items()
        if not np.array_equal(_bytes(array), _bytes(values.before[name]))
    }


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def shown_array(array: NDArray[Any], show: int) -> dict[str, Any]:
    """Return an array's type, shape, digest and first elements."""
    digest = hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()[:_DIGEST]
    return {
        "type": str(array.dtype),
        "shape": list(array.shape),
        "sha256": digest,
        "first": [element(one) for one in array.ravel()[:show].tolist()],
    }


def element(value: Any) -> Any:
    """Return a number as JSON has it: infinities and NaN are texts."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
