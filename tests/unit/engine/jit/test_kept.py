"""Kernels whose code is kept are neither looked at nor written again."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import visim
from tests.unit.runtime.launching.numbering import HEAD, STORE
from visim.diag import Source
from visim.engine.jit import Prepared
from visim.engine.jit.emit.module import ModuleWriter
from visim.engine.jit.launch import kept
from visim.errors import InternalError
from visim.linker import link_kernel
from visim.target import platform
from visim.text import read_text

GROUPS = 4
LAUNCHING = """
import sys
import numpy as np
import visim
from tests.unit.runtime.launching.numbering import HEAD, STORE

kernel = visim.assemble(HEAD + STORE, platform="pvc")["k"]
kernel.launch([np.zeros(1, np.uint32)], thread_groups=1, engine="jit")
print("visim.engine.jit.writing.nodes" in sys.modules)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VISIM_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def written(nothing_to_compile: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was asked of kernels: their traits, their modules."""
    found: list[str] = []
    for name in ("survey", "write"):
        method = getattr(ModuleWriter, name)

        def noted(self: ModuleWriter, name: str = name, method=method) -> object:
            found.append(name)
            return method(self)

        monkeypatch.setattr(ModuleWriter, name, noted)
    return found


def launch(text: str = HEAD + STORE, *, room: int = GROUPS, **options: object) -> np.ndarray:
    kernel = visim.assemble(text, platform="pvc")["k"]
    out = np.zeros(GROUPS, np.uint32)
    kernel.launch([out[:room]], thread_groups=GROUPS, engine="jit", **options)
    return out


def test_the_second_time_nothing_is_written(written: list[str]) -> None:
    first = launch()
    assert written == ["survey", "write"]
    assert np.array_equal(launch(), first)
    assert written == ["survey", "write"]


def test_what_writes_code_is_loaded_when_there_is_code_to_write() -> None:
    command = [sys.executable, "-c", LAUNCHING]
    for expected in ("True", "False"):
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
        assert done.stdout.strip() == expected


def test_another_version_of_a_kernel_is_written_by_itself(written: list[str]) -> None:
    launch()
    launch(budget=1000)
    assert written == ["survey", "write", "write"]


def test_a_kernel_that_differs_in_one_number_is_another(written: list[str]) -> None:
    launch()
    found = launch(HEAD.replace("0x1:ud", "0x5:ud") + STORE)
    assert np.array_equal(found, np.arange(GROUPS) + 5)
    assert written == ["survey", "write"] * 2


def test_kernels_of_one_file_are_found_by_the_file_and_their_name(
    written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + STORE
    module = read_text(Source("k.visaasm", text))
    linked = link_kernel(module, module.kernels[0], platform("pvc"))
    Prepared(replace(linked, origin="one file"))
    assert written == ["survey"]
    monkeypatch.setattr(kept, "show_unit", None)
    Prepared(replace(linked, origin="one file"))
    assert written == ["survey"]
    Prepared(replace(linked, origin="another file"))
    Prepared(replace(linked, origin="one file", name="other"))
    assert written == ["survey"] * 3


def test_faults_of_kept_code_name_their_instruction(written: list[str]) -> None:
    launch()
    for _ in range(2):
        with pytest.raises(visim.FaultError) as error:
            launch(room=2)
        fault = error.value.fault
        assert fault.group == (2, 0, 0)
        assert "lsc_store.ugm" in (fault.instruction or "")
    assert written == ["survey", "write", "write", "write"]


def test_counts_of_kept_code_are_those_of_new_code() -> None:
    kernel = visim.assemble(HEAD + STORE, platform="pvc")
    reports = []
    for _ in range(2):
        out = np.zeros(GROUPS, np.uint32)
        options = {"thread_groups": GROUPS, "engine": "jit", "collect": "fidelity"}
        reports.append(kernel["k"].launch([out], **options).fidelity)
        kernel = visim.assemble(HEAD + STORE, platform="pvc")
    assert reports[0] == reports[1]
    assert {use.count for use in reports[0]} == {GROUPS}


def test_a_module_that_is_not_the_one_that_was_compiled_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launch()
    facts = kept.Facts(
        "other", 0, (), (), (), (), (), 0, alike_once=True, firsts=(), frame_bytes=0, lines=0
    )
    monkeypatch.setattr(kept.Facts, "of", classmethod(lambda cls, module: facts))
    with pytest.raises(InternalError, match="not what it was"):
        launch(room=2)
