"""The verbs and their options; each verb does its work in a module that it imports itself."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from visim.cli import failures
from visim.errors import ArgumentError
from visim.target import NEWEST

if TYPE_CHECKING:
    from visim import Program
    from visim.diag import Diagnostics

_PLATFORMS = "bdw, skl, icllp, tgllp, dg2 or pvc"
_ARCHITECTURES = "ilk, snb, ivb, hsw, bdw, skl, icl, tgl, dg2 or pvc"
_INPUT = click.Path(exists=True, dir_okay=False, allow_dash=True)

_VALUES = """
An argument is given as --arg NAME=VALUE or by its index as --arg 0=VALUE. VALUE is

\b
  npy:FILE                      the array in a NumPy file
  zeros:f32:1024                an array; 1024 may be a shape such as 480x640x4;
  ones:..., iota:..., rand:...  likewise: ones, 0 1 2 ..., random numbers
  f32:2.5, u32:7, i8:-1, ...    a number; f32:1,2,3,4 is a vector
  hex:0000803f                  the bytes of a struct
  local:256                     bytes of local memory
  null                          the null pointer
"""

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_platform_option = click.option("--platform", metavar="P", help=f"The device: {_PLATFORMS}.")


_strict_option = click.option(
    "--strict", is_flag=True, help="Refuse directives that only visim has."
)
_version_option = click.option(
    "--isa-version", default=NEWEST, metavar="V", help="The object's version: 3.0 to 4.1 (4.1)."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (DESIGN 2.5).

    Args:
        arguments: the words after the program's name; None takes them from the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        result = app.main(words, prog_name="visim", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; what Python still flushes at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return failures.BROKEN
    except click.Abort as abort:  # what click makes of an interrupt from the keyboard
        interrupt = abort.__cause__ or KeyboardInterrupt()
        return failures.report_failure(interrupt, as_json="--json" in words)
    except Exception as error:
        return failures.report_failure(error, as_json="--json" in words)
    return result if isinstance(result, int) else 0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="visim", message="visim %(version)s")
def app() -> None:
    """Run Intel GPU kernels (vISA, zebin, OpenCL C through ocloc) on any machine."""


_launch_options = (
    click.argument("file", type=_INPUT),
    click.option(
        "-k", "--kernel", metavar="NAME", help="The kernel; not needed where there is one."
    ),
    _platform_option,
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
    click.option("--arg", multiple=True, metavar="NAME=VALUE", help="An argument; see below."),
    click.option("--surface", multiple=True, metavar="N=VALUE", help="The surface bti(N)."),
    click.option("--sampler", multiple=True, metavar="N=VALUE", help="The sampler of index N."),
    click.option("--out", multiple=True, metavar="NAME=FILE", help="Write an array: .npy or .png."),
    click.option("--engine", metavar="E", help="jit or interpreter; the fastest if not given."),
    click.option("--seed", type=click.IntRange(min=0), help="For rand: values and the schedule."),
    click.option(
        "--budget", type=int, metavar="N", help="Instructions a hardware thread may execute."
    ),
    click.option("--workers", type=int, metavar="N", help="Threads of this machine to use."),
    click.option("--checks", metavar="MODE", help="Run-time checks; on if not given."),
    click.option(
        "--require-exact", is_flag=True, help="Refuse instructions that are not bit-exact."
    ),
    click.option(
        "--collect",
        multiple=True,
        metavar="NAMES",
        help="Figures for the report: instructions, fidelity, taint.",
    ),
    click.option("--show", is_flag=True, help="Show pictures even where stdout is no terminal."),
)


def _launching(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what to launch."""
    for option in reversed(_launch_options):
        command = option(command)
    return command


@app.command(epilog=_VALUES)
@_launching
@_json_option
def run(file: str, *, as_json: bool, **given: Any) -> None:
    """Run a kernel of FILE, or what a launch.toml describes.

    A launch.toml has the key file and the names of these options as keys; arg, surface,
    sampler and out are tables. Files in it are relative to its own folder. Options given here win.
    """
    from visim.cli.options import read_options
    from visim.cli.run import run as run_kernel

    raw = {key: value for key, value in given.items() if value not in (None, (), False)}
    run_kernel(read_options(file, raw), as_json=as_json)


