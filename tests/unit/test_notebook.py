"""The notebook runs from top to bottom, and what it shows is short or a picture."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tour.ipynb"


def shown(source, names):
    """Run a cell and return what its last expression gives, as notebooks do."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs(capsys):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = {}
    values = [shown(source, names) for source in code]
    html = [value for value in values if hasattr(value, "_repr_html_")]
    assert len(html) == 3
    assert all(value._repr_html_().startswith("<") for value in html)
    [picture] = [value for value in values if hasattr(value, "_repr_png_")]
    assert picture._repr_png_().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "past the end of 'x'" in printed
    assert "error[race-local]" in printed
    assert names["worst"].severity == "error"
    assert sum(names["stores"].bytes.values()) == 4000
    np.testing.assert_array_equal(values[-1], [1, -1, -3, -5])


def test_it_is_kept_without_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    assert not any(cell.get("execution_count") for cell in cells)
