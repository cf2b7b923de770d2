"""`fuzz`: random programs on all that run them, and the smallest text that still differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from visim.campaign import content
from visim.campaign.cells import Cell, digest_of
from visim.campaign.folders import devices_of
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.parts import check_keys
from visim.campaign.pocl import pocl_version
from visim.campaign.programs import compiler_of
from visim.campaign.smithing import LANGUAGES
from visim.errors import ArgumentError, ToolMissing, shown

_VISA, _OPENCL = "visa", "opencl"
_MOST = 10**8
_REDUCTION_S = 1800.0
_REDUCED = frozenset(
    {Outcome.DIFFERS, Outcome.CRASHED, Outcome.HUNG, Outcome.BUG, Outcome.FAULT, Outcome.BROKEN}
)


class Fuzz:
    """Random programs on the interpreter and the JIT, for languages, devices and seeds.

    OpenCL programs run on PoCL, too, where it is installed. Programs on which they differ, or on
    which one crashes, are reduced when all have run.
    """

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        del folder
        check_keys(
            table, ("name", "device", "language", "count", "from", "statements", "pocl", "reduce")
        )
        self.name = str(table.get("name") or ("fuzz" if number == 1 else f"fuzz{number}"))
        self._devices = devices_of(table)
        self._languages = _languages(table)
        self._first = _natural(table, "from", 0, 0)
        self._seeds = _natural(table, "count", 100, 1)
        self._statements = _natural(table, "statements", 24, 1)
        self._reduce = bool(table.get("reduce", True))
        self.count = len(self._languages) * len(self._devices) * self._seeds
        self._failed: dict[str, Cell] = {}
        self._reduced: list[str] = []
        self._missing: list[str] = []
        wants_pocl = _OPENCL in self._languages and bool(table.get("pocl", True))
        self._pocl = self._pocl_here() if wants_pocl else None

    def cells(self) -> Iterator[Cell | None]:
        """Make a cell for each language, device and seed, and then one for each failure."""
        for language in self._languages:
            for device in self._devices:
                with_what = self._tools(device) if language == _OPENCL else {}
                for seed in range(self._first, self._first + self._seeds):
                    yield self._cell(language, device, seed, with_what)
        if self._reduce:
            yield None
            for cell in list(self._failed.values()):
                self.count += 1
                yield _reducing(cell)

    def _cell(self, language: str, device: str, seed: int, with_what: Mapping[str, Any]) -> Cell:
        name: dict[str, Any] = {"part": self.name, "device": device, "seed": seed}
        if language != _VISA:
            name["language"] = language
        work = {
            "language": language,
            "device": device,
            "seed": seed,
            "statements": self._statements,
            "version": content.version(),
            **with_what,
        }
        return Cell("smith", name, work, digest_of("smith", work))

    def _tools(self, device: str) -> dict[str, Any]:
        """Return what OpenCL programs of a device depend on beside visim."""
        return {"compiler": list(compiler_of(device)), "pocl": self._pocl}

    def _pocl_here(self) -> str | None:
        """Return the version of PoCL; None where there is none, which notes say."""
        try:
            return pocl_version()
        except ToolMissing as error:
            self._missing.append(f"interpreter and JIT are compared without PoCL: {error}")
            return None

    def hear(self, cell: Cell, result: Result) -> None:
        """Hear which programs have to be reduced, and what is left of them."""
        if cell.name.get("part") != self.name:
            return
        if cell.kind == "smith" and result.outcome in _REDUCED:
            self._failed[cell.key] = cell
        if cell.kind == "reduce" and "text" in result.facts:
            lines = result.facts["text"].count("\n")
            self._reduced.append(f"{cell}: {lines} lines are left: {result.message}")

    def notes(self) -> list[str]:
        """Return what was not compared, and what is left of programs that failed."""
        return [*self._missing, *self._reduced]


def _reducing(cell: Cell) -> Cell:
    """Return the cell that reduces the program of another."""
    name = {**cell.name, "reduced": True}
    return Cell("reduce", name, cell.work, digest_of("reduce", cell.work), patience=_REDUCTION_S)


def _languages(table: Mapping[str, Any]) -> list[str]:
    given = table.get("language", _VISA)
    names = cast("list[object]", given) if isinstance(given, list) else str(given).split(",")
    found = [str(name).strip() for name in names]
    for name in found:
        if name not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise ArgumentError(f"language: expected one or more of {known}, found {shown(name)}")
    return found


def _natural(table: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = table.get(key, default)
    if type(value) is not int or not least <= value <= _MOST:
        raise ArgumentError(f"{key}: expected an integer from {least}, found {shown(value)}")
    return value
