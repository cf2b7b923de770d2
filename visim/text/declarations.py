"""Directives that declare: variables, inputs and attributes (specification 4, text format).

Each function takes a cursor behind the directive's name and fails at what it did not expect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from visim import predefined
from visim.attributes import (
    ALIGNMENT_BYTES,
    ALIGNMENT_NAMES,
    KERNEL_ATTRIBUTES,
    TARGETS,
    VARIABLE_ATTRIBUTES,
    AttributeValue,
)
from visim.diag import Origin, Span
from visim.expressions import Level, integer
from visim.isa.later import later_type
from visim.lex import INTEGER, NAME, STRING_LITERAL, Cursor, TextFailure, parse_integer, unquoted
from visim.module import EXPLICIT, IMPLICIT_KINDS, PARAMETER, Input
from visim.operands import (
    FILE_SCOPE,
    MAX_ALIASES,
    AddressVariable,
    Alias,
    Attribute,
    General,
    PredicateVariable,
    SamplerVariable,
    SurfaceVariable,
    Variable,
)
from visim.text.symbols import Symbols
from visim.types import BY_NAME, UD, DataType

VARIABLE_CLASSES: dict[str, type[Variable]] = {
    "G": General,
    "A": AddressVariable,
    "P": PredicateVariable,
    "S": SamplerVariable,
    "T": SurfaceVariable,
}
_COMMON = ("v_type", "num_elts", "attrs")
_KEYS = {
    General: (*_COMMON, "type", "align", "alias"),
    AddressVariable: (*_COMMON, "type"),
    PredicateVariable: (*_COMMON, "type"),
    SamplerVariable: (*_COMMON, "v_name"),
    SurfaceVariable: (*_COMMON, "v_name"),
}
_ALL_KEYS = (*_COMMON, "type", "align", "alias", "v_name")
_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_WORD = re.compile(r"\w+", re.ASCII)
_VALUE = re.compile(r"[^\s,{}\"]+")
_V_TYPE = re.compile(r"v_type\s*=\s*([GAPST])(?!\w)")
# What compilers write for nearly every variable; all else takes the long way.
_PLAIN_GENERAL = re.compile(
    r" ([A-Za-z_]\w*) v_type=G type=([a-z]+) num_elts=([1-9]\d{0,3})"
    r"(?: align=(\w+))?(?: alias=<(%?[A-Za-z_]\w*), (\d{1,4})>)?$",
    re.ASCII,
)
_FILE_KEYS = ("type", "num_elts", "align")
MAX_FILE_ELEMENTS = 1024
"""The most elements of a variable of file scope (specification 4)."""

_MAX_COUNT = 1 << 16
_MAX_BYTE = 1 << 16
_PSEUDO_INPUT, _PSEUDO_INPUT_NUMBER = "PSEUDO_INPUT", 16
_EXPECTED_KEY = "a property such as 'num_elts='"


@dataclass(slots=True)
class _Properties:
    """What a `.decl` line says so far, and where each property stands."""

    places: dict[str, int]
    kind: type[Variable] = General
    type: DataType | None = None
    count: int | None = None
    align: str = ""
    alias: Alias | None = None
    attributes: tuple[Attribute, ...] = ()
    v_name: str | None = None


def declaration(cursor: Cursor, symbols: Symbols) -> None:
    """Declare the variable of a `.decl` line in `symbols`."""
    if _plain_general(cursor, symbols):
        return
    cursor.skip_space()
    start = cursor.position
    name = cursor.need(NAME, "a variable's name").group()
    try:
        properties = _properties(cursor, symbols)
        symbols.check(cursor, start, name, properties.kind)
        variable = _variable(cursor, symbols, name, properties, cursor.span(start, len(name)))
    except TextFailure:
        _announce(cursor, symbols, name)
        raise
    symbols.declare(name, variable)


def _plain_general(cursor: Cursor, symbols: Symbols) -> bool:
    """Declare a general variable in the form that compilers write, if nothing is unusual."""
    plain = _PLAIN_GENERAL.match(cursor.text, cursor.position)
    if plain is None:
        return False
    name, type_name, count, align, base_name, offset = plain.groups()
    kind = BY_NAME.get(type_name)
    shown_align = ALIGNMENT_NAMES.get(align) if align else ""
    base = symbols.alias_base(base_name) if base_name else None
    if kind is None or shown_align is None or (base_name and not isinstance(base, General)):
        return False
    alias = None
    if isinstance(base, General):
        alias = _alias_of(cursor, plain.start(5), base, int(offset))
    symbols.check(cursor, plain.start(1), name, General)
    index = symbols.next_index(General)
    own = symbols.own_name(name)
    origin = cursor.span(plain.start(1), len(name))
    variable = General(own, kind, int(count), shown_align, alias, (), index, origin=origin)
    symbols.declare(name, variable)
    cursor.position = plain.end()
    return True


def _announce(cursor: Cursor, symbols: Symbols, name: str) -> None:
    stated = _V_TYPE.search(cursor.text)
    if stated is None:
        return
    kind = VARIABLE_CLASSES[stated.group(1)]
    stand_in = General(name, UD, 1) if kind is General else kind(name, 1)  # pyright: ignore[reportCallIssue]
    symbols.announce(name, stand_in)


def _properties(cursor: Cursor, symbols: Symbols) -> _Properties:
    found = _Properties({})
    while not cursor.at_end:
        start = cursor.position
        key = cursor.need(_KEY, _EXPECTED_KEY).group()
        if key not in _ALL_KEYS:
            raise cursor.unknown_word(start, "property", key, _ALL_KEYS, "unknown-property")
        if key in found.places:
            raise cursor.failure_at(start, "duplicate-property", f"{key} is given twice")
        found.places[key] = start
        cursor.expect("=")
        cursor.skip_space()
        _read_property(key, cursor, symbols, found)
    for key in ("v_type", "num_elts"):
        if key not in found.places:
            raise cursor.failure(f"'{key}='")
    for key, place in found.places.items():
        if key not in _KEYS[found.kind]:
            message = f"a variable of this v_type has no {key}"
            raise cursor.failure_at(place, "property", message, length=len(key))
    return found


def _read_property(key: str, cursor: Cursor, symbols: Symbols, found: _Properties) -> None:
    match key:
        case "v_type":
            letter = _choice(cursor, "v_type", VARIABLE_CLASSES, "one of G, A, P, S, T")
            found.kind = VARIABLE_CLASSES[letter]
        case "type":
            found.type = _data_type(cursor)
        case "num_elts":
            found.count = integer(cursor, symbols, "a number of elements", low=1, high=_MAX_COUNT)
        case "align":
            found.align = _alignment(cursor, symbols)
        case "alias":
            found.alias = _alias(cursor, symbols)
        case "attrs":
            found.attributes = _attribute_list(cursor, symbols)
        case _:
            found.v_name = cursor.need(_VALUE, "a name").group()


def file_variable(cursor: Cursor, known: Mapping[str, General]) -> General:
    """Return the variable of a line such as `.global_variable table type=ud num_elts=16`."""
    symbols = Symbols(file_variables=known)
    cursor.skip_space()
    start = cursor.position
    name = cursor.need(NAME, "a variable's name").group()
    symbols.check(cursor, start, name, General)
    found = _Properties({})
    while not cursor.at_end:
        key_start = cursor.position
        key = cursor.need(_KEY, "'type=', 'num_elts=' or 'align='").group()
        if key not in _FILE_KEYS:
            raise cursor.unknown_word(key_start, "property", key, _FILE_KEYS, "unknown-property")
        cursor.expect("=")
        cursor.skip_space()
        _read_property(key, cursor, symbols, found)
    if found.type is None or found.count is None:
        raise cursor.failure("'type=' and 'num_elts='")
    if found.count > MAX_FILE_ELEMENTS:
        message = f"a variable of file scope has at most {MAX_FILE_ELEMENTS} elements"
        raise cursor.failure_at(start, "limit", message)
    return General(name, found.type, found.count, found.align, index=FILE_SCOPE)


def _choice(cursor: Cursor, what: str, known: Iterable[str], expected: str) -> str:
    start = cursor.position
    word = cursor.need(_WORD, expected).group()
    if word not in known:
        raise cursor.unknown_word(start, what, word, known, f"unknown-{what}")
    return word


def _alignment(cursor: Cursor, symbols: Symbols) -> str:
    """Take an alignment's name or its bytes."""
    start = cursor.position
    word = cursor.match(_WORD)
    if word and (word.group() in ALIGNMENT_NAMES or _KEY.match(word.group())):
        cursor.position = start
        return ALIGNMENT_NAMES[_choice(cursor, "alignment", ALIGNMENT_NAMES, "an alignment")]
    cursor.position = start
    size = integer(cursor, symbols, "an alignment such as 'GRF'")
    if size not in ALIGNMENT_BYTES:
        message = f"{size} bytes is not an alignment"
        known = ", ".join(map(str, ALIGNMENT_BYTES))
        raise cursor.failure_at(start, "unknown-alignment", message, help=f"use one of {known}")
    return ALIGNMENT_BYTES[size]


