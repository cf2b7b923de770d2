"""The command line `visim`.

Nothing here computes: a verb reads its options, calls the public functions of visim and shows
what they return. Engines and NumPy are imported by the verb that needs them, so that help and
usage errors come at once.
"""

from __future__ import annotations

from visim.cli.app import main

__all__ = ["main"]
