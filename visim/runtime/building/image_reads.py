"""Finds images that a program for pvc was to read, but for which the compiler left out all reads.

pvc has no samplers. `ocloc` compiles `read_imagef` and its like for it nevertheless, to nothing,
so that a kernel computes with whatever its registers hold. What is left names a surface right in
front of each message: image writes, and block reads, which the device does have.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.binary.zebin import ZeKernel
from visim.errors import UnsupportedError
from visim.linker.program import LinkedKernel
from visim.module import Unit
from visim.operands import Immediate, StateOperand, SurfaceVariable

_STORES = {"scatter4_typed", "media_st"}


def check_images_are_read(kernel: ZeKernel, linked: LinkedKernel) -> None:
    """Check that each image that a kernel's source may read is read by its code, for pvc.

    A kernel that only asks how large an image is, or ignores it, is refused as well: its code looks
    the same.

    Raises:
        UnsupportedError: no message reads an image.
    """
    if linked.platform.has_samplers:
        return
    read = {index for one in linked.units for index in _surfaces_read(one.unit)}
    if None in read:
        return
    places = {entry.arg_index: entry.bti_value for entry in kernel.binding_table}
    for entry in kernel.payload:
        if entry.image_type is None or entry.access_type == "writeonly":
            continue
        if entry.arg_index in places and places[entry.arg_index] not in read:
            names = {found.index: repr(found.name) for found in kernel.args_info if found.name}
            name = names.get(entry.arg_index, str(entry.arg_index))
            raise UnsupportedError(
                f"kernel {kernel.name!r}: argument {name} is an image that its code does not read: "
                "pvc has no samplers, and the compiler leaves out reads of images for it; build "
                "for another device, such as dg2"
            )


def _surfaces_read(unit: Unit) -> Iterator[int | None]:
    """Yield the binding table indices that messages other than stores use; None: any."""
    named: dict[SurfaceVariable, int | None] = {}
    for item in unit.body:
        match getattr(item, "dst", None), getattr(item, "src0", None):
            case StateOperand(SurfaceVariable() as variable), source if item.op.mnemonic == "movs":
                named[variable] = source.bits if isinstance(source, Immediate) else None
            case _:
                surface = getattr(item, "surface", None)
                if isinstance(surface, SurfaceVariable) and item.op.mnemonic not in _STORES:
                    yield named.get(surface)
