"""Surface states as the driver writes them: what a kernel's binding table holds.

Owns the fields of RENDER_SURFACE_STATE. Linear buffers are bound; images are not there yet.
"""

from __future__ import annotations

from collections.abc import Sequence

from visim.binary.zebin import ZeKernel
from visim.device.address_space import AddressSpace
from visim.device.commands import Field
from visim.device.streamer import Bases
from visim.device.walker import ComputeWalk
from visim.errors import UnsupportedError
from visim.machine.allocations import Allocation
from visim.machine.surfaces import Surfaces

_STATE_WORDS, _ENTRY_BYTES = 16, 4
_BUFFER, _NULL = 4, 7
_TYPE = Field(0, 31, 29)
_SIZE_LOW, _SIZE_MIDDLE, _SIZE_HIGH = Field(2, 6, 0), Field(2, 29, 16), Field(3, 31, 21)
_ADDRESS_BITS = (1 << 48) - 1


def bound_surfaces(
    space: AddressSpace, kernel: ZeKernel, walk: ComputeWalk, bases: Bases
) -> Surfaces:
    """Return the surfaces that a kernel reaches through its binding table.

    Raises:
        UnsupportedError: one of them is an image, or the kernel has samplers.
        PageFault: the table or a state is nowhere.
    """
    surfaces = Surfaces()
    _refuse_images(kernel)
    for entry in kernel.binding_table:
        place = bases.binding_pool + walk.binding_table + _ENTRY_BYTES * entry.bti_value
        state = bases.surface + space.load(place)
        words = memoryview(space.read(state, 4 * _STATE_WORDS)).cast("I").tolist()
        found = _buffer(space, words, f"argument {entry.arg_index} of {kernel.name!r}")
        if found is not None:
            surfaces.bind_allocation(entry.bti_value, found)
    return surfaces


def _refuse_images(kernel: ZeKernel) -> None:
    has_images = any(entry.image_type or entry.sampler_index >= 0 for entry in kernel.payload)
    if has_images or kernel.inline_samplers:
        raise UnsupportedError(
            f"kernel {kernel.name!r} uses images or samplers, which visim exec does not have yet; "
            "run it with visim run, or with Kernel.launch from Python"
        )


def _buffer(space: AddressSpace, words: Sequence[int], name: str) -> Allocation | None:
    """Return the memory of a buffer's state, None for the null surface."""
    kind = _TYPE.of(words)
    if kind == _NULL:
        return None
    if kind != _BUFFER:
        raise UnsupportedError(f"{name}: surfaces of type {kind} are not supported")
    size = _SIZE_LOW.of(words) | _SIZE_MIDDLE.of(words) << 7 | _SIZE_HIGH.of(words) << 21
    address = (words[8] | words[9] << 32) & _ADDRESS_BITS
    holder = space.find(address)
    first = address - holder.start
    host = holder.host[first : first + size + 1]
    return Allocation(name, host, holder.is_writable, 0, address)
