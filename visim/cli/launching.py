"""The verbs that launch a kernel: run and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from visim.cli import completing
from visim.cli.conventions import (
    DEVICE_FLAGS,
    DEVICES,
    GENERATIONS,
    INPUT,
    LAUNCH,
    json_option,
    options_option,
    platform_option,
)
from visim.sanitize.kinds import DETECTORS, KINDS

_VALUES = """
An argument is given as --arg NAME=VALUE or by its index as --arg 0=VALUE. VALUE is

\b
  2  or  1,2,3,4              numbers of the argument's own type
  zeros:1024                  an array; 1024 may be a shape such as 480x640x4
  ones:1024 iota:... rand:... likewise: ones, 0 1 2 ..., random numbers (--seed)
  uninit:1024                 an array that counts as never written (--sanitize)
  npy:FILE                    the array in a NumPy file
  f32:2.5  zeros:u8:1024      the same with a type: i8 to u64, f16 to f64, or int, uchar ...
  hex:0000803f                the bytes of a struct
  local:256                   bytes of local memory
  null                        the null pointer
  as:x  as:x+64               the array of argument x, or its bytes from byte 64 on
  image:FILE                  a picture (.png) or array (.npy) as an image; or
  image:zeros:u8:480x640x4    likewise; image:...@rgba:unorm8 gives the format
  sampler:repeat,linear,...   address mode, filter, normalized, mip=linear,
                              compare=less, min_lod=1, border=0/0/0/1
"""

_launch_options = (
    click.argument("file", type=LAUNCH),
    click.option(
        "-k",
        "--kernel",
        metavar="NAME",
        help="The kernel; not needed where there is one.",
        shell_complete=completing.kernels,
    ),
    options_option,
    click.option("--visa", type=INPUT, metavar="FILE", help="A zebin's text, edited (visim dis)."),
    click.option("--global", "global", metavar="X[,Y[,Z]]", help="Work-items in each dimension."),
    click.option(
        "--local", metavar="X[,Y[,Z]]", help="Work-items of a group (chosen if not given)."
    ),
    click.option("--offset", metavar="X[,Y[,Z]]", help="The first work-item's global id."),
    click.option("--groups", metavar="X[,Y[,Z]]", help="Bare vISA: thread groups."),
    click.option(
        "--group-size", metavar="X[,Y[,Z]]", help="Bare vISA: hardware threads of a group."
    ),
    click.option(
        "--thread-space", metavar="W,H", help="Media: hardware threads in two dimensions."
    ),
    click.option("--dependency", metavar="D", help="Media: wavefront, ... or vectors -1,0;0,-1."),
    click.option(
        "--arg",
        multiple=True,
        metavar="NAME=VALUE",
        help="An argument; see below.",
        shell_complete=completing.arguments,
    ),
    click.option("--surface", multiple=True, metavar="N=VALUE", help="The surface bti(N)."),
    click.option("--sampler", multiple=True, metavar="N=VALUE", help="The sampler of index N."),
    click.option(
        "--out",
        multiple=True,
        metavar="NAME=FILE",
        help="Write an array: .npy or .png.",
        shell_complete=completing.arguments,
    ),
    click.option(
        "--engine",
        metavar="E",
        help="jit or interpreter; the fastest if not given.",
        shell_complete=completing.one_of("jit", "interpreter"),
    ),
    click.option("--seed", type=click.IntRange(min=0), help="For rand: values and the schedule."),
    click.option(
        "--budget", type=int, metavar="N", help="Instructions a hardware thread may execute."
    ),
    click.option("--timeout", type=float, metavar="S", help="Seconds that the launch may take."),
    click.option("--workers", type=int, metavar="N", help="Threads of this machine to use."),
    click.option("--checks", metavar="MODE", help="Run-time checks: on or off; on if not given."),
    click.option(
        "--bounds",
        metavar="MODE",
        help="Accesses out of a surface's range: fault, or hardware (0, and dropped).",
    ),
    click.option(
        "--require-exact", is_flag=True, help="Refuse instructions that are not bit-exact."
    ),
    click.option(
        "--collect",
        multiple=True,
        metavar="NAMES",
        help="Figures for the report: instructions, fidelity, taint.",
        shell_complete=completing.one_of("instructions", "fidelity", "taint"),
    ),
    click.option(
        "--sanitize",
        multiple=True,
        metavar="NAMES",
        help=f"Find what is wrong: {', '.join(DETECTORS)} or all.",
        shell_complete=completing.one_of(*DETECTORS, "all"),
    ),
    click.option(
        "--sanitize-stop", is_flag=True, help="Stop with a fault at the first error or warning."
    ),
    click.option(
        "--sanitize-errors",
        multiple=True,
        metavar="KINDS",
        help="Kinds of findings that count as errors, also where they are notes.",
        shell_complete=completing.one_of(*KINDS),
    ),
    click.option("--suppress", metavar="FILE", help="A file of findings that are known."),
    click.option("--show", is_flag=True, help="Show pictures even where stdout is not a terminal."),
)


def launching(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what to launch."""
    for option in reversed(_launch_options):
        command = option(command)
    return command