def _data_type(cursor: Cursor) -> DataType:
    start = cursor.position
    word = cursor.need(_WORD, "a type such as 'ud'").group()
    found = BY_NAME.get(word.lower())
    if found is None:
        later = later_type(cursor, start, word)
        raise later or cursor.unknown_word(start, "type", word, BY_NAME, "unknown-type")
    return found


def _alias(cursor: Cursor, symbols: Symbols) -> Alias:
    closing = ")" if cursor.take("(") else ">"
    if closing == ">":
        cursor.expect("<")
    cursor.skip_space()
    start = cursor.position
    name = cursor.need(NAME, "the name of the aliased variable").group()
    base = symbols.alias_base(name)
    if base is None:
        raise cursor.unknown_name(start, "variable", name, symbols.known())
    if not isinstance(base, General):
        message = f"{name} is not a general variable and cannot be aliased"
        raise cursor.failure_at(start, "operand-class", message)
    cursor.expect(",")
    offset = integer(cursor, symbols, "a byte offset", high=_MAX_BYTE, level=Level.SHIFT)
    cursor.expect(closing)
    return _alias_of(cursor, start, base, offset)


def _alias_of(cursor: Cursor, start: int, base: General, offset: int) -> Alias:
    alias = Alias(base, offset)
    if alias.depth > MAX_ALIASES:
        message = f"{base.name} is an alias of {MAX_ALIASES} aliases, no more are possible"
        raise cursor.failure_at(start, "limit", message, length=len(base.name))
    return alias


