"""The table of instructions is that of the specification: numbers, bytes, devices, versions.

The facts are in tests/model/spec_facts.json (made by tools/extract_spec_facts.py); where pages
contradict what compilers write, tests/model/spec_errors.json says why.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.model.opcodes import MODEL, numbers
from tests.model.stored import Mismatch, take_apart
from tests.properties.test_binary import module_of_example
from tests.unit.binary.objects import PVC, module_of
from visim.binary.isafile import read_isa, write_isa
from visim.binary.symbols import Numbering
from visim.errors import InputError
from visim.isa import ISA, Op
from visim.isa.reserved import RESERVED
from visim.layout import Writer
from visim.target import COMMON_OBJECT

FACTS: dict[str, Any] = json.loads((MODEL / "spec_facts.json").read_text(encoding="utf-8"))
ERRORS: dict[str, dict[str, str]] = json.loads(
    (MODEL / "spec_errors.json").read_text(encoding="utf-8")
)
BY_CODE = {fact["code"]: fact for fact in FACTS["opcodes"]}
#: The page of an opcode that compilers have never had.
ONLY_ON_A_PAGE = {"RT_READ"}
#: No page describes it.
UNDESCRIBED = {"lsc_ccs_update.tgm"}
#: INFO: "the field is present only for resinfo".
WITHOUT_A_FIELD = {"sampleinfo"}
NEWER = (4, 2)
FIRST_DEVICES = {
    "ICLLP": "icllp",
    "TGLLP": "tgllp",
    "XeHP_SDV": "dg2",
    "DG2": "dg2",
    "PVC": "pvc",
    "PVCXT": "pvc",
    "Xe3P_CRI": "nvl-p",
}
RENDER_WRITE = "?(rt_write_mode_operands)"
OPS = pytest.mark.parametrize("op", ISA.ops, ids=lambda op: op.mnemonic)
PAGES = [page for page in FACTS["pages"] if not any(kind[0] == "?" for kind in page["types"])]


@cache
def bytes_of(op: Op) -> bytes:
    """Return what an object holds for the example of an instruction."""
    unit = module_of_example(op.examples[0]).units[0]
    writer = Writer()
    ISA.encode(unit.body[-1], writer, Numbering(unit, PVC, COMMON_OBJECT))
    return bytes(writer.data)


def stated_types(op: Op) -> list[str] | None:
    """Return the types that opcodes.json states for an instruction, None where it states none."""
    fact = BY_CODE[op.code]
    for sub in fact.get("subs", ()):
        if sub["sub"] == op.sub:
            return sub["types"]
    types = fact.get("types")
    if types and types[-1] == RENDER_WRITE:
        mode = int.from_bytes(bytes_of(op)[4:6], "little")
        wanted = FACTS["render_operands"]
        return types[:-1] + [kind for bit, kind in wanted if bit is None or mode >> bit & 1]
    return types


def test_every_opcode_is_an_instruction_or_reserved():
    declared = {op.code for op in ISA.ops}
    assert not declared & RESERVED
    assert set(range(256)) == declared | RESERVED


def test_every_mnemonic_of_the_specification_is_declared():
    missing = {name for name in numbers() if ISA.by_mnemonic(name) is None}
    assert missing == UNDESCRIBED


def test_reserved_codes_are_those_of_the_specification():
    pages = {page["code"] for page in FACTS["pages"]}
    stated = {fact["code"] for fact in FACTS["opcodes"] if fact.get("reserved")} - pages
    assert {code for code in RESERVED if code in BY_CODE} == stated
    assert {code for code in RESERVED if code not in BY_CODE} == set(range(0x9D, 0x100))


@OPS
def test_an_instruction_is_stored_as_compilers_store_it(op: Op):
    if op.page in ONLY_ON_A_PAGE or BY_CODE[op.code]["name"] in ERRORS["opcodes"]:
        return
    types = stated_types(op)
    if types is not None:
        take_apart(bytes_of(op), types)


@pytest.mark.parametrize("name", ERRORS["opcodes"])
def test_a_table_that_is_said_to_be_wrong_is_wrong(name: str):
    ops = [op for op in ISA.ops if BY_CODE[op.code]["name"] == name]
    assert ops
    for op in ops:
        with pytest.raises(Mismatch):
            take_apart(bytes_of(op), stated_types(op) or [])


def ops_of(page: dict[str, Any]) -> list[Op]:
    """Return the instructions whose bytes a page describes."""
    found = [op for op in ISA.ops if op.code == page["code"]]
    found = [op for op in found if op.mnemonic not in WITHOUT_A_FIELD]
    if "sub" in page:
        return [op for op in found if op.sub == page["sub"]]
    if "operations" in page:
        return [op for op in found if op.mnemonic.removesuffix(".tgm") in page["operations"]]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["page"])
def test_an_instruction_is_stored_as_its_page_says(page: dict[str, Any]):
    wrong = page["page"] in ERRORS["formats"]
    for op in ops_of(page):
        if not wrong:
            take_apart(bytes_of(op), page["types"])
            continue
        with pytest.raises(Mismatch):
            take_apart(bytes_of(op), page["types"])


@pytest.mark.parametrize(
    ("name", "code"), {page["page"]: page["code"] for page in FACTS["pages"]}.items()
)
def test_a_page_has_instructions_with_its_number(name: str, code: int):
    declared = [op for op in ISA.ops if op.code == code]
    assert declared
    known = {op.page for op in declared} | {op.mnemonic.upper() for op in declared}
    assert name in known or ERRORS["pages"][name]


def is_later(op: Op) -> bool:
    """Whether an instruction is a message that the appendix's devices do not have.

    Numbers of messages to the sampler from 32 on need a sixth bit, which descriptors have from Xe2
    on; of the others IGC's tables say so.
    """
    if op.page in {"3D_SAMPLE", "3D_SAMPLE4"} and op.sub >= 32:
        return True
    return op.mnemonic in {*OF_XE2, *OF_XE3P}


OF_XE2 = {"sample_d_c_mlod", "load_l", "lsc_apndctr_atomic_store"} | {
    "lsc_load_quad_msrt.tgm", "lsc_store_quad_msrt.tgm"
}  # fmt: skip
OF_XE3P = {"lsc_load_quad_status.tgm", "lsc_extended_cache_ctrl"} | {
    f"lsc_atomic_bf{name}" for name in ("add", "sub", "min", "max", "cas")
}


@pytest.mark.parametrize(("page", "devices"), FACTS["devices"].items())
def test_an_instruction_is_on_the_devices_of_the_appendix(page: str, devices: list[str]):
    ops = [op for op in ISA.ops if op.page == page and not is_later(op)]
    assert ops
    older = {"bdw", "skl", "icllp", "tgllp"}
    for op in ops:
        same = [device for device in op.devices if device in older] == devices
        assert same is (page not in ERRORS["devices"])


@OPS
def test_an_instruction_is_not_on_devices_before_its_first(op: Op):
    fact = BY_CODE[op.code]
    first = fact.get("since", "all")
    if is_later(op):
        assert op.devices[0] == ("nvl-p" if op.mnemonic in OF_XE3P else "lnl")
    elif first in FIRST_DEVICES:
        assert op.devices[0] == FIRST_DEVICES[first]
    assert (op.version == NEWER) is fact.get("newer", False)


@pytest.mark.parametrize("code", [0x00, 0x3B, 0x53, 0x61, 0x9D, 0xFF])
def test_a_reserved_opcode_is_refused_as_reserved(code: int):
    data = bytearray(write_isa(module_of("ret (M1, 1)"), platform=PVC))
    data[-4] = code  # ret has four bytes
    with pytest.raises(InputError, match=f"opcode 0x{code:02x} is reserved"):
        read_isa(bytes(data), "k.isa", platform=PVC)


def test_a_sub_code_that_is_not_known_is_refused():
    module = module_of("va.centroid T6 0x0:f 0x0:f 0x8:ud V40.0")
    data = bytearray(write_isa(module, platform=PVC))
    at = module_start(bytes(data))
    data[at] = 0x0E
    with pytest.raises(InputError, match="opcode 0x44 has no such sub-code"):
        read_isa(bytes(data), "k.isa", platform=PVC)


def module_start(data: bytes) -> int:
    """Return where the operands of the only instruction begin."""
    origin = read_isa(data, "k.isa", platform=PVC).units[0].body[0].origin
    return origin.offset + 1


def test_every_instruction_is_on_some_device():
    assert not [op.mnemonic for op in ISA.ops if not op.devices]
    later = {op.mnemonic for op in ISA.ops if is_later(op)}
    assert {"sample_po", "sample_po_lz", "sample4_po_l"} < later
    assert not later & {"sample_3d", "sample4_po", "sample4_po_c"}
