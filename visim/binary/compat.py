"""Which device a zebin is for, by what its notes say.

Facts: zebin specification, elf.md, section notes; the numbers are in `visim.devices`.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.binary.elf import ElfNote, refuse
from visim.target import (
    PLATFORMS,
    Platform,
    platform_of_core,
    platform_of_family,
    platform_of_graphics,
)

_OWNER = "IntelGT"
_PRODUCT, _CORE, _CONFIG = 1, 2, 6


def platform_of_notes(notes: Sequence[ElfNote], file: str) -> Platform | None:
    """Return the device that the notes of a zebin name, None if they name none.

    The product counts first, then the graphics version; files of the vector back end have 0 as
    their product, and name only the family.

    Raises:
        InputError: they name one that the table of devices lacks.
    """
    numbers = {
        note.kind: int.from_bytes(note.data[:4], "little")
        for note in reversed(notes)
        if note.owner == _OWNER
    }
    product, config = numbers.get(_PRODUCT, 0), numbers.get(_CONFIG)
    version = (config >> 22, config >> 14 & 0xFF) if config is not None else None
    found = platform_of_family(product)
    if found is None and version is not None:
        found = platform_of_graphics(*version)
    core = numbers.get(_CORE, 0)
    if found is None and not product:
        found = platform_of_core(core)
    if found is None and (product or version or core):
        raise _unknown(product, version, core, file)
    return found


def _unknown(product: int, version: tuple[int, int] | None, core: int, file: str) -> Exception:
    said = [f"product {product}"] if product else []
    said += [f"graphics version {version[0]}.{version[1]}"] if version is not None else []
    said += [f"core family {core:#x}"] if core else []
    known = "; ".join(f"{one.name}: {_numbers(one)}" for one in PLATFORMS)
    return refuse(
        "unknown-product",
        f"the zebin is for a device that visim does not know ({', '.join(said)})",
        file,
        help=f"compile it for one of these devices (and products): {known}",
    )


def _numbers(one: Platform) -> str:
    return ", ".join(str(number) for number in dict.fromkeys(sold.family for sold in one.products))