def _variable(
    cursor: Cursor, symbols: Symbols, name: str, given: _Properties, origin: Span
) -> Variable:
    kind, count, attributes = given.kind, given.count or 1, given.attributes
    index = symbols.next_index(kind)
    if kind is AddressVariable:
        return AddressVariable(name, count, attributes, index, origin=origin)
    if kind is PredicateVariable:
        return PredicateVariable(name, count, attributes, index, origin=origin)
    if kind is SamplerVariable:
        return SamplerVariable(name, count, attributes, index, given.v_name, origin=origin)
    if kind is SurfaceVariable:
        return SurfaceVariable(name, count, attributes, index, given.v_name, origin=origin)
    if given.type is None:
        raise cursor.failure("'type='")
    own = symbols.own_name(name)
    align, alias = given.align, given.alias
    return General(own, given.type, count, align, alias, attributes, index, origin=origin)


def _attribute_list(cursor: Cursor, symbols: Symbols) -> tuple[Attribute, ...]:
    cursor.expect("{")
    found: list[Attribute] = []
    cursor.skip_space()
    if cursor.take("}"):
        return ()
    while True:
        found.append(_attribute(cursor, symbols, VARIABLE_ATTRIBUTES))
        cursor.skip_space()
        if not cursor.take(","):
            cursor.expect("}")
            return tuple(found)


def kernel_attribute(cursor: Cursor, symbols: Symbols) -> Attribute:
    """Return the attribute of a `.kernel_attr` line; the cursor stays behind it."""
    found = _attribute(cursor, symbols, KERNEL_ATTRIBUTES)
    if found.name == "SimdSize" and isinstance(found.value, int):
        symbols.dispatch_size = found.value
    return found


