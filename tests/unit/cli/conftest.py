"""Files that load as stand-ins."""

from __future__ import annotations

import pytest

import visim
from tests.unit.cli.stand_ins import StandInKernel, StandInProgram


@pytest.fixture
def kernel():
    return StandInKernel()


@pytest.fixture
def loads():
    return []


@pytest.fixture
def file(tmp_path, monkeypatch, kernel, loads):
    """A file that loads as a program with the stand-in kernel."""

    def load(source, *, platform=None):
        loads.append((source, platform))
        return StandInProgram((kernel,))

    monkeypatch.setattr(visim, "load", load)
    path = tmp_path / "program.zebin"
    path.write_bytes(b"program")
    return str(path)
