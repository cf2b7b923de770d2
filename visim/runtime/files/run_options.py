"""The options of `visim run`, from the command line and from launch.toml alike.

Both give a table of raw values under the same keys; this module checks them, lays the command
line over the file and returns one `RunOptions`. Knows nothing of how options are typed.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from visim.errors import ArgumentError, shown
from visim.lex import nearest, shortened
from visim.runtime.files.arguments_text import ArgumentText, split_option

MAX_TOML_BYTES = 1 << 14
_SUFFIXES = (".npy", ".png")
_CHOICES = {
    "engine": ("jit", "interpreter"),
    "checks": ("on", "off"),
    "bounds": ("fault", "hardware"),
}
_SIZES = re.compile(r"\s*\d{1,40}\s*([,x]\s*\d{1,40}\s*){0,2}", re.ASCII)
_VECTOR = re.compile(r"\s*\(?\s*(-?\d{1,18})\s*,\s*(-?\d{1,18})\s*\)?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Output:
    """One `--out`: the argument's name or index (or surface:N) and the file it goes to."""

    key: str
    file: str

    @property
    def is_picture(self) -> bool:
        """Whether the array is written as a picture."""
        return self.file.lower().endswith(".png")


@dataclass(frozen=True, slots=True)
class Reference:
    """One `--expect`: an argument as in `Output`, and the file with what it is to be."""

    key: str
    file: str


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything that `visim run` needs to know.

    `launch` holds keyword arguments of `Kernel.launch`, only those that were given.
    """

    file: str
    kernel: str | None = None
    device: str | None = None
    compiler_options: str | None = None
    visa: str | None = None
    launch: Mapping[str, Any] = field(default_factory=dict[str, Any])
    arguments: tuple[ArgumentText, ...] = ()
    surfaces: tuple[ArgumentText, ...] = ()
    samplers: tuple[ArgumentText, ...] = ()
    outputs: tuple[Output, ...] = ()
    references: tuple[Reference, ...] = ()
    rtol: float | None = None
    atol: float | None = None
    sarif: str | None = None
    html: str | None = None
    show: bool = False
    trace: str | None = None
    trace_only: str | None = None

    @property
    def seed(self) -> int:
        """The seed of the schedule and of random arguments."""
        return int(self.launch.get("seed", 0))


def read_options(file: str, raw: Mapping[str, object]) -> RunOptions:
    """Return the options of `visim run FILE`.

    Args:
        file: a program, or a launch.toml (told by the suffix .toml).
        raw: the options given on the command line under their names without dashes.

    Raises:
        ArgumentError: a key is unknown, or a value is not what the key takes.
        FileNotFoundError: there is no such launch.toml.
    """
    try:
        given = _typed(raw, Path())
    except ArgumentError as error:
        raise ArgumentError(f"--{error}") from None
    if not file.lower().endswith(".toml"):
        return _merged({"file": file}, given)
    path = Path(file)
    table = read_table(file)
    try:
        described = _typed(table, path.parent)
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None
    if "file" not in described:
        raise ArgumentError(f"{file}: the key 'file', the program to run, is missing")
    return _merged(described, given)


def read_table(file: str, most: int = MAX_TOML_BYTES) -> dict[str, Any]:
    """Return what is in a TOML file.

    Args:
        file: the file.
        most: how many bytes it may have.

    Raises:
        ArgumentError: it is no TOML file, or is too long.
        FileNotFoundError: there is no such file.
    """
    try:
        return tomllib.loads(_bounded_text(Path(file), most), parse_float=_float)
    except ArgumentError as error:
        raise ArgumentError(f"{file}: {error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArgumentError(f"{file}: not a TOML file: {error}") from None
    except ValueError:  # Python reads no integers of thousands of digits.
        raise ArgumentError(f"{file}: one of its numbers has thousands of digits") from None


def launch_options(table: Mapping[str, object], folder: Path) -> RunOptions:
    """Return the options that a table such as that of a launch.toml says.

    Args:
        table: the table.
        folder: what files in it are relative to.

    Raises:
        ArgumentError: a key is unknown or missing, or a value is not what the key takes.
    """
    described = _typed(table, folder)
    if "file" not in described:
        raise ArgumentError("the key 'file', the program to run, is missing")
    return _merged(described, _typed({}, folder))


def _float(text: str) -> float:
    """Read a number of a TOML file; one that is written out is not infinite."""
    number = float(text)
    if math.isinf(number) and any(letter.isdigit() for letter in text):
        raise ArgumentError(f"{shortened(text)} is too large for a floating-point number")
    return number


def _bounded_text(path: Path, most: int) -> str:
    """Return the text of a file that no kernel needs to be long."""
    with path.open("rb") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise ArgumentError(f"more than {most} bytes, which is too long for such a file")
    return data.decode("utf-8-sig")


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> RunOptions:
    both = {**_without_other_geometry(under, over), **over}
    for key in ("arg", "surface", "sampler", "out", "expect"):
        overridden = {item.key for item in over.get(key, ())}
        kept = tuple(item for item in under.get(key, ()) if item.key not in overridden)
        both[key] = kept + over.get(key, ())
    return RunOptions(
        file=both["file"],
        kernel=both.get("kernel"),
        device=both.get("device"),
        compiler_options=both.get("options"),
        visa=both.get("visa"),
        launch={_LAUNCH[key]: both[key] for key in _LAUNCH if key in both},
        arguments=both["arg"],
        surfaces=both["surface"],
        samplers=both["sampler"],
        outputs=both["out"],
        references=both["expect"],
        rtol=both.get("rtol"),
        atol=both.get("atol"),
        sarif=both.get("sarif"),
        html=both.get("html"),
        show=both.get("show", False),
        trace=both.get("trace"),
        trace_only=both.get("trace-only"),
    )


def _without_other_geometry(under: Mapping[str, Any], over: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop the file's geometry where the command line has one of another kind."""
    kinds = [kind for kind in _GEOMETRIES if kind & over.keys()]
    if not kinds:
        return under
    dropped = frozenset[str]().union(*(kind for kind in _GEOMETRIES if kind not in kinds))
    return {key: value for key, value in under.items() if key not in dropped}


