"""Valid modules are valid in every form, and everything can be done with them."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings

from tests.robustness.modules import valid_texts
from visim.binary.isafile import read_isa, write_isa
from visim.check import verify_module
from visim.diag import Source
from visim.runtime.building.loading import examine_data
from visim.runtime.program import Program
from visim.target import platform
from visim.text import read_text, show_module


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(valid_texts())
def test_a_valid_module_survives_text_and_object(drawn: tuple[str, str]):
    written, name = drawn
    module = read_text(Source("drawn", written))
    device = platform(name)
    assert not verify_module(module, device).errors
    text = show_module(module)
    assert show_module(read_text(Source("printed", text))) == text
    data = write_isa(module, platform=device)
    assert write_isa(read_isa(data, "written.isa", platform=device), platform=device) == data
    contents, findings = examine_data(data, "written.isa", device)
    assert contents is not None
    assert not findings.errors
    assert Program(contents).info()["kernels"][0]["name"] == module.kernels[0].name
