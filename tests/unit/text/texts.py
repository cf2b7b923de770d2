"""Small texts to build tests from."""

from __future__ import annotations

from visim.diag import Source
from visim.module import Module, Unit
from visim.text import read_text

HEAD = """\
.version 4.1
.kernel "k"
.decl V32 v_type=G type=ud num_elts=64 align=GRF
.decl V33 v_type=G type=f num_elts=64 align=GRF
.decl A0 v_type=A num_elts=4
.decl P1 v_type=P num_elts=16
.decl S0 v_type=S num_elts=1
.decl T6 v_type=T num_elts=1
"""
HEAD_LINES = HEAD.count("\n")


def read(text: str) -> Module:
    return read_text(Source("t.visaasm", text))


def unit_of(*lines: str) -> Unit:
    """Return the kernel whose body and further directives are `lines`, after `HEAD`."""
    return read(HEAD + "\n".join(lines) + "\n").units[0]


def shown(line: str) -> str:
    """Return how the one instruction in `line` prints."""
    return unit_of(line).body[-1].show()
