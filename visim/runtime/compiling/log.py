"""The compiler's log as diagnostics that point into the user's sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from visim.diag import Diagnostic, Severity, Source, Span
from visim.linker.extensions import how_to_have

_PLACED = re.compile(r"(.+?):(\d+):(\d+): (fatal error|error|warning|note): (.*)")
_UNPLACED = re.compile(r"(?:fatal )?error: (.*)")
_KERNEL = re.compile(r"in (?:kernel|function): '(?:.*' called by kernel: ')?(.*)'")
_LACKING = re.compile(r"(?:undefined reference to|Unsupported call to) `?([\w.]+)")
_SEVERITY = {"warning": Severity.WARNING, "note": Severity.NOTE}
_CODES = {
    Severity.ERROR: "opencl-build",
    Severity.WARNING: "opencl-warning",
    Severity.NOTE: "opencl-note",
}
_OURS = ("Command was: ", "Build failed with error code")
"""What the log says of visim's own command, which is not the user's."""
_LONGEST = 20_000
"""So many characters of a log without findings are shown."""


class Log:
    """Turns the log of a failed build into findings."""

    def __init__(self, log: str, name: str, sources: Mapping[str, Source]) -> None:
        """Take the log of the program `name`, and its texts by the names that the log has."""
        self._log = log
        self._sources: dict[str, Source | None] = dict(sources)
        self._name = name

    def findings(self) -> Iterator[Diagnostic]:
        """Yield the compiler's findings; where it names none, one finding with the whole log."""
        found = [finding for line in self._log.splitlines() if (finding := self._placed(line))]
        found += self._unplaced()
        if any(finding.severity is Severity.ERROR for finding in found):
            yield from found
            return
        lines = [line for line in self._log.splitlines() if not line.startswith(_OURS)]
        log = "\n".join(lines).strip() or "it says nothing about why"
        message = f"the OpenCL build of {self._name} failed: {_shortened(log)}"
        yield Diagnostic("opencl-build", Severity.ERROR, message)
        yield from found

    def warnings(self) -> Iterator[Diagnostic]:
        """Yield what the compiler says of a program that it has compiled."""
        placed = (self._placed(line) for line in self._log.splitlines())
        yield from (finding for finding in placed if finding is not None)

    def _placed(self, line: str) -> Diagnostic | None:
        match = _PLACED.fullmatch(line)
        if match is None:
            return None
        file, row, column, kind, message = match.groups()
        severity = _SEVERITY.get(kind, Severity.ERROR)
        code = _CODES[severity]
        source = self._source(file)
        if source is None:
            return Diagnostic(code, severity, f"{message} ({file}:{row}:{column})")
        span = Span(source, int(row), _characters(source.line(int(row)), int(column)))
        return Diagnostic(code, severity, message, span)

    def _unplaced(self) -> list[Diagnostic]:
        """Return what the code generator complains of; it knows kernels and no lines.

        Of inline vISA assembly it says what is wrong in a line of its own.
        """
        complaints: list[str] = []
        for line in self._log.splitlines():
            if match := _UNPLACED.fullmatch(line):
                complaints.append(match[1])
            elif complaints and (match := _KERNEL.fullmatch(line)):
                complaints[-1] += f" (kernel {match[1]!r})"
            elif complaints and complaints[-1].endswith(":"):
                complaints[-1] += f" {line.strip()}"
        telling = [text for text in complaints if text != "backend compiler failed build."]
        return [
            Diagnostic(
                "opencl-build", Severity.ERROR, f"{self._name}: {text}", help=_help_for(text)
            )
            for text in dict.fromkeys(telling)
        ]

    def _source(self, file: str) -> Source | None:
        """Return the text of a file that the log names, or None where it cannot be read."""
        if file not in self._sources:
            try:
                text = (
                    Path(file).read_text("utf-8", "replace") if Path(file).is_absolute() else None
                )
            except (OSError, ValueError):
                text = None
            self._sources[file] = Source(file, text) if text is not None else None
        return self._sources[file]


def _help_for(complaint: str) -> str | None:
    """Return what to do where a built-in function is declared and not there."""
    match = _LACKING.match(complaint)
    return how_to_have(match[1]) if match else None


def _shortened(log: str) -> str:
    """Return a log as messages have it: of a long one the beginning and the end."""
    if len(log) <= _LONGEST:
        return log
    half = _LONGEST // 2
    return f"{log[:half]}\n... {len(log) - 2 * half} more characters ...\n{log[-half:]}"


def _characters(line: str, column: int) -> int:
    """Turn the compiler's column, which counts bytes, into one that counts characters."""
    before = line.encode()[: column - 1]
    return len(before.decode("utf-8", "ignore")) + 1
