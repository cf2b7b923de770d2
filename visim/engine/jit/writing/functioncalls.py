"""Calls of functions: by name or by handle, and how deep they are."""

from __future__ import annotations

from visim.engine.base import CALL_DEPTH
from visim.engine.jit.analysis.exploring import callees
from visim.engine.jit.analysis.flow import function_name
from visim.engine.jit.layout import FaultKind, Thread
from visim.engine.jit.writing.functions import FunctionFrame
from visim.linker.program import FUNCTION_HANDLE


class FunctionCaller:
    """Writes the calls at one instruction.

    Args:
        unit: the function that calls.
        pc: the instruction, for faults.
        control: the value of CR0 with which called functions begin.
    """

    def __init__(self, unit: FunctionFrame, pc: int, control: int) -> None:
        self._unit = unit
        self._text = unit.text
        self._pc = pc
        self._control = control

    def call(self, name: str | None, handle: str | None, chosen: str) -> None:
        """Call a function, and go on behind the call.

        Args:
            name: which one; None where only its handle is known.
            handle: the LLVM name of the handle, an i32; None: there is a name.
            chosen: the LLVM name of the channels that call, an i32.
        """
        done = self._text.fresh("back")
        if handle is None:
            self.change_depth(1)
            self._invoke(callees(self._unit.kernel, name)[0].number, chosen, done)
        else:
            self._dispatch(handle, chosen, done)
        self._text.label(done)
        self.change_depth(-1)

    def change_depth(self, change: int) -> None:
        """Count calls that are open, where they are counted; too many are a fault."""
        unit = self._unit
        if not unit.module.counts_depth:
            return
        depth = unit.thread(Thread.DEPTH)
        if change > 0:
            over = self._text.let(f"icmp uge i64 {depth}, {CALL_DEPTH}")
            unit.fault_if(over, FaultKind.CALL_DEPTH, self._pc)
        unit.set_thread(Thread.DEPTH, self._text.let(f"add i64 {depth}, {change}"))

    def _invoke(self, number: int, chosen: str, done: str) -> None:
        name = function_name(number, self._control)
        failed = self._text.let(f"call i32 @{name}(ptr %ctx, ptr %thread, i32 {chosen})")
        wrong = self._text.let(f"icmp ne i32 {failed}, 0")
        self._text.unlikely(wrong, "failed", done)

    def _dispatch(self, handle: str, chosen: str, done: str) -> None:
        """Call the function whose handle is given; no function's is a fault."""
        text, functions = self._text, callees(self._unit.kernel, None)
        labels = [text.fresh("callee") for _ in functions]
        wrong = text.fresh("nobody")
        cases = " ".join(
            f"i32 {FUNCTION_HANDLE + 16 * (function.number - 1)}, label %{label}"
            for function, label in zip(functions, labels, strict=True)
        )
        text.do(f"switch i32 {handle}, label %{wrong} [ {cases} ]")
        text.label(wrong)
        wide = text.let(f"zext i32 {handle} to i64")
        self._unit.fault(FaultKind.BAD_HANDLE, self._pc, wide)
        for function, label in zip(functions, labels, strict=True):
            text.label(label)
            self.change_depth(1)
            self._invoke(function.number, chosen, done)


__all__ = ["FunctionCaller"]
