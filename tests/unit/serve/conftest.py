"""One oracle for all tests of a process: its processes take a while to start."""

from __future__ import annotations

import json

import pytest

from visim.serve.oracle import Oracle


@pytest.fixture(scope="session")
def oracle():
    with Oracle(workers=2) as made:
        yield made


@pytest.fixture
def ask(oracle):
    """A function that returns the answer of a tool."""

    def call(tool, **request):
        return json.loads(oracle.call(tool, request).data)

    return call
