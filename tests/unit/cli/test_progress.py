"""How far a run is, and where its threads are when it does not seem to end."""

from __future__ import annotations

import pytest

from visim.cli import main, progress
from visim.errors import Fault

LOOP = """.version 4.1
.kernel "h"
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "h_0"
h_0:
top:
    goto (M1, 1) top
    ret (M1, 1)
"""


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def place(line, thread):
    return Fault("cancelled", "cancelled", "", file="k.visaasm", line=line, thread=thread)


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_run_without_end_says_where_its_threads_are(tmp_path, monkeypatch, capsys, engine):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    monkeypatch.setattr(progress, "_LISTENING_S", 0.0)
    (tmp_path / "h.visaasm").write_text(LOOP)
    words = ["run", "h.visaasm", "--device", "pvc", "--groups", "1", "--timeout", "4"]
    assert main([*words, "--engine", engine]) == 1
    note, fault = capsys.readouterr().err.split("fault[")
    assert note.splitlines() == [
        "note: h has run for 0 s without ending a group; its threads are at",
        "  h.visaasm:8: goto (M1, 1) top  (thread 0)",
        "  --budget INSTRUCTIONS or --timeout SECONDS makes that a fault; Ctrl-C stops it",
    ]
    assert fault.startswith("out-of-contract/timeout]")


def test_a_note_comes_once_and_only_after_a_while_without_the_end_of_a_group(clock):
    said = []
    watch = progress.Watch("k", tell=said.append)
    clock[0] += 4
    assert not watch.is_looking()
    watch.ran(3, 8)
    clock[0] += 4
    assert not watch.is_looking()
    clock[0] += 2
    assert watch.is_looking()
    for line, thread in ((5, 1), (5, 0), (9, 2)):
        watch.found(place(line, thread))
    assert not said
    clock[0] += 1
    watch.found(place(5, 1))
    [note] = said
    assert "after 3 of 8 groups, k has run for 5 s" in note
    assert "k.visaasm:5:   (thread 0, 1)" in note
    assert not watch.is_looking()


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_the_bar_hears_of_all_groups(monkeypatch, engine):
    heard = []
    monkeypatch.setattr(progress.Watch, "ran", lambda self, *counts: heard.append(counts))
    assert main(["run", "example:esimd", "--groups", "16", "--engine", engine]) == 0
    assert heard[-1] == (16, 16)
    assert heard == sorted(heard)
