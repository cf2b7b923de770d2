"""What happens in a loop that channels can run apart: each does it for itself, or all the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from visim.engine.jit.analysis.apart import Region
from visim.engine.jit.analysis.bindings import Bindings
from visim.engine.jit.analysis.blocks import Step
from visim.engine.jit.analysis.callouts import is_called_out
from visim.engine.jit.analysis.flow import Flow, Key, Node, is_uniform
from visim.engine.jit.analysis.lanes import Row, channel_of, channel_within, is_between, row_of
from visim.engine.jit.analysis.lanewise import Accesses, Bits, LaneWise, is_own, is_uniform_value
from visim.engine.jit.analysis.walks import address_of
from visim.engine.jit.ir.places import is_repeated, place_span
from visim.sem.effects import (
    Effect,
    Goto,
    Load,
    LoadBlock,
    Place,
    Store,
    WritePredicate,
    WriteRegister,
    WriteState,
)
from visim.sem.expr import Expr, below
from visim.sem.uops import Group

_Single = tuple[int, int, int]
"""A value that all channels share: its variable, its first byte and the byte behind it."""


class Contents:
    """Looks at the instructions of a loop, and notes what they read and write."""

    def __init__(self, region: Region, flow: Flow, channels: int) -> None:
        self._region = region
        region.parts = _parts(region)
        self._flow = flow
        self._channels = channels
        self._lane_wise = LaneWise(lambda _: False, dynamic=False)
        self._spans: dict[int, set[tuple[int, int, Row | _Single]]] = {}
        self._written = set[Row | _Single]()
        self._for_all = set[Row | Bits]()
        self._places: dict[Row, Place] = {}
        self._wanted = set[Row | Bits]()
        self._set = set[Row | Bits]()
        self._chooses = False
        self._alike = set[Bits]()

    def fit(self) -> bool:
        """Whether channels can run the loop apart; if so, the region is complete."""
        known: dict[int, set[Row | Bits]] = {self._region.header.key[1]: set()}
        for node in self._region.nodes:
            defined = set(known[node.key[1]])
            bindings = Bindings()
            self._alike.clear()
            for number, step in enumerate(node.block.steps):
                if not self._step(node, number, step, defined, bindings):
                    return False
            if not self._transfer(node, defined):
                return False
            for target in self._flow.edges[node.key]:
                known[target[1]] = known.get(target[1], defined) & defined
        return self._is_apart() and self._finish()

    # Instructions

    def _step(
        self,
        node: Node,
        number: int,
        step: Step,
        defined: set[Row | Bits],
        bindings: Bindings,
    ) -> bool:
        """Note an instruction, in front of which some rows are written in this turn."""
        if step.refusal is not None or not step.effects:
            return step.refusal is None
        if all(isinstance(effect, WriteState) for effect in step.effects):
            self._chooses = True
            for effect in step.effects:
                bindings.note(effect)
            return all(map(_chooses_known, step.effects))
        if all(_is_single(effect) for effect in step.effects):
            if node.key not in self._region.steady:
                return False
            return all(self._single(node, number, each, bindings) for each in step.effects)
        found = self._accesses(step)
        if found is None:
            return False
        self._read(found, defined)
        return all(self._effect(node, number, e, defined, bindings) for e in step.effects)

    def _accesses(self, step: Step) -> Accesses | None:
        """Return what an instruction reads and writes, if it is lane-wise."""
        changing = [effect for effect in step.effects if isinstance(effect, Store)]
        rest = [effect for effect in step.effects if not isinstance(effect, Store)]
        found = self._lane_wise.accesses(rest, self._channels)
        for one in changing:
            roots = [one.addresses, *one.values]
            for root in roots if one.mask is None else [*roots, one.mask]:
                if found is None or not self._lane_wise.stays(root, self._channels, found, set()):
                    return None
        return found

    def _effect(
        self,
        node: Node,
        number: int,
        effect: Effect,
        defined: set[Row | Bits],
        bindings: Bindings,
    ) -> bool:
        """Whether channels may do an effect each for itself; note what it loads and writes."""
        match effect:
            case Load() as load:
                if channel_within(load.mask) is None:  # channels that have left load too
                    return False
                self._region.loads.append((node, number, load))
                return self._knows(load, bindings)
            case Store() as store:
                self._region.stores.append((node, number, store))
                return self._knows(store, bindings)
            case WriteRegister(place=place, mask=mask) if is_own(place.variable):
                row = row_of(place)
                if row is None:
                    return False
                self._written.add(self._note(place, row))
                self._write(row, mask, defined)
            case WritePredicate(variable=variable, offset=offset, mask=mask):
                self._write((variable.name, offset), mask, defined)
                self._alike.discard((variable.name, offset))
                if mask is None and _is_alike(effect.value):
                    self._alike.add((variable.name, offset))
            case _:
                return False
        return True

    def _knows(self, effect: Load | LoadBlock | Store, bindings: Bindings) -> bool:
        """Whether a message is done by the kernel's own code; note the surfaces it may mean."""
        if is_called_out(effect) or not _is_known(effect.surface, bindings):
            return False
        self._region.bindings[id(effect)] = replace(bindings, known=dict(bindings.known))
        return True

    def _write(self, what: Row | Bits, mask: Expr | None, defined: set[Row | Bits]) -> None:
        whole, elements = self._whole(what), _elements(what)
        self._set.add(whole)
        if channel_within(mask) is None:
            self._for_all.add(whole)
        if mask is not None and channel_of(mask) is None and not elements <= defined:
            self._wanted.add(whole)
            return
        defined |= elements

    def _read(self, found: Accesses, defined: set[Row | Bits]) -> None:
        for place, row in found.reads:
            self._note(place, row)
            if row is not None and not _elements(row) <= defined:
                self._wanted.add(self._region.whole(row))
        self._wanted.update(bits for bits in found.read_bits if bits not in defined)

    def _whole(self, what: Row | Bits) -> Row | Bits:
        return self._region.whole(what) if isinstance(what, Row) else what

    def _single(self, node: Node, number: int, effect: Effect, bindings: Bindings) -> bool:
        """Whether all channels share what an effect does; note what it reads and writes."""
        if isinstance(effect, Load | LoadBlock):
            found, address = Accesses(), address_of(effect)
            if not is_uniform_value(address, found) or not self._knows(effect, bindings):
                return False
            self._read(found, set())
            self._region.shared.append((node, number, effect))
            return True
        if not isinstance(effect, WriteRegister) or not is_own(effect.place.variable):
            return False
        found, place = Accesses(), effect.place
        if not _is_block(effect.value) and not is_uniform_value(effect.value, found, loads=True):
            return False
        self._read(found, set())
        single = self._note(place, None)
        self._written.add(single)
        if place not in self._region.singles:
            self._region.singles.append(place)
        return True

    def _transfer(self, node: Node, defined: set[Row | Bits]) -> bool:
        goto = node.block.transfer
        if not isinstance(goto, Goto) or goto.mask is None:
            return True
        if is_uniform(goto.mask):
            return self._bits_of(goto.mask.args[0]) <= self._alike
        found = Accesses()
        if not self._lane_wise.stays(goto.mask, self._channels, found, set()):
            return False
        self._read(found, defined)
        return True

    def _bits_of(self, expr: Expr) -> set[Bits]:
        """Return the bits of which a condition of one lane is made; names that are none else."""
        if expr.uop.name == "predicate":
            return {(expr.attribute[0].name, expr.attribute[1])}
        if expr.uop.group is Group.LEAF or expr.lanes != 1:
            return {("", 0)}
        return {bits for arg in expr.args for bits in self._bits_of(arg)}

    def _note(self, place: Place, row: Row | None) -> Row | _Single:
        """Note that a place is used, as a row, or part of one, or as what all channels share."""
        first, end = place_span(place)
        what = (place.variable.index, first, end) if row is None else self._region.whole(row)
        self._spans.setdefault(place.variable.index, set()).add((first, end, what))
        if row is not None:
            self._places.setdefault(row, place)
        return what

    # All together

    def _is_apart(self) -> bool:
        """Whether no row that is written has elements in common with something else.

        What all channels share stays where it is, whatever is read of it.
        """
        return not any(
            first < end
            and low < high
            and one != other
            and (isinstance(one, Row) or isinstance(other, Row))
            and not (isinstance(one, Row) and isinstance(other, Row) and is_between(one, other))
            for spans in self._spans.values()
            for low, end, one in spans
            if one in self._written
            for first, high, other in spans
        )

    def _finish(self) -> bool:
        """Note what comes in and what goes out; whether only channels that run are written."""
        region, inside = self._region, self._region.keys()
        region.carried = self._set & self._wanted
        behind = self._flow.behind(inside) - inside
        readers = self._flow.readers
        leaving = {one for one in self._set if behind & readers.get(_name(one), set[Key]())}
        changed = leaving | self._set & self._wanted
        if any(self._flow.edges.get(key, set[Key]()) & inside for key in behind):
            leaving = changed  # channels come back, as from a loop around this one
        for what in changed | self._wanted:
            if isinstance(what, Row):
                region.entering[what] = self._places[what]
            else:
                region.bits_entering.add(what)
        rows = {row: place for row, place in region.entering.items() if row in changed}
        region.leaving = {row: place for row, place in rows.items() if row in leaving}
        region.staying = {row: place for row, place in rows.items() if row not in leaving}
        bits = {what for what in self._set | self._wanted if not isinstance(what, Row)}
        if changed & self._for_all or len({name for name, _ in bits}) < len(bits):
            return False
        return not self._chooses or _have_surfaces_at_hand(self._flow.nodes.values())


