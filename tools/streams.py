"""Kernels that go through memory, and the bandwidth that the timing model gives them.

A part of the machine is simulated: one subslice with its share of the L3 and of memory, which is
what each gets where all of them do the same. The L3 is a small one, for the model's arrays are
small: what is measured does not fit into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

import visim
from visim.timing import Timing, TimingResult, find_machine
from visim.timing.machine import Machine

_LANES = 16
_WORD = 4
_SMALL_L3 = 1 << 16
_WAVES = 2
"""Threads for each slot."""


@dataclass(frozen=True)
class Stream:
    """What a thread does: `loads` and `stores` of a word a channel, and `work` between them.

    Its messages go through one array, all threads one message after the other; or each channel
    has a row of words for itself, which it goes through (`misaligned`). `counted` are the bytes
    that the measured program counts for a thread, 0 those of its messages. `l3` is the size of the
    L3, None for the part's own.
    """

    loads: int
    stores: int = 0
    work: int = 0
    counted: int = 0
    misaligned: bool = False
    l3: int | None = _SMALL_L3


STREAMS: Mapping[str, Stream] = {
    "read": Stream(16),
    "write": Stream(0, 16),
    "triad": Stream(16, 8),
    "misaligned read": Stream(16, misaligned=True, l3=None),
    "misaligned write": Stream(0, 16, misaligned=True, l3=None),
    "lbm": Stream(19, 19, work=60, counted=_LANES * 153),
}
"""By name; "lbm" is a D3Q19 lattice: 19 floats of each cell read and written, 153 bytes."""


def streamed(arch: str, name: str, parameters: Mapping[str, int]) -> float:
    """Return the bandwidth of a stream on a whole device in GB/s, or million cells a second.

    Args:
        arch: the generation.
        name: one of `STREAMS`.
        parameters: numbers of the device that differ from the generation's table.
    """
    stream = STREAMS[name]
    whole = find_machine(arch).with_facts(parameters)
    parts = whole.number("eus") / whole.number("cores_per_subslice")
    result = _run(arch, name, _part(whole, stream, parts))
    bytes_of_thread = stream.counted or _LANES * _WORD * (stream.loads + stream.stores)
    cycles = result.cycles + _unwritten(stream, result)
    rate = result.threads * bytes_of_thread / cycles * parts * whole.number("clock") / 1000
    return rate * 1000 / 153 if name == "lbm" else rate


def _unwritten(stream: Stream, result: TimingResult) -> float:
    """Return the cycles in which memory takes what caches still hold of stores at the end."""
    number = result.machine.number
    stored = result.threads * _LANES * _WORD * (stream.loads + stream.stores)
    left = stored - (result.data.memory_bytes if result.data else stored)
    bus = number("dram_rate") * number("dram_share") / 100 / number("clock")
    return max(0, left) / bus


def _part(whole: Machine, stream: Stream, parts: float) -> tuple[tuple[str, int], ...]:
    """Return the numbers of one subslice with its share of what all of them have in common."""
    number = whole.number
    shared = {
        name: max(1, round(number(name) / parts)) for name in ("l3_rate", "dram_rate", "l3_banks")
    }
    l3 = round(number("l3_bytes") / parts) if stream.l3 is None else stream.l3
    own = {"eus": number("cores_per_subslice"), "l3_bytes": l3, "memory": 0}
    return tuple({**shared, **own, "clock": number("clock")}.items())


@cache
def _run(arch: str, name: str, part: tuple[tuple[str, int], ...]) -> TimingResult:
    stream, parameters = STREAMS[name], dict(part)
    has_lsc = find_machine(arch).native.version >= 125
    device = arch if has_lsc else "skl"
    threads = _WAVES * parameters["eus"] * find_machine(arch).number("slots")
    kernel = visim.assemble(_text(stream, threads, has_lsc=has_lsc), platform=device).kernels[0]
    timing = Timing(arch, parameters=parameters)
    array = np.zeros(threads * _LANES * (stream.loads + stream.stores), np.uint32)
    if has_lsc:
        surfaces = {0: array}
        kernel.launch(
            [], thread_groups=threads, group_size=1, surfaces=surfaces, observers=[timing]
        )
    else:
        kernel.launch([array], thread_groups=threads, group_size=1, observers=[timing])
    return timing.result


def _text(stream: Stream, threads: int, *, has_lsc: bool) -> str:
    """Return the kernel's text; a channel of a thread has a row of words where it is misaligned."""
    width = _LANES * _WORD
    count = stream.loads + stream.stores
    apart, thread, step = _WORD, width, width * threads
    if stream.misaligned:
        apart, thread, step = _WORD * count, width * count, _WORD
    lines = [
        ".version 4.1",
        '.kernel "k"',
        f".decl L v_type=G type=uw num_elts={_LANES} align=GRF",
        f".decl A v_type=G type=ud num_elts={_LANES} align=GRF",
        ".decl G v_type=G type=ud num_elts=1 align=dword",
        *(f".decl D{i} v_type=G type=f num_elts={_LANES} align=GRF" for i in range(count + 2)),
        *([] if has_lsc else [".decl T6 v_type=T num_elts=1", ".input T6 offset=64 size=4"]),
        f".kernel_attr SimdSize={_LANES}",
        "mov (M1_NM, 8) L(0,0)<1> 0x76543210:v",
        "add (M1_NM, 8) L(0,8)<1> L(0,0)<1;1,0> 0x8:uw",
        f"mul (M1_NM, 1) G(0,0)<1> %group_id_x(0,0)<0;1,0> 0x{thread:x}:ud",
        f"mul (M1_NM, 16) A(0,0)<1> L(0,0)<1;1,0> 0x{apart:x}:ud",
        "add (M1_NM, 16) A(0,0)<1> A(0,0)<1;1,0> G(0,0)<0;1,0>",
    ]
    ahead = f"add (M1_NM, 16) A(0,0)<1> A(0,0)<1;1,0> 0x{step:x}:ud"
    for i in range(stream.loads):
        lines += [_message("load", i, has_lsc=has_lsc), ahead]
    total = f"D{count}(0,0)<1;1,0>"
    lines += [
        f"add (M1, 16) D{count}(0,0)<1> {total} D{i}(0,0)<1;1,0>" for i in range(stream.loads)
    ]
    lines += [f"mad (M1, 16) D{count + 1}(0,0)<1> {total} {total} {total}"] * stream.work
    for i in range(stream.stores):
        lines += [_message("store", i, has_lsc=has_lsc), ahead]
    return "\n".join([*lines, "ret (M1, 1)"]) + "\n"


def _message(way: str, number: int, *, has_lsc: bool) -> str:
    """Return a load into a variable, or a store of it."""
    variable = f"D{number}"
    if has_lsc:
        place = "bti(0x0)[A]:a32"
        parts = (f"{variable}:d32", place) if way == "load" else (place, f"{variable}:d32")
        return f"lsc_{way}.ugm (M1, 16) {' '.join(parts)}"
    name = {"load": "gather4_scaled.R", "store": "scatter4_scaled.R"}[way]
    return f"{name} (M1, 16) T6 0x0:ud A.0 {variable}.0"


__all__ = ["STREAMS", "Stream", "streamed"]
