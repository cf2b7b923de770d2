"""Whatever a text says, reading it ends in a module or in an InputError."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.pairs import dumps
from tests.unit.text.texts import HEAD
from visim.diag import Source
from visim.errors import InputError
from visim.text import read_text, show_module

_SHORT = [dump.text for dump in dumps() if len(dump.text) < 12_000]
_SNIPPETS = st.sampled_from(
    ["", " ", "(", ")", "<", ">", ",", ".", ":", "-", "0x", "99999", "{", "}", '"', "/*", "//",
     "\\", "\n", "\r", "\t", "\0", "é", "٣", "V32", "P1", "T6", "r[", "&", "(M1, 16)", "_0_004",
     "mov", ".decl ", ".kernel ", ".function ", "\u2028", "1.5:f", ":ud", "%r0", "\ud800"]
)  # fmt: skip


@st.composite
def mutated_texts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(_SHORT))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 2, 5, 40]))
        text = text[:start] + draw(_SNIPPETS) + text[start + length :]
    return text


def refused(text: str) -> InputError | None:
    """Return the error that reading `text` gives; what is read must print to a fixed point."""
    try:
        module = read_text(Source("t", text))
    except InputError as error:
        return error
    printed = show_module(module)
    assert show_module(read_text(Source("printed", printed))) == printed
    return None


def check(text: str) -> None:
    error = refused(text)
    assert error is None or (error.diagnostics.errors and str(error))


@settings(max_examples=60, deadline=None)
@given(mutated_texts())
def test_a_damaged_dump_is_read_or_refused(text: str):
    check(text)


@settings(max_examples=150, deadline=None)
@given(st.lists(_SNIPPETS | st.text(max_size=3), max_size=12))
def test_any_line_is_read_or_refused(pieces: list[str]):
    check(HEAD + "".join(pieces) + "\n")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str):
    check(text)
