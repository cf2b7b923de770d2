"""Parts whose cells are the programs of a folder: `sanitize` and `conform`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from visim.campaign import content
from visim.campaign.cells import Cell, digest_of
from visim.campaign.conforming import SUFFIXES
from visim.campaign.parts import Silent, check_keys
from visim.campaign.tables import Launches, source_for, source_form
from visim.errors import ArgumentError, shown
from visim.target import platform

_LAUNCH = "launch.toml"


class Conform(Silent):
    """Programs of a folder, each through the steps of `visim.campaign.conforming`."""

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        check_keys(table, ("name", "path", "device"))
        self.name = str(table.get("name") or ("conform" if number == 1 else f"conform{number}"))
        self._folder = _path(table, folder)
        self._devices = devices_of(table)
        self._files = _programs(self._folder)
        self.count = len(self._files) * len(self._devices)

    def cells(self) -> Iterator[Cell]:
        """Make a cell for each program and device."""
        for device in self._devices:
            for file in self._files:
                shown_name = str(file.relative_to(self._folder))
                name = {"part": self.name, "file": shown_name, "device": device}
                version = content.version()
                work = {"file": str(file), "name": shown_name, "device": device, "version": version}
                source = content.source_digest(file, "")
                key = digest_of("conform", version, source, file.suffix, shown_name, device)
                yield Cell("conform", name, work, key)


class Sanitize(Silent):
    """Launches and programs of a folder, watched by sanitizers.

    Of a program that no launch.toml names all kernels run on small made-up arguments.
    """

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        check_keys(table, ("name", "path", "device", "sanitize"))
        self.name = str(table.get("name") or ("sanitize" if number == 1 else f"sanitize{number}"))
        self._folder = _path(table, folder)
        self._devices = devices_of(table)
        self._sanitize = table.get("sanitize", "all")
        described = sorted({*self._folder.rglob(_LAUNCH), *self._folder.rglob("[0-9]*.toml")})
        self._launches = [
            Launches(
                {
                    "name": f"{self.name}-{one.relative_to(self._folder)}",
                    "from": str(one),
                    "sanitize": self._sanitize,
                },
                one.parent,
                number,
            )
            for one in described
        ]
        known = {name for launches in self._launches for name in launches.files}
        programs = _programs(self._folder, required=False)
        self._files = [file for file in programs if str(file.resolve()) not in known]
        if not self._files and not self._launches:
            raise ArgumentError(f"path: {self._folder} has neither programs nor launch.toml files")
        alone = sum(len(self._devices_of(file)) for file in self._files)
        self.count = alone + sum(one.count for one in self._launches)

    def _devices_of(self, file: Path) -> Sequence[str | None]:
        return [None] if file.suffix in {".zebin", ".bin"} else self._devices

    def cells(self) -> Iterator[Cell]:
        """Make a cell for each launch, and for each other program and device."""
        for launches in self._launches:
            yield from launches.cells()
        for file in self._files:
            for device in self._devices_of(file):
                yield self._cell(file, device)

    def _cell(self, file: Path, device: str | None) -> Cell:
        known = {} if device is None else {"device": device}
        name = {"part": self.name, "file": str(file.relative_to(self._folder)), **known}
        version = content.version()
        try:
            source = source_for(str(file), device, None, None, None)
        except ArgumentError as error:
            work = {"message": str(error)}
            return Cell("wrong", name, work, digest_of(version, work, name))
        work = {"source": source_form(source), "version": version, "sanitize": self._sanitize}
        return Cell("sanitize", name, work, digest_of(version, source.key, self._sanitize))


def devices_of(table: Mapping[str, Any]) -> list[str]:
    """Return the devices that a table names; pvc if it names none.

    Raises:
        ArgumentError: there is no such device.
    """
    given = table.get("device", "pvc")
    names = cast("list[object]", given) if isinstance(given, list) else str(given).split(",")
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"device: expected names of devices, found {shown(name)}")
        platform(name.strip())
    return [str(name).strip() for name in names]


def _path(table: Mapping[str, Any], folder: Path) -> Path:
    given = table.get("path")
    if not isinstance(given, str):
        raise ArgumentError(f"path: expected a folder, found {shown(given)}")
    path = (folder / given).absolute()
    if not path.is_dir():
        raise ArgumentError(f"path: {path} is no folder")
    return path


def _programs(folder: Path, *, required: bool = True) -> list[Path]:
    found = sorted(one for one in folder.rglob("*") if one.suffix in SUFFIXES and one.is_file())
    if required and not found:
        raise ArgumentError(f"path: {folder} has no programs ({', '.join(SUFFIXES)})")
    return found
