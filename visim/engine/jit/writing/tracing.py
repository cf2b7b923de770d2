"""What native code notes for observers: the blocks that a thread executes, and its accesses.

Each thread has a buffer for either. Native code appends to them and asks the host, who is in
`watching`, to empty them when one is full. Nothing of this is in code that nobody watches.
"""

from __future__ import annotations

from visim.engine.accesses import AccessSite, where
from visim.engine.jit.ir.shapes import ShapeWriter
from visim.engine.jit.ir.storage import vector_bits
from visim.engine.jit.ir.text import numbers, scalar_type
from visim.engine.jit.layout import DRAIN, Thread
from visim.engine.jit.writing.frame import UnitFrame
from visim.engine.jit.writing.values import Values
from visim.engine.jit.writing.versions import ACCESSES, GROUPS, PATHS, WATCHES
from visim.sem.effects import Effect, Watch
from visim.sem.expr import Expr

_GROUP_WORDS = 2
_ROOM = f"""
define internal ptr @log_room(ptr %ctx, ptr %thread, i64 %bytes) noinline #0 {{
entry:
  %lp = getelementptr i64, ptr %thread, i64 {int(Thread.LOG)}
  %at = load ptr, ptr %lp
  %after = getelementptr i8, ptr %at, i64 %bytes
  %ep = getelementptr i64, ptr %thread, i64 {int(Thread.LOG_END)}
  %end = load ptr, ptr %ep
  %fits = icmp ule ptr %after, %end
  br i1 %fits, label %take, label %drain
drain:
  %answer = call i32 @host(ptr %ctx, ptr %thread, i64 {DRAIN}, i64 0, i64 0)
  %empty = load ptr, ptr %lp
  br label %take
take:
  %place = phi ptr [ %at, %entry ], [ %empty, %drain ]
  %next = getelementptr i8, ptr %place, i64 %bytes
  store ptr %next, ptr %lp
  ret ptr %place
}}
"""
"""`log_room` returns room in a thread's log; if there is none, the host empties the log first."""


class TraceWriter:
    """Writes the notes of one unit."""

    def __init__(self, unit: UnitFrame) -> None:
        self.unit = unit
        self.text = unit.text
        self.wanted = unit.module.version.watched

    def block(self, number: int) -> None:
        """Note that a block was executed."""
        if PATHS not in self.wanted:
            return
        text = self.text
        field = text.let(f"getelementptr i64, ptr %thread, i64 {int(Thread.TRACE)}")
        place = text.let(f"load ptr, ptr {field}, align 8")
        text.do(f"store i32 {number}, ptr {place}, align 4")
        after = text.let(f"getelementptr i32, ptr {place}, i64 1")
        text.do(f"store ptr {after}, ptr {field}, align 8")
        last = text.let(f"getelementptr i64, ptr %thread, i64 {int(Thread.TRACE_END)}")
        end = text.let(f"load ptr, ptr {last}, align 8")
        full, on = text.fresh("full"), text.fresh("on")
        text.unlikely(text.let(f"icmp eq ptr {after}, {end}"), full, on)
        text.label(full)
        text.let(f"call i32 @host(ptr %ctx, ptr %thread, i64 {DRAIN}, i64 0, i64 0)")
        text.jump(on)
        text.label(on)

    def effect(self, values: Values, effect: Effect, pc: int) -> None:
        """Note that an access, or a synchronization, is about to be done."""
        if not {ACCESSES, WATCHES} & {*self.wanted}:
            return
        if WATCHES in self.wanted and not isinstance(effect, Watch):
            return
        module = self.unit.module
        number = module.watched_sites.number(self.unit.unit.number, pc, effect)
        if number is None:
            return
        site, head = module.watched_sites.sites[number], str(number)
        module.library.functions["log_room"] = _ROOM
        index, addresses, mask = where(effect)
        if isinstance(effect, Watch):
            self._watch(values, effect, number, site)
            return
        if index is not None:
            wide = self.text.let(f"zext i32 {values.scalar(index)} to i64")
            shifted = self.text.let(f"shl i64 {wide}, 32")
            head = self.text.let(f"or i64 {shifted}, {head}")
        words = [("i64", head)]
        if addresses is not None:
            words += [("i64", name) for name in self._masks(values, mask, site.lanes)]
            words.append(self._addresses(values, addresses, mask, site))
        self._put(words, site)

    def _watch(self, values: Values, effect: Watch, number: int, site: AccessSite) -> None:
        """Note what a `Watch` tells, if any of its lanes is on."""
        text, mask = self.text, effect.mask
        masks = self._masks(values, mask, site.lanes)
        words = [*self._group(values, effect), ("i64", str(number))]
        words += [("i64", name) for name in masks]
        words.append(self._addresses(values, effect.values, mask, site))
        if mask is None:
            self._put(words, site)
            return
        every = masks[0]
        for other in masks[1:]:
            every = text.let(f"or i64 {every}, {other}")
        some, join = text.labels("some", "join")
        text.unlikely(text.let(f"icmp ne i64 {every}, 0"), some, join)
        text.label(some)
        self._put(words, site)
        text.jump(join)
        text.label(join)

    def _group(self, values: Values, effect: Watch) -> list[tuple[str, str]]:
        """Return the words with the coordinates of the group, where they are wanted."""
        if GROUPS not in self.wanted:
            return []
        if effect.group is None:
            raise TypeError(f"watch {effect.name!r} does not say its group")
        text = self.text
        wide = [text.let(f"zext i32 {values.scalar(one)} to i64") for one in effect.group]
        upper = text.let(f"shl i64 {wide[1]}, 32")
        return [("i64", text.let(f"or i64 {wide[0]}, {upper}")), ("i64", wide[2])]

    def _put(self, words: list[tuple[str, str]], site: AccessSite) -> None:
        text, size = self.text, site.words + (_GROUP_WORDS if GROUPS in self.wanted else 0)
        room = text.let(f"call ptr @log_room(ptr %ctx, ptr %thread, i64 {8 * size})")
        for number, (kind, name) in enumerate(words):
            place = text.let(f"getelementptr i64, ptr {room}, i64 {number}")
            text.do(f"store {kind} {name}, ptr {place}, align 8")

    def _masks(self, values: Values, mask: Expr | None, lanes: int) -> list[str]:
        """Return a mask as numbers of 64 bits."""
        if lanes <= 64:
            return [values.mask_bits(mask, lanes)]
        known = values.mask(mask)
        if known is None:
            known = numbers("i1", [1] * lanes)
        return [
            vector_bits(self.text, self._lanes(known, lanes, first), min(64, lanes - first))
            for first in range(0, lanes, 64)
        ]

    def _lanes(self, vector: str, lanes: int, first: int) -> str:
        return self.text.shuffle("i1", lanes, vector, range(first, min(first + 64, lanes)))

    def _addresses(
        self, values: Values, addresses: Expr, mask: Expr | None, site: AccessSite
    ) -> tuple[str, str]:
        """Return the type and the name of the addresses as numbers of 64 bits."""
        text, lanes, kind = self.text, site.lanes, scalar_type(addresses.type)
        if lanes == 1:
            name, source, target = values.scalar(addresses), kind, "i64"
        else:
            shape = values.shape(addresses, mask)
            known = ShapeWriter(text).vector(shape) if shape else values.value(addresses)
            name, source, target = known, f"<{lanes} x {kind}>", f"<{lanes} x i64>"
        return target, name if kind == "i64" else text.let(f"zext {source} {name} to {target}")


__all__ = ["TraceWriter"]
