"""Packages from Debian's archive, through apt with a state of its own.

apt checks the signature of the archive's `InRelease` with the archive's keys, the indices against
it, and each package against the indices. The system's own state, sources and hooks are neither
used nor changed; what the system says of proxies and certificates is.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from visim.errors import ArgumentError, InstallError
from visim.toolchain import tools

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITE = "unstable"
_SYSTEM_SOURCES = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
_SCHEMES = frozenset({"http", "https", "file"})
_ARCHIVE = re.compile(r"(?:https?|file):\S*/debian/?(?=\s|$)", re.MULTILINE)
_SUITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_/-]*")
_KEPT = re.compile(r"Acquire::(?:https?::|Check-(?:Valid-Until|Date) |Force|Proxy|Socks)")
_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Archive:
    """A mirror of Debian's archive, the suite to take, and the keys that must have signed it.

    An expired index is refused unless `allow_expired`, or apt is configured to take it.
    """

    url: str
    suite: str = SUITE
    keyring: Path = KEYRING
    allow_expired: bool = False

    def __post_init__(self) -> None:
        """Refuse what apt would read as something else.

        Raises:
            ArgumentError: the URL, the suite or the keyring is not one.
        """
        if urlsplit(self.url).scheme not in _SCHEMES or re.search(r"\s", self.url):
            raise ArgumentError(
                f"mirror: expected the http, https or file URL of a Debian archive, or its "
                f"folder, found {self.url!r}"
            )
        if not _SUITE.fullmatch(self.suite):
            raise ArgumentError(f"suite: expected a name such as {SUITE}, found {self.suite!r}")
        if not self.keyring.is_file():
            raise ArgumentError(
                f"keyring: {self.keyring} is not there; the package debian-archive-keyring has "
                "the keys of Debian's archive, in other distributions, too"
            )

    def __str__(self) -> str:
        return f"{self.url} {self.suite}"


def mirror_url(text: str) -> str:
    """Return the URL of a mirror that is given as one, or as a folder."""
    return "file:" + quote(str(Path(text).absolute())) if Path(text).is_dir() else text


def known_mirror(sources: Sequence[Path] = _SYSTEM_SOURCES) -> str:
    """Return the URL of the Debian archive that apt's sources name.

    Raises:
        ArgumentError: they name none.
    """
    for place in sources:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        for file in files:
            if file.suffix not in {".list", ".sources"} or not file.is_file():
                continue
            lines = file.read_text("utf-8", "replace").splitlines()
            used = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
            if found := _ARCHIVE.search(used):
                return found[0].rstrip("/")
    raise ArgumentError(
        "apt knows no Debian archive here: say where one is with --mirror URL, "
        "or give a folder of packages with --from"
    )


def download(
    archive: Archive, packages: Sequence[str], folder: Path, say: Callable[[str], None]
) -> tuple[Path, ...]:
    """Download packages and all that they depend on into `folder`, and return their files.

    Raises:
        InstallError: the archive cannot be reached, or is not what its signature says.
        ToolMissing: apt is not installed.
    """
    state = folder / "apt"
    environment = {"APT_CONFIG": str(_configure(archive, state))}
    say(f"reading the index of {archive}")
    _apt(["update"], archive, environment)
    say(f"downloading {packages[0]} from {archive}")
    _apt(["install", "--download-only", *packages], archive, environment)
    return tuple(sorted((state / "archives").glob("*.deb")))


def _apt(words: Sequence[str], archive: Archive, environment: dict[str, str]) -> None:
    outcome = tools.run(["apt-get", "-qq", *words], environment)
    if outcome.code != 0:
        complaints = outcome.complaints().replace("copy:/", "file:/")
        raise InstallError(f"{archive}: apt-get {words[0]} failed: {complaints}")


def _configure(archive: Archive, state: Path) -> Path:
    """Lay out a state for apt that belongs to this download, and return its configuration."""
    keys = state / "keys"
    for name in ("lists/partial", "archives/partial", "sources", "preferences", "keys"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    suffix = archive.keyring.suffix if archive.keyring.suffix == ".asc" else ".gpg"
    shutil.copyfile(archive.keyring, keys / f"archive{suffix}")
    is_flat = archive.suite.endswith("/")
    url = re.sub("^file:", "copy:", archive.url)  # apt uses packages of file: where they are
    source = f"Types: deb\nURIs: {url}\nSuites: {archive.suite}\n"
    (state / "sources" / "archive.sources").write_text(
        source + ("" if is_flat else "Components: main\n"), "utf-8"
    )
    configuration = state / "apt.conf"
    configuration.write_text(_configuration(archive, state), "utf-8")
    return configuration


def _configuration(archive: Archive, state: Path) -> str:
    folders = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": state / "sources",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": state / "preferences",
        "Dir::Etc::trusted": "/dev/null",
        "Dir::Etc::trustedparts": state / "keys",
        "Dir::Etc::main": "/dev/null",
        "Dir::Etc::parts": "/dev/null",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state,
        "Dir::Cache::archives": state / "archives",
    }
    settings = {
        "APT::Architecture": "amd64",
        "APT::Architectures": "amd64",
        "APT::Install-Recommends": "false",
        "APT::Get::Assume-Yes": "true",
        "APT::Sandbox::User": "",
        "APT::Update::Error-Mode": "any",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": _TIMEOUT_S,
        "Acquire::https::Timeout": _TIMEOUT_S,
        "Debug::NoLocking": "true",
    }
    if archive.allow_expired:
        settings["Acquire::Check-Valid-Until"] = "false"
    lines = [f'{key} "{value}";' for key, value in (folders | settings).items()]
    return "\n".join([*_system_settings(), *lines, ""])


def _system_settings() -> list[str]:
    """Return how this system's apt reaches archives, and whether it takes expired ones."""
    outcome = tools.run(["apt-config", "dump"])
    lines = outcome.output.splitlines() if outcome.code == 0 else []
    return [line for line in lines if _KEPT.match(line)]
