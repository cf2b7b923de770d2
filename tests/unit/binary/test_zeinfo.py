"""The text that describes kernels: what is read, and what is refused in which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visim.binary.zeinfo import ZeInfo, read_ze_info
from visim.errors import InputError

ENVIRONMENT = "execution_env: {grf_count: 128, simd_size: 16}"


def read(text: str) -> ZeInfo:
    return read_ze_info(text.encode(), "k.zebin", 1000)


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(text)
    (finding,) = caught.value.diagnostics
    assert finding.code == "bad-ze-info"
    return finding.message


def kernel(*lines: str, environment: str = ENVIRONMENT) -> str:
    body = "".join(f"    {line}\n" for line in (environment, *lines))
    return f"version: '1.20'\nkernels:\n  - name: saxpy\n{body}"


class TestReading:
    def test_missing_keys_have_the_defaults_of_the_specification(self):
        (found,) = read(kernel()).kernels
        assert found.execution_env.slm_size == 0
        assert found.execution_env.work_group_walk_order_dimensions == (0, 1, 2)
        assert found.user_attributes.reqd_work_group_size == (0, 0, 0)
        assert found.user_attributes.invalid_kernel is None
        assert found.payload_arguments == ()

    def test_an_argument_without_index_or_source_offset_has_minus_one(self):
        text = kernel("payload_arguments: [{arg_type: global_size, offset: 4, size: 12}]")
        (argument,) = read(text).kernels[0].payload_arguments
        assert (argument.offset, argument.size) == (4, 12)
        assert (argument.arg_index, argument.source_offset, argument.sampler_index) == (-1, -1, -1)

    def test_keys_of_newer_formats_are_ignored(self):
        text = kernel("novelty: {a: [1, 2, {b: c}]}") + "later: [1, 2]\n"
        assert read(text) == read(kernel())

    def test_a_name_that_looks_like_another_type_is_a_name(self):
        text = kernel().replace("saxpy", "yes")
        assert read(text).kernels[0].name == "yes"
        assert read(text.replace("yes", "'12'")).kernels[0].name == "12"

    def test_empty_lists_may_be_spelled_as_nothing(self):
        assert read("version: '1.20'\nkernels:\n").kernels == ()
        assert read("version: '1.20'\nkernels: []\n").kernels == ()

    def test_terminators_after_the_text_do_not_matter(self):
        assert read(kernel() + "\0\0") == read(kernel())

    def test_arguments_are_found_by_kernel_and_sorted(self):
        entry = "address_qualifier: __global, access_qualifier: NONE, type_qualifiers: NONE"
        text = kernel() + (
            "kernels_misc_info:\n  - name: other\n  - name: saxpy\n    args_info:\n"
            f"      - {{index: 1, name: y, type_name: 'int;4', {entry}}}\n"
            f"      - {{index: 0, type_name: 'int*;8', {entry}}}\n"
        )
        described = read(text).kernels[0].args_info
        assert [(a.index, a.name, a.type_name) for a in described] == [
            (0, None, "int*;8"),
            (1, "y", "int;4"),
        ]

    def test_functions_have_environments(self):
        text = kernel() + f"functions:\n  - name: f\n    {ENVIRONMENT}\n"
        (function,) = read(text).functions
        assert (function.name, function.execution_env.simd_size) == ("f", 16)


class TestRefusing:
    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("kernels: []", ".ze_info: the required key `version` is missing"),
            ("version: '2.0'\nkernels: []", "`version` is '2.0', only 1.x is known"),
            ("version: '1.1'\nkernels: 3", "`kernels` is not a list"),
            ("version: '1.1'\nkernels: [3]", "`kernels`[0] of .ze_info: keys and values"),
            (
                "version: '1.1'\nkernels: [{name: k}]",
                "kernel 'k': the required key `execution_env`",
            ),
            ("- 1", ".ze_info: keys and values are expected"),
            ("", "the text is empty"),
            ("version: [", "the text is not YAML"),
        ],
    )
    def test_the_shape_of_the_whole(self, text, complaint):
        assert complaint in refused(text)

    @pytest.mark.parametrize(
        ("environment", "complaint"),
        [
            ("execution_env: {simd_size: 16}", "the required key `grf_count` is missing"),
            (
                "execution_env: {grf_count: 1, simd_size: 7}",
                "`simd_size` is 7, one of 1, 8, 16, 32",
            ),
            ("execution_env: {grf_count: x, simd_size: 8}", "`grf_count` is not an integer"),
            ("execution_env: {grf_count: '1', simd_size: 8}", "`grf_count` is not an integer"),
            ("execution_env: {grf_count: -1, simd_size: 8}", "`grf_count` is -1, at least 0"),
            ("execution_env: 3", "keys and values are expected"),
            (
                "execution_env: {grf_count: 1, simd_size: 8, has_dpas: maybe}",
                "`has_dpas` is 'maybe', true or false is expected",
            ),
            (
                "execution_env: {grf_count: 1, simd_size: 8, required_work_group_size: [1, 2]}",
                "`required_work_group_size` is not a list of three integers",
            ),
        ],
    )
    def test_an_environment_names_key_and_kernel(self, environment, complaint):
        message = refused(kernel(environment=environment))
        assert message.startswith("`execution_env` of kernel 'saxpy': ")
        assert complaint in message

    @pytest.mark.parametrize(
        ("argument", "complaint"),
        [
            ("{arg_type: local_size, offset: 4}", "the required key `size` is missing"),
            ("{arg_type: [x], offset: 4, size: 4}", "`arg_type` is not a single value"),
            ("{arg_type: x, offset: 4, size: 4, arg_index: -2}", "`arg_index` is -2, at least -1"),
            ("{arg_type: x, offset: 99999999999, size: 4}", "`offset` is 99999999999"),
            ("{arg_type: x, offset: 65535, size: 4}", "`size` reaches byte 65539"),
        ],
    )
    def test_an_argument_is_named_by_its_position(self, argument, complaint):
        message = refused(kernel(f"payload_arguments: [{argument}]"))
        assert message.startswith("`payload_arguments`[0] of kernel 'saxpy': ")
        assert complaint in message

    def test_a_kernel_is_there_once(self):
        entry = kernel().split("kernels:\n")[1]
        assert "two kernels of this name" in refused(kernel() + entry)

    def test_a_key_is_there_once(self):
        assert "key `execution_env` is there twice" in refused(kernel(ENVIRONMENT))

    def test_the_place_is_an_offset_in_the_file(self):
        text = kernel(environment="execution_env: {grf_count: 128, simd_size: 3}")
        with pytest.raises(InputError) as caught:
            read(text)
        (finding,) = caught.value.diagnostics
        assert finding.offset == 1000 + text.index("3}")


class TestBombs:
    @pytest.mark.parametrize(
        "text",
        [
            "a: &x [1]\nb: *x",
            "a: &x 1",
            "&x a: 1",
            "a: *x",
        ],
    )
    def test_anchors_and_aliases_are_refused(self, text):
        assert refused(text) == "anchors and aliases are not accepted"

    def test_tags_are_refused(self):
        assert refused("a: !!python/object/apply:os.getcwd []") == "tags are not accepted"

    @pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "{b: " * 1000, "- " * 10_000])
    def test_depth_is_limited(self, text):
        assert "16 levels" in refused(text) or "not YAML" in refused(text)

    def test_a_second_document_is_refused(self):
        assert refused("a: 1\n---\nb: 1") == "a second document begins"

    def test_keys_are_words(self):
        assert refused("? [a]\n: 1") == "a key is a single word"

    def test_bytes_that_are_no_text_are_refused(self):
        with pytest.raises(InputError, match="not YAML"):
            read_ze_info(b"version: \xff\xfe", "k.zebin")

    @given(st.text(alphabet="ab:[]{},-? \n'\"&*!|>#%\0\t\\", max_size=60))
    def test_any_text_is_refused_in_words(self, text):
        refused(text)
