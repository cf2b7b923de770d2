"""A hypothesis strategy for texts of valid modules: declarations drawn around a random program."""

from __future__ import annotations

from hypothesis import strategies as st

from visim.attributes import ALIGNMENT_NAMES
from visim.smith import Shape, smith
from visim.target import PLATFORMS
from visim.types import BY_NAME

DEVICES = [device.name for device in PLATFORMS if device.name != "bdw"]
TYPES = ("ub", "w", "d", "ud", "f", "q")
ALIGNMENTS = [name for name in ALIGNMENT_NAMES if name in {"byte", "dword", "GRF"}]


@st.composite
def declarations(draw: st.DrawFn) -> list[str]:
    """Return `.decl` lines of every class; aliases lie inside their bases."""
    lines: list[str] = []
    sizes: list[int] = []
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(TYPES))
        width = BY_NAME[kind].bytes
        base = draw(st.none() | st.sampled_from(range(number))) if number else None
        room = 4096 if base is None else sizes[base]
        if room < width:
            base, room = None, 4096
        count = draw(st.integers(1, min(64, room // width)))
        offset = width * draw(st.integers(0, (room // width - count) if base is not None else 0))
        line = f".decl EXTRA{number} v_type=G type={kind} num_elts={count}"
        if base is None:
            lines.append(f"{line} align={draw(st.sampled_from(ALIGNMENTS))}")
        else:
            lines.append(f"{line} alias=<EXTRA{base}, {offset}>")
        sizes.append(count * width)
    for number in range(draw(st.integers(0, 3))):
        count = draw(st.sampled_from((1, 8, 16, 32)))
        lines.append(f".decl EP{number} v_type=P num_elts={count}")
    return lines


@st.composite
def valid_texts(draw: st.DrawFn) -> tuple[str, str]:
    """Return the text of a module without errors, and the name of its device."""
    device = draw(st.sampled_from(DEVICES))
    program = smith(draw(st.integers(0, 1 << 16)), device, Shape(draw(st.integers(1, 6))))
    lines = program.split("\n")
    start = next(at for at, line in enumerate(lines) if line.startswith(".decl"))
    lines[start:start] = draw(declarations())
    return "\n".join(lines), device
