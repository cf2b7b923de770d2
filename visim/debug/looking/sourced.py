"""The variables of the source in a launch that stands, and the functions that are inlined there.

Brings together what debug data say, what the compiler noted, and what the thread holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from visim.binary.debuginfo import DebugObject
from visim.binary.dwarf.scopes import Located, SourceVariable, functions_of
from visim.binary.notes import notes_on, read_notes
from visim.debug.naming.functions import Functions, Level
from visim.debug.naming.natives import Natives
from visim.debug.naming.operations import Unplaced
from visim.debug.naming.placing import ENDED, FRAME_POINTER, NO_NOTES, Registers, in_memory
from visim.debug.naming.pointers import Pointers
from visim.debug.naming.values import SourceValue
from visim.engine.frames import Thread
from visim.errors import ArgumentError, InputError
from visim.isa.forms import Instruction
from visim.machine.allocations import Allocation
from visim.module import SourceLine
from visim.operands import General, GeneralDestination

if TYPE_CHECKING:
    from visim.debug.looking.stopped import Focus, Looker

_POINTER_BYTES = 8


class Sourced:
    """The source's variables.

    Args:
        looker: the launch.
        notes: the compiler's notes where the program itself has none: files.
    """

    def __init__(self, looker: Looker, notes: Sequence[bytes] = ()) -> None:
        self._looker = looker
        self._notes = self._given(notes) if notes else ()
        self._frame_writes: dict[int, list[int]] = {}
        self._source_lines: dict[int, tuple[SourceLine | None, ...]] = {}

    @cached_property
    def _natives(self) -> Natives:
        kernel, zebin = self._looker.kernel, self._looker.facts.zebin
        try:
            notes = () if zebin is None else read_notes(zebin, kernel.name)
        except InputError:
            notes = ()
        return Natives(kernel, self._notes or notes)

    def _given(self, files: Sequence[bytes]) -> tuple[DebugObject, ...]:
        units = self._looker.kernel.units
        return notes_on({one.unit.name: len(one.body) for one in units}, files)

    @cached_property
    def _functions(self) -> Functions:
        kernel, zebin = self._looker.kernel, self._looker.facts.zebin
        try:
            known = {} if zebin is None else functions_of(zebin, kernel.name)
        except Exception:  # whatever pyelftools lets through: debug data are no part of what runs
            known = {}
        return Functions(kernel, known, self._natives)

    def levels(self, focus: Focus) -> tuple[Level, ...]:
        """Return the functions of the source where it is looked at, the innermost first."""
        return self._functions.levels(*self._looker.place(focus))

    def variables(self, focus: Focus) -> dict[str, SourceVariable]:
        """Return the variables of the function of the source that is looked at, by name."""
        levels = self.levels(focus)
        return levels[focus.inlined].variables() if focus.inlined < len(levels) else {}

    def is_own_parameter(self, focus: Focus, variable: SourceVariable) -> bool:
        """Whether a variable is a parameter of the kernel itself."""
        levels = self.levels(focus)
        is_outermost = focus.inlined == len(levels) - 1
        name = self._looker.kernel.name
        return variable.is_parameter and is_outermost and levels[-1].name == name

    def value(self, focus: Focus, variable: SourceVariable) -> SourceValue:
        """Return what a variable holds in all channels.

        Raises:
            Unplaced: where it is cannot be said here, or nowhere.
        """
        place = self._looker.place(focus)
        if not variable.places:
            raise Unplaced("optimised away")
        registers, address = self._registers(focus, place), self._natives.address(*place)
        if not self._natives.knows(place[0]):
            return self._without_notes(focus, variable, registers)
        for one in variable.places:
            if one.range is None:
                self._check_line(focus, variable, one.code)
            if _holds(one, address):
                return registers.read(variable, one.code)
        begun = [one for one in variable.places if _begins(one) <= (address or 0)]
        last = max(begun, key=_begins, default=None)
        if last is None or last.range is None:
            raise Unplaced(ENDED)
        return registers.read(variable, last.code, last.range[1])

    @cached_property
    def pointers(self) -> Pointers:
        """What follows pointers."""
        return Pointers(self._flat, self._local)

    def _without_notes(
        self, focus: Focus, variable: SourceVariable, registers: Registers
    ) -> SourceValue:
        """Return a variable where native addresses are not known: only if it has one place."""
        [*always] = (one for one in variable.places if one.range is None)
        if not always:
            raise Unplaced(NO_NOTES)
        self._check_line(focus, variable, always[0].code)
        return registers.read(variable, always[0].code)

    def _check_line(self, focus: Focus, variable: SourceVariable, code: bytes) -> None:
        """Raise Unplaced where a place without a range does not hold the variable yet.

        Compilers of 2022 write no range where they know one place only, which another variable may
        have had before: the place counts behind the line of the declaration.
        """
        if variable.is_parameter or variable.is_local:
            return
        if focus.inlined:
            call = self.levels(focus)[focus.inlined - 1].call
            line = 0 if call is None else call[1]
        else:
            source = self._source(self._looker.place(focus))
            line = 0 if source is None else source.line
        begins = variable.line + (0 if in_memory(code) else 1)
        if line < begins:
            raise Unplaced(ENDED)

    def _source(self, place: tuple[int, int]) -> SourceLine | None:
        unit, pc = place
        if unit not in self._source_lines:
            self._source_lines[unit] = self._looker.kernel.units[unit].unit.source_lines()
        return self._source_lines[unit][pc]

    # What a thread holds

    def _registers(self, focus: Focus, place: tuple[int, int]) -> Registers:
        looker = self._looker
        return Registers(
            looker.kernel,
            self._natives,
            place,
            looker.image(focus),
            lambda: self._frame_pointer(focus),
            self._flat,
            lambda address, size: _within(_scratch(looker.thread(focus)), address, size),
            self._local,
        )

    def _flat(self, address: int, size: int) -> NDArray[np.uint8]:
        return _within(self._looker.debuggee.machine.memory.allocations, address, size)

    def _local(self, address: int, size: int) -> NDArray[np.uint8]:
        octets = self._looker.stepper.slm
        if address + size > octets.size:
            raise Unplaced(f"its place is behind the {octets.size} bytes of local memory")
        return octets[address : address + size]

    def _frame_pointer(self, focus: Focus) -> int:
        """Return the frame pointer of the function that is looked at.

        Each function's frame begins with its caller's frame pointer.
        """
        looker, kernel = self._looker, self._looker.kernel
        general = next(one for one in kernel.units[0].unit.generals if _is_frame_pointer(one))
        start = kernel.offset(kernel.units[0], general)
        image = looker.stepper.image(focus.thread)
        pointer = int.from_bytes(image[start : start + _POINTER_BYTES].tobytes(), "little")
        for frame in range(focus.frame):
            inner = looker.place(_framed(focus, frame))
            is_call = looker.thread(focus).frames[-frame - 1].callee is not None
            if is_call and self._has_frame(*inner):
                octets = self._flat(pointer, _POINTER_BYTES)
                pointer = int.from_bytes(octets.tobytes(), "little")
        if not self._has_frame(*looker.place(focus)):
            raise Unplaced("the function has no frame in memory at this instruction")
        return pointer

    def _has_frame(self, unit: int, pc: int) -> bool:
        """Whether a function has made its frame before an instruction, and not left it."""
        if unit not in self._frame_writes:
            body = self._looker.kernel.units[unit].body
            self._frame_writes[unit] = [n for n, one in enumerate(body) if _sets_frame(one)]
        writes = self._frame_writes[unit]
        if not writes or pc <= writes[0]:
            return False
        return len(writes) == 1 or pc <= writes[-1]


def _holds(located: Located, address: int | None) -> bool:
    if located.range is None:
        return True
    return address is not None and located.range[0] <= address < located.range[1]


def _begins(located: Located) -> int:
    return 0 if located.range is None else located.range[0]


def _framed(focus: Focus, frame: int) -> Focus:
    from dataclasses import replace

    return replace(focus, frame=frame, inlined=0)


def _is_frame_pointer(general: General) -> bool:
    root, offset = general.root()
    return root.name == FRAME_POINTER and not offset


def _sets_frame(item: Instruction) -> bool:
    for name in getattr(item, "__slots__", ()):
        value = getattr(item, name, None)
        if isinstance(value, GeneralDestination) and _is_frame_pointer(value.variable):
            return True
    return False


def scratch_of(thread: Thread) -> NDArray[np.uint8]:
    """Return a thread's scratch memory."""
    return _scratch(thread)[0].host


def _scratch(thread: Thread) -> Sequence[Allocation]:
    space = cast("Any", thread.scratch)
    return space.space.allocations


def _within(memory: Iterable[Allocation], address: int, size: int) -> NDArray[np.uint8]:
    for one in memory:
        if one.base <= address and address + size <= one.end:
            start = address - one.base
            return one.host[start : start + size]
    raise Unplaced(f"its place, 0x{address:x}, is in no memory of the launch")


def explained(name: str, reason: Unplaced, passed: object) -> ArgumentError:
    """Return the error that says why a variable cannot be shown."""
    hint = "" if passed is None else f"; the launch passed {passed}"
    return ArgumentError(f"{name}: {reason}{hint}")


__all__ = ["Sourced", "explained", "scratch_of"]
