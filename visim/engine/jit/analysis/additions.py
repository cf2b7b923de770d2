"""Which messages only add to numbers, so that sums may be kept until a worker is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from visim.engine.jit.analysis.blocks import readers
from visim.engine.jit.analysis.flow import Flow
from visim.sem.effects import Atomic, AtomicOperation, Fence, Space
from visim.sem.expr import Expr

_SUMS = {
    AtomicOperation.ADD,
    AtomicOperation.SUB,
    AtomicOperation.INC,
    AtomicOperation.DEC,
    AtomicOperation.PREDEC,
}


def additions(flows: Iterable[Flow]) -> frozenset[int]:
    """Return the identities of a kernel's messages that may be tallied: all atomics, or none."""
    found: set[int] = set()
    steps = [step for flow in flows for node in flow.nodes.values() for step in node.block.steps]
    for step in steps:
        for effect in step.effects:
            if isinstance(effect, Fence):
                return frozenset()
            if isinstance(effect, Atomic) and effect.space in {Space.FLAT, Space.SURFACE}:
                if not _adds(effect, step.expressions):
                    return frozenset()
                found.add(id(effect))
    return frozenset(found)


def has_atomics(flows: Iterable[Flow]) -> bool:
    """Whether a kernel updates memory that all groups share."""
    steps = (step for flow in flows for node in flow.nodes.values() for step in node.block.steps)
    return any(
        isinstance(effect, Atomic) and effect.space in {Space.FLAT, Space.SURFACE}
        for step in steps
        for effect in step.effects
    )


def _adds(effect: Atomic, nodes: Sequence[Expr]) -> bool:
    """Whether a message only adds to 32-bit numbers that are found by address."""
    plain = effect.space is Space.FLAT and effect.type.bits == 32
    return plain and effect.operation in _SUMS and not readers(effect, nodes)
