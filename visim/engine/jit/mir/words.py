"""Attributes of MIR as text, and back: what stands in braces behind an operation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from enum import StrEnum
from math import copysign, isnan
from typing import Any, cast, get_args

from visim.engine.jit.mir.attributes import (
    Ask,
    Attribute,
    Bank,
    Callee,
    Home,
    Message,
    Sources,
)
from visim.sem import requests
from visim.sem.atomics import AtomicOperation
from visim.sem.effects import Space

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$%")
_SPACES = {space.name.lower(): space for space in Space}
_ENUMS: dict[str, type[StrEnum]] = {
    "outside": requests.Outside,
    "detail": requests.Detail,
    "rows": requests.Rows,
    "operation": AtomicOperation,
}
_OPERATIONS: dict[str, Any] = {one.__name__: one for one in get_args(requests.Operation)}


class BadAttribute(Exception):
    """A text is no attribute; says what was expected."""


# Writing


def attribute_text(found: Attribute) -> str:
    """Return an attribute as it stands in braces."""
    match found:
        case Home(bank, name, index, places):
            return f"{bank} {quoted(name)} #{index} [{lanes_text(places)}]"
        case Message(space, count, surface, masked, detail):
            words = [space.name.lower()]
            words += [f"count {count}"] * (count != 1)
            words += ["surface"] * surface + ["mask"] * masked
            words += [f"do {detail}"] * bool(detail)
            return ", ".join(words)
        case Ask(operation, sampler, masked):
            words = ["sampler"] * sampler + ["mask"] * masked
            return ", ".join([*words, f"ask {_operation_text(operation)}"])
        case Callee(name, control):
            what = "handle" if name is None else f"name {quoted(name)}"
            return f"{what}, cr0 {control:#x}"
        case Sources(channels, pcs):
            return f"channels [{lanes_text(channels)}] at [{lanes_text(pcs)}]"
        case tuple():
            whole = all(isinstance(one, int) for one in found)
            return f"[{lanes_text(cast('tuple[int, ...]', found))}]" if whole else _floats(found)
        case str():
            return f"is {quoted(found)}"
        case None:
            return ""
        case _:
            return number_text(found)


def _floats(found: Sequence[float]) -> str:
    return f"[{', '.join(map(number_text, found))}]"


def number_text(number: float) -> str:
    """Return a number so that it is read exactly as it is; floats have a point or a word."""
    if isinstance(number, float):
        if isnan(number):
            return "-nan" if copysign(1.0, number) < 0 else "nan"
        return repr(number)
    return str(int(number))


def quoted(name: str) -> str:
    """Return a name, in quotes where it has characters that names mostly do not have."""
    return name if name and _BARE.issuperset(name) else json.dumps(name)


def lanes_text(numbers: Sequence[int]) -> str:
    """Return numbers with those in even steps as ranges: `0..15`, `0..30/2`, `7*16`."""
    return ", ".join(_pieces([int(one) for one in numbers]))


def _pieces(numbers: Sequence[int]) -> Iterator[str]:
    at = 0
    while at < len(numbers):
        end = at + 1
        step = numbers[end] - numbers[at] if end < len(numbers) else 0
        while end < len(numbers) and numbers[end] - numbers[end - 1] == step:
            end += 1
        first, last = numbers[at], numbers[end - 1]
        if end - at < 3:
            yield str(first)
            at += 1
            continue
        yield f"{first}*{end - at}" if not step else f"{first}..{last}" + f"/{step}" * (step != 1)
        at = end


def _operation_text(operation: requests.Operation) -> str:
    given = [f"{one.name}={_field_text(getattr(operation, one.name))}" for one in fields(operation)]
    return f"{type(operation).__name__}({' '.join(given)})"


def _field_text(value: object) -> str:
    if isinstance(value, tuple):
        return "+".join(cast("tuple[str, ...]", value)) or "none"
    return "none" if value is None else str(value)


# Reading


def attribute_of(op: str, text: str) -> Attribute:
    """Return the attribute that stands in the braces behind an operation.

    Raises:
        BadAttribute: there is none that it says.
    """
    text = text.strip()
    if not text:
        return None
    word, _, rest = text.partition(" ")
    if word in set(Bank) and "[" in rest:
        return _home(Bank(word), rest)
    if text.startswith("["):
        return numbers_of(text)
    if word == "is":
        return _name(rest)
    if op == "call":
        return _callee(text)
    if word == "channels":
        return _sources(rest)
    if op.startswith("request"):
        return _ask(text)
    if word.rstrip(",") in _SPACES:
        return _message(text)
    return number_of(text)


def numbers_of(text: str) -> tuple[float, ...]:
    """Return the numbers of a list in brackets, in which there may be ranges."""
    if not text.endswith("]"):
        raise BadAttribute("numbers in brackets")
    found: list[float] = []
    for piece in filter(None, (part.strip() for part in text[1:-1].split(","))):
        found += _numbers(piece)
    return tuple(found)


def _numbers(piece: str) -> list[float]:
    if "*" in piece:
        first, _, times = piece.partition("*")
        return [_integer(first)] * _integer(times)
    if ".." in piece:
        first, _, rest = piece.partition("..")
        last, _, step = rest.partition("/")
        by = _integer(step or "1")
        if not by:
            raise BadAttribute("a step that is not 0")
        return list(range(_integer(first), _integer(last) + (1 if by > 0 else -1), by))
    return [number_of(piece)]


def number_of(text: str) -> float:
    """Return the number that a text is."""
    if text == "-nan":
        return copysign(float("nan"), -1.0)
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise BadAttribute("a number") from None


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadAttribute("an integer") from None


def _name(text: str) -> str:
    text = text.strip()
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        raise BadAttribute("a name") from None


def _home(bank: Bank, text: str) -> Home:
    head, _, places = text.rpartition("[")
    name, mark, index = head.strip().rpartition(" #")
    if not mark:
        raise BadAttribute("a name, # and the variable's number")
    found = numbers_of(f"[{places}")
    return Home(bank, _name(name), _integer(index), tuple(int(one) for one in found))


def _sources(text: str) -> Sources:
    channels, mark, pcs = text.partition(" at ")
    if not mark:
        raise BadAttribute("channels in brackets, at, and program counters in brackets")
    first, second = (tuple(map(int, numbers_of(part.strip()))) for part in (channels, pcs))
    return Sources(first, second)


def _message(text: str) -> Message:
    space, *words = [word.strip() for word in text.split(",")]
    count, detail = 1, ""
    for word in words:
        what, _, rest = word.partition(" ")
        match what:
            case "count":
                count = _integer(rest)
            case "do" if rest in set(AtomicOperation):
                detail = rest
            case "surface" | "mask" if not rest:
                pass
            case _:
                raise BadAttribute("count, surface, mask, or do and an atomic operation")
    return Message(_SPACES[space], count, "surface" in words, "mask" in words, detail)


def _callee(text: str) -> Callee:
    what, mark, control = text.rpartition(", cr0 ")
    word, _, name = what.partition(" ")
    if not mark or word not in {"handle", "name"}:
        raise BadAttribute("handle, or name and a name, and cr0 and its value")
    return Callee(None if word == "handle" else _name(name), int(number_of(control)))


def _ask(text: str) -> Ask:
    words, mark, operation = text.partition("ask ")
    name, _, given = operation.strip().removesuffix(")").partition("(")
    made = _OPERATIONS.get(name)
    if not mark or made is None:
        raise BadAttribute("ask and what is asked for")
    known = dict(part.split("=", 1) for part in given.split() if "=" in part)
    try:
        found = made(**{key: _field(key, value) for key, value in known.items()})
    except (TypeError, ValueError):
        raise BadAttribute(f"the fields of {name}") from None
    return Ask(found, "sampler" in words, "mask" in words)


def _field(name: str, text: str) -> object:
    if name == "parameters":
        return () if text == "none" else tuple(text.split("+"))
    if text == "none":
        return None
    made = _ENUMS.get(name)
    if made is not None:
        return made(text)
    return int(text) if text.isdecimal() else text


__all__ = ["BadAttribute", "attribute_of", "attribute_text", "lanes_text", "numbers_of", "quoted"]
