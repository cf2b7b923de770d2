"""What the texts of --arg mean (visim.runtime.files.arguments_text)."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.errors import ArgumentError, Correction
from visim.runtime.arguments.buffers import Local
from visim.runtime.arguments.images import Sampler
from visim.runtime.files.arguments_text import (
    ArgumentText,
    describe,
    find_parameter,
    read_arguments,
    read_surfaces,
    read_value,
    split_option,
)
from visim.runtime.pictures import encode_png


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str = "buffer"
    size: int | None = 8
    type_name: str | None = "float*"
    numbered: str | None = None


X_AND_N = (Parameter("x"), Parameter("n", "value", 4, "int"))


def value(text, folder=Path(), seed=(0,)):
    return read_value(ArgumentText("x", text, folder), name="x", seed=seed)


class TestNumbers:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("f32:2", np.float32(2)),
            ("f32:-2.5e3", np.float32(-2500)),
            ("f32:0x1.8p1", np.float32(3)),
            ("f16:65504", np.float16(65504)),
            ("f64:0.1", np.float64(0.1)),
            ("u8:255", np.uint8(255)),
            ("i8:-128", np.int8(-128)),
            ("u32:0xff", np.uint32(255)),
            ("i64:-0x10", np.int64(-16)),
            ("u64:18446744073709551615", np.uint64(2**64 - 1)),
            ("u32:007", np.uint32(7)),
            ("int:7", np.int32(7)),
            ("uint:7", np.uint32(7)),
            ("double:7", np.float64(7)),
            ("half:7", np.float16(7)),
            ("long:7", np.int64(7)),
            ("char:7", np.int8(7)),
            ("ud:7", np.uint32(7)),
            ("HF:7", np.float16(7)),
        ],
    )
    def test_a_number_has_the_type_it_names(self, text, expected):
        assert value(text) == expected
        assert value(text).dtype == expected.dtype

    def test_infinity_and_nan_are_numbers(self):
        assert value("f32:-inf") == -np.inf
        assert np.isnan(value("f32:nan"))

    def test_several_numbers_are_the_bytes_of_a_vector(self):
        assert value("f32:1,2") == np.array([1, 2], np.float32).tobytes()

    @given(st.sampled_from(["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]), st.integers())
    def test_an_integer_is_kept_or_refused(self, dtype, number):
        limits = np.iinfo(dtype.replace("i", "int").replace("u", "uint"))
        if limits.min <= number <= limits.max:
            assert int(value(f"{dtype}:{number}")) == number
        else:
            with pytest.raises(ArgumentError, match="out of the range"):
                value(f"{dtype}:{number}")

    @pytest.mark.parametrize(
        "text",
        [
            "u8:256",
            "u8:-1",
            "i8:1.5",
            "i8:1_0",
            "f32:",
            "f32:x",
            "f32:1e39",
            "f16:1e5",
            "f64:1e400",
        ],
    )
    def test_what_does_not_fit_is_refused_with_an_example(self, text):
        with pytest.raises(ArgumentError) as caught:
            value(text)
        assert "argument 'x'" in str(caught.value)
        assert repr(text) in str(caught.value)
        assert "visim run --help lists all forms" in str(caught.value)

    def test_where_no_parameter_says_it_a_number_names_its_type(self):
        with pytest.raises(ArgumentError, match="say of what type the number is, such as f32:2"):
            value("7")


class TestArrays:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("zeros:f32:3", np.zeros(3, np.float32)),
            ("ones:u8:2x3", np.ones((2, 3), np.uint8)),
            ("iota:i16:2x2", np.array([[0, 1], [2, 3]], np.int16)),
            ("iota:u8:256", np.arange(256, dtype=np.uint8)),
            ("iota:f16:2049", np.arange(2049, dtype=np.float16)),
        ],
    )
    def test_an_array_is_filled_as_said(self, text, expected):
        np.testing.assert_array_equal(value(text), expected)
        assert value(text).dtype == expected.dtype

    def test_random_floats_lie_between_zero_and_one(self):
        for dtype in ("f16", "f32", "f64"):
            numbers = value(f"rand:{dtype}:5000")
            assert numbers.min() >= 0
            assert numbers.max() < 1

    def test_random_integers_use_the_whole_range(self):
        numbers = value("rand:i8:5000")
        assert (numbers.min(), numbers.max()) == (-128, 127)

    def test_random_numbers_follow_the_seed(self):
        first, again, other = (value("rand:f32:9", seed=seed) for seed in ((1,), (1,), (2,)))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    @pytest.mark.parametrize(
        "text",
        ["zeros", "zeros:f32", "zeros:f32:0", "zeros:f32:-1", "zeros:f32:2x", "zeros:f33:2",
         "iota:u8:257", "iota:f16:4096", "zeros:u8:99999999999999999999"],
    )  # fmt: skip
    def test_what_is_no_array_is_refused(self, text):
        with pytest.raises(ArgumentError, match="argument 'x'"):
            value(text)


class TestFiles:
    def test_an_array_file_is_found_in_its_folder(self, tmp_path):
        np.save(tmp_path / "a.npy", np.arange(3))
        np.testing.assert_array_equal(value("npy:a.npy", tmp_path), [0, 1, 2])

    def test_foreign_byte_order_and_layout_become_those_of_the_device(self, tmp_path):
        np.save(tmp_path / "a.npy", np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)))
        array = value("npy:a.npy", tmp_path)
        assert array.dtype == np.dtype("<i4")
        assert array.flags.c_contiguous
        assert array.flags.writeable
        np.testing.assert_array_equal(array, [[0, 1, 2], [3, 4, 5]])

    def test_a_dash_is_the_standard_input(self, monkeypatch):
        buffer = io.BytesIO()
        np.save(buffer, np.arange(3))
        buffer.seek(0)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
        np.testing.assert_array_equal(value("npy:-"), [0, 1, 2])

    def test_a_missing_file_is_named(self, tmp_path):
        with pytest.raises(ArgumentError, match=r"there is no file .*nope\.npy"):
            value("npy:nope.npy", tmp_path)

    def test_a_file_may_be_a_pipe(self):
        stream = io.BytesIO()
        np.save(stream, np.arange(3))
        reader, writer = os.pipe()
        os.write(writer, stream.getvalue())
        os.close(writer)
        np.testing.assert_array_equal(value(f"npy:/dev/fd/{reader}"), [0, 1, 2])
        os.close(reader)

    @pytest.mark.parametrize("form", ["npy:{}", "image:{}", "image:{}/folder.png"])
    def test_a_folder_is_no_file(self, tmp_path, form):
        (tmp_path / "folder.png").mkdir()
        with pytest.raises(ArgumentError, match=r"'x': .* cannot be read: Is a directory$"):
            value(form.format(tmp_path))

    def test_a_name_that_is_too_long_is_no_file(self):
        with pytest.raises(ArgumentError, match=r"'x': a+ cannot be read: File name too long$"):
            value("npy:" + "a" * 300)

    def test_files_that_are_no_arrays_are_refused(self, tmp_path):
        (tmp_path / "a.npy").write_bytes(b"text")
        np.savez(tmp_path / "b.npz", np.arange(3))
        np.save(tmp_path / "c.npy", np.array([None]), allow_pickle=True)
        for name in ("a.npy", "b.npz", "c.npy"):
            with pytest.raises(ArgumentError, match="argument 'x'"):
                value(f"npy:{name}", tmp_path)


class TestOtherKinds:
    def test_hex_is_bytes(self):
        assert value("hex:0000803f") == b"\0\0\x80\x3f"

    def test_null_is_the_null_pointer(self):
        assert value("null") is None

    def test_local_is_local_memory(self):
        assert isinstance(value("local:256"), Local)

    def test_a_plain_number_of_a_launch_file_stays_as_it_is(self):
        assert value(7) == 7
        assert value(True) is True

    def test_a_png_file_is_an_image_of_normalised_bytes(self, tmp_path):
        picture = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
        (tmp_path / "a.png").write_bytes(encode_png(picture))
        image = read_value(ArgumentText("x", "image:a.png", tmp_path), name="x", seed=(0,))
        assert (image.format, image.width, image.height) == ("rgba:unorm8", 3, 2)
        assert np.array_equal(image.array, picture)

    def test_an_array_file_is_an_image(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((2, 3), np.float32))
        image = read_value(
            ArgumentText("x", "image:a.npy@depth:float", tmp_path), name="x", seed=()
        )
        assert repr(image) == "Image(2d 3x2 depth:float)"

    def test_images_may_be_filled(self):
        assert repr(value("image:zeros:u8:4x5x4@unorm8")) == "Image(2d 5x4 rgba:unorm8)"
        assert repr(value("image:ones:f32:4x5")) == "Image(2d 5x4 r:float)"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("image:none.png", "'x': there is no file .*none.png"),
            ("image:zeros:u8:4x5x3", "'x': an image of 3 channels"),
            ("image:zeros:u8:4x5@rgba:float", "'x': Image: rgba:float has 4 channels"),
            ("sampler:wrap", "'x': address: 'wrap' is not known"),
            ("sampler:repeat", "'x': .*normalized=True"),
            ("sampler:clamp,linear,nearest", "a sampler has an address mode and a filter"),
            ("sampler:clamp,mips=linear", "'mips' is not an option of samplers"),
            ("sampler:clamp,bias=much", "'much' is not a number"),
            ("sampler:clamp,border=1/2", "four numbers"),
        ],
    )
    def test_what_is_no_image_or_sampler_is_refused(self, text, message):
        with pytest.raises(ArgumentError, match=message):
            value(text)

    def test_samplers_have_words(self):
        assert value("sampler:") == Sampler()
        expected = Sampler(address="repeat", filter="linear", normalized=True)
        assert value("sampler:repeat,linear,normalized") == expected
        text = "sampler:clamp,linear,normalized,mip=nearest,compare=less,max_lod=2.5,border=0/0/0/1"
        assert value(text) == Sampler(
            address="clamp",
            filter="linear",
            normalized=True,
            mip="nearest",
            compare="less",
            max_lod=2.5,
            border=(0, 0, 0, 1),
        )

    @pytest.mark.parametrize(
        "text", ["", "7", "null:1", "hex:", "hex:0", "local:", "local:-1", "x:1"]
    )
    def test_anything_else_is_refused_with_an_example(self, text):
        with pytest.raises(ArgumentError) as caught:
            value(text)
        assert "visim run --help lists all forms" in str(caught.value)


class TestArguments:
    def test_arguments_are_named_or_numbered(self):
        texts = [ArgumentText("n", "i32:3"), ArgumentText("0", "null")]
        assert read_arguments(texts, X_AND_N, seed=0) == [None, 3]

    def test_missing_arguments_bring_the_options_that_give_them(self):
        expected = r"no value for n \(value int\); give --arg"
        with pytest.raises(ArgumentError, match=expected) as caught:
            read_arguments([ArgumentText("x", "null")], X_AND_N, seed=0)
        assert caught.value.correction == Correction(missing=(("arg", "n=1"),))

    def test_an_unknown_argument_brings_the_nearest_name(self):
        with pytest.raises(ArgumentError, match="no argument 'xs'; did you mean 'x'"):
            find_parameter("xs", X_AND_N)

    def test_an_argument_is_given_once(self):
        with pytest.raises(ArgumentError, match="argument 'x' is given twice"):
            read_arguments([ArgumentText("x", "null"), ArgumentText("0", "null")], X_AND_N, seed=0)

    def test_equal_texts_get_different_random_numbers(self):
        texts = [ArgumentText(key, "rand:f32:4") for key in ("0", "1")]
        first, second = read_arguments(texts, (Parameter("x"), Parameter("y")), seed=0)
        assert (first != second).any()

    def test_the_list_of_arguments_says_kind_and_type(self):
        assert describe(X_AND_N) == "it takes x (buffer float*), n (value int)"
        assert describe([]) == "the kernel takes no arguments"


def of_parameter(text, kind="value", type_name="int", size=4):
    parameter = Parameter("a", kind, size, type_name)
    return read_arguments([ArgumentText("a", text)], [parameter], seed=0)[0]


class TestTheTypeOfTheParameter:
    """A value that names no type has that of the parameter."""

    @pytest.mark.parametrize(
        ("type_name", "size", "text", "expected"),
        [
            ("int", 4, "-7", np.int32(-7)),
            ("uint", 4, "0xff", np.uint32(255)),
            ("unsigned int", 4, "7", np.uint32(7)),
            ("uint32_t", 4, "7", np.uint32(7)),
            ("float", 4, "2", np.float32(2)),
            ("float", 4, "-inf", np.float32(-np.inf)),
            ("float", 4, ".5", np.float32(0.5)),
            ("half", 2, "1e3", np.float16(1000)),
            ("double", 8, "0.1", np.float64(0.1)),
            ("const uchar", 1, "255", np.uint8(255)),
            ("size_t", 8, "9", np.uint64(9)),
            ("F", 4, "2.5", np.float32(2.5)),
            ("UD", 4, "7", np.uint32(7)),
        ],
    )
    def test_of_a_number(self, type_name, size, text, expected):
        found = of_parameter(text, "value", type_name, size)
        assert found == expected
        assert found.dtype == expected.dtype

    @pytest.mark.parametrize(
        ("type_name", "size", "text", "expected"),
        [
            ("float2", 8, "1,2", np.array([1, 2], np.float32)),
            ("uchar4", 4, "1, 2, 3, 4", np.array([1, 2, 3, 4], np.uint8)),
            ("int3", 16, "1,2,3", np.array([1, 2, 3, 0], np.int32)),
            ("UD[4]", 16, "1,2,3,4", np.array([1, 2, 3, 4], np.uint32)),
        ],
    )
    def test_of_a_vector(self, type_name, size, text, expected):
        assert of_parameter(text, "value", type_name, size) == expected.tobytes()

    @pytest.mark.parametrize("type_name", ["float*", "__global float *", "const float4*"])
    def test_of_what_a_pointer_points_to(self, type_name):
        for text, expected in (("iota:3", [0, 1, 2]), ("5,6", [5, 6])):
            found = of_parameter(text, "buffer", type_name, 8)
            assert found.dtype == np.float32
            np.testing.assert_array_equal(found, expected)

    def test_of_local_memory_it_is_the_number_of_bytes(self):
        assert of_parameter("256", "local", "float*", None) == Local(256)

    def test_an_address_of_a_vISA_kernel_may_be_a_number(self):
        assert of_parameter("0x40", "buffer", "UQ", 8) == 64

    @pytest.mark.parametrize(
        ("kind", "type_name", "size", "text", "message"),
        [
            ("value", "uchar", 1, "256", "256 is out of the range 0..255 of uint8"),
            ("value", "int", 4, "1.5", "'1.5' is not an integer: '1.5'; expected for example a=1"),
            ("value", "float4", 16, "1,2", "expected 4 numbers, found 2"),
            ("value", "int", 4, "zeros:i32:4", "expected a number, found an array"),
            (
                "local",
                "float*",
                None,
                "zeros:f32:4",
                "local memory is given by its number of bytes",
            ),
            ("buffer", "float*", 8, "f32:2", "a pointer needs an array, found a number"),
            ("value", "params_t", 12, "1", "say of what type the number is"),
            ("buffer", "float*", 8, "2", "a pointer needs an array.* a=zeros:1024 for a float"),
            ("buffer", "node_t*", 8, "zeros:4", "say of what type the elements are"),
            ("buffer", "UQ", 8, "zeros:4", "such as zeros:f32:4"),
        ],
    )
    def test_what_does_not_fit_says_what_would(self, kind, type_name, size, text, message):
        with pytest.raises(ArgumentError, match=message):
            of_parameter(text, kind, type_name, size)

    def test_a_type_that_is_written_stays(self):
        assert of_parameter("f32:2").dtype == np.float32
        assert of_parameter("iota:u8:2", "buffer", "float*", 8).dtype == np.uint8


def test_an_argument_can_be_part_of_another():
    texts = [
        ArgumentText("y", "as:x+4"),
        ArgumentText("x", "iota:i32:4"),
        ArgumentText("z", "as:x"),
    ]
    names = (Parameter("x"), Parameter("y"), Parameter("z"))
    x, y, z = read_arguments(texts, names, seed=0)
    assert np.shares_memory(x, y)
    assert y.view(np.int32).tolist() == [1, 2, 3]
    assert z is x


@pytest.mark.parametrize("text", ["as:n", "as:x+16", "as:x+", "as:x+-4", "as:q"])
def test_a_part_of_what_is_no_array_is_an_error(text):
    texts = [ArgumentText("x", "iota:i32:4"), ArgumentText("n", "3"), ArgumentText("y", text)]
    with pytest.raises(ArgumentError, match=r"argument 'y'|no argument 'q'"):
        read_arguments(texts, (*X_AND_N, Parameter("y")), seed=0)


def test_the_name_of_a_file_is_asked_what_it_is(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(ArgumentError, match=r"say what the file is: x=npy:a\.npy"):
        value("a.npy", tmp_path)


def test_surfaces_are_numbered():
    surfaces = read_surfaces([ArgumentText("3", "null")], seed=0)
    assert surfaces == {3: None}
    with pytest.raises(ArgumentError, match="expected an index in its table"):
        read_surfaces([ArgumentText("x", "null")], seed=0)
    with pytest.raises(ArgumentError, match="surface 3 is given twice"):
        read_surfaces([ArgumentText("3", "null"), ArgumentText("3", "null")], seed=0)


def test_an_option_is_split_at_its_first_equals_sign():
    assert split_option("x=npy:a=b.npy", "--arg") == ("x", "npy:a=b.npy")
    with pytest.raises(ArgumentError, match="expected --arg KEY=VALUE"):
        split_option("x", "--arg")
