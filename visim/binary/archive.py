"""Reads `ar` archives, in which people keep objects and texts of a library.

Understands the plain form and the long names of GNU and BSD; tables of symbols are passed over.
Facts: the manual page ar(5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from visim.diag import ByteSpan
from visim.errors import InputError

MAGIC = b"!<arch>\n"
_HEADER = 60
_LONGEST_NAME = 4096
_END = b"`\n"
_BSD_LONG = "#1/"
_NAMES = "//"
_SYMBOLS = frozenset({"/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"})


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive."""

    name: str
    data: bytes = field(repr=False)


def is_archive(data: bytes) -> bool:
    """Whether `data` begins as an archive does."""
    return data.startswith(MAGIC)


def read_archive(data: bytes, name: str) -> tuple[Member, ...]:
    """Return the files in an archive called `name`, in its order.

    Raises:
        InputError: it is not what it should be.
    """
    members: list[Member] = []
    long_names = b""
    position = len(MAGIC)
    while position < len(data):
        header = data[position : position + _HEADER]
        size = _size(header, name, position)
        start = position + _HEADER
        if start + size > len(data):
            message = f"a member of {size} bytes expected, {len(data) - start} left"
            raise InputError(message, ByteSpan(name, position))
        stated = header[:16].decode("latin-1").rstrip()
        content = data[start : start + size]
        position = start + size + size % 2
        if stated == _NAMES:
            long_names = content
            continue
        member = _member(stated, content, long_names, ByteSpan(name, start - _HEADER))
        if member.name not in _SYMBOLS:
            members.append(member)
    return tuple(members)


def _size(header: bytes, name: str, position: int) -> int:
    text = header[48:58].decode("latin-1").strip()
    if len(header) < _HEADER or header[58:] != _END or not text.isdecimal():
        raise InputError("here should be the header of a member", ByteSpan(name, position))
    return int(text)


def _member(stated: str, content: bytes, long_names: bytes, where: ByteSpan) -> Member:
    """Return a member under its whole name."""
    if stated in _SYMBOLS:
        return Member(stated, content)
    if stated.startswith(_BSD_LONG):
        length = _number(stated.removeprefix(_BSD_LONG), len(content), where)
        return Member(_text(content[:length].rstrip(b"\0")), content[length:])
    if stated.startswith("/"):
        at = _number(stated.removeprefix("/"), len(long_names), where)
        end = long_names.find(b"\n", at)
        end = len(long_names) if end < 0 else end
        if end - at > _LONGEST_NAME:
            raise InputError(f"a name of {end - at} bytes, at most {_LONGEST_NAME}", where)
        return Member(_text(long_names[at:end]).removesuffix("/"), content)
    return Member(stated.removesuffix("/"), content)


def _number(text: str, limit: int, where: ByteSpan) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else limit + 1
    if number > limit:
        raise InputError(f"the long name {text!r} is not in the archive", where)
    return number


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
