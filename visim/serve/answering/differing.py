"""The tool diff: one launch on two sides, and where they differ first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

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
from visim.serve.answering.values import Arrays, as_array, element, read_values
from visim.serve.requests import Case, Diff, Program, Side
from visim.serve.shapes import RequestError

if TYPE_CHECKING:
    from visim import Kernel

_SIDES = ("left", "right")
_MOST_TRACED = 4096
"""So many hardware threads are traced at most: a trace holds each of their instructions."""


class _Ran:
    """A side that is run: its kernel, what came of its launch, and what an answer says of it."""

    def __init__(self, name: str, asked: Program, side: Side, case: Case, clock: Clock) -> None:
        self.program = load(asked, f"{name}.program")
        self.kernel: Kernel = choose_kernel(self.program, side.kernel, f"{name}.kernel")
        self.outcome: Outcome = launch(self.kernel, case, "case", clock, {"engine": side.engine})
        texts = texts_of(asked, self.kernel)
        self.form = case_facts(self.outcome, case, "case", texts)
        self.facts = {"kernel": self.kernel.name, "device": self.program.platform, **self.form}
        self.arrays: Arrays = self.outcome.values.arrays

    @property
    def has_stopped(self) -> bool:
        """Whether there is nothing to compare."""
        return self.outcome.fault is not None or self.outcome.unsupported is not None


def diff(asked: Diff, clock: Clock) -> Answer:
    """Launch the sides that are programs, compare the arrays, and look for the first write."""
    case = asked.case or Case()
    ran: dict[str, _Ran] = {}
    arrays: dict[str, Arrays] = {}
    program: Program | None = None
    for name, side in zip(_SIDES, (asked.left, asked.right), strict=True):
        if side.arrays:
            arrays[name] = {
                key: as_array(one, f"{name}.arrays.{key}") for key, one in side.arrays.items()
            }
            continue
        if asked.case is None:
            raise RequestError("case", f"missing: {name} is a program, which is launched")
        program = side_program(side, program, name)
        ran[name] = _Ran(name, program, side, case, clock)
        arrays[name] = ran[name].arrays
    forms = {name: side.facts for name, side in ran.items()}
    for name, side in ran.items():
        if side.has_stopped:
            verdict = worst([side.form["verdict"], DIFFERS])
            summary = f"{name} stops: {summary_of(side.form)}"
            return answer(verdict, summary, advice_on(side.form), **forms)
    found = _differing(arrays["left"], arrays["right"], case, is_part=len(ran) < len(_SIDES))
    if not found:
        return answer(FINE, "both sides have the same", "time says which is faster", **forms)
    write = None
    if asked.trace and len(ran) == len(_SIDES):
        write = _first_write(list(ran.values()), case, clock)
    first, place = found[0], (write or {}).get("summary")
    index = ", ".join(map(str, first["index"]))
    summary = (
        f"{first['name']}[{index}] is {first['left']} on the left, {first['right']} on the right"
    )
    advice = f"look at {place}" if place else "look at what writes the elements named in arrays"
    return answer(DIFFERS, summary, advice, arrays=found, first_write=write, **forms)


def _differing(left: Arrays, right: Arrays, case: Case, *, is_part: bool) -> list[dict[str, Any]]:
    """Return in which arrays the sides differ, and where first.

    Args:
        left: the arrays of one side.
        right: those of the other.
        case: the tolerances.
        is_part: whether a side may have only some of the arrays, as one that is given.
    """
    names = [name for name in left if name in right]
    if not names or (len(names) < max(len(left), len(right)) and not is_part):
        listed = f"{', '.join(left) or 'none'} and {', '.join(right) or 'none'}"
        raise RequestError("right", f"the sides have different arrays: {listed}")
    found: list[dict[str, Any]] = []
    for name in names:
        array, other = left[name], right[name]
        if other.size != array.size:
            sizes = f"{array.size} elements on the left, {other.size} on the right"
            raise RequestError("right", f"{name} has {sizes}")
        one = compare_arrays(
            name, "right", array, other.reshape(array.shape), _tolerance(case, array)
        )
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


def _tolerance(case: Case, array: NDArray[Any]) -> Tolerance:
    """Return the tolerances of a case: none, if it does not say."""
    if case.rtol is not None or case.atol is not None:
        return Tolerance(case.rtol, case.atol)
    return Tolerance(0.0, 0.0) if array.dtype.kind == "f" else Tolerance()


def _first_write(sides: list[_Ran], case: Case, clock: Clock) -> dict[str, Any] | None:
    """Return the first write of a work-item that the sides do not have alike.

    The interpreter runs both, so engines that differ are found only by their arrays.
    """
    if any(side.form["threads"] > _MOST_TRACED for side in sides) or clock.left < 1:
        return {"skipped": "the launch is too large to look at each write; give a smaller case"}
    try:
        traces = [_trace(side.kernel, case) for side in sides]
    except VisimError as error:
        return {"skipped": cut(str(error), 300)}
    found = compare(traces[0], traces[1], case.rtol or 0.0)
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
