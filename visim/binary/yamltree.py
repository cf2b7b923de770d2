"""A typed, bounded reader of the YAML that compilers write into binaries.

The text is read from PyYAML's event stream, which neither constructs objects nor recurses.
Anchors, aliases and tags, which compilers do not write, are refused, and so are deep and huge
documents: reading costs time and memory in proportion to the text.

`Record` turns mappings into dataclasses: a field's name is the key, its annotation the type
that is required, its default what a missing key means. It needs the dataclass to be declared
under `from __future__ import annotations`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, TypeVar

import yaml

from visim.binary.elf import refuse
from visim.errors import InputError

MAX_TEXT_BYTES = 1 << 24
_MAX_NODES = 1 << 19
_MAX_DEPTH = 16
_MAX_INTEGER = (1 << 31) - 1
_INTEGER = re.compile(r"[-+]?[0-9]{1,12}")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CODE = "bad-ze-info"

Triple = tuple[int, int, int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """The file that a text is part of, and the byte at which the text begins."""

    file: str
    start: int

    def error(self, message: str, offset: int) -> InputError:
        """Return the error for the character `offset` of the text."""
        return refuse(_CODE, message, self.file, self.start + offset)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value; `is_plain` says that it was written without quotes."""

    text: str
    is_plain: bool
    offset: int


@dataclass(slots=True)
class Items:
    """A sequence of nodes."""

    offset: int
    nodes: list[Node] = field(default_factory=list["Node"])


@dataclass(slots=True)
class Entries:
    """A mapping; `key` is the key whose value comes next while the text is read."""

    offset: int
    nodes: dict[str, Node] = field(default_factory=dict[str, "Node"])
    key: str | None = None


Node = Scalar | Items | Entries


