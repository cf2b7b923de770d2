"""Installing and removing toolchains, so that one is either there and whole or not there.

What is installed is put together in a folder of its own beside the toolchains, tried, and then
renamed. One installation runs at a time, by a lock that ends with its process; what one that was
killed has left is removed by the next.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from visim.errors import ArgumentError, InstallError, UnsupportedError
from visim.toolchain import archive, installed, packages, tools
from visim.toolchain.archive import Archive
from visim.toolchain.components import Component
from visim.toolchain.installed import Damaged, Toolchain
from visim.toolchain.packages import PackageFile

_STAGE = ".stage-"
_LOCK = ".lock"
_WAIT_S = 0.2
_NO_PATH = re.compile(r"[:;$\0\n]")
"""What the loader takes for something else in the path of a folder of libraries."""
_NEEDED = re.compile(r"^\s*(\S+) => (.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
"""A line of the loader's list: what a library needs, and the file that it found, if any."""
_WRAPPER = """\
#!/bin/sh
# Runs a program of this toolchain with the libraries of its own root.
here=$(dirname -- "$(readlink -f -- "$0")")
root=${{here%/*}}/root
exec "$root/{loader}" --library-path "$root/{libraries}" "$root/{program}" "$@"
"""


@dataclass(frozen=True, slots=True)
class PackageFolder:
    """A folder of packages to install from, whose hashes its `SHA256SUMS` has, if any."""

    path: Path

    def __str__(self) -> str:
        checked = packages.SUMS if (self.path / packages.SUMS).is_file() else "nothing"
        return f"{self.path} (checked against {checked})"


Step = Callable[[str], None]
"""Is told what is being done."""


def install(
    component: Component,
    source: Archive | PackageFolder,
    *,
    save: Path | None = None,
    say: Step = lambda _: None,
) -> tuple[Toolchain, bool]:
    """Install a component and return it, and whether that version was there before.

    Args:
        component: what to install.
        source: where its packages come from.
        save: a folder that gets the packages, and their hashes, for machines without a network.
        say: is told each step.

    Raises:
        InstallError: it cannot be done; nothing has changed.
        ArgumentError: the folder of all toolchains cannot hold libraries, or `source` is no folder.
        ToolMissing: a program of the system is missing; the message says which package has it.
        UnsupportedError: Intel's packages do not exist for this machine.
    """
    _check_machine()
    base = installed.home()
    if _NO_PATH.search(str(base)):
        message = "the loader cannot take a path with ':', ';' or '$'"
        raise ArgumentError(f"{base}: {message}; set {installed.VARIABLE} to another folder")
    if isinstance(source, PackageFolder) and not source.path.is_dir():
        raise ArgumentError(f"{source.path}: this is not a folder of packages")
    with _locked(base, say), _stage(base) as stage:
        found = _packages(component, source, stage, say)
        if save is not None:
            _save(found, save)
        version = _safe(next(p for p in found if p.name == component.packages[0]).package.version)
        target = base / f"{component.name}-{version}"
        present = installed.read(target) if target.exists() else None
        if isinstance(present, Toolchain):
            return present, True
        made = stage / "new"
        _assemble(component, found, made, version, _origin(source), say)
        if isinstance(present, Damaged):
            target.rename(stage / "old")
        made.rename(target)
        result = installed.read(target)
        if isinstance(result, Damaged):  # nobody but another program can have done that
            raise InstallError(f"{target} was changed while it was installed: {result.problem}")
        return result, False


def remove(names: Sequence[str], say: Step = lambda _: None) -> tuple[str, ...]:
    """Remove toolchains by name; a component's name stands for its only version.

    Raises:
        ArgumentError: there is no such toolchain, or a name stands for several.
        InstallError: one is in use, or cannot be removed.
    """
    base = installed.home()
    folders = tuple(dict.fromkeys(_named(name) for name in names))
    with _locked(base, say), _stage(base) as stage:
        for folder in folders:
            _refuse_in_use(folder)
        for number, folder in enumerate(folders):
            folder.rename(stage / f"old-{number}")
    return tuple(folder.name for folder in folders)


def _named(name: str) -> Path:
    entries = {_folder(entry).name: _folder(entry) for entry in installed.survey()}
    if name in entries:
        return entries[name]
    versions = [key for key in entries if key.startswith(f"{name}-")]
    if len(versions) > 1:
        raise ArgumentError(f"{name}: several are installed, say which: {', '.join(versions)}")
    if not versions:
        known = f"installed: {', '.join(entries)}" if entries else "none is installed"
        raise ArgumentError(f"no toolchain {name!r} is installed; {known}")
    return entries[versions[0]]


def _folder(entry: Toolchain | Damaged) -> Path:
    return entry.folder


