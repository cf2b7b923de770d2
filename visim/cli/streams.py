"""Standard streams whose encoding has fewer characters than Unicode (Latin-1, ASCII).

What they do not have is written as an escape instead of being an error: names of kernels and
files, and what kernels print, may be anything.
"""

from __future__ import annotations

import io
from typing import TextIO


def show_anything(stream: TextIO) -> None:
    """Make a stream write characters that it does not have as escapes."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


def can_show(stream: TextIO, text: str) -> bool:
    """Whether the encoding of a stream has all characters of a text."""
    try:
        text.encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
