"""Opcodes as they were transcribed from the specification by hand (`opcodes.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODEL = Path(__file__).parent
DATA: dict[str, Any] = json.loads((MODEL / "opcodes.json").read_text(encoding="utf-8"))

TEXT_ONLY = frozenset({"lsc_extended_cache_ctrl"})
"""What no object has a place for: IGC's reader of objects does not know it."""


def numbers() -> dict[str, tuple[int, int | None]]:
    """Return the opcode and sub-opcode of each mnemonic."""
    found: dict[str, tuple[int, int | None]] = {}
    for row in DATA["opcodes"]:
        names = row["mnemonics"]
        subs = names.items() if isinstance(names, dict) else [(name, None) for name in names]
        for name, sub in subs:
            # Names that LSC_TYPED has in common with LSC_UNTYPED are told apart by the unit.
            unit = ".tgm" if row["name"] == "LSC_TYPED" else ""
            found[f"{name}{unit}"] = row["value"], sub
    return found
