"""What the package says of itself, and the files by which others use it."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
import yaml

from visim.cli.app import app

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def setup():
    spec = importlib.util.spec_from_file_location("visim_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", text)


def test_the_long_description_has_no_link_into_the_repository(setup):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    alone = setup.long_description(readme, None)
    assert [link for link in links(alone) if "://" not in link] == []
    assert "![" not in alone
    assert "docs/bounds.md" in alone
    there = setup.long_description(readme, "https://example.org/visim")
    assert len(links(there)) == len(links(readme))
    assert all(link.startswith(("https://", "#")) for link in links(there))
    assert "https://example.org/visim/raw/main/docs/mandelbrot.png" in there


def test_all_files_of_examples_are_package_data():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["visim"]
    packed = {file for pattern in patterns for file in (ROOT / "visim").glob(pattern)}
    files = {file for file in (ROOT / "visim" / "examples").rglob("*") if file.is_file()}
    assert files
    assert files <= packed


def test_metadata_is_complete():
    project = PROJECT["project"]
    assert {"authors", "classifiers", "keywords", "license", "description"} <= set(project)
    supported = [name for name in project["classifiers"] if " :: 3." in name]
    assert f"Python :: {project['requires-python'].removeprefix('>=')}" in supported[0]


def options_of(verb):
    command = app.get_command(click.Context(app), verb)
    return {name for option in command.params for name in option.opts}


def test_the_action_and_the_hook_use_commands_that_exist():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    runs = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    verbs = {match for run in runs for match in re.findall(r"visim (\w+)", run)}
    assert verbs == {"toolchain", "check", "run"}
    assert verbs <= set(app.commands)
    assert "--device" in options_of("check")
    used = {
        name
        for run in map(str, action["runs"]["steps"])
        for name in re.findall(r"inputs\.([\w-]+)", run)
    }
    assert used == set(action["inputs"])
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    program, verb = shlex.split(hook["entry"])
    assert program in PROJECT["project"]["scripts"]
    assert verb in app.commands
    assert re.search(hook["files"], "kernels/k.visaasm")
