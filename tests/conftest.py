"""Options of the whole suite, and the collector of the file tests in `files/`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.file_suite import ENGINES, TestFile
from tests.shares import VARIABLE, choose_seed, share
from visim.runtime import kernel
from visim.toolchain import installed

pytest_plugins = ("tests.toolchains",)  # looks for toolchains before tests hide them

_TESTS = Path(__file__).parent
FILES = _TESTS / "files"
MATRICES = (_TESTS / "engine", _TESTS / "opencl" / "test_images.py")
"""Where functions have many cases that compile a kernel each."""
MOST_CASES = 12
"""Of such a function in an ordinary run."""


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


@pytest.hookimpl(trylast=True)  # of what -k has chosen
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a share of the cases of each function in `MATRICES`, if it has many."""
    if config.getoption("--thorough"):
        return
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if any(item.path.is_relative_to(matrix) for matrix in MATRICES):
            cases[item.nodeid.partition("[")[0]].append(item)
    kept = {item for name, some in cases.items() for item in share(name, some, MOST_CASES)}
    left_out = [item for some in cases.values() for item in some if item not in kept]
    if left_out:
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)