def _attribute(cursor: Cursor, symbols: Symbols, known: dict[str, AttributeValue]) -> Attribute:
    cursor.skip_space()
    start = cursor.position
    name = cursor.need(_KEY, "an attribute's name").group()
    origin = cursor.span(start, len(name))
    kind = known.get(name)
    if kind is None and known is VARIABLE_ATTRIBUTES:
        raise cursor.unknown_name(start, "attribute", name, known)
    cursor.skip_space()
    if cursor.take("="):
        value = _attribute_value(cursor, symbols, name, kind)
        return Attribute(name, value, origin=origin)
    if kind not in {AttributeValue.FLAG, None}:
        raise cursor.failure(f"'=' and the value of {name}")
    return Attribute(name, origin=origin)


def _attribute_value(
    cursor: Cursor, symbols: Symbols, name: str, kind: AttributeValue | None
) -> int | str | None:
    """Take the value behind '='; one that is given to a flag is read, and means nothing."""
    cursor.skip_space()
    begins_text = cursor.text.startswith('"', cursor.position)
    if kind is AttributeValue.TEXT or (kind is None and begins_text):
        return _text_value(cursor, name)
    is_flag = kind is AttributeValue.FLAG
    if is_flag and cursor.at_end:
        return None
    value = integer(cursor, symbols, f"the value of {name}", level=Level.SHIFT)
    return None if is_flag else value


def _text_value(cursor: Cursor, name: str) -> str:
    start = cursor.position
    quoted = cursor.match(STRING_LITERAL)
    value = unquoted(quoted.group()) if quoted else cursor.need(_VALUE, "a string").group()
    if name != "Target":
        return value
    if INTEGER.fullmatch(value) and 0 <= parse_integer(value) < len(TARGETS):
        return TARGETS[parse_integer(value)]
    if value not in TARGETS:
        raise cursor.unknown_word(start, "target", value, TARGETS, "unknown-target")
    return value


def input_kind(directive: str) -> str | None:
    """Return the kind of input that `directive` declares, or None when it is no such directive."""
    if directive in {".input", ".parameter"}:
        return EXPLICIT if directive == ".input" else PARAMETER
    if not directive.startswith(".implicit_"):
        return None
    kind = directive.removeprefix(".implicit_")
    if kind == _PSEUDO_INPUT:
        return f"UNDEFINED_{_PSEUDO_INPUT_NUMBER}"
    if kind in IMPLICIT_KINDS.values():
        return kind
    number = kind.removeprefix("UNDEFINED_")
    if number == kind or not number.isascii() or not number.isdigit() or len(number) > 2:
        return None
    if not 0 < int(number) < 32:
        return None
    return IMPLICIT_KINDS.get(int(number), f"UNDEFINED_{int(number)}")


def input_line(cursor: Cursor, symbols: Symbols, kind: str, origin: Origin) -> Input:
    """Return the input of an `.input`, `.parameter` or `.implicit_...` line."""
    cursor.skip_space()
    start = cursor.position
    name = cursor.need(NAME, "a variable's name").group()
    found = symbols.lookup(name)
    if found is None:
        raise cursor.unknown_name(start, "variable", name, symbols.known())
    if not isinstance(found, General | SamplerVariable | SurfaceVariable):
        message = f"{name} cannot be an input, only general, sampler and surface variables can"
        raise cursor.failure_at(start, "operand-class", message)
    if found.name in predefined.by_name(symbols.version):
        message = f"{name} is predefined, only declared variables can be inputs"
        raise cursor.failure_at(start, "operand-class", message)
    offset = 0
    if kind != PARAMETER and _keyword(cursor, "offset"):
        offset = integer(cursor, symbols, "a byte offset", high=_MAX_BYTE)
    size = found.bytes if isinstance(found, General) else 4 * found.count
    if _keyword(cursor, "size"):
        size = integer(cursor, symbols, "a size in bytes", high=_MAX_BYTE)
    if not cursor.at_end:
        raise cursor.failure("'offset=', 'size=' or the end of the line")
    return Input(found, offset, size, kind, origin)


def _keyword(cursor: Cursor, word: str) -> bool:
    """Take `word` and its '=' if it stands here."""
    cursor.skip_space()
    if not cursor.take(word):
        return False
    cursor.expect("=")
    return True
