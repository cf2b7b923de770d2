"""The text form of launch arguments: what `--arg`, `--surface` and launch.toml say.

Turns a sentence such as `iota:f32:480x640` into the object that `kernel.launch` takes. Where it
names no type, the parameter's is meant. Knows nothing of programs or of engines.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError, Correction
from visim.lex import nearest, shortened
from visim.runtime.arguments.buffers import Local
from visim.runtime.arguments.images import Image, Sampler
from visim.runtime.arguments.uninitialised import Uninitialised
from visim.runtime.files.expectations import NOTHING, Expectation, Parameter, expectation
from visim.runtime.files.number_text import DTYPES, INTEGER, NUMBERS, read_number, read_numbers
from visim.runtime.files.png_reader import decode_png
from visim.runtime.given import standard_input

_SHAPE = re.compile(r"\s*\d{1,18}(?:[xX]\d{1,18}){0,7}\s*", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,18}")
MAX_ARRAY_BYTES = 1 << 29
"""The largest array that a text can ask for (512 MiB)."""


_PART = 1 << 20
_PART_OF = "as:"
_HEADERS: Mapping[tuple[int, int], Callable[[BinaryIO], tuple[tuple[int, ...], Any, Any]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True, slots=True)
class ArgumentText:
    """One argument as written: `key` is a name or an index, `folder` holds its relative files.

    `value` is text in the grammar, or a plain number where the writer has numbers (TOML).
    """

    key: str
    value: str | float
    folder: Path = Path()


_SOME = {
    "--arg": "zeros:1024",
    "--surface": "zeros:u8:4096",
    "--sampler": "sampler:repeat,linear,normalized",
    "--out": "result.npy",
    "--expect": "right.npy",
}
"""A value of each option that takes pairs."""


def split_option(option: str, flag: str) -> tuple[str, str]:
    """Split `KEY=VALUE` at the first equals sign; `flag` is named in the `ArgumentError`."""
    key, sign, value = option.partition("=")
    if not sign or not key.strip():
        example = f"{flag} {key.strip() or 'x'}={_SOME[flag]}"
        name = flag.removeprefix("--")
        raise ArgumentError(f"{name} {option}: expected {flag} KEY=VALUE, e.g. {example}")
    return key.strip(), value


def find_parameter(key: str, parameters: Sequence[Parameter]) -> int:
    """Return the position of the argument that `key` names, by name or by index from 0."""
    names = [parameter.name for parameter in parameters]
    numbered = [parameter.numbered for parameter in parameters]
    for known in (names, numbered):
        if key in known:
            return known.index(key)
    if _COUNT.fullmatch(key) and int(key) < len(names):
        return int(key)
    near = nearest(key, names)
    hint = f"did you mean {near!r}?" if near else describe(parameters)
    correction = Correction(misspelt=((key, near),)) if near else None
    raise ArgumentError(f"the kernel has no argument {key!r}; {hint}", correction)


def describe(parameters: Sequence[Parameter]) -> str:
    """Return a kernel's arguments with their types, in a sentence."""
    if not parameters:
        return "the kernel takes no arguments"
    return "it takes " + ", ".join(
        f"{parameter.name} ({parameter.kind} {parameter.type_name or ''})".replace(" )", ")")
        for parameter in parameters
    )


def read_arguments(
    texts: Sequence[ArgumentText], parameters: Sequence[Parameter], *, seed: int
) -> list[object]:
    """Return the values of all of a kernel's arguments, in order.

    `ArgumentError` where an argument is given twice, is unknown, is missing or does not follow
    the grammar.
    """
    values: dict[int, object] = {}
    for text in sorted(texts, key=_is_part):
        index = find_parameter(text.key, parameters)
        name = parameters[index].name
        if index in values:
            raise ArgumentError(f"argument {name!r} is given twice")
        if _is_part(text):
            values[index] = _part(text, parameters, values, name)
            continue
        values[index] = read_value(
            text, name=name, seed=(seed, index), expected=expectation(parameters[index])
        )
    missing = [one for index, one in enumerate(parameters) if index not in values]
    if missing:
        names = ", ".join(f"{one.name} ({one.kind} {one.type_name})" for one in missing)
        examples = [("arg", f"{one.name}={expectation(one).example}") for one in missing]
        message = f"no value for {names}; give --arg NAME=VALUE"
        raise ArgumentError(message, Correction(missing=tuple(examples)))
    return [values[index] for index in range(len(parameters))]


