"""Which loops are worth running in another way: walks and sweeps with scattered lanes."""

from __future__ import annotations

from collections.abc import Iterable

from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.apart import Region, RegionFinder
from visim.engine.jit.analysis.contents import Contents
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import channel_within
from visim.engine.jit.analysis.slots import Slots
from visim.engine.jit.analysis.sweeps import sweep_of
from visim.engine.jit.analysis.walks import walk_of
from visim.sem.effects import Load, Store
from visim.sem.expr import below, is_seldom
from visim.sem.uops import Group

_MOST_OPERATIONS = 16
"""How many operations for each scattered load do not outweigh that vectors do them faster."""

_MOST_TOGETHER = 64
"""How many there may be in a sweep, where vectors do them, but without strips."""


_LEAST_SHARE = 3
"""In a sweep one of so many loads has to be scattered: the others are transposed for nothing."""


def scattered_loops(affine: Affine, *, checked: bool) -> list[Region]:
    """Return the loops of a unit that are better run in another way.

    Without checks nobody notes where allocations are, which loads of flat memory need for it.
    """
    slots = affine.slots
    flow, channels = slots.flow, slots.kernel.simd_size
    loops = RegionFinder(flow, channels).regions()
    found = [region for region in loops if Contents(region, flow, channels).fit()]
    possible = [region for region in found if checked or not region.reaches_flat_memory]
    return [region for region in possible if _is_worth(region, affine)]


def tear(slots: Slots, regions: Iterable[Region]) -> bool:
    """Note that loops leave rows without shapes; return whether any may have had one."""
    torn = False
    for row in (row for one in regions for row in (*one.leaving, *one.staying)):
        for slot in slots.meeting(row):
            torn |= not slot.dead
            slot.torn = True
    return torn


def _is_worth(region: Region, affine: Affine) -> bool:
    if not region.together:
        return False
    if not region.stores:
        return _is_worth_sweep(region, affine)
    messages = [*region.loads, *region.stores]
    scattered = _scattered(messages, affine) if walk_of(region) is not None else 0
    return 2 * scattered > len(messages) and _operations(region) <= _MOST_OPERATIONS * scattered


def _is_worth_sweep(region: Region, affine: Affine) -> bool:
    sweep = sweep_of(region)
    if sweep is None:
        return False
    own = [id(stream.access.effect) for stream in sweep.streams]
    messages = [one for one in region.loads if id(one[2]) in own]
    scattered = _scattered(messages, affine)
    if _LEAST_SHARE * scattered < len(messages):
        return False
    return _operations(region) <= _MOST_TOGETHER * scattered


def _scattered(messages: Iterable[tuple[Node, int, Load | Store]], affine: Affine) -> int:
    """Return how many of some messages have lanes that are not known to be in rows."""
    found = 0
    for node, number, message in messages:
        reader = affine.reader(node.key, number)
        shape = reader.shape(message.addresses, channel_within(message.mask))
        found += shape is None or shape.form.ragged
    return found


def _operations(region: Region) -> int:
    """Return how many operations a channel computes in a turn, if none that is seldom needed."""
    nodes = [expr for _, _, step in region.steps() for expr in step.expressions]
    others = set(below(expr.args[1] for expr in nodes if is_seldom(expr)))
    return sum(
        expr.lanes > 1 and expr.uop.group is not Group.LEAF and expr not in others for expr in nodes
    )