def _refuse_in_use(folder: Path) -> None:
    """Refuse to remove a toolchain that a compiler process runs with (`installed.in_use`)."""
    try:
        with (folder / installed.RECORD).open("rb") as record:
            fcntl.flock(record, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = f"{folder.name} is in use by a running program; end it, or try again later"
        raise InstallError(message) from None
    except FileNotFoundError:
        return  # a damaged one, which nobody uses


def _packages(
    component: Component, source: Archive | PackageFolder, stage: Path, say: Step
) -> tuple[PackageFile, ...]:
    if isinstance(source, PackageFolder):
        say(f"reading the packages in {source.path}")
        return packages.needed_of(source.path, component.packages)
    (stage / "download").mkdir()
    files = archive.download(source, component.packages, stage / "download", say)
    return tuple(packages.read_package(file) for file in files)


def _assemble(
    component: Component,
    found: Sequence[PackageFile],
    made: Path,
    version: str,
    origin: str,
    say: Step,
) -> None:
    """Make the folder of a toolchain and see that its libraries can be loaded."""
    root = made / "root"
    root.mkdir(parents=True)
    used = [entry for entry in found if entry.name not in packages.SKIPPED]
    say(f"unpacking {len(used)} packages")
    for entry in used:
        packages.unpack(entry, root)
    record = Toolchain(component, version, made, origin, tuple(entry.package for entry in used))
    say(f"trying {component.name} {version}")
    _try_libraries(record)
    _write_programs(record)
    (made / "lib").symlink_to(Path("root") / installed.LIBRARIES)
    text = json.dumps(installed.to_record(record), indent=2)
    (made / installed.RECORD).write_text(text + "\n", "utf-8")


def _try_libraries(toolchain: Toolchain) -> None:
    """Raise InstallError where a library is missing, or needs one that is."""
    loader = next(iter(sorted(toolchain.libraries.glob("ld-linux*.so.*"))), None)
    if loader is None:
        raise InstallError(f"{toolchain.origin} has no C library for {toolchain.component.name}")
    for name in toolchain.component.libraries:
        library = toolchain.libraries / name
        if not library.is_file():
            raise InstallError(f"{toolchain.origin}: {name} is in none of the packages")
        words = [str(loader), "--library-path", str(toolchain.libraries), "--list", str(library)]
        outcome = tools.run(words)
        own = f"{toolchain.libraries}/"  # it looks into the system's folders, too
        needed = _NEEDED.findall(outcome.output)
        lost = sorted({name for name, file in needed if not file.startswith(own)})
        if lost or outcome.code != 0:
            what = f"{', '.join(lost)} is missing" if lost else outcome.complaints()
            raise InstallError(f"{toolchain.origin}: {name} cannot be loaded: {what}")


def _write_programs(toolchain: Toolchain) -> None:
    """Write the scripts in `bin`, which find their toolchain wherever it is moved."""
    folder = toolchain.folder / "bin"
    folder.mkdir()
    loader = next(iter(sorted(toolchain.libraries.glob("ld-linux*.so.*")))).name
    for name, pattern in toolchain.component.programs:
        program = min(
            (path for path in toolchain.root.glob(pattern) if not path.name.endswith("-config")),
            default=None,
        )
        if program is None:
            raise InstallError(f"{toolchain.origin}: {pattern} is in none of the packages")
        script = folder / name
        text = _WRAPPER.format(
            loader=f"{installed.LIBRARIES}/{loader}",
            libraries=installed.LIBRARIES,
            program=program.relative_to(toolchain.root),
        )
        script.write_text(text, "utf-8")
        script.chmod(0o755)


def _save(found: Sequence[PackageFile], folder: Path) -> None:
    """Copy packages into a folder, with their hashes, as `PackageFolder` reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in found:
        shutil.copyfile(entry.file, folder / entry.file.name)
    everything = [packages.read_package(file) for file in sorted(folder.glob("*.deb"))]
    text = packages.sums(
        (entry.package for entry in everything), (entry.file.name for entry in everything)
    )
    (folder / packages.SUMS).write_text(text, "utf-8")


def _origin(source: Archive | PackageFolder) -> str:
    if isinstance(source, PackageFolder):
        return str(source)
    return f"{source} (signature checked with {source.keyring.name})"


def _safe(version: str) -> str:
    """Return a version as part of a file's name, as apt writes it there."""
    return version.replace(":", "%3a").replace("/", "_")


def _check_machine() -> None:
    machine = platform.machine()
    if sys.platform != "linux" or machine not in {"x86_64", "AMD64"}:
        raise UnsupportedError(
            f"Intel's compilers and drivers exist as packages for Linux on x86-64 only; "
            f"this is {sys.platform} on {machine}"
        )


@contextmanager
def _locked(base: Path, say: Step) -> Generator[None]:
    """Hold the lock of the folder of all toolchains; errors of the system become sentences."""
    with _sentences(base):
        base.mkdir(parents=True, exist_ok=True)
        with (base / _LOCK).open("a") as lock:
            waits = False
            while not _try_lock(lock.fileno()):
                if not waits:
                    say("another installation is running; waiting for its end")
                waits = True
                time.sleep(_WAIT_S)
            yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _stage(base: Path) -> Generator[Path]:
    """Give a folder that is removed at the end, and remove those that others have left."""
    for left in base.glob(f"{_STAGE}*"):
        _remove_folder(left)
    stage = Path(tempfile.mkdtemp(prefix=_STAGE, dir=base))
    try:
        yield stage
    finally:
        _remove_folder(stage)


def _remove_folder(folder: Path) -> None:
    """Remove a folder, also where folders in it are read-only, as packages may have them."""
    for current, _, _ in os.walk(folder):
        if not os.access(current, os.W_OK):
            Path(current).chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _sentences(base: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"{error.filename or base}: {reason}"
        if error.errno == errno.ENOSPC:
            message += "; a compiler takes 400 MB while it is installed, and 300 MB afterwards"
        elif error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            message += f"; set {installed.VARIABLE} to a folder that you can write to"
        raise InstallError(message) from error
