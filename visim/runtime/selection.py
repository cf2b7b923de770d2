"""Which kernel of a program is meant by a name, and which arrays of a launch.

A launch's arguments and surfaces are values by then; names are those that users write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError, Correction
from visim.lex import nearest
from visim.runtime.arguments.images import Image
from visim.runtime.arguments.uninitialised import Uninitialised
from visim.runtime.files.arguments_text import find_parameter
from visim.runtime.files.run_options import Output, Reference
from visim.runtime.kernel import Kernel
from visim.runtime.program import Program


def choose_kernel(program: Program, name: str | None) -> Kernel:
    """Return the kernel called `name`, or the only one where no name is given."""
    names = [kernel.name for kernel in program.kernels]
    if name is None and len(names) == 1:
        return program.kernels[0]
    if not names:
        raise ArgumentError("the file has no kernels to run")
    if name is None:
        listed = ", ".join(names)
        correction = Correction(missing=(("kernel", names[0]),))
        raise ArgumentError(f"say which kernel to run with -k; the file has: {listed}", correction)
    if name not in names:
        near = nearest(name, names)
        hint = f" (did you mean {near!r}?)" if near else ""
        listed = ", ".join(names)
        correction = Correction(misspelt=((name, near),)) if near else None
        raise ArgumentError(f"the file has no kernel {name!r}{hint}; it has: {listed}", correction)
    return program[name]


def output_name(key: str, kernel: Kernel) -> str:
    """Return what reports call the array that a user means by `key`."""
    if key.startswith("surface:"):
        return key
    return kernel.args[find_parameter(key, kernel.args)].name


def find_results(
    wanted: Sequence[Output | Reference],
    kernel: Kernel,
    values: Sequence[object],
    surfaces: Mapping[int, object],
) -> dict[str, NDArray[Any]]:
    """Return the arrays that are to be written or compared, by the names that the user gives."""
    results: dict[str, NDArray[Any]] = {}
    for output in wanted:
        prefix, _, number = output.key.partition("surface:")
        value: object
        if not prefix and number:
            value = surfaces.get(int(number)) if number.isdecimal() else None
        else:
            value = values[find_parameter(output.key, kernel.args)]
        value = array_of(value)
        if value is None:
            flag = "--out" if isinstance(output, Output) else "--expect"
            raise ArgumentError(f"{flag} {output.key}: this argument is not an array")
        results[output.key] = value
    return results


def array_of(value: object) -> NDArray[Any] | None:
    """Return the array of an argument that is one, or an image of one."""
    if isinstance(value, Image | Uninitialised):
        return value.array
    return cast("NDArray[Any]", value) if isinstance(value, np.ndarray) else None
