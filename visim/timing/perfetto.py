"""The timeline of a result in the trace event format that Perfetto and Chrome read.

A process is a core, a track one of its hardware thread slots; a stretch is what the slot did or
waited for. One cycle stands as one microsecond.
"""

from __future__ import annotations

from typing import Any

from visim.timing.result import CATEGORY_NAMES, TimingResult


def trace_events(result: TimingResult) -> dict[str, Any]:
    """Return the timeline as an object for `json.dumps`: the cycles of the result's window.

    A metadata track of its own says which cycles of how many these are.
    """
    slots = result.machine.number("slots")
    instructions = result.program.instructions
    events: list[dict[str, Any]] = [_title(result)]
    for slot in sorted({event[0] for event in result.events}):
        core, place = divmod(slot, slots)
        for kind, name in (("process_name", f"core {core}"), ("thread_name", f"slot {place}")):
            argument = {"name": name}
            events.append({"ph": "M", "name": kind, "pid": core, "tid": place, "args": argument})
    for slot, begin, end, category, address in result.events:
        core, place = divmod(slot, slots)
        name = CATEGORY_NAMES[category]
        native = str(instructions[address])
        events.append(
            {
                "ph": "X",
                "name": native if name == "active" else name,
                "cat": name,
                "pid": core,
                "tid": place,
                "ts": begin,
                "dur": end - begin,
                "args": {"instruction": native, "address": address},
            }
        )
    return {"traceEvents": events, "displayTimeUnit": "ns", "otherData": _facts(result)}


def window_text(result: TimingResult) -> str:
    """Return which cycles the events of a result are of."""
    begin, end = result.window
    if (begin, end) == (0, result.cycles):
        return f"all {result.cycles} cycles"
    return f"cycles {begin} to {end} of {result.cycles}"


def _title(result: TimingResult) -> dict[str, Any]:
    begin, end = result.window
    return {
        "ph": "I",
        "name": window_text(result),
        "s": "g",
        "pid": 0,
        "tid": 0,
        "ts": begin,
        "args": {"begin": begin, "end": end, "cycles": result.cycles},
    }


def _facts(result: TimingResult) -> dict[str, Any]:
    return {
        "arch": result.machine.name,
        "kernel": result.program.kernel.name,
        "cycles": result.cycles,
        "window": list(result.window),
        "unit": "one cycle is shown as one microsecond",
    }


__all__ = ["trace_events", "window_text"]
