"""Which operands an instruction has depends on the version that a text states."""

import pytest

from visim import assemble, link
from visim.diag import Source
from visim.errors import InputError
from visim.text.parser import parse_text
from visim.text.printer import show_module

DECLARATIONS = "\n".join(
    [
        *(f".decl V{n} v_type=G type=f num_elts=64 align=GRF" for n in range(40, 50)),
        ".decl S0 v_type=S num_elts=1 v_name=S0",
        ".decl T6 v_type=T num_elts=1 v_name=T6",
        ".decl PT v_type=G type=uq num_elts=1 align=qword",
    ]
)


def text_of(version: str, line: str) -> str:
    return f'.version {version}\n.kernel "k"\n{DECLARATIONS}\n{line}\nret (M1, 1)\n'


def item_of(version: str, line: str):
    module, findings = parse_text(Source("k", text_of(version, line)))
    assert not findings.errors, str(findings)
    return module.units[0].body[0]


class TestPairedResource:
    NEW = "sample_lz.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 %null.0 V44.0 V45.0"
    OLD = "sample_lz.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 V44.0 V45.0"

    @pytest.mark.parametrize(("version", "line"), [("4.2", NEW), ("4.1", OLD), ("3.6", OLD)])
    def test_the_parameters_are_the_same_in_all_versions(self, version, line):
        item = item_of(version, line)
        assert [operand.variable.name for operand in item.parameters] == ["V44", "V45"]
        assert (item.paired is None) is (version != "4.2")
        assert item.show() == line

    @pytest.mark.parametrize(
        "line",
        [
            "load_lz.RGBA (M1, 16)  0x0:uw T6 V40.0 %null.0 V44.0 V45.0",
            "sample4.R (M1, 16) 0x0:uw S0 T6 V40.0 %null.0 V44.0 V45.0",
            "sample_d.RGBA (M1, 16)  0x0:uw S0 T6 V40.0 %null.0 V41.0 V42.0 V43.0",
        ],
    )
    def test_every_message_with_parameters_has_one(self, line):
        assert item_of("4.2", line).show() == line
        assert item_of("4.2", line).parameters[0].variable.name != "%null"

    def test_an_older_text_with_one_is_refused(self):
        with pytest.raises(InputError, match=r"meant to be a paired resource.*4\.2 or later"):
            assemble(text_of("4.1", self.NEW), platform="dg2")

    @pytest.mark.parametrize("line", [OLD.replace("V44.0 ", ""), NEW.replace(" V44.0 V45.0", "")])
    def test_a_newer_text_without_one_has_too_few_operands(self, line):
        with pytest.raises(InputError):
            assemble(text_of("4.2", line), platform="dg2")


class TestBlocksInMemory:
    @pytest.mark.parametrize("word", ["unaligned", "aligned"])
    def test_say_how_they_are_aligned(self, word):
        line = f"svm_block_st.{word} (1) PT(0,0)<0;1,0> V40.0"
        assert item_of("4.2", line).show() == line

    def test_are_unaligned_where_no_word_says_otherwise(self):
        item = item_of("4.2", "svm_block_ld (1) PT(0,0)<0;1,0> V40.0")
        assert item.alignment == "unaligned"

    def test_of_older_texts_say_nothing(self):
        line = "svm_block_ld (1) PT(0,0)<0;1,0> V40.0"
        item = item_of("4.1", line)
        assert (item.show(), item.alignment) == (line, None)

    @pytest.mark.parametrize("word", ["unaligned", "aligned"])
    def test_of_texts_of_4_1_may_say_it(self, word):
        """ocloc 24.35 writes `.version 4.1` and `.unaligned`."""
        line = f"svm_block_ld.{word} (1) PT(0,0)<0;1,0> V40.0"
        assert item_of("4.1", line).show() == line


