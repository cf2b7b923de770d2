"""What is given to the surface beside arguments of kernels is checked everywhere alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import visim
import visim.opencl
from visim.errors import ArgumentError

ZEBIN = Path(__file__).parents[2] / "corpus" / "scale_pvc.zebin"
TEXT = visim.load(ZEBIN).text()


@pytest.mark.parametrize("read", [visim.load, visim.verify, lambda one: visim.link([one])])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "found NoneType"),
        (5, "found int"),
        ("", "found an empty one"),
        ("a\0b", "cannot have a NUL character"),
        ("a\nb", "use visim.assemble"),
    ],
)
def test_sources_are_paths_or_bytes(read, source, said) -> None:
    with pytest.raises(ArgumentError, match=rf"^source: .*{said}"):
        read(source)


@pytest.mark.parametrize("read", [visim.load, visim.verify, lambda one: visim.link([one])])
def test_files_that_cannot_be_read_are_named(read, tmp_path) -> None:
    with pytest.raises(ArgumentError, match=r"aa: cannot be read: File name too long$"):
        read("a" * 300)
    with pytest.raises(ArgumentError, match="cannot be read: Is a directory"):
        read(tmp_path)
    with (tmp_path / "huge").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(ArgumentError, match=r"huge: it cannot be read: it has 1073741825 bytes"):
        read(tmp_path / "huge")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")


@pytest.mark.parametrize("path", [None, 5, b"", b"x.isa", "", "a\0.isa"])
def test_programs_are_written_to_paths(path) -> None:
    with pytest.raises(ArgumentError, match=r"^path: "):
        visim.load(ZEBIN).write(path)


@pytest.mark.parametrize("version", [None, np.zeros(3), "3.3"])
def test_only_objects_are_written_in_a_version(version, tmp_path) -> None:
    program = visim.load(ZEBIN)
    with pytest.raises(ArgumentError, match=r"is not an object, only \.isa files"):
        program.write(tmp_path / "k.visaasm", isa_version=version)
    program.write(tmp_path / "k.visaasm", isa_version="4.1")


def test_a_program_says_whether_it_has_a_kernel() -> None:
    program = visim.load(ZEBIN)
    assert program.kernels[0].name in program
    assert "nothing" not in program
    assert 0 not in program
    assert np.array(["a", "b"]) not in program
    assert list(program) == [kernel.name for kernel in program.kernels]


@pytest.mark.parametrize("version", [None, [], {}, np.zeros(3), 4.1])
def test_versions_of_objects_are_texts(version) -> None:
    with pytest.raises(ArgumentError, match="unknown version"):
        visim.load(ZEBIN).to_object(isa_version=version)


@pytest.mark.parametrize("name", ["checks", "collect", "dependency"])
@pytest.mark.parametrize("shape", [3, (2, 2)])
def test_arrays_are_no_names(name, shape) -> None:
    kernel = visim.load(ZEBIN).kernels[0]
    given = [np.zeros(4, np.uint8) if one.kind == "buffer" else 1 for one in kernel.args]
    with pytest.raises(ArgumentError, match=f"^{name}: "):
        kernel.launch(given, global_size=1, **{name: np.zeros(shape)})


def test_units_are_named_by_texts() -> None:
    with pytest.raises(ArgumentError, match="unit: expected a str, found int"):
        visim.load(ZEBIN).text(5)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("strict", lambda: visim.load(ZEBIN, strict="no")),
        ("strict", lambda: visim.verify(ZEBIN, strict=2)),
        ("strict", lambda: visim.assemble(TEXT, platform="pvc", strict=None)),
        ("gc", lambda: visim.link([TEXT.encode()], gc="no")),
        ("strip", lambda: visim.link([TEXT.encode()], strip=0.0)),
        ("normalized", lambda: visim.Sampler(normalized="no")),
    ],
)
def test_flags_are_true_or_false(name, call) -> None:
    with pytest.raises(ArgumentError, match=f"{name}: expected True or False, found"):
        call()


@pytest.mark.parametrize("value", [True, 1, np.True_, np.uint8(1)])
def test_one_is_as_good_as_true(value) -> None:
    assert not visim.verify(ZEBIN, strict=value).errors
    assert visim.Sampler(normalized=value).state.normalized


@pytest.mark.parametrize("name", [None, 5, ""])
def test_builds_have_a_name(name) -> None:
    with pytest.raises(ArgumentError, match=r"^name: expected"):
        visim.opencl.build("kernel void k() {}", device="pvc", name=name)


@pytest.mark.parametrize("size", [1 << 62, 10**30])
def test_buffers_are_as_large_as_memory(size) -> None:
    with pytest.raises(ArgumentError, match=f"not enough memory for {size} bytes"):
        visim.Buffer(size)


@pytest.mark.parametrize("make", [visim.Buffer, visim.Local])
def test_true_is_no_number_of_bytes(make) -> None:
    with pytest.raises(ArgumentError, match="True is not a number of bytes"):
        make(True)


@pytest.mark.parametrize("kind", ["nonsense", "i4,,", 5])
def test_a_view_of_a_buffer_has_a_type_of_numpys(kind) -> None:
    with pytest.raises(ArgumentError, match="is not a NumPy dtype"):
        visim.Buffer(16).array(kind)
