"""Synchronization instructions (specification 6, Synchronization Instructions)."""

from dataclasses import field
from typing import Annotated

from visim.isa.forms import Bare
from visim.isa.registry import Category, Instruction, form
from visim.isa.table import Table
from visim.isa.word_kinds import BITS, OPTIONS, ChoiceKind
from visim.sem.effects import Barrier, Fence
from visim.sem.tracer import Tracer

TABLE = Table(Category.SYNCHRONIZATION)

SFIDS = (("ugm", 0), ("ugml", 1), ("tgm", 2), ("slm", 3))
FENCE_OPERATIONS = (
    ("none", 0),
    ("evict", 1),
    ("invalidate", 2),
    ("discard", 3),
    ("clean", 4),
    ("flushl3", 5),
    ("type6", 6),
)
SCOPES = (
    ("group", 0),
    ("local", 1),
    ("tile", 2),
    ("gpu", 3),
    ("gpus", 4),
    ("sysrel", 5),
    ("sysacq", 6),
)


@form("{op}{options}", layout="{sub|options&0x5f}")
class FenceOptions(Instruction):
    """A fence with its cache options."""

    options: Annotated[str, OPTIONS]


@form("{op}", layout="{sub|flags&0x7f}")
class SoftwareFence(Instruction):
    """A fence for the compiler only; `flags` are bits of an object that text does not show."""

    flags: Annotated[int, BITS] = field(default=0, compare=False)


@form("{op}.{sfid}.{operation}.{scope}", layout="0x80 0:2 {sfid} {operation} {scope}")
class LscFence(Instruction):
    """A fence of one kind of memory, with what happens to caches and how far it reaches."""

    sfid: Annotated[str, ChoiceKind(SFIDS, "shared function")]
    operation: Annotated[str, ChoiceKind(FENCE_OPERATIONS, "fence operation")]
    scope: Annotated[str, ChoiceKind(SCOPES, "scope")]


@TABLE.effect(0x59, Bare, example="barrier")
def barrier(t: Tracer, i: Bare) -> None:
    """Wait until all threads of the group are here; orders SLM accesses."""
    t.emit(Barrier())


@TABLE.effect(0x5C, SoftwareFence, sub=0x80, page="FENCE", example="fence_sw")
def fence_sw(t: Tracer, i: SoftwareFence) -> None:
    """Keep the compiler from moving accesses; nothing to do when they run in order."""
    t.emit(Fence())


@TABLE.effect(0x5C, FenceOptions, sub=0x20, page="FENCE", example="fence_local.E")
def fence_local(t: Tracer, i: FenceOptions) -> None:
    """Order accesses to SLM."""
    t.emit(Fence())


@TABLE.effect(0x5C, FenceOptions, sub=0, page="FENCE", example="fence_global.EL1")
def fence_global(t: Tracer, i: FenceOptions) -> None:
    """Order accesses to global memory."""
    t.emit(Fence())


@TABLE.effect(0x8B, LscFence, example="lsc_fence.slm.none.group")
def lsc_fence(t: Tracer, i: LscFence) -> None:
    """Order accesses to one kind of memory; the engine performs them in order anyway."""
    t.emit(Fence())


@TABLE.effect(0x5A, Bare, page="CACHE_FLUSH", example="sampler_cache_flush")
def sampler_cache_flush(t: Tracer, i: Bare) -> None:
    """Make the sampler see earlier writes; visim's memory has no sampler cache."""
    t.emit(Fence())