class TestPointersToStates:
    @pytest.mark.parametrize(
        "line",
        [
            "sample_lz.RGBA (M1, 16)  0x0:uw PT PT V40.0 %null.0 V44.0 V45.0",
            "sample_lz.RGBA (M1, 16)  0x0:uw (PT, 1)  (PT, 2)  V40.0 %null.0 V44.0 V45.0",
            "load_lz.RGBA (M1, 16)  0x0:uw PT(0,0)<0;1,0>[0]  V40.0 %null.0 V44.0 V45.0",
            "resinfo.RGBA (M1, 16)  PT V40.0 V41.0",
        ],
    )
    def test_stand_where_surfaces_and_samplers_do(self, line):
        assert item_of("4.2", line).show() == line

    @pytest.mark.parametrize(
        ("version", "operands"),
        [
            ("4.2", "T6 S0"),
            ("4.2", "S0 S0"),
            ("4.2", "V40.0 T6"),
            ("4.2", "%null T6"),
            ("4.2", "(PT, 256) T6"),
            ("4.1", "PT T6"),
            ("4.1", "S0 PT"),
        ],
    )
    def test_and_nothing_else(self, version, operands):
        line = f"sample_lz.RGBA (M1, 16)  0x0:uw {operands} V40.0 %null.0 V44.0 V45.0"
        _, findings = parse_text(Source("k", text_of(version, line)))
        assert findings.errors


class TestAddresses:
    """Lines as Intel's compiler of 2026 writes them for cri, and those of IGC's grammar."""

    @pytest.mark.parametrize(
        "line",
        [
            "lsc_store.ugm (M1, 16)  flat(PT)[0x10*V40]:a32s  V41:d32x4",
            "lsc_load.ugm.ca.ca.uc (M1, 16)  V41:d32  flat(PT)[V40-0x4]:a32u",
            "lsc_load.ugm.ca.ca.ca.ov (M1, 16)  V41:d16u32  flat(PT)[0x2*V40]:a32u",
            "lsc_load.ugm.ov (M1, 16)  V41:d16u32  flat(PT)[0x2*V40]:a32u",
            "lsc_load.ugm (M1, 16)  V41:d8u32  flat(PT)[V40]:a64",
            "lsc_load.ugm (M1, 16)  V41:d32  surf(PT,0x3)[0x4*V40+0x10]:a32s",
            "lsc_load.ugm (M1, 16)  V41:d32  surf(0x123456789AB)[V40]:a32u",
            "lsc_load.ugm (M1, 16)  V41:d32  bss(V42(0,1),0x2)[V40]:a32",
            "lsc_atomic_iadd.ugm (M1, 16)  V41:d32  flat(PT)[0x4*V40]:a32s  V42  %null",
            "lsc_load_quad.tgm (M1, 16)  V41:d32.xyzw  surf(PT)[V40]:a32u",
            "lsc_load_quad.tgm (M1, 16)  V41:d32.x  bti(0x4)[V40+5,V42-1,V43,V44]:a32",
            "lsc_store_quad.tgm (M1, 16)  surf(PT,0x1)[V40,V42]:a32u  V41:d32.xyzw",
            "lsc_load_block2d.tgm  V41:64x2  bti(0x0)[V40+1,V42-2]",
            "lsc_load_block2d.ugm (M1, 1)  V41:d16.8x8nn  flat[PT,V40,V40(0,1),V42,V43+8,V44]",
            "lsc_read_state_info.tgm  V41  surf(PT)[V40]",
            "lsc_apndctr_atomic_add.ugm (M1, 16)  V41:d32  bti(0xA0,0x1)  V42:d32",
        ],
    )
    def test_are_printed_as_the_compiler_writes_them(self, line):
        assert item_of("4.2", line).show((4, 2)) == line

    @pytest.mark.parametrize(
        "place",
        ["flat(PT)[V40]:a32s", "surf(PT)[V40]:a32", "flat[V40]:a32u", "bss(V42,0x2)[V40]:a32"],
    )
    def test_are_refused_in_older_texts(self, place):
        _, findings = parse_text(
            Source("k", text_of("4.1", f"lsc_load.ugm (M1, 16)  V41:d32  {place}"))
        )
        (finding,) = findings.errors
        assert "4.2 and later" in finding.message
        assert (finding.line, finding.origin.column > 1) == (16, True)

    @pytest.mark.parametrize(
        "line",
        [
            "lsc_load.ugm.ca.ca.ca.ca (M1, 16)  V41:d32  flat[PT]:a64",
            "lsc_store.ugm.ca.ca.ov (M1, 16)  flat[PT]:a64  V41:d32",
            "lsc_load_quad.tgm.ov (M1, 16)  V41:d32.x  surf(PT)[V40]:a32u",
            "lsc_load.ugm (M1, 16)  V41:d32  flat(PT,0x1)[V40]:a32s",
            "lsc_load.ugm (M1, 16)  V41:d32  flat(PT)[V40]:a64s",
            "lsc_load.ugm (M1, 16)  V41:d32  flat(PT)[V40]:a32s V42",
            "lsc_load.ugm (M1, 16)  flat(PT)[V40]:a32s  V41:d32",
            "lsc_load.ugm (M1, 16)  V41:d32  surf[V40]:a32s",
            "lsc_load_quad.tgm (M1, 16)  V41:d32.x  surf(PT)[]:a32u",
            "lsc_load_quad.tgm (M1, 16)  V41:d32.x  surf(PT)[V40,V42,V43,V44,V45]:a32u",
            "lsc_read_state_info.tgm  V41  surf(PT)",
        ],
    )
    def test_that_are_not_right_are_errors(self, line):
        _, findings = parse_text(Source("k", text_of("4.2", line)))
        assert findings.errors


