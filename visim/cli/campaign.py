"""`visim campaign`: what it is told on the command line, and what it tells."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from visim.campaign.matrix import Matrix, matrix_of, read_matrix
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.parquet import PARQUET, check_parquet, write_parquet
from visim.campaign.pools import MOST_JOBS, LocalPool, Pool
from visim.campaign.presets import PRESETS
from visim.campaign.report import REPORT, page, report_of
from visim.campaign.running import (
    MOST_TOLD,
    Progress,
    Summary,
    has_failed_by_chance,
    run_campaign,
)
from visim.campaign.settings import Settings, memory_of, seconds_of
from visim.campaign.store import RESULTS, Store
from visim.cli.conventions import print_json
from visim.cli.failures import BROKEN
from visim.diag import visible
from visim.errors import ArgumentError
from visim.output import write_file

if TYPE_CHECKING:
    from rich.console import RenderableType

_REFRESH = 4
_LAST = 8


@dataclass(frozen=True, slots=True)
class CampaignOptions:
    """What the command line says beside the matrix."""

    out: str
    jobs: int | None
    scheduler: str | None
    seconds: float | None
    memory: str | None
    again: str | None
    parquet: bool
    against: str | None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to run: a campaign's file, or a preset with a path and keys of its table."""

    what: str
    path: str | None
    values: tuple[str, ...]


def campaign(asked: Asked, options: CampaignOptions, *, as_json: bool) -> int:
    """Run a campaign, tell what came of it, and return the exit code.

    Raises:
        ArgumentError: the file or an option is wrong, or the folder of results cannot be written.
    """
    if options.parquet:
        check_parquet()
    earlier = None if options.against is None else _earlier(options.against)
    matrix = _limited(_matrix(asked), options)
    with Store(options.out) as store:
        pool = _pool(options)
        try:
            with _telling(matrix, as_json=as_json) as told:
                summary = run_campaign(matrix, store, pool, again=_again(options.again), told=told)
        finally:
            pool.close()
        written = _write(matrix, summary, store, earlier, parquet=options.parquet)
        if as_json:
            print_json({**summary.to_dict(), "results": str(store.folder), "report": str(written)})
        else:
            click.echo(visible(_text(summary, store)))
    return 0 if summary.is_fine else BROKEN


def _matrix(asked: Asked) -> Matrix:
    if asked.what not in PRESETS or Path(asked.what).is_file():
        if asked.path is not None or asked.values:
            raise ArgumentError(f"{asked.what} is a file: PATH and --set are for presets")
        return read_matrix(asked.what)
    table = dict(_value(one) for one in asked.values)
    key = "path" if asked.what in {"sanitize", "conform"} else "file"
    if asked.path is not None:
        table[key] = asked.path
    elif asked.what != "fuzz" and not {key, "from", "launches"} & table.keys():
        raise ArgumentError(f"{asked.what} needs PATH: visim campaign {asked.what} PATH")
    return matrix_of({asked.what: [table]}, Path.cwd(), asked.what)


def _value(text: str) -> tuple[str, object]:
    """Return the key and the value of `--set`: what TOML reads, else the text itself."""
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise ArgumentError(f"--set {text}: expected KEY=VALUE")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return key.strip(), value


def _earlier(folder: str) -> Path:
    file = Path(folder) / RESULTS
    if not file.is_file():
        raise ArgumentError(f"--against: {folder} has no {RESULTS}")
    return file


def _write(
    matrix: Matrix, summary: Summary, store: Store, earlier: Path | None, *, parquet: bool
) -> Path:
    """Write what is made of the results; return the report's file."""
    if parquet:
        write_parquet(store.folder / PARQUET, store.lines)
    report = report_of(summary, store, earlier)
    write_file(store.folder / REPORT, page(report).encode())
    return store.folder / REPORT


def _limited(matrix: Matrix, options: CampaignOptions) -> Matrix:
    """Return a matrix with the limits that the command line gives."""
    settings: Settings = matrix.settings
    limits = settings.limits
    if options.seconds is not None:
        limits = replace(limits, seconds=seconds_of(options.seconds))
    if options.memory is not None:
        limits = replace(limits, memory=memory_of(options.memory))
    return replace(matrix, settings=replace(settings, limits=limits))


