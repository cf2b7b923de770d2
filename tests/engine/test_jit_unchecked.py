"""Rows of which some channels are off, where nobody checks addresses: those may be nowhere."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest
from numpy.typing import NDArray

from visim.engine import jit
from visim.engine.base import Machine, RunOptions, SharedStarts
from visim.engine.jit.analysis.inputs import Inputs
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.writing.versions import Version
from visim.machine.memory import Memory
from visim.machine.surfaces import Surfaces

from . import harness
from .hardware import HARDWARE, use_hardware

LANES = 32
PAGE = mmap.PAGESIZE

TEXT = f""".version 4.1
.kernel "k"
.decl V40 v_type=G type=uq num_elts=1 align=wordx32
.decl V41 v_type=G type=uq num_elts=1 align=wordx32
.decl V42 v_type=G type=uw num_elts={LANES} align=wordx32
.decl V43 v_type=G type=uq num_elts={LANES} align=wordx32
.decl V44 v_type=G type=ud num_elts={LANES} align=wordx32
.decl V45 v_type=G type=uq num_elts={LANES} align=wordx32
.decl V46 v_type=G type=uq num_elts={LANES} align=wordx32
.input V42 offset=64 size={2 * LANES}
.kernel_attr SimdSize={LANES}
.function "k"
k:
    shl (M1, 32) V45(0,0)<1> V42(0,0)<1;1,0> 0x2:ud
    add (M1, 32) V46(0,0)<1> V45(0,0)<1;1,0> V41(0,0)<0;1,0>
    shl (M1, 32) V43(0,0)<1> V42(0,0)<1;1,0> STRIDE:ud
    add (M1, 32) V43(0,0)<1> V43(0,0)<1;1,0> V40(0,0)<0;1,0>
    lsc_load.ugm (M1, 32)  V44:SIZE  flat[V43]:a64
    lsc_store.ugm (M1, 32)  flat[V46]:a64  V44:d32
    ret (M1, 1)
"""


def text_of(stride: int, size: str) -> str:
    """Return a kernel that copies elements at distances of 2 ** `stride` bytes."""
    return TEXT.replace("STRIDE", f"{stride:#x}").replace("SIZE", size)


@pytest.fixture(name="page")
def _page() -> NDArray[np.uint8]:
    """A page of memory between two that cannot be read."""
    memory = mmap.mmap(-1, 3 * PAGE)
    all_pages = np.frombuffer(memory, np.uint8)
    library = ctypes.CDLL(None, use_errno=True)
    first = int(all_pages.ctypes.data)
    for place, rights in ((first, 0), (first + 2 * PAGE, 0)):
        assert library.mprotect(ctypes.c_void_p(place), PAGE, rights) == 0
    middle = all_pages[PAGE : 2 * PAGE]
    middle[:] = np.random.default_rng(7).integers(0, 256, PAGE)
    return middle


@pytest.mark.parametrize("name", HARDWARE)
@pytest.mark.parametrize(("stride", "size"), [(2, "d32"), (0, "d8u32"), (3, "d32"), (0, "d16u32")])
def test_channels_that_are_off_are_not_read_where_nothing_is(
    stride: int, size: str, name: str, page: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hardware(name, monkeypatch)
    kernel = harness.assemble(text_of(stride, size), "pvc")
    engine = jit.Prepared(kernel.linked)
    step, width = 1 << stride, {"d32": 4, "d8u32": 1, "d16u32": 2}[size]
    ends = PAGE - step * LANES - width  # the whole row is in the page
    starts = [
        0,
        64,
        ends,
        *(-step * off for off in (1, 7, 20)),
        *(ends + step * n for n in (5, 18)),
    ]
    for start in starts:
        inside = [0 <= start + step * lane <= PAGE - width for lane in range(LANES)]
        for every in (1, 3):
            on = [lane for lane in range(0, LANES, every) if inside[lane]]
            out, memory = np.zeros(LANES, np.uint32), Memory()
            found = memory.add(page, "page"), memory.add(out, "out")
            registers = (
                (kernel.place("V40"), ((found[0] + start) % (1 << 64)).to_bytes(8, "little")),
                (kernel.place("V41"), found[1].to_bytes(8, "little")),
                (kernel.place("V42"), np.arange(LANES, dtype=np.uint16).tobytes()),
            )
            mask = sum(1 << lane for lane in on)
            group = harness.GroupsAlike((harness.ThreadStart(registers, mask),))
            machine = Machine(memory, Surfaces())
            assert engine.run([0], group, machine, RunOptions(checked=False)).fault is None
            wanted = np.zeros(LANES, np.uint32)
            for lane in on:
                octets = page[start + step * lane :][:width].tobytes()
                wanted[lane] = int.from_bytes(octets, "little")
            assert out.tolist() == wanted.tolist(), (start, every)


@pytest.mark.parametrize(("stride", "size"), [(2, "d32"), (0, "d8u32"), (0, "d16u32")])
def test_rows_within_a_page_are_loaded_as_a_whole(stride: int, size: str) -> None:
    kernel = harness.assemble(text_of(stride, size), "pvc")
    registers = ((kernel.place("V42"), np.arange(LANES, dtype=np.uint16).tobytes()),)
    start = harness.ThreadStart(registers, (1 << LANES) - 1)
    rows = jit.Prepared(kernel.linked).code.traits.rows
    starts = SharedStarts((start,), (), (), (0, 0, 0), (1, 1, 1))
    inputs = Inputs(kernel.linked, rows).shapes(starts)
    version = Version(full=False, slm_bytes=0, inputs=inputs, checked=False)
    assert f", {PAGE}\n" in ModuleWriter(kernel.linked, version).write().text
