"""The tool diff: one launch on two sides, and where they differ first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from visim.debug.session import Session
from visim.debug.tracing import Tracer, Write, compare, read_trace
from visim.errors import VisimError
from visim.runtime.files.compared import Tolerance
from visim.runtime.files.compared import compare as compare_arrays
from visim.serve.answering.answers import DIFFERS, FINE, Answer, answer, cut, worst
from visim.serve.answering.launching import (
    Clock,
    Outcome,
    advice_on,
    case_facts,
    launch,
    options_of,
    summary_of,
)
from visim.serve.answering.programs import choose_kernel, load, side_program, texts_of
from visim.serve.answering.values import element, read_values
from visim.serve.requests import Case, Diff, Program, Side
from visim.serve.shapes import RequestError

if TYPE_CHECKING:
    from visim import Kernel

_SIDES = ("left", "right")
_MOST_TRACED = 4096
"""So many hardware threads are traced at most: a trace holds each of their instructions."""


class _Ran:
    """One side: its kernel, what came of its launch, and what an answer says of it."""

    def __init__(self, name: str, asked: Program, side: Side, case: Case, clock: Clock) -> None:
        self.program = load(asked, f"{name}.program")
        self.kernel: Kernel = choose_kernel(self.program, side.kernel, f"{name}.kernel")
        self.outcome: Outcome = launch(self.kernel, case, "case", clock, {"engine": side.engine})
        texts = texts_of(asked, self.kernel)
        self.form = case_facts(self.outcome, case, "case", texts)
        self.facts = {"kernel": self.kernel.name, "device": self.program.platform, **self.form}


def diff(asked: Diff, clock: Clock) -> Answer:
    """Launch both sides, compare their arrays, and look for the first write that differs."""
    left_asked = side_program(asked.left, None, "left")
    right_asked = side_program(asked.right, left_asked, "right")
    sides = [
        _Ran(name, program, side, asked.case, clock)
        for name, program, side in zip(
            _SIDES, (left_asked, right_asked), (asked.left, asked.right), strict=True
        )
    ]
    forms = {name: side.facts for name, side in zip(_SIDES, sides, strict=True)}
    for name, side in zip(_SIDES, sides, strict=True):
        if side.outcome.fault is not None or side.outcome.unsupported is not None:
            verdict = worst([side.form["verdict"], DIFFERS])
            summary = f"{name} stops: {summary_of(side.form)}"
            return answer(verdict, summary, advice_on(side.form), **forms)
    arrays = _differing(sides[0].outcome, sides[1].outcome, asked.case)
    if not arrays:
        return answer(FINE, "both sides write the same", "time says which is faster", **forms)
    first = arrays[0]
    write = _first_write(sides, asked, clock) if asked.trace else None
    place = write["summary"] if write is not None and "summary" in write else None
    index = ", ".join(map(str, first["index"]))
    summary = (
        f"{first['name']}[{index}] is {first['left']} on the left, {first['right']} on the right"
    )
    advice = f"look at {place}" if place else "look at what writes the elements named in arrays"
    return answer(DIFFERS, summary, advice, arrays=arrays, first_write=write, **forms)


def _differing(left: Outcome, right: Outcome, case: Case) -> list[dict[str, Any]]:
    """Return in which arrays the sides differ, and where first."""
    found: list[dict[str, Any]] = []
    others = right.values.arrays
    if set(others) != set(left.values.arrays):
        raise RequestError("right.kernel", "the kernels have different arrays as arguments")
    for name, array in left.values.arrays.items():
        other = others[name]
        if other.shape != array.shape:
            raise RequestError("case", f"{name} has another shape on the right")
        is_exact = case.rtol is None and case.atol is None
        tolerance = Tolerance(0.0, 0.0) if is_exact else Tolerance(case.rtol, case.atol)
        one = compare_arrays(name, "right", array, other, tolerance)
        if one.differing:
            found.append(
                {
                    "name": name,
                    "elements": one.elements,
                    "differing": one.differing,
                    "index": list(one.first),
                    "left": one.found,
                    "right": one.expected,
                    "largest_distance": one.largest,
                    "where": list(one.picture),
                }
            )
    return found


def _first_write(sides: list[_Ran], asked: Diff, clock: Clock) -> dict[str, Any] | None:
    """Return the first write of a work-item that the sides do not have alike.

    The interpreter runs both, so engines that differ are found only by their arrays.
    """
    if any(side.form["threads"] > _MOST_TRACED for side in sides) or clock.left < 1:
        return {"skipped": "the launch is too large to look at each write; give a smaller case"}
    try:
        traces = [_trace(side.kernel, asked.case) for side in sides]
    except VisimError as error:
        return {"skipped": cut(str(error), 300)}
    found = compare(traces[0], traces[1], asked.case.rtol or 0.0)
    if found is None:
        return {"skipped": "the interpreter writes the same on both sides: the engines differ"}
    known = found.first or found.second
    where = (
        "" if known is None else f"the write of {known.buffer}[{known.element}] at {known.where}"
    )
    return {
        "left": _write(found.first),
        "right": _write(found.second),
        "work_items": found.count,
        "summary": where,
    }


def _trace(kernel: Kernel, case: Case) -> Any:
    values = read_values(case, kernel, "case")
    tracer = Tracer(Session(kernel, values.arguments, options_of(case, values)))
    tracer.run()
    return read_trace(json.dumps(tracer.to_dict()), "trace")


def _write(write: Write | None) -> dict[str, Any] | None:
    if write is None:
        return None
    return {
        "work_item": list(write.who),
        "buffer": write.buffer,
        "element": write.element,
        "value": element(write.value),
        "where": write.where,
    }
