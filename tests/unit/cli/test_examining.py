"""The verbs that say how things are (visim.cli.examining)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import visim
from tests.unit.cli.stand_ins import StandInProgram
from visim.cli import main
from visim.diag import Diagnostic, Diagnostics, Severity
from visim.runtime import doctor
from visim.runtime.compiling.compilers import Unusable
from visim.runtime.compiling.worker import INSTALL_HINT

CORPUS = Path(__file__).parents[2] / "corpus"


class TestInfo:
    def test_tables_show_arguments_and_opcodes(self, file, capsys):
        assert main(["info", file]) == 0
        out = capsys.readouterr().out
        assert "format zebin, version 4.1, platform pvc" in out
        assert "kernel scale: SIMD16, 64 bytes of SLM, 1 barriers, 5 instructions" in out
        assert "float*" in out
        assert "opcodes: mov 4, add 1" in out
        assert "not executable: dpas (line 7): none yet" in out
        assert "functions: helper" in out

    def test_json_is_what_the_program_says(self, file, capsys):
        assert main(["info", file, "--json"]) == 0
        form = json.loads(capsys.readouterr().out)
        assert form == {"schema_version": 1, **StandInProgram(()).info()}


class TestCheck:
    @pytest.fixture
    def findings(self, monkeypatch):
        findings = Diagnostics()
        monkeypatch.setattr(visim, "verify", lambda source, *, platform=None: findings)
        return findings

    def test_a_file_without_findings_is_fine(self, file, findings, capsys):
        assert main(["check", file]) == 0
        assert capsys.readouterr().out == f"{file}: fine\n"

    def test_an_error_is_1(self, file, findings, capsys):
        findings.error("bad-thing", "something is bad", help="do better")
        assert main(["check", file]) == 1
        assert "error[bad-thing]: something is bad" in capsys.readouterr().out

    def test_notes_are_counted_and_shown_when_asked_for(self, file, findings, capsys):
        findings.add(Diagnostic("page-types", Severity.NOTE, "the page has other types"))
        assert main(["check", file]) == 0
        assert capsys.readouterr().out == f"{file}: fine (1 note, --notes shows it)\n"
        findings.add(Diagnostic("region-span", Severity.NOTE, "dst spans 4 registers"))
        findings.error("bad-thing", "something is bad")
        assert main(["check", file]) == 1
        said = capsys.readouterr().out
        assert said.startswith("error[bad-thing]: something is bad\n\n")
        assert said.endswith(f"{file}: 2 notes, --notes shows them\n\n")
        assert "region-span" not in said
        assert main(["check", "--notes", file]) == 1
        assert "note[region-span]: dst spans 4 registers" in capsys.readouterr().out

    def test_what_a_compiler_wrote_is_fine(self, capsys):
        assert main(["check", str(CORPUS / "scale_skl.zebin")]) == 0
        assert capsys.readouterr().out.startswith(f"{CORPUS / 'scale_skl.zebin'}: fine")

    def test_json_lists_the_findings_by_file(self, file, findings, capsys):
        findings.error("bad-thing", "something is bad", help="do better")
        assert main(["check", file, "--json"]) == 1
        assert json.loads(capsys.readouterr().out) == {
            "schema_version": 1,
            "files": [
                {
                    "file": file,
                    "diagnostics": [
                        {
                            "code": "bad-thing",
                            "severity": "error",
                            "message": "something is bad",
                            "line": None,
                            "column": None,
                            "offset": None,
                            "help": "do better",
                            "rule": None,
                        }
                    ],
                }
            ],
        }


class TestDoctor:
    def test_it_names_what_is_there_and_what_is_missing(self, capsys, monkeypatch):
        monkeypatch.setenv("PATH", "/nowhere")
        assert main(["doctor"]) == 0
        out = capsys.readouterr().out
        assert "numpy" in out
        assert "oclgrind: apt-get install oclgrind" in out

    def test_a_missing_compiler_is_no_failure(self, capsys, monkeypatch):
        monkeypatch.setattr(doctor, "survey", lambda: ())
        assert main(["doctor"]) == 0
        assert f"ocloc: {INSTALL_HINT}" in capsys.readouterr().out

    def test_each_compiler_is_shown_with_what_is_wrong_with_it(self, capsys, monkeypatch):
        lost = Unusable("/x/libocloc.so", "VISIM_LIBOCLOC", "/x/libocloc.so: not there")
        monkeypatch.setattr(doctor, "survey", lambda: (lost,))
        assert main(["doctor", "--json"]) == 0
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert [f["detail"] for f in findings if f["name"] == "ocloc"] == [lost.problem]

    def test_json_has_the_findings(self, capsys):
        main(["doctor", "--json"])
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert {"name", "state", "detail", "purpose", "help"} == set(findings[0])


class TestCheckOptions:
    def test_a_rule_is_explained_with_its_examples(self, capsys):
        assert main(["check", "--explain", "mask-unaligned"]) == 0
        said = capsys.readouterr().out
        assert "mov (M2, 16)" in said
        assert "vISA 3, Execution Mask" in said

    def test_an_unknown_rule_names_the_nearest(self, capsys):
        assert main(["check", "--explain", "mask-unalined"]) != 0
        assert "did you mean mask-unaligned?" in capsys.readouterr().err

    def test_files_are_needed_otherwise(self, capsys):
        assert main(["check"]) != 0
        assert "FILE" in capsys.readouterr().err

    def test_json_and_sarif_are_not_asked_for_at_once(self, tmp_path, capsys):
        file = tmp_path / "a.visaasm"
        file.write_text(".version 4.1\n")
        assert main(["check", "--json", "--sarif", str(file)]) == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert "--json and --sarif" in error["message"]

    def test_explanations_are_json_too(self, capsys):
        assert main(["check", "--explain", "block-count"]) == 0
        text = capsys.readouterr().out
        assert main(["check", "--explain", "block-count", "--json"]) == 0
        form = json.loads(capsys.readouterr().out)
        assert form["rule"] == "block-count"
        assert form["explanation"] == text.removesuffix("\n")

    def test_sarif_names_rule_file_and_line(self, tmp_path, capsys):
        file = tmp_path / "k.visaasm"
        file.write_text('.version 4.1\n.kernel "k"\nmov (M1, 1) X(0,0)<1> 0x1:d\nret (M1, 1)\n')
        assert main(["check", "--sarif", str(file)]) == 1
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        (result,) = run["results"]
        place = result["locations"][0]["physicalLocation"]
        assert result["ruleId"] == "unknown-variable"
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "unknown-variable"
        assert place["artifactLocation"]["uri"] == str(file)
        assert place["region"]["startLine"] == 3

    def test_sarif_names_files_by_uris(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ("two words.visaasm", os.fsdecode(b"latin\xe9.visaasm")):
            Path(name).write_text("nonsense")
            assert main(["check", "--sarif", name]) == 1
            result = json.loads(capsys.readouterr().out)["runs"][0]["results"][0]
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert uri in {"two%20words.visaasm", "latin%E9.visaasm"}

    def test_a_file_sends_nothing_to_the_terminal(self, tmp_path, capsys):
        file = tmp_path / "k.visaasm"
        file.write_bytes(b".version 4.1\n\t\x1b]0;title\x07 \x7f\xc2\x9b\n")
        assert main(["check", str(file)]) == 1
        said = capsys.readouterr().out
        assert "2 |  \u241b]0;title\u2407 \u2421\ufffd" in said
        assert {character for character in said if not character.isprintable()} == {"\n"}

    @pytest.mark.parametrize(
        "words", [["info"], ["dis", "--unit", "x"], ["run", "--platform", "skl", "-k", "x"]]
    )
    def test_names_in_an_object_send_nothing_to_the_terminal(self, words, tmp_path, capsys):
        data = visim.assemble('.version 4.1\n.kernel "name"\nret (M1, 1)\n', platform="skl")
        file = tmp_path / "k.isa"
        file.write_bytes(data.to_object().replace(b"name", b"\x1b]0\x07"))
        main([words[0], str(file), *words[1:]])
        told = capsys.readouterr()
        assert "\u241b]0\u2407" in told.out + told.err
        assert "\x1b" not in told.out + told.err


class TestInfoFacts:
    def test_symbols_inputs_attributes_and_metadata_are_shown(self, capsys):
        assert main(["info", str(CORPUS / "scale_skl.zebin")]) == 0
        said = capsys.readouterr().out
        for part in ("symbols: generals 29", "V0039 12 at 276", "SimdSize=32", "grf_count 128"):
            assert part in said

    def test_json_has_the_payload(self, capsys):
        assert main(["info", "--json", str(CORPUS / "scale_skl.zebin")]) == 0
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        assert kernel["symbols"]["generals"] == 29
        assert kernel["abi"]["execution_env"]["simd_size"] == 32
        assert {"arg_byvalue", "local_size"} <= {p["arg_type"] for p in kernel["abi"]["payload"]}
        assert kernel["inputs"][0] == {
            "name": "V0040",
            "kind": "explicit",
            "offset": 32,
            "size": 32,
        }
