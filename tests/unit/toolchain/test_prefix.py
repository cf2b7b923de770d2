"""A library's prefix: its own loader and Python, where it has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from visim.toolchain.prefix import prefix_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A prefix as packages make it, all of whose files are empty."""
    for name in (
        "usr/bin/python3.14",
        "usr/bin/python3.14-config",
        "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
        "usr/lib/x86_64-linux-gnu/libocloc.so",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    (tmp_path / "usr/bin/python3").symlink_to("python3.14")
    return tmp_path


def test_it_is_found_from_the_library(root: Path):
    libraries = root / "usr/lib/x86_64-linux-gnu"
    prefix = prefix_of(libraries / "libocloc.so")
    assert prefix is not None
    assert prefix.python_command("-c", "pass") == [
        str(libraries / "ld-linux-x86-64.so.2"),
        "--library-path",
        str(libraries),
        str(root / "usr/bin/python3.14"),
        "-c",
        "pass",
    ]


def test_a_link_to_its_folder_leads_there(root: Path):
    (root / "lib").symlink_to("usr/lib/x86_64-linux-gnu")
    assert prefix_of(root / "lib/libocloc.so") == prefix_of(
        root / "usr/lib/x86_64-linux-gnu/libocloc.so"
    )


def test_without_a_loader_it_is_none(root: Path):
    (root / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2").unlink()
    assert prefix_of(root / "usr/lib/x86_64-linux-gnu/libocloc.so") is None


def test_it_needs_no_python(root: Path):
    (root / "usr/bin/python3.14").unlink()
    prefix = prefix_of(root / "usr/lib/x86_64-linux-gnu/libocloc.so")
    assert prefix is not None
    assert prefix.python_command("-c", "pass") is None
    assert prefix.command(root / "usr/bin/clinfo")[-1] == str(root / "usr/bin/clinfo")


@pytest.mark.parametrize(
    "library",
    ["libocloc.so", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"],
)
def test_the_system_is_none(library: str):
    assert prefix_of(library) is None
