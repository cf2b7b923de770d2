"""What pointers of the source point to, in each channel.

A pointer has an address for each channel. Debug data say which pointers are to local memory; all
other addresses are those of flat memory, in which private variables are, too, once they have one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.binary.dwarf.types import SourceType, Target
from visim.debug.engine.memory import HOST, SLM
from visim.debug.naming.operations import Unplaced
from visim.debug.naming.placing import LOCAL_BITS, Load
from visim.debug.naming.values import SourceValue, Spot, Spots


class Pointers:
    """Follows pointers.

    Args:
        flat, local: memories.
    """

    def __init__(self, flat: Load, local: Load) -> None:
        self._flat, self._local = flat, local

    def follow(self, pointer: SourceValue, index: Any = 0) -> SourceValue:
        """Return what a pointer points to, or an element from there on.

        Args:
            pointer: one whose type has a target.
            index: the element's number, one for all channels or one for each.

        Raises:
            Unplaced: the pointer is not known.
        """
        target, addresses = target_of(pointer), pointer.array()
        if addresses is pointer:
            raise Unplaced("this pointer is not known here")
        lost = np.ma.getmaskarray(addresses).copy()
        kind, width = target.type, pointer.width
        step = np.broadcast_to(np.asarray(index), (width,)).astype(np.int64) * kind.size
        places = np.ma.getdata(addresses).astype(np.int64) + step
        octets, spots = np.zeros((width, kind.size), np.uint8), Spots.nowhere(width, kind.size)
        for lane in np.flatnonzero(~lost).tolist():
            try:
                data, spot = self._load(target, int(places[lane]), kind.size)
            except Unplaced:
                lost[lane] = True
                continue
            octets[lane] = data
            spots.put(lane, 0, spot)
        return SourceValue(kind, octets, np.ones(kind.size, np.bool_), spots, lost)

    def _load(self, target: Target, address: int, size: int) -> tuple[NDArray[np.uint8], Spot]:
        if not target.is_local:
            try:
                return self._flat(address, size), Spot(HOST, address, size)
            except Unplaced:
                # Generic pointers to local memory have a mark (docs/spec-notes-machine.md).
                if address >> LOCAL_BITS != 1:
                    raise
        place = address & (1 << LOCAL_BITS) - 1
        return self._local(place, size), Spot(SLM, place, size)


def target_of(pointer: SourceValue) -> Target:
    """Return what a pointer points to.

    Raises:
        Unplaced: it is no pointer, or to what has no size.
    """
    target = pointer.type.target
    if target is None or not target.type.size:
        raise Unplaced(f"{pointer.type.name} points to nothing that can be shown")
    return target


def moved(pointer: SourceValue, count: Any) -> SourceValue:
    """Return a pointer that many elements further."""
    target, addresses = target_of(pointer), pointer.array()
    if addresses is pointer:
        raise Unplaced("this pointer is not known here")
    step = np.asarray(np.ma.getdata(count)).astype(np.int64) * target.type.size
    places = np.ma.getdata(addresses).astype(np.int64) + step
    lost = np.ma.getmaskarray(addresses) | np.ma.getmaskarray(count)
    return at(pointer.type, places, lost)


def at(kind: SourceType, addresses: NDArray[np.int64], lost: Any = None) -> SourceValue:
    """Return a pointer of a type that holds addresses, and is nowhere itself."""
    octets: NDArray[np.uint8] = (
        np.ascontiguousarray(addresses, "<i8").view(np.uint8).reshape(-1, 8)[:, : kind.size]
    )
    spots = Spots.nowhere(len(octets), kind.size)
    return SourceValue(kind, octets, np.ones(kind.size, np.bool_), spots, lost)


__all__ = ["Pointers", "at", "moved", "target_of"]
