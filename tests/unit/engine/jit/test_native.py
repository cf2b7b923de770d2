"""Machine code in memory: where it is, and that it goes."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from llvmlite import binding

import visim
from tests.hosts import IS_X86
from visim.engine.jit.common import native
from visim.engine.jit.common.native import NativeCode, object_code, processor, usable

LOADS = 100


def code(number: int) -> bytes:
    """An object whose function f returns a number that stands in its memory."""
    text = (
        f"@n = global i64 {number}\ndefine i64 @f() {{\n  %n = load i64, ptr @n\n  ret i64 %n\n}}"
    )
    return object_code(text, processor())


def call(loaded: NativeCode) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.addresses["f"])()


def test_objects_may_have_the_same_names() -> None:
    first, second, again = (NativeCode(code(number), ["f"]) for number in (1, 2, 1))
    assert (call(first), call(second), call(again)) == (1, 2, 1)
    del first
    assert (call(second), call(again)) == (2, 1)


def test_memory_of_code_that_nobody_holds_is_free() -> None:
    one = code(3)
    NativeCode(one, ["f"])
    before = _mappings()
    for _ in range(LOADS):
        NativeCode(one, ["f"])
    assert _mappings() < before + LOADS


def _mappings() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


def test_registers_that_switching_stacks_would_lose_are_not_used() -> None:
    """Assembly cannot name APX's general registers, so that LLVM would keep values in them."""
    assert usable({"xop": False, "avx2": True, "egpr": True}) == "+avx2,-egpr,-xop"


@pytest.mark.skipif(not IS_X86, reason="only x86 processors have these registers")
@pytest.mark.parametrize("name", ["diamondrapids", "novalake"])
def test_nor_are_those_of_processors_that_are_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISIM_CPU", name)
    assert processor().name == name
    assert "-egpr" in processor().features.split(",")


@pytest.mark.skipif(not IS_X86, reason="the names are those of x86 processors")
@pytest.mark.parametrize(
    ("name", "masks", "gathers", "permuted", "lanes", "byte_products"),
    [
        ("x86-64", False, False, 0, 4, False),
        ("x86-64-v2", False, False, 16, 4, False),
        ("x86-64-v3", False, False, 16, 8, False),
        ("x86-64-v4", True, False, 16, 16, False),
        ("alderlake", False, True, 16, 8, True),
        ("skylake-avx512", True, False, 16, 16, False),
        ("icelake-server", True, False, 64, 16, True),
        ("sapphirerapids", True, True, 64, 16, True),
        ("znver3", False, False, 16, 8, False),
        ("znver4", True, False, 64, 16, True),
    ],
)
def test_a_processor_that_is_named_has_its_features(
    name: str,
    masks: bool,
    gathers: bool,
    permuted: int,
    lanes: int,
    byte_products: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VISIM_CPU", name)
    assert native.has_mask_registers() is masks
    assert native.has_gathers() is gathers
    assert native.permuted_bytes() == permuted
    assert native.vector_lanes() == lanes
    assert native.has_byte_products() is byte_products


@pytest.mark.skipif(not IS_X86, reason="the names are those of x86 processors")
@pytest.mark.parametrize(
    ("name", "finds"),
    [("x86-64-v4", False), ("sapphirerapids", False), ("znver3", False), ("znver4", True)],
)
def test_rows_are_left_to_processors_that_are_known_to_find_them(
    name: str, finds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISIM_CPU", name)
    assert native.finds_rows() is finds


def test_a_processor_that_llvm_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISIM_CPU", "pentium-42")
    kernel = visim.assemble('.version 4.1\n.kernel "k"\nret (M1, 1)\n', platform="pvc")["k"]
    with pytest.raises(
        visim.ArgumentError, match="VISIM_CPU: LLVM knows no processor 'pentium-42'"
    ):
        kernel.launch([], engine="jit")


@pytest.mark.skipif(not IS_X86, reason="the name is that of an x86 processor")
def test_a_processor_without_64_bit_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would end this process as it compiles for one."""
    monkeypatch.setenv("VISIM_CPU", "i686")
    with pytest.raises(visim.ArgumentError, match="VISIM_CPU: processor 'i686' has no 64-bit code"):
        processor()


def test_features_of_this_host_are_those_that_llvm_finds() -> None:
    if not os.environ.get("VISIM_CPU"):
        found = binding.get_host_cpu_features()
        assert processor().features == usable(found)
        assert usable(found) == found.flatten().replace("+egpr", "-egpr")


@pytest.mark.parametrize(
    ("features", "masks", "lanes"),
    [
        ("+avx2,+avx512f,+avx512vl", True, 16),
        ("+avx2,+avx512f,-avx512vl", False, 8),
        ("+avx2,-avx512f,-avx512vl", False, 8),
        ("-avx2,-avx512f,-avx512vl", False, 4),
    ],
)
def test_features_count_and_not_the_name(
    features: str, masks: bool, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Virtual machines name processors whose AVX-512 they do not offer."""
    made_for = native.Processor("sapphirerapids", features)
    monkeypatch.setattr(native, "processor", lambda: made_for)
    assert (native.has_mask_registers(), native.vector_lanes()) == (masks, lanes)


@pytest.mark.parametrize(
    ("name", "features", "gathers", "scatters"),
    [
        ("sapphirerapids", "+avx2,+avx512fp16,+avx512vl", True, True),
        ("rocketlake", "+avx2,+avx512fp16,+avx512vl", True, True),
        ("rocketlake", "+avx2,-avx512fp16,+avx512vl", False, False),
        ("alderlake", "+avx2,-avx512fp16,-avx512vl", True, False),
        ("znver5", "+avx2,+avx512fp16,+avx512vl", False, False),
    ],
)
def test_gathers_are_used_where_they_are_known_to_be_fast(
    name: str, features: str, gathers: bool, scatters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual machine may hide which processor it runs on, but not what that can do."""
    made_for = native.Processor(name, features)
    monkeypatch.setattr(native, "processor", lambda: made_for)
    assert (native.has_gathers(), native.has_scatters()) == (gathers, scatters)
