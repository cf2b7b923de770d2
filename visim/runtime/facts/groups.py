"""Whether the groups of a kernel can run apart, each with a memory of its own.

They can if no group reads what another one writes. That is shown for kernels that reach memory by
the pointers of their arguments alone and read no argument that they write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from visim.engine.provenance import UNSURE, Provenance, flat_address
from visim.isa import Unexecutable
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.sanitize.bounds.instrument import Reach
from visim.sem.effects import (
    Atomic,
    Effect,
    Load,
    LoadBlock,
    Request,
    Space,
    Store,
    StoreBlock,
    WriteIndirect,
)

_OWN = frozenset({Space.SLM, Space.SCRATCH, Space.ARGUMENT})
"""Memory that no group shares with another."""
_READS = (Load, LoadBlock)
_WRITES = (Store, StoreBlock)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What the groups of a kernel share.

    Attributes:
        reads: the arguments that are read.
        writes: the arguments that are written.
        reasons: why groups may depend on each other; empty if they do not.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    reasons: tuple[str, ...]


def sharing(kernel: LinkedKernel, reach: Reach) -> Sharing:
    """Return what the groups of a kernel share, and why they may depend on each other."""
    owners = Provenance(kernel, reach.flat)
    reads: dict[str, str] = {}
    writes: dict[str, str] = {}
    reasons: dict[str, None] = {}
    for unit, effect, place in _accesses(kernel, reasons):
        problem = _unknown(effect)
        address = flat_address(effect)
        if problem is not None or address is None:
            reasons[f"{problem or 'it reaches memory through surfaces'} ({place})"] = None
            continue
        found = owners.of(unit, address)
        if not found or UNSURE in found:
            reasons[f"nothing says which argument an address is of ({place})"] = None
        for name in found - {UNSURE}:
            (writes if isinstance(effect, _WRITES) else reads).setdefault(name, place)
    for name in sorted(reads.keys() & writes.keys()):
        both = f"{reads[name]} and {writes[name]}"
        reasons[f"{name} is read and written, maybe by different groups ({both})"] = None
    return Sharing(frozenset(reads), frozenset(writes), tuple(reasons))


def _accesses(
    kernel: LinkedKernel, reasons: dict[str, None]
) -> Iterator[tuple[LinkedUnit, Effect, str]]:
    """Yield what reaches memory that groups share, with its place."""
    for unit in kernel.units:
        for pc, item in enumerate(unit.body):
            line = getattr(item.origin, "line", None)
            place = f"{item.op.mnemonic}" + (f", line {line}" if line is not None else "")
            try:
                effects = kernel.effects(unit, pc)
            except Unexecutable as error:
                reasons[f"visim does not execute it: {error} ({place})"] = None
                continue
            for effect in effects:
                is_shared = isinstance(effect, (*_READS, *_WRITES, Atomic))
                if isinstance(effect, (Request, WriteIndirect)) or (
                    is_shared and getattr(effect, "space", None) not in _OWN
                ):
                    yield unit, effect, place


def _unknown(effect: Effect) -> str | None:
    """Return why nothing can be said of an effect, None if its addresses say more."""
    match effect:
        case Atomic():
            return "groups update memory together, by atomics"
        case Request():
            return "it reads or writes images"
        case WriteIndirect():
            return "it writes registers indirectly, so nothing follows pointers"
        case _:
            return None