def _parts(region: Region) -> dict[Row, Row]:
    """Return the rows of a loop that are parts of others, which it writes or of which it writes."""
    by_variable, written = dict[int, set[Row]](), set[int]()
    for _, _, step in region.steps():
        for row in filter(None, map(row_of, step.places)):
            by_variable.setdefault(row.variable, set()).add(row)
        written |= {
            one.place.variable.index for one in step.effects if isinstance(one, WriteRegister)
        }
    found = dict[Row, Row]()
    for variable, rows in by_variable.items():
        for row in rows if variable in written and len(rows) > 1 else ():
            whole = max((one for one in rows if _is_part(row, one)), key=lambda one: one.size)
            if whole != row:
                found[row] = whole
    return found


def _is_part(row: Row, whole: Row) -> bool:
    """Whether each element of a row is a part of the same channel's element of another, or it."""
    same = row.lanes == whole.lanes and row.stride == whole.stride
    end = row.offset + row.size
    return same and whole.offset <= row.offset and end <= whole.offset + whole.size


def _elements(what: Row | Bits) -> set[Row | Bits]:
    """Return the rows of bytes of which a row is made; bits are what they are."""
    if not isinstance(what, Row):
        return {what}
    return {what._replace(offset=what.offset + byte, size=1) for byte in range(what.size)}


