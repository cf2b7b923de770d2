"""Words that only newer texts have, so that errors can say so.

IGC's main branch reads and writes them; the specification has no page for them.
"""

import re

from visim.lex import Cursor, TextFailure

_CARRIERS = {"bf8": "ub", "hf8": "b", "tf32": "ud"}
_TYPES = frozenset({*_CARRIERS, "e2m1"})
_CACHE = re.compile(r"\.(?:df|uc|ca|cc|wb|wt|st|ri)(?!\w)", re.ASCII)
_OPTION = re.compile(r"\.(?:ov|msaa)(?!\w)", re.ASCII)
_SURFACE = re.compile(r"surf(?=\s*[(\[])")
_FLAT_BASE = re.compile(r"flat\s*\(")
_ADDRESS_SIZE = re.compile(r":a32[su]")
_INDEX = re.compile(r"\s*,\s*\w*", re.ASCII)
_ADDED = re.compile(r"\s*[+-]\s*\w+", re.ASCII)


def later_type(cursor: Cursor, start: int, name: str) -> TextFailure | None:
    """Return the failure of a type that only texts of newer compilers can have, or None."""
    word = name.lower()
    if word not in _TYPES:
        return None
    carrier = _CARRIERS.get(word)
    advice = "no page says what it is"
    if carrier is not None:
        advice = f"compilers keep such numbers in variables of type {carrier} (fcvt)"
    message = f"visim does not know variables of the type {name!r}"
    return cursor.failure_at(start, "unknown-type", message, length=len(name), help=advice)


def refuse_later_cache(cursor: Cursor) -> None:
    """Fail where a third cache control stands behind two.

    Raises:
        TextFailure: one does.
    """
    _refuse(cursor, _CACHE, "third cache control")


def refuse_option(cursor: Cursor) -> None:
    """Fail where `.ov` or `.msaa` stands behind the cache controls of a message.

    Raises:
        TextFailure: one does.
    """
    start = cursor.position
    found = cursor.match(_OPTION)
    if found is not None:
        message = f"visim does not know what the option {found.group()!r} of a message means"
        raise cursor.failure_at(start, "unknown-word", message, help="no page describes it")


def refuse_later_address(cursor: Cursor) -> None:
    """Fail where an address begins as only later devices have them: `surf(V40)`, `flat(V40)`.

    Raises:
        TextFailure: it does.
    """
    _refuse(cursor, _SURFACE, "address model")
    _refuse(cursor, _FLAT_BASE, "base address")


def refuse_later_address_size(cursor: Cursor) -> None:
    """Fail where offsets of 32 bits from a base of 64 bits stand, `:a32s` and `:a32u`.

    Raises:
        TextFailure: they do.
    """
    _refuse(cursor, _ADDRESS_SIZE, "address size")


def refuse_later_index(cursor: Cursor) -> None:
    """Fail where a surface has an index behind it, as in `bti(0x4, 0x1)`.

    Raises:
        TextFailure: it has.
    """
    _refuse(cursor, _INDEX, "index behind a surface")


def refuse_later_coordinate(cursor: Cursor) -> None:
    """Fail where a constant is added to a coordinate, as in `bti(0x4)[V40+5]`.

    Raises:
        TextFailure: one is.
    """
    _refuse(cursor, _ADDED, "constant added to a coordinate")


def _refuse(cursor: Cursor, pattern: re.Pattern[str], what: str) -> None:
    start = cursor.position
    found = cursor.match(pattern)
    if found is not None:
        word = found.group().strip()
        message = f"only texts of version 4.2 and later have the {what} {word!r}"
        advice = "a compiler that writes it begins the text with '.version 4.2'"
        raise cursor.failure_at(start, "unknown-word", message, length=len(word), help=advice)
