"""Rows near others: where a row is at a known distance from one that has been looked at.

Tiles, stencils and unrolled loops reach many rows whose addresses are one number and different
constants. The first of them is the anchor: the others take its address, and their checks are
comparisons of the same number with other constants, of which LLVM makes one.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from visim.engine.jit.ir.distances import Extended
from visim.engine.jit.ir.shapes import Form, Shape
from visim.engine.jit.ir.text import Text, signed
from visim.engine.jit.writing.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Anchor:
    """A row that has been looked at.

    Attributes:
        core: the name of its core, and `base` that of what is added to it.
        first: how far behind the start of its bounds it begins, as i64.
        pointer: where the host has it.
        bounds: its bounds.
        cores: how far from its root the core is, and `bases` the same of what is added.
        bits: of how many bits the core was before zeros were put in front.
    """

    core: str
    base: str
    first: str
    pointer: str
    bounds: Bounds
    cores: int
    bases: int
    bits: int


@dataclass(frozen=True, slots=True)
class Near:
    """A row near an anchor: how far away its core is, what is added to that, and its first byte."""

    anchor: Anchor
    core: int
    base: int
    offset: int


class Anchors:
    """The rows of a chain of nodes that others may be near to.

    All code behind them comes after them. `where` says whose bounds a row has: rows near each
    other share them. Unless it `shares`, no row is near another one.
    """

    def __init__(self, text: Text, *, shares: bool = True) -> None:
        self._shares = shares
        self._distances = text.distances
        self._known: dict[Hashable, Anchor] = {}

    def near(self, shape: Shape, piece: int, where: Hashable) -> Near | None:
        """Return the anchor that a piece of a shape is near to, if its bounds are checked."""
        key, core, base = self._key(shape, piece, where)
        anchor, form = self._known.get(key), shape.form
        if anchor is None or not self._shares:
            return None
        away, rest = (
            signed(core - anchor.cores, anchor.bits),
            signed(base - anchor.bases, form.bits),
        )
        end = anchor.bounds.end
        if anchor.bits < form.core_bits and (end is None or end > 1 << anchor.bits):
            # Sums that wrap may be in range.
            return None
        return Near(anchor, away, rest, away * form.scale + rest)

    def add(
        self, shape: Shape, piece: int, where: Hashable, first: str, pointer: str, bounds: Bounds
    ) -> None:
        """Take a piece, which begins `first` bytes behind where its bounds start, for an anchor."""
        key, cores, bases = self._key(shape, piece, where)
        core, base = shape.cores[piece], shape.offsets[piece]
        root, _ = self._distances.place(core)
        bits = root.bits if isinstance(root, Extended) else shape.form.core_bits
        self._known[key] = Anchor(core, base, first, pointer, bounds, cores, bases, bits)

    def place(self, shape: Shape, piece: int) -> Hashable:
        """Return what pieces of shapes have in common that are at the same place in memory."""
        return self._key(shape, piece, shape.form)

    def array(self, shape: Shape) -> Hashable:
        """Return what rows have in common that are told to be in the same array in flat memory.

        That is what is added to their cores, or else where these come from.
        """
        base = self._distances.place(shape.offsets[0])[0]
        return self._distances.place(shape.cores[0])[0] if base is None else base

    def _key(self, shape: Shape, piece: int, where: Hashable) -> tuple[Hashable, int, int]:
        form = shape.form
        root, core = self._distances.place(shape.cores[piece])
        base_root, base = self._distances.place(shape.offsets[piece])
        if isinstance(base_root, Extended):  # whether sums wrap is looked at for cores only
            base_root, base = (base_root, base), 0
        kind = (form.bits, form.core_bits, form.signed, form.scale)
        return (kind, root, base_root, where), core, base


def start_near(text: Text, form: Form, near: Near) -> tuple[str, str]:
    """Return the core of a row near an anchor, and what is added to it."""
    anchor, core, base = near.anchor, near.anchor.core, near.anchor.base
    if near.core:
        core = text.let(f"add i{form.core_bits} {core}, {signed(near.core, form.core_bits)}")
        if anchor.bits < form.core_bits:
            core = text.let(f"and i{form.core_bits} {core}, {(1 << anchor.bits) - 1}")
    if near.base:
        base = text.let(f"add i{form.bits} {base}, {signed(near.base, form.bits)}")
    return core, base
