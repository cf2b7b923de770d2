"""The drop-a-file tests notice what does not hold, and say where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import file_suite
from tests.file_grammar import Mismatch, Section, WrongTestFile, sections

KERNEL = """// RUN: exec engines=all
.version 4.1
.kernel "k"
.decl a v_type=G type=f num_elts=2 align=GRF
.decl n v_type=G type=d num_elts=2 align=GRF
.decl P1 v_type=P num_elts=8
add (M1, 2) a(0,0)<1> a(0,0)<1;1,0> 0x3f800000:f
cmp.gt (M1, 2) P1 a(0,0)<1;1,0> 0x0:f
ret (M1, 1)
"""


def section(tmp_path: Path, *lines: str, head: str = KERNEL) -> Section:
    file = tmp_path / "case.visaasm"
    file.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    (found,) = sections(file)
    return found


def check(found: Section) -> None:
    for run in found.runs:
        file_suite.check_run(found, run, "interpreter")


def test_what_holds_passes(tmp_path: Path):
    check(section(tmp_path, "// run: a=[1, 0.5] -> a=[2.0, 0x3fc00000], P1=0x3, n=[0, ?]  ADD"))


def test_any_nan_is_any_other(tmp_path: Path):
    check(section(tmp_path, "// run: a=[nan, 0x7f800001] -> a=[-nan, nan], P1=0x0  ADD"))


def test_lists_repeat_and_may_stay_open(tmp_path: Path):
    check(
        section(tmp_path, "// run: a=[1*2] -> a=[2*2]  ADD", "// run: a=[5, ...] -> a=[6, ...]  x")
    )


def test_a_run_line_continues(tmp_path: Path):
    check(section(tmp_path, "// run: a=[1,", "//      2] -> a=[2,", "//      3]", "//      ADD"))


def test_channels_can_be_off(tmp_path: Path):
    check(section(tmp_path, "// run: mask=0x2 a=[1, 1] -> a=[1, 2], P1=0x2  chapter 3"))


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("// run: a=[1, 2] -> a=[2, 4]  ADD", r"a[1]: expected 4.0 (0x40800000), found 3.0"),
        ("// run: a=[1, 2] -> P1=0x1  CMP", "P1: expected 0x1, found 0x3"),
        ("// run: a=[nan, 2] -> a=[1, 3]  ADD", "a[0]: expected 1.0 (0x3f800000), found nan"),
        ("// run: -> n=[-1, 0]  ADD", "n[0]: expected -1 (0xffffffff), found 0"),
        ("// run: a=[-1, -1] -> a=[-0.0, 0.0]  ADD", "a[0]: expected -0.0 (0x80000000), found 0.0"),
        ("// run: -> fault[no-return]  x", "expected fault[no-return], found none"),
    ],
)
def test_what_does_not_hold_is_reported_with_its_line(tmp_path: Path, line: str, part: str):
    with pytest.raises(Mismatch) as raised:
        check(section(tmp_path, "", line))
    assert f"{tmp_path / 'case.visaasm'}:11: on interpreter" in str(raised.value)
    assert part in str(raised.value)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("// run: a=[1, 2] -> a=[2, 3]", "does not say where its values come from"),
        ("// run: a=[1, 2] ->  ADD", "nothing is expected"),
        ("// run: a=[1, 2]  ADD", "expected 'a="),
        ("// run: a=[1] -> a=[2, 3]  ADD", "a has 2 elements, not 1"),
        ("// run: b=[1] -> a=[2, 3]  ADD", "no variable is called 'b'"),
        ("// run: n=[2147483648, 0] -> a=[1, 1]  ADD", "2147483648 is no D"),
        ("// run: a=[0x123456789, 0] -> a=[1, 1]  ADD", "wider than F"),
        ("// run: P1=[1] -> a=[1, 1]  ADD", "P1 is a predicate"),
    ],
)
def test_a_run_line_that_says_nothing_clear_is_refused(tmp_path: Path, line: str, part: str):
    with pytest.raises(WrongTestFile) as raised:
        check(section(tmp_path, line))
    assert part in str(raised.value)


def test_findings_have_to_be_announced(tmp_path: Path):
    head = '.version 4.1\n.kernel "k"\nfoo (M1, 1)\nret (M1, 1)\n'
    with pytest.raises(Mismatch, match=r"not announced:\nerror\[unknown-instruction\]"):
        file_suite.check_findings(section(tmp_path, head=head), None)


def test_announced_findings_have_to_come(tmp_path: Path):
    head = '.version 4.1\n.kernel "k"\nret (M1, 1) // error[syntax]@3\n'
    with pytest.raises(Mismatch, match=r"visaasm:3: no error\[syntax\] at column 3"):
        file_suite.check_findings(section(tmp_path, head=head), None)


def test_lines_of_later_sections_count_from_the_start_of_the_file(tmp_path: Path):
    file = tmp_path / "case.visaasm"
    file.write_text(f"{KERNEL}// -----\n{KERNEL}// run: -> a=[7, 7]  ADD\n", encoding="utf-8")
    with pytest.raises(Mismatch, match=r"visaasm:20: on interpreter"):
        check(list(sections(file))[1])


def test_a_printed_text_is_compared_with_its_expectation(tmp_path: Path):
    found = section(tmp_path)
    file = tmp_path / "case.visaasm"
    with pytest.raises(Mismatch, match="is missing"):
        file_suite.check_print(file, [found], bless=False)
    file_suite.check_print(file, [found], bless=True)
    file_suite.check_print(file, [found], bless=False)
    expectation = tmp_path / "case.visaasm.print.out"
    expectation.write_text(expectation.read_text().replace("num_elts=8", "num_elts=9"))
    with pytest.raises(Mismatch, match="num_elts=9"):
        file_suite.check_print(file, [found], bless=False)
