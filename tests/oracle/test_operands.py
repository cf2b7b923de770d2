"""GenX_IR makes the same of an instruction and of its bytes, and prints it as visim does.

`operands.txt` has a line for each kind of instruction, with operands of every class: regions,
indirect ones, modifiers, immediates, predicates, masks, kinds of addresses. They were drawn at
random; what GenX_IR refuses was left out. Of lines after a `~` it does not print all: predicates of
typed messages before LSC, and where in their variables coordinates of typed LSC messages begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.genx import PROGRAM, compile_file, is_installed
from visim.binary.isafile import write_isa
from visim.diag import Source
from visim.target import platform
from visim.text import read_text

pytestmark = pytest.mark.skipif(not is_installed(), reason=f"{PROGRAM} is not installed")

HEAD, *SECTIONS = (Path(__file__).parent / "operands.txt").read_text(encoding="utf-8").split("## ")
OPTIONS = ("-binary", "-output", "-dumpcommonisa")


def listed() -> Iterator[tuple[str, str]]:
    """Yield a device and a line for it."""
    for section in SECTIONS:
        device, *lines = section.splitlines()
        yield from ((device, line) for line in lines)


@pytest.mark.parametrize(("device", "line"), tuple(listed()))
def test_the_object_of_a_line_is_the_line(device: str, line: str):
    is_printed, line = not line.startswith("~"), line.removeprefix("~ ")
    text = f'{HEAD}.function "main"\nmain:\n    {line}\n    ret (M1, 1)\n'
    module = read_text(Source("k.visaasm", text))
    data = write_isa(module, platform=platform(device))
    wanted = compile_file(text.encode(), ".visaasm", device, options=OPTIONS)
    found = compile_file(data, ".isa", device, options=OPTIONS)
    assert wanted.code is not None
    assert found.code == wanted.code
    assert found.dump is not None
    printed = [shown.partition(" /// ")[0].strip() for shown in found.dump.splitlines()]
    assert (module.kernels[0].body[-2].show().strip() in printed) == is_printed