@app.command(epilog=_VALUES)
@_launching
@click.option("--arch", metavar="A", help=f"The generation: {_ARCHITECTURES}.")
@click.option("--compare", metavar="A,B,...", help="Several generations side by side.")
@click.option("--preset", metavar="P", help="The costs: mesa, igc or measured.")
@click.option(
    "--native",
    type=click.Choice(["legaliser", "genx"]),
    default="legaliser",
    help="Who makes native instructions: visim, or GenX_IR where it is installed.",
)
@click.option("--set", "changes", multiple=True, metavar="NAME=N", help="A number of the table.")
@click.option("--listing", is_flag=True, help="Print every line with its cycles.")
@click.option("--perfetto", metavar="FILE", help="Write a timeline for Perfetto or Chrome.")
@click.option("--html", metavar="FILE", help="Write a report with pictures.")
@_json_option
def time(file: str, *, as_json: bool, **given: Any) -> None:
    """Say how many cycles a kernel takes on a generation, and where they go.

    Runs the kernel as visim run does. The numbers are estimates: docs/timing.md says of what.
    """
    from visim.cli.options import read_options
    from visim.cli.time import TimeOptions
    from visim.cli.time import time as time_kernel

    names = ("arch", "compare", "preset", "native", "changes", "listing", "perfetto", "html")
    chosen = TimeOptions(**{name: given.pop(name) for name in names})
    raw = {key: value for key, value in given.items() if value not in (None, (), False)}
    time_kernel(read_options(file, raw), chosen, as_json=as_json)


@app.command()
@click.argument("file", type=_INPUT)
@click.option("-o", "output", default="-", metavar="OUT", help="Where to; stdout if not given.")
@click.option("--unit", metavar="NAME", help="Only this kernel or function.")
@_platform_option
@_json_option
def dis(file: str, output: str, unit: str | None, platform: str | None, *, as_json: bool) -> None:
    """Print FILE as vISA text.

    The text has one .version, then the kernels, then the functions.
    """
    from visim.cli.files import is_standard, load_program, write_text

    program = load_program(file, platform)
    try:
        text = program.text(unit)
    except KeyError as error:
        raise ArgumentError(f"--unit: {error.args[0]}") from None
    if not as_json:
        write_text(output, text)
    elif is_standard(output):
        _print_json({"file": file, "text": text})
    else:
        write_text(output, text)
        _print_json({"file": output})


@app.command()
@click.argument("file", type=_INPUT, required=False)
@click.option("--debug", is_flag=True, help="Show debug information instead.")
@_platform_option
@click.option("--instructions", is_flag=True, help="List all instructions; needs no file.")
@_json_option
def info(
    file: str | None, platform: str | None, *, debug: bool, instructions: bool, as_json: bool
) -> None:
    """Show the kernels of FILE: arguments, resources, instructions.

    With --debug, FILE may also be a vISA debug file (.dbg): it shows which Gen code came of which
    instruction, where variables live, and the frames; of a program, the source lines of its
    instructions.
    """
    if instructions:
        _show_instructions(as_json=as_json)
        return
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    from visim.cli.files import load_program

    if debug:
        from visim.cli.debuginfo import debug_facts, show_debug_facts

        found = debug_facts(file, platform)
        if as_json:
            _print_json(found)
        else:
            show_debug_facts(found)
        return
    facts = load_program(file, platform).info()
    if as_json:
        _print_json(facts)
        return
    from visim.cli.info import show_info

    show_info(facts)


