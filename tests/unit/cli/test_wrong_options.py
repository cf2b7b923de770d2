"""What is said of options without a value, with a wrong one, and of parts that a verb has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from visim.cli import main

EXAMPLE = Path(__file__).parents[3] / "examples/saxpy/saxpy.zebin"
GIVEN = ["--arg", "x=iota:64", "--arg", "y=ones:64", "--arg", "a=2", "--arg", "n=64"]
RUN = ["run", str(EXAMPLE), "--global", "64", *GIVEN]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*RUN, "--arg", "y"], "--arg y: expected --arg KEY=VALUE, e.g. --arg y=zeros:1024"),
        ([*RUN, "--out", "y"], "--out y: expected --out KEY=VALUE, e.g. --out y=result.npy"),
        ([*RUN, "--expect", "y=none.npy"], "--expect y: there is no file none.npy"),
        ([*RUN, "--show=3"], "--show takes no value; visim run --help says what it takes"),
        (
            ["time", str(EXAMPLE), "--compare"],
            "--compare needs a value; visim time --help says what it takes",
        ),
        (
            ["examples", "cpy"],
            "there is no visim examples cpy; did you mean visim examples copy?",
        ),
        (
            ["toolchain", "get"],
            "there is no visim toolchain get; there are: install, list, remove",
        ),
        (
            [*RUN, "--trace", "t.json", "--trace-only", "grup=3"],
            "--trace-only: expected group=N, thread=N or line=A-B, found 'grup=3'",
        ),
        (
            [*RUN, "--device", "dg2"],
            f"--device: {EXAMPLE} is for pvc, not for dg2; leave the device out, or compile for "
            "dg2",
        ),
        (
            ["check", "no/*.visaasm"],
            "there is no file no/*.visaasm; visim check --help says what it takes",
        ),
        (
            ["dap", "--port", "99999"],
            "--port: expected 0 to 65535, found 99999; visim dap --help says what it takes",
        ),
    ],
)
def test_the_answer_names_the_option_and_what_to_write(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == f"error: {message}"
