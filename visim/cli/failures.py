"""What the command line says and returns when something goes wrong.

Exit codes: 0 fine; 1 a broken or violating file, a fault, something unsupported; 2 wrong options
or arguments, or a missing file; 3 a tool is missing; 4 a bug in visim.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import suppress
from typing import Any

import click

from visim.diag import Diagnostic, visible
from visim.errors import (
    ArgumentError,
    FaultError,
    InputError,
    InternalError,
    LinkError,
    ToolMissing,
    UnsupportedError,
)

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
        case InputError() | LinkError() | FaultError() | UnsupportedError():
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


def report_failure(error: BaseException, *, as_json: bool) -> int:
    """Tell the user about `error` and return the exit code.

    Text goes to the standard error; JSON goes to the standard output, where the result would
    have gone.
    """
    code = exit_code(error)
    if code == BUG and os.environ.get("VISIM_DEBUG") == "1":
        traceback.print_exception(error, file=sys.stderr)
    if as_json:
        # Where the standard output is what fails, as on a full disk, text has to do.
        with suppress(OSError):
            click.echo(json.dumps(failure_to_dict(error), indent=2))
            return code
    if isinstance(error, click.ClickException):
        error.show()
        return code
    click.echo(visible(_text(error)), err=True)
    if isinstance(error, FaultError) and error.report is not None:
        click.echo(visible(f"\n{error.report}"), err=True)
    return code


def failure_to_dict(error: BaseException) -> dict[str, Any]:
    """Return `error` in the form that `--json` prints.

    Always an object with the key `error`: kind, message, exit_code and, where there are any,
    diagnostics. A fault adds the key `fault` beside the keys of the partial report.
    """
    described: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": _message(error),
        "exit_code": exit_code(error),
    }
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


def _message(error: BaseException) -> str:
    match error:
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
            return str(error)


def _text(error: BaseException) -> str:
    match error:
        case InputError() | LinkError() | FaultError():
            return str(error)
        case _ if exit_code(error) == BUG:
            return f"internal error: {_message(error)}"
        case _:
            return f"error: {_message(error)}"
