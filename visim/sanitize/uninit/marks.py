"""What counts as never written when a launch begins, and what is left of that behind it."""

from __future__ import annotations

from collections.abc import Sequence

from visim.sanitize.detecting import Surroundings, Undefined
from visim.sanitize.uninit.memory import ShadowSpace


class Marks:
    """Marks shadows of buffers that callers say nobody has written, and clears all behind a run.

    Args:
        surroundings: the launch.
        space: the shadows.
        undefined: what callers say.
    """

    def __init__(
        self, surroundings: Surroundings, space: ShadowSpace, undefined: Sequence[Undefined]
    ) -> None:
        self._surroundings, self._space = surroundings, space
        self._undefined = tuple(undefined)
        space.set_table(surroundings.surfaces.items())
        for one in self._undefined:
            space.at(space.flat(one.address), one.bits.size)[:] = one.bits

    @property
    def private(self) -> tuple[tuple[int, int], ...]:
        """Where shadows of private memory are, and their bytes."""
        return tuple(
            (self._space.flat(area.start), area.size)
            for area in self._surroundings.areas
            if area.kind == "private"
        )

    def clear(self, *, everything: bool) -> None:
        """Keep which bytes of buffers are still undefined; leave shadows of flat memory zero.

        Args:
            everything: whether kernels may have stored undefined values to any buffer.
        """
        for one in self._undefined:
            shadow = self._space.at(self._space.flat(one.address), one.bits.size)
            one.bits[:] = shadow
            shadow[:] = 0
        for area in self._surroundings.areas if everything else ():
            self._space.at(self._space.flat(area.start), area.size)[:] = 0
        for start, size in self.private:
            self._space.at(start, size)[:] = 0


__all__ = ["Marks"]
