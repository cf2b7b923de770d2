"""What a debugger has to know of a kernel: which registers start as which argument, and its order.

Knows payload layouts; the debugger knows how threads run.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.records import record
from visim.runtime.arguments.parameters import parameters
from visim.runtime.payload.bare import BareLayout
from visim.runtime.payload.layout import POINTED_TO, PayloadLayout
from visim.runtime.sourcetexts import SourceTexts


@record
class StartRegister:
    """`size` bytes of the register image that start as something that has a name."""

    register: int
    size: int
    name: str


@record
class DebugFacts:
    """What a debugger has to know of a kernel.

    `walk_order` are the dimensions in which work-items are counted, None for bare kernels. `zebin`
    are the bytes of the file that has the kernel's debug data, if it is one. `texts` are the lines
    of its sources.
    """

    walk_order: tuple[int, int, int] | None
    registers: tuple[StartRegister, ...]
    zebin: bytes | None
    texts: SourceTexts


def start_registers(layout: PayloadLayout | BareLayout) -> tuple[StartRegister, ...]:
    """Return which registers start as arguments, ids and what else the launch puts there."""
    found = _bare(layout) if isinstance(layout, BareLayout) else _described(layout)
    return tuple(found)


def _bare(layout: BareLayout) -> Iterator[StartRegister]:
    for entry, name in zip(layout.explicit, layout.names, strict=True):
        yield StartRegister(layout.register(entry), entry.size, name)
    for entry in layout.implicit:
        yield StartRegister(layout.register(entry), entry.size, entry.kind)


def _described(layout: PayloadLayout) -> Iterator[StartRegister]:
    for piece in layout.thread_slices:
        axis = piece.start // max(1, layout.dimension_bytes)
        name = f"local id {'xyz'[axis]}" if axis < 3 else "local ids"
        yield StartRegister(piece.register, piece.size, name)
    names = [parameter.name for parameter in parameters(layout.kernel)]
    for entry in layout.kernel.payload:
        name = names[entry.arg_index] if entry.arg_index >= 0 else _implicit(entry.arg_type)
        for piece in layout.cross_slices if entry.size else ():
            start = max(entry.offset, piece.start)
            end = min(entry.offset + entry.size, piece.start + piece.size)
            if start < end:
                register = piece.register + start - piece.start
                yield StartRegister(register, end - start, name)


def _implicit(arg_type: str) -> str:
    return POINTED_TO.get(arg_type, arg_type.replace("_", " "))


__all__ = ["DebugFacts", "StartRegister", "start_registers"]
