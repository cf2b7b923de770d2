"""The generated pages are what the declarations say."""

from __future__ import annotations

from tools import generate_docs, instruction_pages
from visim.isa import ISA


def test_pages_are_current():
    pages = generate_docs.pages()
    assert {path: path.read_text(encoding="utf-8") for path in pages} == pages


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
    assert instruction_pages.syntax(add) == "[(P)] add[.sat] <exec> <dst> <src0> <src1>"
    assert instruction_pages.binary(add) == "0x01 exec pred dst src0 src1"
    assert instruction_pages.stored(add) == "exec ub, pred uw, dst vector, src0 vector, src1 vector"
    assert instruction_pages.binary(fence) == "0x5c 0x20|options&0x5f"


def test_what_is_chosen_is_explained_in_the_notes():
    worths = [worth for op in ISA.ops for worth in (op.exactness, op.float_exactness) if worth]
    chosen = [worth for worth in worths if worth.choice]
    assert chosen
    for worth in chosen:
        page = worth.link.partition("#")[0].removeprefix("docs/")
        notes = (generate_docs.DOCS / page).read_text(encoding="utf-8")
        assert f"\n## {worth.choice}\n" in notes, worth.link
