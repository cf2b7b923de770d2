"""Files whose vISA code was taken out: what is said of them, and what is left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import visim
from tests.unit.binary.objects import SKL, module_of
from visim.binary.isafile import NativeCode, isa_platforms, native_code, write_isa
from visim.binary.isaheader import Header, KernelEntry, read_header, write_header
from visim.cli.extract import extract
from visim.diag import Source
from visim.errors import InputError
from visim.text import read_text

OLD = (3, 2)
INPUTS = b"\x01\x00\x20\x00\x20\x00\x04\x00"
NATIVE = {"k": (NativeCode(5, b"gen code"),)}


def whole() -> bytes:
    head = '.version 3.2\n.kernel "k"\n.decl V32 v_type=G type=ud num_elts=1\n'
    module = module_of("ret (M1, 1)", head=head + ".input V32 offset=32 size=4")
    return write_isa(module, platform=SKL, native=NATIVE, version=OLD)


def stripped(size: int, entry: int, *, stated: int | None = None) -> bytes:
    """Return a file with a kernel that has no tables and whose instructions are said to be there.

    `stated` is the size of the object in the header, the true one if not given.
    """
    head = b"\x01\x00k\x00\x00\x00" + bytes(11)
    unit = head + INPUTS + size.to_bytes(4, "little") + entry.to_bytes(4, "little") + bytes(2)
    header = read_header(whole(), "k.isa")
    start = len(write_header(header))
    (kernel,) = header.kernels
    (code, place) = kernel.native[0]
    moved = replace(
        kernel,
        place=replace(kernel.place, size=len(unit) if stated is None else stated),
        input_offset=start + len(head),
        native=((code, replace(place, offset=start + len(unit))),),
    )
    return write_header(replace(header, kernels=(moved,))) + unit + b"gen code"


@pytest.mark.parametrize(
    "data",
    [
        stripped(300, 200),
        stripped(0, 0),
        stripped(300, 200, stated=500),
        stripped(0, 0, stated=500),
    ],
    ids=["old places", "no places", "old places and size", "no places, old size"],
)
def test_a_kernel_without_instructions_is_named(data: bytes, tmp_path):
    message = "taken out of the file or the file is damaged; there is Gen code for skl"
    with pytest.raises(InputError, match=message):
        visim.load(data)
    assert native_code(data, "k.isa") == NATIVE
    assert isa_platforms(data, "k.isa")[0] is SKL
    (tmp_path / "k.isa").write_bytes(data)
    (written,) = extract(str(tmp_path / "k.isa"), str(tmp_path / "gen"))
    assert (tmp_path / "gen" / "k.skl-5.gen").read_bytes() == b"gen code"
    assert written["size"] == 8


def test_a_whole_kernel_has_its_instructions():
    assert visim.load(whole())["k"].simd_size == 8


def test_sizes_without_gen_code_are_only_wrong():
    data = stripped(0, 0)
    header = read_header(data, "k.isa")

    def alone(kernel: KernelEntry) -> Header:
        return replace(header, kernels=(replace(kernel, native=()),))

    (kernel,) = header.kernels
    shift = len(write_header(header)) - len(write_header(alone(kernel)))
    place = replace(kernel.place, offset=kernel.place.offset - shift)
    small = alone(replace(kernel, place=place, input_offset=kernel.input_offset - shift))
    with pytest.raises(InputError, match="general variable 32 does not exist"):
        visim.load(write_header(small) + data[header.size :])


def test_gen_code_lies_in_the_file():
    with pytest.raises(InputError, match=r"Gen code is at \d+ to \d+, only \d+ to \d+ is free"):
        native_code(whole()[:-1], "k.isa")


def test_gen_code_of_two_kernels_is_not_the_same_bytes():
    """A small file could else ask for gigabytes: the same megabyte for each of its kernels."""
    data = whole()
    header = read_header(data, "k.isa")
    (kernel,) = header.kernels
    twice = replace(header, kernels=(replace(kernel, native=kernel.native * 2),))
    shift = len(write_header(twice)) - len(write_header(header))
    (code, place) = kernel.native[0]
    moved = (code, replace(place, offset=place.offset + shift))
    twice = replace(header, kernels=(replace(kernel, native=(moved, moved)),))
    with pytest.raises(InputError, match=r"Gen code is at \d+ to \d+, only \d+ to \d+ is free"):
        native_code(write_header(twice) + data[header.size :], "k.isa")


@pytest.mark.parametrize("names", [("ä" * 120, "ä" * 121), ("k/l", "k l"), ("..", "../..")])
def test_extracted_code_gets_files_in_the_folder_whatever_kernels_are_called(names, tmp_path):
    head = ".version 4.1\n"
    unit = '.kernel "{name}"\n.decl V32 v_type=G type=ud num_elts=1\nret (M1, 1)\n'
    text = head + "".join(unit.format(name=name) for name in names)
    native = {name: (NativeCode(5, name.encode()),) for name in names}
    data = write_isa(read_text(Source("t", text)), platform=SKL, native=native)
    (tmp_path / "k.isa").write_bytes(data)
    written = extract(str(tmp_path / "k.isa"), str(tmp_path / "gen"))
    found = {entry["kernel"]: Path(str(entry["file"])) for entry in written}
    assert set(found.values()) == set((tmp_path / "gen").iterdir())
    assert {name: file.read_bytes() for name, file in found.items()} == {
        name: name.encode() for name in names
    }