def _pool(options: CampaignOptions) -> Pool:
    if options.scheduler is not None:
        if options.jobs is not None:
            raise ArgumentError("--jobs and --scheduler exclude each other: give one of them")
        from visim.campaign.cluster import ClusterPool

        return ClusterPool(options.scheduler)
    jobs = options.jobs if options.jobs is not None else os.cpu_count() or 1
    if not 0 < jobs <= MOST_JOBS:
        raise ArgumentError(f"--jobs: expected 1 to {MOST_JOBS}, found {jobs}")
    return LocalPool(jobs)


def _again(which: str | None) -> Callable[[Outcome], bool]:
    match which:
        case "all":
            return lambda _: True
        case "failed":
            return lambda outcome: outcome is not Outcome.PASSED
        case "chance":
            return has_failed_by_chance
        case _:
            return lambda _: False


@contextmanager
def _telling(matrix: Matrix, *, as_json: bool) -> Generator[Callable[[Progress], None]]:
    """Show a table that is kept up to date on a terminal; elsewhere nothing."""
    if as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.live import Live

    table = _Table(matrix.settings.name)
    with Live(
        console=Console(stderr=True),
        refresh_per_second=_REFRESH,
        transient=True,
        get_renderable=table.rendered,
    ):
        yield table.hear


class _Table:
    """How far a campaign is: the outcomes so far, the rate, and the last cells that failed."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._progress: Progress | None = None
        self._failed: list[str] = []

    def hear(self, progress: Progress) -> None:
        """Take in that another cell has ended."""
        self._progress = progress
        if progress.last is not None and progress.last[1].outcome is not Outcome.PASSED:
            cell, result = progress.last
            self._failed = [*self._failed, visible(_line(str(cell), result))][-_LAST:]

    def rendered(self) -> RenderableType:
        """Return what is shown."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        done = self._progress
        if done is None:
            return Text(f"{self._name}: starting")
        ran = done.done - done.known
        rate = ran / max(done.seconds, 1e-9)
        left = (done.of - done.done) / rate if rate else 0.0
        head = f"{self._name}: {done.done} of {done.of} cells, {done.known} known, "
        head += f"{rate:.1f} a second, {left:.0f} s left"
        table = Table(*(str(one) for one in done.outcomes))
        table.add_row(*(str(count) for count in done.outcomes.values()))
        lines = [Text(line, overflow="ellipsis", no_wrap=True) for line in self._failed]
        return Group(Text(head), table, *lines)


def _text(summary: Summary, store: Store) -> str:
    """Return what is told at the end: numbers, cells that did not pass, and where all is."""
    accepted = summary.settings.accept
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary.outcomes.items())
    known = summary.cells - summary.ran
    lines = [
        f"{summary.settings.name}: {summary.cells} cells: {counts or 'none'}",
        f"  {summary.ran} ran in {summary.seconds:.1f} s, {known} were known or are the same",
    ]
    lines += [f"  {_line(*failure)}" for failure in summary.failures]
    failed = sum(count for one, count in summary.outcomes.items() if one not in accepted)
    if failed > len(summary.failures):
        lines.append(f"  ... and {failed - len(summary.failures)} more")
    lines += [f"  {verdict}" for verdict in summary.verdicts[:MOST_TOLD]]
    if len(summary.verdicts) > MOST_TOLD:
        lines.append(f"  ... and {len(summary.verdicts) - MOST_TOLD} more")
    if summary.unreadable:
        lines.append(f"  note: {summary.unreadable} lines of the results are none; they ran again")
    lines += [f"  {note}" for note in summary.notes]
    lines.append(f"  results: {store.folder}, report: {store.folder / REPORT}")
    return "\n".join(lines)


def _line(name: str, result: Result) -> str:
    said = result.message.strip().splitlines()
    return f"{result.outcome}: {name}" + (f": {said[0]}" if said else "")
