"""Gathers and scatters of the host, as code for it may use them or not."""

from __future__ import annotations

import pytest

from visim.engine.jit.common import native
from visim.engine.jit.launch import code

HARDWARE = {"none": (), "gathers": ("avx2",), "scatters": ("avx2", "avx512vl")}
"""What code may use, and the features of a processor that has it."""


def use_hardware(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let code use what the name says, where this host has it."""
    features = native.processor().features.split(",")
    if not all(f"+{feature}" in features for feature in HARDWARE[name]):
        pytest.skip(f"this processor has no {name}")
    monkeypatch.setattr(code, "has_gathers", lambda: name != "none")
    monkeypatch.setattr(code, "has_scatters", lambda: name == "scatters")
