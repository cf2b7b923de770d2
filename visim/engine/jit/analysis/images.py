"""Which messages to images native code answers itself.

The functions are in `common.images`; what they do not answer when the program runs, and all other
messages, is called out.
"""

from __future__ import annotations

from visim.engine.jit.layout import ImageTable
from visim.sem.effects import Request
from visim.sem.requests import Sampling, TexelLoad, TexelStore

_MOST_LANES = 32
_OFFSETS = {"offu", "offv", "offsets"}
_NOT_SAMPLED = {"ref", *_OFFSETS}
"""What a sampled read may not have; where its level comes from does not count for one level."""


def function_of(effect: Request) -> ImageTable | None:
    """Return which function answers a message, the field of it in the table; None for none."""
    operation, given = effect.operation, set(effect.operation.parameters)
    if any(value.lanes > _MOST_LANES or value.type.bits != 32 for value in effect.values):
        return None
    match operation:
        case TexelLoad() if not given & _OFFSETS:
            return ImageTable.LOAD
        case TexelStore() if not given & _OFFSETS:
            return ImageTable.STORE
        case Sampling() if operation.gathered is None and not given & _NOT_SAMPLED:
            return ImageTable.SAMPLE
        case _:
            return None
