"""Where the variables of a unit live in native code, and how places in them are read and written.

With split storage every variable is an alloca of its own, which LLVM dissolves into registers; all
that indirect operands can reach are one. A program that reaches beyond a variable with others has
one register image in memory instead. Predicates are bit masks, 64 bits each, in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from visim.engine.base import Coordinate
from visim.engine.jit.ir.masks import Masks
from visim.engine.jit.ir.places import Field, field_of, is_repeated, place_offsets
from visim.engine.jit.ir.text import Text, numbers, scalar_type, signed, splat
from visim.linker.places import PREDICATE_BYTES, root_bytes
from visim.linker.program import LinkedKernel, LinkedUnit
from visim.operands import General
from visim.sem.effects import Place
from visim.types import DataType

_LINE = 64
_REACHED = "reached"
_FIXED = "%fixed"
FIXED_HOME = f"{_FIXED}.home"
"""Where variables are that are left in memory."""


@dataclass
class Storage:
    """The variables of one unit while a function of it is written.

    `image` is the pointer to the whole register image, or None with split storage; `shared` is
    the pointer to the part of an image that functions share: predefined and file-scope variables,
    and what indirect operands reach. `chain` is the number of the chain of nodes that is written: a
    variable of one chain that is written as a whole before all else starts with nothing, which
    spares LLVM a search through all blocks for where the start's value goes. `chain` 0 says that
    all start with a value.
    """

    kernel: LinkedKernel
    unit: LinkedUnit
    text: Text
    image: str | None = None
    shared: str | None = None
    chain: int = 0
    generals: dict[str, tuple[str, int, int]] = field(
        default_factory=dict[str, tuple[str, int, int]]
    )
    others: dict[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    predicates: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    _homes: dict[str, int] = field(default_factory=dict[str, int])
    _fixed: dict[str, int] = field(default_factory=dict[str, int])
    _fixed_bytes: int = 0
    _places: dict[int, str] = field(default_factory=dict[int, str])

    # Pointers

    def fix(self, variable: General) -> None:
        """Leave a variable in memory, for code that indexes it.

        With others that are left there it has one start, which LLVM does not know: so it takes no
        part of them into registers, nor loads in front of a loop what the loop may write. What
        indirect operands reach is in memory in any case.
        """
        if self.kernel.is_reached(self.unit, variable):
            return
        self.pointer(variable, 0)
        name, size, _ = self.generals.get(_key(variable), ("", 0, 0))
        if name and name not in self._fixed:  # what indirect operands reach is in memory
            self._fixed[name] = self._fixed_bytes
            self._fixed_bytes += -(-size // _LINE) * _LINE

    def fixed(self, variable: General, offset: int) -> tuple[str, int]:
        """Return a pointer that variables which are left in memory share, and a byte's distance."""
        name, _, _ = self.generals.get(_key(variable), ("", 0, 0))
        if name not in self._fixed:
            return self.pointer(variable, offset), 0
        return _FIXED, self._fixed[name] + offset

    def pointer(self, variable: General, offset: int) -> str:
        """Return a pointer to byte `offset` of a root variable."""
        place = self.kernel.offset(self.unit, variable)
        if self.image is not None:
            return self.text.at(self.image, place + offset)
        if self.kernel.is_reached(self.unit, variable):
            return self._in_reach(place + offset)
        if self.shared is not None and variable.is_shared:
            return self.text.at(self.shared, place + offset)
        key = _key(variable)
        if self._homes.setdefault(key, 0) != self.chain:
            self._homes[key] = 0
        if key not in self.generals:
            size = root_bytes(variable, self.kernel.platform.grf_bytes)
            self.generals[key] = (f"%g{len(self.generals)}", size, place)
        return self.text.at(self.generals[key][0], offset)

    def reached(self) -> str:
        """Return the pointer to what indirect operands reach, as addresses count from there."""
        whole = self.image or self.shared
        if whole is not None:
            return whole
        self._homes[_REACHED] = 0
        return self.generals.setdefault(
            _REACHED, (f"%g{len(self.generals)}", self.kernel.reached_bytes, 0)
        )[0]

    def _in_reach(self, offset: int) -> str:
        """Return the pointer to a byte of what indirect operands reach, one for the function.

        LLVM looks at all pointers into such memory whenever it drops one, as loads become known.
        """
        self.reached()
        return self._places.setdefault(offset, f"%reached.{len(self._places)}")

    def element(self, name: str, number: int, count: int) -> str:
        """Return a pointer to an element of an address, surface or sampler variable."""
        known, size, place = self.others.get(name, ("", 0, 0))
        if not known:
            known, place = f"%o{len(self.others)}", self.unit.others[name]
        self.others[name] = (known, max(size, 4 * (number + count)), place)
        return self.text.at(known, 4 * number)

    def bits(self, name: str) -> str:
        """Return the pointer to the 64 bits of a predicate variable."""
        new = len(self.predicates), self.unit.others[name]
        return f"%p{self.predicates.setdefault(name, new)[0]}"

    # Places

    def read(self, place: Place) -> str:
        """Return the elements of a place as a vector."""
        offsets, size = place_offsets(place), place.type.bytes
        scalar, lanes = scalar_type(place.type), place.lanes
        if is_repeated(place):
            pointer = self.pointer(place.variable, offsets[0])
            one = self.text.let(f"load {scalar}, ptr {pointer}, align 1")
            return self.text.spread(scalar, lanes, one)
        field = field_of(place, self.kernel.platform.grf_bytes)
        if field is not None:
            return cut_field(self.text, self._load_lanes(place, field), field, place.type, lanes)
        span = _span(offsets, size)
        if span is None:
            return self._read_singly(place, offsets)
        count, picks = span
        found = self.load(place, min(offsets), count)
        return self.text.shuffle(scalar, count, found, picks)

    def load(self, place: Place, offset: int, count: int) -> str:
        """Return `count` successive elements from byte `offset` of the place's variable on."""
        pointer = self.pointer(place.variable, offset)
        scalar = scalar_type(place.type)
        return self.text.let(f"load <{count} x {scalar}>, ptr {pointer}, align 1")

    def _load_lanes(self, place: Place, field: Field) -> str:
        pointer = self.pointer(place.variable, field.offset)
        return self.text.let(f"load <{place.lanes} x i{field.bits}>, ptr {pointer}, align 1")

    def _read_singly(self, place: Place, offsets: Sequence[int]) -> str:
        scalar, lanes = scalar_type(place.type), place.lanes
        vector = "poison"
        for lane, offset in enumerate(offsets):
            pointer = self.pointer(place.variable, offset)
            one = self.text.let(f"load {scalar}, ptr {pointer}, align 1")
            vector = self.text.let(
                f"insertelement <{lanes} x {scalar}> {vector}, {scalar} {one}, i64 {lane}"
            )
        return vector

    def write(self, place: Place, value: str, mask: str | None) -> None:
        """Write a vector to a place in the lanes of `mask` (None: all)."""
        offsets, size = place_offsets(place), place.type.bytes
        scalar, lanes, text = scalar_type(place.type), place.lanes, self.text
        field = field_of(place, self.kernel.platform.grf_bytes)
        if field is not None:
            self._write_field(place, field, value, mask)
            return
        span = _span(offsets, size)
        if len(set(offsets)) != lanes or span is None:
            self._write_singly(place, offsets, value, mask)
            return
        count, picks = span
        vector = f"<{count} x {scalar}>"
        if count == lanes and mask is None:
            if lanes * size == root_bytes(place.variable, self.kernel.platform.grf_bytes):
                self._homes.setdefault(_key(place.variable), self.chain)
            pointer = self.pointer(place.variable, min(offsets))
            text.do(f"store {vector} {value}, ptr {pointer}, align 1")
            return
        old = self._kept(place, self.load(place, min(offsets), count), vector)
        if mask is not None:
            before = text.shuffle(scalar, count, old, picks)
            before = text.apart(scalar, lanes, before)
            narrow = f"<{lanes} x {scalar}>"
            value = text.let(f"select <{lanes} x i1> {mask}, {narrow} {value}, {narrow} {before}")
        if count != lanes:
            value = self._spread(scalar, lanes, value, old, count, picks)
        pointer = self.pointer(place.variable, min(offsets))
        text.do(f"store {vector} {value}, ptr {pointer}, align 1")

    def _kept(self, place: Place, old: str, vector: str) -> str:
        """Return what a masked write leaves in lanes that are off, of a variable in memory.

        LLVM makes masked stores of selecting and storing to where the other lanes come from, which
        take some processors as long as ten others. What is frozen is no longer known to do so.
        """
        if self.image is None and not self.kernel.is_reached(self.unit, place.variable):
            return old
        return self.text.let(f"freeze {vector} {old}")

    def _write_field(self, place: Place, field: Field, value: str, mask: str | None) -> None:
        text, lanes, vector = self.text, place.lanes, f"<{place.lanes} x i{field.bits}>"
        old = self._kept(place, self._load_lanes(place, field), vector)
        new = put_field(text, old, value, field, place.type, lanes)
        if mask is not None:
            old = text.apart(f"i{field.bits}", lanes, old)
            new = text.let(f"select <{lanes} x i1> {mask}, {vector} {new}, {vector} {old}")
        pointer = self.pointer(place.variable, field.offset)
        text.do(f"store {vector} {new}, ptr {pointer}, align 1")

    def _spread(
        self, scalar: str, lanes: int, value: str, old: str, count: int, picks: list[int]
    ) -> str:
        """Return `old`, of `count` elements, with the lanes of `value` put in their positions."""
        text = self.text
        where = {position: lane for lane, position in enumerate(picks)}
        wide = text.shuffle(scalar, lanes, value, [where.get(p, 0) for p in range(count)])
        order = [count + p if p in where else p for p in range(count)]
        return text.shuffle_two(scalar, count, old, wide, order)

    def _write_singly(
        self, place: Place, offsets: Sequence[int], value: str, mask: str | None
    ) -> None:
        """Write element by element, so that of lanes that share bytes the last one stays."""
        scalar, lanes, text = scalar_type(place.type), place.lanes, self.text
        for lane, offset in enumerate(offsets):
            one = text.let(f"extractelement <{lanes} x {scalar}> {value}, i64 {lane}")
            pointer = self.pointer(place.variable, offset)
            if mask is not None:
                bit = text.let(f"extractelement <{lanes} x i1> {mask}, i64 {lane}")
                old = text.let(f"load {scalar}, ptr {pointer}, align 1")
                one = text.let(f"select i1 {bit}, {scalar} {one}, {scalar} {old}")
            text.do(f"store {scalar} {one}, ptr {pointer}, align 1")

    # Predicates

    def load_bits(self, name: str) -> str:
        """Return all bits of a predicate variable as i64."""
        return self.text.let(f"load i64, ptr {self.bits(name)}")

    def write_bits(
        self,
        name: str,
        offset: int,
        lanes: int,
        value: str,
        mask: str | None,
        kept: str | None = None,
    ) -> str:
        """Write the low bits of an i64 to a predicate variable from bit `offset` on.

        `mask` has the bits to write, also from bit 0 on; None stands for all. `kept` are the other
        bits if they are known. Return these.
        """
        text, pointer = self.text, self.bits(name)
        if mask is None:
            mask = str(signed((1 << lanes) - 1, 64))
        else:
            value = text.let(f"and i64 {value}, {mask}")
        if offset:
            value = text.let(f"shl i64 {value}, {offset}")
            mask = text.let(f"shl i64 {mask}, {offset}")
        if kept is None:
            others = text.let(f"xor i64 {mask}, -1")
            kept = text.let(f"and i64 {self.load_bits(name)}, {others}")
        text.do(f"store i64 {text.let(f'or i64 {kept}, {value}')}, ptr {pointer}")
        return kept

    # Allocation

    def spans(self) -> Iterator[tuple[int, int]]:
        """Return where the parts of the image that variables have begin, and their sizes."""
        for _, size, place in (*self.generals.values(), *self.others.values()):
            yield place, size
        for _, place in self.predicates.values():
            yield place, PREDICATE_BYTES

    def allocations(self, filled: Callable[[int, int], str | None], masks: Masks) -> list[str]:
        """Return the instructions that make and fill the variables, for the function's entry.

        `filled` says for a part of the register image, by its place and size, the pointer to the
        image to start from; None starts with zeros. `masks` is where predicates are.
        """
        lines: list[str] = []
        if self._fixed:
            lines.append(f"  {FIXED_HOME} = alloca [{self._fixed_bytes} x i8], align {_LINE}")
            lines.append(f'  {_FIXED} = call ptr asm "", "=r,0"(ptr {FIXED_HOME}) memory(none)')
        empty = {name for key, (name, _, _) in self.generals.items() if self._homes[key]}
        for name, size, place in (*self.generals.values(), *self.others.values()):
            if name in self._fixed:
                lines.append(f"  {name} = getelementptr i8, ptr {_FIXED}, i64 {self._fixed[name]}")
            else:
                lines.append(f"  {name} = alloca [{size} x i8], align {_LINE}")
            if name not in empty:
                lines.extend(_filling(name, size, place, filled(place, size)))
        for offset, name in self._places.items():
            lines.append(f"  {name} = getelementptr i8, ptr {self.reached()}, i64 {offset}")
        for number, place in self.predicates.values():
            lines.append(masks.variable(f"%p{number}", 64))
            source = filled(place, PREDICATE_BYTES)
            lines.extend(_bits_filling(f"%p{number}", place, source))
        return lines

    def coordinates(self, places: Sequence[Coordinate]) -> list[str]:
        """Return the instructions that write the coordinates of the thread's group to registers."""
        lines: list[str] = []
        for number, place in enumerate(places):
            found = self._holding(place.offset)
            if found is None:
                continue
            name, value = f"%coordinate.{number}", f"%group.{place.axis}"
            lines.append(f"  {name} = getelementptr i8, ptr {found[0]}, i64 {found[1]}")
            if place.y_scale:
                lines.append(f"  {name}.y = mul i32 %group.1, {place.y_scale}")
                lines.append(f"  {name}.v = add i32 {value}, {name}.y")
                value = f"{name}.v"
            if place.size < 4:
                lines.append(f"  {name}.low = trunc i32 {value} to i{8 * place.size}")
                value = f"{name}.low"
            lines.append(f"  store i{8 * place.size} {value}, ptr {name}, align 1")
        return lines

    def _holding(self, place: int) -> tuple[str, int] | None:
        """Return the pointer and the offset of a place of the image; None if nobody reads it."""
        if self.image is not None:
            return self.image, place
        for name, size, first in self.generals.values():
            if first <= place < first + size:
                return name, place - first
        return None

    def saving(self, image: str) -> list[str]:
        """Return the instructions that write all variables back to the image."""
        lines: list[str] = []
        for name, size, place in (*self.generals.values(), *self.others.values()):
            lines.append(f"  {name}.out = getelementptr i8, ptr {image}, i64 {place}")
            lines.append(copying(f"{name}.out", name, size))
        for number, place in self.predicates.values():
            p, wide = f"%p{number}", f"<{PREDICATE_BYTES} x i8>"
            lines.append(f"  {p}.w = load <64 x i1>, ptr {p}")
            lines.append(f"  {p}.x = zext <64 x i1> {p}.w to {wide}")
            lines.append(f"  {p}.y = getelementptr i8, ptr {image}, i64 {place}")
            lines.append(f"  store {wide} {p}.x, ptr {p}.y, align 1")
        return lines


