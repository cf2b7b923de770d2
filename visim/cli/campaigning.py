"""The verb for many launches: campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from visim.cli.conventions import INPUT, json_option
from visim.errors import ArgumentError, Correction
from visim.lex import nearest

PRESETS = ("fuzz", "sanitize", "conform", "compilers", "sweep", "split")


class _CampaignFile(click.Path):
    """A file that is there, or the name of a preset."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name, or say which one was probably meant."""
        if value in PRESETS and not Path(value).is_file():
            return value
        near = None if Path(value).exists() else nearest(str(value), PRESETS)
        if near is not None:
            message = f"there is no file {value}; did you mean the preset {near}?"
            raise ArgumentError(message, Correction(misspelt=((str(value), near),)))
        return INPUT.convert(value, param, ctx)


@click.command()
@click.argument("what", type=_CampaignFile(), metavar="FILE.toml|PRESET")
@click.argument("path", required=False, type=click.Path(exists=True))
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="KEY=VALUE",
    help="For a preset: a key of its table, and a TOML value or a text.",
)
@click.option("--out", metavar="DIR", help="The folder of the results; FILE.campaign.")
@click.option("--jobs", type=int, metavar="N", help="Processes; one for each core.")
@click.option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
@click.option("--seconds", type=float, metavar="S", help="What a cell may take, for the file's.")
@click.option("--memory", metavar="SIZE", help="Likewise, such as '512 MiB'.")
@click.option(
    "--again",
    type=click.Choice(["all", "failed", "chance"]),
    help="Run cells again that have ended: all, those that did not pass, or of these those that "
    "a loaded machine may be to blame for.",
)
@click.option("--parquet", is_flag=True, help="Write DIR/results.parquet, too (visim[parquet]).")
@click.option("--against", metavar="DIR", help="The report's differences are to this folder's.")
@json_option
@click.pass_context
def campaign(
    context: click.Context,
    what: str,
    path: str | None,
    values: tuple[str, ...],
    *,
    as_json: bool,
    **given: Any,
) -> None:
    """Run the cells of a matrix of launches, each in a process of its own.

    PRESET is fuzz, sanitize, conform, compilers, sweep or split; PATH is its file or folder.
    Results are added to DIR as they come. The same command goes on where one was stopped, and
    runs only what is new. Exits with 1 if a cell did not pass, or cells do not agree that ought to.
    """
    from visim.cli.campaign import Asked, CampaignOptions
    from visim.cli.campaign import campaign as run_cells

    out = given.pop("out") or f"{Path(what).stem}.campaign"
    options = CampaignOptions(out, **given)
    context.exit(run_cells(Asked(what, path, values), options, as_json=as_json))