class TestCacheControls:
    LINE = "lsc_load.ugm.ca.cc (M1, 16)  V41:d32  flat[PT]:a64"

    def test_cc_is_another_word_for_ri_in_older_texts_only(self):
        assert item_of("4.2", self.LINE).cache.l3 == "cc"
        assert item_of("4.1", self.LINE).cache.l3 == "ri"
        assert item_of("4.2", self.LINE).show((4, 2)) == self.LINE

    def test_the_second_of_three_is_that_of_the_second_level(self):
        cache = item_of("4.2", self.LINE.replace(".ca.cc", ".ca.uc.wb")).cache
        assert (cache.l1, cache.l2, cache.l3) == ("ca", "uc", "wb")


class TestPredefined:
    def test_scratchloc_is_one_of_newer_texts(self):
        alias = ".decl X v_type=G type=uq num_elts=1 align=qword alias=<%scratchloc, 0>\n"
        for version, known in (("4.1", False), ("4.2", True)):
            _, findings = parse_text(Source("k", text_of(version, alias)))
            assert (not findings.errors) is known

    def test_v21_is_free_in_older_texts(self):
        declared = ".decl V21 v_type=G type=uq num_elts=1\n.input V21 offset=64 size=8\n"
        for version, free in (("4.1", True), ("4.2", False)):
            _, findings = parse_text(Source("k", text_of(version, declared)))
            assert (not findings.errors) is free

    def test_a_text_lists_those_of_its_version(self):
        for version in ("4.1", "4.2"):
            module, _ = parse_text(Source("k", text_of(version, "")))
            assert ("%scratchloc" in show_module(module)) is (version == "4.2")


def test_texts_of_two_versions_are_linked_in_the_newer(tmp_path):
    old, new = tmp_path / "old.visaasm", tmp_path / "new.visaasm"
    old.write_text(text_of("4.1", TestPairedResource.OLD))
    new.write_text(text_of("4.2", TestPairedResource.NEW).replace('"k"', '"k2"'))
    linked = link([old, new], platform="dg2").text()
    assert linked.startswith(".version 4.2")
    assert linked.count("%null.0 V44.0 V45.0") == 2


def test_a_text_is_printed_in_its_own_version():
    module, _ = parse_text(Source("k", text_of("4.2", TestPairedResource.NEW)))
    assert "V40.0 %null.0 V44.0" in show_module(module)
