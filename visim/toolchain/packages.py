"""Debian packages as files: which of a folder are needed, their hashes, and unpacking them.

A package carries no signature: those of a mirror are checked against its signed index, those of a
folder against the `SHA256SUMS` in it, where there is one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from visim.errors import InstallError
from visim.toolchain import tools
from visim.toolchain.components import SKIPPED
from visim.toolchain.installed import Package

SUMS = "SHA256SUMS"
_NAME = re.compile(r"\s*([a-z0-9][a-z0-9.+-]*)")
_FIELDS = ("Package", "Version", "Architecture", "Depends", "Pre-Depends", "Provides")
_ARCHITECTURES = frozenset({"amd64", "all"})


@dataclass(frozen=True, slots=True)
class PackageFile:
    """A package's file, with what its control data say of it."""

    file: Path
    package: Package
    depends: tuple[tuple[str, ...], ...]
    """For each thing that it depends on the names of what will do."""
    provides: tuple[str, ...]

    @property
    def name(self) -> str:
        """The package's name."""
        return self.package.name


def read_package(file: Path) -> PackageFile:
    """Return what a file says of itself.

    Raises:
        InstallError: it is no package for x86-64, or damaged.
        ToolMissing: dpkg-deb is not installed.
    """
    outcome = tools.run(["dpkg-deb", "--field", str(file), *_FIELDS])
    fields = dict(_fields(outcome.output))
    if outcome.code != 0 or "Package" not in fields or "Version" not in fields:
        reason = outcome.complaints().removeprefix("dpkg-deb: error: ")
        raise InstallError(f"{file}: not a Debian package, or damaged: {reason}")
    if fields.get("Architecture") not in _ARCHITECTURES:
        found = fields.get("Architecture", "none")
        raise InstallError(f"{file}: expected a package for amd64, found one for {found}")
    needed = [fields.get("Depends", ""), fields.get("Pre-Depends", "")]
    return PackageFile(
        file,
        Package(fields["Package"], fields["Version"], sha256(file)),
        tuple(choice for text in needed for choice in _choices(text)),
        tuple(name for choice in _choices(fields.get("Provides", "")) for name in choice),
    )


def needed_of(folder: Path, wanted: Sequence[str]) -> tuple[PackageFile, ...]:
    """Return the packages of a folder that `wanted` are, or depend on.

    Raises:
        InstallError: one that is wanted is not there, one is there twice, or one is damaged.
    """
    files = sorted(folder.glob("*.deb"))
    _check_sums(folder, files)
    present: dict[str, PackageFile] = {}
    for file in files:
        found = read_package(file)
        if found.name in present:
            twice = f"{present[found.name].file.name} and {file.name}"
            raise InstallError(f"{folder} has two versions of {found.name}: {twice}; leave one")
        present[found.name] = found
    lost = [name for name in wanted if name not in present]
    if lost:
        raise InstallError(f"{folder} has no package {', '.join(lost)}")
    return tuple(_closure(present, wanted))


def unpack(package: PackageFile, root: Path) -> None:
    """Unpack the files of a package below `root`.

    Raises:
        InstallError: it is damaged, or the disk is full.
    """
    outcome = tools.run(["dpkg-deb", "--extract", str(package.file), str(root)])
    if outcome.code != 0:
        raise InstallError(f"{package.file.name} cannot be unpacked: {outcome.complaints()}")


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sums(packages: Iterable[Package], names: Iterable[str]) -> str:
    """Return the text of a `SHA256SUMS` for packages and the names of their files."""
    pairs = zip(packages, names, strict=True)
    return "".join(f"{package.sha256}  {name}\n" for package, name in pairs)


def _check_sums(folder: Path, files: Sequence[Path]) -> None:
    listed = folder / SUMS
    if not listed.is_file():
        return
    lines = (line.split(maxsplit=1) for line in listed.read_text("utf-8", "replace").splitlines())
    known = {words[1].lstrip("*"): words[0].lower() for words in lines if len(words) == 2}
    for file in files:
        if file.name not in known:
            raise InstallError(f"{file}: {SUMS} beside it does not list it")
        if known[file.name] != sha256(file):
            raise InstallError(f"{file}: damaged or replaced: its hash is not that in {SUMS}")


def _closure(present: dict[str, PackageFile], wanted: Sequence[str]) -> Iterator[PackageFile]:
    """Yield what is wanted and what that depends on, as far as it is there."""
    providers = {name: entry for entry in present.values() for name in entry.provides}
    waiting, seen = list(reversed(wanted)), set(SKIPPED)
    while waiting:
        name = waiting.pop()
        entry = present.get(name) or providers.get(name)
        if entry is None or entry.name in seen:
            continue
        seen.add(entry.name)
        yield entry
        for choice in entry.depends:
            waiting.extend(choice[:1] if choice[0] in present else choice)


def _choices(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the names of each clause of a dependency field, without versions."""
    for clause in text.split(","):
        names = tuple(match[1] for part in clause.split("|") if (match := _NAME.match(part)))
        if names:
            yield names


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of control data; a line that begins with a blank goes on."""
    name, value = "", ""
    for line in text.splitlines():
        if line[:1].isspace():
            value += line
            continue
        if name:
            yield name, value.strip()
        name, _, value = line.partition(":")
    if name:
        yield name, value.strip()
