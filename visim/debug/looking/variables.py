"""What names stand for in a stopped thread: vISA variables, regions, arguments, memory.

Values are NumPy arrays, always copies. A variable that has an element for each channel is one
value for each work-item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from visim import predefined
from visim.errors import ArgumentError
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import (
    AddressVariable,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
)
from visim.runtime.arguments.buffers import Buffer
from visim.runtime.arguments.images import Image
from visim.runtime.arguments.parameters import value_type
from visim.runtime.arguments.uninitialised import Uninitialised
from visim.runtime.arguments.values import Parameter
from visim.types import BF, BY_NAME, DataType

Variable = General | PredicateVariable | AddressVariable | SamplerVariable | SurfaceVariable
Values = NDArray[Any]
_C_TYPES = {
    "char": "b", "uchar": "ub", "short": "w", "ushort": "uw", "int": "d", "uint": "ud",
    "long": "q", "ulong": "uq", "half": "hf", "float": "f", "double": "df",
    "i8": "b", "u8": "ub", "i16": "w", "u16": "uw", "i32": "d", "u32": "ud", "i64": "q",
    "u64": "uq", "f16": "hf", "f32": "f", "f64": "df",
}  # fmt: skip


def type_named(name: str) -> DataType:
    """Return a data type by its vISA name, its C name or a name such as f32."""
    found = BY_NAME.get(_C_TYPES.get(name, name))
    if found is None or found.bits < 8 or found.name in {"v", "vf", "uv"}:
        known = "ud d uw w ub b uq q hf f df bf, or int, float, u32, f16 ..."
        raise ArgumentError(f"there is no type {name!r}; there are {known}")
    return found


def typed(data: NDArray[np.uint8], kind: DataType) -> Values:
    """Return bytes as elements of a type; BF as the floats that they are."""
    count = data.size // kind.bytes
    found = np.ascontiguousarray(data[: count * kind.bytes]).view(kind.numpy)
    if kind is BF:
        return (found.astype(np.uint32) << 16).view(np.float32)
    return found.copy()


class Registers(Protocol):
    """The registers of one thread."""

    @property
    def image(self) -> NDArray[np.uint8]:
        """The thread's register image."""
        ...

    @property
    def unit(self) -> LinkedUnit:
        """The function that the thread is in, or that its user looks at."""
        ...


class Scope:
    """The vISA variables that a thread has.

    Args:
        kernel: the kernel.
        registers: the thread's registers.
    """

    def __init__(self, kernel: LinkedKernel, registers: Registers) -> None:
        self._kernel = kernel
        self._registers = registers

    def find(self, name: str) -> tuple[Variable, LinkedUnit] | None:
        """Return a variable by name: the function's own, the kernel's, or a predefined one."""
        for unit in dict.fromkeys((self._registers.unit.number, 0)):
            linked = self._kernel.units[unit]
            for variable in variables_of(linked):
                if name in {variable.name, getattr(variable, "stored_name", None)}:
                    return variable, linked
        found = predefined.BY_NAME.get(name) or predefined.BY_NAME.get(f"%{name}")
        if isinstance(found, General):
            return found, self._kernel.units[0]
        return None

    def place(self, variable: Variable, unit: LinkedUnit) -> tuple[int, int]:
        """Return where in the image a variable stands, and its size in bytes."""
        if isinstance(variable, General):
            offset = self._kernel.offset(unit, variable)
            if variable.is_predefined:
                count = predefined.elements(variable, self._kernel.platform.grf_bytes)
                return offset, count * variable.type.bytes
            return offset, variable.bytes
        element = 1 if isinstance(variable, PredicateVariable) else 4
        return unit.others[variable.name], variable.count * element

    def value(self, variable: Variable, unit: LinkedUnit) -> Values:
        """Return what a variable holds."""
        offset, size = self.place(variable, unit)
        data = self._registers.image[offset : offset + size]
        match variable:
            case General():
                return typed(data, variable.type)
            case PredicateVariable():
                return data.view(np.bool_).copy()
            case _:
                return data.view(np.uint32).copy()

    def named(self, name: str) -> Values | None:
        """Return what the variable of some name holds, None if there is none."""
        found = self.find(name)
        return None if found is None else self.value(*found)

    def region(self, name: str, row: int, col: int, shape: Sequence[int], kind: str) -> Values:
        """Return what an operand such as V40(0,8)<8;4,2>:f reads, as many elements as there are.

        `shape` are the vertical stride, the width and the horizontal stride, in elements.
        """
        found = self.find(name)
        if found is None or not isinstance(found[0], General):
            raise ArgumentError(f"there is no general variable {name!r} here")
        variable = found[0]
        chosen = type_named(kind) if kind else variable.type
        offset, size = self.place(variable, found[1])
        start = row * self._kernel.platform.grf_bytes + col * chosen.bytes
        elements = typed(self._registers.image[offset + start : offset + size], chosen)
        vertical, width, horizontal = shape
        if width < 1:
            raise ArgumentError("a region has a width of at least 1")
        places: list[int] = []
        for number in range(64):
            place = number // width * vertical + number % width * horizontal
            if place >= elements.size or (number and place == 0 and number >= width > 1):
                break
            places.append(place)
            if not vertical and not horizontal:
                break
        return elements[places]


def variables_of(unit: LinkedUnit) -> Iterator[Variable]:
    """Yield the variables that a kernel or function declares."""
    own = unit.unit
    yield from own.generals
    yield from own.predicates
    yield from own.addresses
    yield from own.surfaces
    yield from own.samplers


class Arguments:
    """What was passed to the kernel, as arrays and numbers by name.

    Args:
        parameters: the kernel's.
        values: what was passed, in order.
    """

    def __init__(self, parameters: Sequence[Parameter], values: Sequence[object]) -> None:
        self._found: dict[str, Any] = {}
        for parameter, value in zip(parameters, values, strict=True):
            self._found[parameter.name] = _shown(parameter, value)

    @property
    def all(self) -> Mapping[str, Any]:
        """All arguments; arrays share the launch's memory."""
        return self._found

    def array(self, name: str) -> NDArray[Any] | None:
        """Return the memory of an argument as an array, None if it is none."""
        value = self._found.get(name)
        if not isinstance(value, np.ndarray):
            return None
        array = cast("NDArray[Any]", value)
        return array if array.ndim else None


def _shown(parameter: Parameter, value: object) -> Any:
    if isinstance(value, Image | Uninitialised):
        return cast("Any", value.array)
    if isinstance(value, Buffer):
        return value.array(_pointee(parameter) or np.dtype(np.uint8))
    if parameter.kind == "value" and isinstance(value, (int, float, bool)):
        dtype = value_type(parameter).dtype
        return value if dtype is None else np.array(value).astype(dtype)[()]
    return value


def _pointee(parameter: Parameter) -> np.dtype[Any] | None:
    name = parameter.type_name.replace("*", "").strip()
    kind = BY_NAME.get(_C_TYPES.get(name.rstrip("0123456789"), ""))
    return None if kind is None else np.dtype(kind.numpy)


__all__ = [
    "Arguments",
    "Registers",
    "Scope",
    "Values",
    "Variable",
    "type_named",
    "typed",
    "variables_of",
]