def _key(variable: General) -> str:
    return f"file {variable.name}" if variable.is_file_scope else str(variable.index)


def cut_field(text: Text, wide: str, field: Field, kind: DataType, lanes: int) -> str:
    """Return the elements that are a field of the lanes of `wide`."""
    vector, narrow = f"<{lanes} x i{field.bits}>", f"<{lanes} x i{kind.bits}>"
    if field.shift:
        wide = text.let(f"lshr {vector} {wide}, {splat(f'i{field.bits}', lanes, field.shift)}")
    found = text.let(f"trunc {vector} {wide} to {narrow}")
    scalar = scalar_type(kind)
    if scalar.startswith("i"):
        return found
    return text.let(f"bitcast {narrow} {found} to <{lanes} x {scalar}>")


def put_field(text: Text, wide: str, value: str, field: Field, kind: DataType, lanes: int) -> str:
    """Return lanes whose field is `value`, with what else `wide` has."""
    vector, narrow = f"<{lanes} x i{field.bits}>", f"<{lanes} x i{kind.bits}>"
    lane, scalar = f"i{field.bits}", scalar_type(kind)
    if not scalar.startswith("i"):
        value = text.let(f"bitcast <{lanes} x {scalar}> {value} to {narrow}")
    value = text.let(f"zext {narrow} {value} to {vector}")
    if field.shift:
        value = text.let(f"shl {vector} {value}, {splat(lane, lanes, field.shift)}")
    others = signed(~((1 << kind.bits) - 1 << field.shift), field.bits)
    kept = text.let(f"and {vector} {wide}, {splat(lane, lanes, others)}")
    return text.let(f"or {vector} {kept}, {value}")


