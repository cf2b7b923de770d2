"""The rules of the acceptance suite accept what OpenCL allows and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tests.opencl.case import PROGRAMS, Exact, Mostly, Relative, Rows, Rule, Ulp, Unordered
from tests.opencl.cases import CASES

from .cases.reference import fma, integer_to_float, narrow_float, saturate_float

F32 = np.float32


def accepts(rule: Rule, got: object, want: object) -> bool:
    return rule.mismatch(np.asarray(got), np.asarray(want), {}) is None


def test_exact_tells_zeros_apart_and_nans_not() -> None:
    nan = F32(np.nan)
    assert accepts(Exact(), [nan, F32(1)], [-nan, F32(1)])
    assert not accepts(Exact(), [F32(0.0)], [F32(-0.0)])
    assert not accepts(Exact(), [1, 2], [1, 3])


def test_exact_rejects_a_reference_of_another_type() -> None:
    assert not accepts(Exact(), np.array([1], np.int32), np.array([1], np.int64))


@pytest.mark.parametrize(("steps", "accepted"), [(0, True), (2, True), (3, False)])
def test_ulp_counts_units_of_the_narrow_type(steps: int, accepted: bool) -> None:
    got = F32(1.5) + steps * np.finfo(F32).eps
    assert accepts(Ulp(2, "test"), np.array([got], F32), np.array([1.5])) is accepted


def test_ulp_wants_specials_exactly() -> None:
    rule = Ulp(4, "test")
    specials = [np.inf, -np.inf, np.nan]
    assert accepts(rule, np.array(specials, F32), np.array(specials))
    assert not accepts(rule, np.array([np.nan], F32), np.array([1.0]))
    assert not accepts(rule, np.array([1.0], F32), np.array([np.nan]))
    assert not accepts(rule, np.array([3e38], F32), np.array([np.inf]))


def test_ulp_allows_a_subnormal_result_to_be_zero() -> None:
    assert accepts(Ulp(1, "test"), np.array([0.0], F32), np.array([1e-40]))
    assert not accepts(Ulp(1, "test"), np.array([0.0], F32), np.array([2e-38]))


def test_rows_name_the_row_that_differs() -> None:
    rule = Rows((("sin", Ulp(1, "test")), ("cos", Ulp(1, "test"))))
    complaint = rule.mismatch(np.array([[1], [2]], F32), np.array([[1.0], [3.0]]), {})
    assert complaint is not None
    assert complaint.startswith("cos: 1 of 1 elements differ")


def test_relative_scales_by_the_largest_value() -> None:
    rule = Relative(0.01, "test")
    assert accepts(rule, np.array([0.5, 100], F32), np.array([0.0, 100]))
    assert not accepts(rule, np.array([2, 100], F32), np.array([0.0, 100]))
    assert not accepts(rule, np.array([np.nan, 100], F32), np.array([0.0, 100]))


def test_unordered_compares_each_row_as_a_bag() -> None:
    assert accepts(Unordered(axis=1), [[2, 1], [4, 3]], [[1, 2], [3, 4]])
    assert not accepts(Unordered(axis=1), [[3, 1], [4, 2]], [[1, 2], [3, 4]])


def test_mostly_counts_the_outliers() -> None:
    rule = Mostly(0, 1, "test")
    assert accepts(rule, [1, 2, 9], [1, 2, 3])
    assert not accepts(rule, [1, 8, 9], [1, 2, 3])


def test_fma_rounds_once() -> None:
    x = np.array([1 + 2.0**-12], F32)
    assert fma(x, x, np.array([-1], F32))[0] == F32(2.0**-11 + 2.0**-24)


def test_conversions_round_in_the_direction_asked_for() -> None:
    odd = np.array([2**24 + 1, -(2**24) - 1])
    assert integer_to_float(odd, "rtp").tolist() == [2**24 + 2, -(2**24)]
    assert integer_to_float(odd, "rtz").tolist() == [2**24, -(2**24)]
    assert narrow_float(np.array([1e6], F32), np.float16, "rtz")[0] == 65504
    assert saturate_float(np.array([-2.5, 300, np.nan]), np.int8, "rte").tolist() == [-2, 127, 0]


def test_each_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_each_program_is_used() -> None:
    assert {case.source for case in CASES} == {path.name for path in PROGRAMS.glob("*.cl")}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_inputs_are_the_same_each_time_and_references_fit_the_outputs(case) -> None:
    first, second = case.values(), case.values()
    for name, value in first.items():
        if isinstance(value, np.ndarray):
            assert value.tobytes() == second[name].tobytes()
    for name, want in case.reference().items():
        assert want.shape == first[name].shape


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_left_out_has_a_reason(case) -> None:
    assert case.devices_why or len(case.devices) == 4
    assert case.pocl or case.pocl_why


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_untouched_outputs_do_not_pass(case) -> None:
    outputs = {k: v for k, v in case.values().items() if isinstance(v, np.ndarray)}
    assert case.mismatches(outputs) != []
