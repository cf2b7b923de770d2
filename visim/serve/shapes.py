"""What the fields of requests may hold: declared once, for reading, for schemas and for people.

A request is a dataclass whose annotations hold shapes: `size: Annotated[int, Integer(1, 9), "How
large."]`. `Record` makes of it a JSON Schema, and an object of a JSON value, or an error that says
where in the request something is wrong. A field without a default has to be there.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Annotated, Any, Protocol, cast, get_args, get_origin, get_type_hints

from visim.errors import VisimError, shown
from visim.lex import nearest

Schema = dict[str, Any]


class RequestError(VisimError):
    """A request is not what it should be: `path` says which field, such as `cases[0].args.x`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Shape(Protocol):
    """What a field may hold."""

    @property
    def kinds(self) -> frozenset[str]:
        """The types of JSON values that it takes."""
        ...

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        ...

    def read(self, value: Any, path: str) -> Any:
        """Return what a JSON value means; RequestError if it means nothing."""
        ...


_KINDS: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def _expected(path: str, what: str, value: Any) -> RequestError:
    return RequestError(path, f"expected {what}, found {shown(value)}")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of at most `most` characters; with `choices`, one of these."""

    most: int = 200
    choices: tuple[str, ...] = ()

    kinds = frozenset({"string"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        return {"type": "string", "maxLength": self.most}

    def read(self, value: Any, path: str) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise _expected(path, "text", value)
        if len(value) > self.most:
            found = f"found {len(value)}"
            raise RequestError(path, f"expected at most {self.most} characters, {found}")
        if self.choices and value not in self.choices:
            near = nearest(value, self.choices)
            hint = f"; did you mean {near!r}?" if near else ""
            raise _expected(path, f"one of {', '.join(self.choices)}", value + hint)
        return value


@dataclass(frozen=True, slots=True)
class Base64:
    """Bytes, at most `most`, written in base64."""

    most: int

    kinds = frozenset({"string"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        longest = 4 * math.ceil(self.most / 3)
        return {"type": "string", "contentEncoding": "base64", "maxLength": longest}

    def read(self, value: Any, path: str) -> bytes:
        """Return the bytes."""
        if not isinstance(value, str):
            raise _expected(path, "base64", value)
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise _expected(path, "base64", value) from None
        if len(data) > self.most:
            raise RequestError(path, f"expected at most {self.most} bytes, found {len(data)}")
        return data


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer from `least` to `most`."""

    least: int
    most: int

    kinds = frozenset({"integer"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def read(self, value: Any, path: str) -> int:
        """Return the integer; 64.0 is one in JSON."""
        is_whole = isinstance(value, float) and value.is_integer()
        is_integer = is_whole or (isinstance(value, int) and not isinstance(value, bool))
        if not is_integer or not self.least <= value <= self.most:
            raise _expected(path, f"an integer from {self.least} to {self.most}", value)
        return int(value)


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number, from `least` if there is one."""

    least: float | None = None

    kinds = frozenset({"integer", "number"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        bound = {} if self.least is None else {"minimum": self.least}
        return {"type": "number", **bound}

    def read(self, value: Any, path: str) -> float:
        """Return the number; an integer stays one."""
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or (isinstance(value, float) and not math.isfinite(value)):
            raise _expected(path, "a number", value)
        if self.least is not None and value < self.least:
            raise _expected(path, f"a number from {self.least:g}", value)
        return value


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    kinds = frozenset({"boolean"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        return {"type": "boolean"}

    def read(self, value: Any, path: str) -> bool:
        """Return the flag."""
        if not isinstance(value, bool):
            raise _expected(path, "true or false", value)
        return value


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of `least` to `most` items of one shape; read as a tuple."""

    item: Shape
    least: int = 0
    most: int = 64

    kinds = frozenset({"array"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        bounds = {"minItems": self.least, "maxItems": self.most}
        return {"type": "array", "items": self.item.schema(), **bounds}

    def read(self, value: Any, path: str) -> tuple[Any, ...]:
        """Return the items."""
        if not isinstance(value, list):
            raise _expected(path, "a list", value)
        items = cast("list[Any]", value)
        if not self.least <= len(items) <= self.most:
            wanted = f"expected {self.least} to {self.most} items"
            raise RequestError(path, f"{wanted}, found {len(items)}")
        return tuple(self.item.read(one, f"{path}[{n}]") for n, one in enumerate(items))


@dataclass(frozen=True, slots=True)
class TableOf:
    """An object of at most `most` items of one shape by names that the client chooses."""

    item: Shape
    most: int = 64

    kinds = frozenset({"object"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        items = self.item.schema()
        return {"type": "object", "additionalProperties": items, "maxProperties": self.most}

    def read(self, value: Any, path: str) -> dict[str, Any]:
        """Return the items by their names."""
        if not isinstance(value, dict):
            raise _expected(path, "an object", value)
        table = cast("dict[str, Any]", value)
        if len(table) > self.most:
            raise RequestError(path, f"expected at most {self.most} keys, found {len(table)}")
        return {key: self.item.read(one, f"{path}.{key}") for key, one in table.items()}


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of several shapes that take values of different JSON types."""

    shapes: tuple[Shape, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """The types of JSON values that one of them takes."""
        return frozenset[str]().union(*(shape.kinds for shape in self.shapes))

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        return {"anyOf": [shape.schema() for shape in self.shapes]}

    def read(self, value: Any, path: str) -> Any:
        """Return what the shape that takes such values makes of it."""
        kind = next((kind for made, kind in _KINDS.items() if type(value) is made), "")
        for shape in self.shapes:
            if kind in shape.kinds:
                return shape.read(value, path)
        raise _expected(path, f"one of these JSON types: {', '.join(sorted(self.kinds))}", value)


@dataclass(frozen=True, slots=True)
class Nothing:
    """JSON's null."""

    kinds = frozenset({"null"})

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        return {"type": "null"}

    def read(self, value: Any, path: str) -> None:
        """Return None."""
        if value is not None:
            raise _expected(path, "null", value)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    shape: Shape
    about: str
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is MISSING

    def schema(self) -> Schema:
        described = {**self.shape.schema(), "description": self.about}
        shown_default = isinstance(self.default, (str, int, float)) and self.default != ""
        return described | ({"default": self.default} if shown_default else {})


@dataclass(frozen=True)
class Record:
    """An object with the fields of a dataclass, whose annotations hold their shapes."""

    made: type[Any]
    kinds: frozenset[str] = field(default=frozenset({"object"}), repr=False)

    @cached_property
    def fields(self) -> Mapping[str, _Field]:
        """The fields by their names."""
        hints = get_type_hints(self.made, include_extras=True)
        found: dict[str, _Field] = {}
        for entry in fields(self.made):
            hint = hints[entry.name]
            if get_origin(hint) is not Annotated:
                continue
            _, shape, about = get_args(hint)
            default = entry.default
            if entry.default_factory is not MISSING:
                default = None
            found[entry.name] = _Field(entry.name, shape, about, default)
        return found

    def schema(self) -> Schema:
        """Return its JSON Schema."""
        required = [entry.name for entry in self.fields.values() if entry.is_required]
        return {
            "type": "object",
            "properties": {name: entry.schema() for name, entry in self.fields.items()},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def read(self, value: Any, path: str) -> Any:
        """Return the object; null stands for a field's default."""
        if not isinstance(value, dict):
            raise _expected(path, "an object", value)
        given = cast("dict[str, Any]", value)
        for key in given:
            if key not in self.fields:
                near = nearest(key, self.fields)
                known = ", ".join(self.fields)
                hint = f"did you mean {near!r}?" if near else f"there are: {known}"
                raise RequestError(_below(path, key), f"there is no such field; {hint}")
        read: dict[str, Any] = {}
        for name, entry in self.fields.items():
            if given.get(name) is not None:
                read[name] = entry.shape.read(given[name], _below(path, name))
            elif entry.is_required:
                raise RequestError(_below(path, name), f"missing: {entry.about}")
        return self.made(**read)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def names(items: Sequence[str]) -> str:
    """Return names in a sentence."""
    return ", ".join(items)
