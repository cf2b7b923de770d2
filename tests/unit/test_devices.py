"""The table of devices: names lead to one row, and rows agree with what compilers wrote."""

from __future__ import annotations

import itertools

import pytest

from visim.devices import PLATFORMS, Platform
from visim.errors import ArgumentError
from visim.isa.devices import devices_of
from visim.target import platform, product, timed
from visim.timing import ARCHITECTURES, find_machine

#: What `ocloc query SUPPORTED_DEVICES` of 26.27 lists, and 22.43 in its help.
OF_OCLOC = {
    "bdw": "bdw gen8",
    "skl": "skl kbl cfl apl bxt glk whl aml cml gen9",
    "icllp": "icllp lkf ehl jsl gen11",
    "tgllp": "tgl tgllp rkl adl-s rpl-s adl-p rpl-p adl-n dg1 gen12lp",
    "dg2": "acm-g10 ats-m150 dg2-g10 dg2 acm-g11 ats-m75 dg2-g11 acm-g12 dg2-g12 xe-hpg",
    "mtl": "arl-s arl-u mtl-m mtl-s mtl-u mtl mtl-h mtl-p xe-lpg",
    "arl": "arl-h xe-lpgplus",
    "pvc": "pvc-sdv pvc pvc-vg xe-hpc xe-hpc-vg",
    "lnl": "lnl-m xe2-lpg",
    "bmg": "bmg-g21 bmg bmg-g31 xe2-hpg xe2",
    "ptl": "ptl-h ptl ptl-u wcl xe3-lpg xe3",
    "nvl": "nvl-hx nvl-s nvl-ul nvl-h nvl-u",
    "nvl-p": "nvl-p xe3p-lpg",
    "cri": "cri xe3p-xpc xe3p",
}


@pytest.mark.parametrize(("device", "names"), OF_OCLOC.items())
def test_the_names_of_ocloc_lead_to_the_device(device: str, names: str):
    for name in (device, *names.split()):
        assert platform(name).name == platform(name.upper()).name == device


def test_a_product_is_compiled_for_by_its_own_name():
    assert [product(name).names[0] for name in ("bmg", "BMG-G31", "xe2", "rpl-p", "tgl")] == [
        *("bmg-g21", "bmg-g31", "bmg-g21", "adl-p", "tgllp")
    ]


@pytest.mark.parametrize("name", ["bmg-g99", "", "xe9", None, 3])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(ArgumentError, match=r"unknown device .*; known: bdw, .*, cri"):
        platform(name)


def test_a_name_belongs_to_one_product_and_a_number_to_one_device():
    names = [name for one in PLATFORMS for sold in one.products for name in sold.names]
    names += [name for one in PLATFORMS for name in one.groups]
    assert len(names) == len(set(names))
    families = [(one.name, sold.family) for one in PLATFORMS for sold in one.products]
    owners = {
        family: {name for name, other in families if other == family} for _, family in families
    }
    assert all(len(devices) == 1 for devices in owners.values())
    versions = [pair for one in PLATFORMS for sold in one.products for pair in sold.graphics]
    assert len(versions) == len(set(versions))


def test_devices_are_listed_from_the_oldest_on():
    for older, newer in itertools.pairwise(PLATFORMS):
        assert older.generation <= newer.generation


@pytest.mark.parametrize("device", PLATFORMS, ids=lambda device: device.name)
def test_the_row_of_a_device_is_in_itself_right(device: Platform):
    assert device.grf_bytes in {32, 64}
    assert min(device.simd_sizes) * 4 == device.grf_bytes
    assert device.matrix_channels in {0, device.grf_bytes // 4}
    assert 128 in device.grf_counts
    assert list(device.gen_codes) == sorted(set(device.gen_codes))
    assert device.has_lsc == device.loads_payload


@pytest.mark.parametrize(
    ("page", "devices"),
    [
        ("DPAS", "dg2 arl pvc lnl bmg ptl nvl nvl-p cri"),
        ("DPASW", "dg2 arl"),
        ("LSC_UNTYPED", "dg2 mtl arl pvc lnl bmg ptl nvl nvl-p cri"),
        ("INVM", "skl pvc lnl bmg ptl nvl nvl-p cri"),
        ("NBARRIER", "pvc lnl bmg ptl nvl nvl-p cri"),
        ("LRP", "bdw skl"),
        ("ROL", "icllp tgllp dg2 mtl arl pvc lnl bmg ptl nvl nvl-p cri"),
    ],
)
def test_instructions_are_on_the_devices_that_have_them(page: str, devices: str):
    assert devices_of(page) == tuple(devices.split())


@pytest.mark.parametrize(
    ("question", "devices"),
    [
        ("has_fp64", "bdw skl mtl arl pvc lnl bmg ptl nvl nvl-p cri"),
        ("has_int64", "bdw skl pvc lnl bmg ptl nvl nvl-p cri"),
        ("has_bf16", "dg2 arl pvc lnl bmg ptl nvl nvl-p cri"),
        ("divides_integers", "bdw skl icllp tgllp"),
    ],
)
def test_types_are_on_the_devices_that_compute_with_them(question: str, devices: str):
    assert [one.name for one in PLATFORMS if getattr(one, question)] == devices.split()


def test_timing_knows_its_generations_by_all_names_of_their_devices():
    assert ARCHITECTURES[:4] == ("ilk", "snb", "ivb", "hsw")
    assert find_machine("ACM-G11").name == find_machine("dg2").name == "dg2"
    assert find_machine("icllp").name == "icl"
    assert find_machine("bmg-g21").name == find_machine("xe2").name == "bmg"
    assert timed("nvl") is None
    with pytest.raises(ArgumentError, match=r"nvl \(.*\) has no table"):
        find_machine("nvl")
