"""Files of what sanitizers found: a SARIF log for code hosts, a page for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from visim.cli.files import write_bytes
from visim.errors import ArgumentError
from visim.runtime.files.run_options import RunOptions
from visim.sanitize.logs import sarif
from visim.sanitize.page import page

if TYPE_CHECKING:
    from visim import Kernel, Report


def check_files_of_findings(options: RunOptions) -> None:
    """Refuse files that cannot be written, or that nobody would write.

    Raises:
        ArgumentError: one is wrong.
    """
    for name, file in (("sarif", options.sarif), ("html", options.html)):
        if file is not None and not Path(file).parent.is_dir():
            raise ArgumentError(f"--{name}: there is no folder for {file}")
        if file is not None and "sanitize" not in options.launch:
            raise ArgumentError(f"--{name} needs --sanitize: it writes what sanitizers find")


def write_findings(options: RunOptions, kernel: Kernel, report: Report) -> None:
    """Write what sanitizers found as files, where these are asked for."""
    if options.sarif is not None:
        log = sarif((kernel.name, finding) for finding in report.findings)
        write_bytes(options.sarif, json.dumps(log, indent=2).encode())
    if options.html is not None:
        files = {place.file for one in report.findings for place in one.places if place.file}
        texts = {file: kernel.source_file(file) or _visa_text(file) for file in files}
        sources = {file: text.splitlines() for file, text in texts.items()}
        write_bytes(options.html, page(kernel.name, report.findings, sources).encode())


def _visa_text(file: str) -> str:
    """Return the text of a file of vISA that was run as it is."""
    try:
        return Path(file).read_text("utf-8", "replace")
    except (OSError, ValueError):
        return ""