@click.command(epilog=_VALUES)
@platform_option
@launching
@click.option(
    "--expect",
    multiple=True,
    metavar="NAME=FILE",
    help="What the argument is to be (.npy); exit code 1 and a picture if it is not.",
    shell_complete=completing.arguments,
)
@click.option("--rtol", type=float, metavar="R", help="Expected within R times the number (1e-5).")
@click.option("--atol", type=float, metavar="A", help="Expected within A (1e-8).")
@click.option("--trace", metavar="FILE", help="Write what each thread did, for Perfetto.")
@click.option("--trace-only", metavar="WHAT", help="Of these only: group=0-3,thread=1,line=10-20.")
@click.option("--sarif", metavar="FILE", help="Write what sanitizers found as a SARIF log.")
@click.option("--html", metavar="FILE", help="Write it as a page with the source annotated.")
@json_option
@click.option("--json-arrays", "with_arrays", is_flag=True, help="--json, with the arrays in it.")
def run(file: str, *, as_json: bool, with_arrays: bool, **given: Any) -> int:
    """Run a kernel of FILE, or what a launch.toml describes.

    FILE is a zebin, vISA text, an .isa object, or OpenCL C or SPIR-V, which is compiled first for
    the device that --device names; or example:mandelbrot (visim examples list). A launch.toml
    has the key file and the names of these options as keys; arg, surface, sampler, out and expect
    are tables. Files in it are relative to its own folder. Options given here win.
    """
    from visim.cli.run import run as run_kernel
    from visim.runtime.files.run_options import read_options

    options = read_options(file, given_options(given))
    return run_kernel(options, as_json=as_json or with_arrays, with_arrays=with_arrays)


@click.command(epilog=_VALUES)
@click.option(
    *DEVICE_FLAGS[:2], "platform", metavar="D", help=f"What the kernel is for: {DEVICES}."
)
@launching
@click.option(
    "--arch", metavar="A", help=f"The generation, if not the kernel's own: {GENERATIONS}."
)
@click.option("--compare", metavar="A,B,...", help="Several generations side by side.")
@click.option("--preset", metavar="P", help="The costs: mesa, igc or measured.")
@click.option(
    "--native",
    type=click.Choice(["legaliser", "genx"]),
    default="legaliser",
    help="Who makes native instructions: visim, or GenX_IR where it is installed.",
)
@click.option("--set", "changes", multiple=True, metavar="NAME=N", help="A number of the table.")
@click.option(
    "--caches/--no-caches",
    default=True,
    help="Whether data go through caches and memory, or messages have fixed latencies.",
)
@click.option("--sample", is_flag=True, help="Time some of very many groups for all.")
@click.option("--listing", is_flag=True, help="Print every line with its cycles.")
@click.option("--advise", is_flag=True, help="Say why the hottest lines wait, and what to do.")
@click.option("--perfetto", metavar="FILE", help="Write a timeline for Perfetto or Chrome.")
@click.option("--html", metavar="FILE", help="Write a report with pictures.")
@click.option("--window", metavar="A:B", help="The cycles that --perfetto and --html show closely.")
@json_option
def time(file: str, *, as_json: bool, **given: Any) -> None:
    """Say how many cycles a kernel takes on a generation, and where they go.

    Runs the kernel as visim run does. The numbers are estimates: docs/timing-accuracy.md says of
    what.
    """
    from dataclasses import fields

    from visim.cli.time import TimeOptions
    from visim.cli.time import time as time_kernel
    from visim.runtime.files.run_options import read_options

    chosen = TimeOptions(**{field.name: given.pop(field.name) for field in fields(TimeOptions)})
    time_kernel(read_options(file, given_options(given)), chosen, as_json=as_json)


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are on the command line; 0 is a value."""
    return {
        key: value
        for key, value in options.items()
        if value is not None and value is not False and value != ()
    }
