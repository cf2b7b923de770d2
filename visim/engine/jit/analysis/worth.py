"""Which loops are better run apart: loads in them are scattered and do not wait for each other.

Where a load's address depends on what a turn before has loaded, as in lists and binary searches, a
channel alone waits for one load after the other, while channels together wait for all of theirs at
once. Where it does not, the processor loads for turns to come while it still computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.apart import Region, RegionFinder
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.contents import Contents
from visim.engine.jit.analysis.flow import Flow
from visim.engine.jit.analysis.slots import Row, Slots, channel_of, channel_within
from visim.engine.jit.analysis.sweeps import sweep_of
from visim.engine.jit.analysis.walks import What, overlap, part_of, walk_of
from visim.sem.effects import Goto, Load, LoadBlock, WritePredicate, WriteRegister
from visim.sem.expr import Expr, below, is_seldom
from visim.sem.uops import Group

_MOST_OPERATIONS = 16
"""How many operations for each scattered load do not outweigh that vectors do them faster."""

_MOST_TOGETHER = 64
"""How many there may be in a sweep, where vectors do them, but without strips."""

_NEW, _OLD = 1, 2
"""Loads of this turn, and of turns before."""

_Holder = What | str
"""What holds values: parts of variables, predicates."""


@dataclass
class _Ages:
    """How old the loads are on which rows, other parts of variables and predicates depend.

    They are kept for each variable, and for each predicate.
    """

    known: dict[int | str, dict[_Holder, int]] = field(
        default_factory=dict[int | str, dict[_Holder, int]]
    )

    def __len__(self) -> int:
        return sum(map(len, self.known.values()))

    def copy(self) -> _Ages:
        """Return the same as another object."""
        return _Ages({name: dict(parts) for name, parts in self.known.items()})

    def of(self, holder: _Holder) -> int:
        """Return the age of what is held there, 0: that of no load."""
        parts = self.known.get(_name(holder), {})
        if holder in parts or isinstance(holder, str):
            return parts.get(holder, 0)
        found = (
            age for one, age in parts.items() if not isinstance(one, str) and overlap(one, holder)
        )
        return max(found, default=0)

    def note(self, holder: _Holder, age: int) -> None:
        """Note of what age the loads are on which something depends."""
        self.known.setdefault(_name(holder), {})[holder] = age

    def older(self) -> list[_Holder]:
        """Return what depends on loads."""
        return [one for parts in self.known.values() for one, age in parts.items() if age]


def _name(holder: _Holder) -> int | str:
    """Return the variable, or the predicate's name."""
    if isinstance(holder, str):
        return holder
    return holder.variable if isinstance(holder, Row) else holder[0]


def scattered_loops(affine: Affine, *, checked: bool) -> list[Region]:
    """Return the loops of a unit that are better run apart.

    Without checks nobody notes where allocations are, which loads of flat memory need for it.
    """
    slots = affine.slots
    flow, channels = slots.flow, slots.kernel.simd_size
    loops = RegionFinder(flow, channels).regions()
    found = [region for region in loops if Contents(region, flow, channels).fit()]
    possible = [region for region in found if checked or not region.reaches_flat_memory]
    data = _data(slots.flow) if possible else _Ages()
    return [region for region in possible if _is_worth(region, affine, data)]


def tear(slots: Slots, regions: Iterable[Region]) -> bool:
    """Note that loops leave rows without shapes; return whether any may have had one."""
    torn = False
    for row in (row for one in regions for row in (*one.leaving, *one.staying)):
        for slot in slots.around(row):
            torn |= not slot.dead
            slot.torn = True
    return torn


def _is_worth(region: Region, affine: Affine, data: _Ages) -> bool:
    messages, most = [*region.loads, *region.stores], _MOST_OPERATIONS
    if region.stores:
        if walk_of(region) is None:
            return False
    elif region.together:
        sweep = sweep_of(region)
        if sweep is None:
            return False
        own = [id(stream.access.effect) for stream in sweep.streams]
        messages, most = [one for one in region.loads if id(one[2]) in own], _MOST_TOGETHER
    elif region.shared or not _follows(region, data):
        return False
    scattered = 0
    for node, number, message in messages:
        reader = affine.reader(node.key, number)
        shape = reader.shape(message.addresses, channel_within(message.mask))
        scattered += shape is None or shape.form.ragged
    if 2 * scattered <= len(messages) or (not region.together and _is_chase(region)):
        return False
    return _operations(region) <= most * scattered


def _follows(region: Region, data: _Ages) -> bool:
    """Whether data say where the loop loads or which of its jumps are taken."""
    jumps = (node.block.transfer for node in region.nodes)
    masks = [goto.mask for goto in jumps if isinstance(goto, Goto) and goto.mask is not None]
    addresses = (load.addresses for _, _, load in region.loads)
    return any(_age(expr, data) for expr in (*masks, *addresses))


def _data(flow: Flow) -> _Ages:
    """Return what depends, anywhere in a unit, on what channels have loaded each for itself."""
    steps = [step for node in flow.nodes.values() for step in node.block.steps]
    known = _Ages()
    while True:
        size = len(known)
        for step in steps:
            for what in [what for what, age in _written(step, known) if age]:
                known.note(what, _OLD)
        if len(known) == size:
            return known


def _operations(region: Region) -> int:
    """Return how many operations a channel computes in a turn, if none that is seldom needed."""
    nodes = [expr for _, _, step in region.steps() for expr in step.expressions]
    others = set(below(expr.args[1] for expr in nodes if is_seldom(expr)))
    return sum(
        expr.lanes > 1 and expr.uop.group is not Group.LEAF and expr not in others for expr in nodes
    )


def _is_chase(region: Region) -> bool:
    """Whether an address depends on what a turn before has loaded."""
    start = _Ages()
    while True:
        known = start.copy()
        for _, _, step in region.steps():
            loads = (effect for effect in step.effects if isinstance(effect, Load))
            if any(_age(load.addresses, known) == _OLD for load in loads):
                return True
            for what, age in _written(step, known):
                known.note(what, age)
        size = len(start)
        for what in known.older():
            start.note(what, _OLD)
        if len(start) == size:
            return False


def _written(step: Step, known: _Ages) -> list[tuple[_Holder, int]]:
    """Return what an instruction writes, and of what age the loads are that it depends on."""
    found = list[tuple[_Holder, int]]()
    for write in step.effects:
        if not isinstance(write, WriteRegister | WritePredicate):
            continue
        what = part_of(write.place) if isinstance(write, WriteRegister) else write.variable.name
        ages = [_age(write.value, known)]
        if write.mask is not None and channel_of(write.mask) is None:
            ages += [_age(write.mask, known), known.of(what)]
        found.append((what, max(ages)))
    return found


def _age(expr: Expr, known: _Ages) -> int:
    """Return the age of the oldest load that an expression depends on.

    It is 0 if there is none, and for blocks, which all channels share.
    """
    match expr.uop.name:
        case "loaded":
            return 0 if isinstance(expr.attribute[0], LoadBlock) else _NEW
        case "read":
            return known.of(part_of(expr.attribute))
        case "predicate":
            return known.of(expr.attribute[0].name)
        case _:
            return max((_age(arg, known) for arg in expr.args), default=0)
