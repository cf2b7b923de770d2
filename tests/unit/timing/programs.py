"""Small vISA kernels whose timing can be worked out by hand."""

from __future__ import annotations

import visim
from visim.timing import Timing

ALONE = {"eus": 1, "cores_per_subslice": 1, "l1_cores": 1}
"""One core, so that all threads share it."""
FREE_FETCH = {"memory": 0}


def kernel(body, *, simd=8, variables=24, platform="skl", declarations=(), attributes=()):
    """Return a kernel of float variables V32, V33, ... and the given instructions."""
    lines = [".version 4.1", '.kernel "k"']
    lines += [
        f".decl V{32 + i} v_type=G type=f num_elts={simd} align=GRF" for i in range(variables)
    ]
    lines += declarations
    lines += [f".kernel_attr SimdSize={simd}", *attributes]
    lines += [*body, "ret (M1, 1)"]
    return visim.assemble("\n".join(lines) + "\n", platform=platform).kernels[0]


def multiply(target, source, *, simd=8):
    """Return the text of a product of two variables, by their numbers."""
    return f"mul (M1, {simd}) V{target}(0,0)<1> V{source}(0,0)<1;1,0> V{source}(0,0)<1;1,0>"


def multiply_add(target, a, b, c, *, simd=8):
    """Return the text of a multiply-add, by the variables' numbers."""
    return f"mad (M1, {simd}) V{target}(0,0)<1> V{a}(0,0)<1;1,0> V{b}(0,0)<1;1,0> V{c}(0,0)<1;1,0>"


def chain(length, *, simd=8, platform="skl"):
    """Return a kernel of products that wait for each other."""
    return kernel([multiply(32, 32, simd=simd)] * length, simd=simd, platform=platform)


def timed(program, arch, threads=1, *, preset=None, group_size=1, **parameters):
    """Return what `threads` groups of a kernel take on one core."""
    timing = Timing(arch, preset=preset, parameters={**ALONE, **parameters})
    program.launch([], thread_groups=threads, group_size=group_size, observers=[timing])
    return timing.result


PASSES = 6


def loop(instructions):
    """Return a loop of that many native instructions, the four of its control included."""
    counter = [".decl V90 v_type=G type=d num_elts=1 align=dword", ".decl P1 v_type=P num_elts=1"]
    body = ["mov (M1_NM, 1) V90(0,0)<1> 0x0:d", "top:"]
    body += [multiply(40 + i % 10, 32) for i in range(instructions - 3)]
    body += [
        "add (M1_NM, 1) V90(0,0)<1> V90(0,0)<0;1,0> 0x1:d",
        f"cmp.lt (M1_NM, 1) P1 V90(0,0)<0;1,0> 0x{PASSES:x}:d",
        "(P1) jmp (M1_NM, 1) top",
    ]
    return kernel(body, declarations=counter)
