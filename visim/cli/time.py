"""`visim time`: run a kernel, and say what it takes on one generation or on several."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from visim.cli.conventions import print_json
from visim.cli.files import check_target, write_text
from visim.cli.progress import working
from visim.cli.run import launch, prepare
from visim.errors import ArgumentError, UnsupportedError
from visim.lex import shortened
from visim.runtime.files.run_options import RunOptions
from visim.timing import Timing, TimingResult, find_machine
from visim.timing.advice import advice_text, advise
from visim.timing.listing import comparison, listing
from visim.timing.machine import Machine
from visim.timing.page import page
from visim.timing.perfetto import trace_events, window_text


@dataclass(frozen=True, slots=True)
class TimeOptions:
    """What `visim time` needs beside what to launch; `changes` are texts such as "eus=3"."""

    arch: str | None
    compare: str | None
    preset: str | None
    native: str
    changes: Sequence[str]
    listing: bool
    perfetto: str | None
    html: str | None
    window: str | None
    caches: bool
    advise: bool
    sample: bool


def time(options: RunOptions, chosen: TimeOptions, *, as_json: bool) -> None:
    """Run one kernel as `options` say; print what it takes.

    Raises:
        VisimError: whatever loading, the arguments or the launch find wrong, or the generation
            cannot execute.
    """
    _check(chosen)
    named = _names(chosen)
    window = _window(chosen)
    machines = _machines(named, chosen)
    for file in (chosen.perfetto, chosen.html):
        if file is not None:
            check_target(file, options.file)
    prepared = prepare(options)
    machines = machines or _machines([prepared.device], chosen)
    dependency = options.launch.get("dependency", "none")
    timing = Timing(
        machines[0].name,
        native=chosen.native,
        dependency=dependency,
        caches=chosen.caches,
        registers=prepared.kernel.registers,
        sample=chosen.sample,
    )
    launch(options, prepared, as_json=as_json, observers=(timing,))
    if chosen.compare is not None:
        _compare(timing, machines, as_json=as_json)
        return
    with working(f"timing {prepared.kernel.name}"):
        result = timing.on(machines[0], window=window, ranged=True)
    if chosen.perfetto is not None:
        write_text(chosen.perfetto, json.dumps(trace_events(result)))
        click.echo(f"{chosen.perfetto}: {window_text(result)}", err=True)
    if chosen.html is not None:
        write_text(chosen.html, page(result, timing))
    if as_json:
        advice = {"advice": [one.to_dict() for one in advise(result)]} if chosen.advise else {}
        print_json({**result.to_dict(), **advice})
        return
    click.echo(str(result))
    if chosen.advise:
        click.echo("\n" + advice_text(result))
    if chosen.listing:
        click.echo("\n" + listing(result))


def _check(chosen: TimeOptions) -> None:
    if chosen.arch is not None and chosen.compare is not None:
        raise ArgumentError("--arch and --compare exclude each other: give one of them")
    if chosen.compare is not None and (
        chosen.perfetto or chosen.html or chosen.listing or chosen.advise
    ):
        others = "--listing, --advise, --perfetto or --html"
        raise ArgumentError(f"--compare cannot be combined with {others}")


def _window(chosen: TimeOptions) -> tuple[int, int] | None:
    """Return the cycles that `--window BEGIN:END` names."""
    if chosen.window is None:
        return None
    if not (chosen.perfetto or chosen.html):
        raise ArgumentError("--window: it chooses what --perfetto or --html show: give one of them")
    begin, _, end = chosen.window.partition(":")
    cycles = [_number_or_word(part) for part in (begin, end)]
    match cycles:
        case [int(first), int(last)] if 0 <= first < last:
            return first, last
        case _:
            expected = "expected BEGIN:END in cycles, such as 1000:2000"
            raise ArgumentError(f"--window: {expected}, found {chosen.window!r}")


def _names(chosen: TimeOptions) -> list[str]:
    """Return the generations that are named; none is that of the kernel's device."""
    if chosen.compare is not None:
        return chosen.compare.split(",")
    return [] if chosen.arch is None else [chosen.arch]


def _machines(names: Sequence[str], chosen: TimeOptions) -> list[Machine]:
    changes = _changes(chosen.changes)
    return [find_machine(name.strip(), chosen.preset).with_facts(changes) for name in names]


def _changes(texts: Sequence[str]) -> Mapping[str, int | str]:
    changes: dict[str, int | str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise ArgumentError(f"--set: expected NAME=NUMBER, found {text!r}")
        changes[name] = _number_or_word(value)
    return changes


def _number_or_word(text: str) -> int | str:
    if not text.removeprefix("-").isdecimal():
        return text
    try:
        return int(text)
    except ValueError:  # Python reads no integers of thousands of digits.
        raise ArgumentError(f"--set: {shortened(text)} has thousands of digits") from None


def _compare(timing: Timing, machines: Sequence[Machine], *, as_json: bool) -> None:
    results: dict[str, TimingResult | UnsupportedError] = {}
    for target in machines:
        with working(f"timing on {target.name}"):
            try:
                results[target.name] = timing.on(target)
            except UnsupportedError as error:
                results[target.name] = error
    if as_json:
        print_json({"results": [_entry(*item) for item in results.items()]})
        return
    click.echo(comparison(results))


def _entry(name: str, found: TimingResult | UnsupportedError) -> dict[str, Any]:
    if isinstance(found, UnsupportedError):
        return {"arch": name, "error": {"kind": type(found).__name__, "message": str(found)}}
    return found.to_dict()
