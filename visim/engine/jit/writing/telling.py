"""What native code leaves for Python, who tells observers of lanes that are out of range."""

from __future__ import annotations

from dataclasses import replace

from visim.engine.jit.layout import Thread
from visim.engine.jit.writing.values import Values
from visim.sem.effects import Within


def leave_group(values: Values, within: Within | None) -> None:
    """Leave the coordinates of the thread's group where Python finds them.

    This is written where a message is asked for that is out of range: code behind it must not use
    what is computed here, and finds nothing of it in `values`.
    """
    if within is None or within.group is None:
        return
    text = values.text
    here = replace(values, _known={}, _bits_known={})
    for number, one in enumerate(within.group):
        wide = text.let(f"zext i32 {here.scalar(one)} to i64")
        place = text.let(f"getelementptr i64, ptr %thread, i64 {int(Thread.GROUP) + number}")
        text.do(f"store i64 {wide}, ptr {place}, align 8")


__all__ = ["leave_group"]
