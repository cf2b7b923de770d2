"""Runs one message of the sampler on an image, and what a pyramid of levels holds.

Texels are multiples of 1/256 small enough for all sums to be exact, so that results are compared
as equal. Parameters stand in V100, V101, ... in the order of the pages 3D_SAMPLE and 3D_SAMPLE4.
"""

from __future__ import annotations

import numpy as np

from tests.model import images as model
from tests.model import samplers
from visim import Image, Sampler, assemble

LANES = 8
RNG = np.random.default_rng(55)


def floats(*values):
    return np.array(values, np.float32)


def mixed_coordinates(low=-0.6, high=1.6):
    return RNG.uniform(low, high, LANES).astype(np.float32)


def run(message, image, parameters, sampler=None, *, registers=4, device="tgllp", set_up=""):
    """Run a message whose operands are filled in; return the registers that it writes."""
    names = " ".join(f"V{100 + n}.0" for n in range(len(parameters)))
    text = [
        ".version 4.1",
        '.kernel "k"',
        ".decl V40 v_type=G type=f num_elts=64 align=GRF",
        ".decl V41 v_type=G type=ud num_elts=64 align=GRF alias=<V40, 0>",
        *(
            f".decl V{100 + n} v_type=G type={'d' if p.dtype.kind == 'i' else 'f'} "
            f"num_elts={LANES} align=GRF"
            for n, p in enumerate(parameters)
        ),
        ".decl T6 v_type=T num_elts=1",
        ".decl T7 v_type=T num_elts=1",
        ".decl S1 v_type=S num_elts=1",
        ".decl P1 v_type=P num_elts=8",
        *(f".input V{100 + n} offset={64 + 32 * n} size=32" for n in range(len(parameters))),
        ".kernel_attr SimdSize=8",
        "    movs (M1_NM, 1) T6(0) 0x1:ud",
        "    movs (M1_NM, 1) T7(0) 0x2:ud",
        "    movs (M1_NM, 1) S1(0) 0x3:ud",
        set_up,
        f"    {message.format(p=names)}",
        "    oword_st (8) T7 0x0:ud V40.0",
        "    oword_st (8) T7 0x8:ud V40.128",
        "    ret (M1, 1)",
    ]
    out = np.zeros(64, np.uint32)
    kernel = assemble("\n".join(text) + "\n", platform=device)["k"]
    kernel.launch(
        [parameter.tobytes() for parameter in parameters],
        surfaces={1: image, 2: out},
        samplers={3: sampler or Sampler(normalized=True)},
    )
    return out.reshape(8, 8)[:registers]


def result(message, image, parameters, sampler, **options):
    return run(message, image, parameters, sampler, **options).view(np.float32).T.tolist()


def texels(*shape):
    """Return texels R, G of steps of 1/256."""
    return (RNG.integers(0, 512, (*shape, 2)) / 256).astype(np.float32)


PYRAMID = [texels(8, 16), texels(4, 8), texels(2, 4), texels(1, 2), texels(1, 1)]
LEVELS = Image(PYRAMID[0], levels=PYRAMID[1:])
SIZES = (16, 8)


def smooth(mip="linear", chosen="linear", **options):
    return Sampler(address="clamp_to_edge", filter=chosen, normalized=True, mip=mip, **options)


def read(coordinates, *, linear=True, address="clamp_to_edge"):
    def of(level):
        return model.filtered(
            "rg:float", level, coordinates, address=address, linear=linear, normalized=True
        )

    return of


def at_levels(u, v, details, *, mip="linear", linear=True):
    """Return what channels read at levels of detail, which are limited to what there is."""
    return [
        samplers.mixed(
            "rg:float",
            PYRAMID,
            samplers.limited(float(lod), len(PYRAMID)),
            read((u[n], v[n]), linear=linear),
            linear=mip == "linear",
        )
        for n, lod in enumerate(details)
    ]
