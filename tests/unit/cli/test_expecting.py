"""--expect: arrays that are not as they were expected, with a picture of where; --json-arrays."""

from __future__ import annotations

import json

import numpy as np
import pytest

from visim.cli import main
from visim.cli.arrays import arrays_to_dict
from visim.runtime.files.compared import Tolerance, compare

RIGHT = 1 + 2 * np.arange(1000, dtype=np.float32)
SAXPY = ["run", "example:saxpy", "--expect", "y=expected.npy"]


@pytest.fixture
def expect(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda array: np.save("expected.npy", array)


def picture(found, expected, tolerance=Tolerance()):  # noqa: B008 - frozen
    return compare("y", "y.npy", found, expected, tolerance).picture


def test_what_is_as_expected_is_said(expect, capsys):
    expect(RIGHT * np.float32(1 + 1e-6))
    assert main(SAXPY) == 0
    assert capsys.readouterr().out.endswith("y is as in expected.npy\n")


def test_what_differs_is_an_error_with_a_picture(expect, capsys):
    wrong = RIGHT.copy()
    wrong[5] = 4
    wrong[128:256] = 0
    expect(wrong)
    assert main(SAXPY) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == (
        "error[expect]: y differs from expected.npy in 129 of 1000 elements "
        "(rtol 1e-05, atol 1e-08)"
    )
    assert "the first is [5]: 11.0, expected 4.0; the largest distance is 511" in lines[1]
    rows = [line.removeprefix("   | ") for line in lines[2:-1]]
    assert rows[:3] == ["." * 5 + "#" + "." * 58, "." * 64, "#" * 64]
    assert len(rows) == 16


def test_tolerances_are_the_users(expect, capsys):
    expect(RIGHT + 1)
    assert main([*SAXPY, "--atol", "1"]) == 0
    assert main([*SAXPY, "--rtol", "0.5"]) == 0
    assert main([*SAXPY, "--rtol", "1e-3"]) == 1


def test_json_has_the_comparison(expect, capsys):
    expect(RIGHT.reshape(10, 100) + 1)
    assert main([*SAXPY, "--json"]) == 1
    [found] = json.loads(capsys.readouterr().out)["expectations"]
    assert found == {
        "name": "y",
        "file": "expected.npy",
        "elements": 1000,
        "differing": 1000,
        "first": {"index": [0], "found": "1.0", "expected": "2.0"},
        "largest_distance": 1.0,
    }


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        (RIGHT[:10], SAXPY, "--expect y: expected.npy has 10 elements, y has 1000"),
        (np.array(["a"]), SAXPY, "--expect y: expected.npy has no numbers"),
        (RIGHT, [*SAXPY[:2], "--expect", "y=expected.txt"], "--expect y: expected a file .npy"),
        (RIGHT, [*SAXPY[:2], "--expect", "a=expected.npy"], "this argument is not an array"),
        (RIGHT, [*SAXPY[:2], "--expect", "y=other.npy"], "there is no file other.npy"),
        (RIGHT, [*SAXPY, "--rtol", "-1"], "--rtol: expected a number from 0, found -1.0"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_run(expect, capsys, array, words, message):
    expect(array)
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_array_is_refused_by_its_option(expect, tmp_path, capsys):
    (tmp_path / "expected.npy").write_bytes(b"no array")
    assert main(SAXPY) == 2
    assert "--expect y: expected.npy is no NumPy array file" in capsys.readouterr().err


def test_a_launch_file_has_expectations(expect, tmp_path, capsys):
    expect(RIGHT)
    assert main(["examples", "copy", "saxpy"]) == 0
    launch = tmp_path / "saxpy" / "launch.toml"
    text = launch.read_text().replace("[arg]", "rtol = 0\n\n[arg]")
    launch.write_text(text + '\n[expect]\ny = "../expected.npy"\n')
    assert main(["run", "saxpy/launch.toml"]) == 0


def test_integers_are_compared_exactly_and_nan_equals_nan():
    large = np.array([2**63 + 1], np.uint64)
    assert compare("y", "f", large, large - 1, Tolerance()).differing == 1
    numbers = np.array([np.nan, np.inf, 1], np.float32)
    assert compare("y", "f", numbers, numbers.copy(), Tolerance()).differing == 0
    assert compare("y", "f", numbers, np.zeros(3, np.float32), Tolerance()).differing == 3


def test_pictures_keep_the_shape():
    found = np.zeros((32, 128), np.int32)
    expected = found.copy()
    expected[0, :] = 1
    expected[1, 0] = 1
    rows = picture(found, expected)
    assert [len(row) for row in rows] == [64] * 16
    assert rows[0] == "+" * 64
    assert set(rows[1:]) == {"." * 64}
    colours = np.zeros((2, 3, 4), np.uint8)
    other = colours.copy()
    other[1, 2, 3] = 9
    assert picture(colours, other) == ("...", "..#")


def test_arrays_in_json_have_no_numbers_that_json_has_not():
    array = np.array([[1.5, np.nan], [np.inf, -np.inf]], np.float32)
    assert arrays_to_dict({"x": array}) == {
        "x": {"dtype": "float32", "shape": [2, 2], "data": [1.5, "NaN", "Infinity", "-Infinity"]}
    }
