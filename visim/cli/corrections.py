"""The command line that would work, in the place of one that did not.

Only what is evident is corrected: whoever finds a mistake says which option is missing or which
word is misspelt (`visim.errors.Correction`); here that becomes words of the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from visim.cli.conventions import EXAMPLE_DEVICE
from visim.cli.wording import flag
from visim.errors import ArgumentError, Correction
from visim.lex import nearest

_LONGEST = 400
"""A command that is longer than this helps nobody who reads it."""
_EXAMPLES = {"device": EXAMPLE_DEVICE, "output": "OUT", "keep": "visim check {}"}


def corrected(words: Sequence[str], error: BaseException) -> str | None:
    """Return the command that would work, None where that is not evident.

    Args:
        words: the command that did not work, without the name of the program.
        error: what was wrong with it.
    """
    correction = _correction(error)
    if correction is None:
        return None
    meant = dict(correction.misspelt)
    found = [_replaced(word, meant) for word in words]
    for name, value in correction.missing:
        found += [flag(name), value]
    if found == list(words):
        return None
    command = "visim " + shlex.join(found)
    return command if len(command) <= _LONGEST else None


def _correction(error: BaseException) -> Correction | None:
    match error:
        case ArgumentError():
            return error.correction
        case click.NoSuchOption():
            near = nearest(error.option_name, error.possibilities or ())
            return Correction(misspelt=((error.option_name, near),)) if near else None
        case click.MissingParameter(param=click.Option() as option) if option.name in _EXAMPLES:
            return Correction(missing=((option.name, _EXAMPLES[option.name]),))
        case _:
            return None


def _replaced(word: str, meant: dict[str, str]) -> str:
    """Return a word as it was meant: the whole, or its part before or behind an equals sign."""
    if word in meant:
        return meant[word]
    name, sign, value = word.partition("=")
    return meant.get(name, name) + sign + meant.get(value, value)
