"""Messages to the sampler of Xe2 and later: most have parameters that share a register.

Names, numbers and parameters of those that have no page are those of IGC's tables
(getSampleOp3DName) and of its assembler's (MessageDecoderOther). How bits of a parameter are
shared, none says.
"""

from visim.isa.registry import Category
from visim.isa.sampler import UNPACKABLE, Gathered, Sampled, Unsampled, asks, load_texels
from visim.isa.table import Table
from visim.sem.tracer import Tracer

TABLE = Table(Category.SAMPLER)
# fmt: off
_PACKED = (
    ("sample_po", 32, "u v r offuvr ai"),
    ("sample_po_b", 33, "biasoffuvr u v r ai"),
    ("sample_po_l", 34, "lodoffuvr u v r ai"),
    ("sample_po_c", 35, "ref u v r offuv_r ai"),
    ("sample_po_d", 36, "u dudx dudy v dvdx dvdy r offuvr_r drdx drdy ai"),
    ("sample_po_l_c", 38, "ref lodoffuv u v r ai"),
    ("sample_po_lz", 56, "u v r offuvr ai"),
    ("sample_po_c_lz", 57, "ref u v r offuv_r ai"),
)
_PACKED_GATHERS = (
    ("sample4_po_l", 45, "lodoffuv u v r"),
    ("sample4_po_b", 46, "biasoffuv u v r"),
    ("sample4_po_i", 47, "u v r offuv"),
    ("sample4_po_i_c", 53, "ref u v r offuv_r"),
    ("sample4_po_l_c", 55, "ref lodoffuv u v r"),
)
_SHARED = (
    ("sample_d_c_mlod", 17, "ref u dudx dudy v dvdx dvdy mlod_r",
     "Compare a reference with texels at given gradients, at a level that is at least the given."),
    ("sample_po_b_c", 58, "ref biasoffuvr u v r mlod",
     "Compare a reference with texels, with a bias and moved by offsets that share a parameter."),
    ("sample_po_d_c", 59, "ref u dudx dudy v dvdx dvdy offuv_r",
     "Compare a reference with texels at given gradients, moved by offsets."),
)
# fmt: on
_LOADED = "u v r lod"
for _name, _sub, _parameters in _PACKED:
    TABLE.unexecuted(
        0x6D, _name, Sampled, sub=_sub, page="3D_SAMPLE", reason=UNPACKABLE,
        restrict=asks(_parameters),
        doc="Read an image, moved by offsets in texels that share a parameter.",
        example=f"{_name}.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 V41.0 V42.0 V43.0 V44.0",
    )  # fmt: skip
for _name, _sub, _parameters in _PACKED_GATHERS:
    TABLE.unexecuted(
        0x6F, _name, Gathered, sub=_sub, page="3D_SAMPLE4", reason=UNPACKABLE,
        restrict=asks(_parameters),
        doc="Read one component of four texels, moved by offsets that share a parameter.",
        example=f"{_name}.R (M1, 16) 0x0:uw S0 T6 V40.0 V41.0 V42.0 V43.0 V44.0",
    )  # fmt: skip
for _name, _sub, _parameters, _doc in _SHARED:
    TABLE.unexecuted(
        0x6D, _name, Sampled, sub=_sub, page="3D_SAMPLE", reason=UNPACKABLE, doc=_doc,
        restrict=asks(_parameters),
        example=f"{_name}.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 V41.0 V42.0 V43.0 V44.0",
    )  # fmt: skip


@TABLE.effect(
    0x6E, Unsampled, sub=27, page="3D_LOAD", restrict=asks(_LOADED),
    example="load_l.RGBA (M1, 16)  0x0:uw T6 V40.0 V41.0 V42.0",
)  # fmt: skip
def load_l(t: Tracer, i: Unsampled) -> None:
    """Read texels at integer coordinates and a level of detail, which stands last."""
    load_texels(t, i, _LOADED)
