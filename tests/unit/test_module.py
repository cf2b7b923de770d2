"""Modules, units and the predefined variables."""

from __future__ import annotations

import pytest

from visim import predefined
from visim.module import Input, Module, Unit, UnitKind
from visim.operands import Attribute
from visim.types import UQ


def test_an_attribute_is_its_value_or_true_for_a_flag():
    unit = Unit(
        "k",
        UnitKind.KERNEL,
        attributes=(Attribute("SimdSize", 16), Attribute("NoBarrier"), Attribute("Target", "cm")),
    )
    assert unit.attribute("SimdSize") == unit.simd_size == 16
    assert unit.attribute("NoBarrier") is True
    assert unit.attribute("Target") == "cm"
    assert unit.attribute("SLMSize") is None
    assert Unit("f", UnitKind.FUNCTION).simd_size is None


def test_a_module_tells_kernels_from_functions():
    kernel, function = Unit("k", UnitKind.KERNEL), Unit("f", UnitKind.FUNCTION)
    module = Module((4, 1), (function, kernel))
    assert module.kernels == (kernel,)
    assert module.functions == (function,)


def test_an_input_is_implicit_when_the_runtime_gives_it():
    variable = predefined.GENERALS[7]
    assert not Input(variable, 0, 4).is_implicit
    assert not Input(variable, 0, 4, "parameter").is_implicit
    assert Input(variable, 0, 12, "LOCAL_ID").is_implicit


@pytest.mark.parametrize(
    ("name", "grf_bytes", "count"),
    [("%r0", 32, 8), ("%r0", 64, 16), ("%arg", 32, 256), ("%arg", 64, 512), ("%retval", 64, 192),
     ("%tsc", 64, 5), ("%sp", 64, 1)],
)  # fmt: skip
def test_some_predefined_variables_grow_with_the_register(name: str, grf_bytes: int, count: int):
    variable = next(entry for entry in predefined.GENERALS if entry.name == name)
    assert predefined.elements(variable, grf_bytes) == count


def test_predefined_variables_are_found_by_name_and_number():
    assert predefined.BY_NAME["V7"] is predefined.BY_NAME["%r0"]
    assert predefined.BY_NAME["T0"] is predefined.BY_NAME["%slm"]
    assert predefined.BY_NAME["%sp"].type is UQ
    assert [entry.index for entry in predefined.GENERALS] == list(range(22))
    assert [entry.index for entry in predefined.SURFACES] == list(range(6))
