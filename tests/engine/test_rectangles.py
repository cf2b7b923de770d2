"""2D blocks that walk over a surface: inside of it, at its edges, beyond it and beyond memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.model import lsc as model

from . import harness
from .harness import Outcome, run
from .test_lsc import block_text
from .values import octets

GRF = 64
TURNS = 24
WALK = """
again:
    lsc_load_block2d.ugm (M1, 16) V:{load} flat[FROM,S(0,0),S(0,1),S(0,2),S(0,3),S(0,4)]
    lsc_store_block2d.ugm (M1, 16) flat[TO,T(0,0),T(0,1),T(0,2),T(0,3),T(0,4)] V:{store}
    add (M1_NM, 1) S(0,3)<1> S(0,3)<0;1,0> STEP(0,0)<0;1,0>
    add (M1_NM, 1) S(0,4)<1> S(0,4)<0;1,0> STEP(0,1)<0;1,0>
    add (M1_NM, 1) T(0,4)<1> T(0,4)<0;1,0> {rows}:d
    add (M1_NM, 1) TURN(0,0)<1> TURN(0,0)<0;1,0> 1:d
    cmp.lt (M1_NM, 1) P9 TURN(0,0)<0;1,0> {turns}:d
    (P9) jmp (M1_NM, 1) again
"""
STORES = """
again:
    lsc_store_block2d.ugm (M1, 16) flat[TO,S(0,0),S(0,1),S(0,2),S(0,3),S(0,4)] V:{store}
    add (M1_NM, 1) S(0,3)<1> S(0,3)<0;1,0> STEP(0,0)<0;1,0>
    add (M1_NM, 1) S(0,4)<1> S(0,4)<0;1,0> STEP(0,1)<0;1,0>
    add (M1_NM, 1) TURN(0,0)<1> TURN(0,0)<0;1,0> 1:d
    cmp.lt (M1_NM, 1) P9 TURN(0,0)<0;1,0> {turns}:d
    (P9) jmp (M1_NM, 1) again
