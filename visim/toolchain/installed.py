"""What is installed: the folders of toolchains, and the record that each has of itself.

Reads only. A toolchain is a folder `COMPONENT-VERSION` below `home()`, which comes into being and
goes by being renamed, so that one that is there is whole:

    root/             what its packages have, laid out as on a system
    bin/              its programs, each run with the libraries of this root
    lib               the folder of its libraries, in root
    toolchain.json    the record
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from visim.toolchain.components import COMPONENTS, Component
from visim.toolchain.prefix import Prefix, prefix_of

VARIABLE = "VISIM_DATA_DIR"
RECORD = "toolchain.json"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
FORMAT = 1
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Package:
    """One Debian package of a toolchain: its name, version, and the SHA-256 of its file."""

    name: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One installed component.

    `origin` says where its packages came from, and how that was checked.
    """

    component: Component
    version: str
    folder: Path
    origin: str
    packages: tuple[Package, ...]

    @property
    def name(self) -> str:
        """What commands call it, such as `compiler-26.27.39122.14-1`."""
        return self.folder.name

    @property
    def root(self) -> Path:
        """The root folder of its packages."""
        return self.folder / "root"

    @property
    def libraries(self) -> Path:
        """The folder of its libraries."""
        return self.root / LIBRARIES

    @property
    def library(self) -> Path:
        """The library that users of the component load."""
        return self.libraries / self.component.libraries[0]

    @property
    def prefix(self) -> Prefix | None:
        """How programs are run with its libraries."""
        return prefix_of(self.libraries / "libc.so.6")

    @property
    def order(self) -> tuple[int, ...]:
        """Its version as numbers: the newer of two has the greater ones."""
        return version_order(self.version)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A folder that is called like a toolchain and is none: somebody has changed it since."""

    folder: Path
    problem: str


def version_order(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to compare it with others."""
    return tuple(int(number) for number in _NUMBERS.findall(version)[:8])


def home() -> Path:
    """Return the folder of all toolchains: in `VISIM_DATA_DIR`, else in the user's data folder."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).absolute() / "toolchain"
    base = Path(os.environ.get("XDG_DATA_HOME") or "")
    if not base.is_absolute():  # as the XDG specification wants it
        base = Path.home() / ".local" / "share"
    return base / "visim" / "toolchain"


def installed() -> tuple[Toolchain, ...]:
    """Return the toolchains that can be used: by component, of each the newest first."""
    found = [entry for entry in survey() if isinstance(entry, Toolchain)]
    places = {component.name: place for place, component in enumerate(COMPONENTS)}
    newest_first = sorted(found, key=lambda entry: entry.order, reverse=True)
    return tuple(sorted(newest_first, key=lambda entry: places[entry.component.name]))


def newest(component: Component) -> Toolchain | None:
    """Return the newest installed toolchain of a component, or None."""
    return next((entry for entry in installed() if entry.component == component), None)


def survey() -> tuple[Toolchain | Damaged, ...]:
    """Return what is in the folder of all toolchains, damaged ones too, by name."""
    try:
        folders = sorted(path for path in home().iterdir() if not path.name.startswith("."))
    except OSError:
        return ()
    return tuple(read(folder) for folder in folders)


def read(folder: Path) -> Toolchain | Damaged:
    """Return the toolchain in a folder, as its record describes it."""
    try:
        record = cast("object", json.loads((folder / RECORD).read_text("utf-8")))
    except OSError as error:
        return Damaged(folder, f"{RECORD}: {error.strerror or error}")
    except ValueError:
        return Damaged(folder, f"{RECORD} is not JSON")
    found = _from_record(folder, record)
    if found is None:
        return Damaged(folder, f"{RECORD} is not a record of this version of visim")
    lost = [name for name in found.component.libraries if not (found.libraries / name).is_file()]
    return Damaged(folder, f"{', '.join(lost)} is missing") if lost else found


def to_record(toolchain: Toolchain) -> dict[str, Any]:
    """Return the record of a toolchain, as `toolchain.json` has it."""
    packages = [[entry.name, entry.version, entry.sha256] for entry in toolchain.packages]
    return {
        "format": FORMAT,
        "component": toolchain.component.name,
        "version": toolchain.version,
        "origin": toolchain.origin,
        "packages": packages,
    }


def _from_record(folder: Path, record: object) -> Toolchain | None:
    if not isinstance(record, dict) or cast("dict[str, object]", record).get("format") != FORMAT:
        return None
    fields = cast("dict[str, object]", record)
    chosen = next((c for c in COMPONENTS if c.name == fields.get("component")), None)
    version, origin = fields.get("version"), fields.get("origin")
    packages = _packages(fields.get("packages"))
    if chosen is None or packages is None:
        return None
    if not isinstance(version, str) or not isinstance(origin, str):
        return None
    return Toolchain(chosen, version, folder, origin, packages)


def _packages(entries: object) -> tuple[Package, ...] | None:
    if not isinstance(entries, list):
        return None
    packages: list[Package] = []
    for entry in cast("list[object]", entries):
        match entry:
            case [str() as name, str() as version, str() as digest]:
                packages.append(Package(name, version, digest))
            case _:
                return None
    return tuple(packages)


@contextmanager
def in_use(library: str | os.PathLike[str]) -> Generator[tuple[int, ...]]:
    """Give descriptors for a process that uses a library, so that it is not removed meanwhile.

    They hold a lock for as long as somebody has them open; there are none where the library is
    not that of a toolchain.
    """
    record = _record_of(library)
    if record is None:
        yield ()
        return
    with record.open("rb") as stream:
        with suppress(OSError):  # file systems without locks
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield (stream.fileno(),)


def _record_of(library: str | os.PathLike[str]) -> Path | None:
    if os.sep not in os.fspath(library):
        return None
    depth = len(Path(LIBRARIES).parts) + 1
    parents = Path(os.path.realpath(library)).parents
    record = parents[depth] / RECORD if len(parents) > depth else None
    return record if record is not None and record.is_file() else None
