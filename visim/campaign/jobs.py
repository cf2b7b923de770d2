"""The kinds of cells: what each does, and what becomes of its errors."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from visim.campaign import conforming, content, launches, madeup, programs, smithing, splitting
from visim.campaign.cells import Name
from visim.campaign.functions import FunctionError
from visim.campaign.outcomes import Outcome, Result
from visim.errors import (
    ArgumentError,
    FaultError,
    InputError,
    LinkError,
    ToolMissing,
    UnsupportedError,
)
from visim.runtime.program import Program

Job = Callable[[Mapping[str, Any], Name, Program | None], Result]


def _launch(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    return launches.run(launches.work_of(work), name, program)


def _wrong(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    del name, program
    return Result(Outcome.WRONG, str(work["message"]))


def _conform(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    del name, program
    found = conforming.examine(Path(work["file"]), work["name"], work["device"])
    facts = {"passed": found.passed, "failed": found.failed, "remarks": found.remarks}
    if not found.failed:
        return Result(Outcome.PASSED, facts=facts)
    step, reason = next(iter(found.failed.items()))
    return Result(_STEPS.get(step, Outcome.REFUSED), f"{step}: {reason}", facts)


def _sanitize(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    del name
    if program is None:
        program = programs.load(programs.Source.of(work["source"]), work["version"])
    return madeup.run(program, work["sanitize"])


def _smith(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    del name, program
    return smithing.run_smith(work)


def _reduce(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    del name, program
    return smithing.reduce_smith(work)


def _range(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    return splitting.run_range(work, name, program)


def _merge(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    return splitting.merge(work, name, program)


_STEPS: Mapping[str, Outcome] = {
    "build": Outcome.BROKEN,
    "read": Outcome.BROKEN,
    "text": Outcome.DIFFERS,
    "object": Outcome.DIFFERS,
    "verify": Outcome.FINDING,
    "agree": Outcome.DIFFERS,
}
"""What a failed step of `conform` is; that a kernel cannot be run is refused."""
JOBS: Mapping[str, Job] = {
    "launch": _launch,
    "wrong": _wrong,
    "conform": _conform,
    "sanitize": _sanitize,
    "smith": _smith,
    "reduce": _reduce,
    "range": _range,
    "merge": _merge,
}
_WITH_PROGRAM = frozenset({"launch", "sanitize", "range", "merge"})


def source_of(cell: Mapping[str, Any]) -> tuple[programs.Source, str] | None:
    """Return the program of a cell and the version of visim, None if it has none."""
    if cell["kind"] not in _WITH_PROGRAM:
        return None
    work = cell["work"]
    return programs.Source.of(work["source"]), work["version"]


def make_ready(cell: Mapping[str, Any], program: Program) -> None:
    """Do ahead what all cells of a program need."""
    if cell["kind"] == "launch":
        launches.make_ready(program, launches.work_of(cell["work"]))


def run(cell: Mapping[str, Any], program: Program | None = None) -> dict[str, Any]:
    """Do what a cell says; return its result in the form of files, without what it took.

    Args:
        cell: as `Cell.to_dict` gives it.
        program: its program, if this process has it.

    Raises:
        MemoryError: there is not enough.
    """
    form = _result(cell, program).to_dict()
    del form["took"]
    return form


def _result(cell: Mapping[str, Any], program: Program | None) -> Result:
    version = cell["work"].get("version")
    if version is not None and version != content.version():
        message = f"this worker has visim {content.version()}, the campaign {version}"
        return Result(Outcome.WRONG, message)
    try:
        return JOBS[cell["kind"]](cell["work"], cell["name"], program)
    except MemoryError:
        raise
    except Exception as error:
        return Result(outcome_of(error), _message(error))


def outcome_of(error: Exception) -> Outcome:
    """Return which outcome an error is."""
    match error:
        case FaultError():
            return Outcome.FAULT
        case InputError() | LinkError():
            return Outcome.BROKEN
        case UnsupportedError():
            return Outcome.REFUSED
        case ArgumentError() | OSError():
            return Outcome.WRONG
        case ToolMissing():
            return Outcome.MISSING
        case _:
            return Outcome.BUG


def _message(error: Exception) -> str:
    if outcome_of(error) is not Outcome.BUG or isinstance(error, FunctionError):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
