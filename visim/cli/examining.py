"""The verbs that say how things are: check, info, doctor and cache."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from visim.cli import failures
from visim.cli.colours import coloured
from visim.cli.conventions import (
    INPUT,
    json_option,
    options_option,
    platform_option,
    print_json,
    strict_option,
)
from visim.errors import ArgumentError

if TYPE_CHECKING:
    from visim.diag import Diagnostics


@click.command()
@click.argument("files", nargs=-1, type=INPUT, metavar="FILE...")
@platform_option
@click.option("--explain", metavar="CODE", help="Explain a finding or fault; needs no file.")
@click.option("--notes", "with_notes", is_flag=True, help="Show notes, too.")
@click.option("--sarif", "as_sarif", is_flag=True, help="Print a SARIF log for code hosts.")
@strict_option
@json_option
@click.pass_context
def check(
    context: click.Context,
    files: tuple[str, ...],
    platform: str | None,
    explain: str | None,
    *,
    with_notes: bool,
    as_sarif: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Verify files.

    Exits with 1 if there is an error in one of them; warnings are shown only. Notes, which say
    where compilers do otherwise than the specification, are counted.
    """
    import visim
    from visim.cli.files import read_source

    if as_sarif and as_json:
        raise click.UsageError("--json and --sarif exclude each other: give one of them")
    if explain is not None:
        text = _explanation(explain)
        if as_json:
            print_json({"rule": explain, "explanation": text})
        else:
            click.echo(text)
        return
    if not files:
        raise click.UsageError("visim check needs FILE...")
    verify = partial(visim.verify, strict=True) if strict else visim.verify
    found = {file: verify(read_source(file), platform=platform) for file in dict.fromkeys(files)}
    if as_sarif:
        from visim.cli.sarif import sarif

        print_json(sarif(found))
    elif as_json:
        print_json({"files": [_checked_to_dict(*item) for item in found.items()]})
    else:
        for file, findings in found.items():
            click.echo(_checked_text(file, findings, with_notes=with_notes))
    if any(findings.errors for findings in found.values()):
        context.exit(failures.BROKEN)


@click.command()
@click.argument("file", type=INPUT, required=False)
@click.option("--debug", is_flag=True, help="Show debug information instead.")
@platform_option
@options_option
@click.option("--instructions", is_flag=True, help="List all instructions; needs no file.")
@json_option
def info(
    file: str | None,
    platform: str | None,
    options: str | None,
    *,
    debug: bool,
    instructions: bool,
    as_json: bool,
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
        raise click.UsageError("visim info needs FILE")
    from visim.cli.files import load_program

    if debug:
        from visim.cli.debuginfo import debug_facts, show_debug_facts

        found = debug_facts(file, platform)
        if as_json:
            print_json(found)
        else:
            show_debug_facts(found)
        return
    facts = load_program(file, platform, options=options).info()
    if as_json:
        print_json(facts)
        return
    from visim.cli.info import show_info

    show_info(facts)


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Say what this machine has and what is missing.

    Where Intel's driver is there, a saxpy runs on an emulated GPU, by OpenCL and by Level Zero.
    Exits with 1 if visim itself cannot work; missing tools are no failure.
    """
    from visim.device.doctor import examine_driver
    from visim.runtime.doctor import State, examine

    findings = (*examine(), *examine_driver())
    if as_json:
        print_json({"findings": [finding.to_dict() for finding in findings]})
    else:
        from visim.cli.info import show_findings

        show_findings(findings)
    if any(finding.state is State.BROKEN for finding in findings):
        context.exit(failures.BROKEN)


@click.command()
@click.option("--clear", is_flag=True, help="Remove what is there.")
@json_option
def cache(*, clear: bool, as_json: bool) -> None:
    """Show or clear the compiled kernels that are kept on disk."""
    from visim.engine.jit.common.cache import MOST_BYTES, ObjectCache, default_folder

    found = ObjectCache(default_folder())
    removed = found.clear() if clear else 0
    contents = found.contents()
    if as_json:
        folder = None if contents.folder is None else str(contents.folder)
        numbers = {"entries": contents.entries, "bytes": contents.bytes, "removed": removed}
        print_json({"folder": folder, "limit": MOST_BYTES, **numbers})
        return
    if contents.folder is None:
        click.echo("off: VISIM_CACHE_DIR is empty")
        return
    if clear:
        click.echo(f"removed {removed} compiled kernels")
    megabytes = contents.bytes / 1e6
    click.echo(f"{contents.folder}: {contents.entries} compiled kernels, {megabytes:.1f} MB")


def _show_instructions(*, as_json: bool) -> None:
    from visim.runtime.facts.coverage import coverage

    if as_json:
        print_json({"instructions": [entry.to_dict() for entry in coverage()]})
        return
    from visim.cli.info import show_instructions

    show_instructions(coverage())


def _explanation(code: str) -> str:
    """Return what a rule, a fault or a sanitizer's finding means."""
    from visim.check.catalogue import BY_CODE, find_rule, near_codes
    from visim.check.explain import explain
    from visim.sanitize.kinds import KINDS

    kind = KINDS.get(code)
    if kind is not None:
        found_by = f"{str(kind.severity).capitalize()}. Found by sanitize={kind.detector!r}."
        return f"## {kind.name}\n\n{found_by}\n\n{kind.sentence}: {kind.advice}"
    if code.rpartition("/")[2] not in BY_CODE:
        hint = near_codes(code, (*BY_CODE, *KINDS))
        raise ArgumentError(f"there is no rule, fault or finding {code!r}; {hint}")
    return explain(find_rule(code))


def _checked_text(file: str, findings: Diagnostics, *, with_notes: bool) -> str:
    from visim.cli.files import name_of

    name = name_of(file)
    shown = findings if with_notes else findings.without_notes()
    hidden = len(findings) - len(shown)
    count = f"{hidden} note{'s'[: hidden > 1]}, --notes shows " + ("them" if hidden > 1 else "it")
    if not len(shown):
        return f"{name}: fine" + (f" ({count})" if hidden else "")
    return coloured(shown.render()) + "\n" + (f"\n{name}: {count}\n" if hidden else "")


def _checked_to_dict(file: str, findings: Diagnostics) -> dict[str, Any]:
    from visim.cli.files import name_of

    described = [failures.diagnostic_to_dict(finding) for finding in findings]
    return {"file": name_of(file), "diagnostics": described}
