"""A campaign's file: settings, and tables that say which cells are to be run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from visim.campaign.cells import Cell
from visim.campaign.outcomes import Result
from visim.campaign.parts import Part
from visim.campaign.presets import LISTENING, READERS
from visim.campaign.settings import KEYS, Settings, read_settings
from visim.errors import ArgumentError, shown
from visim.lex import nearest
from visim.runtime.files.run_options import read_table

MAX_BYTES = 1 << 22
"""So long a campaign's file may be."""


def _hear_nothing(_: Cell, __: Result) -> None:
    pass


def _say_nothing() -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a campaign is to do.

    Attributes:
        settings: what holds for all cells.
        count: how many cells there are.
        cells: makes all cells anew each time; None among them has to wait for all before it.
        hear: has to be told every result, known ones too, for what `cells` makes next.
        notes: what there is to say when all have run.
        listens: whether results matter to what it makes.
    """

    settings: Settings
    count: int
    cells: Callable[[], Iterator[Cell | None]]
    hear: Callable[[Cell, Result], None] = _hear_nothing
    notes: Callable[[], list[str]] = _say_nothing
    listens: bool = False


def read_matrix(file: str | Path) -> Matrix:
    """Return what a campaign's file says.

    Raises:
        ArgumentError: it is broken, or a key is unknown or wrong; the message says which.
        FileNotFoundError: there is no such file.
    """
    path = Path(file)
    table = read_table(str(path), MAX_BYTES)
    try:
        return matrix_of(table, path.absolute().parent, path.stem)
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None


def matrix_of(table: Mapping[str, Any], folder: Path, name: str) -> Matrix:
    """Return what a table says.

    Args:
        table: the table of a campaign's file.
        folder: what its files are relative to.
        name: what it is called unless it says so.

    Raises:
        ArgumentError: a key is unknown or wrong.
    """
    known = (*KEYS, *READERS)
    for key in table:
        if key not in known:
            near = nearest(key, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
            raise ArgumentError(f"unknown key {key!r}; {hint}")
    settings = read_settings(table, name)
    parts = [part for kind in READERS if kind in table for part in _parts(kind, table, folder)]
    if not parts:
        raise ArgumentError("there is no [[launch]]: say what is to be run")
    names = [part.name for part in parts]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ArgumentError(f"two tables are called {twice!r}: give them other names")

    def hear(cell: Cell, result: Result) -> None:
        for part in parts:
            part.hear(cell, result)

    return Matrix(
        settings,
        sum(part.count for part in parts),
        lambda: (cell for part in parts for cell in part.cells()),
        hear,
        lambda: [note for part in parts for note in part.notes()],
        any(kind in table for kind in LISTENING),
    )


def _parts(kind: str, table: Mapping[str, Any], folder: Path) -> Iterator[Part]:
    given = table[kind]
    tables = cast("list[object]", given) if isinstance(given, list) else [given]
    for number, one in enumerate(tables, 1):
        if not isinstance(one, dict):
            raise ArgumentError(f"{kind}: expected [[{kind}]], found {shown(one)}")
        try:
            yield READERS[kind](cast("dict[str, Any]", one), folder, number)
        except ArgumentError as error:
            raise ArgumentError(f"[[{kind}]] {number}: {error}") from None
