"""`visim time`."""

from __future__ import annotations

import json

import pytest

from tests.unit.timing.programs import chain
from visim.cli import main


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "chain.visaasm"
    path.write_text(chain(6).source)
    return path


def run(program, *words):
    return main(["time", str(program), "--platform", "skl", "--groups", "4", *words])


def test_json_has_the_stall_stack_that_covers_all_slots(program, capsys):
    assert run(program, "--arch", "snb", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["arch"] == "snb"
    assert found["threads"] == 4
    assert sum(found["stalls"].values()) == found["cycles"] * found["slots"]


def test_the_generation_is_that_of_the_device_if_none_is_named(program, capsys):
    assert run(program, "--json") == 0
    assert json.loads(capsys.readouterr().out)["arch"] == "skl"


def test_json_has_the_keys_that_are_promised(program, capsys):
    assert run(program, "--arch", "snb", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"arch", "cycles", "threads", "slots", "bank_conflicts", "occupancy"} <= found.keys()
    assert found["instructions"].keys() == {"visa", "native"}
    assert found["icache"].keys() == {"l1_hits", "l1_misses", "l2_hits", "l2_misses"}
    stalls = "active control pipe send dependency scoreboard sync ifetch other"
    assert list(found["stalls"]) == stalls.split()
    assert {"line", "text", "executions", "native", "stalls"} <= found["lines"][0].keys()
    assert {"name", "value", "from", "source"} <= found["provenance"][0].keys()


def test_text_names_the_hot_line_and_the_listing_all_of_them(program, capsys):
    assert run(program, "--arch", "ivb", "--listing") == 0
    text = capsys.readouterr().out
    assert "Ivy Bridge" in text
    assert text.count("mul(8)") == 6


def test_generations_stand_side_by_side(program, capsys):
    assert run(program, "--compare", "snb,ivb,skl,tgl,pvc") == 0
    lines = capsys.readouterr().out.splitlines()
    names = ["snb", "ivb", "skl", "tgl", "pvc"]
    assert [line.split()[0] for line in lines[1:6]] == names
    fastest = min(lines[1:6], key=lambda line: int(line.split()[1])).split()[0]
    reasons = [line for line in lines[6:] if f"times the cycles of {fastest}: " in line]
    assert len(reasons) == len(lines) - 6 == 4
    (of_snb,) = [line for line in reasons if line.startswith("snb takes")]
    assert "cores of" in of_snb
    assert "a thread spends" in of_snb


@pytest.mark.parametrize("window", ["5", "a:b", "9:9", "-1:4", ":", "9" * 5000 + ":1"])
def test_a_window_is_two_cycles(program, tmp_path, capsys, window):
    words = ("--arch", "snb", "--perfetto", str(tmp_path / "p.json"), f"--window={window}")
    assert run(program, *words) == 2
    assert "--" in capsys.readouterr().err
    assert not (tmp_path / "p.json").exists()


def test_a_window_needs_a_picture(program, capsys):
    assert run(program, "--arch", "snb", "--window", "1:2") == 2
    assert "--perfetto or --html" in capsys.readouterr().err


def test_the_file_of_a_window_says_which_cycles_it_has(program, tmp_path, capsys):
    words = ("--arch", "snb", "--perfetto", str(tmp_path / "p.json"), "--window", "3:9")
    assert run(program, *words) == 0
    assert "cycles 3 to 9 of " in capsys.readouterr().err
    assert json.loads((tmp_path / "p.json").read_text())["otherData"]["window"] == [3, 9]


def test_parameters_can_be_set(program, capsys):
    assert run(program, "--arch", "snb", "--set", "eus=1", "--set", "slots=2", "--json") == 0
    assert json.loads(capsys.readouterr().out)["slots"] == 2


def test_a_launch_file_is_timed_too(program, capsys, tmp_path):
    launch = tmp_path / "launch.toml"
    launch.write_text('file = "chain.visaasm"\nplatform = "skl"\ngroups = 3\n')
    assert main(["time", str(launch), "--arch", "snb", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--arch", "snb", "--compare", "ivb"), "--arch and --compare exclude each other"),
        (("--arch", "gen6"), "no architecture 'gen6'"),
        (("--arch", "snb", "--set", "eus"), "expected NAME=NUMBER"),
        (("--arch", "snb", "--set", f"eus={'9' * 5000}"), "9... has thousands of digits"),
    ],
)
def test_wrong_options_are_wrong_use(program, capsys, words, message):
    assert run(program, *words) == 2
    assert message in capsys.readouterr().err
