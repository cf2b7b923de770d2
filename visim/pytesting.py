"""The pytest plugin of visim: tests whose kernels run under sanitizers.

`--visim-sanitize` (all, or names such as races,uninit) watches the launches of all tests; a test
that uses the fixture `visim_sanitize` is watched in any case. A finding that is an error or a
warning fails the test. Launches that say `sanitize=` themselves are left alone.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from visim.errors import ArgumentError
from visim.runtime.launching.defaults import watched
from visim.runtime.launching.report import Report
from visim.sanitize.findings import Finding
from visim.sanitize.kinds import DETECTORS, read_kinds, read_sanitize
from visim.sanitize.suppressions import Suppression, kept, read_suppressions

_OPTION, _ERRORS, _SUPPRESS = "visim_sanitize", "visim_sanitize_errors", "visim_suppress"


class Watched:
    """What the launches of one test were found to do.

    Attributes:
        reports: the report of each launch, in order.
    """

    def __init__(self, suppressions: tuple[Suppression, ...] = ()) -> None:
        self.reports: list[Report] = []
        self._suppressions = suppressions

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings so far that nothing suppresses, notes too."""
        return tuple(
            one
            for report in self.reports
            for one in kept(report.kernel, report.findings, self._suppressions)
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the findings so far, each once, in their order."""
        return tuple(dict.fromkeys(one.kind for one in self.findings))

    def clear(self) -> None:
        """Forget what was found so far: the test wanted it."""
        self.reports.clear()

    def failure(self) -> str | None:
        """Return why the test fails, None: it does not."""
        serious = [one for one in self.findings if one.counts]
        if not serious:
            return None
        return "\n\n".join(["visim's sanitizers found:", *map(str, serious)])


_KEY = pytest.StashKey[Watched]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plugin's options."""
    group = parser.getgroup("visim")
    group.addoption(
        "--visim-sanitize",
        nargs="?",
        const="all",
        metavar="NAMES",
        dest=_OPTION,
        help=f"run all kernels under sanitizers: {', '.join(DETECTORS)}, or all",
    )
    group.addoption(
        "--visim-sanitize-errors",
        metavar="KINDS",
        dest=_ERRORS,
        help="kinds of findings that count as errors, also where they are notes",
    )
    group.addoption(
        "--visim-suppress",
        metavar="FILE",
        dest=_SUPPRESS,
        help="a file of findings that are known",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that mean nothing before tests run."""
    try:
        read_sanitize(config.getoption(_OPTION))
        read_kinds(config.getoption(_ERRORS) or ())
        _suppressions(config)
    except ArgumentError as error:
        raise pytest.UsageError(f"--visim-{error}") from None


@pytest.fixture
def visim_sanitize(request: pytest.FixtureRequest) -> Watched:
    """What visim's sanitizers find in the launches of this test; errors and warnings fail it."""
    return request.node.stash[_KEY]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the launches of a test, and fail it for what was found."""
    names = item.config.getoption(_OPTION)
    asks = "visim_sanitize" in getattr(item, "fixturenames", ())
    if names is None and not asks:
        return (yield)
    known = item.stash.get(_KEY, None)
    found = known or Watched(_suppressions(item.config))
    errors = read_kinds(item.config.getoption(_ERRORS) or ())
    with watched(names or "all", found.reports.append, errors):
        result = yield
    failure = found.failure()
    if failure is not None:
        pytest.fail(failure, pytrace=False)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Make what the fixture gives."""
    item.stash[_KEY] = Watched(_suppressions(item.config))


def _suppressions(config: pytest.Config) -> tuple[Suppression, ...]:
    path = config.getoption(_SUPPRESS)
    return () if path is None else read_suppressions(path)


__all__ = ["Watched", "visim_sanitize"]
