"""The timeline of a result in the trace event format that Perfetto and Chrome read.

A process is a core, a track one of its hardware thread slots; a stretch is what the slot did or
waited for. One cycle stands as one microsecond.
"""

from __future__ import annotations

from typing import Any

from visim.timing.result import CATEGORY_NAMES, TimingResult


def trace_events(result: TimingResult) -> dict[str, Any]:
    """Return the timeline as an object for `json.dumps`; it has the events that the result kept."""
    slots = result.machine.number("slots")
    instructions = result.program.instructions
    events: list[dict[str, Any]] = []
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


def _facts(result: TimingResult) -> dict[str, Any]:
    return {
        "arch": result.machine.name,
        "kernel": result.program.kernel.name,
        "cycles": result.cycles,
        "unit": "one cycle is shown as one microsecond",
    }


__all__ = ["trace_events"]
