"""Fuzzes one part of visim, guided by coverage (atheris; extra `fuzz`).

    python -m tools.fuzz text --seconds 1200

Targets are text, isa, zebin, verify, run, archive, debug and argument.

What is found is written to build/fuzz/TARGET; a finding (crash-..., timeout-..., oom-...) belongs,
made small, into tests/robustness/findings/TARGET once it is repaired. `python -m tools.fuzz.keep`
then keeps the few inputs that reach lines which no other does.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["visim"]):
    from tools.fuzz.seeds import ROOT, dictionary, seeds
    from tools.fuzz.targets import TARGETS

WORK = ROOT / "build" / "fuzz"
LONGEST = 65_536
SECONDS_EACH, MEGABYTES = 10, 1_500


def main() -> int:
    """Fuzz as the command line says; libFuzzer ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    chosen = parser.parse_args()
    folder = WORK / chosen.target
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    options = [f"-timeout={SECONDS_EACH}", f"-rss_limit_mb={MEGABYTES}", f"-max_len={LONGEST}"]
    _write_seeds(chosen.target, corpus)
    _write_dictionary(folder / "words")
    options += [f"-max_total_time={chosen.seconds}", f"-dict={folder / 'words'}"]
    options += [f"-artifact_prefix={folder}/", "-print_final_stats=1", str(corpus)]
    atheris.Setup([sys.argv[0], *options], TARGETS[chosen.target])
    atheris.Fuzz()
    return 0


def _write_seeds(target: str, corpus: Path) -> None:
    for data in seeds(target):
        (corpus / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)


def _write_dictionary(file: Path) -> None:
    lines = (f'"{word}"\n' for word in dictionary())
    file.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
