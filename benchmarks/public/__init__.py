"""The public set: kernels of our own, by family, which nobody tunes visim for one by one.

A family is a module with a table: what each kernel gets, how it is launched, and what NumPy says
that it computes. Programs are in `programs/<family>/<kernel>.cl`. They were written before any of
them was looked at for speed. What makes one of them faster is a rule for all code of its kind.
"""

from __future__ import annotations

from benchmarks.case import Benchmark
from benchmarks.public import (
    branchy,
    dense,
    fft,
    graphs,
    images,
    learning,
    particles,
    reductions,
    solvers,
    sorting,
    sparse,
    stencils,
    streaming,
    strings,
)

FAMILIES: dict[str, tuple[Benchmark, ...]] = {
    "streaming": streaming.KERNELS,
    "stencils": stencils.KERNELS,
    "dense": dense.KERNELS,
    "sparse": sparse.KERNELS,
    "reductions": reductions.KERNELS,
    "sorting": sorting.KERNELS,
    "graphs": graphs.KERNELS,
    "strings": strings.KERNELS,
    "images": images.KERNELS,
    "particles": particles.KERNELS,
    "learning": learning.KERNELS,
    "fft": fft.KERNELS,
    "solvers": solvers.KERNELS,
    "branchy": branchy.KERNELS,
}
"""The kernels of each family; its name is that of a folder of programs, too."""

PUBLIC = tuple(one for kernels in FAMILIES.values() for one in kernels)

__all__ = ["FAMILIES", "PUBLIC"]
