"""`visim smith --compare`: engines on many random programs, and what is said of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import click

from visim.cli.conventions import print_json
from visim.smith import Shape
from visim.smith.compare import Comparison, compare


def compare_seeds(seeds: Iterable[int], platform: str, shape: Shape, *, as_json: bool) -> bool:
    """Compare the programs of seeds, tell what came of it, and return whether all is fine."""
    found = [compare(seed, platform, shape) for seed in seeds]
    if as_json:
        print_json({"platform": platform, "seeds": [asdict(one) for one in found]})
    else:
        for one in found:
            _tell(one)
        equal = sum(one.is_fine and one.unsupported is None for one in found)
        click.echo(f"{platform}: {equal} of {len(found)} programs give the same bytes")
    return all(one.is_fine for one in found)


def _tell(one: Comparison) -> None:
    if one.difference is not None:
        click.echo(f"seed {one.seed}: {one.difference}")
    elif one.unsupported is not None:
        click.echo(f"seed {one.seed}: not run: {one.unsupported}")
