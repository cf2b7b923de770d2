"""Loads in rows that arithmetic before them need not wait for, and what makes their addresses.

Products of matrices load the next pieces of tiles between multiply-adds. Where such loads come
first, all these multiply-adds are one run, whose sums pass through memory once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from visim.engine.jit.analysis.affine import Affine
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import Node
from visim.engine.jit.analysis.lanes import channel_within, row_of
from visim.engine.jit.ir.places import is_repeated
from visim.sem.effects import Load, Place, WriteRegister
from visim.sem.expr import Expr, below

Located = tuple[Node, int, Step]
"""An instruction of a chain: its node, its number there."""


def leading(affine: Affine, located: Sequence[Located]) -> set[int]:
    """Return which instructions of a chain load in rows, or make the rows that these read."""
    found, wanted = set[int](), set[int]()
    for place, one in reversed(list(enumerate(located))):
        if _loads_rows(affine, one) or _makes_rows(affine, one, wanted):
            wanted |= {read.variable.index for read in _read(one[2].expressions)}
            found.add(place)
    return found


def _loads_rows(affine: Affine, located: Located) -> bool:
    """Whether an instruction is a load whose addresses are known to be rows."""
    node, number, step = located
    loads = [effect for effect in step.effects if not isinstance(effect, WriteRegister)]
    if len(loads) != 1 or not isinstance(loads[0], Load) or is_called_out(loads[0]):
        return False
    load, channel = loads[0], channel_within(loads[0].mask)
    for place in _read(below([load.addresses])):
        if is_repeated(place):
            continue
        row = row_of(place)
        slot = None if row is None else affine.readable(row, node.key, number, channel)
        if slot is None or slot.form is None or slot.form.ragged:
            return False
    return True


def _makes_rows(affine: Affine, located: Located, wanted: set[int]) -> bool:
    """Whether an instruction only writes rows of variables that are wanted."""
    node, number, step = located
    for effect in step.effects:
        if not isinstance(effect, WriteRegister) or effect.place.variable.index not in wanted:
            return False
        slot = affine.write_at(node.key, number, effect.place)
        if slot is None or slot.form is None or slot.form.ragged:
            return False
    return bool(step.effects)


def _read(nodes: Iterable[Expr]) -> list[Place]:
    """Return the places that some expressions read."""
    return [node.attribute for node in nodes if node.uop.name == "read"]
