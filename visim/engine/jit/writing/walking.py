"""How many turns of a walk can be made one channel after the other: code in front of them.

The addresses of the first and of the last turn are computed, exactly, for all channels at once.
Nothing on the way to them may leave the range of its type. Then what the turns reach lies between:
it has to be in range of the messages' arrays, and what a channel reaches in an array to which
anything is stored may be reached by no other channel. If that does not hold, half as many turns are
looked at, since the last turns of a loop are hardly as many as an attempt has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from visim.engine.jit.analysis.walks import Access, Walk, access_bytes
from visim.engine.jit.ir.text import signed
from visim.engine.jit.writing.bounds import Bounds
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.ramps import WORD, RampWriter
from visim.sem.effects import Load, Store

_GATHERED = 4
"""How many bytes each channel moves where gathers and scatters are fast enough."""

_SHARED = 2048
"""Rows at a multiple of this distance, in bytes, share two sets of a first cache of 4 KiB a way."""


@dataclass(frozen=True, slots=True)
class _Hull:
    """What a message reaches in some turns: the host's first address, and the one behind."""

    first: str
    end: str


class WalkWriter:
    """Writes how many turns of a walk can be made apart."""

    def __init__(
        self, unit: UnitFrame, walk: Walk, bounds: Mapping[int, Bounds], name: str
    ) -> None:
        self.unit = unit
        self.text = unit.text
        self._walk = walk
        self._bounds = bounds
        self._name = name
        self._lanes = unit.kernel.simd_size
        self._ramps = RampWriter(unit, walk)

    def write(self, turns: str, most: str, abreast: int) -> None:
        """Write, to the memory `turns`, how many can be made, at most `most`.

        `abreast` channels are to go at a time, the lowest ones first.
        """
        text = self.text
        active = text.let("load i32, ptr %active")
        groups = ((1 << abreast * number) - 1 for number in range(1, self._lanes // abreast + 1))
        known = [text.let(f"icmp eq i32 {active}, {signed(mask, 32)}") for mask in groups]
        low = reduce(self._either, known)
        begin = text.let(f"select i1 {low}, i64 {most}, i64 0")
        self._halve(turns, begin, active, -1)

    def write_together(self, turns: str, most: str, least: int) -> None:
        """Write likewise how many all channels can make together: a multiple of `least`."""
        text = self.text
        begin = text.let(f"and i64 {most}, {-least}")
        self._halve(turns, begin, text.let("load i32, ptr %active"), -least)

    def _halve(self, turns: str, begin: str, active: str, whole: int) -> None:
        """Write how many turns can be made: as many as to begin with, or half as many, and so on.

        `whole` is a mask for numbers of turns.
        """
        text, name = self.text, self._name
        text.do(f"store i64 {begin}, ptr {turns}")
        found = [self._bounds[id(access.effect)] for access in self._walk.accesses]
        text.jump(f"{name}.some")
        text.label(f"{name}.some")
        count = text.let(f"load i64, ptr {turns}")
        none = text.let(f"icmp eq i64 {count}, 0")
        text.branch(none, f"{name}.known", f"{name}.try")
        text.label(f"{name}.try")
        last = text.let(f"sub i64 {count}, 1")
        hulls = self._hulls(last, found)
        self._ramps.agree(self._walk.copies.values(), last)
        fits, worth = self._possible(active, found, hulls), self._is_worth(hulls)
        text.likely(text.let(f"and i1 {fits}, {worth}"), f"{name}.known", f"{name}.fewer")
        text.label(f"{name}.fewer")
        half = text.let(f"and i64 {text.let(f'lshr i64 {count}, 1')}, {whole}")
        fewer = text.let(f"select i1 {worth}, i64 {half}, i64 0")
        text.do(f"store i64 {fewer}, ptr {turns}")
        text.jump(f"{name}.some")
        text.label(f"{name}.known")

    def _is_worth(self, hulls: list[_Hull]) -> str:
        """Return whether it is better to go abreast.

        Where the host gathers and scatters what all messages move it is, if rows share sets of
        the cache.
        """
        text, version = self.text, self.unit.module.version
        if not any(isinstance(access.effect, Store) for access in self._walk.accesses):
            return "true"
        sizes = {access_bytes(access.effect) for access in self._walk.accesses}
        if not version.has_gathers or not version.has_scatters or sizes != {_GATHERED}:
            return "true"
        tests: list[str] = []
        for access, hull in zip(self._walk.accesses, hulls, strict=True):
            if not access.address.is_own:
                continue
            vector = self._ramps.vector
            one, other = (
                text.let(f"extractelement {vector} {hull.first}, i64 {n}") for n in (0, 1)
            )
            low = text.let(f"and i64 {text.let(f'sub i64 {other}, {one}')}, {_SHARED - 1}")
            tests.append(text.let(f"icmp eq i64 {low}, 0"))
        return reduce(self._either, tests)

    def _hulls(self, last: str, found: list[Bounds]) -> list[_Hull]:
        """Return what messages reach in the turns up to number `last`."""
        accesses = self._walk.accesses
        return [self._hull(*each, last) for each in zip(accesses, found, strict=True)]

    def _possible(self, active: str, found: list[Bounds], hulls: list[_Hull]) -> str:
        """Return whether the turns can be made apart."""
        text, accesses = self.text, self._walk.accesses
        for number, access in enumerate(accesses):
            if not isinstance(access.effect, Store):
                continue
            for other, one in enumerate(accesses):
                if other <= number or isinstance(one.effect, Load):
                    tests = [self._keep_away(self._joined(hulls[number], hulls[other]), active)]
                    if other != number:
                        pair = (found[number], access), (found[other], one)
                        tests.append(self._are_apart(*pair))
                    self._ramps.all_fit.append(reduce(self._either, tests))
        bits = self._bits(self._ramps.every_fit())
        out = text.let(f"and i32 {active}, {text.let(f'xor i32 {bits}, -1')}")
        return text.all_of([*self._ramps.all_fit, text.let(f"icmp eq i32 {out}, 0")])

    def _either(self, one: str, other: str) -> str:
        return self.text.let(f"or i1 {one}, {other}")

    def _bits(self, vector: str) -> str:
        bits = self.text.let(f"bitcast <{self._lanes} x i1> {vector} to i{self._lanes}")
        return bits if self._lanes == 32 else self.text.let(f"zext i{self._lanes} {bits} to i32")

    # What messages reach

    def _hull(self, access: Access, bounds: Bounds, last: str) -> _Hull:
        """Return what a message reaches in the host's memory; note whether it may."""
        text, size = self.text, access_bytes(access.effect)
        ends = [self._ramps.value_of_all(access.address, at) for at in ("", last)]
        if access.way < 0:
            ends.reverse()
        start, limit, host = map(self._ramps.spread, (bounds.start, bounds.limit, bounds.host))
        offsets = [text.let(f"sub {self._ramps.vector} {one}, {start}") for one in ends]
        for offset in offsets:
            self._ramps.fits.append(text.let(f"icmp ult {self._ramps.vector} {offset}, {limit}"))
        first, final = (text.let(f"add {self._ramps.vector} {one}, {host}") for one in offsets)
        return _Hull(
            first, text.let(f"add {self._ramps.vector} {final}, {self._ramps.spread(str(size))}")
        )

    def _joined(self, one: _Hull, other: _Hull) -> _Hull:
        if one is other:
            return one
        return _Hull(
            self._ramps.combined("smin", one.first, other.first),
            self._ramps.combined("smax", one.end, other.end),
        )

    def _keep_away(self, hull: _Hull, active: str) -> str:
        """Return whether what channels reach rises, or falls, from one to the next."""
        text, lanes = self.text, self._lanes
        following = [min(lane + 1, lanes - 1) for lane in range(lanes)]
        first, end = (text.shuffle(WORD, lanes, one, following) for one in (hull.first, hull.end))
        rises = text.let(f"icmp ule {self._ramps.vector} {hull.end}, {first}")
        falls = text.let(f"icmp ule {self._ramps.vector} {end}, {hull.first}")
        pairs = text.let(f"lshr i32 {active}, 1")
        found = [text.let(f"xor i32 {self._bits(one)}, -1") for one in (rises, falls)]
        missing = [text.let(f"and i32 {pairs}, {one}") for one in found]
        return self._either(*(text.let(f"icmp eq i32 {one}, 0") for one in missing))

    def _are_apart(self, one: tuple[Bounds, Access], other: tuple[Bounds, Access]) -> str:
        """Return whether two messages reach arrays that have nothing in common."""
        text = self.text
        ends: list[str] = []
        for bounds, access in (one, other):
            behind = text.let(f"add i64 {bounds.host}, {bounds.limit}")
            ends.append(text.let(f"add i64 {behind}, {access_bytes(access.effect)}"))
        (a, _), (b, _) = one, other
        return self._either(
            text.let(f"icmp ule i64 {ends[0]}, {b.host}"),
            text.let(f"icmp ule i64 {ends[1]}, {a.host}"),
        )