def _is_part(text: ArgumentText) -> bool:
    return isinstance(text.value, str) and text.value.startswith(_PART_OF)


def _part(
    text: ArgumentText, parameters: Sequence[Parameter], values: Mapping[int, object], name: str
) -> NDArray[Any]:
    """Return the bytes of another argument's array from one on: `as:x+64`."""
    other, plus, offset = str(text.value).removeprefix(_PART_OF).partition("+")
    index = find_parameter(other, parameters)
    array = values.get(index)
    if not isinstance(array, np.ndarray):
        raise ArgumentError(f"argument {name!r}: {other!r} is no array that others can be part of")
    first = int(offset) if _COUNT.fullmatch(offset) else -1
    data = cast("NDArray[Any]", array).reshape(-1).view(np.uint8)
    if plus and not 0 <= first < data.size:
        raise ArgumentError(
            f"argument {name!r}: {other!r} has {data.size} bytes, {offset!r} is none of them"
        )
    return data[first:] if plus else cast("NDArray[Any]", array)


def read_surfaces(texts: Sequence[ArgumentText], *, seed: int) -> dict[int, object]:
    """Return the surfaces by binding table index; the keys of `texts` are those indices."""
    return _by_index("surface", "1=npy:x.npy", texts, seed)


def read_samplers(texts: Sequence[ArgumentText]) -> dict[int, object]:
    """Return the samplers by index; the keys of `texts` are those indices."""
    return _by_index("sampler", "0=sampler:repeat,linear,normalized", texts, 0)


def _by_index(
    what: str, example: str, texts: Sequence[ArgumentText], seed: int
) -> dict[int, object]:
    found: dict[int, object] = {}
    for text in texts:
        if not _COUNT.fullmatch(text.key):
            raise ArgumentError(
                f"--{what} {text.key}: expected an index in its table, e.g. --{what} {example}"
            )
        index = int(text.key)
        if index in found:
            raise ArgumentError(f"{what} {index} is given twice")
        found[index] = read_value(text, name=f"{what} {index}", seed=(seed, 1 << 16, index))
    return found


def read_value(
    text: ArgumentText, *, name: str, seed: Sequence[int], expected: Expectation = NOTHING
) -> object:
    """Return the value that `text` spells.

    Args:
        text: the value as written.
        name: how messages call the argument.
        seed: what `rand` is seeded with.
        expected: what the parameter's type says, for texts that name no type.

    Raises:
        ArgumentError: the text does not follow the grammar or its value does not fit.
    """
    if not isinstance(text.value, str):
        return text.value
    where = _Where(name, text.value, expected)
    value = _read(text, text.value, seed, where)
    if expected.is_pointer and isinstance(value, (np.generic, bytes)):
        raise where.error("a pointer needs an array, found a number")
    if expected.kind == "value" and isinstance(value, np.ndarray):
        raise where.error("expected a number, found an array")
    if expected.kind == "local" and not isinstance(value, Local):
        raise where.error("local memory is given by its number of bytes")
    return value


