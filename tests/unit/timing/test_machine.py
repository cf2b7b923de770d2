"""Tables of the generations: what they hold, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import visim
from visim.errors import ArgumentError, UnsupportedError
from visim.timing import ARCHITECTURES, Timing, find_machine
from visim.timing.arrays import Work
from visim.timing.machine import BANK_RULES, ORIGINS, POLICIES, UNITS
from visim.timing.occupancy import demand


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_number_says_where_it_comes_from(arch: str) -> None:
    machine = find_machine(arch)
    for entry in machine.provenance(machine.costs):
        assert entry["from"] in ORIGINS, entry
        assert entry["source"], entry


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_tables_name_known_units_rules_and_policies(arch: str) -> None:
    machine = find_machine(arch)
    assert machine.policy in POLICIES
    assert machine.native.banks in BANK_RULES
    assert all(0 <= unit < len(UNITS) for cost in machine.costs.values() for unit in cost.units)


def test_sandy_bridge_is_the_machine_of_its_description() -> None:
    machine = find_machine("SNB")
    assert machine.number("slots") == 5
    assert machine.number("l1_bytes") // machine.number("line_bytes") == 64
    assert machine.number("l1_cores") == 3
    assert machine.number("fetch_buffer") == 4
    assert (machine.native.grfs, machine.native.grf_bytes, machine.native.mrfs) == (128, 32, 24)


def test_an_unknown_generation_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="no architecture 'gen99'; known: ilk, snb"):
        find_machine("gen99")


@pytest.mark.parametrize("name", ["nvl", "nvl-p", "NVL"])
def test_a_device_without_published_numbers_is_no_unknown_name(name: str) -> None:
    with pytest.raises(ArgumentError, match=r"has no table: how many cores .* choose another"):
        find_machine(name)


def test_a_preset_that_a_generation_lacks_is_an_error() -> None:
    with pytest.raises(ArgumentError, match="snb has no preset 'measured'; it has: mesa"):
        find_machine("snb", "measured")


def test_a_message_that_a_generation_lacks_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"has no message 'slm\.load'"):
        find_machine("snb").cost("message.slm.load")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, "no parameter 'colour'"),
        ({"eus": 0}, "eus is an integer from 1, found 0"),
        ({"policy": "lottery"}, "policy is one of stay, round-robin"),
        ({"memory": "slow"}, "memory is an integer from 0"),
    ],
)
def test_wrong_parameters_are_errors(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        find_machine("snb").with_facts(changes)


def test_changed_parameters_count_as_assumed() -> None:
    machine = find_machine("snb").with_facts({"slots": 4})
    assert machine.number("slots") == 4
    assert machine.facts["slots"].origin == "assumed"


@pytest.mark.parametrize(
    ("arch", "options", "said"),
    [
        (None, {}, "no architecture None"),
        (5, {}, "no architecture 5"),
        ("skl", {"preset": ["mesa"]}, r"no preset \['mesa'\]"),
        ("skl", {"preset": np.zeros(3)}, r"no preset array\("),
        ("skl", {"parameters": 5}, "expected a dict by name, found 5"),
        ("skl", {"parameters": 0}, "expected a dict by name, found 0"),
        ("skl", {"parameters": np.zeros(3)}, r"expected a dict by name, found array\("),
        ("skl", {"parameters": {"policy": np.zeros(3)}}, r"policy is one of .* found array\("),
        ("skl", {"native": np.zeros(3)}, r"native is one of .* found array\("),
    ],
)
def test_arguments_of_another_kind_are_refused(
    arch: Any, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        Timing(arch, **options)


def test_a_table_with_a_base_says_only_what_differs() -> None:
    bmg, lnl, pvc = (find_machine(name) for name in ("bmg", "lnl", "pvc"))
    assert lnl.number("eus") == 64
    assert lnl.native == bmg.native
    assert lnl.costs == bmg.costs
    changed = {name for name, cost in bmg.costs.items() if cost != pvc.costs[name]}
    assert changed == {f"dpas.{count}" for count in range(1, 9)} | {"mad.wide", "dp4a"}
    with pytest.raises(ArgumentError, match="bmg has no preset 'mesa'; it has: igc"):
        find_machine("bmg", "mesa")


def test_a_device_without_matrix_units_has_no_matrix_instructions() -> None:
    assert "dpas" not in find_machine("mtl").native.features
    assert "dpas" in find_machine("arl").native.features


def test_crescent_island_is_a_range_from_few_cores_to_many() -> None:
    machine = find_machine("CRI")
    assert machine.facts["eus"].origin == "assumed"
    few, many = (machine.extreme(end).number("eus") for end in (1, 0))
    assert few < machine.number("eus") < many
    timing = Timing("cri")
    body = ["    mul (M1, 16) A(0,0)<1> A(0,0)<1;1,0> A(0,0)<1;1,0>"] * 4
    head = [".version 4.1", '.kernel "k"', ".decl A v_type=G type=f num_elts=16 align=GRF"]
    text = "\n".join([*head, ".kernel_attr SimdSize=16", *body, "ret (M1, 1)", ""])
    visim.assemble(text, platform="cri").kernels[0].launch(
        [], thread_groups=2500, observers=[timing]
    )
    found = timing.on(machine, ranged=True)
    assert found.range is not None
    least, most = found.range
    assert least <= found.cycles < most


def test_crescent_island_keeps_eight_threads_with_large_register_files() -> None:
    sizes = {
        registers: demand(
            find_machine("cri"), Work((), (), (), (8,), registers=registers), has_barriers=False
        ).slots
        for registers in (128, 256, 512)
    }
    assert sizes == {128: 8, 256: 8, 512: 4}
