"""Errors stay what they are when they are copied, or go from one process to another."""

from __future__ import annotations

import copy
import pickle

import pytest

from visim.diag import Diagnostic, Diagnostics, Severity, Source, Span
from visim.errors import Fault, FaultError, InputError, LinkError

FINDING = Diagnostic(
    "syntax", Severity.ERROR, "expected a name", Span(Source("a.visaasm", "mov"), 1, 2)
)


@pytest.fixture(params=[copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def duplicate(request):
    return request.param


@pytest.mark.parametrize("kind", [InputError, LinkError])
def test_findings_go_with_an_error(duplicate, kind):
    error = kind(Diagnostics([FINDING]))
    error.add_note("while it was loaded")
    found = duplicate(error)
    assert type(found) is kind
    assert list(found.diagnostics) == [FINDING]
    assert str(found) == str(error)
    assert found.__notes__ == ["while it was loaded"]


def test_the_fault_and_the_report_go_with_an_error(duplicate):
    error = FaultError(Fault("undefined", "memory-access", "out of range"), {"groups": 3})
    found = duplicate(error)
    assert (found.fault, found.report) == (error.fault, {"groups": 3})
    assert str(found) == str(error)
