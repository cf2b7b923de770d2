"""Intel's offline compiler GenX_IR as an oracle: does it make the same of a text and its object?

Run `python -m tools.genx [--isa-version 3.4] [NAME...]` to compare all pairs of the corpus, or
those whose names contain a NAME. Exits with 1 if one differs that is not known to.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tests.corpus.pairs import Dump, dumps
from visim.binary.isafile import write_isa
from visim.diag import Source
from visim.errors import InputError
from visim.isa.sampler import Gathered, Sampled, Unsampled
from visim.module import Module, Unit
from visim.target import COMMON, object_version, platform
from visim.text import read_text

PROGRAM = "GenX_IR"
_SECONDS = 60
_DUMP = "out.visaasm"
_NON_UNIFORM = "divS"

#: Texts that GenX_IR refuses: their devices have no DPAS.
REFUSED = frozenset(f"{device}/k16_dpas/simd8_entry_0001" for device in ("icllp", "skl", "tgllp"))
#: Sampler messages whose bit for samplers that differ between channels (10 of the operation)
#: GenX_IR takes the other way round from objects than from texts; with the bit set the code of the
#: object is the same.
TURNED = frozenset(f"{device}/k05_image/simd32_entry_0001" for device in ("dg2", "tgllp"))


class Outcome(StrEnum):
    """What became of a text and its object."""

    SAME = "same code"
    TURNED = "same code with the sampler bit turned"
    DIFFERENT = "different code"
    NO_PLACE = "no place in this version"
    REFUSED = "refused by GenX_IR"


@dataclass(frozen=True, slots=True)
class Compiled:
    """What GenX_IR made of a file, None where it made nothing, and what it said.

    `code` is Gen code, `dump` the text that it prints, `complaints` its file of errors; its
    `returncode` is 0 for some errors, and negative where it crashed.
    """

    code: bytes | None
    output: str
    returncode: int
    complaints: str | None
    dump: str | None


def is_installed() -> bool:
    """Whether GenX_IR can be run."""
    return shutil.which(PROGRAM) is not None


def compile_file(
    content: bytes,
    suffix: str,
    device: str,
    *,
    options: Sequence[str] = ("-binary", "-output"),
    seconds: float = _SECONDS,
) -> Compiled:
    """Return what GenX_IR makes of a .visaasm or .isa file for a device.

    Raises:
        TimeoutExpired: it takes more than `seconds`.
    """
    with tempfile.TemporaryDirectory(prefix="visim-genx-") as folder:
        source = Path(folder) / f"k{suffix}"
        source.write_bytes(content)
        words = [PROGRAM, source.name, "-platform", device.upper(), *options]
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=seconds, check=False)
        made = [path for path in Path(folder).iterdir() if path.name.endswith(".dat")]
        code = made[0].read_bytes() if done.returncode == 0 and len(made) == 1 else None
        said = (done.stdout + done.stderr).decode(errors="replace")
        complaints = _text(Path(folder) / f"{source.stem}.errors.txt")
        return Compiled(code, said, done.returncode, complaints, _text(Path(folder) / _DUMP))


def _text(path: Path) -> str | None:
    """Return what a file holds, None if there is none."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else None


def whole_texts() -> Iterator[tuple[Dump, str]]:
    """Yield each kernel of the corpus with its text and that of the function that it calls."""
    functions = {dump.name.rpartition("_f")[0]: dump for dump in dumps() if dump.object is None}
    for dump in dumps():
        if dump.object is not None:
            function = functions.get(dump.name)
            tail = function.text.split("\n", 1)[1] if function else ""
            yield dump, dump.text + tail


def compare(dump: Dump, text: str, version: tuple[int, int]) -> Outcome:
    """Compare the code that GenX_IR makes of a text and of the object that visim assembles."""
    wanted = compile_file(text.encode(), ".visaasm", dump.device).code
    if wanted is None:
        return Outcome.REFUSED
    module, device = read_text(Source(dump.name, text)), platform(dump.device)
    try:
        data = write_isa(module, platform=device, version=version)
        turned = write_isa(_turned(module), platform=device, version=version)
    except InputError:
        return Outcome.NO_PLACE
    if compile_file(data, ".isa", dump.device).code == wanted:
        return Outcome.SAME
    if compile_file(turned, ".isa", dump.device).code == wanted:
        return Outcome.TURNED
    return Outcome.DIFFERENT


def expected(dump: Dump) -> Outcome:
    """Return what is known to become of a kernel in objects of version 4.1."""
    if dump.name in REFUSED:
        return Outcome.REFUSED
    return Outcome.TURNED if dump.name in TURNED else Outcome.SAME


def _turned(module: Module) -> Module:
    return replace(module, units=tuple(_turned_unit(unit) for unit in module.units))


def _turned_unit(unit: Unit) -> Unit:
    body = (
        replace(item, options=(*item.options, _NON_UNIFORM))
        if isinstance(item, Sampled | Unsampled | Gathered)
        else item
        for item in unit.body
    )
    return replace(unit, body=tuple(body))


def main() -> int:
    """Compare and report; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare the code of texts and of their objects.")
    parser.add_argument("names", nargs="*", help="parts of names; all if none is given")
    parser.add_argument("--isa-version", default=COMMON, help="version of the objects")
    options = parser.parse_args()
    if not is_installed():
        print(f"{PROGRAM} is not installed (Debian: intel-opencl-icd, package libigc-tools)")
        return 3
    version = object_version(options.isa_version)
    counts = dict.fromkeys(Outcome, 0)
    failed = False
    for dump, text in whole_texts():
        if options.names and not any(name in dump.name for name in options.names):
            continue
        outcome = compare(dump, text, version)
        counts[outcome] += 1
        if outcome not in {expected(dump), Outcome.SAME, Outcome.NO_PLACE}:
            failed = True
            print(f"{dump.name}: {outcome}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
