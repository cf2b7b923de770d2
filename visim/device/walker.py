"""What COMPUTE_WALKER says: geometry, code, payload, and what to write at the end.

Owns the fields of the command and of the interface descriptor inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from visim.device.commands import Field, bit

KIB = 1024
Triple = tuple[int, int, int]

_INDIRECT_GEOMETRY = bit(0, 10)
_INDIRECT_BYTES, _INDIRECT_PLACE = Field(2, 16, 0), Field(3, 31, 6)
_SIMD, _GENERATES_IDS, _EMITS, _EMITS_INLINE = (
    Field(4, 31, 30),
    bit(4, 29),
    Field(4, 28, 26),
    bit(4, 25),
)
_WALK_ORDER, _TILING = Field(4, 24, 22), Field(4, 21, 19)
_LOCAL_MAXIMA = (Field(6, 9, 0), Field(6, 19, 10), Field(6, 29, 20))
_EXECUTION_MASK, _ENDS, _FIRST_GROUP = 5, 7, 10
_KERNEL_LOW = Field(0, 31, 6)
_SAMPLERS, _BINDING_TABLE = Field(3, 31, 5), Field(4, 20, 5)
_THREADS, _SLM, _BARRIERS = Field(5, 9, 0), Field(5, 20, 16), Field(5, 30, 28)
"""Fields of the interface descriptor; what is to be written at the end follows behind it."""
_POST_SYNC, _INLINE = 8, 13
_POST_SYNC_OPERATION = Field(8, 1, 0)
_INLINE_WORDS = 8

SIMD_SIZES = {0: 8, 1: 16, 2: 32}
_WALK_ORDERS: Mapping[int, Triple] = MappingProxyType(
    {0: (0, 1, 2), 1: (0, 2, 1), 2: (1, 0, 2), 3: (1, 2, 0), 4: (2, 0, 1), 5: (2, 1, 0)}
)
SLM_KIB = (0, 1, 2, 4, 8, 16, 32, 64, 24, 48, 96, 128, 192, 256, 384)
_BARRIER_COUNTS = (0, 1, 2, 4, 8, 16, 24, 32)


class BadWalker(Exception):
    """A walker that asks for what is not known; the message says what."""


@dataclass(frozen=True, slots=True)
class PostSync:
    """What is written when all threads are done: 0 nothing, 1 `value`, 3 timestamps."""

    operation: int
    address: int
    value: int


@dataclass(frozen=True, slots=True)
class ComputeWalk:
    """One COMPUTE_WALKER.

    `kernel` is where its code starts behind the instruction base, `indirect` where its data are
    behind their base, `indirect_bytes` of them. `ids` is the mask of local ids that the
    hardware makes for groups of `local_size`, None where they are in the data. `last_mask` are
    the channels that are on in a group's last thread. `groups` is None where registers say it.
    """

    simd_size: int
    kernel: int
    groups: Triple | None
    first_group: Triple
    threads: int
    last_mask: int
    ids: int | None
    local_size: Triple
    walk_order: Triple
    inline: bytes
    indirect: int
    indirect_bytes: int
    slm_bytes: int
    barriers: int
    binding_table: int
    samplers: int
    post_sync: PostSync


def read_walker(words: Sequence[int], descriptor: int) -> ComputeWalk:
    """Return what a COMPUTE_WALKER says.

    Args:
        words: the command.
        descriptor: the word with which its interface descriptor begins.

    Raises:
        BadWalker: a field has a value that means nothing, or that visim does not know.
    """
    simd = SIMD_SIZES.get(_SIMD.of(words))
    if simd is None:
        raise BadWalker(f"SIMD size code {_SIMD.of(words)}")
    if _TILING.of(words):
        raise BadWalker(f"local ids in tiles (layout {_TILING.of(words)})")
    rest = words[descriptor:]
    slm, order, first = _SLM.of(rest), _WALK_ORDER.of(words), _three(words, _FIRST_GROUP)
    if slm >= len(SLM_KIB):
        raise BadWalker(f"shared local memory of size code {slm}")
    if order not in _WALK_ORDERS:
        raise BadWalker(f"walk order {order}")
    x, y, z = (field.of(words) + 1 for field in _LOCAL_MAXIMA)
    inline = b"".join(
        word.to_bytes(4, "little") for word in rest[_INLINE : _INLINE + _INLINE_WORDS]
    )
    return ComputeWalk(
        simd_size=simd,
        kernel=_KERNEL_LOW.of(rest) << 6,
        groups=None if _INDIRECT_GEOMETRY.of(words) else counted(_three(words, _ENDS), first),
        first_group=first,
        threads=_THREADS.of(rest),
        last_mask=words[_EXECUTION_MASK],
        ids=_EMITS.of(words) if _GENERATES_IDS.of(words) else None,
        local_size=(x, y, z),
        walk_order=_WALK_ORDERS[order],
        inline=inline if _EMITS_INLINE.of(words) else b"",
        indirect=_INDIRECT_PLACE.of(words) << 6,
        indirect_bytes=_INDIRECT_BYTES.of(words),
        slm_bytes=SLM_KIB[slm] * KIB,
        barriers=_BARRIER_COUNTS[_BARRIERS.of(rest)],
        binding_table=_BINDING_TABLE.of(rest) << 5,
        samplers=_SAMPLERS.of(rest) << 5,
        post_sync=PostSync(
            _POST_SYNC_OPERATION.of(rest),
            rest[_POST_SYNC + 1] | rest[_POST_SYNC + 2] << 32,
            rest[_POST_SYNC + 3] | rest[_POST_SYNC + 4] << 32,
        ),
    )


def counted(ends: Triple, firsts: Triple) -> Triple:
    """Return how many groups a walker has that goes from a first one to before an end."""
    x, y, z = (max(0, end - first) for end, first in zip(ends, firsts, strict=True))
    return x, y, z


def _three(words: Sequence[int], first: int) -> Triple:
    return words[first], words[first + 1], words[first + 2]