def _is_alike(expr: Expr) -> bool:
    """Whether a lane-wise value is the same for all channels."""
    leaves = [one for one in below((expr,)) if one.uop.group is Group.LEAF]
    return all(
        one.uop.name == "constant" or (one.uop.name == "read" and is_repeated(one.attribute))
        for one in leaves
    )


def _is_single(effect: Effect) -> bool:
    if isinstance(effect, Load | LoadBlock):
        return address_of(effect).lanes == 1 and effect.mask is None
    if not isinstance(effect, WriteRegister) or effect.mask is not None:
        return False
    return effect.place.lanes == 1 or _is_block(effect.value)


def _is_block(value: Expr) -> bool:
    """Whether a value is a block that is loaded."""
    return value.uop.name == "loaded" and isinstance(value.attribute[0], LoadBlock)


def _name(what: Row | Bits) -> int | str:
    """Return the number of a row's variable, or the name of a predicate."""
    return what.variable if isinstance(what, Row) else what[0]


def _chooses_known(effect: Effect) -> bool:
    """Whether an instruction chooses a surface whatever happens, by its number."""
    if not isinstance(effect, WriteState) or effect.mask is not None:
        return False
    return effect.value.lanes == 1 and effect.value.uop.name == "constant"


def _is_known(surface: Expr | None, bindings: Bindings) -> bool:
    """Whether a message goes to a surface that is known when code is made, or to none."""
    return surface is None or bindings.number(surface) is not None


def _have_surfaces_at_hand(nodes: Iterable[Node]) -> bool:
    """Whether blocks choose surfaces themselves before they use them."""
    for node in nodes:
        chosen = set[tuple[str, int]]()
        for step in node.block.steps:
            for expr in step.expressions:
                if expr.uop.name == "state":
                    variable, element = expr.attribute
                    if any((variable.name, element + n) not in chosen for n in range(expr.lanes)):
                        return False
            for effect in step.effects:
                if isinstance(effect, WriteState):
                    first, lanes = effect.element, effect.value.lanes
                    chosen.update((effect.variable.name, first + n) for n in range(lanes))
    return True
