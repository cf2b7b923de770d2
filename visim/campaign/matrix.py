"""A campaign's file: settings, and the launches whose cells are to be run.

A `[[launch]]` has the keys of a launch.toml. `vary` gives some of them several values, each with
each; `case` gives several at once. Keys of a campaign alone say what else belongs to a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from visim.campaign import axes, content, functions
from visim.campaign.axes import Axis, Point
from visim.campaign.cells import Cell, digest_of
from visim.campaign.programs import Source
from visim.campaign.settings import KEYS, Settings, read_settings
from visim.errors import ArgumentError, ToolMissing, shown
from visim.lex import nearest
from visim.runtime.building.loading import source_language
from visim.runtime.compiling.compilers import compiler_for
from visim.runtime.files.run_options import RunOptions, launch_options, read_table
from visim.runtime.given import read_file
from visim.target import platform, product
from visim.timing import find_machine

MAX_BYTES = 1 << 22
"""So long a campaign's file may be."""
_OWN = ("name", "launches", "compiler", "timing", "preset", "inputs", "reference", "agree")
_OWN_LISTS = ("slower", "vary", "case")
_REFUSED = ("out", "show", "html", "sarif", "trace", "trace-only")
"""Keys of a launch.toml that write files or pictures: a campaign keeps digests of arrays."""
_MAKES_PROGRAM = ("file", "device", "platform", "arch", "options", "visa", "compiler")
_MAX_RECORDED = 1 << 16


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a campaign is to do: `cells` makes all cells anew each time, `count` is their number."""

    settings: Settings
    count: int
    cells: Callable[[], Iterator[Cell]]


def read_matrix(file: str | Path) -> Matrix:
    """Return what a campaign's file says.

    Raises:
        ArgumentError: it is broken, or a key is unknown or wrong; the message says which.
        FileNotFoundError: there is no such file.
    """
    path = Path(file)
    table = read_table(str(path), MAX_BYTES)
    try:
        return matrix_of(table, path.absolute().parent, path.stem)
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None


def matrix_of(table: Mapping[str, Any], folder: Path, name: str) -> Matrix:
    """Return what a table says.

    Args:
        table: the table of a campaign's file.
        folder: what its files are relative to.
        name: what it is called unless it says so.

    Raises:
        ArgumentError: a key is unknown or wrong.
    """
    known = (*KEYS, "launch")
    for key in table:
        if key not in known:
            near = nearest(key, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
            raise ArgumentError(f"unknown key {key!r}; {hint}")
    settings = read_settings(table, name)
    launches = table.get("launch", [])
    if not isinstance(launches, list) or not launches:
        raise ArgumentError("there is no [[launch]]: say what is to be run")
    read: list[_Launches] = []
    for number, launch in enumerate(cast("list[object]", launches), 1):
        if not isinstance(launch, dict):
            raise ArgumentError(f"launch: expected [[launch]], found {shown(launch)}")
        try:
            read.append(_Launches(cast("dict[str, Any]", launch), folder, number))
        except ArgumentError as error:
            raise ArgumentError(f"[[launch]] {number}: {error}") from None
    names = [one.name for one in read]
    twice = next((one for one in names if names.count(one) > 1), None)
    if twice is not None:
        raise ArgumentError(f"two [[launch]] are called {twice!r}: give them other names")
    return Matrix(
        settings, sum(one.count for one in read), lambda: (c for one in read for c in one.cells())
    )


class _Launches:
    """A `[[launch]]`: the cells of one table.

    Args:
        table: the table.
        folder: what its files are relative to.
        number: which `[[launch]]` it is, from 1.
    """

    def __init__(self, table: Mapping[str, Any], folder: Path, number: int) -> None:
        self._folder = folder
        self._own = {key: table[key] for key in (*_OWN, *_OWN_LISTS) if key in table}
        self._table = {key: value for key, value in table.items() if key not in self._own}
        self._axes = self._read_axes()
        self._bases = self._read_bases()
        self.name = str(self._own.get("name") or self._default_name(number))
        self._agree = self._named_axes("agree")
        self._slower = self._named_axes("slower")
        self.count = axes.count(self._axes) * len(self._bases)
        recorded, where, base = self._bases[0]
        self._cell(recorded, where, next(axes.points(base, self._axes)))

    def _default_name(self, number: int) -> str:
        file = self._own.get("launches") or self._table.get("file")
        if not isinstance(file, str) or any(sign in file for sign in "*?["):
            return f"launch{number}"
        return Path(file).stem

    def _read_axes(self) -> list[Axis]:
        found = axes.read_axes(self._own.get("vary"), self._own.get("case"))
        if "launches" not in self._own:
            files = axes.files_axis(self._table.get("file"), self._folder)
            if files is not None:
                found.insert(0, files)
        return found

    def _read_bases(self) -> list[tuple[str | None, Path, Mapping[str, Any]]]:
        """Return the tables that the axes are laid over: its own, or those of recorded launches."""
        recorded = self._own.get("launches")
        if recorded is None:
            return [(None, self._folder, self._table)]
        if not isinstance(recorded, str):
            raise ArgumentError(f"launches: expected a folder, found {shown(recorded)}")
        folder = self._folder / recorded
        files = sorted(folder.glob("*.toml"))
        if not files:
            raise ArgumentError(f"launches: {folder} has no recorded launches (NNNN.toml)")
        tables = ((file.stem, folder, read_table(str(file), _MAX_RECORDED)) for file in files)
        return [(name, where, {**table, **self._table}) for name, where, table in tables]

    def _named_axes(self, key: str) -> tuple[str, ...]:
        given = self._own.get(key, [])
        names = cast("list[object]", given) if isinstance(given, list) else [given]
        known = [axis.name for axis in self._axes]
        for name in names:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise ArgumentError(f"{key}: {shown(name)} is no axis of this launch: {listed}")
        return tuple(str(name) for name in names)

    def cells(self) -> Iterator[Cell]:
        """Make the cells, one after another; what is wrong with one alone is its result."""
        for recorded, folder, table in self._bases:
            for point in axes.points(table, self._axes):
                try:
                    yield self._cell(recorded, folder, point)
                except ArgumentError as error:
                    name = self._name(recorded, point)
                    work = {"message": str(error)}
                    yield Cell("wrong", name, work, digest_of(content.version(), work, name))

    def _cell(self, recorded: str | None, folder: Path, point: Point) -> Cell:
        own = {**self._own, **{key: point.table[key] for key in _OWN if key in point.table}}
        table = {key: value for key, value in point.table.items() if key not in _OWN}
        if recorded is not None:  # What it has of a recorder's own is not for launches.
            table = {key: value for key, value in table.items() if key not in _REFUSED}
        options = _options(table, folder)
        source = _source(options, _text(own, "compiler"))
        name = self._name(recorded, point)
        work: dict[str, Any] = {
            "table": table,
            "folder": str(folder),
            "source": source_form(source),
            "version": content.version(),
        }
        work |= _extras(own, self._folder)
        key = digest_of("launch", _content(work, options, source, name))
        return Cell("launch", name, work, key, self._agree, self._slower)

    def _name(self, recorded: str | None, point: Point) -> dict[str, str | int | float | bool]:
        known = {} if recorded is None else {"recorded": recorded}
        return {"launch": self.name, **known, **point.name}


def _options(table: Mapping[str, Any], folder: Path) -> RunOptions:
    for key in table:
        if key in _REFUSED:
            raise ArgumentError(
                f"{key}: a campaign writes no such files; visim run does, for one launch"
            )
    return launch_options(table, folder)


def _text(own: Mapping[str, Any], key: str) -> str | None:
    value = own.get(key)
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{key}: expected a text, found {shown(value)}")
    return value


def _extras(own: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return what a campaign adds to a launch: functions and timing."""
    found: dict[str, Any] = {}
    for key in ("inputs", "reference"):
        if own.get(key):
            path, function = functions.split(own[key], key, folder)
            found[key] = f"{path}:{function}"
    timing: object = own.get("timing") or []
    names = cast("list[object]", timing) if isinstance(timing, list) else [timing]
    preset = _text(own, "preset")
    for one in names:
        if not isinstance(one, str):
            raise ArgumentError(f"timing: expected names of generations, found {shown(one)}")
        find_machine(one, preset)
    if names:
        found["timing"] = names
    if preset is not None:
        found["preset"] = preset
    return found


