"""What a kernel reaches by states: the surfaces of its binding table and others, and its samplers.

Owns where the driver has put their states, and the memory of those while a kernel runs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from struct import unpack

from visim.binary.zebin import ZeKernel
from visim.device.address_space import AddressSpace
from visim.device.bindless import States
from visim.device.commands import Field
from visim.device.image_states import (
    BUFFER,
    FORMAT,
    NULL,
    RAW,
    SAMPLER_WORDS,
    STATE_WORDS,
    TYPE,
    BorrowedImage,
    read_image,
    read_sampler,
)
from visim.device.streamer import Bases
from visim.device.walker import ComputeWalk
from visim.errors import UnsupportedError
from visim.machine.allocations import Allocation
from visim.machine.sampling import Address
from visim.machine.surfaces import Bounds, Surfaces
from visim.runtime.arguments.parameters import parameters

_ENTRY_BYTES = 4
_SIZE_LOW, _SIZE_MIDDLE, _SIZE_HIGH = Field(2, 6, 0), Field(2, 29, 16), Field(3, 31, 21)
_ADDRESS_BITS = (1 << 48) - 1


@contextmanager
def bound_surfaces(
    space: AddressSpace, kernel: ZeKernel, walk: ComputeWalk, bases: Bases, states: States
) -> Generator[Surfaces]:
    """Lend the surfaces that a kernel reaches through states, and its samplers.

    Args:
        space: the VM's memory.
        kernel: the kernel.
        walk: says where its binding table and its samplers are.
        bases: where the heaps of states are.
        states: the states that it finds by offsets in its payload.

    Raises:
        UnsupportedError: one of them is of a kind that is not known here.
        PageFault: the table or a state is nowhere.
    """
    surfaces = Surfaces(Bounds.FAULT)
    images: list[BorrowedImage] = []
    for index, (name, place) in _places(space, kernel, walk, bases, states).items():
        words = _words(space, place, STATE_WORDS)
        if not any(words):
            continue  # The driver has not written it: the kernel takes the pointer.
        kind = TYPE.of(words)
        if kind == BUFFER and FORMAT.of(words) == RAW:
            surfaces.bind_allocation(index, _buffer(space, words, name))
        elif kind != NULL:
            image = _image(space, words, name)
            surfaces.bind_image(index, image.memory, name)
            images.append(image)
    for index, (name, place) in _sampler_places(kernel, walk, bases, states).items():
        _bind_sampler(space, surfaces, index, name, place, bases.dynamic)
    try:
        yield surfaces
    finally:
        for image in images:
            image.give_back()


def _bound(kernel: ZeKernel) -> dict[int, str]:
    """Return what stands in a kernel's binding table: arguments, and the program's variables."""
    named = parameters(kernel)
    found = {entry.bti_value: named[entry.arg_index].name for entry in kernel.binding_table}
    of_program = {"const_base": "constants", "global_base": "variables"}
    for entry in kernel.payload:
        if entry.bti_value >= 0 and entry.arg_type in of_program:
            found[entry.bti_value] = f"{of_program[entry.arg_type]} of the program"
    return found


def _places(
    space: AddressSpace, kernel: ZeKernel, walk: ComputeWalk, bases: Bases, states: States
) -> dict[int, tuple[str, int]]:
    """Return the names of surfaces, and where their states are, by their numbers."""
    found: dict[int, tuple[str, int]] = {}
    for index, name in _bound(kernel).items():
        place = bases.binding_pool + walk.binding_table + _ENTRY_BYTES * index
        found[index] = name, bases.surface + space.load(place)
    for index, state in states.surfaces.items():
        found[index] = state.name, bases.bindless_surface + state.offset
    return found


def _sampler_places(
    kernel: ZeKernel, walk: ComputeWalk, bases: Bases, states: States
) -> dict[int, tuple[str, int]]:
    """Return the names of samplers, those of the source among them, and where their states are."""
    indices = {entry.sampler_index for entry in kernel.payload if entry.sampler_index >= 0}
    indices |= {sampler.sampler_index for sampler in kernel.inline_samplers}
    found = {
        index: (
            f"sampler {index} of {kernel.name!r}",
            bases.dynamic + walk.samplers + 4 * SAMPLER_WORDS * index,
        )
        for index in sorted(indices)
    }
    heap = bases.bindless_sampler or bases.dynamic
    return found | {
        index: (state.name, heap + state.offset) for index, state in states.samplers.items()
    }


def _words(space: AddressSpace, address: int, count: int) -> Sequence[int]:
    return memoryview(space.read(address, 4 * count)).cast("I").tolist()


def _buffer(space: AddressSpace, words: Sequence[int], name: str) -> Allocation:
    """Return the memory of a buffer's state."""
    size = _SIZE_LOW.of(words) | _SIZE_MIDDLE.of(words) << 7 | _SIZE_HIGH.of(words) << 21
    address = (words[8] | words[9] << 32) & _ADDRESS_BITS
    holder = space.find(address)
    first = address - holder.start
    host = holder.host[first : first + size + 1]
    return Allocation(name, host, holder.is_writable, 0, address)


def _image(space: AddressSpace, words: Sequence[int], name: str) -> BorrowedImage:
    state = read_image(words, name)
    holder = space.find(state.address, state.nbytes)
    first = state.address - holder.start
    return BorrowedImage(state, holder.host[first : first + state.nbytes])


def _bind_sampler(
    space: AddressSpace, surfaces: Surfaces, index: int, name: str, place: int, colours: int
) -> None:
    """Bind a sampler; `colours` is the heap in which border colours are.

    Of two kernels with the same code one may name a sampler that the code does not use, and either
    may be found for the other. So a state that means nothing is refused where it is used.
    """
    try:
        state, border = read_sampler(_words(space, place, SAMPLER_WORDS), name)
    except UnsupportedError as error:
        surfaces.refuse_sampler(index, str(error))
        return
    if state.address is Address.CLAMP:
        red, green, blue, alpha = unpack("<4f", space.read(colours + border, 16))
        state = replace(state, border=(red, green, blue, alpha))
    surfaces.bind_sampler(index, state, name)
