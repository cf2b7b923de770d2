"""Archives and folders of packages that tests install from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.toolchain.archives import Keys, Mirror, need_tools, write_packages
from visim.toolchain import installed


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keys]:
    """Who signs the archive."""
    need_tools()
    made = Keys(tmp_path_factory.mktemp("k") / "h")
    yield made
    made.end()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where toolchains go: a folder with a blank and a letter beyond ASCII in its path."""
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path / "my däta"))
    return installed.home()


@pytest.fixture
def mirror(tmp_path: Path, keys: Keys) -> Mirror:
    """A good archive."""
    made = Mirror(tmp_path / "debian mirror", keys)
    made.publish()
    return made


@pytest.fixture(scope="session")
def all_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all packages of a compiler, which no test changes."""
    need_tools()
    folder = tmp_path_factory.mktemp("packages")
    write_packages(folder)
    return folder
