"""Every test of the engines runs on each of them."""

from __future__ import annotations

import pytest

from . import harness


@pytest.fixture(autouse=True, params=list(harness.ENGINES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The engine on which `harness.run` runs."""
    monkeypatch.setattr(harness.CHOSEN, "engine", harness.ENGINES[request.param])
    return request.param
