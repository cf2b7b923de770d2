"""The numbers of the JIT's structure are counted as their names say."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from tools import jit_checks


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        ("import re\nA = re.compile('a')", jit_checks.is_pattern),
        ("x = expr.uop.name == 'read'", jit_checks.is_uop_name),
        ("x = uop.name", jit_checks.is_uop_name),
        ("x = id(step)", jit_checks.is_identity),
    ],
)
def test_what_is_counted_is_found(text: str, finds: Callable[[ast.AST], bool]) -> None:
    assert sum(map(finds, ast.walk(ast.parse(text)))) == 1
    assert not any(map(finds, ast.walk(ast.parse("x = node.name\ny = pattern.compile('a')"))))


def test_the_table_has_a_number_in_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    jit_checks.main()
    head, line, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| check | today |")
    assert line == "|---|---:|---|"
    assert len(rows) == len(jit_checks.CHECKS)
    assert all(int(row.split(" | ")[1]) >= 0 for row in rows)
