"""Options of the whole suite, and the collector of the file tests in `files/`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.file_suite import ENGINES, TestFile
from tests.shares import VARIABLE, choose_seed
from visim.runtime import kernel
from visim.toolchain import installed

pytest_plugins = ("tests.toolchains",)  # looks for toolchains before tests hide them

FILES = Path(__file__).parent / "files"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("visim")
    group.addoption(
        "--bless", action="store_true", help="write what `RUN: print` gives as its expectation"
    )
    group.addoption(
        "--thorough",
        action="store_true",
        help="run all of every matrix, not a share (tests/shares)",
    )
    group.addoption(
        "--engines",
        default=",".join(ENGINES),
        help="engines that run the file tests, separated by commas (default: %(default)s)",
    )


def pytest_configure() -> None:
    """Choose the seed before worker processes are started, so that all take the same shares."""
    choose_seed()


def pytest_report_header() -> str:
    return f"shares of long matrices: {VARIABLE}={choose_seed()}"


@pytest.fixture(params=["interpreter", "jit"])
def each_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine of launches that name none; a test that uses it runs on every one."""
    monkeypatch.setattr(kernel, "fastest_engine", lambda plan, weight: request.param)
    return request.param


@pytest.fixture(scope="session", autouse=True)
def object_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels that tests compile are kept for this run only, not in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VISIM_CACHE_DIR", str(tmp_path_factory.mktemp("objects")))
        yield


@pytest.fixture(scope="session", autouse=True)
def no_toolchains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests see the system's compiler; those of others ask `tests.toolchains`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(installed.VARIABLE, str(tmp_path_factory.mktemp("data")))
        yield


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".visaasm" and file_path.is_relative_to(FILES):
        return TestFile.from_parent(parent, path=file_path)
    return None
