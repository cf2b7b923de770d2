"""Claims as LLVM IR: where accesses to memory are compared with those before, by which function.

Lanes in rows, or at one place, are told by the first address of each row; others by all addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from visim.engine.claims import CHANNEL_SHIFT, SEVERAL_ITEMS
from visim.engine.jit.ir.shapes import Shape, ShapeWriter
from visim.engine.jit.ir.text import signed
from visim.engine.jit.writing.claimfunctions import PIECE, ClaimCall
from visim.engine.jit.writing.values import Values
from visim.sem.effects import Claim, Fill

_MOST_PLACES = 4
"""So many places that several lanes share are looked at one after another."""
_ADDRESS_BITS = 64


def write_claim(values: Values, effect: Claim) -> None:
    """Write a claim; whether it is suspicious becomes known to the values."""
    text, lanes = values.text, effect.addresses.lanes
    own = values.scalar(effect.own)
    mask = values.mask_bits(effect.mask, lanes)
    call = ClaimCall(
        effect.verb,
        effect.is_local,
        lanes,
        effect.bytes,
        effect.first,
        effect.words,
        effect.bits,
        effect.launch,
    )
    known = values.shape(effect.addresses, effect.mask)
    rows = None if known is None else _rows(values, call, known, own, mask)
    if rows is None:
        found = _anywhere(values, call, effect, own, mask)
    elif rows.straight is None:
        found = rows.write()
    else:
        straight, bent, join = text.labels("straight", "bent", "join")
        values.value(effect.addresses)
        text.likely(rows.straight, straight, bent)
        text.label(straight)
        one, before = rows.write(), text.block
        text.jump(join)
        text.label(bent)
        other, after = _anywhere(values, call, effect, own, mask), text.block
        text.jump(join)
        text.label(join)
        found = text.let(f"phi i1 [ {one}, %{before} ], [ {other}, %{after} ]")
    values.loaded[id(effect)] = [text.let(f"insertelement <1 x i1> poison, i1 {found}, i64 0")]


def _anywhere(values: Values, call: ClaimCall, effect: Claim, own: str, mask: str) -> str:
    """Write a claim of lanes anywhere; return whether it is suspicious."""
    call.make(values.library)
    given = f"<{call.lanes} x i64> {values.value(effect.addresses)}"
    return values.text.let(f"call i1 @{call.name}(i64 {own}, {given}, i64 {mask})")


def _rows(values: Values, call: ClaimCall, shape: Shape, own: str, mask: str) -> _Rows | None:
    """Return how to write a claim whose lanes are in rows, or all at one place; else None."""
    form, writer = shape.form, ShapeWriter(values.text)
    is_one_place = form.step == 0 and call.verb != "store"
    if form.ragged or form.bits != _ADDRESS_BITS or call.lanes % form.piece:
        return None
    if not is_one_place and (form.stride != call.bytes or form.piece < PIECE):
        return None
    if is_one_place and call.lanes // form.piece > _MOST_PLACES:
        return None
    tests = [one for core in shape.cores for one in writer.straight(form, core)]
    if "false" in tests:
        return None
    straight = values.text.all_of(tests) if tests else None
    starts = [writer.first(shape, number) for number in range(len(shape.cores))]
    return _Rows(values, call, form.piece, starts, own, mask, straight, is_one_place)


@dataclass(frozen=True, slots=True)
class _Rows:
    """A claim of rows of `piece` lanes, or of places that so many lanes share.

    `straight` is whether lanes are where `starts` say; None: they are.
    """

    values: Values
    call: ClaimCall
    piece: int
    starts: list[str]
    own: str
    mask: str
    straight: str | None
    is_one_place: bool

    def write(self) -> str:
        """Write the calls; return whether any is suspicious."""
        text, call, found = self.values.text, self.call, "false"
        for number, start in enumerate(self.starts):
            first = number * self.piece
            own, mask, lanes = self.own, self.mask, self.piece
            if len(self.starts) > 1:
                moved = text.let(f"lshr i64 {mask}, {first}")
                mask = text.let(f"and i64 {moved}, {(1 << self.piece) - 1}")
            part = replace(call, lanes=lanes, first=None if call.first is None else 0)
            if call.first is not None:
                own = text.let(f"or i64 {own}, {call.channel(first) << CHANNEL_SHIFT}")
            if self.is_one_place and lanes > 1:
                own, mask = self._shared(own, mask)
                part = replace(part, lanes=1)
            part.make_row(self.values.library)
            given = f"i64 {own}, i64 {start}, i64 {mask}"
            one = text.let(f"call i1 @{part.name}.row({given})")
            found = one if found == "false" else text.let(f"or i1 {found}, {one}")
        return found

    def _shared(self, own: str, mask: str) -> tuple[str, str]:
        """Return the word and the mask for a place that lanes share: the lowest one's."""
        text = self.values.text
        some = text.let(f"zext i1 {text.let(f'icmp ne i64 {mask}, 0')} to i64")
        if self.call.first is None:
            return own, some
        zeros = self.values.library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        lane = text.let(f"call i64 {zeros}(i64 {mask}, i1 false)")
        lane = text.let(f"and i64 {lane}, {self.piece - 1}")
        own = text.let(f"or i64 {own}, {text.let(f'shl i64 {lane}, {CHANNEL_SHIFT}')}")
        if self.call.verb != "load":
            return own, some
        lower = text.let(f"sub i64 {mask}, 1")
        others = text.let(f"icmp ne i64 {text.let(f'and i64 {mask}, {lower}')}, 0")
        mark = text.let(f"select i1 {others}, i64 {SEVERAL_ITEMS}, i64 0")
        return text.let(f"or i64 {own}, {mark}"), some


def write_fill(values: Values, effect: Fill) -> None:
    """Write a fill of shadow memory."""
    text = values.text
    size = values.scalar(effect.size)
    address = text.let(f"inttoptr i64 {values.scalar(effect.address)} to ptr")
    octet = signed(effect.octet, 8)
    text.do(f"call void @llvm.memset.p0.i64(ptr {address}, i8 {octet}, i64 {size}, i1 false)")


__all__ = ["write_claim", "write_fill"]
