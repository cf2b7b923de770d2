"""What LSC messages do to caches and what they move (specification LSC_UNTYPED).

Where they go is in `visim.isa.lsc_places`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from visim.isa.codecs import Codec, CodingError, DecodeTables, EncodeTables
from visim.isa.later import refuse_later_cache, refuse_option
from visim.isa.registry import Names
from visim.isa.word_kinds import ChannelsKind, ChoiceKind, SizeKind, refuse_suffix
from visim.layout import Reader, Writer
from visim.lex import Cursor
from visim.operands import LscCache, LscShape

CACHES = ("df", "uc", "ca", "wb", "wt", "st", "ri")
#: Another word for `ri` before version 4.2, a control of its own since then.
_CONSTANT_CACHE, _READ_ONCE = "cc", "ri"
_NEWER_LEVEL = ChoiceKind(
    tuple((word, code) for code, word in enumerate((*CACHES, _CONSTANT_CACHE))), "a cache control"
)
_LEVEL = ChoiceKind(tuple((word, code) for code, word in enumerate(CACHES)), "a cache control")
DATA_SIZES = {
    # name: (bytes in memory, bytes in a register)
    "d8": (1, 1),
    "d16": (2, 2),
    "d32": (4, 4),
    "d64": (8, 8),
    "d8c32": (1, 4),
    "d16c32": (2, 4),
    "d16c32h": (2, 4),
}
_CACHE = "df|uc|ca|cc|wb|wt|st|ri"
_CACHES = re.compile(rf"\.({_CACHE})(?:\.({_CACHE}))?(?!\w)", re.ASCII)
_THIRD_CACHE = re.compile(rf"\.({_CACHE})(?!\w)", re.ASCII)
THREE_CACHES_SINCE = (4, 2)
_OVERFETCH = re.compile(r"\.ov(?!\w)")
_SAMPLES = re.compile(r"\.msaa(?!\w)")
_DATA = re.compile(
    r":\s*([du]8c32|[du]8u32|[du]16c32h|[du]16u32h|[du]16c32|[du]16u32|[du]64|[du]32|[du]16|[du]8)"
)
_COUNT = re.compile(r"x(\d{1,4})(?!\d)", re.ASCII)
_COUNTS = (1, 2, 3, 4, 8, 16, 32, 64)
_QUAD = re.compile(r"\.(x?y?z?w?)\b(?<=[xyzw])")


@dataclass(frozen=True, slots=True)
class CacheKind:
    """Cache controls `.l1.l3`, since version 4.2 also `.l1.l2.l3`; absent if all are default.

    Behind them there is an option since then: `.ov` of `loads`, `.msaa` of atomics on `texels`;
    in a message that has `more` other words follow.
    """

    loads: bool = False
    texels: bool = False
    more: bool = False
    expected: str = "cache controls such as '.ca.ca'"

    def parse(self, cursor: Cursor, names: Names) -> LscCache:
        """Take the controls; one alone sets the first level."""
        match = cursor.match(_CACHES)
        third = None
        is_newer = names.version >= THREE_CACHES_SINCE
        if match is not None and match.group(2) is not None:
            if not is_newer:
                refuse_later_cache(cursor)
            third = cursor.match(_THIRD_CACHE)
        overfetch = self.loads and is_newer and cursor.match(_OVERFETCH) is not None
        samples = self.texels and is_newer and cursor.match(_SAMPLES) is not None
        refuse_option(cursor)
        if not self.more:
            refuse_suffix(cursor, "a cache control", list(CACHES))
        found = LscCache(overfetch=overfetch, samples=samples)
        if match is None:
            return found
        first, second = (_level(word, names) for word in match.groups())
        if third is None:
            return replace(found, l1=first, l3=second)
        return replace(found, l1=first, l2=second, l3=_level(third.group(1), names))

    def show(self, value: LscCache) -> str:
        """Return them as IGC prints them."""
        option = (".ov" if value.overfetch else "") + (".msaa" if value.samples else "")
        if {value.l1, value.l2, value.l3} <= {"df", None}:
            return option
        second = "" if value.l2 is None else f".{value.l2}"
        return f".{value.l1}{second}.{value.l3}{option}"

    def decode(self, reader: Reader, tables: DecodeTables) -> LscCache:
        """Take a byte for each level."""
        level = _LEVEL if tables.version < THREE_CACHES_SINCE else _NEWER_LEVEL
        return LscCache(level.decode(reader, tables), level.decode(reader, tables))

    def encode(self, value: LscCache, writer: Writer, tables: EncodeTables) -> None:
        """Append a byte for each level; objects have two levels (IGC, the reader)."""
        for option, is_there in ((".ov", value.overfetch), (".msaa", value.samples)):
            if is_there:
                raise CodingError(f"an object has no place for '{option}'")
        if value.l2 is not None:
            raise CodingError(f"an object has no place for the second of {self.show(value)}")
        level = _LEVEL if tables.version < THREE_CACHES_SINCE else _NEWER_LEVEL
        level.encode(value.l1, writer, tables)
        level.encode(value.l3, writer, tables)


def _level(word: str | None, names: Names) -> str:
    """Return the control that a word stands for; no word stands for the default."""
    if word == _CONSTANT_CACHE and names.version < THREE_CACHES_SINCE:
        return _READ_ONCE
    return word or "df"


@dataclass(frozen=True, slots=True)
class ShapeKind:
    """Data size, vector length and order after a register: `:d32x4t`."""

    quad: bool = False
    expected: str = "a data size such as ':d32x4'"

    def parse(self, cursor: Cursor, names: Names) -> LscShape:
        """Take the shape."""
        data = data_size(cursor, self.expected)
        if self.quad:
            return LscShape(data, channels=cursor.need(_QUAD, "channels such as '.xyzw'").group(1))
        return LscShape(data, _element_count(cursor), cursor.take("t"))

    def show(self, value: LscShape) -> str:
        """Return it as IGC prints it."""
        return self._shown(value, value.data)

    def show_newer(self, value: LscShape) -> str:
        """Return it as IGC prints it since version 4.2."""
        return self._shown(value, newer_data_size(value.data))

    def _shown(self, value: LscShape, data: str) -> str:
        if self.quad:
            return f":{data}.{value.channels}"
        count = f"x{value.count}" if value.count > 1 else ""
        return f":{data}{count}{'t' if value.transposed else ''}"

    @property
    def parts(self) -> Mapping[str, Codec]:
        """The codec of each part."""
        return _QUAD_PARTS if self.quad else _SHAPE_PARTS

    def join(self, parts: dict[str, Any]) -> LscShape:
        """Return the shape with these parts."""
        return LscShape(**parts)


def _element_count(cursor: Cursor) -> int:
    """Take the number of elements of a vector; 1 where there is none."""
    start = cursor.position
    found = cursor.match(_COUNT)
    count = int(found.group(1)) if found else 1
    if count not in _COUNTS:
        message = f"expected a vector of 1, 2, 3, 4, 8, 16, 32 or 64 elements, found {count}"
        raise cursor.failure_at(start, "out-of-range", message)
    return count


def newer_data_size(data: str) -> str:
    """Return the name of a data size that IGC prints since version 4.2: d8u32 of d8c32."""
    return data.replace("c", "u")


def data_size(cursor: Cursor, expected: str) -> str:
    """Take a data size by either of its names and return the one that IGC prints."""
    found = cursor.need(_DATA, expected).group(1)
    return "d" + found[1:].replace("u", "c")


DATA_CODES = ChoiceKind(
    tuple((name, code) for code, name in enumerate(DATA_SIZES, 1)), "a data size"
)
ORDER_CODES = SizeKind(((False, 1), (True, 2)))
_SHAPE_PARTS: Mapping[str, Codec] = {
    "data": DATA_CODES,
    "transposed": ORDER_CODES,
    "count": SizeKind(tuple((n, code) for code, n in enumerate((1, 2, 3, 4, 8, 16, 32, 64), 1))),
}
_QUAD_PARTS: Mapping[str, Codec] = {
    "data": DATA_CODES,
    "transposed": ORDER_CODES,
    "channels": ChannelsKind("xyzw"),
}
CACHE = CacheKind()
#: Loads from memory may say that more of a cache line than is asked for may be fetched.
LOAD_CACHE = CacheKind(loads=True)
#: Atomics on texels may say that texels have several samples.
TEXEL_CACHE = CacheKind(texels=True)
CACHE_AND_MORE = CacheKind(more=True)
SHAPE = ShapeKind()
QUAD = ShapeKind(quad=True)
