"""A Python for AArch64 that QEMU runs here: Debian's packages and wheels, unpacked into a folder.

Nothing is installed into this system. Packages come from where its apt finds its own, wheels from
where its pip does, in the versions that this Python has; what is written in Python is shared.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

QEMU = "qemu-aarch64"
REPOSITORY = Path(__file__).parents[2]
_MACHINE = "arm64"
_PACKAGES = ("python3", "libgcc-s1", "libstdc++6")
_WHEELS = ("numpy", "llvmlite", "hypothesis")
"""What is not written in Python alone, of what visim and its tests of the JIT need."""
_PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")
_COMPLETE = "complete"
_KEPT_LINES = 10


class EnvironmentMissing(Exception):
    """There is no such Python here, and why; what to do about it."""


@dataclass(frozen=True)
class Environment:
    """A folder with a Python for AArch64, and what else it runs with."""

    folder: Path

    @property
    def root(self) -> Path:
        """Where Debian's packages are unpacked."""
        return self.folder / "root"

    @property
    def site(self) -> Path:
        """Where wheels are unpacked."""
        return self.folder / "site"

    @property
    def python(self) -> Path:
        """What starts that Python as if it were one of this system's."""
        return self.folder / "python"

    def run(
        self, words: Sequence[str], timeout: float | None = None, **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run that Python; its output is this process's."""
        command = [str(self.python), *words]
        return subprocess.run(command, env=os.environ | variables, timeout=timeout, check=False)


def default_folder() -> Path:
    """Return the folder that `VISIM_AARCH64` names, or one among the user's caches."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("VISIM_AARCH64") or caches / "visim-aarch64")


def environment(folder: Path, *, make: bool) -> Environment:
    """Return the environment of a folder.

    Args:
        folder: the folder.
        make: make it where it is not there, or has other versions of what visim needs.

    Raises:
        EnvironmentMissing: it is not there, or cannot be made.
    """
    if shutil.which(QEMU) is None:
        raise EnvironmentMissing(f"{QEMU} is not there; install it: apt-get install qemu-user")
    found, wanted = Environment(folder), "\n".join(_wheels())
    mark = folder / _COMPLETE
    if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
        if not make:
            raise EnvironmentMissing(
                f"{folder} has no Python for AArch64 with {wanted.replace(chr(10), ', ')}; "
                "make it: python -m tools.aarch64 make"
            )
        _make(found)
        mark.write_text(wanted, encoding="utf-8")
    return found


def _wheels() -> list[str]:
    """Return which wheels are needed, in the versions that are here."""
    found: list[str] = []
    for name in _WHEELS:
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _make(made: Environment) -> None:
    shutil.rmtree(made.folder, ignore_errors=True)
    made.site.mkdir(parents=True)
    _unpack_packages(made.root)
    interpreter = _interpreter(made.root)
    _unpack_wheels(made.site, interpreter.name.removeprefix("python"))
    paths = (made.site, REPOSITORY, Path(sysconfig.get_path("purelib")))
    made.python.write_text(
        "#!/bin/sh\n"
        f'export PYTHONPATH="{":".join(map(str, paths))}" PYTHONDONTWRITEBYTECODE=1\n'
        f'exec {QEMU} -L "{made.root}" "{interpreter}" "$@"\n',
        encoding="utf-8",
    )
    made.python.chmod(0o755)
    # The system cannot start programs for other machines by itself: processes of this one go on so.
    (made.site / "sitecustomize.py").write_text(
        f"import sys\n\nsys.executable = {str(made.python)!r}\n", encoding="utf-8"
    )


def _unpack_packages(root: Path) -> None:
    with tempfile.TemporaryDirectory() as room:
        state = Path(room)
        for name in ("lists/partial", "archives/partial"):
            (state / name).mkdir(parents=True)
        (state / "status").touch()
        settings = {
            "APT::Architecture": _MACHINE,
            "APT::Architectures": _MACHINE,
            "APT::Sandbox::User": "",
            "Dir::State": room,
            "Dir::State::status": state / "status",
            "Dir::State::lists": state / "lists",
            "Dir::Cache": room,
            "Dir::Cache::archives": state / "archives",
            "Debug::NoLocking": "true",
        }
        apt = ["apt-get", "-q", "-y", *(f"-o{key}={value}" for key, value in settings.items())]
        _do([*apt, "update"])
        _do([*apt, "install", "--download-only", "--no-install-recommends", *_PACKAGES])
        for package in sorted((state / "archives").glob("*.deb")):
            _do(["dpkg-deb", "-x", str(package), str(root)])


def _interpreter(root: Path) -> Path:
    found = sorted((root / "usr" / "bin").glob("python3.*[0-9]"))
    if not found:
        raise EnvironmentMissing(f"{root} has no Python, though its packages are unpacked there")
    return found[-1]


def _unpack_wheels(site: Path, python: str) -> None:
    with tempfile.TemporaryDirectory() as room:
        platforms = [f"--platform={one}_aarch64" for one in _PLATFORMS]
        _do(
            [
                *(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", room),
                *("--only-binary=:all:", f"--python-version={python}", *platforms, *_wheels()),
            ]
        )
        for wheel in sorted(Path(room).glob("*.whl")):
            with zipfile.ZipFile(wheel) as file:
                file.extractall(site)


def _do(command: Sequence[str]) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = (ended.stderr or ended.stdout).strip().splitlines()[-_KEPT_LINES:]
        raise EnvironmentMissing(f"{' '.join(command[:2])} failed: " + "\n".join(said))
