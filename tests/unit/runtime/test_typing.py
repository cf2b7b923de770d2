"""What type checkers know of the public functions: mistakes are found before the program runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """
import numpy as np
import visim

program = visim.load("saxpy.zebin")
kernel = program["saxpy"]
report = kernel.launch([np.ones(4), 2.0], global_size=4, engine="jit")
seconds: float = report.wall_s
again: visim.Report = kernel(np.ones(4), 2.0, global_size=np.int64(4).item())
handle: visim.LaunchHandle = kernel.launch([], global_size=(4, 4), wait=False)
handle.cancel()
bound = kernel.bind([], global_size=4)
bound().printf.splitlines()
kernel.bind([], global_size=4, wait=False)().done()
version: str = visim.__version__
"""
WRONG = {
    "report.wal_s": 'attribute "wal_s"',
    "kernel.launch([], gobal_size=4)": "No overloads",
    "kernel(1, globl_size=4)": '"globl_size"',
    "kernel(1, global_size=4, observers=[print])": '"observers"',
    "kernel.launch([], wait=False).wall_s": 'attribute "wall_s"',
    "kernel.bind([], global_size=4)().prinft": 'attribute "prinft"',
    "program['x'].nam": 'attribute "nam"',
    "visim.lod('x')": '"lod"',
}


def test_a_misspelt_field_or_keyword_is_found(tmp_path):
    pytest.importorskip("pyright")
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(RIGHT + "\n".join(WRONG) + "\n")
    root = Path(__file__).parents[3]
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(root)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    words = [sys.executable, "-m", "pyright", "-p", str(tmp_path), "--outputjson"]
    words += ["--pythonpath", sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    found = json.loads(done.stdout)["generalDiagnostics"]
    of_right = [one for one in found if one["file"].endswith("right.py")]
    assert of_right == []
    first = RIGHT.count("\n")
    by_line: dict[int, str] = {}
    for one in found:
        line = one["range"]["start"]["line"]
        by_line[line] = by_line.get(line, "") + one["message"]
    for number, (statement, message) in enumerate(WRONG.items(), first):
        assert message in by_line.get(number, ""), statement
