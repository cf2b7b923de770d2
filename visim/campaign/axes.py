"""The axes of a matrix: their values as the campaign's file has them, and how they are called."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, cast

from visim.errors import ArgumentError, shown

_OUTER = ("file", "device", "compiler", "options", "visa", "kernel")
"""What makes other programs: these axes change last, so that a worker needs few at a time."""
_MOST_CELLS = 10**8
TABLES = ("arg", "surface", "sampler", "expect")
"""Keys of a launch that hold tables; `arg.n` on an axis is the key `n` of one."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its values, and what each is called; all keys of one value change together."""

    name: str
    values: tuple[Mapping[str, Any], ...]
    labels: tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a matrix: its name, and the table of its launch."""

    name: Mapping[str, str | int | float | bool]
    table: Mapping[str, Any]


def points(table: Mapping[str, Any], axes: Sequence[Axis]) -> Iterator[Point]:
    """Yield all points: the table with one value of each axis laid over it."""
    ordered = sorted(axes, key=lambda axis: axis.name not in _OUTER)
    places = [ordered.index(axis) for axis in axes]
    for chosen in product(*(range(len(axis.values)) for axis in ordered)):
        merged = deepcopy(dict(table))
        for axis, index in zip(ordered, chosen, strict=True):
            for key, value in axis.values[index].items():
                _lay(merged, key, value)
        labels = {
            axis.name: axis.labels[chosen[place]] for axis, place in zip(axes, places, strict=True)
        }
        yield Point(labels, merged)


def count(axes: Sequence[Axis]) -> int:
    """Return how many points there are; `ArgumentError` if nobody could wait for them."""
    found = math.prod(len(axis.values) for axis in axes)
    if found > _MOST_CELLS:
        raise ArgumentError(f"{found} cells, at most {_MOST_CELLS} are run; vary less")
    return found


def _lay(table: dict[str, Any], key: str, value: object) -> None:
    """Lay a value over a table; tables of arguments keep their other keys."""
    outer, dot, inner = key.partition(".")
    if dot and outer in TABLES:
        table[outer] = {**table.get(outer, {}), inner: value}
    elif key in TABLES and isinstance(value, Mapping):
        table[key] = {**table.get(key, {}), **cast("Mapping[str, Any]", value)}
    else:
        table[key] = value


def read_axes(vary: object, cases: object) -> list[Axis]:
    """Return the axes that a launch's `vary` and `case` give.

    Raises:
        ArgumentError: they are not what they are to be.
    """
    found: list[Axis] = []
    if cases is not None:
        found.append(_case_axis(cases))
    if vary is None:
        return found
    if not isinstance(vary, Mapping):
        raise ArgumentError(f"vary: expected a table of lists, found {shown(vary)}")
    for name, values in cast("Mapping[str, object]", vary).items():
        found += _axes_of(name, values)
    return found


def _axes_of(name: str, values: object) -> list[Axis]:
    if name in TABLES and isinstance(values, dict):  # [launch.vary.arg] n = [1, 2]
        inner = cast("dict[str, object]", values)
        return [axis for key, one in inner.items() for axis in _axes_of(f"{name}.{key}", one)]
    listed = _values(name, values)
    if not listed:
        raise ArgumentError(f"vary: {name} has no values")
    labels = tuple(label(value) for value in listed)
    if len(set(map(str, labels))) < len(labels):
        raise ArgumentError(f"vary: {name} has a value twice")
    return [Axis(name, tuple({name: value} for value in listed), labels)]


def _values(name: str, values: object) -> Sequence[object]:
    """Return the values of an axis: a list, or the integers that a table counts."""
    if isinstance(values, list):
        return cast("list[object]", values)
    if isinstance(values, dict):
        table = cast("dict[str, object]", values)
        numbers = [table.get("from", 0), table.get("count"), table.get("step", 1)]
        is_right = all(type(number) is int for number in numbers)
        if is_right and table.keys() <= {"from", "count", "step"}:
            first, many, step = cast("list[int]", numbers)
            if 0 < many <= _MOST_CELLS and step:
                return range(first, first + many * step, step)
    raise ArgumentError(
        f"vary: {name}: expected a list of values, or {{from = 0, count = 100}}, "
        f"found {shown(cast('object', values))}"
    )


def _case_axis(cases: object) -> Axis:
    tables = cast("list[object]", cases) if isinstance(cases, list) else []
    if not tables or not all(isinstance(one, dict) for one in tables):
        raise ArgumentError(
            f"case: expected one or more [[launch.case]], found {shown(cast('object', cases))}"
        )
    read = [dict(cast("dict[str, Any]", one)) for one in tables]
    labels = tuple(str(one.pop("name", number)) for number, one in enumerate(read, 1))
    if len(set(labels)) < len(labels):
        raise ArgumentError("case: two cases have one name")
    return Axis("case", tuple(read), labels)


def label(value: object) -> str | int | float | bool:
    """Return what a value is called in a cell's name."""
    match value:
        case bool() | int() | float() | str():
            return value
        case list():
            return "x".join(str(one) for one in cast("list[object]", value))
        case _:
            return ",".join(f"{k}={v}" for k, v in cast("Mapping[str, object]", value).items())


def files_axis(pattern: object, folder: Path) -> Axis | None:
    """Return the axis of the files that a pattern such as `kernels/*.cl` finds; None if it is none.

    Raises:
        ArgumentError: it finds none.
    """
    if not isinstance(pattern, str) or not any(sign in pattern for sign in "*?["):
        return None
    path = folder / pattern
    base = Path(path.anchor)
    found = sorted(str(one) for one in base.glob(str(path.relative_to(base))) if one.is_file())
    if not found:
        raise ArgumentError(f"file: no file is like {path}")
    labels = tuple(_short(Path(one), folder) for one in found)
    return Axis("file", tuple({"file": one} for one in found), labels)


def _short(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)
