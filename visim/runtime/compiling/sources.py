"""What users hand to the compiler: files and texts, headers, and where included files are.

Several sources are one translation unit, in their order, as clCreateProgramWithSource takes its
strings. Each keeps its name and its lines. A file's `#include "name"` means the file beside it, as
in C, although the compiler sees one text in a folder of its own.
"""

from __future__ import annotations

import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, cast

from visim.diag import Source, Span
from visim.errors import ArgumentError, InputError, shown
from visim.runtime.given import check_text, read_file

NO_FILE = "source.cl"
"""What a text is called that is in no file."""
NO_FOLDER = Path("/visim.opencl.build")
"""Where line information says it is: the name of a folder that says where it came from."""
HEADERS = "headers"
"""The folder of given headers, in that of the compiler's process."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_QUOTED = re.compile(r'^(\s*#\s*include\s*)"([^"\n]+)"', re.MULTILINE)
_INCLUDE = re.compile(r"^\s*#\s*include\b", re.MULTILINE)

Part = str | os.PathLike[str]
"""One source: the text of a program, or the path of its file."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text: what messages call it, what the compiler is told, and its file, if it is in one."""

    name: str
    text: str
    file: Path | None = None

    @property
    def spelled(self) -> str:
        """The path that line information gets: of the user's file, or in a folder of no disk."""
        return str(self.file if self.file is not None else NO_FOLDER / self.name)

    def unit(self) -> str:
        """Return the text with its name and lines, as part of a translation unit."""
        escaped = self.spelled.replace("\\", "\\\\").replace('"', '\\"')
        return f'#line 1 "{escaped}"\n{self._with_own_includes()}'

    def _with_own_includes(self) -> str:
        """Name files beside this one by their whole paths."""
        if self.file is None:
            return self.text
        folder = self.file.parent

        def beside(match: re.Match[str]) -> str:
            path = folder / match[2]
            is_there = path.is_file() and '"' not in str(path)
            return f'{match[1]}"{path}"' if is_there else match[0]

        return _QUOTED.sub(beside, self.text)


@dataclass(frozen=True, slots=True)
class Sources:
    """All that is compiled to one program: texts in order, and headers by the names they have."""

    texts: tuple[Text, ...]
    headers: tuple[Text, ...] = ()
    folders: tuple[Path, ...] = field(default=())

    @property
    def name(self) -> str:
        """What messages call the program."""
        return self.texts[0].name

    def unit(self) -> bytes:
        """Return the translation unit.

        The length of a text has to count a NUL behind it, else later builds read beyond it.
        """
        return ("\n".join(text.unit() for text in self.texts) + "\0").encode()

    def files(self) -> dict[str, bytes]:
        """Return what has to be in the folder of the compiler's process: the headers."""
        return {f"{HEADERS}/{entry.name}": entry.unit().encode() for entry in self.headers}

    def include_folders(self) -> tuple[str, ...]:
        """Return where included files are looked for, in this order."""
        given = [HEADERS] if self.headers else []
        folders = [*given, *(str(folder) for folder in self.folders)]
        if any(_INCLUDE.search(entry.text) for entry in (*self.texts, *self.headers)):
            beside = [entry.file.parent for entry in self.texts if entry.file is not None]
            folders += [str(folder) for folder in (*beside, Path.cwd())]
        return tuple(dict.fromkeys(folders))

    def by_spelling(self) -> dict[str, Source]:
        """Return the texts by the names that the compiler's log has for them."""
        entries = (*self.texts, *self.headers)
        sources = [Source(entry.name, entry.text) for entry in entries]
        spelled = [entry.spelled for entry in entries]
        return {source.name: source for source in sources} | dict(
            zip(spelled, sources, strict=True)
        )


def read_sources(
    source: Part | Sequence[Part],
    name: str,
    headers: Mapping[str, str] | None,
    include: Sequence[Part],
) -> Sources:
    """Return what is to be compiled.

    Args:
        source: the text of a program, the path of its file, or several of these.
        name: what messages call a text; if it is the path of a file, the text is taken for its.
        headers: the texts of included files by the names that `#include` has.
        include: folders in which included files are looked for.

    Raises:
        ArgumentError: one of these is something else, or a folder is not there.
        InputError: a source is no text.
        FileNotFoundError: a file is not there.
    """
    parts = _parts(source)
    texts = tuple(_text(part, _numbered(name, number, parts)) for number, part in enumerate(parts))
    if not texts:
        raise ArgumentError("source: expected at least one text or path, found an empty list")
    made = tuple(_header(key, value) for key, value in (headers or {}).items())
    folders = tuple(_folder(item) for item in include)
    for entry in (*texts, *made):
        _check_characters(entry)
    return Sources(texts, made, folders)


def _parts(source: object) -> tuple[Any, ...]:
    if isinstance(source, (list, tuple)):
        return tuple(cast("Sequence[Any]", source))
    return (source,)


def _numbered(name: str, number: int, parts: tuple[Any, ...]) -> str:
    """Return the name of a text: several of them are told apart by their numbers."""
    texts = sum(isinstance(part, str) for part in parts)
    path = Path(name)
    return name if texts < 2 else f"{path.stem}-{number + 1}{path.suffix}"


def _text(part: object, name: str) -> Text:
    if isinstance(part, os.PathLike):
        path = Path(os.fspath(cast("os.PathLike[str]", part)))
        return Text(str(path), decoded(read_file(path), str(path)), path.absolute())
    check_text("source", part, "OpenCL C as a str, the path of a file, or a SPIR-V module as bytes")
    shown_name = name if name.isprintable() else NO_FILE
    path = Path(shown_name)
    text = cast("str", part).removeprefix("\ufeff")
    return Text(shown_name, text, path.absolute() if path.is_file() else None)


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file; what is not UTF-8 is an older file's Latin-1.

    Raises:
        InputError: it is UTF-16.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        message = f"{name}: the text is UTF-16, expected UTF-8; save it as UTF-8"
        raise InputError(message, code="opencl-source")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _header(name: object, text: object) -> Text:
    check_text("headers", name, "names of included files")
    check_text(f"headers[{name!r}]", text, "the text of a header")
    path = PurePosixPath(cast("str", name))
    if path.is_absolute() or ".." in path.parts or not path.parts or not str(name).isprintable():
        raise ArgumentError(
            f"headers: expected names of included files below a folder, found {shown(name)}"
        )
    return Text(str(path), cast("str", text).removeprefix("\ufeff"))


def _folder(item: object) -> Path:
    if not isinstance(item, (str, os.PathLike)):
        raise ArgumentError(f"include: expected paths of folders, found {shown(item)}")
    path = Path(cast("Part", item)).absolute()
    if not path.is_dir():
        raise ArgumentError(f"include: {path} is not a folder")
    if '"' in str(path):
        raise ArgumentError(f"include: {path}: the compiler cannot take a '\"' in a folder's name")
    return path


def _check_characters(entry: Text) -> None:
    found = _NO_TEXT.search(entry.text)
    if found is None:
        return
    source = Source(entry.name, _NO_TEXT.sub("\ufffd", entry.text))
    before = source.text[: found.start()]
    place = Span(source, before.count("\n") + 1, found.start() - before.rfind("\n"))
    message = "a NUL character or half a character is in the source"
    raise InputError(message, place, code="opencl-source")


def quoted(folders: Sequence[str]) -> Iterator[str]:
    """Yield the options that name folders of included files."""
    for folder in folders:
        yield f'-I "{folder}"'
