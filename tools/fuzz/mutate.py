"""Seeded mutations of inputs, for short runs that need no coverage: the gate's fuzzing.

Bytes are changed, cut, doubled and spliced; texts also lose, repeat and exchange lines and words,
which changes what they mean and not only how they are spelled.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

_COUNTS = (1, 1, 1, 2, 4)
_EXTREMES = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)
_WORDS = re.compile(rb"[\w.%]+|[^\w\s]")
_NUMBERS = (b"0", b"1", b"-1", b"255", b"65536", b"4294967296", b"0xffffffffffffffff", b"1.5e9")


def mutants(seeds: Sequence[bytes], *, seed: int) -> Iterator[bytes]:
    """Yield changed inputs without end; the same `seed` gives the same ones.

    Most have one change only, so that what comes behind the readers is reached as well.
    """
    rng = random.Random(seed)
    while True:
        data = rng.choice(seeds)
        for _ in range(rng.choice(_COUNTS)):
            kind = rng.choice(_CHANGES)
            data = kind(data, rng.choice(seeds), rng)
        yield data


def _byte(data: bytes, _other: bytes, rng: random.Random) -> bytes:
    at = _place(data, rng)
    value = rng.choice((*_EXTREMES, rng.randrange(256)))
    return data[:at] + bytes((value,)) + data[at + 1 :]


def _integer(data: bytes, _other: bytes, rng: random.Random) -> bytes:
    at, width = _place(data, rng), rng.choice((2, 4, 8))
    value = rng.choice((0, 1, len(data), 1 << 8 * width - 1, (1 << 8 * width) - 1))
    return data[:at] + value.to_bytes(width, "little") + data[at + width :]


def _cut(data: bytes, _other: bytes, rng: random.Random) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + rng.choice((1, 4, 16, len(data))) :]


def _splice(data: bytes, other: bytes, rng: random.Random) -> bytes:
    at, start = _place(data, rng), _place(other, rng)
    piece = other[start : start + rng.choice((1, 8, 64))]
    return data[:at] + piece + data[at + rng.choice((0, len(piece))) :]


def _lines(data: bytes, other: bytes, rng: random.Random) -> bytes:
    lines, others = data.split(b"\n"), other.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at : at + rng.randint(0, 2)] = rng.choices((*lines, *others), k=rng.randint(0, 2))
    return b"\n".join(lines)


def _word(data: bytes, other: bytes, rng: random.Random) -> bytes:
    places = list(_WORDS.finditer(data))
    if not places:
        return data
    place = rng.choice(places)
    found = _WORDS.findall(other) or [b""]
    word = rng.choice((rng.choice(found), rng.choice(_NUMBERS), b""))
    return data[: place.start()] + word + data[place.end() :]


def _place(data: bytes, rng: random.Random) -> int:
    """Return a position, more often near the start, where headers are."""
    reach = rng.choice((64, 1024, len(data)))
    return rng.randrange(max(1, min(reach, len(data))))


_Change = Callable[[bytes, bytes, random.Random], bytes]
_CHANGES: tuple[_Change, ...] = (_byte, _integer, _cut, _splice, _lines, _word, _word)