"""
SURFACE = {"surface_width": 200, "surface_height": 40, "pitch": 208}
BLOCKS = {
    "d32 one row": model.Rectangle(4, 1, 16, 1, False, False, x=-8, y=20, **SURFACE),
    "d16 pairs": model.Rectangle(2, 2, 16, 8, False, False, x=-20, y=-9, **SURFACE),
    "d16 vnni": model.Rectangle(2, 1, 16, 16, False, True, x=10, y=-12, **SURFACE),
    "d8 vnni": model.Rectangle(1, 2, 16, 32, False, True, x=-30, y=3, **SURFACE),
    "d32 transposed": model.Rectangle(4, 1, 8, 16, True, False, x=-9, y=-2, **SURFACE),
    "d32 odd": model.Rectangle(4, 1, 5, 7, True, False, x=-5, y=-7, **SURFACE),
    "d64": model.Rectangle(8, 1, 4, 8, True, False, x=-6, y=5, **SURFACE),
    "d8 odd width": model.Rectangle(1, 1, 24, 3, False, False, x=150, y=30, **SURFACE),
}
STEPS = {"right": (3, 0), "down": (0, 2), "across": (2, 1), "back": (-1, -1), "still": (0, 0)}


def place(m: model.Rectangle, step: tuple[int, int], turn: int) -> model.Rectangle:
    return replace(m, x=m.x + turn * step[0], y=m.y + turn * step[1])


def walk(m: model.Rectangle, step: tuple[int, int], source: NDArray[np.uint8]) -> Outcome:
    """Load a block at places on a line; store its registers one after the other, to `TO`."""
    registers = model.load_block2d(source, m, GRF).size // GRF
    rows = model.Rectangle(4, 1, 16, registers, False, False, 0, 0, 0, 0, 0)
    values = {
        "S": [m.surface_width - 1, m.surface_height - 1, m.pitch, m.x, m.y],
        "T": [GRF - 1, registers * TURNS - 1, GRF, 0, 0],
        "STEP": step,
        "TURN": [0],
    }
    found = np.full(GRF * registers * TURNS, 0xEE, np.uint8)
    ended = run(
        WALK.format(load=block_text(m), store=block_text(rows), rows=registers, turns=TURNS),
        {**{name: np.array(one, np.int32) for name, one in values.items()}, "V": octets(4096, 3)},
        {"P9": 0},
        platform="pvc",
        buffers={"FROM": source, "TO": found},
    )
    return replace(ended, values={**ended.values, "FOUND": found})


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_that_walks_over_a_surface(block: str, step: str) -> None:
    m, by = BLOCKS[block], STEPS[step]
    source = octets(m.pitch * m.surface_height, 1)
    ended = walk(m, by, source)
    assert ended.exit.fault is None
    expected = [model.load_block2d(source, place(m, by, turn), GRF) for turn in range(TURNS)]
    assert np.array_equal(ended["FOUND"], np.concatenate(expected))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("block", ["d32 one row", "d8 odd width", "d16", "d64"])
def test_a_block_that_is_stored_over_a_surface(block: str, step: str) -> None:
    plain = {
        "d16": model.Rectangle(2, 1, 32, 8, False, False, x=-20, y=-9, **SURFACE),
        "d64": model.Rectangle(8, 1, 8, 8, False, False, x=-6, y=-5, **SURFACE),
    }
    m, by = {**BLOCKS, **plain}[block], STEPS[step]
    before = octets(m.pitch * m.surface_height, 1)
    memory, data, shown = before.copy(), octets(4096, 3), block_text(m)
    values = {
        "S": [m.surface_width - 1, m.surface_height - 1, m.pitch, m.x, m.y],
        "STEP": by,
        "TURN": [0],
    }
    ended = run(
        STORES.format(store=shown, turns=TURNS),
        {**{name: np.array(one, np.int32) for name, one in values.items()}, "V": data},
        {"P9": 0},
        platform="pvc",
        buffers={"TO": memory},
    )
    assert ended.exit.fault is None
    row = 1 << (m.width - 1).bit_length()
    cells = data[: m.height * row * m.size].reshape(m.height, row, m.size)[:, : m.width]
    expected = before.copy()
    for turn in range(TURNS):
        now = place(m, by, turn)
        for y, x in np.ndindex(m.height, m.width):
            down, right = now.y + y, now.x + x
            is_inside = 0 <= down < m.surface_height and right >= 0
            if is_inside and (right + 1) * m.size <= m.surface_width:
                start = down * m.pitch + right * m.size
                expected[start : start + m.size] = cells[y, x]
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_behind_memory_is_refused_alike(
    block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The surface has more rows than memory: the turn and the address are those of the page."""
    m = replace(BLOCKS[block], x=0, y=0)
    source = octets(m.pitch * (m.height + 6) - 3, 1)
    found = walk(m, (0, 1), source)
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES["interpreter"])
    expected = walk(m, (0, 1), source)
    assert found.exit == expected.exit
    assert found.fault.code == "memory-access"
    assert np.array_equal(found["FOUND"], expected["FOUND"])


def test_a_block_takes_place_if_any_channel_is_on() -> None:
    """Channels decide together: one is enough, and none leaves registers and memory alone."""
    source = octets(1024, 1)
    text = """
        (P1) lsc_load_block2d.ugm (M1, 16) V:d32.8x2nn flat[FROM, 63, 3, 64, 0, 0]
        (P2) lsc_load_block2d.ugm (M1, 16) V:d32.8x2nn flat[FROM, 63, 3, 64, 8, 2]
        (P2) lsc_store_block2d.ugm (M1, 16) flat[FROM, 63, 3, 64, 8, 2] V:d32.8x2nn
        (P1) lsc_store_block2d.ugm (M1, 16) flat[FROM, 63, 3, 64, 0, 2] V:d32.8x2nn
    """
    expected = source.copy().reshape(-1, 64)
    ended = run(
        text,
        {"V": octets(256, 2)},
        {"P1": 1 << 9, "P2": 0},
        platform="pvc",
        buffers={"FROM": source},
    )
    expected[2:4, :32] = expected[:2, :32]
    assert ended.exit.fault is None
    assert np.array_equal(source, expected.reshape(-1))
