"""Walks for unit tests."""

from __future__ import annotations

from visim.device.walker import ComputeWalk, PostSync


def walk() -> ComputeWalk:
    """Return a walk of one group of one thread of 16 channels."""
    return ComputeWalk(
        simd_size=16,
        kernel=0,
        groups=(1, 1, 1),
        first_group=(0, 0, 0),
        threads=1,
        last_mask=0xFFFF,
        ids=None,
        local_size=(1, 1, 1),
        walk_order=(0, 1, 2),
        inline=b"",
        indirect=0,
        indirect_bytes=0,
        slm_bytes=0,
        barriers=0,
        binding_table=0,
        samplers=0,
        post_sync=PostSync(0, 0, 0),
    )
