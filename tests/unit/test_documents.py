"""What README, tutorial and the page of objects tell the reader to do works as they tell it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
import yaml

import visim
from tests.unit.runtime.files.pngs import decode_png
from tools import site as site_hooks
from tools.paging import MOST_WORDS, anchor
from visim.cli import main
from visim.cli.app import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OBJECTS = (ROOT / "docs" / "objects.md").read_text(encoding="utf-8")
TIMING = (ROOT / "docs" / "timing.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [*ROOT.glob("*.md"), *DOCS]
START = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs/start").iterdir()}


def blocks(text, language):
    """Return the fenced blocks of `language` in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(text):
    """Return the words of each `visim` command in the shell blocks of a page."""
    lines = "".join(blocks(text, "sh")).replace("\\\n", "").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("visim ")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the README's kernel, as the current one."""
    [kernel] = blocks(README, "visa")
    (tmp_path / "scale.visaasm").write_text(kernel)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_of(text, file):
    return next(words for words in commands(text) if words[:2] == ["run", file])


def test_the_gate_runs_the_readmes_test_command():
    [command] = [line for line in README.splitlines() if line.endswith(".venv/bin/pytest -n auto")]
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_all_pages_name_the_packages_that_the_gate_installs():
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    wanted = {
        "git",
        *re.findall(r"^packages=\((.*?)^\)", gate, re.MULTILINE | re.DOTALL)[0].split(),
    }
    for page in (README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        lines = "".join(blocks(page, "sh")).replace("\\\n", "").splitlines()
        [named] = [line.split()[4:] for line in lines if "libigc-tools" in line]
        assert set(named) == wanted


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_pages_are_short_enough_to_be_read(page):
    assert len(page.read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_the_page_of_the_jit_says_what_its_words_mean():
    page = (ROOT / "docs" / "jit.md").read_text(encoding="utf-8")
    assert page.count("```text") == 1
    for heading in ("## The passes", "## Glossary"):
        assert heading in page


def test_the_readmes_kernel_runs(folder):
    words = run_of(README, "scale.visaasm")
    assert main([*words, "--out", "data=out.npy"]) == 0
    np.testing.assert_array_equal(np.load("out.npy"), np.arange(1024, dtype=np.float32) * 2)


def test_a_group_too_many_is_a_fault(folder, capsys):
    words = next(words for words in commands(TUTORIAL) if "65" in words)
    assert main(words) == 1
    assert "fault[" in capsys.readouterr().err


def test_the_tutorials_launch_file_runs(folder):
    [launch] = blocks(TUTORIAL, "toml")
    (folder / "launch.toml").write_text(launch)
    assert main(run_of(TUTORIAL, "launch.toml")) == 0
    np.testing.assert_array_equal(np.load("scaled.npy"), np.arange(1024, dtype=np.float32) * 2)


def test_the_tutorials_other_commands_on_the_kernel_work(folder):
    looks = [words for words in commands(TUTORIAL) if words[:2] != ["run", "launch.toml"]]
    for words in looks:
        if "scale.visaasm" in words and "65" not in words:
            assert main(words) == 0


def test_the_page_of_objects_assembles_links_and_runs(folder, capsys):
    (folder / "scale.visaasm").rename("k.visaasm")
    for file in (ROOT / "examples" / "linking").iterdir():
        shutil.copy(file, folder)
    for words in commands(OBJECTS):
        if words[0] != "extract":
            assert main(words) == 0
    assert "OUT  uint32[32]  0 1 1 2 3 5 8 13 ..." in capsys.readouterr().out


def test_what_the_page_of_timing_says_of_python_runs():
    [program] = blocks(TIMING, "python")
    kernel = visim.load(ROOT / "examples" / "saxpy" / "saxpy.zebin")["saxpy"]
    args = [np.ones(1024, np.float32), np.ones(1024, np.float32), np.float32(2), 1024]
    names = {"visim": visim, "kernel": kernel, "args": args}
    exec(program, names)
    assert names["timing"].result.cycles > 0
    assert "timing" in dir(visim)


def test_the_tests_of_the_page_of_ci_pass(tmp_path, monkeypatch):
    [program] = blocks((ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), "python")
    monkeypatch.chdir(ROOT / "examples" / "saxpy")
    names = {}
    exec(program, names)
    kernel = visim.load("saxpy.zebin")["saxpy"]
    tests = [test for name, test in names.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        test(kernel)


def test_the_readmes_example_runs(tmp_path):
    [command] = [block for block in blocks(README, "sh") if "mandelbrot" in block]
    words = shlex.split(command.splitlines()[-1])[1:]
    assert words[-2:] == ["--out", "out=mandelbrot.png"]
    words[-1] = f"out={tmp_path / 'picture.png'}"
    assert main(words) == 0
    shown, made = (ROOT / "docs" / "mandelbrot.png", tmp_path / "picture.png")
    np.testing.assert_array_equal(decode_png(made.read_bytes()), decode_png(shown.read_bytes()))


def test_the_readmes_opencl_kernel_and_python_program_run(folder, capsys):
    from visim.runtime.compiling.compilers import compilers

    if not compilers():
        pytest.skip("libocloc is not installed")
    [source] = blocks(README, "c")
    (folder / "saxpy.cl").write_text(source)
    compiling = next(words for words in commands(README) if words[0] == "cl")
    assert main(compiling) == 0
    assert main([*run_of(README, "saxpy.zebin"), "--out", "y=y.npy"]) == 0
    np.testing.assert_array_equal(np.load("y.npy"), 1 + 2 * np.arange(1024, dtype=np.float32))
    [program] = blocks(README, "python")
    capsys.readouterr()
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.endswith("[1. 3. 5. 7.]\n")


def test_nothing_refers_to_notes_that_readers_do_not_have():
    """What notes say that a reader needs stands in docs/; a reference names a page there."""
    names = ("DESIGN", "runtime_abi", "format_facts", "eu_timing", "jit_facts", "format facts")
    notes = re.compile(rf"\b(?:{'|'.join(names)})\b")
    kinds = {".py", ".md", ".toml", ".c", ".h"}
    folders = [ROOT / name for name in ("visim", "docs", "tests", "tools", "benchmarks")]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in kinds]
    texts = {file: file.read_text(encoding="utf-8") for file in (*files, *ROOT.glob("*.md"))}
    del texts[Path(__file__)]
    assert [str(file) for file, text in texts.items() if notes.search(text)] == []


def test_pages_that_docstrings_name_exist():
    named = {
        name
        for file in (ROOT / "visim").rglob("*.py")
        for name in re.findall(r"\bdocs/([\w-]+\.md)", file.read_text(encoding="utf-8"))
    }
    assert {name for name in named if not (ROOT / "docs" / name).exists()} == set()
    assert "kernel-abi.md" in named


def anchors(page):
    """Return the anchors of a page's headings."""
    return set(
        map(anchor, re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    )


def test_the_first_visa_kernel_is_the_readmes_and_runs(folder, capsys):
    assert blocks(START["visa"], "visa") == blocks(README, "visa")
    for words in commands(START["visa"]):
        assert main(words) == 0, words
    assert "0.0 2.0 4.0 6.0" in capsys.readouterr().out


def test_the_wrong_kernel_is_found(folder, capsys):
    codes = [main(words) for words in commands(START["wrong"])]
    assert codes == [0, 0, 1, 0]
    shown = blocks(START["wrong"], "text")[0].splitlines()
    printed = capsys.readouterr().out.splitlines()
    assert shown[0] in printed
    assert shown[-1] in printed


def test_the_first_python_programs_run(monkeypatch, capsys):
    monkeypatch.chdir(ROOT / "examples" / "saxpy")
    program, fault = blocks(START["python"], "python")
    names = {}
    exec(program, names)
    exec(fault, names)
    *_, numbers, place = capsys.readouterr().out.splitlines()
    assert numbers == "[1. 3. 5. 7.]"
    assert place.startswith("x ")


@pytest.mark.parametrize("page", ["api", "edit"])
def test_examples_in_python_run(page, monkeypatch):
    monkeypatch.chdir(ROOT / "examples" / "saxpy")
    names = {}
    for program in blocks((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), "python"):
        exec(program, names)


def test_the_page_of_edited_texts_works(folder):
    for words in commands((ROOT / "docs" / "edit.md").read_text(encoding="utf-8")):
        assert main(words) == 0, words


def test_the_first_opencl_kernel_is_the_readmes():
    assert blocks(START["opencl"], "c") == blocks(README, "c")


def leaves(tree):
    """Return the pages of a site's navigation."""
    match tree:
        case str():
            yield tree
        case dict():
            yield from leaves(list(tree.values()))
        case list():
            for one in tree:
                yield from leaves(one)


def test_the_site_has_the_pages_that_it_names():
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = list(leaves(site["nav"]))
    assert [page for page in named if not (ROOT / "docs" / page).exists()] == []
    assert len(set(named)) == len(named)
    assert {str(page.relative_to(ROOT / "docs")) for page in DOCS} == set(named)


def test_the_sites_page_of_commands_has_all_options():
    source = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    cli = SimpleNamespace(file=SimpleNamespace(src_uri="cli.md"))
    page = site_hooks.on_page_markdown(source, page=cli)
    for name, command in app.commands.items():
        assert f"## visim {name}\n" in page
        options = (
            one for one in command.params if isinstance(one, click.Option) and not one.hidden
        )
        assert [one.opts[0] for one in options if one.opts[0] not in page] == []


def test_links_out_of_the_site_become_words():
    page = "[a](b.md#c) [d](../tools/e.py) [f](../../g.md) [h](https://i.org)"
    assert site_hooks.with_links_of_the_site(page, "start/x.md") == (
        "[a](b.md#c) [d](../tools/e.py) f (`g.md` in the repository) [h](https://i.org)"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_pages_and_headings_that_exist(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target
