"""The cache of object code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from visim.cli.app import app
from visim.engine.jit.common import cache
from visim.engine.jit.common.cache import ObjectCache, default_folder, key_of


@pytest.fixture
def kept(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "objects")


def test_an_entry_is_found_again(kept: ObjectCache) -> None:
    kept.put("a", b"code")
    assert kept.get("a") == b"code"
    assert kept.get("b") is None
    assert (kept.contents().entries, kept.clear(), kept.contents().entries) == (1, 1, 0)


@pytest.mark.parametrize("damage", [b"", b"visim object 1\n", b"no object at all"])
def test_a_damaged_entry_is_thrown_away(kept: ObjectCache, damage: bytes) -> None:
    kept.put("a", b"code")
    assert kept.folder is not None
    (path,) = kept.folder.iterdir()
    path.write_bytes(damage)
    assert kept.get("a") is None
    assert not path.exists()


def test_one_changed_bit_is_damage(kept: ObjectCache) -> None:
    kept.put("a", b"code")
    assert kept.folder is not None
    (path,) = kept.folder.iterdir()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert kept.get("a") is None


def test_the_oldest_entries_go(kept: ObjectCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 400)
    for key in ("10", "20", "30", "40", "50", "60", "70", "00"):
        kept.put(key, bytes(100))
    assert kept.contents().bytes <= 400
    assert kept.contents().entries > 0


def test_a_folder_that_cannot_be_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = ObjectCache(tmp_path / "file" / "below")
    refused.put("a", b"code")
    assert refused.get("a") is None
    assert refused.clear() == 0


def test_the_variable_says_where_and_empty_turns_it_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.setenv("VISIM_CACHE_DIR", "")
    assert default_folder() is None
    off = ObjectCache(None)
    off.put("a", b"code")
    assert off.get("a") is None


def test_keys_tell_texts_apart_that_join_alike() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("ab", "c") == key_of("ab", "c")


def test_the_command_shows_and_clears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISIM_CACHE_DIR", str(tmp_path))
    ObjectCache(tmp_path).put("a", b"code")
    shown = CliRunner().invoke(app, ["cache"])
    assert "1 compiled kernels" in shown.output
    cleared = json.loads(CliRunner().invoke(app, ["cache", "--clear", "--json"]).output)
    assert (cleared["removed"], cleared["entries"]) == (1, 0)
