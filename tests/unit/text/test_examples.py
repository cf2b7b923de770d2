"""The example of every declared instruction is an instruction, and prints as it is written."""

from __future__ import annotations

import pytest

from visim.diag import Source
from visim.isa import ISA
from visim.text import parse_text

_HEAD = "\n".join(
    [
        ".version 4.1",
        '.kernel "k"',
        *(f".decl V{i} v_type=G type=ud num_elts=64 align=GRF" for i in range(32, 80)),
        *(f".decl P{i} v_type=P num_elts=32" for i in range(1, 4)),
        ".decl A0 v_type=A num_elts=16",
        ".decl S0 v_type=S num_elts=1",
        ".decl T6 v_type=T num_elts=1",
        ".decl T7 v_type=T num_elts=1",
    ]
)
_EXAMPLES = [(op.mnemonic, example) for op in ISA.ops for example in op.examples]


@pytest.mark.parametrize(("mnemonic", "example"), _EXAMPLES)
def test_an_example_prints_as_it_is_written(mnemonic: str, example: str):
    module, findings = parse_text(Source("example", f"{_HEAD}\n{example}\n"))
    assert [finding for finding in findings if finding.code != "undefined-label"] == []
    (instruction,) = module.units[0].body
    assert instruction.op is ISA.by_mnemonic(mnemonic)
    assert instruction.show() == example
