"""How functions begin and end: their variables, the loop over threads that they may have, exits."""

from __future__ import annotations

from collections.abc import Sequence

from visim.engine.base import TURN
from visim.engine.jit.analysis.cores import InputCore
from visim.engine.jit.analysis.flow import function_name
from visim.engine.jit.analysis.payload import (
    ALONE,
    OUT,
    PARAMETERS,
    TAIL,
    Loop,
    Payload,
    overlaps,
)
from visim.engine.jit.ir.masks import Masks
from visim.engine.jit.ir.pieces import FRAME
from visim.engine.jit.ir.storage import copying
from visim.engine.jit.layout import Thread
from visim.engine.jit.writing.functions import FunctionFrame


class Prologue:
    """Writes what stands around a function's code, which has been written before.

    Args:
        unit: the function.
        cores: the scalars of inputs that it keeps.
    """

    def __init__(self, unit: FunctionFrame, cores: Sequence[InputCore] = ()) -> None:
        self.unit = unit
        self.cores = cores
        self.module = unit.module
        self.storage = unit.storage
        self.payload = unit.payload

    def lines(self, masks: Masks, scalars: Sequence[str] = ()) -> list[str]:
        """Return the instructions that make and fill the variables.

        Args:
            masks: where predicates are.
            scalars: the instructions that make room for scalars besides.
        """
        unit = self.unit
        lines = [*unit.buffers, "  %image = load ptr, ptr %thread"]
        if unit.piece_bytes:
            lines.append(f"  {FRAME} = alloca [{unit.piece_bytes} x i8], align 64")
        if self.payload is None:
            lines += [*unit.surfaces.text.lines, *unit.surfaces.thread.lines]
        lines.append(
            f"  %clock = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}"
            if self.module.has_calls
            else "  %clock = alloca i64"
        )
        if not self.module.has_calls:
            lines.append("  store i64 0, ptr %clock")
        lines += self._first_turn()
        lines += self._fresh_fields()
        lines += self._saved_storage()
        variables = self.storage.allocations(self._source, masks)
        lines += [*masks.array(), *variables]
        lines += [*scalars, *self._inputs()]
        return [*lines, "  %self = alloca ptr", "  store ptr %thread, ptr %self"]

    def function(self, prologue: Sequence[str], body: Sequence[str]) -> list[str]:
        """Return the instructions of a whole function, whose threads may be in a loop."""
        if self.payload is not None:
            self.module.alike_once = not self._mixes(self.payload)
            self.module.firsts = tuple((core.place, core.size) for core in self._own_cores())
            prologue = self._in_loop(prologue)
        return [*prologue, *body, *self._epilogue()]

    def text(self, lines: Sequence[str]) -> str:
        """Return a function's text."""
        unit = self.unit
        name = function_name(unit.unit.number, unit.flow.start[2])
        linkage = "" if unit.is_kernel else "internal "
        kind, parameters = "i32", "ptr %ctx, ptr %thread, i32 %mask"
        if self.payload is not None:
            kind, parameters = "i64", PARAMETERS
        head = f"define {linkage}{kind} @{name}({parameters}) #0 {{"
        return "\n".join([head, "entry:", *lines, "}", ""])

    def _first_turn(self) -> list[str]:
        """Note until when a thread that starts may run; functions that are called share that."""
        place = "alloca i64"
        if self.module.has_calls:
            place = f"getelementptr i64, ptr %thread, i64 {int(Thread.TURN_ENDS)}"
        lines = [f"  %turn.ends = {place}"]
        if self.unit.is_kernel:
            lines.append(f"  store i64 {TURN}, ptr %turn.ends")
        return lines

    def _fresh_fields(self) -> list[str]:
        """Set the fields of the thread that the function looks at, where nobody else has."""
        if self.payload is None or not self.module.counts_depth:
            return []
        lines: list[str] = []
        for field in (Thread.DEPTH, Thread.FRAME):
            name = f"%fresh.{field.name.lower()}"
            lines.append(f"  {name} = getelementptr i64, ptr %thread, i64 {int(field)}")
            lines.append(f"  store i64 0, ptr {name}")
        return lines

    def _source(self, place: int, size: int) -> str | None:
        """Return the pointer to the image from which a variable is filled; None for zeros."""
        if not self.unit.is_kernel:
            return None
        if self.payload is not None and not self.module.version.saving:
            return self.payload.source(place, size)
        filled = self.module.version.filled
        return "%image" if filled is None or overlaps(filled, place, size) else None

    def _inputs(self) -> list[str]:
        """Return the instructions that read the shapes of inputs, and the group's coordinates."""
        lines: list[str] = []
        for core in self.cores:
            if self.payload is None:
                lines.append(f"  {core.name}.at = getelementptr i8, ptr %image, i64 {core.place}")
                lines.append(f"  {core.name}.v = load {core.kind}, ptr {core.name}.at, align 1")
            lines.append(f"  store {core.kind} {core.name}.v, ptr {core.name}")
        if self.payload is not None:
            lines += self.storage.coordinates(self.payload.places)
        return lines

    def _own_cores(self) -> tuple[InputCore, ...]:
        """Return those scalars of inputs in which the threads of a group differ."""
        return tuple(core for core in self.cores if not self._is_alike(core))

    def _is_alike(self, core: InputCore) -> bool:
        return self._source(core.place, 1) == "%payload"

    def _mixes(self, payload: Payload) -> bool:
        """Whether threads find something that all have alike in registers of their own."""
        return any(
            overlaps(payload.alike, *span) and self._source(*span) == "%image"
            for span in self.storage.spans()
        )

    def _in_loop(self, prologue: Sequence[str]) -> list[str]:
        """Return a thread's prologue in a loop over threads, which makes room for all of them."""
        room, rest, ends = *parted(prologue), self.unit.surfaces
        head = self.thread_loop().head()
        return [*room, *ends.text.lines, *head, *ends.thread.lines, *rest]

    def thread_loop(self) -> Loop:
        """Return what the loop over threads has to prepare."""
        return Loop(
            self.unit.kernel.register_bytes,
            tuple(span for span in self.storage.spans() if self._source(*span) == "%payload"),
            tuple(core for core in self.cores if self._is_alike(core)),
            self._own_cores(),
            self._start_mask(),
            self.unit.slm_bytes,
            *(ALONE if self.unit.meeting is None else self.unit.meeting.loop()),
        )

    def _start_mask(self) -> int | None:
        """Return the channels that every thread starts with, if that is known."""
        version = self.module.version
        if version.full:
            return self.unit.all_on
        return (1 << version.low) - 1 if version.low else None

    def _own_spans(self) -> list[tuple[int, int, int]]:
        """Return the parts of the image that each activation of a function has for itself.

        They are numbered, with their first bytes and sizes.
        """
        if self.unit.is_kernel:
            return []
        spans = self.unit.unit.spans if self.module.flat else self.unit.unit.spans[:1]
        return [(n, first, end - first) for n, (first, end) in enumerate(spans) if first < end]

    def _saved_storage(self) -> list[str]:
        """Begin a function's activation where its variables are in the shared image."""
        lines: list[str] = []
        for n, first, size in self._own_spans():
            lines += [
                f"  %own.{n} = getelementptr i8, ptr %image, i64 {first}",
                f"  %saved.{n} = alloca [{size} x i8], align 64",
                copying(f"%saved.{n}", f"%own.{n}", size),
                f"  call void @llvm.memset.p0.i64(ptr %own.{n}, i8 0, i64 {size}, i1 false)",
            ]
        return lines

    def _epilogue(self) -> list[str]:
        lines = ["finish:"]
        for n, _, size in self._own_spans():
            lines.append(copying(f"%own.{n}", f"%saved.{n}", size))
        saves = self.unit.is_kernel and self.module.version.saving
        if self.payload is not None and not saves:
            # Threads that end well go on at once: nothing asks again whether they have.
            tail = TAIL if self.unit.meeting is None else self.unit.meeting.tail()
            return [*lines, "  br label %right", "failed:", "  br label %wrong", tail, OUT]
        lines += ["  br label %leave", "failed:", "  br label %leave", "leave:"]
        lines.append("  %faulted = phi i32 [ 0, %finish ], [ 1, %failed ]")
        if saves:
            lines += self.storage.saving("%image")
        if self.payload is not None:
            lines.append("  %is.wrong = icmp ne i32 %faulted, 0")
            return [*lines, "  br i1 %is.wrong, label %wrong, label %right", TAIL, OUT]
        if not self.module.has_calls:
            lines += [
                "  %count = load i64, ptr %clock",
                f"  %counted = getelementptr i64, ptr %thread, i64 {int(Thread.EXECUTED)}",
                "  store i64 %count, ptr %counted",
            ]
        return [*lines, "  ret i32 %faulted"]


def parted(prologue: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what makes room for variables, and the rest."""
    room = [line for line in prologue if " = alloca " in line]
    return room, [line for line in prologue if " = alloca " not in line]


__all__ = ["Prologue", "parted"]
