"""Sessions of what the command line asks to launch; `--trace`, and how differences are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from visim.cli.files import check_target, write_text
from visim.cli.run import Prepared
from visim.debug.engine.timeline import Moment
from visim.debug.session import Session
from visim.debug.tracing import MOST_EVENTS, Chosen, Difference, Tracer, Write
from visim.errors import ArgumentError
from visim.runtime.files.run_options import RunOptions


def session_of(
    options: RunOptions,
    prepared: Prepared,
    receive: Callable[[str], None],
    notes: str | None = None,
) -> Session:
    """Return a session of a launch.

    Args:
        options: what was asked for.
        prepared: the kernel and its arguments.
        receive: gets what the kernel prints.
        notes: a folder or file with the compiler's notes on variables.
    """
    launch: dict[str, Any] = dict(options.launch)
    if prepared.surfaces:
        launch["surfaces"] = prepared.surfaces
    if prepared.samplers:
        launch["samplers"] = prepared.samplers
    return Session(prepared.kernel, prepared.values, launch, receive, _read_notes(notes))


def _read_notes(place: str | None) -> list[bytes]:
    if place is None:
        return []
    path = Path(place)
    files = sorted(path.rglob("*.dbg")) if path.is_dir() else [path]
    if not files:
        raise ArgumentError(f"{place}: there are no notes of a compiler (*.dbg) in it")
    try:
        return [one.read_bytes() for one in files]
    except OSError as error:
        raise ArgumentError(f"{place}: {error.strerror}") from None


def write_trace(options: RunOptions, prepared: Prepared, file: str) -> None:
    """Run a launch for its trace; its arrays are as before it then."""
    check_target(file, options.file)
    chosen = Chosen() if options.trace_only is None else Chosen.of(options.trace_only)
    session = session_of(options, prepared, lambda _: None)
    tracer = Tracer(session, chosen)
    tracer.run()
    session.timeline.go_to(Moment(0, 0))
    write_text(file, json.dumps(tracer.to_dict()))
    groups = len(session.debuggee.order)
    if tracer.is_cut:
        click.echo(
            f"note: {file} ends at {MOST_EVENTS} events; --trace-only chooses groups and lines",
            err=True,
        )
    if not tracer.events:
        click.echo(
            f"note: {file} is empty: nothing of groups 0 to {groups - 1} is what --trace-only "
            f"{options.trace_only or ''} chooses",
            err=True,
        )


def difference_lines(found: Difference | None, first: str, second: str, count: int) -> list[str]:
    """Return where two traces differ, as text; `count` is how many values the first has."""
    if found is None:
        return [f"both write the same: {count} values" if count else "neither writes anything"]
    one = found.first or found.second
    if one is None:
        return []
    lines = [f"work-item {_who(one)} is the first of {found.count} that write something else"]
    for name, write in ((first, found.first), (second, found.second)):
        if write is None:
            lines.append(f"  {name}: nothing to {one.buffer}[{one.element}]")
        else:
            moment = f"{write.moment[0]}:{write.moment[1]}"
            what = f"{write.buffer}[{write.element}] = {write.value}"
            lines.append(f"  {name}: {what} at {write.where} (moment {moment})")
    return lines


def _who(one: Write) -> str:
    place = tuple(reversed(one.who))
    while len(place) > 1 and place[-1] == 0:
        place = place[:-1]
    return str(place[0]) if len(place) == 1 else str(place)


def difference_to_dict(found: Difference | None) -> dict[str, Any]:
    """Return where two traces differ, as JSON has it."""
    if found is None:
        return {"differs": False}
    return {
        "differs": True,
        "work_items": found.count,
        "first": _write_to_dict(found.first),
        "second": _write_to_dict(found.second),
    }


def _write_to_dict(one: Write | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "who": list(reversed(one.who)),
        "buffer": one.buffer,
        "element": one.element,
        "value": one.value,
        "where": one.where,
        "moment": list(one.moment),
    }
