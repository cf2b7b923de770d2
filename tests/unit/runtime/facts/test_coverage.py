"""What visim says of its own coverage."""

from __future__ import annotations

import json

from visim.cli.app import main
from visim.isa import ISA
from visim.runtime.facts.coverage import coverage

BY_NAME = {entry.op.mnemonic: entry for entry in coverage()}


def test_every_instruction_is_listed_once():
    assert [entry.op for entry in coverage()] == list(ISA.ops)


def test_what_both_engines_execute_has_no_reason():
    assert BY_NAME["mad"].engines == ("interpreter", "jit")
    assert BY_NAME["mad"].reason is None


def test_what_no_engine_executes_has_the_reason_of_its_declaration():
    op = BY_NAME["avs"].op
    assert op.meaning is None
    assert BY_NAME["avs"].engines == ()
    assert BY_NAME["avs"].reason == op.reason


def test_calls_and_jumps_are_found_executable():
    assert all(BY_NAME[name].engines for name in ("goto", "call", "fcall", "faddr", "switchjmp"))


def test_the_command_line_lists_them(capsys):
    assert main(["info", "--instructions"]) == 0
    assert "va.minmax" in capsys.readouterr().out
    assert main(["info", "--instructions", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["instructions"]
    assert [entry["mnemonic"] for entry in listed] == [op.mnemonic for op in ISA.ops]
    assert {entry["version"] for entry in listed} == {"3.0", "4.2"}


def test_info_needs_a_file_or_the_option(capsys):
    assert main(["info"]) != 0
    assert "visim info needs FILE" in capsys.readouterr().err
