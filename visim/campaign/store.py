"""The folder of a campaign: one line of JSON for each cell that has run, added as it ends.

`results.jsonl` is only ever added to; what a killed writer has left of a line is cut off by the
next one. `campaign.json` says which campaign of the folder is the last, and whether it has ended:
one that has not goes on, under its number.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO, Self

from visim.campaign.cells import Cell
from visim.campaign.outcomes import Outcome, Result
from visim.errors import ArgumentError
from visim.output import write_file

RESULTS = "results.jsonl"
STATE = "campaign.json"
_LOCK = ".lock"
_SYNC_S = 2.0
"""So much may be lost with the power of the machine; with the process nothing is."""


@dataclass(frozen=True, slots=True)
class State:
    """The last campaign of a folder: its number, of what, and whether it has ended."""

    number: int = 0
    matrix: str = ""
    has_ended: bool = True


class Store:
    """The folder of a campaign, for one writer at a time.

    Args:
        folder: made if it is not there.

    Raises:
        ArgumentError: it cannot be made or written, or another campaign writes there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.known: dict[bytes, Outcome] = {}
        """The outcomes of cells that have run, by their keys."""
        self._places: dict[bytes, int] = {}
        self.unreadable = 0
        """Lines that are no results; their cells run again."""
        self.state = State()
        self._synced = monotonic()
        with ExitStack() as opened:
            self._lock = self._opened(_LOCK, opened)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError(
                    f"{folder}: another campaign writes there; wait for its end, or give another "
                    "folder with --out"
                ) from None
            self._file = self._opened(RESULTS, opened)
            _cut_off(self._file)
            self.state = _read_state(self.folder / STATE)
            for place, line in self._placed_lines():
                self._keep_place(bytes.fromhex(line["key"]), Outcome(line["outcome"]), place)
            opened.pop_all()

    def _opened(self, name: str, opened: ExitStack) -> BinaryIO:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return opened.enter_context((self.folder / name).open("ab"))
        except OSError as error:
            reason = error.strerror or error
            raise ArgumentError(f"{self.folder}: cannot be written: {reason}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def begin(self, matrix: str) -> None:
        """Begin a campaign, or go on with one of the same matrix that has not ended."""
        goes_on = not self.state.has_ended and self.state.matrix == matrix
        number = self.state.number if goes_on else self.state.number + 1
        self._write_state(State(number, matrix, has_ended=False))

    def end(self) -> None:
        """Say that all cells have run."""
        self._sync()
        self._write_state(State(self.state.number, self.state.matrix, has_ended=True))

    def add(self, cell: Cell, result: Result) -> None:
        """Add the result of a cell.

        Raises:
            ArgumentError: it cannot be written, such as on a disk that is full.
        """
        line = {
            "campaign": self.state.number,
            "cell": cell.identity,
            "key": cell.key,
            "kind": cell.kind,
            "name": dict(cell.name),
            **result.to_dict(),
        }
        place = self._file.tell()
        try:
            self._file.write((json.dumps(line) + "\n").encode())
            self._file.flush()
        except OSError as error:
            raise ArgumentError(
                f"{self.folder / RESULTS}: cannot be written: {error.strerror or error}; make room "
                "and start again: what has ended by then is kept"
            ) from None
        self._keep_place(bytes.fromhex(cell.key), result.outcome, place)
        if monotonic() - self._synced > _SYNC_S:
            self._sync()

    def lines(self) -> Iterator[dict[str, Any]]:
        """Read all results, in the order of their ends; count the lines that are none."""
        return (line for _, line in self._placed_lines())

    def last(self, keys: Iterable[bytes]) -> Iterator[dict[str, Any]]:
        """Read the last result of each of these cells that has one, in the order of their ends."""
        places = sorted(self._places[key] for key in keys if key in self._places)
        with (self.folder / RESULTS).open("rb") as stream:
            for place in places:
                stream.seek(place)
                yield json.loads(stream.readline())

    def _keep_place(self, key: bytes, outcome: Outcome, place: int) -> None:
        self.known[key] = outcome
        self._places[key] = place

    def _placed_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Read all results with where they begin in the file."""
        self.unreadable = 0
        for place, line in read_lines(self.folder / RESULTS):
            if line is None:
                self.unreadable += 1
            else:
                yield place, line

    def close(self) -> None:
        """Close the files and let others write."""
        with suppress(OSError):  # what cannot be written has been said when it was added
            self._sync()
        with suppress(OSError):
            self._file.close()
        self._lock.close()

    def _sync(self) -> None:
        self._file.flush()
        with suppress(OSError):
            os.fsync(self._file.fileno())
        self._synced = monotonic()

    def _write_state(self, state: State) -> None:
        write_file(self.folder / STATE, (json.dumps(asdict(state), indent=2) + "\n").encode())
        self.state = state


def read_lines(file: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield where each line of a file begins, and its result, None for a line that is none."""
    try:
        stream = file.open("rb")
    except FileNotFoundError:
        return
    with stream:
        place = 0
        for data in stream:
            if not data.endswith(b"\n"):
                return
            yield place, _read_line(data)
            place += len(data)


def _read_line(data: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(data)
        Result.of(line)
        bytes.fromhex(line["key"])
    except (ValueError, KeyError, TypeError):
        return None
    return line


def _cut_off(file: BinaryIO) -> None:
    """Remove what is behind the last end of a line: a result that was not written whole."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    with Path(file.name).open("rb") as reader:
        end = size
        while end:
            start = max(0, end - (1 << 16))
            reader.seek(start)
            place = reader.read(end - start).rfind(b"\n")
            if place >= 0:
                file.truncate(start + place + 1)
                break
            end = start
        else:
            file.truncate(0)
    file.seek(0, os.SEEK_END)


def _read_state(file: Path) -> State:
    try:
        form: Mapping[str, Any] = json.loads(file.read_bytes())
        return State(int(form["number"]), str(form["matrix"]), bool(form["has_ended"]))
    except FileNotFoundError:
        return State()
    except (ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"{file}: this is no campaign's: {error!r}; remove it") from None
