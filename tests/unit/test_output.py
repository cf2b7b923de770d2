"""Outputs appear whole or not at all, and an old file survives what goes wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from visim import output
from visim.cli import main
from visim.errors import ArgumentError
from visim.output import write_file

TEXT = '.version 4.1\n.kernel "k"\n.kernel_attr Target="cm"\nret (M1, 1)\n'


def folder_of(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


def test_a_file_is_written(tmp_path: Path):
    write_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert folder_of(tmp_path) == ["a"]


def test_an_old_file_is_replaced_and_keeps_its_permissions(tmp_path: Path):
    file = tmp_path / "a"
    file.write_bytes(b"old")
    file.chmod(0o640)
    write_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_the_user(tmp_path: Path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "a", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_stays_one(tmp_path: Path):
    (tmp_path / "real").mkdir()
    file, link = tmp_path / "real" / "a", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_file(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_a_link_to_nothing_makes_what_it_names(tmp_path: Path):
    (tmp_path / "link").symlink_to("a")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_pipe_is_written_directly(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(pipe, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing/a", "the folder .*missing does not exist; make it first"),
        ("folder", "this is a folder"),
        ("locked", "the file is read-only"),
        ("loop", "symbolic links form a loop"),
        ("x" * 300, "cannot be written: File name too long"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, file: str, message: str):
    (tmp_path / "folder").mkdir()
    locked = tmp_path / "locked"
    locked.write_bytes(b"old")
    locked.chmod(0o444)
    (tmp_path / "loop").symlink_to("loop")
    before = folder_of(tmp_path)
    with pytest.raises(ArgumentError, match=message):
        write_file(tmp_path / file, b"new")
    assert folder_of(tmp_path) == before
    assert locked.read_bytes() == b"old"


def test_a_full_disk_is_said():
    with pytest.raises(ArgumentError, match="/dev/full: cannot be written: No space left"):
        write_file("/dev/full", b"new")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_end_in_between_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    def fail(_descriptor: int) -> None:
        raise error

    file = tmp_path / "a"
    file.write_bytes(b"old")
    monkeypatch.setattr(output.os, "fsync", fail)
    with pytest.raises((ArgumentError, KeyboardInterrupt)):
        write_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert folder_of(tmp_path) == ["a"]


@pytest.mark.parametrize("verb", ["asm", "dis", "link"])
def test_every_verb_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str):
    source = tmp_path / "k.visaasm"
    source.write_text(TEXT)
    old = tmp_path / "old"
    old.write_bytes(b"old")
    old.chmod(0o444)
    for target, message in (
        ("/dev/full", "No space left on device"),
        (str(tmp_path / "missing" / "o"), "does not exist; make it first"),
        (str(old), "read-only"),
    ):
        assert main([verb, str(source), "--platform", "skl", "-o", target]) == 2
        captured = capsys.readouterr()
        assert message in captured.err
        assert captured.err.startswith("error: ")
    assert old.read_bytes() == b"old"
    assert folder_of(tmp_path) == ["k.visaasm", "old"]


def test_a_run_does_not_begin_where_its_output_has_no_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = tmp_path / "k.visaasm"
    source.write_text(TEXT)
    old = tmp_path / "old.npy"
    old.write_bytes(b"old")
    old.chmod(0o444)
    words = ["run", str(source), "--platform", "skl", "--groups", "1", "--out", f"x={old}"]
    assert main(words) == 2
    assert "read-only" in capsys.readouterr().err
