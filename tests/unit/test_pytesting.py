"""The pytest plugin, used as its users do: in a pytest of its own."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.sanitize.examples import RACE

TESTS = f'''
import numpy as np
import visim

kernel = visim.assemble("""{RACE}""", platform="pvc")["same"]

def launch(**options):
    return kernel.launch([np.zeros(16, np.int32)], thread_groups=2, **options)

def test_plain():
    assert launch().engine

def test_fixture(visim_sanitize):
    launch()

def test_expected(visim_sanitize):
    launch()
    assert visim_sanitize.kinds == ("race-same-value",)
    visim_sanitize.clear()

def test_other_sanitizer(visim_sanitize):
    launch(sanitize="barriers")
    assert visim_sanitize.findings == ()

def test_wrong_anyway(visim_sanitize):
    launch()
    assert False, "of its own"
'''


@pytest.fixture
def outcomes(tmp_path):
    """What runs the tests with some options; gives the outcome of each, and all that was said."""
    (tmp_path / "test_it.py").write_text(TESTS)
    entries = importlib.metadata.entry_points(group="pytest11", name="visim")
    plugin = () if entries else ("-p", "visim.pytesting")

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *plugin]
        done = subprocess.run(
            [*command, *options, "test_it.py"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        found = {}
        for line in said.splitlines():
            word, _, rest = line.partition(" test_it.py::")
            if rest and word in {"PASSED", "FAILED", "ERROR"}:
                found[rest.split()[0]] = word
        return found, said

    return run


def test_the_fixture_fails_a_test_for_what_was_found(outcomes):
    found, said = outcomes()
    assert found == {
        "test_plain": "PASSED",
        "test_fixture": "FAILED",
        "test_expected": "PASSED",
        "test_other_sanitizer": "PASSED",
        "test_wrong_anyway": "FAILED",
    }
    assert "visim's sanitizers found:" in said
    assert "warning[race-same-value]" in said
    assert "of its own" in said


def test_the_option_watches_all_tests(outcomes, tmp_path):
    found, _ = outcomes("--visim-sanitize=races")
    assert found["test_plain"] == "FAILED"
    (tmp_path / "known.txt").write_text("race-same-value kernel=same\n")
    found, _ = outcomes("--visim-sanitize", "--visim-suppress=known.txt", "-k", "not wrong")
    assert found.pop("test_expected") == "FAILED"  # it expects what is known
    assert set(found.values()) == {"PASSED"}


def test_options_that_mean_nothing_are_refused(outcomes):
    assert "there is no sanitizer 'race'; did you mean" in outcomes("--visim-sanitize=race")[1]
    assert "nothing.txt cannot be read" in outcomes("--visim-suppress=nothing.txt")[1]


def test_the_package_names_the_plugin():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nvisim = "visim.pytesting"' in text
