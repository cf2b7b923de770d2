"""The examples that come with visim: where they are, `example:NAME` in place of a file, copying."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import click

from visim.errors import ArgumentError, Correction
from visim.lex import nearest

PREFIX = "example:"
_FOLDER = Path(__file__).parents[1] / "examples"
_LAUNCH = "launch.toml"


def names() -> list[str]:
    """Return the names of all examples."""
    return sorted(file.parent.name for file in _FOLDER.glob(f"*/{_LAUNCH}"))


def folder_of(name: str) -> Path:
    """Return the folder of an example.

    Raises:
        ArgumentError: there is no such example.
    """
    known = names()
    if name in known:
        return _FOLDER / name
    near = nearest(name, known)
    if near is None:
        raise ArgumentError(f"there is no example {name!r}; there are: {', '.join(known)}")
    correction = Correction(misspelt=((name, near), (PREFIX + name, PREFIX + near)))
    raise ArgumentError(f"there is no example {name!r}; did you mean {near!r}?", correction)


def launch_of(name: str) -> str:
    """Return the file that says how an example is launched."""
    return str(folder_of(name) / _LAUNCH)


def program_of(name: str) -> str:
    """Return the program of an example."""
    launch = folder_of(name) / _LAUNCH
    return str(launch.parent / tomllib.loads(launch.read_text(encoding="utf-8"))["file"])


def title_of(name: str) -> str:
    """Return what an example shows: the title of its README."""
    text = (folder_of(name) / "README.md").read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


@click.group(no_args_is_help=False)
def examples() -> None:
    """List and copy the examples; visim run example:NAME runs one."""


@examples.command("list")
def list_examples() -> None:
    """Print the names of the examples and what they show."""
    width = max(len(name) for name in names())
    for name in names():
        click.echo(f"{name:<{width}}  {title_of(name)}")


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


@examples.command()
@click.argument("name", shell_complete=_complete)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def copy(name: str, folder: Path | None) -> None:
    """Copy the example NAME with its sources into FOLDER, a new one (its name if not given)."""
    source = folder_of(name)
    target = folder or Path(name)
    if target.exists():
        raise ArgumentError(f"{target} exists already: name another folder")
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    click.echo(f"{target}: {', '.join(sorted(file.name for file in target.iterdir()))}")
    click.echo(f"visim run {target / _LAUNCH}")
