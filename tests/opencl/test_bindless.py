"""Kernels that find their surfaces by states in memory, as ocloc makes them.

ocloc 22.43 writes such code, but calls the arguments stateful in its metadata and leaves out where
their offsets are expected. Later compilers say so: `addrmode: bindless` with offset and size.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import visim
from visim.errors import UnsupportedError

SOURCE = """
kernel void add(global int *a, global const int *b) {
    int i = get_global_id(0);
    a[i] += b[i];
}
"""
OPTIONS = (
    "-ze-emit-zebin-visa-sections -cl-intel-use-bindless-mode -cl-intel-use-bindless-advanced-mode"
)
ARGUMENTS = 224
"""Where the arguments begin, behind the local ids of 32 channels."""


@pytest.fixture(name="zebin", scope="module", params=["skl", "dg2"])
def zebin_fixture(request, tmp_path_factory) -> bytes:
    if shutil.which("ocloc") is None:
        pytest.skip("ocloc is not installed: apt-get install intel-opencl-icd")
    folder = tmp_path_factory.mktemp("bindless")
    (folder / "k.cl").write_text(SOURCE, encoding="utf-8")
    command = ["ocloc", "compile", "-file", "k.cl", "-device", request.param, "--format", "zebin"]
    options = ["-internal_options", OPTIONS, "-out_dir", "out"]
    subprocess.run([*command, *options], cwd=folder, check=True, capture_output=True)
    (found,) = (folder / "out").glob("*.bin")
    return found.read_bytes()


def with_offsets(data: bytes) -> bytes:
    """Say in the metadata what inputs of 4 bytes it leaves out: the arguments' offsets."""
    text = data.decode("latin-1")
    places = [int(n) - ARGUMENTS for n in re.findall(r"\.input V\d+ offset=(\d+) size=4\n", text)]
    described = {int(n) for n in re.findall(r"offset: +(\d+)\n +size: +[48]\n", text)}
    left = iter(sorted(place for place in places if place not in described))
    pattern = re.compile(r"(offset: +)0(\n +size: +)0(\n +arg_index: +\d+\n +addrmode: +)stateful")

    def describe(found: re.Match[str]) -> str:
        place = str(next(left))
        before, size, mode = found.groups()
        return (
            f"{before[: -len(place) + 1] if len(place) > 1 else before}{place}{size}4{mode}bindless"
        )

    patched = pattern.sub(describe, text)
    assert len(patched) == len(text)
    return patched.encode("latin-1")


def test_metadata_that_leaves_offsets_out_is_refused(zebin):
    kernel = visim.load(zebin)["add"]
    array = np.zeros(32, np.int32)
    with pytest.raises(UnsupportedError, match=r"stateful|does not say what the input"):
        kernel.launch([array, array], global_size=32)


def test_buffers_are_found_by_the_offsets_of_their_states(zebin):
    kernel = visim.load(with_offsets(zebin))["add"]
    a, b = np.arange(64, dtype=np.int32), np.arange(64, dtype=np.int32) * 100
    kernel.launch([a, b], global_size=64, local_size=32)
    assert a.tolist() == [101 * n for n in range(64)]
