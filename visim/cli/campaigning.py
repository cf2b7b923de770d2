"""The verb for many launches: campaign."""

from __future__ import annotations

from typing import Any

import click

from visim.cli.conventions import INPUT, json_option


@click.command()
@click.argument("file", type=INPUT, metavar="FILE.toml")
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
@json_option
@click.pass_context
def campaign(context: click.Context, file: str, *, as_json: bool, **given: Any) -> None:
    """Run the cells of a matrix of launches, each in a process of its own.

    Results are added to DIR as they come. The same command goes on where one was stopped, and
    runs only what is new. Exits with 1 if a cell did not pass, or cells do not agree that ought to.
    """
    from pathlib import Path

    from visim.cli.campaign import CampaignOptions
    from visim.cli.campaign import campaign as run_cells

    out = given.pop("out") or f"{Path(file).stem}.campaign"
    context.exit(run_cells(file, CampaignOptions(out, **given), as_json=as_json))
