"""What each compiler says of a wrong program reaches the user."""

from __future__ import annotations

import pytest

from tests.toolchains import installed_compiler
from visim.diag import Severity
from visim.errors import InputError, ToolMissing
from visim.runtime.compiling import compilers
from visim.runtime.compiling.opencl import build_zebin

pytestmark = pytest.mark.usefixtures("compiler")

WARNED = "#warning odd\nkernel void f(global float *a) { a[0] = %s; }\n"


@pytest.fixture(params=["system", "current"])
def any_compiler(request: pytest.FixtureRequest) -> str:
    return "system" if request.param == "system" else installed_compiler()


def test_an_error_after_a_warning_is_named(any_compiler: str) -> None:
    with pytest.raises(InputError) as caught:
        build_zebin(WARNED % "y", device="dg2", compiler=any_compiler)
    found = [(one.severity, one.line, one.message) for one in caught.value.diagnostics]
    assert found == [
        (Severity.WARNING, 1, "odd"),
        (Severity.ERROR, 2, "use of undeclared identifier 'y'"),
    ]


def test_warnings_of_a_good_program_are_kept(any_compiler: str) -> None:
    built = build_zebin(WARNED % "1", device="dg2", compiler=any_compiler)
    assert [(one.severity, one.line, one.message) for one in built.warnings] == [
        (Severity.WARNING, 1, "odd")
    ]


@pytest.mark.parametrize("device", ["bdw", "glk", "ehl"])
def test_a_compiler_that_writes_no_zebins_is_not_taken(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ocloc 24.35 knows these devices, and writes the format before zebin for them."""
    legacy = compilers.Compiler("libocloc_legacy1.so", "24.35.30872", "legacy-24.35.30872.45-1")
    monkeypatch.setattr(compilers, "compilers", lambda: (legacy,))
    with pytest.raises(ToolMissing, match=r"24\.35\.30872 .* writes no zebins for it; .*22\.43"):
        compilers.compiler_for(device)
