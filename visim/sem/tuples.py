"""Meanings over groups of neighbouring channels: dot products of vectors, lines and planes.

The specification has the names, operands and types of DP2, DP3, DP4, DPH and LINE (chapter 8) and
no page that says what they compute: see docs/spec-notes.md.
"""

from __future__ import annotations

from typing import Any

from visim.operands import GeneralSource, IndirectSource, VectorSource
from visim.sem.exactness import Exactness
from visim.sem.expr import Expr, absolute, constant, fma, take, vector_constant
from visim.sem.tracer import Tracer, Unexecutable
from visim.target import Platform
from visim.types import D, F

FUSED = Exactness(None, "one rounding for each product and its sum", "Dot products and planes")
SCALARS = 4
"""Channels that share a result, and elements of the scalars of LINE and PLN."""


def _apart(value: Expr, step: int, offset: int) -> Expr:
    """Return in every lane the element `offset` of its group of `step` lanes."""
    return take(value, tuple(i // step * step + offset for i in range(value.lanes)))


def dot_product(t: Tracer, i: Any, terms: int, *, homogeneous: bool) -> None:
    """Record the dot products of the first `terms` elements of each four channels.

    `homogeneous` adds the fourth element of src1 (DPH). All four channels get the result.
    """
    a, b = (t.modified(source, F) for source in (i.src0, i.src1))
    products = [(_apart(a, SCALARS, n), _apart(b, SCALARS, n)) for n in range(terms)]
    if homogeneous:
        total = _apart(b, SCALARS, 3)
    else:
        x, y = products.pop(0)
        total = x * y
    for x, y in products:
        total = fma(x, y, total)
    t.write(i.dst, total, t.mask())


def whole_groups(i: Any, platform: Platform | None) -> str | None:
    """Tell whether an instruction does not have whole groups of four channels."""
    if i.exec.size < SCALARS:
        return f"it works on groups of four channels, found {i.exec}"
    return None


def scalars(t: Tracer, source: VectorSource) -> list[Expr]:
    """Return the four elements at the start of a source, each in all lanes; its region is ignored.

    Raises:
        Unexecutable: the source is no register.
    """
    if not isinstance(source, GeneralSource | IndirectSource):
        raise Unexecutable("scalars that are not in a register")
    found = t.successive(source, F, SCALARS)
    return [take(found, (n,) * t.lanes) for n in range(SCALARS)]


def line(t: Tracer, i: Any) -> None:
    """Record p * u + q, where p and q are the first and the last of four scalars of src0."""
    p, _, _, q = scalars(t, i.src0)
    t.write(i.dst, fma(p, t.modified(i.src1, F), q), t.mask())


def plane(t: Tracer, i: Any) -> None:
    """Record p * u + q * v + r; each eight channels have their u, then their v in src1."""
    p, q, _, r = scalars(t, i.src0)
    if not isinstance(i.src1, GeneralSource | IndirectSource):
        raise Unexecutable("u and v that are not in a register")
    pairs = t.successive(i.src1, F, 2 * t.lanes)
    u = take(pairs, tuple(n // 8 * 16 + n % 8 for n in range(t.lanes)))
    v = take(pairs, tuple(n // 8 * 16 + n % 8 + 8 for n in range(t.lanes)))
    t.write(i.dst, fma(p, u, fma(q, v, r)), t.mask())


def plane_size(i: Any, platform: Platform | None) -> str | None:
    """Tell whether a plane does not have 8 or 16 channels."""
    return None if i.exec.size in {8, 16} else f"it has 8 or 16 channels, found {i.exec}"


def differences(t: Tracer, i: Any) -> Expr:
    """Return |a - b| of each even channel and its neighbour, summed."""
    a, b = (t.modified(source, D) for source in (i.src0, i.src1))
    size = absolute(a - b)
    return _apart(size, 2, 0) + _apart(size, 2, 1)


def even_channels(t: Tracer) -> Expr | None:
    """Return the enabled even channels: what SAD2 leaves undefined keeps its value."""
    even = vector_constant(tuple(1 - lane % 2 for lane in range(t.lanes)), D).ne(
        constant(0, D, t.lanes)
    )
    mask = t.mask()
    return even if mask is None else mask & even


def whole_pairs(i: Any, platform: Platform | None) -> str | None:
    """Tell whether an instruction does not have whole pairs of channels."""
    return None if i.exec.size >= 2 else f"it works on pairs of channels, found {i.exec}"
