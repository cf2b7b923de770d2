"""Small vISA kernels that move data: where each channel goes is said by a stride."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import visim
from visim.timing import Timing, TimingResult

ONE_XE_CORE = {"eus": 8, "memory": 0}
"""One subslice that does not wait for instructions: what it shares is all there is."""

_VARIABLES = (
    ".decl LANE v_type=G type=uw num_elts=32 align=GRF",
    ".decl A v_type=G type=ud num_elts=32 align=GRF",
    ".decl G v_type=G type=ud num_elts=1 align=dword",
    ".decl S v_type=G type=f num_elts=32 align=GRF",
    *(f".decl D{i} v_type=G type=f num_elts=32 align=GRF" for i in range(8)),
)
_LANES = (
    "mov (M1_NM, 8) LANE(0,0)<1> 0x76543210:v",
    "add (M1_NM, 8) LANE(0,8)<1> LANE(0,0)<1;1,0> 0x8:uw",
    "add (M1_NM, 16) LANE(0,16)<1> LANE(0,0)<1;1,0> 0x10:uw",
)


def kernel(
    body: Sequence[str],
    *,
    simd: int = 16,
    platform: str = "bmg",
    declarations: Sequence[str] = (),
    attributes: Sequence[str] = (),
) -> visim.Kernel:
    """Return a kernel with LANE, the numbers of its channels, and A, S, D0 to D7 to use."""
    lines = [".version 4.1", '.kernel "k"', *_VARIABLES, *declarations]
    lines += [f".kernel_attr SimdSize={simd}", *attributes, *_LANES, *body, "ret (M1, 1)"]
    return visim.assemble("\n".join(lines) + "\n", platform=platform).kernels[0]


def addresses(stride: int, *, simd: int = 16, per_group: int | None = None) -> list[str]:
    """Return what puts into A where each channel is: `stride` bytes apart, and after the groups."""
    apart = simd * stride if per_group is None else per_group
    return [
        f"mul (M1_NM, {simd}) A(0,0)<1> LANE(0,0)<1;1,0> 0x{stride:x}:ud",
        f"mul (M1_NM, 1) G(0,0)<1> %group_id_x(0,0)<0;1,0> 0x{apart:x}:ud",
        f"add (M1_NM, {simd}) A(0,0)<1> A(0,0)<1;1,0> G(0,0)<0;1,0>",
    ]


def ahead(distance: int, *, simd: int = 16) -> str:
    """Return what moves all addresses."""
    return f"add (M1_NM, {simd}) A(0,0)<1> A(0,0)<1;1,0> 0x{distance:x}:ud"


def load(number: int, *, unit: str = "ugm", simd: int = 16) -> str:
    """Return a load of a dword a channel from A into a variable."""
    place = "flat[A]:a32" if unit == "slm" else "bti(0x0)[A]:a32"
    return f"lsc_load.{unit} (M1, {simd}) D{number}:d32 {place}"


def store(number: int, *, unit: str = "ugm", simd: int = 16) -> str:
    """Return a store of a dword a channel from a variable at A."""
    place = "flat[A]:a32" if unit == "slm" else "bti(0x0)[A]:a32"
    return f"lsc_store.{unit} (M1, {simd}) {place} D{number}:d32"


def use(number: int, *, simd: int = 16) -> str:
    """Return what adds a variable to S."""
    return f"add (M1, {simd}) S(0,0)<1> S(0,0)<1;1,0> D{number}(0,0)<1;1,0>"


def observed(
    program: visim.Kernel,
    arch: str,
    groups: int,
    *,
    group_size: int = 1,
    words: int = 1 << 20,
    engine: str | None = None,
    **options: Any,
) -> Timing:
    """Return what watched `groups` groups of a kernel, with a surface of so many words."""
    timing = Timing(arch, **options)
    surfaces = {0: np.zeros(words, np.uint32)} if "bti(0x0)" in (program.source or "") else {}
    program.launch(
        [],
        thread_groups=groups,
        group_size=group_size,
        surfaces=surfaces,
        observers=[timing],
        engine=engine,
    )
    return timing


def timed(
    program: visim.Kernel,
    arch: str,
    groups: int,
    *,
    group_size: int = 1,
    words: int = 1 << 20,
    registers: int | None = None,
    **parameters: Any,
) -> TimingResult:
    """Return what `groups` groups of a kernel take on one Xe core, other numbers apart."""
    chosen = {**ONE_XE_CORE, **parameters}
    found = observed(
        program, arch, groups, group_size=group_size, words=words, registers=registers,
        parameters=chosen,
    )  # fmt: skip
    return found.result
