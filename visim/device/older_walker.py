"""What GPGPU_WALKER says, the walker of devices before Xe-HPG.

Owns the fields of the command and of the interface descriptor that it points to. All local ids are
in its data, behind what the threads of a group share.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.device.commands import Field, bit
from visim.device.walker import KIB, SIMD_SIZES, SLM_KIB, BadWalker, ComputeWalk, PostSync, counted

DESCRIPTOR_BYTES = 32
_INDIRECT_GEOMETRY = bit(0, 10)
_DESCRIPTOR = Field(1, 5, 0)
_INDIRECT_BYTES, _INDIRECT_PLACE = Field(2, 16, 0), Field(3, 31, 6)
_SIMD = Field(4, 31, 30)
_FIRST_GROUP, _ENDS, _EXECUTION_MASK = (5, 8, 11), (7, 10, 12), 13

_KERNEL_LOW, _KERNEL_HIGH = Field(0, 31, 6), Field(1, 15, 0)
_SAMPLERS, _BINDING_TABLE = Field(3, 31, 5), Field(4, 15, 5)
_THREADS, _SLM, _HAS_BARRIER = Field(6, 9, 0), Field(6, 20, 16), bit(6, 21)
"""Fields of the interface descriptor."""


def descriptor_number(words: Sequence[int]) -> int:
    """Return which of the loaded interface descriptors a walker takes."""
    return _DESCRIPTOR.of(words)


def read_older_walker(words: Sequence[int], descriptor: Sequence[int]) -> ComputeWalk:
    """Return what a GPGPU_WALKER and its interface descriptor say.

    Raises:
        BadWalker: a field has a value that means nothing.
    """
    simd, slm = SIMD_SIZES.get(_SIMD.of(words)), _SLM.of(descriptor)
    if simd is None:
        raise BadWalker(f"SIMD size code {_SIMD.of(words)}")
    if slm >= len(SLM_KIB):
        raise BadWalker(f"shared local memory of size code {slm}")
    x, y, z = (words[place] for place in _FIRST_GROUP)
    end_x, end_y, end_z = (words[place] for place in _ENDS)
    first, ends = (x, y, z), (end_x, end_y, end_z)
    return ComputeWalk(
        simd_size=simd,
        kernel=_KERNEL_LOW.of(descriptor) << 6 | _KERNEL_HIGH.of(descriptor) << 32,
        groups=None if _INDIRECT_GEOMETRY.of(words) else counted(ends, first),
        first_group=first,
        threads=_THREADS.of(descriptor),
        last_mask=words[_EXECUTION_MASK],
        ids=None,
        local_size=(1, 1, 1),
        walk_order=(0, 1, 2),
        inline=b"",
        indirect=_INDIRECT_PLACE.of(words) << 6,
        indirect_bytes=_INDIRECT_BYTES.of(words),
        slm_bytes=SLM_KIB[slm] * KIB,
        barriers=_HAS_BARRIER.of(descriptor),
        binding_table=_BINDING_TABLE.of(descriptor) << 5,
        samplers=_SAMPLERS.of(descriptor) << 5,
        post_sync=PostSync(0, 0, 0),
    )
