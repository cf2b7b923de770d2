"""What a parameter's type says of the values that users write for it, and an example of one.

So that `a=2` and `x=zeros:1024` need no type. Knows nothing of the grammar of values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from visim.runtime.files.number_text import DTYPES

_QUALIFIERS = re.compile(r"\b(?:__global|__constant|const|volatile|restrict|__restrict)\b")
_TYPE = re.compile(r"(.*?)(\d+)?(?:\[(\d+)\])?")
_SPELLINGS = {f"unsigned {name}": f"u{name}" for name in ("char", "short", "int", "long")} | {
    "signed char": "char"
}


class Parameter(Protocol):
    """What is needed to know of a kernel's argument."""

    @property
    def name(self) -> str:
        """The argument's name."""
        ...

    @property
    def kind(self) -> str:
        """Buffer, value, local, image or sampler."""
        ...

    @property
    def size(self) -> int | None:
        """Size in bytes, None where it is not fixed."""
        ...

    @property
    def type_name(self) -> str | None:
        """The type as its source spells it."""
        ...

    @property
    def numbered(self) -> str | None:
        """Another name that stands for it, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is expected of an argument's value.

    `dtype` is the type of its numbers, for a pointer that of what it points to; None where the
    parameter's type does not tell. A value has `count` of them and `size` bytes.
    """

    kind: str
    type_name: str
    dtype: np.dtype[Any] | None
    count: int
    size: int | None

    @property
    def is_pointer(self) -> bool:
        """Whether the argument is memory, and the type of its elements is known."""
        return self.kind == "buffer" and self.dtype is not None

    @property
    def example(self) -> str:
        """A value as users write it."""
        match self.kind:
            case "buffer":
                return "zeros:1024" if self.is_pointer else "zeros:f32:1024"
            case "local":
                return "local:256"
            case "image":
                return "image:zeros:u8:480x640x4"
            case "sampler":
                return "sampler:clamp_to_edge,nearest"
            case _ if self.dtype is not None:
                return ",".join(["1"] * self.count)
            case _:
                return f"hex:{'00' * (self.size or 4)}"


NOTHING = Expectation("", "", None, 1, None)
"""What is expected where no parameter says it, as of surfaces by their index."""


def expectation(parameter: Parameter) -> Expectation:
    """Return what a parameter's type says of its values."""
    written = parameter.type_name or ""
    is_pointer = written.endswith("*")
    name = _QUALIFIERS.sub("", written.removesuffix("*")).strip()
    dtype, count = _elements(name)
    if parameter.kind == "buffer" and not is_pointer:
        dtype = None  # an address: UQ in vISA text
    if parameter.kind == "value" and dtype is not None and not _fits(dtype, count, parameter):
        dtype = None
    return Expectation(parameter.kind, written, dtype, count, parameter.size)


def _fits(dtype: np.dtype[Any], count: int, parameter: Parameter) -> bool:
    """Whether so many numbers are the whole value; three have the size of four."""
    return parameter.size == dtype.itemsize * (4 if count == 3 else count)


def _elements(name: str) -> tuple[np.dtype[Any] | None, int]:
    """Return the type of a vector's elements, and their number."""
    for spelled, count in (
        (name, 1),
        (name.removesuffix("_t"), 1),
        *([(match[1].strip(), int(match[2] or match[3]))] if (match := _vector(name)) else []),
    ):
        dtype = DTYPES.get(_SPELLINGS.get(spelled, spelled).lower())
        if dtype is not None:
            return dtype, count
    return None, 1


def _vector(name: str) -> re.Match[str] | None:
    match = _TYPE.fullmatch(name)
    return match if match is not None and (match[2] or match[3]) else None
