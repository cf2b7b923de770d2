"""What can be asked of a launch that stands: a thread's names, and values by expression.

A `Focus` is who is looked at: a thread of the group, one of its channels, and a function of those
that it is in. A `Looker` evaluates expressions there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.binary.dwarf.scopes import SourceVariable
from visim.binary.dwarf.types import Kind
from visim.debug.engine.debuggee import Debuggee
from visim.debug.engine.stepping import Stepper
from visim.debug.engine.timeline import Timeline
from visim.debug.looking.expressions import Expression
from visim.debug.looking.items import Channel, Triple, WorkItems
from visim.debug.looking.lines import Place
from visim.debug.looking.sourced import Sourced, explained, scratch_of
from visim.debug.looking.variables import (
    Arguments,
    Scope,
    Values,
    Variable,
    type_named,
    typed,
    variables_of,
)
from visim.debug.naming.operations import Unplaced
from visim.debug.naming.pointers import at as pointer_at
from visim.debug.naming.values import SourceValue
from visim.engine.frames import Frame, Thread
from visim.errors import ArgumentError
from visim.lex import nearest
from visim.linker.program import LinkedUnit

_MOST_ELEMENTS = 1 << 20
SPECIAL = frozenset({
    *("lane", "channel", "active", "thread", "group", "group_x", "group_y", "group_z"),
    *("item", "gid", "gid_x", "gid_y", "gid_z", "lid_x", "lid_y", "lid_z"),
})  # fmt: skip
"""What the debugger calls the machine's own values. A variable of such a name is not hidden in
lists, but in expressions."""


@dataclass(frozen=True, slots=True)
class Focus:
    """Who is looked at: `group` in the order of the launch, thread, channel, and call depth.

    `frame` 0 is the function that the thread is in, 1 the one that has called it. `inlined` goes
    on from there through calls that the compiler has inlined: 1 is what the innermost is part of.
    """

    group: int
    thread: int
    lane: int = 0
    frame: int = 0
    inlined: int = 0


class Looker:
    """Values of a launch that stands.

    Args:
        debuggee: the launch.
        timeline: where it stands.
        notes: the compiler's notes on variables, where the program has none: files.
    """

    def __init__(self, debuggee: Debuggee, timeline: Timeline, notes: Sequence[bytes] = ()) -> None:
        self.debuggee = debuggee
        self.timeline = timeline
        self.kernel = debuggee.linked
        self.facts = debuggee.kernel.debug_facts()
        self.arguments = Arguments(debuggee.kernel.args, debuggee.values)
        self.sourced = Sourced(self, notes)

    @cached_property
    def items(self) -> WorkItems | None:
        """The work-items, None for bare kernels."""
        geometry, order = self.debuggee.plan.geometry, self.facts.walk_order
        if "global_size" not in geometry or order is None:
            return None
        return WorkItems(geometry, self.kernel.simd_size, order)

    @property
    def stepper(self) -> Stepper:
        """What runs the group."""
        return self.timeline.stepper

    def thread(self, focus: Focus) -> Thread:
        """Return a thread of the group that has started and not ended.

        Raises:
            ArgumentError: it has not, or the launch is elsewhere.
        """
        threads = self.stepper.group.threads
        if self.timeline.is_finished or focus.group != self.timeline.group:
            raise ArgumentError("the launch stands in another group, or has ended")
        if focus.thread not in threads:
            alive = ", ".join(map(str, sorted(threads))) or "none"
            raise ArgumentError(
                f"thread {focus.thread} has not begun or has ended; there are: {alive}"
            )
        return threads[focus.thread]

    def place(self, focus: Focus) -> Place:
        """Return the instruction that comes next in the function that is looked at."""
        thread = self.thread(focus)
        if focus.frame:
            if focus.frame > len(thread.frames):
                raise ArgumentError(f"there are {len(thread.frames) + 1} frames")
            frame = thread.frames[-focus.frame]
            return frame.table.unit.number, max(0, frame.pc - 1)
        if focus.thread == self.stepper.group.current and self.stepper.pc is not None:
            return thread.table.unit.number, self.stepper.pc
        return thread.table.unit.number, thread.pc

    def active(self, focus: Focus) -> int:
        """Return the channels that are on, as bits."""
        thread = self.thread(focus)
        return thread.frames[-focus.frame].active if focus.frame else thread.active

    def lanes_on(self, focus: Focus) -> NDArray[np.bool_]:
        """Return for each channel whether it is on."""
        bits, width = self.active(focus), self.kernel.simd_size
        return np.array([bits >> lane & 1 for lane in range(width)], np.bool_)

    def first_lane(self, focus: Focus) -> int:
        """Return the first channel that is on, 0 if there is none."""
        bits = self.active(focus)
        return (bits & -bits).bit_length() - 1 if bits else 0

    def group_id(self, focus: Focus) -> Triple:
        """Return the coordinates of the group."""
        return self.debuggee.group_id(focus.group)

    def item(self, focus: Focus) -> Triple | None:
        """Return the global id of the work-item that is looked at, None in bare kernels."""
        if self.items is None:
            return None
        ids = self.items.global_ids(self.group_id(focus), focus.thread)
        x, y, z = (int(one) for one in ids[:, min(focus.lane, ids.shape[1] - 1)])
        return x, y, z

    def find_item(self, item: Triple) -> Channel:
        """Return which channel a work-item is, by global id.

        Raises:
            ArgumentError: there is no such work-item.
        """
        found = None if self.items is None else self.items.find(item)
        if found is None:
            what = f"there is no work-item {item}"
            if self.items is None:
                raise ArgumentError(f"{what}: bare kernels have threads only")
            first, sizes = self.items.first, self.items.whole
            last = tuple(one + size - 1 for one, size in zip(first, sizes, strict=True))
            raise ArgumentError(f"{what}; they are {tuple(first)} to {last}")
        return found

    # Values

    def names(self, focus: Focus | None) -> Names:
        """Return what names stand for; without a focus only arguments do."""
        return Names(self, focus)

    def evaluate(self, expression: Expression, focus: Focus | None) -> Any:
        """Return the value of an expression for a thread: see `Expression.evaluate`."""
        return expression.evaluate(self.names(focus))

    def image(self, focus: Focus) -> NDArray[np.uint8]:
        """Return the register image as the function that is looked at has it.

        A function that has been called again by what it called has its variables in a frame.
        """
        found, frame = self.stepper.image(focus.thread), self._setting_aside(focus)
        if frame is None or frame.callee is None:
            return found
        found = found.copy()
        for (start, end), kept in zip(frame.callee.spans, frame.saved, strict=True):
            found[start:end] = np.frombuffer(kept, np.uint8)
        return found

    def is_set_aside(self, focus: Focus) -> bool:
        """Whether the function that is looked at has been called again by what it called."""
        return self._setting_aside(focus) is not None

    def _setting_aside(self, focus: Focus) -> Frame | None:
        """Return the frame that has the variables of a function that was called again."""
        if not focus.frame:
            return None
        unit = self.kernel.units[self.place(focus)[0]]
        frames = self.thread(focus).frames[-focus.frame :]
        return next((one for one in frames if one.callee is unit), None)

    def place_of(self, name: str, focus: Focus) -> tuple[int, int]:
        """Return where in the register image a variable stands, and its size."""
        scope = self.names(focus).scope
        found = scope.find(name) if scope is not None else None
        if scope is None or found is None:
            near = nearest(name, self.names(focus).known())
            hint = f"did you mean {near!r}?" if near else "'info variables' lists all"
            raise ArgumentError(f"there is no argument and no variable {name!r} here; {hint}")
        return scope.place(*found)

    def located(
        self, expression: Expression, focus: Focus
    ) -> tuple[SourceValue, int | None] | None:
        """Return the variable of the source that an expression names, or a part of one.

        Returns:
            The value, and the channel if the expression names one; None: it names no variable of
            the source.

        Raises:
            ArgumentError: there is no such part, or where it is cannot be said.
        """
        root, names = expression.root, self.names(focus)
        whole = None if root is None else names.source(root)
        return None if whole is None else expression.part_of(whole, names.follow)

    def variables(self, focus: Focus) -> list[tuple[Variable, LinkedUnit]]:
        """Return the variables of the function that is looked at."""
        unit = self.kernel.units[self.place(focus)[0]]
        return [(one, unit) for one in variables_of(unit)]


class _Registers:
    """The registers of a thread, and the function that is looked at."""

    def __init__(self, looker: Looker, focus: Focus) -> None:
        looker.thread(focus)
        self.image = looker.image(focus)
        self.unit = looker.kernel.units[looker.place(focus)[0]]


class Names:
    """What names stand for (`visim.debug.looking.expressions.Names`).

    Args:
        looker: the launch.
        focus: the thread, None once the launch has ended.
    """

    def __init__(self, looker: Looker, focus: Focus | None) -> None:
        self._looker = looker
        self._focus = focus
        self.scope: Scope | None = None
        if focus is not None:
            self.scope = Scope(looker.kernel, _Registers(looker, focus))

    def value(self, name: str) -> Any:
        """Return what a name stands for, None if it is not known."""
        array, sourced = self._looker.arguments.array(name), self._sourced(name)
        if sourced is not None:
            return sourced
        if array is not None:
            return array
        found = self._special(name)
        if found is None and self.scope is not None:
            found = self.scope.named(name)
            if found is not None and found.size == 1:
                found = found[0]
        if found is None:
            found = self._looker.arguments.all.get(name)
        return found

    def variable(self, name: str) -> SourceVariable | None:
        """Return the variable of the source that a name stands for, None if it is none.

        A parameter of the kernel that is an array stands for the array that was passed; one that
        points to structures is a pointer.
        """
        focus, looker = self._focus, self._looker
        if focus is None or name in SPECIAL:
            return None
        found = looker.sourced.variables(focus).get(name)
        if found is None or looker.arguments.array(name) is None or _points_to_structures(found):
            return found
        return None if looker.sourced.is_own_parameter(focus, found) else found

    def is_buffer(self, name: str) -> bool:
        """Whether a name stands for the whole array of a parameter."""
        return self._looker.arguments.array(name) is not None and self.variable(name) is None

    def follow(self, pointer: SourceValue, index: Any) -> SourceValue:
        """Return what a pointer of the source points to, or an element from there on."""
        try:
            return self._looker.sourced.pointers.follow(pointer, index)
        except Unplaced as reason:
            raise ArgumentError(str(reason)) from None

    def source(self, name: str) -> SourceValue | None:
        """Return what a variable of the source holds; None if there is none of that name.

        Raises:
            ArgumentError: where it is cannot be said.
        """
        focus, looker, variable = self._focus, self._looker, self.variable(name)
        if focus is None or variable is None:
            return None
        try:
            return looker.sourced.value(focus, variable)
        except Unplaced as reason:
            is_own = looker.sourced.is_own_parameter(focus, variable)
            array = looker.arguments.array(name)
            if is_own and array is not None:
                places = np.full(looker.kernel.simd_size, int(array.ctypes.data), np.int64)
                return pointer_at(variable.type, places)
            passed = looker.arguments.all.get(name) if is_own else None
            raise explained(name, reason, passed) from None

    def _sourced(self, name: str) -> Any:
        value = self.source(name)
        if value is not None and value.is_pointer:
            return value
        row = value.row() if value is not None and value.is_scalar else None
        return value if row is None else row

    def _special(self, name: str) -> Any:
        focus, looker = self._focus, self._looker
        if focus is None:
            return None
        group = looker.group_id(focus)
        match name:
            case "lane" | "channel":
                return np.arange(looker.kernel.simd_size)
            case "active":
                return looker.lanes_on(focus)
            case "thread":
                return focus.thread
            case "group":
                return group[0] if _is_flat(looker.debuggee.plan.geometry) else group
            case "group_x" | "group_y" | "group_z":
                return group["xyz".index(name[-1])]
            case "item" | "gid":
                ids = self._ids()
                return None if ids is None else self._flat(ids)
            case "gid_x" | "gid_y" | "gid_z" | "lid_x" | "lid_y" | "lid_z":
                ids = self._ids(local=name[0] == "l")
                return None if ids is None else ids["xyz".index(name[-1])]
            case _:
                return None

    def _ids(self, *, local: bool = False) -> NDArray[np.int64] | None:
        focus, items = self._focus, self._looker.items
        if focus is None or items is None:
            return None
        group = self._looker.group_id(focus)
        return items.ids(group, focus.thread) if local else items.global_ids(group, focus.thread)

    def _flat(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return global ids as one number each, x fastest."""
        items = self._looker.items
        if items is None:
            return ids[0]
        width, height, _ = items.whole
        first = items.first
        inside = [ids[n] - first[n] for n in range(3)]
        flat = inside[0] + width * (inside[1] + height * inside[2])
        return flat + first[0]

    def region(self, name: str, row: int, col: int, shape: tuple[int, int, int], kind: str) -> Any:
        """Return what a vISA operand reads."""
        if self.scope is None:
            raise ArgumentError("no thread has variables now")
        return self.scope.region(name, row, col, shape, kind)

    def reinterpreted(self, name: str, kind: str) -> Any:
        """Return a variable's bytes as elements of another type."""
        array = self._looker.arguments.array(name)
        if array is not None:
            data = np.frombuffer(array.tobytes(), np.uint8)
            return typed(data, type_named(kind))
        found = self.scope.find(name) if self.scope is not None else None
        if self.scope is None or found is None:
            raise ArgumentError(f"there is no {name!r} here")
        offset, size = self.scope.place(*found)
        if self._focus is None:
            raise ArgumentError("no thread has variables now")
        image = self._looker.stepper.image(self._focus.thread)
        return typed(image[offset : offset + size], type_named(kind))

    def known(self) -> list[str]:
        """Return the names that there are."""
        found = list(self._looker.arguments.all)
        if self._focus is None:
            return found
        found += self._looker.sourced.variables(self._focus)
        found += [one.name for one, _ in self._looker.variables(self._focus)]
        return [*found, "lane", "active", "thread", "group", "item", "gid_x", "lid_x"]

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Return what a function gives; NotImplemented if there is none such."""
        plain = _FUNCTIONS.get(name)
        if plain is not None:
            return plain(*arguments)
        match name, arguments:
            case "mem", [address, kind, *count]:
                return self._memory(int(np.max(address)), str(kind), *count)
            case "slm" | "scratch", [kind, *rest]:
                return self._own(name, str(kind), *(int(one) for one in rest))
            case "var", [str() as variable]:
                return None if self.scope is None else self.scope.named(variable)
            case "global_id" | "local_id", [axis]:
                ids = self._ids(local=name == "local_id")
                if ids is None:
                    raise ArgumentError(f"{name}: bare kernels have no work-items")
                return ids[int(axis)]
            case _:
                return NotImplemented

    def _memory(self, address: int, kind: str, count: int = 1) -> Values:
        """Return flat memory as elements of a type."""
        chosen, number = type_named(kind), int(count)
        if not 0 < number <= _MOST_ELEMENTS:
            raise ArgumentError(f"mem: 1 to {_MOST_ELEMENTS} elements are shown")
        size = number * chosen.bytes
        for one in self._looker.debuggee.machine.memory.allocations:
            if one.base <= address and address + size <= one.end:
                start = address - one.base
                return typed(one.host[start : start + size], chosen)
        raise ArgumentError(f"mem: no argument holds {size} bytes at 0x{address:x}")

    def _own(self, name: str, kind: str, offset: int = 0, count: int | None = None) -> Values:
        """Return local or scratch memory as elements of a type, from a byte on."""
        chosen = type_named(kind)
        if name == "slm":
            data = self._looker.stepper.slm
        else:
            if self._focus is None:
                raise ArgumentError("no thread has scratch memory now")
            data = scratch_of(self._looker.thread(self._focus))
        end = data.size if count is None else offset + count * chosen.bytes
        if not 0 <= offset <= end <= data.size:
            raise ArgumentError(f"{name}: it has {data.size} bytes")
        return typed(data[offset:end], chosen)


def _points_to_structures(variable: SourceVariable) -> bool:
    target = variable.type.target
    return target is not None and target.type.kind is Kind.STRUCT


def _is_flat(geometry: Mapping[str, Any]) -> bool:
    """Whether groups are told apart by one number."""
    counts = geometry.get("group_count") or geometry.get("thread_groups") or (1, 1)
    return all(int(one) == 1 for one in list(counts)[1:])


def _as(kind: str) -> Callable[[Any], Any]:
    """Return what converts values to a type."""
    dtype = np.dtype(type_named(kind).numpy)
    return lambda value: np.asarray(value).astype(dtype)


def _smallest(*values: Any) -> Any:
    return np.min(values[0]) if len(values) == 1 else np.minimum(*values)


def _largest(*values: Any) -> Any:
    return np.max(values[0]) if len(values) == 1 else np.maximum(*values)


_numpy: Any = np
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(_numpy, name) for name in ("abs", "sum", "any", "all", "isnan", "sqrt")},
    "min": _smallest,
    "max": _largest,
    "len": len,
    "int": _as("q"),
    "float": _as("df"),
    **{name: _as(name) for name in ("f", "d", "ud", "uq")},
}

__all__ = ["Focus", "Looker", "Names"]
