"""What the command line says and returns when something goes wrong.

Exit codes: 0 fine; 1 a broken or violating file, a fault, something unsupported; 2 wrong options
or arguments, or a missing file; 3 a tool is missing; 4 a bug in visim.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from visim.cli.colours import coloured
from visim.cli.conventions import print_json
from visim.cli.corrections import corrected
from visim.cli.wording import in_options
from visim.diag import Diagnostic, visible
from visim.errors import (
    ArgumentError,
    FaultError,
    InputError,
    InstallError,
    InternalError,
    LinkError,
    ToolMissing,
    UnsupportedError,
)
from visim.lex import nearest

BROKEN = 1
WRONG_USE = 2
TOOL_MISSING = 3
BUG = 4
INTERRUPTED = 130

_BUG_TEXT = (
    "this is a bug in visim; please report it with the command and the files that led to it"
    " (VISIM_DEBUG=1 shows the traceback)"
)


def exit_code(error: BaseException) -> int:
    """Return the exit code for `error`."""
    match error:
        case InputError() | LinkError() | FaultError() | UnsupportedError() | InstallError():
            return BROKEN
        case click.ClickException() | ArgumentError():
            return WRONG_USE
        case OSError():
            return WRONG_USE
        case ToolMissing():
            return TOOL_MISSING
        case KeyboardInterrupt():
            return INTERRUPTED
        case _:
            return BUG


def report_failure(error: BaseException, words: Sequence[str]) -> int:
    """Tell the user about `error` and return the exit code.

    Text goes to the standard error; with --json among the words of the command, an object goes to
    the standard output, where the result would have gone.
    """
    as_json = not {"--json", "--json-arrays"}.isdisjoint(words)
    code = exit_code(error)
    if code == BUG and os.environ.get("VISIM_DEBUG") == "1":
        traceback.print_exception(error, file=sys.stderr)
    if as_json:
        # Where the standard output is what fails, as on a full disk, text has to do.
        with suppress(OSError):
            print_json(failure_to_dict(error, words))
            return code
    click.echo(coloured(visible(_text(error, words))), err=True)
    correction = corrected(words, error)
    if correction is not None:
        click.echo(coloured(visible(f"  try: {correction}")), err=True)
    if isinstance(error, FaultError) and error.report is not None:
        click.echo(visible(in_options(f"\n{error.report}")), err=True)
    return code


def failure_to_dict(error: BaseException, words: Sequence[str]) -> dict[str, Any]:
    """Return `error` in the form that `--json` prints.

    Always an object with the key `error`: kind, message, exit_code and, where there are any,
    diagnostics and a corrected command. A fault adds the key `fault` beside the keys of the
    partial report.
    """
    described: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": _message(error, words),
        "exit_code": exit_code(error),
    }
    correction = corrected(words, error)
    if correction is not None:
        described["correction"] = correction
    result: dict[str, Any] = {}
    if isinstance(error, (InputError, LinkError)):
        described["diagnostics"] = [finding.to_dict() for finding in error.diagnostics]
    if isinstance(error, FaultError):
        if error.report is not None:
            result |= error.report.to_dict()
        result["fault"] = error.fault.to_dict()
    return result | {"error": described}


def diagnostic_to_dict(finding: Diagnostic) -> dict[str, str | int | None]:
    """Return a finding of `check` in its documented form, which names the file elsewhere."""
    form = finding.to_dict()
    del form["file"]
    return form


def _message(error: BaseException, words: Sequence[str] = ()) -> str:
    match error:
        case click.UsageError():
            return _usage(error, words)
        case click.ClickException():
            return error.format_message()
        case OSError(strerror=str() as reason, filename=str() as file):
            return f"{file}: {reason}"
        case OSError(strerror=str() as reason):
            return reason
        case KeyboardInterrupt():
            return "; ".join(getattr(error, "__notes__", ["interrupted"]))
        case InternalError():
            return f"{error}; {_BUG_TEXT}"
        case _ if exit_code(error) == BUG:
            return f"{type(error).__name__}: {error}; {_BUG_TEXT}"
        case _:
            return in_options(str(error))


def _usage(error: click.UsageError, words: Sequence[str]) -> str:
    """Return what is wrong with a command, and where it says how it is right."""
    if isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        return f"{error.param.opts[0]} is missing: {(error.param.help or '').rstrip('.')}"
    path = error.ctx.command_path if error.ctx is not None else _path_of(words)
    if isinstance(error, click.NoSuchOption):
        near = nearest(error.option_name, error.possibilities or ())
        hint = f"did you mean {near}?" if near else f"{path} --help lists all"
        return f"there is no option {error.option_name}; {hint}"
    unknown = _NO_COMMAND.match(error.message)
    if unknown is not None and error.ctx is not None and isinstance(error.ctx.command, click.Group):
        return _unknown_command(unknown[1], error.ctx.command, path)
    message = _of_parameter(error, path).rstrip(".")
    message = message[:1].lower() + message[1:]
    return message if "?" in message else f"{message}; {path} --help says what it takes"


_NO_COMMAND = re.compile(r"No such command '(.*?)'")


def _unknown_command(word: str, group: click.Group, path: str) -> str:
    """Return that a verb such as `toolchain` has no such part, and which one was meant."""
    near, known = nearest(word, group.commands), ", ".join(group.commands)
    meant = f"did you mean {path} {near}?" if near else f"there are: {known}"
    return f"there is no {path} {word}; {meant}"


def _path_of(words: Sequence[str]) -> str:
    """Return the verb of a command, for errors that do not know it."""
    return f"visim {words[0]}" if words and not words[0].startswith("-") else "visim"


def _of_parameter(error: click.UsageError, path: str) -> str:
    """Return what is wrong with a parameter, by the name that it has on the command line."""
    match error:
        case click.MissingParameter(param=click.Argument() as argument):
            return f"{path} needs {argument.human_readable_name}"
        case click.BadOptionUsage(option_name=str() as name):
            return f"{name} {'takes no' if 'not take' in error.message else 'needs a'} value"
        case click.UsageError(message="Missing command.", ctx=click.Context(command=group)):
            assert isinstance(group, click.Group)
            return f"{path} needs one of: {', '.join(group.commands)}"
        case click.BadParameter(param=click.Option() as option):
            return f"{option.opts[0]}: {_in_plain_words(error.message)}"
        case click.BadParameter():
            return _in_plain_words(error.message)
        case _:
            return error.format_message()


_PLAIN = (
    (re.compile(r"('.*') is not a valid integer(?: range)?"), r"expected an integer, found \1"),
    (re.compile(r"('.*') is not a valid float(?: range)?"), r"expected a number, found \1"),
    (re.compile(r"(\S+) is not in the range (\d+)<=x<=(\d+)"), r"expected \2 to \3, found \1"),
    (re.compile(r"(\S+) is not in the range x>=(\d+)"), r"expected \2 or more, found \1"),
    (re.compile(r"('.*') is not one of (.*)"), r"expected one of \2, found \1"),
    (re.compile(r"File '(.*)' is a directory"), r"\1 is a folder, expected a file"),
    (re.compile(r"File '(.*)' does not exist"), r"there is no file \1"),
    (re.compile(r"Path '(.*)' does not exist"), r"there is no file or folder \1"),
)
"""What click says of values, and how visim says it."""


def _in_plain_words(message: str) -> str:
    for pattern, words in _PLAIN:
        found = pattern.fullmatch(message.rstrip("."))
        if found is not None:
            return found.expand(words)
    return message


def _text(error: BaseException, words: Sequence[str]) -> str:
    match error:
        case InputError() | LinkError() | FaultError():
            return str(error)
        case _ if exit_code(error) == BUG:
            return f"internal error: {_message(error)}"
        case _:
            return f"error: {_message(error, words)}"
