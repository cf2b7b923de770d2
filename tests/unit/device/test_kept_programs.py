"""Binaries that the driver keeps on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from visim.device.hostmemory import begin_of
from visim.device.kept_programs import KeptPrograms, remove_damaged

CORPUS = Path(__file__).parents[2] / "corpus"


def keep(folder: Path, name: str, data: bytes, used: int) -> Path:
    path = folder / name[0] / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (used, used))
    return path


def test_what_was_used_last_comes_first_and_once(tmp_path: Path) -> None:
    keep(tmp_path, "a1.cl_cache", b"old", 1000)
    keep(tmp_path, "b2.l0_cache", b"new", 3000)
    keep(tmp_path, "c3.XXXXXX", b"half written", 4000)
    kept = KeptPrograms(tmp_path)
    assert next(kept.unseen()) == b"new"
    keep(tmp_path, "d4.cl_cache", b"newest", 5000)
    assert list(kept.unseen()) == [b"newest", b"old"]
    assert list(kept.unseen()) == []


def test_what_was_compiled_since_the_program_began_is_found_alone(tmp_path: Path) -> None:
    now = time.time()
    keep(tmp_path, "a1.cl_cache", b"of another run", int(now) - 100)
    keep(tmp_path, "b2.cl_cache", b"compiled", int(now) - 10)
    kept = KeptPrograms(tmp_path, now - 20)
    assert list(kept.fresh()) == [b"compiled"]
    assert list(kept.fresh()) == []
    keep(tmp_path, "b3.l0_cache", b"compiled later", int(now) + 1)
    assert list(kept.fresh()) == [b"compiled later"]
    assert list(kept.unseen()) == [b"of another run"]
    assert list(KeptPrograms(tmp_path / "nowhere", now).fresh()) == []


def test_processes_know_when_they_began() -> None:
    before = time.time()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert before - 1 <= begin_of(child.pid) <= time.time() + 1
    finally:
        child.communicate(b"\n")


def test_what_another_process_removes_is_left_out(tmp_path: Path) -> None:
    keep(tmp_path, "a1.cl_cache", b"new", 2000)
    gone = keep(tmp_path, "b2.cl_cache", b"old", 1000)
    found = KeptPrograms(tmp_path).unseen()
    assert next(found) == b"new"
    gone.unlink()
    assert list(found) == []
    assert list(KeptPrograms(tmp_path / "nowhere").unseen()) == []


def test_files_that_are_cut_off_are_removed(tmp_path: Path) -> None:
    whole = (CORPUS / "scale_pvc.zebin").read_bytes()
    kept = [keep(tmp_path, "a.cl_cache", whole, 1), keep(tmp_path, "b.l0_cache", whole + b"?", 1)]
    sizes = 0, 63, 4000, len(whole) - 1
    for number, size in enumerate(sizes):
        keep(tmp_path, f"{number}.cl_cache", whole[:size], 1)
    other = keep(tmp_path, "config.file", b"12345678", 1)
    remove_damaged(tmp_path)
    assert sorted(tmp_path.rglob("*.*")) == sorted([*kept, other])
