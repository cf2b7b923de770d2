"""The folder of results: what a killed writer leaves, and who may write."""

from __future__ import annotations

import json
import resource
import signal

import pytest

from visim.campaign.cells import Cell, digest_of
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.store import RESULTS, Store
from visim.errors import ArgumentError


def cell(number):
    name = {"launch": "k", "seed": number}
    return Cell("launch", name, {}, digest_of(number))


@pytest.fixture
def folder(tmp_path):
    with Store(tmp_path / "results") as store:
        store.begin("matrix")
        for number in range(3):
            store.add(cell(number), Result(Outcome.PASSED))
    return tmp_path / "results"


def test_results_are_known_to_the_next_one(folder):
    with Store(folder) as store:
        assert list(store.known.values()) == [Outcome.PASSED] * 3
        assert [line["name"]["seed"] for line in store.lines()] == [0, 1, 2]


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_half_a_line_at_the_end_is_cut_off(folder, cut):
    file = folder / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    with Store(folder) as store:
        assert len(store.known) == 2
        store.begin("matrix")
        store.add(cell(2), Result(Outcome.FAULT))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["passed", "passed", "fault"]


def test_half_a_line_alone_is_cut_off(folder):
    (folder / "results.jsonl").write_bytes(b'{"campaign": 1, "cell"')
    with Store(folder) as store:
        assert store.known == {}
    assert (folder / "results.jsonl").read_bytes() == b""


@pytest.mark.parametrize("damage", [b"\0" * 10, b"[]", b'{"key": "zz"}', b"\xff\xfe"])
def test_a_damaged_line_is_counted_and_no_result(folder, damage):
    file = folder / "results.jsonl"
    first, *others = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + damage + b"\n" + b"".join(others[1:]))
    with Store(folder) as store:
        assert len(store.known) == 2
        assert store.unreadable == 1


def test_a_campaign_that_did_not_end_goes_on_under_its_number(folder):
    with Store(folder) as store:
        store.begin("matrix")
        assert store.state.number == 1
        store.end()
        store.begin("matrix")
        assert store.state.number == 2
        store.begin("another")
        assert store.state.number == 3


def test_there_is_one_writer_at_a_time(folder):
    with Store(folder), pytest.raises(ArgumentError, match="another campaign writes there"):
        Store(folder)
    Store(folder).close()


def test_a_full_disk_is_said(tmp_path):
    with Store(tmp_path / "results") as store:
        store.begin("matrix")
        store.add(cell(0), Result(Outcome.PASSED))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = (tmp_path / "results" / RESULTS).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, before[1]))
        try:
            with pytest.raises(
                ArgumentError, match=r"results.jsonl: cannot be written: .*make room"
            ):
                store.add(cell(1), Result(Outcome.PASSED))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
    with Store(tmp_path / "results") as store:
        assert len(store.known) >= 1
        store.add(cell(2), Result(Outcome.PASSED))
        assert store.unreadable == 0


def test_a_folder_that_is_none_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="cannot be written"):
        Store(tmp_path / "file")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "campaign.json").write_text("[]")
    with pytest.raises(ArgumentError, match="this is no campaign's"):
        Store(tmp_path / "results")