def parse(data: bytes, place: Place) -> Node:
    """Return the tree of the only document of `data`.

    Raises:
        InputError: It is not UTF-8 or not YAML, or it has what is refused (see above).
    """
    if len(data) > MAX_TEXT_BYTES:
        raise place.error(f"{len(data)} bytes of text, at most {MAX_TEXT_BYTES} are accepted", 0)
    try:
        text = data.rstrip(b"\0").decode("utf-8")
        return _Builder(place).build(yaml.parse(text, Loader=_LOADER))
    except (yaml.YAMLError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        raise place.error(f"the text is not YAML: {reason}", 0) from None


class _Builder:
    """Turns events into nodes with a stack of the open collections."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.open: list[Items | Entries] = []
        self.root: Node | None = None
        self.count = 0

    def build(self, events: Iterator[yaml.Event]) -> Node:
        for event in events:
            offset = event.start_mark.index if event.start_mark else 0
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise self.place.error("anchors and aliases are not accepted", offset)
            if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None):
                raise self.place.error("tags are not accepted", offset)
            match event:
                case yaml.ScalarEvent(value=str(text)):
                    self.scalar(Scalar(text, bool(event.implicit[0]), offset))
                case yaml.SequenceStartEvent():
                    self.begin(Items(offset))
                case yaml.MappingStartEvent():
                    self.begin(Entries(offset))
                case yaml.CollectionEndEvent():
                    self.open.pop()
                case _:
                    pass
        if self.root is None:
            raise self.place.error("the text is empty", 0)
        return self.root

    def begin(self, node: Items | Entries) -> None:
        self.attach(node)
        self.open.append(node)
        if len(self.open) > _MAX_DEPTH:
            raise self.place.error(f"more than {_MAX_DEPTH} levels", node.offset)

    def scalar(self, node: Scalar) -> None:
        holder = self.open[-1] if self.open else None
        if not isinstance(holder, Entries) or holder.key is not None:
            self.attach(node)
            return
        if node.text in holder.nodes:
            raise self.place.error(f"key `{node.text}` is there twice", node.offset)
        holder.key = node.text

    def attach(self, node: Node) -> None:
        self.count += 1
        if self.count > _MAX_NODES:
            raise self.place.error(f"more than {_MAX_NODES} values", node.offset)
        match self.open[-1] if self.open else None:
            case None if self.root is None:
                self.root = node
            case None:
                raise self.place.error("a second document begins", node.offset)
            case Items(nodes=nodes):
                nodes.append(node)
            case Entries() as holder:
                if holder.key is None:
                    raise self.place.error("a key is a single word", node.offset)
                holder.nodes[holder.key] = node
                holder.key = None


class Record:
    """A mapping of which it is known what it describes, for reading typed values by key."""

    def __init__(self, node: Node | None, what: str, place: Place) -> None:
        """Wrap `node`; `what` names the mapping in messages; None is an empty mapping.

        Raises:
            InputError: The node is not a mapping.
        """
        self.what = what
        self.place = place
        self.offset = node.offset if node else 0
        if node is not None and not isinstance(node, Entries):
            raise self.error("keys and values are expected")
        self.nodes = node.nodes if node else {}

    def error(self, message: str, key: str | None = None) -> InputError:
        """Return the error about the value of `key`, or about the whole mapping."""
        node = self.nodes.get(key) if key else None
        offset = node.offset if node else self.offset
        return self.place.error(f"{self.what}: {message}", offset)

    def text(self, key: str) -> str:
        """Return the string under the required `key`."""
        return self._scalar(key).text

    def integer(self, key: str, lowest: int = 0) -> int:
        """Return the integer under the required `key`: at least `lowest` and below 2**31."""
        return self._number(self._scalar(key), key, lowest)

    def flag(self, key: str) -> bool:
        """Return the truth value under the required `key`."""
        node = self._scalar(key)
        if not node.is_plain or node.text.lower() not in {"true", "false"}:
            raise self.error(f"`{key}` is {_short(node)}, true or false is expected", key)
        return node.text.lower() == "true"

    def triple(self, key: str) -> Triple:
        """Return the three integers under the required `key`."""
        node = self._node(key)
        if not isinstance(node, Items) or len(node.nodes) != 3:
            raise self.error(f"`{key}` is not a list of three integers", key)
        x, y, z = (self._number(item, key, 0) for item in node.nodes)
        return x, y, z

    def record(self, key: str) -> Record:
        """Return the mapping under `key`; an empty one if the key is missing."""
        return Record(self.nodes.get(key), f"`{key}` of {self.what}", self.place)

    def records(self, key: str, noun: str | None = None) -> Iterator[Record]:
        """Yield the mappings of the list under `key`, none if the key is missing.

        Messages call them `noun` and their name when `noun` is given, else by key and position.
        """
        node = self.nodes.get(key)
        if node is None or _is_null(node):
            return
        if not isinstance(node, Items):
            raise self.error(f"`{key}` is not a list", key)
        for index, item in enumerate(node.nodes):
            what = f"`{key}`[{index}] of {self.what}"
            name = item.nodes.get("name") if noun and isinstance(item, Entries) else None
            if isinstance(name, Scalar):
                what = f"{noun} {_short(name)}"
            yield Record(item, what, self.place)

    def build(self, record: type[T]) -> T:
        """Return the dataclass `record` with the values of this mapping.

        Raises:
            InputError: A required key is missing or a value has another type.
        """
        values: dict[str, Any] = {}
        for declared in fields(record):  # pyright: ignore[reportArgumentType]
            key, default = declared.name, declared.default
            if key not in self.nodes and default is not MISSING:
                continue
            if declared.type == "int":
                lowest = min(0, default) if isinstance(default, int) else 0
                values[key] = self.integer(key, lowest)
            else:
                values[key] = self._READERS[str(declared.type)](self, key)
        return record(**values)

    def build_all(self, key: str, record: type[T]) -> tuple[T, ...]:
        """Return a dataclass for each mapping of the list under `key`."""
        return tuple(item.build(record) for item in self.records(key))

    def _node(self, key: str) -> Node:
        node = self.nodes.get(key)
        if node is None:
            raise self.error(f"the required key `{key}` is missing")
        return node

    def _scalar(self, key: str) -> Scalar:
        node = self._node(key)
        if not isinstance(node, Scalar):
            raise self.error(f"`{key}` is not a single value", key)
        return node

    def _number(self, node: Node, key: str, lowest: int) -> int:
        text = node.text if isinstance(node, Scalar) and node.is_plain else None
        if text is None or not _INTEGER.fullmatch(text):
            raise self.error(f"`{key}` is not an integer", key)
        value = int(text)
        if not lowest <= value <= _MAX_INTEGER:
            raise self.error(f"`{key}` is {value}, at least {lowest} is expected", key)
        return value

    _READERS: ClassVar[dict[str, Callable[[Record, str], Any]]] = {
        "bool": flag,
        "str": text,
        "str | None": text,
        "Triple": triple,
    }


def _short(node: Scalar) -> str:
    return repr(node.text if len(node.text) < 80 else node.text[:80] + "...")


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.is_plain and node.text in {"", "~", "null"}
