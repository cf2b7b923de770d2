"""Names of variables and types in a statement: looking them up, and failing well."""

import re
from typing import Any

from visim.isa.registry import Names, field_type_error
from visim.lex import (
    NAME,
    Cursor,
)
from visim.operands import (
    General,
    Variable,
)
from visim.types import BY_NAME, DataType

_SPACED_NAME = re.compile(rf"[ \t]*({NAME.pattern})", re.ASCII)
_TYPE = re.compile(r"\s*:\s*([A-Za-z]\w*)", re.ASCII)


def variable(cursor: Cursor, names: Names, expected: str) -> Variable:
    """Take a variable's name and return the variable, or fail with the nearest name."""
    plain = _SPACED_NAME.match(cursor.text, cursor.position)
    known = names.lookup(plain.group(1)) if plain else None
    if plain and known is not None:
        cursor.position = plain.end()
        return known
    cursor.skip_space()
    start = cursor.position
    name = cursor.need(NAME, expected).group()
    found = names.lookup(name)
    if found is None:
        raise cursor.unknown_name(start, "variable", name, names.known())
    return found


def of_class(cursor: Cursor, names: Names, wanted: type[Any], expected: str) -> Any:
    """Take a variable's name and return the variable if it is of a class, or fail."""
    cursor.skip_space()
    start = cursor.position
    found = variable(cursor, names, expected)
    if not isinstance(found, wanted):
        raise cursor.failure_at(start, "operand-class", field_type_error(found, expected))
    return found


def general(cursor: Cursor, names: Names, expected: str) -> General:
    """Take a general variable's name and return the variable, or fail."""
    return of_class(cursor, names, General, expected)


def type_name(cursor: Cursor) -> DataType:
    """Take a colon and a type's name, or fail with the nearest name."""
    start = cursor.position
    name = cursor.need(_TYPE, "a type such as ':ud'").group(1).lower()
    found = BY_NAME.get(name)
    if found is None or name == "bool":
        raise cursor.unknown_word(start + 1, "type", name, BY_NAME, "unknown-type")
    return found
