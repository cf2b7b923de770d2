"""What lines of a suppressions file stand for."""

import numpy as np
import pytest

import visim
from tests.unit.sanitize.examples import RACE, finding
from visim.errors import ArgumentError
from visim.sanitize.suppressions import kept, parse_suppressions, read_suppressions


@pytest.mark.parametrize(
    "line",
    [
        "race-local",
        "race-*",
        "race-local kernel=blur",
        "race-local  kernel=b*  buffer=t*  # known",
        "race-local file=*.cl line=3",
        "race-local file=*/a.cl line=7",
        "* line=[37]",
    ],
)
def test_what_fits_is_left_out(line):
    assert kept("blur", [finding()], parse_suppressions(line, "s")) == ()


@pytest.mark.parametrize(
    "line",
    [
        "race-global",
        "race-local kernel=other",
        "race-local buffer=u",
        "race-local file=*/a.cl line=3",  # line 3 is of the other side
        "# race-local",
        "",
    ],
)
def test_what_does_not_fit_is_kept(line):
    assert kept("blur", [finding()], parse_suppressions(line, "s")) == (finding(),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("race-locl", r"s:2: .*'race-locl'; did you mean 'race-local'"),
        ("race-local blur", r"s:2: 'blur' means nothing; expected KEY=PATTERN"),
        ("race-local kernel=", r"s:2: 'kernel=' means nothing"),
        ("race-local colour=red", r"s:2: 'colour=red' means nothing.*kernel, buffer, file, line"),
        ("race-local line=3 line=4", "s:2: line= is there twice"),
    ],
)
def test_what_means_nothing_is_refused(line, said):
    with pytest.raises(ArgumentError, match=said):
        parse_suppressions(f"race-*\n{line}\n", "s")


def test_a_file_that_is_not_there_is_refused_before_the_launch(tmp_path):
    with pytest.raises(ArgumentError, match=r"nothing\.txt cannot be read"):
        read_suppressions(tmp_path / "nothing.txt")
    with pytest.raises(ArgumentError, match="expected the path of a file, found 3"):
        read_suppressions(3)


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_launch_leaves_out_what_its_file_names(engine, tmp_path):
    kernel = visim.assemble(RACE, platform="pvc")["same"]
    known = tmp_path / "known.txt"
    options = {"thread_groups": 2, "engine": engine, "sanitize": "races", "suppress": known}
    known.write_text("race-same-value kernel=other\n")
    report = kernel.launch([np.zeros(16, np.int32)], **options)
    assert [one.kind for one in report.findings] == ["race-same-value"]
    known.write_text("race-same-value kernel=same buffer=data\n")
    assert kernel.launch([np.zeros(16, np.int32)], **options).findings == ()


@pytest.mark.parametrize("engine", ["interpreter", "jit"])
def test_a_launch_stops_at_its_first_finding_if_wanted(engine):
    kernel = visim.assemble(RACE, platform="pvc")["same"]
    data = np.zeros(16, np.int32)
    options = {"thread_groups": 500, "engine": engine, "sanitize": "races", "sanitize_stop": True}
    with pytest.raises(visim.FaultError, match="same value") as caught:
        kernel.launch([data], **options)
    fault = caught.value.fault
    assert (fault.category, fault.code, fault.buffer) == ("sanitizer", "race-same-value", "data")
    assert fault.line == 12
    assert caught.value.report.findings
    with pytest.raises(ArgumentError, match="sanitize_stop"):
        kernel.launch([data], sanitize_stop="yes")
