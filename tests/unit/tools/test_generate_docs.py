"""The generated pages are what the declarations say."""

from __future__ import annotations

import re

import pytest

from tools import generate_docs
from visim.isa import ISA


@pytest.mark.parametrize("path", generate_docs.pages(), ids=lambda path: path.name)
def test_a_page_is_current(path):
    assert path.read_text(encoding="utf-8") == generate_docs.pages()[path]


def test_checking_finds_a_stale_page_and_writing_mends_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate_docs, "DOCS", tmp_path)
    assert generate_docs.main(["--check"]) == 1
    assert "fidelity.md is not current" in capsys.readouterr().err
    assert generate_docs.main([]) == 0
    assert generate_docs.main(["--check"]) == 0


def test_an_instruction_is_shown_as_it_is_written_and_stored():
    add, fence = ISA.by_mnemonic("add"), ISA.by_mnemonic("fence_local")
    assert add is not None
    assert fence is not None
    assert generate_docs.syntax(add) == "[(P)] add[.sat] <exec> <dst> <src0> <src1>"
    assert generate_docs.binary(add) == "0x01 exec pred dst src0 src1"
    assert generate_docs.binary(fence) == "0x5c 0x20|options&0x5f"


def test_what_is_chosen_is_explained_in_the_notes():
    notes = (generate_docs.DOCS / "spec-notes.md").read_text(encoding="utf-8")
    headings = {line.removeprefix("## ") for line in re.findall(r"^## .+$", notes, re.MULTILINE)}
    worths = [worth for op in ISA.ops for worth in (op.exactness, op.float_exactness) if worth]
    assert {worth.choice for worth in worths if worth.choice} <= headings
