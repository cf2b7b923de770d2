"""Which execution sizes an instruction has where its page does not list them all (specification 6).

pvc has messages of 16 channels where the pages, written for older devices, name 8. CM's compiler
writes TYPED_ATOMIC with fewer channels than its page names, Intel's vector back end SVM_ATOMIC with
16 on all devices, and finalizers take both.
"""

from collections.abc import Mapping

from visim.target import Platform

_SIZES = (1, 2, 4, 8, 16, 32)
_TO_8, _TO_16 = _SIZES[:4], _SIZES[:5]
_BLOCKS = (8, 16)
_PIXELS = (8, 16, 32)
_BY_PAGE: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("3D_LOAD", "3D_SAMPLE", "3D_SAMPLE4", "INFO"), _PIXELS),
    **dict.fromkeys(("GATHER4_SCALED", "SCATTER4_SCALED", "RT_WRITE"), _BLOCKS),
    **dict.fromkeys(("SVM_GATHER4_SCALED", "SVM_SCATTER4_SCALED"), _BLOCKS),
    **dict.fromkeys(("DWORD_ATOMIC", "QW_GATHER", "QW_SCATTER"), _TO_16),
    **dict.fromkeys(("SVM_GATHER", "SVM_SCATTER", "SVM_ATOMIC", "MADW"), _TO_16),
    **dict.fromkeys(("GATHER4_TYPED", "SCATTER4_TYPED", "URB_WRITE"), (8,)),
    "TYPED_ATOMIC": _TO_8,
    "RT_READ": (16, 32),
    "JMP": (1,),
}
_WIDE: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("GATHER4_TYPED", "SCATTER4_TYPED"), _BLOCKS),
    "TYPED_ATOMIC": _TO_16,
}


def execution_sizes(page: str, platform: Platform | None) -> tuple[int, ...]:
    """Return the execution sizes that a page gives; `platform` None means any device."""
    sizes = _BY_PAGE.get(page, _SIZES)
    if platform is None or platform.has_wide_typed:
        return _WIDE.get(page, sizes)
    return sizes
