"""Judges the mutated texts of tests/mutations with visim and with Intel's verifier.

    python -m tools.judge_mutations     write tests/mutations/mutations.json and docs/verifier.md

Needs GenX_IR (Debian: libigc-tools). The page is made from the stored verdicts.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.mutations.mutate import mutations
from tests.mutations.peer import CRASH, PROGRAM, verdict
from tests.mutations.stored import Judged, judge, stored, texts, write
from tools import rule_pages
from visim.check.catalogue import BY_CODE

SEED, EACH = 1, 12
PAGE = Path(__file__).parents[1] / "docs" / "verifier.md"

PEER_IS_RIGHT = {
    re.compile(CRASH): "a crash of the peer: no verdict on the text",
    re.compile(
        r"only D32 and D64 support vector"
    ): "a fact of devices; visim warns (lsc-vector-data)",
    re.compile(
        r"undefined surface variable"
    ): "T0 is %slm in the page, GenX_IR wants that spelling",
    re.compile(r"rndd only supports single float"): "devices round other floats too",
}
"""What only the peer rejects, and why visim does not."""


def main() -> int:
    """Judge, and write file and page; returns the exit code."""
    if PROGRAM is None:
        sys.stderr.write("GenX_IR is not installed (apt install libigc-tools)\n")
        return 1
    entries: list[Judged] = []
    for mutation in mutations(SEED, EACH):
        device, text = texts()[mutation.base]
        found, warned = judge(mutation)
        peer = verdict(mutation.apply(text), device)
        entries.append(Judged(mutation, device, found, warned, peer))
    write(entries)
    stored.cache_clear()
    PAGE.write_text(page(entries), encoding="utf-8")
    return 0


def page(entries: Sequence[Judged]) -> str:
    """Return the text of docs/verifier.md."""
    return "\n".join(_page(entries)) + "\n"


def _page(entries: Sequence[Judged]) -> Iterator[str]:
    yield "# The verifier against Intel's"
    yield ""
    yield "<!-- Made by `python -m tools.judge_mutations`; change the tool instead. -->"
    yield ""
    yield f"{len(entries)} texts: kernels that Intel's compiler wrote, each with one change"
    yield f"(seed {SEED}, kept in tests/mutations/mutations.json). The peer is the verifier inside"
    yield "GenX_IR 1.0.12504. On the compiler's own texts, unchanged, visim has no error, but for"
    yield "matrix instructions on devices that have none, which the peer refuses as well."
    yield ""
    yield "| | peer accepts | peer rejects |"
    yield "| --- | ---: | ---: |"
    counts = Counter((entry.found is None, entry.peer is None) for entry in entries)
    yield f"| visim accepts | {counts[True, True]} | {counts[True, False]} |"
    yield f"| visim rejects | {counts[False, True]} | {counts[False, False]} |"
    yield ""
    yield "## Only visim rejects"
    yield ""
    yield "| rule | passage | texts | one of them |"
    yield "| --- | --- | ---: | --- |"
    yield from _only_visim(entry for entry in entries if entry.found and not entry.peer)
    yield ""
    yield "## Only the peer rejects"
    yield ""
    yield "| what it says | texts | why visim does not |"
    yield "| --- | ---: | --- |"
    yield from _only_peer(entry for entry in entries if entry.peer and not entry.found)


def _only_visim(entries: Iterable[Judged]) -> Iterator[str]:
    by_code: dict[str, list[Judged]] = {}
    for entry in entries:
        if entry.found:
            by_code.setdefault(entry.found[0], []).append(entry)
    for code, group in sorted(by_code.items()):
        rule = BY_CODE.get(code)
        message = group[0].found[1] if group[0].found else ""
        linked = rule_pages.link(code) if rule else code
        yield f"| {linked} | {rule.passage if rule else ''} | {len(group)} | {message} |"


def _only_peer(entries: Iterable[Judged]) -> Iterator[str]:
    said = Counter(entry.peer for entry in entries if entry.peer)
    for message, count in sorted(said.items()):
        reasons = [why for pattern, why in PEER_IS_RIGHT.items() if pattern.search(message)]
        yield f"| {message} | {count} | {reasons[0] if reasons else ''} |"


if __name__ == "__main__":
    sys.exit(main())
