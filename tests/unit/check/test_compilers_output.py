"""The verifier is silent on what a compiler wrote, but for what a device does not have."""

from __future__ import annotations

import pytest

from tests.corpus.pairs import Dump, dumps
from visim.check import verify_module
from visim.diag import Source
from visim.target import platform
from visim.text import read_text

WITHOUT_MATRIX = {"skl", "icllp", "tgllp"}


@pytest.mark.parametrize("dump", dumps(), ids=lambda dump: dump.name)
def test_a_dump_has_no_findings(dump: Dump):
    findings = verify_module(read_text(Source(dump.name, dump.text)), platform(dump.device))
    if "dpas" in dump.text and dump.device in WITHOUT_MATRIX:
        assert {finding.code for finding in findings.errors} == {"unavailable"}
        assert all("dpas" in finding.message for finding in findings.errors)
    else:
        assert not findings.errors
