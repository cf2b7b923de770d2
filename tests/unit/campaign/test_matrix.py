"""A campaign's file: which cells it gives, what their keys depend on, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from visim.campaign.cells import named
from visim.campaign.matrix import matrix_of, read_matrix
from visim.campaign.outcomes import Outcome
from visim.errors import ArgumentError

SAXPY = Path(__file__).parents[3] / "examples" / "saxpy"
LAUNCH = {
    "file": str(SAXPY / "saxpy.zebin"),
    "global": 64,
    "arg": {"x": "rand:64", "y": "rand:64", "a": 2, "n": 64},
}


@pytest.fixture
def cells(tmp_path):
    """Return the cells of one `[[launch]]` with some keys beside the usual ones."""

    def made(**keys):
        table = {"launch": [{**LAUNCH, **keys}]}
        found = matrix_of(table, tmp_path, "campaign")
        listed = list(found.cells())
        assert len(listed) == found.count
        return listed

    return made


def test_each_value_of_an_axis_goes_with_each_of_the_others(cells):
    found = cells(vary={"engine": ["jit", "interpreter"], "seed": {"count": 2}, "arg.a": [1, 2]})
    assert [named(cell.name) for cell in found] == [
        f"launch=saxpy engine={engine} seed={seed} arg.a={a}"
        for engine in ("jit", "interpreter")
        for seed in (0, 1)
        for a in (1, 2)
    ]
    assert len({cell.key for cell in found}) == 8
    assert found[-1].work["table"]["arg"] == {**LAUNCH["arg"], "a": 2}


def test_what_changes_the_program_changes_last(cells):
    found = cells(vary={"seed": [0, 1], "device": ["pvc", "PVC"]})
    assert [(cell.name["device"], cell.name["seed"]) for cell in found] == [
        ("pvc", 0),
        ("pvc", 1),
        ("PVC", 0),
        ("PVC", 1),
    ]
    assert list(found[0].name) == ["launch", "seed", "device"]


def test_keys_of_a_case_change_together(cells):
    cases = [{"name": "small", "global": 32, "arg": {"n": 32}}, {"global": 64}]
    found = cells(case=cases)
    assert [cell.name["case"] for cell in found] == ["small", "2"]
    tables = [cell.work["table"] for cell in found]
    assert [(table["global"], table["arg"]["n"]) for table in tables] == [(32, 32), (64, 64)]


def test_a_pattern_is_an_axis_of_files(cells, tmp_path):
    for name in ("b.zebin", "a.zebin"):
        (tmp_path / name).write_bytes((SAXPY / "saxpy.zebin").read_bytes())
    first, second = cells(file="*.zebin")
    assert (first.name["file"], second.name["file"]) == ("a.zebin", "b.zebin")
    assert first.key == second.key  # the same bytes
    assert first.identity != second.identity


def test_a_folder_of_recorded_launches_gives_a_cell_for_each(cells, tmp_path):
    folder = tmp_path / "recorded"
    folder.mkdir()
    np.save(folder / "0002.x.npy", np.ones(64, np.float32))
    for number, x in ((1, "rand:64"), (2, "npy:0002.x.npy")):
        arguments = "".join(
            f"{k} = {json.dumps(v)}\n" for k, v in {**LAUNCH["arg"], "x": x}.items()
        )
        text = (
            f'file = "{LAUNCH["file"]}"\nglobal = 64\nout = {{ y = "y.npy" }}\n[arg]\n{arguments}'
        )
        (folder / f"{number:04}.toml").write_text(text)
    table = {"launches": "recorded", "vary": {"engine": ["jit", "interpreter"]}}
    found = matrix_of({"launch": [table]}, tmp_path, "campaign")
    names = [cell.name for cell in found.cells()]
    assert found.count == 4
    assert [name["recorded"] for name in names] == ["0001", "0001", "0002", "0002"]
    assert names[0]["launch"] == "recorded"


def test_the_same_content_has_the_same_key_wherever_it_is(cells, tmp_path):
    copy = tmp_path / "copy.zebin"
    copy.write_bytes((SAXPY / "saxpy.zebin").read_bytes())
    [one], [other] = cells(), cells(file=str(copy))
    assert one.key == other.key
    [other] = cells(seed=1)
    assert one.key != other.key


@pytest.mark.parametrize("what", ["program", "include", "array", "function"])
def test_a_changed_file_changes_the_key(cells, tmp_path, what):
    source, header = tmp_path / "k.cl", tmp_path / "k.h"
    array, function = tmp_path / "x.npy", tmp_path / "f.py"
    source.write_text('#include "k.h"\nkernel void k(global float *x) { x[0] = N; }\n')
    header.write_text("#define N 1\n")
    np.save(array, np.ones(64, np.float32))
    function.write_text("def right(arguments, cell):\n    return {}\n")
    keys = {"file": "k.cl", "device": "pvc", "arg": {"x": "npy:x.npy"}, "reference": "f.py:right"}
    [before] = cells(**keys)
    match what:
        case "program":
            source.write_text(source.read_text() + "\n")
        case "include":
            header.write_text("#define N 2\n")
        case "array":
            np.save(array, np.zeros(64, np.float32))
        case _:
            function.write_text(function.read_text() + "\n")
    [after] = cells(**keys)
    assert before.key != after.key
    assert before.identity == after.identity


def test_what_is_wrong_with_one_cell_is_that_cell_s_result(cells):
    first, second = cells(
        file=str(SAXPY / "saxpy.cl"), vary={"device": ["pvc", "pcv"]}, options="-DX"
    )
    assert first.kind == "launch"
    assert second.kind == "wrong"
    assert "pcv" in second.work["message"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "there is no [[launch]]"),
        ({"lunch": []}, "did you mean 'launch'?"),
        ({"launch": [LAUNCH], "memory": "much"}, "memory: expected a text such as '512 MiB'"),
        ({"launch": [LAUNCH], "seconds": 0}, "seconds: expected a number above 0"),
        ({"launch": [LAUNCH], "accept": ["refuse"]}, "did you mean 'refused'?"),
        ({"launch": [{**LAUNCH, "globl": 1}]}, "[[launch]] 1: unknown key 'globl'"),
        ({"launch": [{**LAUNCH, "out": {"y": "y.npy"}}]}, "a campaign writes no such files"),
        ({"launch": [{**LAUNCH, "file": "none.cl"}]}, "there is no file"),
        ({"launch": [{**LAUNCH, "file": "*.none"}]}, "no file is like"),
        ({"launch": [{**LAUNCH, "options": "-DN"}]}, "is compiled already"),
        ({"launch": [{**LAUNCH, "file": str(SAXPY / "saxpy.cl")}]}, "say which device"),
        ({"launch": [{**LAUNCH, "vary": {"seed": []}}]}, "seed has no values"),
        ({"launch": [{**LAUNCH, "vary": {"seed": [1, 1]}}]}, "seed has a value twice"),
        ({"launch": [{**LAUNCH, "vary": {"seed": {"count": -1}}}]}, "expected a list of values"),
        ({"launch": [{**LAUNCH, "vary": {"seed": {"count": 10**9}}}]}, "expected a list of values"),
        ({"launch": [{**LAUNCH, "agree": "engine"}]}, "'engine' is no axis of this launch"),
        ({"launch": [{**LAUNCH, "reference": "f.py"}]}, "expected FILE.py:FUNCTION"),
        ({"launch": [{**LAUNCH, "timing": "xe9"}]}, "xe9"),
        ({"launch": [LAUNCH, LAUNCH]}, "two tables are called 'saxpy'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, table, message):
    with pytest.raises(ArgumentError) as caught:
        matrix_of(table, tmp_path, "campaign")
    assert message in str(caught.value)


def test_a_file_is_read_with_its_settings(tmp_path):
    file = tmp_path / "some.toml"
    file.write_text(
        'seconds = 2.5\nmemory = "300 MiB"\naccept = ["refused"]\n'
        f'[[launch]]\nfile = "{LAUNCH["file"]}"\nglobal = 64\n'
    )
    settings = read_matrix(file).settings
    assert settings.name == "some"
    assert (settings.limits.seconds, settings.limits.memory) == (2.5, 300 << 20)
    assert settings.accept == {Outcome.PASSED, Outcome.REFUSED}
    file.write_text("launch = [")
    with pytest.raises(ArgumentError, match="not a TOML file"):
        read_matrix(file)
