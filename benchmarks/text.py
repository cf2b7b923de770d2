"""Instructions per second that visim reads and writes as text, on one core.

Run it with `python -m benchmarks.text` in the repository. The texts are all that the corpus has:
as many declarations as instructions. The rate is that of the best of several rounds, by the
processor time of this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from tests.corpus.pairs import dumps
from visim.diag import Source
from visim.text import read_text, show_module

ROUNDS = 5


def best_seconds(work: Callable[[], object]) -> float:
    """Return the shortest of several times that `work` took."""
    found: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def main() -> None:
    """Measure and print the rates."""
    sources = [Source(dump.name, dump.text) for dump in dumps()]
    modules = [read_text(source) for source in sources]
    count = sum(len(unit.body) for module in modules for unit in module.units)
    table = Table("direction", "instructions", "per second", box=None)
    work: dict[str, Callable[[], object]] = {
        "read": lambda: [read_text(source) for source in sources],
        "write": lambda: [show_module(module) for module in modules],
    }
    for direction, run in work.items():
        table.add_row(direction, f"{count:,}", f"{count / best_seconds(run):,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
