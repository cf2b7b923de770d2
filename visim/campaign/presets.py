"""The tables that a campaign's file may have: `[[launch]]`, and the uses that are often wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from visim.campaign.folders import Conform, Sanitize
from visim.campaign.fuzzing import Fuzz
from visim.campaign.launches import OWN_GENERATION
from visim.campaign.parts import Part
from visim.campaign.ranges import Split
from visim.campaign.sweeping import Sweep
from visim.campaign.tables import Launches
from visim.errors import ArgumentError, shown

Reader = Callable[[Mapping[str, Any], Path, int], Part]


def _compilers(table: Mapping[str, Any], folder: Path, number: int) -> Launches:
    """Return launches along compilers and options, which have to agree and not to get slower.

    `compilers` and `options` are lists; what is first is what the others are measured by.
    """
    rest = {key: value for key, value in table.items() if key not in {"compilers", "options"}}
    vary: dict[str, Any] = dict(rest.pop("vary", {}))
    for key, axis in (("compilers", "compiler"), ("options", "options")):
        values: object = table.get(key, [])
        if not isinstance(values, list):
            raise ArgumentError(f"{key}: expected a list, found {shown(values)}")
        if values:
            vary[axis] = cast("list[object]", values)
    axes = [axis for axis in ("compiler", "options") if axis in vary]
    if not any(len(vary[axis]) > 1 for axis in axes):
        raise ArgumentError("give at least two compilers, or two options, to be compared")
    given = {"agree": axes, "slower": axes, "timing": OWN_GENERATION, **rest, "vary": vary}
    return Launches(given, folder, number)


READERS: Mapping[str, Reader] = {
    "launch": Launches,
    "compilers": _compilers,
    "sweep": Sweep,
    "split": Split,
    "fuzz": Fuzz,
    "sanitize": Sanitize,
    "conform": Conform,
}
LISTENING = ("sweep", "split", "fuzz")
"""Tables whose cells depend on what came of others."""
PRESETS = tuple(name for name in READERS if name != "launch")
"""What `visim campaign` takes in place of a file."""