def _read(text: ArgumentText, written: str, seed: Sequence[int], where: _Where) -> object:
    kind, _, rest = written.partition(":")
    match kind.strip().lower():
        case "npy":
            return _load_array(rest, text.folder, where)
        case "zeros" | "ones" | "iota" | "rand" as fill:
            return _filled(fill, rest, seed, where)
        case "uninit":
            return Uninitialised(_filled("zeros", rest, seed, where))
        case "hex":
            return _bytes(rest, where)
        case "local":
            return _local(rest, where)
        case "null" if not rest:
            return None
        case "image":
            return _image(rest, text, seed, where)
        case "sampler":
            return _sampler(rest, where)
        case alias if alias in DTYPES:
            return _numbers(rest, DTYPES[alias], where)
        case _ if NUMBERS.fullmatch(written):
            return _untyped(written, where)
        case _:
            raise where.unknown()


@dataclass(frozen=True, slots=True)
class _Where:
    name: str
    given: str
    expected: Expectation = NOTHING

    def error(self, problem: str) -> ArgumentError:
        given = shortened(self.given)
        return ArgumentError(f"argument {self.name!r}: {problem}: {given!r}; {self._next()}")

    def unknown(self) -> ArgumentError:
        """Say that a text is no kind of value; the name of a file wants to know what it is."""
        kind = {".npy": "npy", ".png": "image"}.get(Path(self.given).suffix.lower())
        if kind is not None:
            meant = f"{kind}:{self.given}"
            message = f"argument {self.name!r}: say what the file is: {self.name}={meant}"
            return ArgumentError(message, Correction(misspelt=((self.given, meant),)))
        is_number = self.expected.kind == "value" and self.expected.dtype is not None
        return self.error(f"this is {'no number' if is_number else 'not a kind of value'}")

    def _next(self) -> str:
        """Say what to write instead."""
        written = f"{self.name}={self.expected.example}" if self.expected.kind else "zeros:f32:1024"
        what = f" for a {self.expected.type_name}" if self.expected.type_name else ""
        return f"expected for example {written}{what}; visim run --help lists all forms"

    def unreadable(self, file: Path, error: OSError) -> ArgumentError:
        """Say what the system says of a file, which no other spelling of the argument mends."""
        return unreadable(f"argument {self.name!r}", file, error)


def unreadable(what: str, file: Path, error: OSError) -> ArgumentError:
    """Return what the system says of a file that `what` names."""
    if isinstance(error, FileNotFoundError):
        return ArgumentError(f"{what}: there is no file {file}")
    return ArgumentError(f"{what}: {file} cannot be read: {error.strerror or error}")


def _numbers(text: str, dtype: np.dtype[Any], where: _Where) -> np.generic | bytes:
    try:
        numbers = read_numbers(text, dtype)
    except ValueError as error:
        raise where.error(str(error)) from None
    return numbers[0] if len(numbers) == 1 else b"".join(number.tobytes() for number in numbers)


def _untyped(text: str, where: _Where) -> object:
    """Return the value of numbers that name no type: the parameter's is meant.

    A pointer gets an array of them, local memory so many bytes.
    """
    expected = where.expected
    if expected.kind == "local":
        return _local(text, where)
    if expected.kind == "buffer" and expected.dtype is None and INTEGER.fullmatch(text):
        return int(text, 0) if not text.lstrip("+-").isdecimal() else int(text)
    if expected.dtype is None:
        raise where.error("say of what type the number is, such as f32:2 or i32:2")
    if expected.is_pointer and "," not in text:
        raise where.error("a pointer needs an array, found a number")
    try:
        numbers = read_numbers(text, expected.dtype)
    except ValueError as error:
        raise where.error(str(error)) from None
    if expected.is_pointer:
        return np.array(numbers, expected.dtype)
    if len(numbers) != expected.count:
        raise where.error(f"expected {expected.count} numbers, found {len(numbers)}")
    if len(numbers) == 1:
        return numbers[0]
    data = b"".join(number.tobytes() for number in numbers)
    return data.ljust(expected.size or 0, b"\0")


NO_ARRAY = (ValueError, EOFError, MemoryError)
"""What NumPy raises of files that hold no array."""