def bits_vector(text: Text, bits: str, offset: int, lanes: int) -> str:
    """Return bits of an i64 as a vector of i1."""
    if offset:
        bits = text.let(f"lshr i64 {bits}, {offset}")
    if not text.tests_bits or lanes < 4:
        narrow = text.let(f"trunc i64 {bits} to i{lanes}") if lanes < 64 else bits
        return text.let(f"bitcast i{lanes} {narrow} to <{lanes} x i1>")
    width = 32 if lanes <= 32 else 64
    low = text.let(f"trunc i64 {bits} to i32") if width == 32 else bits
    vector = f"<{lanes} x i{width}>"
    each = numbers(f"i{width}", [signed(1 << lane, width) for lane in range(lanes)])
    picked = text.let(f"and {vector} {text.spread(f'i{width}', lanes, low)}, {each}")
    return text.let(f"icmp ne {vector} {picked}, zeroinitializer")


def vector_bits(text: Text, vector: str, lanes: int) -> str:
    """Return a vector of i1 as the low bits of an i64."""
    narrow = text.let(f"bitcast <{lanes} x i1> {vector} to i{lanes}")
    return text.let(f"zext i{lanes} {narrow} to i64") if lanes < 64 else narrow


@lru_cache(maxsize=4096)
def _span(offsets: tuple[int, ...], size: int) -> tuple[int, list[int]] | None:
    """Return how many elements cover all offsets and where each lane is, if that is dense."""
    low = min(offsets)
    if any((offset - low) % size for offset in offsets):
        return None
    picks = [(offset - low) // size for offset in offsets]
    count = max(picks) + 1
    return None if count > max(64, 4 * len(offsets)) else (count, picks)


def _filling(name: str, size: int, place: int, filled: str | None) -> list[str]:
    if filled is None:
        return [f"  call void @llvm.memset.p0.i64(ptr align 64 {name}, i8 0, i64 {size}, i1 false)"]
    return [
        f"  {name}.in = getelementptr i8, ptr {filled}, i64 {place}",
        copying(name, f"{name}.in", size),
    ]


def copying(target: str, source: str, size: int) -> str:
    """Return the instruction that copies so many bytes."""
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)"


def _bits_filling(name: str, place: int, filled: str | None) -> list[str]:
    if filled is None:
        return [f"  store i64 0, ptr {name}"]
    wide = f"<{PREDICATE_BYTES} x i8>"
    return [
        f"  {name}.in = getelementptr i8, ptr {filled}, i64 {place}",
        f"  {name}.b = load {wide}, ptr {name}.in, align 1",
        f"  {name}.c = icmp ne {wide} {name}.b, zeroinitializer",
        f"  {name}.d = bitcast <64 x i1> {name}.c to i64",
        f"  store i64 {name}.d, ptr {name}",
    ]