def _typed(raw: Mapping[str, object], folder: Path) -> dict[str, Any]:
    typed: dict[str, Any] = {}
    for written, value in raw.items():
        key = _ALIASES.get(written, written.replace("_", "-"))
        if key not in _READERS:
            near = _KEYWORDS.get(written) or nearest(key, _READERS)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(_READERS)}"
            raise ArgumentError(f"unknown key {written!r}; {hint}")
        typed[key] = _READERS[key](key, value, folder)
    return typed


def _text(key: str, value: object, _folder: Path) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f"{key}: expected text, found {shown(value)}")
    return value


def _choice(key: str, value: object, folder: Path) -> str:
    name, known = _text(key, value, folder), _CHOICES[key]
    if name not in known:
        raise ArgumentError(f"{key}: expected {' or '.join(known)}, found {name!r}")
    return name


def _file(key: str, value: object, folder: Path) -> str:
    file = _text(key, value, folder)
    return file if file == "-" else str(folder / file)


def _integer(key: str, value: object, _folder: Path) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentError(f"{key}: expected an integer, found {shown(value)}")
    return value


def _natural(key: str, value: object, folder: Path) -> int:
    number = _integer(key, value, folder)
    if number < 0:
        raise ArgumentError(f"{key}: expected an integer from 0, found {shown(number)}")
    return number


def _flag(key: str, value: object, _folder: Path) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(f"{key}: expected true or false, found {shown(value)}")
    return value


def _sizes(key: str, value: object, _folder: Path) -> tuple[int, ...]:
    if isinstance(value, str) and _SIZES.fullmatch(value):
        return tuple(int(part) for part in re.split("[,x]", value))
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    if isinstance(value, list):
        sizes = tuple(item for item in cast("list[object]", value) if type(item) is int)
        if len(sizes) == len(cast("list[object]", value)) and 1 <= len(sizes) <= 3:
            return sizes
    raise ArgumentError(
        f"{key}: expected 1 to 3 integers such as 64 or 64,32, found {shown(cast('object', value))}"
    )


def _dependency(key: str, value: object, _folder: Path) -> str | list[tuple[int, int]]:
    if isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9]*", value):
        return value
    vectors = _vectors(value)
    if vectors is None:
        raise ArgumentError(
            f"{key}: expected a name such as wavefront or vectors such as -1,0;0,-1, "
            f"found {shown(value)}"
        )
    return vectors


def _vectors(value: object) -> list[tuple[int, int]] | None:
    """Return vectors written as -1,0;0,-1, or as a list of pairs; None if they are neither."""
    if isinstance(value, str):
        matches = [_VECTOR.fullmatch(word) for word in value.split(";")]
        found = [(int(match[1]), int(match[2])) for match in matches if match is not None]
        return found if len(found) == len(matches) else None
    if not isinstance(value, list):
        return None
    vectors: list[tuple[int, int]] = []
    for pair in cast("list[object]", value):
        match pair:
            case [int() as dx, int() as dy]:
                vectors.append((dx, dy))
            case _:
                return None
    return vectors