def _load_array(file: str, folder: Path, where: _Where) -> NDArray[Any]:
    if not file:
        raise where.error("npy: needs a file")
    try:
        return load_array(file, folder)
    except OSError as error:
        raise where.unreadable(folder / file, error) from None
    except NO_ARRAY as error:
        raise where.error(f"not a readable NumPy array file ({error})") from None


def load_array(file: str, folder: Path) -> NDArray[Any]:
    """Return the array in a .npy file, in the machine's byte order and in C's order of elements.

    Raises:
        OSError: the file cannot be read.
        ValueError, EOFError, MemoryError: it is no array (`NO_ARRAY`).
    """
    with _opened(folder, file) as source:
        array = _read_array(source)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return np.require(native, requirements=["C_CONTIGUOUS", "WRITEABLE"])


def _opened(folder: Path, file: str) -> BinaryIO:
    """Open a file, which may be a pipe, for reading back and forth."""
    if file == "-":
        return io.BytesIO(standard_input())
    source = (folder / file).open("rb")
    if source.seekable():
        return source
    with source:
        return io.BytesIO(source.read())


def _read_array(source: BinaryIO) -> NDArray[Any]:
    """Return the array in a .npy file, whose header may promise more than the file has.

    Raises:
        ValueError: it is no such file, or is cut off.
    """
    formats = np.lib.format
    if source.read(4) == b"PK\x03\x04":
        raise ValueError("an .npz archive holds several arrays, expected one array in a .npy file")
    source.seek(0)
    reader = _HEADERS.get(formats.read_magic(source))
    if reader is None:
        raise ValueError("its version is not known")
    try:
        shape, _, dtype = reader(source)
    except Exception as error:  # numpy lets through what Python's own parser meets in a bad header
        raise ValueError(f"its header is broken: {error}") from None
    start = source.tell()
    present = source.seek(0, io.SEEK_END) - start
    if math.prod(shape) * dtype.itemsize > present:
        raise ValueError(f"its array has the shape {shape}, but there are {present} bytes of data")
    source.seek(0)
    return cast("NDArray[Any]", np.load(source, allow_pickle=False))


def _image(rest: str, text: ArgumentText, seed: Sequence[int], where: _Where) -> Image:
    spec, separator, chosen = rest.rpartition("@")
    if not separator:
        spec, chosen = rest, ""
    kind, _, extent = spec.partition(":")
    if kind in {"zeros", "ones", "iota", "rand"}:
        array = _filled(kind, extent, seed, where)
    elif spec.lower().endswith(".png"):
        array, chosen = _load_picture(text.folder / spec, where), chosen or "rgba:unorm8"
    else:
        array = _load_array(spec, text.folder, where)
    try:
        return Image(array, format=chosen or None)
    except ArgumentError as error:
        raise ArgumentError(f"argument {where.name!r}: {error}") from None


def _load_picture(file: Path, where: _Where) -> NDArray[Any]:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise where.unreadable(file, error) from None
    return decode_png(data, f"argument {where.name!r}: {file}")


def _sampler(rest: str, where: _Where) -> Sampler:
    words = [word.strip() for word in rest.split(",") if word.strip()]
    normalized = "normalized" in words
    named = dict(word.split("=", 1) for word in words if "=" in word)
    names = [word for word in words if word != "normalized" and "=" not in word]
    if len(names) > 2:
        raise where.error("a sampler has an address mode and a filter")
    options: dict[str, Any] = dict(zip(("address", "filter"), names, strict=False))
    for key, text in named.items():
        if key not in _SAMPLER_OPTIONS:
            raise where.error(f"{key!r} is not an option of samplers")
        options[key] = _SAMPLER_OPTIONS[key](text, where)
    try:
        return Sampler(**options, normalized=normalized)
    except ArgumentError as error:
        raise ArgumentError(f"argument {where.name!r}: {error}") from None


def _word(text: str, where: _Where) -> str:
    del where
    return text


