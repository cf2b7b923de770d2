"""What code may use of the host: its gathers and scatters, levels of x86-64."""

from __future__ import annotations

import pytest

from visim.engine.jit.common import native
from visim.engine.jit.launch import code

HARDWARE = {"none": (), "gathers": ("avx2",), "scatters": ("avx2", "avx512vl")}
"""What code may use, and the features of a processor that has it."""
LEVELS = {"x86-64": (), "x86-64-v3": ("avx2", "fma", "f16c"), "x86-64-v4": ("avx512vl",)}
"""Levels of x86-64, and the features of a processor that can stand for one."""


def use_hardware(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let code use what the name says, where this host has it."""
    _need(name, HARDWARE[name])
    monkeypatch.setattr(code, "has_gathers", lambda: name != "none")
    monkeypatch.setattr(code, "has_scatters", lambda: name == "scatters")


def use_level(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make code for a level of x86-64, where this host can stand for it."""
    _need(name, LEVELS[name])
    monkeypatch.setenv("VISIM_CPU", name)


def _need(name: str, needed: tuple[str, ...]) -> None:
    features = native.processor().features.split(",")
    if not all(f"+{feature}" in features for feature in needed):
        pytest.skip(f"this processor has no {name}")
