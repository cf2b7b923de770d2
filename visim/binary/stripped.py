"""Recognises objects whose vISA code was taken out, so that only Gen code is left of their kernels.

Drivers carry such files: each kernel keeps its inputs, which say where its arguments go, and Gen
code. The header and the object say where instructions were and how many, or that there are none.
"""

from __future__ import annotations

from bisect import bisect_right

from visim.binary.isaheader import Header, KernelEntry
from visim.binary.symbols import WIDE_INPUT_COUNT
from visim.diag import ByteSpan
from visim.errors import InputError
from visim.isa.codecs import WIDE_NUMBERS
from visim.layout import Reader
from visim.target import PLATFORMS

_INPUT_BYTES = 5
"""What an input takes besides the number of its variable."""


def check_whole(data: bytes, name: str, header: Header) -> None:
    """Check that the kernels of the file `name` have their instructions.

    Raises:
        InputError: the code of one was taken out.
    """
    starts = sorted(place.offset for place in header.places)
    for kernel in header.kernels:
        following = bisect_right(starts, kernel.place.offset)
        limit = starts[following] if following < len(starts) else len(data)
        if kernel.native and _is_stripped(Reader(data, name), kernel, header, limit):
            known = _platforms(kernel)
            raise InputError(
                f"kernel {kernel.name} has no vISA code, it was taken out of the file or the file "
                f"is damaged; there is Gen code{known}, which visim extract writes to a file",
                ByteSpan(name, kernel.place.offset),
            )


def _is_stripped(reader: Reader, kernel: KernelEntry, header: Header, limit: int) -> bool:
    """Whether the kernel's instructions would begin with its object, or end behind `limit`."""
    width = 4 if header.version >= WIDE_NUMBERS else 2
    reader.position = kernel.input_offset
    try:
        count = reader.unsigned(4 if header.version >= WIDE_INPUT_COUNT else 1)
        reader.take(count * (_INPUT_BYTES + width))
        size, entry = reader.unsigned(4), reader.unsigned(4)
    except InputError:
        return False
    return entry == 0 or kernel.place.offset + entry + size > limit


def _platforms(kernel: KernelEntry) -> str:
    codes = {code for code, _place in kernel.native}
    names = [entry.name for entry in PLATFORMS if codes & set(entry.gen_codes)]
    return f" for {', '.join(names)}" if names else ""


__all__ = ["check_whole"]
