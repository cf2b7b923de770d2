"""What a vISA instruction reads and writes, as byte ranges of variables: from its traced effects.

The declaration that the engines execute says it all, so nothing here knows an instruction. Ranges
count bytes of root variables; aliases are resolved.
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.engine.prefetches import is_prefetch, loaded_by
from visim.isa import Instruction, trace
from visim.operands import General
from visim.sem.effects import (
    Effect,
    Message,
    Place,
    WriteIndirect,
    WriteRegister,
    expressions,
)
from visim.sem.expr import Expr
from visim.target import Platform


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes `start` to `end` (exclusive) of a root variable."""

    variable: General
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Footprint:
    """The registers of one vISA instruction, and what else it does.

    `messages` are its memory and image effects in order, `effects` all of them.
    """

    reads: tuple[Span, ...]
    writes: tuple[Span, ...]
    reads_address: bool
    is_indirect: bool
    messages: tuple[Message, ...]
    effects: tuple[Effect, ...]


def footprint(instruction: Instruction, platform: Platform) -> Footprint:
    """Return the footprint of an instruction; that of a prefetch has the message of its load.

    Raises:
        visim.isa.Unexecutable: visim does not execute it.
    """
    effects = trace(instruction, platform)
    if is_prefetch(instruction):
        effects = (loaded_by(instruction, platform),)
    leaves = expressions(effects)
    places = [leaf.attribute for leaf in leaves if leaf.uop.name == "read"]
    registers = [effect.place for effect in effects if isinstance(effect, WriteRegister)]
    return Footprint(
        tuple(dict.fromkeys(_span(place) for place in places)),
        tuple(dict.fromkeys(_span(place) for place in registers)),
        any(leaf.uop.name == "addresses" for leaf in leaves),
        any(leaf.uop.name == "gather" for leaf in leaves)
        or any(isinstance(effect, WriteIndirect) for effect in effects),
        tuple(effect for effect in effects if isinstance(effect, Message)),
        effects,
    )


def immediate(value: Expr) -> int | None:
    """Return the value of a constant, also one that is converted, None for what the run knows."""
    while value.uop.name != "constant":
        if len(value.args) != 1:
            return None
        value = value.args[0]
    return int(value.attribute)


def _span(place: Place) -> Span:
    rows = -(-place.lanes // place.width)
    columns = min(place.width, place.lanes)
    last = (rows - 1) * place.row_stride + (columns - 1) * place.stride
    return Span(place.variable, place.offset, place.offset + last + place.type.bytes)


__all__ = ["Footprint", "Span", "footprint", "immediate"]