def _source(options: RunOptions, compiler: str | None) -> Source:
    """Return the program of a launch; what is to compile it is settled here, for all workers."""
    return source_for(
        options.file, options.device, options.compiler_options, compiler, options.visa
    )


def source_for(
    file: str, device: str | None, options: str | None, compiler: str | None, visa: str | None
) -> Source:
    """Return what a program is made of.

    Raises:
        ArgumentError: what a file needs is not said, or what it has no use for is.
        FileNotFoundError: there is no such file.
    """
    path = str(Path(file).absolute())
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        raise ArgumentError(f"file: there is no file {path}") from None
    digest, language = _looked_at(path, status.st_mtime_ns, status.st_size)
    edited = None if visa is None else (str(Path(visa).absolute()), content.file_digest(visa))
    if language is None:
        for key, value in (("options", options), ("compiler", compiler)):
            if value is not None:
                raise ArgumentError(f"{key}: {file} is compiled already, it changes nothing")
        return Source(path, digest, digest, device, visa=edited)
    if device is None:
        raise ArgumentError(f"device: {file} is {language}; say which device to compile it for")
    platform(device)
    whole = content.source_digest(path, options or "")
    return Source(path, digest, whole, device, options or "", _compiler(device, compiler), edited)


@cache
def _looked_at(path: str, _changed: int, _size: int) -> tuple[str, str | None]:
    """Return the digest of a file, and the language that it has to be compiled from, if any."""
    data = read_file(Path(path))
    is_named = path.lower().endswith(".cl")
    return content.digest(data), "OpenCL C" if is_named else source_language(data)