def _seconds(key: str, value: object, folder: Path) -> float:
    del folder
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{key}: expected a number of seconds, found {shown(value)}")
    return float(value)


def _names(key: str, value: object, folder: Path) -> tuple[str, ...]:
    items = cast("Sequence[object]", [value] if isinstance(value, str) else value)
    if not isinstance(items, (list, tuple)):
        raise ArgumentError(f"{key}: expected a list of names, found {shown(value)}")
    texts = (_text(key, item, folder) for item in items)
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def _pairs(key: str, value: object, folder: Path) -> tuple[tuple[str, object], ...]:
    if isinstance(value, Mapping):
        return tuple(cast("Mapping[str, object]", value).items())
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        return tuple(split_option(_text(key, item, folder), f"--{key}") for item in items)
    raise ArgumentError(f"{key}: expected a table or a list of NAME=VALUE, found {shown(value)}")


def _argument_texts(key: str, value: object, folder: Path) -> tuple[ArgumentText, ...]:
    texts: list[ArgumentText] = []
    for name, given in _pairs(key, value, folder):
        if not isinstance(given, (str, int, float)):
            raise ArgumentError(f"{key} {name}: expected text or a number, found {shown(given)}")
        texts.append(ArgumentText(name, given, folder))
    return tuple(texts)


def _outputs(key: str, value: object, folder: Path) -> tuple[Output, ...]:
    outputs: list[Output] = []
    for name, given in _pairs(key, value, folder):
        file = _text(f"{key} {name}", given, folder)
        if file != "-" and not file.lower().endswith(_SUFFIXES):
            raise ArgumentError(f"{key} {name}: expected a file .npy or .png, found {file!r}")
        outputs.append(Output(name, file if file == "-" else str(folder / file)))
    return tuple(outputs)


def _references(key: str, value: object, folder: Path) -> tuple[Reference, ...]:
    found: list[Reference] = []
    for name, given in _pairs(key, value, folder):
        file = _text(f"{key} {name}", given, folder)
        if not file.lower().endswith(".npy"):
            raise ArgumentError(f"{key} {name}: expected a file .npy, found {file!r}")
        found.append(Reference(name, str(folder / file)))
    return tuple(found)


def _tolerance(key: str, value: object, folder: Path) -> float:
    del folder
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ArgumentError(f"{key}: expected a number from 0, found {shown(value)}")
    return float(value)


def _path(key: str, value: object, folder: Path) -> str:
    return str(folder / _text(key, value, folder))


_Reader = Callable[[str, object, Path], Any]

# fmt: off
_READERS: Mapping[str, _Reader] = {
    "file":          _file,
    "kernel":        _text,
    "device":        _text,
    "options":       _text,
    "visa":          _file,
    "global":        _sizes,
    "local":         _sizes,
    "offset":        _sizes,
    "groups":        _sizes,
    "group-size":    _sizes,
    "thread-space":  _sizes,
    "dependency":    _dependency,
    "arg":           _argument_texts,
    "surface":       _argument_texts,
    "sampler":       _argument_texts,
    "out":           _outputs,
    "expect":        _references,
    "rtol":          _tolerance,
    "atol":          _tolerance,
    "engine":        _choice,
    "seed":          _natural,
    "budget":        _integer,
    "timeout":       _seconds,
    "workers":       _integer,
    "checks":        _choice,
    "bounds":        _choice,
    "require-exact": _flag,
    "collect":       _names,
    "sanitize":      _names,
    "sanitize-stop": _flag,
    "sanitize-errors": _names,
    "suppress":      _path,
    "sarif":         _path,
    "html":          _path,
    "show":          _flag,
    "trace":         _file,
    "trace-only":    _text,
}
_ALIASES = {"platform": "device", "arch": "device"}
_LAUNCH = {
    "global":        "global_size",
    "local":         "local_size",
    "offset":        "global_offset",
    "groups":        "thread_groups",
    "group-size":    "group_size",
    "thread-space":  "thread_space",
    "dependency":    "dependency",
    "engine":        "engine",
    "seed":          "seed",
    "budget":        "budget",
    "timeout":       "timeout",
    "workers":       "workers",
    "checks":        "checks",
    "bounds":        "bounds",
    "require-exact": "require_exact",
    "collect":       "collect",
    "sanitize":      "sanitize",
    "sanitize-stop": "sanitize_stop",
    "sanitize-errors": "sanitize_errors",
    "suppress":      "suppress",
}
# fmt: on
_KEYWORDS = {keyword: key for key, keyword in _LAUNCH.items()}
_GEOMETRIES = (
    frozenset({"global", "local", "offset"}),
    frozenset({"groups", "group-size"}),
    frozenset({"thread-space", "dependency"}),
)
