"""The examples that come with visim: they run, compute what NumPy does, and are as they say."""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from visim.cli import examples, main

FOLDER = Path(__file__).parents[2] / "visim" / "examples"
NAMES = examples.names()


def laplacian(grid):
    padded = np.pad(grid, 1)
    neighbours = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    return 4 * grid - neighbours


def spread(grid):
    result = grid.copy()
    sides = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    result[1:-1, 1:-1] = sides / 4
    return result


def moved(bodies, dt=0.01):
    places, masses = bodies[:, :3].astype(np.float64), bodies[:, 3]
    ways = places[None] - places[:, None]
    near = ((ways**2).sum(-1) + 1e-3) ** -0.5
    pulls = (ways * (masses * near**3)[..., None]).sum(1)
    return np.hstack([places + dt * dt * pulls, bodies[:, 3:]])


def fibonacci(_):
    numbers = [0, 1]
    while len(numbers) < 21:
        numbers.append(numbers[-1] + numbers[-2])
    return np.array(numbers + [0] * 11, np.uint32)


# Of each example: an input, the output, and what NumPy makes of the input.
RESULTS = {
    "saxpy": ("x", "y", lambda x: 2 * x + 1),
    "linking": (None, "OUT", fibonacci),
    "matmul": ("a", "c", None),
    "reduction": ("x", "sums", lambda x: x.reshape(8, 256).sum(1)),
    "scan": ("x", "out", np.cumsum),
    "nbody": ("from", "to", moved),
    "esimd": (None, "data", lambda _: np.tile(np.arange(64) - 31.5, (16, 1))),
    "histogram": ("pixels", "counts", lambda x: np.bincount(x.ravel(), minlength=256)),
    "spmv": (None, "y", lambda _: laplacian(np.ones((16, 16)))),
    "stencil": ("from", "to", spread),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [name for name in RESULTS if name != "matmul"])
def test_an_example_computes_what_numpy_does(here, capsys, name):
    given, result, expected = RESULTS[name]
    words = ["run", f"example:{name}", "--out", f"{result}=result.npy"]
    if name == "reduction":
        words += ["-k", "reduce"]
    if given is not None:
        words += ["--out", f"{given}=given.npy"]
    assert main(words) == 0
    assert "note:" not in capsys.readouterr().out
    source = np.load("given.npy") if given is not None else None
    np.testing.assert_allclose(np.load("result.npy"), expected(source), rtol=1e-5, atol=1e-5)


def test_the_product_of_matrices_is_numpys(here):
    outputs = ["--out", "a=a.npy", "--out", "b=b.npy", "--out", "c=c.npy"]
    assert main(["run", "example:matmul", *outputs]) == 0
    a, b, c = (np.load(f"{name}.npy").astype(np.float64) for name in "abc")
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_commands_of_its_page_work(here, name):
    """A comment says where the exit code is not 0; pictures of others are made before."""
    page = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("visim ")]
    assert lines[0].startswith(("visim run example:", "visim time example:"))
    for line in lines:
        code = int(match[1]) if (match := re.search(r"# exit code (\d)", line)) else 0
        assert main(shlex.split(line, comments=True)[1:]) == code, line


@pytest.mark.parametrize("name", NAMES)
def test_its_page_has_the_checksum_of_its_zebin(name):
    page = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    for zebin in (FOLDER / name).glob("*.zebin"):
        assert f"SHA-256 `{hashlib.sha256(zebin.read_bytes()).hexdigest()}`" in page


def test_the_list_has_all(capsys):
    assert main(["examples", "list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir())
    assert len(listed) >= 10


def test_a_copy_stands_on_its_own_and_replaces_nothing(here, capsys):
    assert main(["examples", "copy", "saxpy"]) == 0
    assert main(["run", "saxpy/launch.toml"]) == 0
    capsys.readouterr()
    assert main(["examples", "copy", "saxpy"]) == 2
    assert "saxpy exists already" in capsys.readouterr().err


def test_a_misspelt_example_brings_the_nearest(capsys):
    assert main(["run", "example:mandelbrt"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: there is no example 'mandelbrt'; did you mean 'mandelbrot'?",
        "  try: visim run example:mandelbrot",
    ]


def test_an_example_is_a_program_for_other_verbs(capsys):
    assert main(["info", "example:esimd", "--device", "pvc"]) == 0
    assert "kernel normalize" in capsys.readouterr().out
