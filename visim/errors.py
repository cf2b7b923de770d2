"""The exceptions that reach users, grouped by who is at fault.

Below everything that raises; knows diagnostics only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from visim.diag import Diagnostic, Diagnostics, Origin, Severity

_LONGEST_SHOWN = 200


def shown(value: object) -> str:
    """Return what a caller gave as messages show it: its beginning, when it is very long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no integers of thousands of digits.
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


class VisimError(Exception):
    """Base of every error that visim raises on purpose."""


class _Diagnosed(VisimError):
    """An error that carries the findings that led to it; its text leaves out notes.

    A single finding can be given as its message, with its place, its code and what helps.
    """

    def __init__(
        self,
        diagnostics: Diagnostics | str,
        origin: Origin = None,
        *,
        code: str = "input",
        help: str | None = None,  # noqa: A002 - the diagnostic's field
    ) -> None:
        if isinstance(diagnostics, str):
            finding = Diagnostic(code, Severity.ERROR, diagnostics, origin, help=help)
            diagnostics = Diagnostics([finding])
        self.diagnostics = diagnostics
        super().__init__(diagnostics.without_notes().render())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by what made it, not by its message."""
        return type(self), (self.diagnostics,), self.__dict__


class InputError(_Diagnosed):
    """A file or text is not what it should be; `.diagnostics` has every finding."""


class LinkError(_Diagnosed):
    """Files are fine by themselves but do not fit together."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What mends a call or a command, where that is evident.

    `missing` are options that have to be given, each as its name in `Kernel.launch` (or "arg",
    "device", "kernel") and a value; `misspelt` are words and what was probably meant.
    """

    missing: tuple[tuple[str, str], ...] = ()
    misspelt: tuple[tuple[str, str], ...] = ()


class ArgumentError(VisimError):
    """A launch's argument or geometry is wrong; the message names the argument.

    `correction` says what mends it, None where that is not evident.
    """

    def __init__(self, message: str = "", correction: Correction | None = None) -> None:
        super().__init__(message)
        self.correction = correction


class UnsupportedError(VisimError):
    """What was asked for is not in this build of visim."""


class ToolMissing(VisimError):
    """An outside tool is not installed; the message says which package has it."""


class InstallError(VisimError):
    """A toolchain could not be installed or removed; nothing was changed."""


class InternalError(VisimError):
    """A bug in visim."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Where and why a run stopped; a field is None where it does not apply.

    `address` is a byte address (flat memory) or offset (surface, SLM, scratch), `size` the
    bytes of the access, `buffer` the nearest argument's name and `distance` the bytes from it.
    `file` and `line` are those of the vISA text; of an object, `offset` is the byte. The source
    file, line and text are those of the program that was translated, where FILE and LOC give them.
    """

    category: str
    code: str
    message: str
    kernel: str | None = None
    group: tuple[int, int, int] | None = None
    thread: int | None = None
    channel: int | None = None
    instruction: str | None = None
    file: str | None = None
    line: int | None = None
    address: int | None = None
    size: int | None = None
    buffer: str | None = None
    distance: int | None = None
    offset: int | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_text: str | None = None

    @property
    def source(self) -> str | None:
        """The line of the translated program, such as `scale.cl:3`."""
        return None if self.source_line is None else f"{self.source_file}:{self.source_line}"

    @property
    def place(self) -> str:
        """Where it is, in one line."""
        known = (
            ("kernel", self.kernel),
            ("group", self.group),
            ("thread", self.thread),
            ("line", self.line),
            ("byte", self.offset),
            ("source", self.source),
        )
        parts = [f"{name} {value}" for name, value in known if value is not None]
        return ", ".join(parts) + (f": {self.instruction}" if self.instruction else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the fault in the form that `--json` prints."""
        return asdict(self)

    def render(self) -> str:
        """Return the fault as text, one fact a line."""
        lines = [f"fault[{self.category}/{self.code}]: {self.message}"]
        if self.file is not None and self.line is not None:
            lines.append(f"  --> {self.file}:{self.line}")
        elif self.file is not None and self.offset is not None:
            lines.append(f"  --> {self.file}, byte {self.offset}")
        if self.instruction:
            lines.append(f"   | {self.instruction}")
        place = [
            f"{name} {value}"
            for name, value in (
                ("kernel", self.kernel),
                ("group", self.group),
                ("thread", self.thread),
                ("channel", self.channel),
            )
            if value is not None
        ]
        if place:
            lines.append("   = in " + ", ".join(place))
        if self.source:
            lines.append(f"   = from {self.source}")
        if self.source_text:
            lines.append(f"   | {self.source_text}")
        return "\n".join(lines)


class FaultError(VisimError):
    """A run stopped; `.fault` says where and why, `.report` is the partial report."""

    def __init__(self, fault: Fault, report: Any = None) -> None:
        self.fault = fault
        self.report = report
        super().__init__(fault.render())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by what made it, not by its message."""
        return type(self), (self.fault, self.report), self.__dict__
