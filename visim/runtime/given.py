"""What callers give beside arguments of kernels: flags, texts and names of files of the right type.

Shared by the whole surface, so that the same mistake gets the same words everywhere.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import cast

import numpy as np

from visim.errors import ArgumentError, shown

MOST_BYTES = 1 << 30
"""The most bytes of a file that are read (1 GiB); docs/robustness.md has the limits of formats."""


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither a bool nor 0 or 1: every text is true, also "no"."""
    is_bool = isinstance(value, (bool, np.bool))
    if not is_bool and not (isinstance(value, (int, np.integer)) and value in (0, 1)):
        raise ArgumentError(f"{name}: expected True or False, found {shown(cast('object', value))}")


def check_text(name: str, value: object, expected: str = "a str") -> None:
    """Refuse what is no str."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name}: expected {expected}, found {type(value).__name__}")


def path_of(name: str, value: object, expected: str = "a path") -> Path:
    """Return a path that is given as a str or a path.

    Raises:
        ArgumentError: it is something else, or no file can have such a name.
    """
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentError(f"{name}: expected {expected}, found {type(value).__name__}")
    text: str | bytes = os.fspath(cast("str | os.PathLike[str] | os.PathLike[bytes]", value))
    if not text:
        raise ArgumentError(f"{name}: expected {expected}, found an empty one")
    path = Path(os.fsdecode(text))
    if "\0" in str(path):
        raise ArgumentError(f"{name}: a path cannot have a NUL character, found {str(path)!r}")
    return path


def read_file(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        FileNotFoundError: there is no such file.
        ArgumentError: it cannot be read, as folders and names that are too long cannot, or has
            more than `MOST_BYTES`.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            message = f"it has {size} bytes, at most {MOST_BYTES} are read"
            raise ArgumentError(f"{path}: it cannot be read: {message}")
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read: {error.strerror or error}") from error


class StandardInput(bytes):
    """What has come from the standard input."""

    NAME = "<stdin>"
    """What messages call it."""


def standard_input() -> StandardInput:
    """Return the bytes of the standard input; ArgumentError if there is none (`<&-`)."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ArgumentError("-: the standard input is closed")
    return StandardInput(sys.stdin.buffer.read())
