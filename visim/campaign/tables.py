"""A `[[launch]]` of a campaign's file: the cells of a table with axes.

It has the keys of a launch.toml. `vary` gives some of them several values, each with each; `case`
gives several at once. Keys of a campaign alone say what else belongs to a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from visim.campaign import axes, content, functions
from visim.campaign.axes import Axis, Point
from visim.campaign.cells import Cell, digest_of
from visim.campaign.launches import OWN_GENERATION
from visim.campaign.parts import Silent
from visim.campaign.programs import Source, compiler_of
from visim.errors import ArgumentError, shown
from visim.runtime.building.loading import source_language
from visim.runtime.files.run_options import RunOptions, launch_options, read_table
from visim.runtime.given import read_file
from visim.target import platform
from visim.timing import find_machine

_OWN = ("name", "launches", "from", "compiler", "timing", "preset", "inputs", "reference")
_OWN_LISTS = ("agree", "slower", "vary", "case")
_REFUSED = ("out", "show", "html", "sarif", "trace", "trace-only")
"""Keys of a launch.toml that write files or pictures: a campaign keeps digests of arrays."""
_MAKES_PROGRAM = ("file", "device", "platform", "arch", "options", "visa", "compiler")
_MAX_RECORDED = 1 << 16


class Launches(Silent):
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
        file = self._own.get("launches") or self._own.get("from") or self._table.get("file")
        if not isinstance(file, str) or any(sign in file for sign in "*?["):
            return f"launch{number}"
        return Path(file).stem

    def _read_axes(self) -> list[Axis]:
        found = axes.read_axes(self._own.get("vary"), self._own.get("case"))
        if not {"launches", "from"} & self._own.keys():
            files = axes.files_axis(self._table.get("file"), self._folder)
            if files is not None:
                found.insert(0, files)
        return found

    def _read_bases(self) -> list[tuple[str | None, Path, Mapping[str, Any]]]:
        """Return the tables that the axes are laid over: its own, or those of recorded launches."""
        recorded, described = self._own.get("launches"), self._own.get("from")
        if isinstance(described, str):
            file = self._folder / described
            table = without_outputs(read_table(str(file), _MAX_RECORDED))
            return [(None, file.parent, {**table, **self._table})]
        if recorded is None:
            return [(None, self._folder, self._table)]
        if not isinstance(recorded, str):
            raise ArgumentError(f"launches: expected a folder, found {shown(recorded)}")
        folder = self._folder / recorded
        files = sorted(folder.glob("*.toml"))
        if not files:
            raise ArgumentError(f"launches: {folder} has no recorded launches (NNNN.toml)")
        tables = ((file.stem, read_table(str(file), _MAX_RECORDED)) for file in files)
        return [(name, folder, {**without_outputs(one), **self._table}) for name, one in tables]

    def _named_axes(self, key: str) -> tuple[str, ...]:
        given = self._own.get(key, [])
        names = cast("list[object]", given) if isinstance(given, list) else [given]
        known = [axis.name for axis in self._axes]
        for name in names:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise ArgumentError(f"{key}: {shown(name)} is no axis of this launch: {listed}")
        return tuple(str(name) for name in names)

    @property
    def axis_names(self) -> list[str]:
        """The names of its axes."""
        return [axis.name for axis in self._axes]

    @property
    def files(self) -> set[str]:
        """The programs that its tables name, but for those along axes."""
        named = ((where, table.get("file")) for _, where, table in self._bases)
        return {str((where / file).resolve()) for where, file in named if isinstance(file, str)}

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


def without_outputs(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a launch.toml says without the files that it has written."""
    return {key: value for key, value in table.items() if key not in _REFUSED}


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
        if one != OWN_GENERATION:
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
    return Source(path, digest, whole, device, options or "", compiler_of(device, compiler), edited)


@cache
def _looked_at(path: str, _changed: int, _size: int) -> tuple[str, str | None]:
    """Return the digest of a file, and the language that it has to be compiled from, if any."""
    data = read_file(Path(path))
    is_named = path.lower().endswith(".cl")
    return content.digest(data), "OpenCL C" if is_named else source_language(data)


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