@app.command()
@click.argument("files", nargs=-1, type=_INPUT, metavar="FILE...")
@_platform_option
@click.option("--explain", metavar="RULE", help="Explain a rule, with examples; needs no file.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print a SARIF log for code hosts.")
@_strict_option
@_json_option
@click.pass_context
def check(
    context: click.Context,
    files: tuple[str, ...],
    platform: str | None,
    explain: str | None,
    *,
    as_sarif: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Verify files.

    Exits with 1 if there is an error in one of them; warnings and notes are shown only.
    """
    import visim
    from visim.cli.files import read_source

    if explain is not None:
        click.echo(_explanation(explain))
        return
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    verify = partial(visim.verify, strict=True) if strict else visim.verify
    found = {file: verify(read_source(file), platform=platform) for file in files}
    if as_sarif:
        from visim.cli.sarif import sarif

        _print_json(sarif(found))
    elif as_json:
        _print_json({"files": [_checked_to_dict(*item) for item in found.items()]})
    else:
        for file, findings in found.items():
            click.echo(findings.render() + "\n" if len(findings) else f"{file}: fine")
    if any(findings.errors for findings in found.values()):
        context.exit(failures.BROKEN)


@app.command()
@click.argument("file", type=_INPUT)
@click.option("--device", required=True, metavar="D", help=f"The device: {_PLATFORMS}.")
@click.option("--options", default="", metavar="S", help="Options of the OpenCL compiler.")
@click.option("-o", "output", metavar="OUT", help="Where to; FILE.zebin if not given.")
@_json_option
def cl(file: str, device: str, options: str, output: str | None, *, as_json: bool) -> None:
    """Compile OpenCL C with ocloc, for visim run."""
    import visim
    from visim.cli.files import check_target, is_standard, read_text, write_bytes
    from visim.cli.progress import working
    from visim.runtime.opencl import build_zebin

    if output is None and is_standard(file):
        raise click.UsageError("the source comes from the standard input: give -o OUT")
    target = output or str(Path(file).with_suffix(".zebin"))
    check_target(target)
    source = read_text(file)
    with working(f"compiling {file} for {device}"):
        zebin = build_zebin(source, device=device, options=options, name=_source_name(file))
    write_bytes(target, zebin)
    names = [kernel.name for kernel in visim.load(zebin).kernels]
    if as_json:
        _print_json({"file": target, "kernels": names})
        return
    click.echo(f"{target}: {', '.join(names) or 'no kernels'}", err=is_standard(target))


@app.command()
@_json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Say what this machine has and what is missing.

    Exits with 1 if visim itself cannot work; missing tools are no failure.
    """
    from visim.runtime.doctor import State, examine

    findings = examine()
    if as_json:
        _print_json({"findings": [finding.to_dict() for finding in findings]})
    else:
        from visim.cli.info import show_findings

        show_findings(findings)
    if any(finding.state is State.BROKEN for finding in findings):
        context.exit(failures.BROKEN)


@app.command()
@click.option("--clear", is_flag=True, help="Remove what is there.")
@_json_option
def cache(*, clear: bool, as_json: bool) -> None:
    """Show or clear the compiled kernels that are kept on disk."""
    from visim.engine.jit.cache import MOST_BYTES, ObjectCache, default_folder

    found = ObjectCache(default_folder())
    removed = found.clear() if clear else 0
    contents = found.contents()
    if as_json:
        folder = None if contents.folder is None else str(contents.folder)
        numbers = {"entries": contents.entries, "bytes": contents.bytes, "removed": removed}
        _print_json({"folder": folder, "limit": MOST_BYTES, **numbers})
        return
    if contents.folder is None:
        click.echo("off: VISIM_CACHE_DIR is empty")
        return
    if clear:
        click.echo(f"removed {removed} compiled kernels")
    megabytes = contents.bytes / 1e6
    click.echo(f"{contents.folder}: {contents.entries} compiled kernels, {megabytes:.1f} MB")


@app.command()
@click.argument("file", type=_INPUT)
@click.option("--platform", required=True, metavar="P", help=f"The device: {_PLATFORMS}.")
@click.option("-o", "output", metavar="OUT", help="Where to; FILE.isa if not given.")
@_version_option
@_strict_option
@_json_option
def asm(
    file: str,
    platform: str,
    output: str | None,
    isa_version: str,
    *,
    strict: bool,
    as_json: bool,
) -> None:
    """Assemble vISA text to an .isa object.

    What the text declares to be external may be in other files; link puts them together.
    """
    from visim.cli.files import is_standard, load_program

    if output is None and is_standard(file):
        raise click.UsageError("the text comes from the standard input: give -o OUT")
    program = load_program(file, platform, strict=strict)
    _write_object(program, output or _isa_name(file), isa_version, as_json=as_json)


@app.command()
@click.argument("file", type=_INPUT)
@click.option("-o", "folder", required=True, metavar="DIR", help="Where to; made if missing.")
@_json_option
def extract(file: str, folder: str, *, as_json: bool) -> None:
    """Write the Gen code in an .isa object to files, one for each kernel and device."""
    from visim.cli.extract import extract as extract_code

    written = extract_code(file, folder)
    if as_json:
        _print_json({"files": written})
        return
    for entry in written:
        click.echo(f"{entry['file']}: {entry['size']} bytes for {entry['platform']}")


@app.command()
@click.argument("files", nargs=-1, required=True, type=_INPUT, metavar="A B ...")
@click.option("--platform", metavar="P", help=f"The device: {_PLATFORMS}.")
@click.option("-o", "output", required=True, metavar="OUT", help="The linked .isa file.")
@_version_option
@click.option("--gc", is_flag=True, help="Drop functions and variables that no kernel needs.")
@click.option("--strip", is_flag=True, help="Drop names of variables and labels, source lines.")
@_strict_option
@_json_option
def link(
    files: tuple[str, ...],
    platform: str | None,
    output: str,
    isa_version: str,
    *,
    gc: bool,
    strip: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Put the kernels and functions of several files into one .isa object.

    Files are vISA texts, objects, and ar archives of them, in any order.
    """
    import visim
    from visim.cli.files import read_source

    sources = [read_source(file) for file in files]
    program = visim.link(sources, platform=platform, gc=gc, strip=strip, strict=strict)
    _write_object(program, output, isa_version, as_json=as_json)


@app.command()
@click.option("--seed", default=0, type=click.IntRange(min=0), help="Which program; 0.")
@click.option("--platform", default="pvc", metavar="P", help=f"The device: {_PLATFORMS}.")
@click.option("--statements", default=24, type=click.IntRange(1, 1000), help="How many; 24.")
@click.option("--compare", is_flag=True, help="Run it on both engines and compare memory.")
@click.option("--count", default=1, type=click.IntRange(min=1), help="With --compare: seeds.")
@_json_option
@click.pass_context
def smith(
    context: click.Context,
    seed: int,
    platform: str,
    statements: int,
    count: int,
    *,
    compare: bool,
    as_json: bool,
) -> None:
    """Print a random valid vISA program that ends, or compare engines on some.

    Exits with 1 if engines differ.
    """
    from visim.cli.smith import compare_seeds
    from visim.smith import Shape
    from visim.smith import smith as write_program

    shape = Shape(statements)
    if not compare:
        text = write_program(seed, platform, shape)
        if as_json:
            _print_json({"seed": seed, "platform": platform, "text": text})
        else:
            click.echo(text, nl=False)
        return
    if not compare_seeds(range(seed, seed + count), platform, shape, as_json=as_json):
        context.exit(failures.BROKEN)


@app.command("reduce")
@click.argument("file", type=_INPUT)
@click.option("--keep", required=True, metavar="COMMAND", help="What fails; {} is the file.")
@click.option("--seconds", default=30.0, help="How long the command may take each time; 30.")
@click.option("-o", "output", default="-", metavar="OUT", help="Where to; stdout if not given.")
def reduce_program(file: str, keep: str, seconds: float, output: str) -> None:
    """Shrink a vISA text while COMMAND still fails on it in the same way."""
    from visim.cli.files import read_text, write_text
    from visim.smith.reduce import reduce

    write_text(output, reduce(read_text(file), keep, seconds=seconds))


def _write_object(program: Program, target: str, isa_version: str, *, as_json: bool) -> None:
    from visim.cli.files import is_standard, write_bytes

    write_bytes(target, program.to_object(isa_version=isa_version))
    names = [kernel.name for kernel in program.kernels]
    if as_json:
        _print_json({"file": target, "kernels": names})
        return
    click.echo(f"{target}: {', '.join(names) or 'no kernels'}", err=is_standard(target))


def _show_instructions(*, as_json: bool) -> None:
    from visim.runtime.coverage import coverage

    if as_json:
        _print_json({"instructions": [entry.to_dict() for entry in coverage()]})
        return
    from visim.cli.info import show_instructions

    show_instructions(coverage())


def _isa_name(file: str) -> str:
    return str(Path(file).with_suffix(".isa"))


def _source_name(file: str) -> str:
    return "stdin.cl" if file == "-" else file


def _explanation(code: str) -> str:
    from visim.check.catalogue import find_rule
    from visim.check.explain import explain

    return explain(find_rule(code))


def _checked_to_dict(file: str, findings: Diagnostics) -> dict[str, Any]:
    described = [failures.diagnostic_to_dict(finding) for finding in findings]
    return {"file": file, "diagnostics": described}


def _print_json(form: object) -> None:
    click.echo(json.dumps(form, indent=2))
