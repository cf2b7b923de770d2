"""`visim toolchain`: Intel's compilers and drivers, installed, listed and removed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from visim.cli.conventions import json_option, print_json
from visim.diag import visible
from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim.toolchain.archive import Archive
    from visim.toolchain.installed import Damaged, Toolchain
    from visim.toolchain.installing import PackageFolder

_DEFAULT = ("compiler", "driver")


@click.group(no_args_is_help=False)
def toolchain() -> None:
    """Install, list and remove Intel's compilers and drivers, in a folder of yours.

    Nothing of the system is changed, and nothing needs root.
    """


@toolchain.command()
@click.argument("components", nargs=-1, metavar="[compiler|legacy|driver]...")
@click.option("--mirror", metavar="URL", help="A Debian archive; that of apt if not given.")
@click.option("--suite", metavar="NAME", help="The suite to take; unstable if not given.")
@click.option("--keyring", metavar="FILE", help="The keys of the archive; Debian's if not given.")
@click.option("--allow-expired", is_flag=True, help="Take an index whose time has run out.")
@click.option("--from", "folder", metavar="DIR", help="Take .deb packages from this folder.")
@click.option("--save", metavar="DIR", help="Keep the packages there, for --from elsewhere.")
@json_option
def install(
    components: tuple[str, ...],
    mirror: str | None,
    suite: str | None,
    keyring: str | None,
    folder: str | None,
    save: str | None,
    *,
    allow_expired: bool,
    as_json: bool,
) -> None:
    """Bring Intel's current compiler and drivers, or other components, from Debian's archive.

    compiler is Intel's current compiler, legacy the last one that knows skl and icllp, driver
    the user-mode drivers of OpenCL and Level Zero. An older version that is installed stays.
    """
    from visim.toolchain.components import component
    from visim.toolchain.installing import install as install_component

    wanted = [component(name) for name in components or _DEFAULT]
    source = _source(mirror, suite, keyring, folder, allow_expired=allow_expired)
    where = None if save is None else Path(save).absolute()
    done: list[dict[str, Any]] = []
    for item in wanted:
        entry, was_there = install_component(item, source, save=where, say=_say)
        done.append(_described(entry) | {"was_there": was_there})
        if not as_json:
            what = "was there already" if was_there else "is installed"
            click.echo(visible(f"{entry.name} {what}: {entry.folder}"))
    if as_json:
        print_json({"installed": done})


@toolchain.command("list")
@json_option
def list_toolchains(*, as_json: bool) -> None:
    """Show the toolchains that are installed, with their versions."""
    from visim.toolchain.installed import home, survey

    entries = survey()
    if as_json:
        print_json({"folder": str(home()), "toolchains": [_described(e) for e in entries]})
        return
    if not entries:
        click.echo(
            visible(f"none in {home()}; visim toolchain install brings the compiler and the driver")
        )
    for entry in entries:
        for line in _lines(entry):
            click.echo(visible(line))


@toolchain.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@json_option
def remove(names: tuple[str, ...], *, as_json: bool) -> None:
    """Remove toolchains: by the names that list shows, or those of components."""
    from visim.toolchain.installing import remove as remove_toolchains

    removed = remove_toolchains(names, _say)
    if as_json:
        print_json({"removed": list(removed)})
        return
    for name in removed:
        click.echo(visible(f"{name} is removed"))


def _source(
    mirror: str | None,
    suite: str | None,
    keyring: str | None,
    folder: str | None,
    *,
    allow_expired: bool,
) -> Archive | PackageFolder:
    from visim.toolchain import archive
    from visim.toolchain.installing import PackageFolder

    if folder is not None:
        if mirror or suite or keyring or allow_expired:
            raise ArgumentError(
                "--from: packages of a folder come from no archive; leave --mirror "
                "and its options out"
            )
        return PackageFolder(Path(folder).absolute())
    return archive.Archive(
        archive.known_mirror() if mirror is None else archive.mirror_url(mirror),
        suite or archive.SUITE,
        archive.KEYRING if keyring is None else Path(keyring).absolute(),
        allow_expired=allow_expired,
    )


def _described(entry: Toolchain | Damaged) -> dict[str, Any]:
    from visim.toolchain.installed import Damaged, to_record

    place = {"name": entry.folder.name, "folder": str(entry.folder)}
    if isinstance(entry, Damaged):
        return place | {"problem": entry.problem}
    return place | {"library": str(entry.library), "problem": None} | to_record(entry)


def _lines(entry: Toolchain | Damaged) -> list[str]:
    from visim.toolchain.installed import Damaged

    if isinstance(entry, Damaged):
        help_text = f"visim toolchain remove {entry.folder.name}"
        return [f"{entry.folder.name}: damaged: {entry.problem}", f"  {help_text}"]
    return [
        f"{entry.name}: {entry.component.purpose}",
        f"  {entry.library}",
        f"  from {entry.origin}",
    ]


def _say(step: str) -> None:
    click.echo(visible(step), err=True)
