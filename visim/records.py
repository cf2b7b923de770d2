"""Frozen dataclasses that are quick to make: `record`.

Reading a program makes hundreds of thousands of them. The initialiser that `dataclass` writes for
a frozen class looks `object.__setattr__` up for every field; the one made here calls the setters
of the slots, and takes half the time. Where there are many fields, even those calls take half of
what a small launch has for its report: such an object belongs to a class with the same slots that
is not frozen, until it is filled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")
_CLASS: Any = object.__dict__["__class__"]
_MANY = 8
"""With so many fields it is quicker to change an object's class twice than to call all setters."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_T]) -> type[_T]:
    """Make `cls` a frozen dataclass with slots; its fields may have no default factories."""
    made = dataclass(frozen=True, slots=True, init=False)(cls)
    made.__init__ = _initialiser(made)
    return made


def _initialiser(cls: type[Any]) -> Callable[..., None]:
    """Return an `__init__` that stores each argument in its slot."""
    names: dict[str, Any] = {}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    quickly: list[str] = []
    for entry in fields(cls):
        names[f"_set_{entry.name}"] = getattr(cls, entry.name).__set__
        quickly.append(f"        self.{entry.name} = {entry.name}")
        parameter = entry.name
        if entry.default is not MISSING:
            names[f"_default_{entry.name}"] = entry.default
            parameter = f"{entry.name}=_default_{entry.name}"
        (keywords if entry.kw_only else positional).append(parameter)
        body.append(f"    _set_{entry.name}(self, {entry.name})")
    if len(body) >= _MANY and cls.__bases__ == (object,):
        slots = tuple(entry.name for entry in fields(cls))
        names |= {"_cls": cls, "_open": type(f"_Open{cls.__name__}", (), {"__slots__": slots})}
        names["_become"] = _CLASS.__set__
        first = ["    if self.__class__ is _cls:", "        _become(self, _open)"]
        last = ["        self.__class__ = _cls", "    else:"]
        body = [*first, *quickly, *last, *(f"    {line}" for line in body)]
    if hasattr(cls, "__post_init__"):
        body.append("    self.__post_init__()")
    parameters = ["self", *positional, *(["*", *keywords] if keywords else [])]
    text = "\n".join([f"def __init__({', '.join(parameters)}):", *(body or ["    pass"])])
    exec(text, names)
    return names["__init__"]
