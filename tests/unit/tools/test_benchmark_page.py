"""The page of benchmarks says what is in files of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.sets import SETS, every, families
from tools import benchmark_page

TIMES = {"pvc": 2.0, "bmg": 4.0, "pocl": 8.0, "intel": 1.0}


def _kernel(factor: float = 1.0, **failed: str) -> dict[str, Any]:
    sides = {
        name: {"clock_ms": 3 * ms, "processor_ms": ms * factor ** (name == "pocl"), "first_ms": 1}
        for name, ms in TIMES.items()
        if name not in failed
    }
    return {"family": "some", "sides": sides, "failed": failed}


def _page(folder: Path, kernels: dict[str, Any], **more: Any) -> list[str]:
    result = results.heading(1) | {
        "set": "public",
        "settings": {"rounds": 1, "scale": 1.0, "seed": 1},
        "compilers": {"pvc": "one", "bmg": "two"},
        "peers": {"pocl": "PoCL 1"},
        "kernels": kernels,
    }
    results.write(folder / "box" / "public.json", result | more)
    return _lines(folder)


def _lines(folder: Path) -> list[str]:
    return [line for _, lines in benchmark_page.pages(folder) for line in lines]


def test_ratios_are_the_peers_time_over_visims(tmp_path):
    lines = _page(tmp_path, {"a": _kernel(), "b": _kernel(4.0)})
    assert "| public | PoCL | pvc | 2 | **8.00** | 4.00 | 100 % | 0 | 4.00 (a) |" in lines
    assert "| public | Intel | bmg | 2 | **0.25** | 0.25 | 0 % | 2 | 0.25 (a) |" in lines
    assert any(line.startswith("| some | b | 2 | 4 |  | 32 | 1 | 16.00 | 8.00 |") for line in lines)


def test_what_fails_is_told_and_has_no_ratio(tmp_path):
    lines = _page(tmp_path, {"a": _kernel(), "b": _kernel(bmg="no doubles")})
    assert "- bmg: `no doubles` (b)" in lines
    assert "| public | PoCL | bmg | 1 | **2.00** | 2.00 | 100 % | 0 | 2.00 (a) |" in lines


def test_a_pass_has_the_kernel_to_which_it_brings_most(tmp_path):
    result = results.heading(1) | {
        "settings": {"device": "pvc", "scale": 1.0, "rounds": 1},
        "kernels": {"a": {"affine": 1.02, "tables": None}, "b": {"affine": 1.5}},
    }
    results.write(tmp_path / "box" / "ablation.json", result)
    lines = _lines(tmp_path)
    assert "| affine | 2 | 2 | **1.50** | b |" in lines
    assert "| tables | 1 | 0 | 1.00 |  |" in lines


def test_results_are_of_kernels_that_are_here():
    known = every()
    for path in results.RESULTS.glob("*/*.json"):
        kernels = results.read(path)["kernels"]
        assert kernels.keys() <= known.keys(), path
        if path.stem in SETS:
            of_set = {one.name for each in families(path.stem).values() for one in each}
            assert kernels.keys() <= of_set, path
