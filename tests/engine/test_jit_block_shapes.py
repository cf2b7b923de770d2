"""2D blocks of raw messages whose payloads have constants as shapes: both engines do the same.

Shapes that are known are written as one message, which is seen in the code; those that only seem
to be constants are not.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from visim.engine.base import Exit

from . import harness
from .cases import module_text
from .values import octets

GRF = 64
HEAD = """.version 4.1
.kernel "k"
.decl M v_type=G type=uq num_elts=1 align=qword
.decl PLACE v_type=G type=d num_elts=16 align=wordx32
.decl A v_type=G type=d num_elts=16 align=wordx32
.decl Q v_type=G type=uq num_elts=8 alias=<A, 0>
.decl B v_type=G type=d num_elts=16 align=wordx32
.decl C v_type=G type=d num_elts=16 align=wordx32
.decl V v_type=G type=ud num_elts=528 align=wordx32
.decl X v_type=A num_elts=1
.decl P1 v_type=P num_elts=16
.decl P2 v_type=P num_elts=16
.kernel_attr SimdSize=16
.function "k"
k:
    mov (M1_NM, 16) A(0,0)<1> PLACE(0,0)<1;1,0>
    mov (M1_NM, 1) Q(0,0)<1> M(0,0)<0;1,0>
"""
AS_ONE = "call i1 @visim_rectangle"


def shape_of(width: int, height: int, blocks: int) -> int:
    return width - 1 | height - 1 << 8 | blocks - 1 << 16


def ends(
    monkeypatch: pytest.MonkeyPatch, text: str, place: list[int], memory_bytes: int, mask: int
) -> list[tuple[Exit, bytes, bytes]]:
    """Run a text on both engines; return how it ended, the memory and V."""
    kernel, found = harness.assemble(text, "pvc"), list[tuple[Exit, bytes, bytes]]()
    before = octets(memory_bytes, 1)
    memory = np.empty(memory_bytes + 1, np.uint8)[1:]  # At an odd address, which faults tell.
    for engine in harness.ENGINES.values():
        monkeypatch.setattr(harness.CHOSEN, "engine", engine)
        memory[...] = before
        values: dict[str, Any] = {
            "PLACE": np.array(place, np.int64).astype(np.int32),
            "V": octets(33 * GRF, 2),
        }
        ended = kernel.run(values, {"P2": 0x55AA}, mask=mask, buffers={"M": memory})
        found.append((ended.exit, memory.tobytes(), ended["V"].tobytes()))
    return found


def random_message(rng: random.Random, *, stores: bool) -> tuple[int, int, str]:
    """Return a message, how many registers its block has, and its shape."""
    size, order = rng.choice([1, 2, 4, 8]), rng.choice(["", "", "vnni", "transposed"])
    vnni, transposed = order == "vnni" and size < 8, order == "transposed"
    width, height = rng.randint(1, 32), rng.randint(1, 20)
    blocks = rng.choice([1, 1, 2, 3])
    shape = shape_of(width, height, blocks) | rng.choice([0, 0xABC << 20])
    inner, outer = (height, width) if transposed else (width, height)
    group = max(1, 4 // size) if vnni else 1
    row = group << (inner - 1).bit_length()
    registers = blocks * -(-(-(-outer // group) * row * size) // GRF)
    count = max(1, min(32, registers + rng.choice([0, 0, -1, 2])))
    fields = vnni << 7 | (size.bit_length() - 1) << 9 | transposed << 15 | 1 << 25
    predicate = rng.choice(["", "", "(P2) "])
    execution = rng.choice(["(M1, 1)", "(M1_NM, 1)", "(M1, 16)"])
    if stores:
        line = f"raw_sends.15.1.{count}.0 {execution} 0x0:ud 0x{fields | 7:x}:ud A.0 V.0 %null.0"
    else:
        known = min(count, 31)
        fields |= 3 | known << 20
        line = f"raw_sends.15.1.0.{known} {execution} 0x0:ud 0x{fields:x}:ud A.0 %null.0 V.0"
    return shape, registers, predicate + line


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_blocks_of_known_shapes(monkeypatch: pytest.MonkeyPatch, seed: int, stores: bool) -> None:
    """Inside of the surface, over its edges, beyond memory; responses too short and too long."""
    rng = random.Random(seed)
    shape, _, line = random_message(rng, stores=stores)
    text = f"{HEAD}    mov (M1_NM, 1) A(0,7)<1> 0x{shape:x}:d\n    {line}\n    ret (M1, 1)\n"
    pitch, rows = rng.choice([64, 80, 112, 50]), rng.randint(1, 40)
    surface = rng.randint(1, pitch + 3)
    x, y = rng.randint(-9, 40), rng.randint(-6, 30)
    place = [0, 0, surface - 1, rows - 1, pitch - 1, x, y, 0x55, *[0] * 8]
    memory = pitch * rows + rng.choice([0, 64, -5 * pitch])
    mask = rng.choice([0xFFFF, 0xFFFF, 0xFFFE, 0])
    expected, found = ends(monkeypatch, text, place, max(memory, 40), mask)
    assert found == expected


LOAD = "raw_sends.15.1.0.4 (M1_NM, 1) 0x0:ud 0x2400403:ud A.0 %null.0 V.0\n"
READY = "lsc_load_block2d.ugm (M1_NM, 1) V:d32.16x4nn flat[A + (2,1)]\n"
"""The same message, of which newer compilers write only what is not in its payload."""
ROWS = {name: shape_of(16, rows, 1) for name, rows in {"two": 2, "four": 4}.items()}
KNOWN = {
    "a constant": "mov (M1_NM, 1) A(0,7)<1> {four}:d\n",
    "a product": """
        mov (M1_NM, 8) B(0,0)<1> 0x10000000:v
        mov (M1_NM, 8) B(0,8)<1> 0x0:d
        setp (M1_NM, 16) P1 0x80:ud
        (P1) mul (M1_NM, 16) A(0,0)<1> B(0,0)<1;1,0> {four}:d
    """,
    "a choice": """
        mov (M1_NM, 16) B(0,0)<1> {four}:d
        setp (M1_NM, 16) P1 0xff7f:ud
        (P1) sel (M1_NM, 16) A(0,0)<1> A(0,0)<1;1,0> B(0,0)<1;1,0>
    """,
    "the same on both ways": """
        cmp.lt (M1_NM, 1) P1 PLACE(0,8)<0;1,0> 0x1:d
        (P1) jmp (M1_NM, 1) OTHER
        mov (M1_NM, 1) A(0,7)<1> {four}:d
        jmp (M1_NM, 1) BEHIND
    OTHER:
        mov (M1_NM, 1) A(0,7)<1> {four}:d
    BEHIND:
    """,
}
UNKNOWN = {
    "an argument": "",
    "another one on one way": """
        mov (M1_NM, 1) A(0,7)<1> {four}:d
        cmp.lt (M1_NM, 1) P1 PLACE(0,8)<0;1,0> 0x1:d
        (P1) jmp (M1_NM, 1) BEHIND
        mov (M1_NM, 1) A(0,7)<1> {two}:d
    BEHIND:
    """,
    "another one the next time": """
        mov (M1_NM, 1) A(0,7)<1> {four}:d
    AGAIN:
        {load}
        mov (M1_NM, 1) A(0,7)<1> {two}:d
        add (M1_NM, 1) PLACE(0,8)<1> PLACE(0,8)<0;1,0> 1:d
        cmp.lt (M1_NM, 1) P1 PLACE(0,8)<0;1,0> 3:d
        (P1) jmp (M1_NM, 1) AGAIN
        mov (M1_NM, 1) A(0,7)<1> PLACE(0,7)<0;1,0>
    """,
    "one byte of another": """
        mov (M1_NM, 1) A(0,7)<1> {four}:d
        and (M1_NM, 1) A(0,7)<1> A(0,7)<0;1,0> PLACE(0,9)<0;1,0>
    """,
    "a channel that may be off": """
        mov (M1_NM, 1) A(0,7)<1> {four}:d
        mov (M1, 1) A(0,7)<1> {two}:d
    """,
    "a predicate that is not known": """
        mov (M1_NM, 1) A(0,7)<1> {four}:d
        (P2) mov (M1_NM, 1) A(0,7)<1> {two}:d
    """,
    "a write by address": """
        mov (M1_NM, 1) A(0,7)<1> {four}:d
        addr_add (M1_NM, 1) X(0)<1> &A 28:w
        mov (M1_NM, 1) r[X(0),0]<1>:d {two}:d
    """,
}


def behind(lines: str) -> str:
    """Return the text of a kernel that loads four rows at most behind some lines."""
    constants = {name: f"0x{shape:x}" for name, shape in ROWS.items()}
    text = f"{lines.format(**constants, load=LOAD)}{LOAD}ret (M1, 1)\n"
    return HEAD + "\n".join(line.strip() for line in text.splitlines()) + "\n"


@pytest.mark.parametrize("mask", [0xFFFF, 0xFFFE])
@pytest.mark.parametrize("times", [0, 2])
@pytest.mark.parametrize("what", [*KNOWN, *UNKNOWN])
def test_what_the_payload_holds(
    monkeypatch: pytest.MonkeyPatch, what: str, times: int, mask: int
) -> None:
    text = behind({**KNOWN, **UNKNOWN}[what])
    place = [0, 0, 63, 39, 63, 0, 3, ROWS["two"], times, 0xFF01FF, *[0] * 6]
    expected, found = ends(monkeypatch, text, place, 64 * 40, mask)
    assert expected[0].fault is None
    assert found == expected


@pytest.mark.parametrize("what", KNOWN)
def test_blocks_whose_shape_is_a_constant_are_one_message(what: str) -> None:
    text = behind(KNOWN[what])
    assert AS_ONE in module_text(text)
    assert AS_ONE in module_text(text.replace(LOAD, READY))


@pytest.mark.parametrize("what", [*KNOWN, *UNKNOWN])
def test_a_payload_that_stands_ready_is_read_as_others_are(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    text = behind({**KNOWN, **UNKNOWN}[what])
    place = [0, 0, 63, 39, 63, 0, 3, ROWS["two"], 2, 0xFF01FF, *[0] * 6]
    moved = [*place[:5], 2, 4, *place[7:]]
    expected, found = ends(monkeypatch, text.replace(LOAD, READY), place, 64 * 40, 0xFFFF)
    assert expected[0].fault is None
    assert found == expected
    assert ends(monkeypatch, text, moved, 64 * 40, 0xFFFF)[0] == expected


@pytest.mark.parametrize("what", UNKNOWN)
def test_blocks_whose_shape_may_be_another_are_not(what: str) -> None:
    assert AS_ONE not in module_text(behind(UNKNOWN[what]))


SUBROUTINE = """
    mov (M1_NM, 1) A(0,7)<1> {four}:d
    call (M1_NM, 1) CHANGES
    {load}
    mov (M1_NM, 1) A(0,7)<1> {four}:d
    call (M1_NM, 1) CHANGES
    {load}
    ret (M1, 1)
.function "CHANGES"
CHANGES:
    mov (M1_NM, 1) A(0,7)<1> {two}:d
    ret (M1_NM, 1)
"""


def test_a_subroutine_changes_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = {name: f"0x{shape:x}" for name, shape in ROWS.items()}
    text = HEAD + SUBROUTINE.format(**constants, load=LOAD)
    place = [0, 0, 63, 39, 63, 0, 3, 0, *[0] * 8]
    expected, found = ends(monkeypatch, text, place, 64 * 40, 0xFFFF)
    assert expected[0].fault is None
    assert found == expected
