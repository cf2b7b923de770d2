"""The verbs that make files of files: asm, dis, cl, link, extract, smith and reduce."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from visim.cli import failures
from visim.cli.conventions import (
    DEVICE_FLAGS,
    DEVICES,
    EXAMPLE_DEVICE,
    INPUT,
    json_option,
    options_option,
    platform_option,
    print_json,
    required_device_option,
    strict_option,
    version_option,
)
from visim.diag import visible
from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim import Program


@click.command()
@click.argument("file", type=INPUT)
@required_device_option
@click.option("-o", "output", metavar="OUT", help="The file to write; FILE.isa.")
@version_option
@strict_option
@json_option
def asm(
    file: str,
    device: str,
    output: str | None,
    isa_version: str,
    *,
    strict: bool,
    as_json: bool,
) -> None:
    """Assemble vISA text to an .isa object.

    What the text declares to be external may be in other files; link puts them together.
    """
    from visim.cli.files import check_target, is_standard, load_program

    if output is None and is_standard(file):
        raise click.UsageError("the text comes from the standard input: give -o OUT")
    target = output or _isa_name(file)
    check_target(target, file)
    program = load_program(file, device, strict=strict)
    _write_object(program, target, isa_version, as_json=as_json)


@click.command()
@click.argument("file", type=INPUT)
@click.option("-o", "output", default="-", metavar="OUT", help="The file to write; stdout.")
@click.option("--unit", metavar="NAME", help="Only this kernel or function.")
@platform_option
@options_option
@json_option
def dis(
    file: str,
    output: str,
    unit: str | None,
    platform: str | None,
    options: str | None,
    *,
    as_json: bool,
) -> None:
    """Print FILE as vISA text.

    The text has one .version, then the kernels, then the functions. OpenCL C and SPIR-V are
    compiled first, for the device that --device names.
    """
    from visim.cli.files import check_target, is_standard, load_program, write_text

    check_target(output, file)
    program = load_program(file, platform, options=options)
    try:
        text = program.text(unit)
    except KeyError as error:
        raise ArgumentError(f"--unit: {error.args[0]}") from None
    if not as_json:
        write_text(output, text)
    elif is_standard(output):
        print_json({"file": file, "text": text})
    else:
        write_text(output, text)
        print_json({"file": output})


@click.command()
@click.argument("files", nargs=-1, required=True, type=INPUT, metavar="FILE...")
@required_device_option
@options_option
@click.option("-I", "include", multiple=True, metavar="DIR", help="Where included files are, too.")
@click.option("--lines/--no-lines", default=True, help="Keep source lines; they are kept.")
@click.option("--compiler", metavar="C", help="A version, toolchain or libocloc; the newest.")
@click.option("-o", "output", metavar="OUT", help="The file to write; FILE.zebin.")
@json_option
def cl(
    files: tuple[str, ...],
    device: str,
    options: str | None,
    include: tuple[str, ...],
    compiler: str | None,
    output: str | None,
    *,
    lines: bool,
    as_json: bool,
) -> None:
    """Compile OpenCL C or SPIR-V with ocloc, for visim run.

    Several files of OpenCL C are one program, as if they were one file.
    """
    import visim
    from visim.cli.files import check_target, is_standard, name_of
    from visim.cli.progress import working

    if output is None and is_standard(files[0]):
        raise click.UsageError("the source comes from the standard input: give -o OUT")
    target = output or str(Path(files[0]).with_suffix(".zebin"))
    check_target(target, *files)
    name = name_of(files[0])
    sources = [_source_of(file) for file in files]
    with working(f"compiling {name} for {device}"):
        program = visim.opencl.build(
            cast("Any", sources[0] if len(sources) == 1 else sources),
            device=device,
            options=options or "",
            name=name,
            include=include,
            lines=lines,
            compiler=compiler,
        )
    for warning in program.warnings:
        click.echo(visible(warning.render()), err=True)
    _write(program, program.to_zebin(), target, as_json=as_json)


@click.command()
@click.argument("files", nargs=-1, required=True, type=INPUT, metavar="A B ...")
@platform_option
@click.option("-o", "output", required=True, metavar="OUT", help="The linked .isa file.")
@version_option
@click.option("--gc", is_flag=True, help="Drop functions and variables that no kernel needs.")
@click.option("--strip", is_flag=True, help="Drop names of variables and labels, source lines.")
@strict_option
@json_option
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
    from visim.cli.files import check_target, read_source

    check_target(output, *files)
    sources = [read_source(file) for file in files]
    program = visim.link(sources, platform=platform, gc=gc, strip=strip, strict=strict)
    _write_object(program, output, isa_version, as_json=as_json)


@click.command()
@click.argument("file", type=INPUT)
@click.option("-o", "folder", required=True, metavar="DIR", help="The folder; made if missing.")
@json_option
def extract(file: str, folder: str, *, as_json: bool) -> None:
    """Write the Gen code in an .isa object to files, one for each kernel and device."""
    from visim.cli.extract import extract as extract_code

    written = extract_code(file, folder)
    if as_json:
        print_json({"files": written})
        return
    for entry in written:
        click.echo(f"{entry['file']}: {entry['size']} bytes for {entry['platform']}")


@click.command()
@click.option("--seed", default=0, type=click.IntRange(min=0), help="Which program; 0.")
@click.option(
    *DEVICE_FLAGS, "platform", default=EXAMPLE_DEVICE, metavar="D", help=f"The device: {DEVICES}."
)
@click.option("--statements", default=24, type=click.IntRange(1, 1000), help="How many; 24.")
@click.option("--compare", is_flag=True, help="Run it on both engines and compare memory.")
@click.option("--count", type=click.IntRange(min=1), help="With --compare: how many seeds; 1.")
@json_option
@click.pass_context
def smith(
    context: click.Context,
    seed: int,
    platform: str,
    statements: int,
    count: int | None,
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
    if count is not None and not compare:
        raise click.UsageError("--count says how many programs to --compare: give that, too")
    if not compare:
        text = write_program(seed, platform, shape)
        if as_json:
            print_json({"seed": seed, "platform": platform, "text": text})
        else:
            click.echo(text, nl=False)
        return
    seeds = range(seed, seed + (count or 1))
    if not compare_seeds(seeds, platform, shape, as_json=as_json):
        context.exit(failures.BROKEN)


@click.command("reduce")
@click.argument("file", type=INPUT)
@click.option("--keep", required=True, metavar="COMMAND", help="What fails; {} is the file.")
@click.option("--seconds", default=30.0, help="How long the command may take each time; 30.")
@click.option("--jobs", type=int, metavar="N", help="Candidates at a time; one for each core.")
@click.option("-o", "output", default="-", metavar="OUT", help="The file to write; stdout.")
def reduce_program(file: str, keep: str, seconds: float, jobs: int | None, output: str) -> None:
    """Shrink a vISA text while COMMAND still finds the same bug in it.

    A bug is the code of a finding or fault together with the line at which it is; of programs
    other than visim, the exit code and their first complaint. What is left goes to OUT, what was
    kept to the standard error.
    """
    from visim.cli.files import check_target, read_text, write_text
    from visim.cli.reducing import reduced

    check_target(output, file)
    write_text(output, reduced(read_text(file), keep, seconds, jobs))


def _source_of(file: str) -> str | bytes | Path:
    """Return what `visim.opencl.build` takes for a file, after a look at what is in it."""
    from visim.cli.files import is_standard, name_of, read_bytes, source_code

    data = source_code(read_bytes(file), name_of(file))
    return data if is_standard(file) or isinstance(data, bytes) else Path(file)


def _write_object(program: Program, target: str, isa_version: str, *, as_json: bool) -> None:
    _write(program, program.to_object(isa_version=isa_version), target, as_json=as_json)


def _write(program: Program, data: bytes, target: str, *, as_json: bool) -> None:
    """Write a program's file and say which kernels it has."""
    from visim.cli.files import is_standard, write_bytes

    write_bytes(target, data)
    names = [kernel.name for kernel in program.kernels]
    compiler = program.compiler
    if as_json:
        made = {} if compiler is None else {"compiler": compiler}
        print_json({"file": target, "kernels": names, **made})
        return
    by = "" if compiler is None else f" (by {compiler})"
    text = f"{target}: {', '.join(names) or 'no kernels'}{by}"
    click.echo(visible(text), err=is_standard(target))


def _isa_name(file: str) -> str:
    return str(Path(file).with_suffix(".isa"))