def _real(text: str, where: _Where) -> float:
    try:
        return float(read_number(text, np.dtype(np.float64)))
    except ValueError as error:
        raise where.error(str(error)) from None


def _colour(text: str, where: _Where) -> tuple[float, ...]:
    return tuple(_real(part, where) for part in text.split("/"))


_SAMPLER_OPTIONS: Mapping[str, Callable[[str, _Where], object]] = {
    "mip": _word,
    "compare": _word,
    "bias": _real,
    "min_lod": _real,
    "max_lod": _real,
    "border": _colour,
}


def _filled(fill: str, rest: str, seed: Sequence[int], where: _Where) -> NDArray[Any]:
    alias, colon, extent = rest.partition(":")
    if not colon:
        alias, extent = "", rest
    dtype = DTYPES.get(alias.strip().lower()) if colon else where.expected.dtype
    if dtype is None and alias:
        raise where.error(f"{alias!r} is not the type of a number")
    if dtype is None:
        raise where.error(f"say of what type the elements are, such as {fill}:f32:{extent}")
    shape = _shape(extent, where)
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_ARRAY_BYTES:
        limit = f"visim makes arrays of at most {MAX_ARRAY_BYTES}; load larger ones with npy:FILE"
        raise where.error(f"this array has {size} bytes, {limit}")
    try:
        match fill:
            case "zeros":
                return np.zeros(shape, dtype)
            case "ones":
                return np.ones(shape, dtype)
            case "iota":
                return _iota(dtype, shape, where)
            case _:
                return _rand(dtype, shape, seed)
    except MemoryError:
        count = math.prod(shape)
        raise where.error(f"{count} elements do not fit into this machine's memory") from None


def _shape(extent: str, where: _Where) -> tuple[int, ...]:
    if not _SHAPE.fullmatch(extent):
        raise where.error("neither a number of elements nor a shape of at most 8 dimensions")
    sizes = tuple(int(size) for size in extent.lower().split("x"))
    if 0 in sizes:
        raise where.error("an array has at least one element")
    return sizes


def _iota(dtype: np.dtype[Any], shape: tuple[int, ...], where: _Where) -> NDArray[Any]:
    last = math.prod(shape) - 1
    if last > _largest_counted(dtype):
        raise where.error(f"{dtype} cannot hold every integer up to {last}")
    return np.arange(last + 1, dtype=np.int64).astype(dtype).reshape(shape)


def _largest_counted(dtype: np.dtype[Any]) -> int:
    if dtype.kind == "f":
        return 1 << (np.finfo(dtype).nmant + 1)
    return int(np.iinfo(dtype).max)


def _rand(dtype: np.dtype[Any], shape: tuple[int, ...], seed: Sequence[int]) -> NDArray[Any]:
    generator = np.random.default_rng(list(seed))
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if dtype.itemsize == 2:  # rounding a wider number could give 1
        return _random_halves(generator, shape)
    return generator.random(shape, np.float32 if dtype.itemsize == 4 else np.float64)


def _random_halves(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float16]:
    """Return multiples of 1/2048 below 1, made a part at a time: numbers on the way are wider."""
    found = np.empty(math.prod(shape), np.float16)
    for start in range(0, found.size, _PART):
        part = found[start : start + _PART]
        part[:] = generator.integers(0, 2048, part.size) / 2048
    return found.reshape(shape)


def _bytes(digits: str, where: _Where) -> bytes:
    try:
        data = bytes.fromhex(digits.strip().removeprefix("0x").replace("_", ""))
    except ValueError:
        raise where.error("expected pairs of hexadecimal digits") from None
    if not data:
        raise where.error("hex: needs at least one byte")
    return data


def _local(count: str, where: _Where) -> Local:
    digits = count.strip()
    if not _COUNT.fullmatch(digits) or int(digits) == 0:
        raise where.error("local: needs a number of bytes")
    return Local(int(digits))
