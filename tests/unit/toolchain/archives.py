"""Small Debian archives with packages of nothing, made and signed on the spot."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

TOOLS = ("apt-get", "dpkg-deb", "gpg", "gpgconf")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
_SYSTEM = Path("/usr") / "lib" / "x86_64-linux-gnu"
_PYTHON = b"#!/bin/sh\nexit 0\n"


def need_tools() -> None:
    """Skip where the programs are missing that make archives and read them."""
    lost = [tool for tool in TOOLS if shutil.which(tool) is None]
    lost += [] if (_SYSTEM / "libm.so.6").is_file() else ["the C library of Debian on x86-64"]
    if lost:
        pytest.skip(f"not installed: {', '.join(lost)}")


def contents(version: str) -> dict[str, tuple[str, str, dict[str, bytes]]]:
    """Return the packages of a compiler: version, what it depends on, and files.

    Its libraries are copies of one of the system's, which needs nothing but the C library.
    """
    library = (_SYSTEM / "libm.so.6").read_bytes()
    system = {
        f"{LIBRARIES}/{name}": (_SYSTEM / name).read_bytes()
        for name in ("libc.so.6", "ld-linux-x86-64.so.2")
    }
    return {
        "libc6": ("2.43-7", "", system),
        "intel-ocloc": (
            version,
            "libc6 (>= 2.38)",
            {f"{LIBRARIES}/libocloc.so": library, "usr/bin/ocloc-26.1": _PYTHON},
        ),
        "libigc2": ("2.0-1", "libc6", {f"{LIBRARIES}/libigc.so.2": library}),
        "libigdfcl2": ("2.0-1", "libc6", {f"{LIBRARIES}/libigdfcl.so.2": library}),
        "libigc2-tools": ("2.0-1", "libigc2", {"usr/bin/iga64": _PYTHON}),
        "python3-minimal": ("3.14-1", "", {"usr/bin/python3.14": _PYTHON}),
        "libpython3-stdlib": ("3.14-1", "", {}),
    }


def write_package(
    folder: Path,
    name: str,
    version: str,
    depends: str,
    files: Mapping[str, bytes],
    architecture: str = "amd64",
) -> Path:
    """Write a package into a folder and return its file."""
    tree = folder / f"tree-{name}"
    for path, data in {"DEBIAN/control": b"", **files}.items():
        file = tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o755 if "bin" in path or "/ld-linux" in path else 0o644)
    control = (
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
        f"Maintainer: nobody <nobody@example.org>\nDescription: nothing\n"
    ) + (f"Depends: {depends}\n" if depends else "")
    (tree / "DEBIAN/control").write_text(control)
    target = folder / f"{name}_{version.replace(':', '%3a')}_{architecture}.deb"
    words = ["dpkg-deb", "--build", "-Znone", "--root-owner-group", str(tree), str(target)]
    subprocess.run(words, check=True, capture_output=True)
    shutil.rmtree(tree)
    return target


def write_packages(folder: Path, version: str = "26.1-1") -> list[Path]:
    """Write all packages of a compiler into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return [write_package(folder, name, *about) for name, about in contents(version).items()]


class Keys:
    """A key of somebody who signs archives."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self.home = folder
        self.keyring = folder / "keyring.gpg"
        self._run("--quick-generate-key", "Archive <a@example.org>", "ed25519", "sign", "never")
        self.keyring.write_bytes(self._run("--export"))

    def sign(self, file: Path, target: Path) -> None:
        """Write the signed form of a text."""
        self._run("--yes", "--output", str(target), "--clearsign", str(file))

    def end(self) -> None:
        """End the agent that holds the key."""
        words = ["gpgconf", "--homedir", str(self.home), "--kill", "gpg-agent"]
        subprocess.run(words, check=False, capture_output=True)

    def _run(self, *words: str) -> bytes:
        head = ["gpg", "--homedir", str(self.home), "--batch", "--passphrase", ""]
        found = subprocess.run(
            [*head, "--pinentry-mode", "loopback", *words], check=True, capture_output=True
        )
        return found.stdout


class Mirror:
    """An archive in a folder, with one suite."""

    def __init__(self, folder: Path, keys: Keys) -> None:
        self.folder = folder
        self.keys = keys
        self.pool = folder / "pool"
        self.suite = folder / "dists" / "unstable"
        self.index = self.suite / "main" / "binary-amd64" / "Packages"
        self.index.parent.mkdir(parents=True)

    @property
    def url(self) -> str:
        """Its URL."""
        return f"file:{str(self.folder).replace(' ', '%20')}"

    def publish(self, version: str = "26.1-1", valid_until: str = "") -> None:
        """Put the packages of a compiler into it, and sign."""
        shutil.rmtree(self.pool, ignore_errors=True)
        files = write_packages(self.pool, version)
        entries = (_entry(file, self.folder) for file in files)
        self.index.write_text("\n".join(entries))
        self.release(valid_until)

    def release(self, valid_until: str = "") -> None:
        """Write the signed list of indices."""
        data = self.index.read_bytes()
        packed = gzip.compress(data, mtime=0)
        self.index.with_suffix(".gz").write_bytes(packed)
        lines = [
            f" {hashlib.sha256(part).hexdigest()} {len(part)} main/binary-amd64/{name}"
            for name, part in (("Packages", data), ("Packages.gz", packed))
        ]
        text = self.suite / "Release"
        text.write_text(
            "Origin: nobody\nSuite: unstable\nCodename: sid\nArchitectures: amd64\n"
            "Components: main\nDate: Sat, 01 Jan 2022 00:00:00 UTC\n"
            + (f"Valid-Until: {valid_until}\n" if valid_until else "")
            + "SHA256:\n"
            + "\n".join(lines)
            + "\n"
        )
        self.keys.sign(text, self.suite / "InRelease")
        text.unlink()


def _entry(file: Path, folder: Path) -> str:
    """Return what the index says of a package."""
    control = subprocess.run(
        ["dpkg-deb", "--field", str(file)], check=True, capture_output=True, text=True
    ).stdout
    data = file.read_bytes()
    return (
        f"{control}Filename: {file.relative_to(folder)}\nSize: {len(data)}\n"
        f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
    )
