"""Names of surface and sampler arguments: the source's, in texts, objects and what is printed."""

from __future__ import annotations

import numpy as np
import pytest

import visim
from visim.errors import ArgumentError
from visim.runtime.files.arguments_text import find_parameter

COPY = """\
.version 4.1
.kernel "copy"
.decl AT v_type=G type=ud num_elts=1 align=dword
.decl X v_type=G type=ud num_elts=8 align=GRF
.decl {0} v_type=T num_elts=1
.decl {1} v_type=T num_elts=1
.input {0} offset=32 size=4
.input {1} offset=36 size=4
.input AT offset=40 size=4
.kernel_attr SimdSize=8
.function "copy_0"
copy_0:
oword_ld_unaligned (2) {0} AT(0,0)<0;1,0> X.0
oword_st (2) {1} AT(0,0)<0;1,0> X.0
ret (M1, 1)
"""


def copy(form: str, source: str = "SRC", target: str = "DST") -> visim.Kernel:
    program = visim.assemble(COPY.format(source, target), platform="skl")
    if form == "object":
        program = visim.load(program.to_object(), platform="skl")
    elif form == "printed":
        program = visim.assemble(program.text(), platform="skl")
    return program["copy"]


FORMS = ["text", "object", "printed"]


@pytest.mark.parametrize("form", FORMS)
def test_arguments_have_the_names_of_the_source(form: str):
    kernel = copy(form)
    assert [argument.name for argument in kernel.args] == ["SRC", "DST", "AT"]
    given, taken = np.arange(8, dtype=np.uint32), np.zeros(8, np.uint32)
    kernel.launch({"DST": taken, "SRC": given, "AT": 0})
    assert taken.tolist() == given.tolist()


@pytest.mark.parametrize("form", ["object", "printed"])
def test_the_numbers_of_what_is_printed_stand_for_them(form: str):
    kernel = copy(form)
    given, taken = np.arange(8, dtype=np.uint32), np.zeros(8, np.uint32)
    kernel.launch({"T7": taken, "T6": given, "AT": 0})
    assert taken.tolist() == given.tolist()
    assert [find_parameter(key, kernel.args) for key in ("T7", "DST", "SRC", "T6")] == [1, 1, 0, 0]


def test_an_argument_is_given_once():
    array = np.zeros(8, np.uint32)
    with pytest.raises(ArgumentError, match="'SRC' is given twice, as 'T6', too"):
        copy("object").launch({"SRC": array, "T6": array, "DST": array, "AT": 0})


def test_messages_call_an_argument_by_its_name():
    array = np.zeros(8, np.uint32)
    with pytest.raises(ArgumentError, match="argument 'DST'"):
        copy("object").launch({"SRC": array, "DST": None, "AT": 0})
    with pytest.raises(ArgumentError, match="no argument 'Q'; it has: SRC, DST, AT"):
        copy("object").launch({"Q": array, "DST": array, "AT": 0})


@pytest.mark.parametrize("form", ["object", "printed"])
def test_names_that_number_or_do_not_tell_apart_are_no_names(form: str):
    """Compilers call the surfaces T006 and T007 in their objects."""
    assert [one.name for one in copy(form, "T006", "T007").args] == ["T6", "T7", "AT"]
    text = COPY.format("T6", "T7").replace("num_elts=1\n.i", "num_elts=1 v_name=S\n.i")
    text = text.replace(".decl T6 v_type=T num_elts=1", ".decl T6 v_type=T num_elts=1 v_name=S")
    program = visim.assemble(text, platform="skl")
    assert [one.name for one in program["copy"].args] == ["T6", "T7", "AT"]
    shadowed = visim.assemble(text.replace("v_name=S", "v_name=AT"), platform="skl")
    assert [one.name for one in shadowed["copy"].args] == ["T6", "T7", "AT"]