@cache
def _compiler(device: str, wanted: str | None) -> tuple[str, str]:
    """Return the version of the compiler of a device, and its library."""
    try:
        found = compiler_for(product(device).names[0], wanted)
        return found.version, str(found.path)
    except ToolMissing:
        return wanted or "", ""  # The cell says so.


def source_form(source: Source) -> dict[str, Any]:
    """Return a source as JSON has it."""
    return {
        "file": source.file,
        "digest": source.digest,
        "content": source.content,
        "device": source.device,
        "options": source.options,
        "compiler": source.compiler and list(source.compiler),
        "visa": source.visa and list(source.visa),
    }


def _content(
    work: Mapping[str, Any], options: RunOptions, source: Source, name: Mapping[str, Any]
) -> Sequence[object]:
    """Return everything that a cell's result depends on, files by their digests."""
    rest = {key: value for key, value in work["table"].items() if key not in _MAKES_PROGRAM}
    named = {key: work[key].rpartition(":") for key in ("inputs", "reference") if key in work}
    files = [*_files(options), *(Path(path) for path, _, _ in named.values())]
    return (
        work["version"],
        source.key,
        rest,
        [content.file_digest(file) for file in files if file.is_file()],
        {key: function for key, (_, _, function) in named.items()},
        dict(name) if named else None,
        work.get("timing"),
        work.get("preset"),
    )


def _files(options: RunOptions) -> Iterator[Path]:
    """Yield the files that a launch reads beside its program."""
    for text in (*options.arguments, *options.surfaces):
        kind, _, rest = text.value.partition(":") if isinstance(text.value, str) else ("", "", "")
        if kind in {"npy", "image"}:
            yield text.folder / (rest.rpartition("@")[0] or rest)
    for reference in options.references:
        yield Path(reference.file)
    if "suppress" in options.launch:
        yield Path(options.launch["suppress"])
